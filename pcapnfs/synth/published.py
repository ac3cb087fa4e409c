"""Two published frame tables of a ``tar -x`` over NFS, rebuilt frame by frame.

The tables (NFSv3 and NFSv4.1 between Solaris 11.4 systems, one small file unpacked) give time,
addresses, length and the summary of each frame.  The captures here have exactly those times and
lengths; handles and stateids are made so that Wireshark's hashes of them are the printed ones.
Contents that no summary shows (names of owners, xids, data, the order of attributes) are invented,
such that the printed lengths come out.
"""

from pcapnfs.synth.builder import (
    Capture,
    Compound,
    CompoundReply,
    Conversation,
    Stateid,
    nfs3,
    nfs4,
    nfsacl,
)
from pcapnfs.synth.builder.nfs3 import Fattr3, Sattr3, Wcc
from pcapnfs.synth.builder.nfs4 import ChangeInfo, Delegation
from pcapnfs.synth.builder.nfs4.types import DELEGATE_WRITE
from pcapnfs.synth.builder.rpc import Request, auth_sys, call, record

EPOCH_NS = 1_483_228_800_000_000_000
"""Time 0 of the tables: 2017-01-01 00:00 UTC, since they do not say when they were taken."""

NOENT = 2
CHANGED = EPOCH_NS - 3_600_000_000_000

Exchange = tuple[int, Request, int, bytes]
"""Time of the call in microseconds since time 0, request, time of the reply, body of the reply."""


def nfsv3_tar() -> Capture:
    """The 36 frames of the NFSv3 table: 18 calls, no handshake, no pure ACKs.

    The trace was taken at the server.  MKDIR, CREATE, WRITE and two SETATTR take 8.022 ms of
    service time together, the other 13 calls 0.707 ms.
    """
    share, directory, file = (_handle3(known) for known in (0xAD487762, 0x44856022, 0xD98A8154))
    root_attributes = Fattr3(nfs3.NF3DIR, 0o777, 3, 0, 0, 3, 512, fileid=4)
    directory_attributes = Fattr3(nfs3.NF3DIR, 0o755, 2, 100, 10, 2, 512, fileid=8)
    file_attributes = Fattr3(nfs3.NF3REG, 0o600, 1, 100, 10, 1024, 1536, fileid=9)
    root_wcc = Wcc(root_attributes, root_attributes)
    directory_wcc = Wcc(directory_attributes, directory_attributes)
    file_wcc = Wcc(file_attributes, file_attributes)

    get_root = nfs3.getattr_(share), nfs3.results.getattr_(root_attributes)
    get_directory = nfs3.getattr_(directory), nfs3.results.getattr_(directory_attributes)
    get_file = nfs3.getattr_(file), nfs3.results.getattr_(file_attributes)
    look_for_file = (
        nfs3.lookup(directory, "testfile1"),
        nfs3.results.lookup(directory=directory_attributes, status=NOENT),
    )
    times = Sattr3(atime=CHANGED, mtime=CHANGED)
    table: list[tuple[int, int, tuple[Request, bytes]]] = [
        (
            0,
            178,
            (
                nfs3.lookup(share, "singlefile"),
                nfs3.results.lookup(directory=root_attributes, status=NOENT),
            ),
        ),
        (438, 490, get_root),
        (
            732,
            4162,
            (
                nfs3.mkdir(share, "singlefile", Sattr3(mode=0o755, gid=10)),
                nfs3.results.mkdir(directory, directory_attributes, root_wcc),
            ),
        ),
        (4465, 4518, get_root),
        (
            4791,
            4861,
            (nfs3.access(directory, 0x1F), nfs3.results.access(0x1F, directory_attributes)),
        ),
        (5076, 5152, get_directory),
        (5327, 5371, look_for_file),
        (5559, 5594, get_directory),
        (5773, 5806, get_directory),
        (5972, 6002, get_directory),
        (6193, 6227, (nfsacl.getacl(directory), nfsacl.getacl_reply(directory_attributes))),
        (6430, 6463, look_for_file),
        (
            6618,
            7875,
            (
                _create_call(directory, "testfile1"),
                nfs3.results.create(file, file_attributes, directory_wcc),
            ),
        ),
        (8064, 8096, get_file),
        (
            8333,
            9587,
            (
                nfs3.write(file, 0, b"0" * 1024),
                nfs3.results.write(1024, nfs3.FILE_SYNC, bytes(8), file_wcc),
            ),
        ),
        (9789, 9826, get_file),
        (9998, 11082, (nfs3.setattr_(file, times), nfs3.results.setattr_(file_wcc))),
        (11337, 12334, (nfs3.setattr_(directory, times), nfs3.results.setattr_(directory_wcc))),
    ]
    conversation = _conversation3()
    for xid, (called, replied, (request, body)) in enumerate(table, start=0x5A000001):
        conversation.call(xid, _at(called), *request).reply(xid, _at(replied), body)
    return conversation.capture()


def nfsv3_sizes() -> Capture:
    """The excerpts for files of 32, 1, 33 and 64 KiB: CREATE, WRITE and COMMIT calls only.

    A WRITE's last segment has the published time and length, its other segments come just before.
    The excerpts show no replies; those here are plausible, with the service times of
    ``nfsv3_tar``: 1.257 ms for CREATE, 1.254 ms for WRITE FILE_SYNC, 0.15 ms for WRITE UNSTABLE,
    1.3 ms for COMMIT.  Whatever lay between the excerpts' frames is missing here as well.
    """
    directory = _handle3(0x24BC098F)
    directory_attributes = Fattr3(nfs3.NF3DIR, 0o755, 2, 100, 10, 4, 512, fileid=8)
    directory_wcc = Wcc(directory_attributes, directory_attributes)
    conversation = _conversation3()
    excerpts = (
        ("32kfile", 0x58DD2C54, 7877, ((15328, 0, 32768, 2),), 18675),
        ("1kfile", 0xC5D2CD22, 21063, ((24100, 0, 1024, 0),), None),
        ("33kfile", 0x38903D60, 36633, ((40300, 0, 32768, 1), (40743, 32768, 1024, 0)), 46502),
        ("64kfile", 0xA59FDC16, 50702, ((54108, 0, 32768, 1), (55688, 32768, 32768, 1)), 66764),
    )
    xid = 0x5B000001
    for name, known, created, writes, committed in excerpts:
        file = _handle3(known)
        size = sum(length for _, _, length, _ in writes)
        attributes = Fattr3(nfs3.NF3REG, 0o600, 1, 100, 10, size, size, fileid=known & 0xFFFF)
        wcc = Wcc(attributes, attributes)
        conversation.call(xid, _at(created), *_create_call(directory, name))
        made = nfs3.results.create(file, attributes, directory_wcc)
        conversation.reply(xid, _at(created + 1257), made)
        for moment, offset, length, gap in writes:
            xid += 1
            _write(conversation, xid, moment, file, offset, length, gap, wcc)
        if committed is not None:
            xid += 1
            conversation.call(xid, _at(committed), *nfs3.commit(file))
            conversation.reply(xid, _at(committed + 1300), nfs3.results.commit(wcc))
        xid += 1
    return conversation.capture()


def nfsv41_tar() -> Capture:
    """Frames 4 to 28 of the NFSv4.1 table: 12 compounds, and the pure ACK that is frame 5.

    Wireshark numbers them from 1 here, and shows frame 5 as ``Ack=221`` where the table has 222:
    what came before frame 4 is not known.  Compounds and tags (padded with blanks to 12 bytes) are
    what a Solaris client sends; the open comes with a write delegation, whose stateid the WRITE
    uses, since the table shows another stateid there.
    """
    conversation = Conversation(
        "192.168.3.242",
        "192.168.3.100",
        timestamp_bases=(_clock_base(844_284, 3_658_097), _clock_base(899_272, 3_658_212)),
        timestamp_unit_ns=10_000_000,
        credential=auth_sys(100, 10, (10,), "client01"),
    )
    for xid, (called, request, replied, body) in enumerate(_exchanges41(), start=0x5C000001):
        conversation.call(xid, _at(called), *request)
        if xid == 0x5C000001:
            conversation.ack("server", _at(3_658_212))
        conversation.reply(xid, _at(replied), body)
    return conversation.capture()


def _exchanges41() -> list[Exchange]:
    home, directory, file = (_handle4(known) for known in (0x026E0906, 0xCDC9C445, 0x1D14C75E))
    opened, delegated = _stateid(b"open-state", 0x3AA3), _stateid(b"deleg-stat", 0xF88C)
    parts = _Compounds()

    def get(handle: bytes) -> Request:
        return parts.call("getattr").putfh(handle).getattr(ATTRIBUTES4, 3).request()

    def check(handle: bytes, granted: int) -> tuple[Request, bytes]:
        request = parts.call("access").putfh(handle).access(0x1F).getattr(ATTRIBUTES4, 3)
        reply = parts.reply("access").putfh().access(granted, 0x1F).getattr(ATTRIBUTES4, 3)
        return request.request(), reply.body()

    def got(extra: dict[str, object] | None = None) -> bytes:
        values = {**ATTRIBUTES4, **(extra or {})}
        return parts.reply("getattr").putfh().getattr(values, 3).body()

    exchanges: list[Exchange] = [(3_658_097, get(home), 3_658_521, got())]
    exchanges.append(_timed(3_659_236, 3_659_366, check(home, 0x1F)))
    lookup = parts.call("lookup valid").putfh(directory).nverify({"change": 77})
    lookup.getattr(ATTRIBUTES4, 3).access(0x1F).lookup("jmoekamp").getfh()
    lookup.getattr(ATTRIBUTES4, 3)
    same = parts.reply("lookup valid").putfh().nverify().body()
    exchanges.append((3_659_744, lookup.request(), 3_659_851, same))
    exchanges.append(_timed(3_660_285, 3_660_432, check(directory, 0x03)))
    exchanges.append((3_660_945, get(home), 3_661_071, got()))
    wide = parts.call("getattr").putfh(home).getattr([*ATTRIBUTES4, *SPACE4], 3)
    exchanges.append((3_661_773, wide.request(), 3_661_896, got(SPACE4)))

    create = parts.call("open").putfh(home).savefh()
    create.open_create(
        "test1", {"size": 0, "mode": 0o600}, access=2, owner=b"open-owner-16byt"
    ).getfh().getattr(ATTRIBUTES4, 3).restorefh().getattr(ATTRIBUTES4, 3)
    created = parts.reply("open").putfh().savefh()
    created.open(
        opened,
        ChangeInfo(77, 78),
        attributes_set=("size", "mode"),
        delegation=Delegation(DELEGATE_WRITE, delegated, who="EVERYONE@"),
    ).getfh(file).getattr(NEW_FILE4, 3).restorefh().getattr(ATTRIBUTES4, 3)
    exchanges.append((3_668_453, create.request(), 3_670_813, created.body()))

    chmod = parts.call("setattr").putfh(file).setattr({"mode": 0o600}, delegated)
    chmod.getattr(ATTRIBUTES4, 3)
    changed = parts.reply("setattr").putfh().setattr(("mode",)).getattr(NEW_FILE4, 3)
    exchanges.append((3_671_881, chmod.request(), 3_673_187, changed.body()))
    may = parts.call("access").putfh(file).access(0x2D)
    allowed = parts.reply("access").putfh().access(0x0D, 0x2D)
    exchanges.append((3_673_623, may.request(), 3_673_740, allowed.body()))
    write = parts.call("write").putfh(file).write(0, b"0" * 1024, stateid=delegated)
    written = parts.reply("write").putfh().write(1024)
    exchanges.append((3_674_939, write.request(), 3_676_379, written.body()))
    times = {"time_access_set": CHANGED, "time_modify_set": CHANGED}
    touch = parts.call("setattr").putfh(file).setattr(times, delegated).getattr(ATTRIBUTES4, 3)
    touched = parts.reply("setattr").putfh().setattr(tuple(times)).getattr(FILE4, 3)
    exchanges.append((3_677_073, touch.request(), 3_678_309, touched.body()))
    close = parts.call("close").putfh(file).close(opened).getattr(ATTRIBUTES4, 3)
    closed = parts.reply("close").putfh().close(opened).getattr(FILE4, 3)
    exchanges.append((3_678_828, close.request(), 3_678_957, closed.body()))
    return exchanges


class _Compounds:
    """Starts calls and replies with their tag and SEQUENCE; each counts on its own."""

    session = b"published-sessio"

    def __init__(self) -> None:
        self._called = 0
        self._replied = 0

    def call(self, tag: str) -> Compound:
        self._called += 1
        return Compound(1, tag.ljust(12)).sequence(self.session, self._called)

    def reply(self, tag: str) -> CompoundReply:
        self._replied += 1
        return CompoundReply(tag.ljust(12)).sequence(self.session, self._replied)


ATTRIBUTES4: dict[str, object] = {
    "type": nfs4.types.NF4DIR,
    "change": 77,
    "size": 1024,
    "fsid": (1, 2),
    "fileid": 4,
    "mode": 0o755,
    "numlinks": 1,
    "owner": "jmoekamp@example.test",
    "owner_group": "staff@example.test",
    "rawdev": (0, 0),
    "space_used": 1536,
    "time_access": CHANGED,
    "time_metadata": CHANGED,
    "time_modify": CHANGED,
    "mounted_on_fileid": 4,
}
"""What the client asks for with every GETATTR: 164 bytes of attributes."""

FILE4: dict[str, object] = {
    **ATTRIBUTES4,
    "type": nfs4.types.NF4REG,
    "fileid": 9,
    "mounted_on_fileid": 9,
    "mode": 0o600,
}
"""The same of the file, once 1024 bytes were written."""

NEW_FILE4 = {**FILE4, "size": 0}
"""The same of the file while it is empty."""

SPACE4: dict[str, object] = {
    "files_avail": 1 << 20,
    "files_free": 1 << 20,
    "files_total": 1 << 21,
    "maxfilesize": (1 << 63) - 1,
    "maxlink": 32000,
    "maxname": 255,
    "maxread": 1 << 20,
    "maxwrite": 1 << 20,
    "space_avail": 1 << 40,
    "space_free": 1 << 40,
    "space_total": 1 << 41,
}
"""What the wider GETATTR of frame 15 asks for in addition: 80 bytes."""


def _write(
    conversation: Conversation,
    xid: int,
    moment: int,
    file: bytes,
    offset: int,
    length: int,
    gap: int,
    wcc: Wcc,
) -> None:
    """A WRITE whose last segment is at ``moment``; a full 32 KiB is sent UNSTABLE.

    The published last frame of 846 bytes leaves 264 bytes for the one before it, when the others
    are full.
    """
    stable = nfs3.UNSTABLE if length == 32768 else nfs3.FILE_SYNC
    message = call(xid, *nfs3.write(file, offset, b"0" * length, stable), conversation.credential)
    stream = record(message)
    last = 780 if stable == nfs3.UNSTABLE else len(stream)
    head = stream[:-last]
    if head:
        segments = -(-len(head) // 1448)
        conversation.send("client", _at(moment - gap) - (segments - 1) * 1000, head)
    conversation.send("client", _at(moment), stream[-last:])
    service = 150 if stable == nfs3.UNSTABLE else 1254
    body = nfs3.results.write(length, stable, bytes(8), wcc)
    conversation.reply(xid, _at(moment + service), body)


def _conversation3() -> Conversation:
    return Conversation(credential=auth_sys(100, 10, (10,), "client01"))


def _create_call(directory: bytes, name: str) -> Request:
    """A Solaris client sets mode, the directory's group and size 0."""
    return nfs3.create(directory, name, Sattr3(mode=0o600, gid=10, size=0), nfs3.GUARDED)


def _timed(called: int, replied: int, exchange: tuple[Request, bytes]) -> Exchange:
    return called, exchange[0], replied, exchange[1]


def _at(microseconds: int) -> int:
    return EPOCH_NS + microseconds * 1000


def _clock_base(clock: int, microseconds: int) -> int:
    """The TCP clock at time 0 of a side whose clock of 10 ms shows ``clock`` at this moment."""
    return clock - _at(microseconds) // 10_000_000


def _handle3(known: int) -> bytes:
    return _forged(b"nfsv3-file-handle-of-32-byte", known, 32, 0xEDB88320)


def _handle4(known: int) -> bytes:
    return _forged(b"nfsv4-file-handle-of-fifty-six-bytes----------------", known, 32, 0xEDB88320)


def _stateid(name: bytes, known: int) -> Stateid:
    whole = _forged(b"\0\0\0\1" + name, known, 16, 0x8408)
    return Stateid(1, whole[4:])


def _forged(prefix: bytes, wanted: int, width: int, polynomial: int) -> bytes:
    """``prefix`` and as many bytes as the CRC is wide, so that the CRC of all is ``wanted``.

    Wireshark prints the CRC-32 of a handle and the CRC-16 (X.25) of a stateid.  Both are reflected
    and begin and end with all ones; running the register backwards from the wanted end gives what
    it must hold before the last bytes.
    """
    ones = (1 << width) - 1
    register = ones
    for byte in prefix:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
    before = wanted ^ ones
    for _ in range(width):
        high = before >> (width - 1)
        before = ((before ^ polynomial) << 1 | 1) if high else before << 1
    return prefix + (before ^ register).to_bytes(width // 8, "little")
