"""Captures that other projects publish: against tshark call by call, and against nfstrace's counts.

tshark is wrong about four of them, and does not know an operation of a fifth; pcapnfs does not look
for programs that have nothing to do with NFS. Each of these differences is counted in `_KNOWN`, and
has a test below that proves which side is right from the bytes alone (`oracles/headers.py`).
"""

from __future__ import annotations

import bz2
import shutil
from collections import Counter
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.columns import of
from pcapnfs.verify.ours import READS
from pcapnfs.verify.verification import settings

from .oracles import comparison, headers
from .oracles.comparison import Differences, Exchange, Key
from .oracles.corpus import corpus_path, require_corpus
from .oracles.nfstrace import Breakdown, Session, breakdowns
from .oracles.survey import captures
from .oracles.tshark import MOST_PACKETS, dissect, require_tshark, tshark_cache, waits

pytest.importorskip("pcapnfs._core")

_STALLS = "wireshark-samples/nfs_bad_stalls.cap"
_GAPS = "nfstrace/tcp-seq-overlap-in-fragment-12721.pcap.bz2"
_FLIPPED = "nfstrace/eth-ipv6-tcp-nfsv3-bad_alloc.pcap.bz2"
_DIRECTORY = "linux-nfs-list/nfs-generic221.pcapng.gz"
_BOOT, _INSTRUMENT = "wireshark-samples/bootparams.cap.gz", "wireshark-samples/vxi-11.pcap.gz"
_FRAGMENT, _FRAGMENTS = "nfstrace/1-packet.pcap.bz2", "pcapplusplus/ip-frag.pcap"
_SEGMENT = "tcpdump/nfs-seg-fault-1.pcapng"
_LARGE = "nfstrace/eth-ipv4-tcp-nfsv4-posix.pcap.bz2"

_KNOWN: dict[str, dict[str, int]] = {
    _STALLS: {"reply_frame": 95, "srt_ns": 95},
    _GAPS: {"only ours": 6169},
    _FRAGMENT: {"only ours": 1},
    _FRAGMENTS: {"only ours": 1},
    _SEGMENT: {"only ours": 1},
    _FLIPPED: {"reply_frame": 1, "srt_ns": 1},
    _DIRECTORY: {"operations": 1, "executed": 1},
    _BOOT: {"only tshark": 3},
    _INSTRUMENT: {"only tshark": 124},
}
"""Differences to tshark, by kind."""

PORTS = (2049, 20049)
"""What tshark is told to be RPC besides the ports of servers that pcapnfs finds."""

_NFS3 = (100003, 3)

_GET_DIR_DELEGATION = 46


def _names() -> list[str]:
    """The captures that tshark and pcapnfs both read."""
    found = [name.removeprefix("public/") for name in captures() if name.startswith("public/")]
    return found or ["no-corpus"]


def _path(name: str) -> Path:
    return require_corpus() / "public" / name


def _tshark(
    name: str, config: pytest.Config, trace: pcapnfs.Trace | None = None
) -> dict[Key, Exchange]:
    """Every call that it finds in a capture, of which this is the trace.

    It is told of its ports as `pcapnfs verify` tells it, which asks the same in
    `tests/verify/test_verify.py`.
    """
    require_tshark()
    if trace is None:
        with pcapnfs.open(_path(name), columns=READS) as opened:
            return _tshark(name, config, opened)
    named = settings(trace)
    found = dissect(
        [_path(name)],
        PORTS,
        tshark_cache(config),
        whole_packets=waits(named),
        named=named,
        packets=MOST_PACKETS,
    )
    return comparison.dissected(found)


def _stops(config: pytest.Config) -> bool:
    """Whether this tshark stops at a delegation of a directory: 4.0 does, 4.6 does not."""
    return any(
        each.operations[-1:] == (_GET_DIR_DELEGATION,)
        for each in _tshark(_DIRECTORY, config).values()
    )


def _differences(name: str, config: pytest.Config) -> Differences:
    with pcapnfs.open(_path(name)) as trace:
        mine = comparison.decoded_of(trace, MOST_PACKETS)
        return comparison.differences(mine, _tshark(name, config, trace))


# Against tshark ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name == _LARGE)) for name in _names()]
)
def test_calls_are_those_of_tshark(name: str, pytestconfig: pytest.Config) -> None:
    known = _KNOWN.get(name, {})
    if name == _DIRECTORY and not _stops(pytestconfig):
        known = {}
    assert _differences(name, pytestconfig).counts() == known


def test_what_is_behind_the_packets_that_are_compared_is_of_kinds_that_came_before() -> None:
    """All calls of the largest capture are counted against nfstrace's below."""
    kinds = "select op, signature, status_name, undecoded, protocol from calls"
    asked = of(
        calls="connection call_frame reply_frame op signature status_name undecoded protocol"
    )
    with pcapnfs.open(_path(_LARGE), columns=asked) as trace:
        behind = trace.rows(
            f"""
            {kinds} where call_frame > {MOST_PACKETS} or reply_frame > {MOST_PACKETS}
            except {kinds} where greatest(call_frame, reply_frame) <= {MOST_PACKETS}
            """
        )
        begun = "select min(call_frame) from calls group by connection"
        began = max(frame for (frame,) in trace.rows(begun))
        (file,) = trace.meta.files
    assert behind == []
    assert began < MOST_PACKETS < file.packets


def test_every_known_difference_belongs_to_a_capture() -> None:
    require_corpus()
    assert set(_KNOWN) <= set(_names())


def test_tshark_takes_the_first_segment_of_a_cut_reply_for_the_whole(
    pytestconfig: pytest.Config,
) -> None:
    """Cut at 96 bytes: READ replies of 32 KB are never whole for tshark, which then names the frame
    in which they begin.
    """
    theirs = _tshark(_STALLS, pytestconfig)
    with pcapnfs.open(_path(_STALLS)) as trace:
        rows = trace.sql(
            "select call_frame, xid, reply_first_frame, reply_frame from calls where op = 'READ'"
        ).fetchall()
    assert len(rows) == _KNOWN[_STALLS]["reply_frame"]
    assert all(theirs[frame, xid].reply_frame == first for frame, xid, first, _ in rows)
    assert all(last > first for _, _, first, last in rows)


def test_replies_without_call_are_in_the_bytes_and_their_calls_are_not() -> None:
    path = _path(_STALLS)
    with pcapnfs.open(path) as trace:
        calls = trace.sql("select xid from calls where program = 100003").fetchall()
        orphans = trace.sql("select xid from notes where reason = 'reply_without_call'").fetchall()
    xids = frozenset(xid for (xid,) in orphans)
    assert len(xids) == len(orphans) == 105
    assert {header.xid for header in headers.replies(path, xids)} == xids
    found = {header.xid for header in headers.calls(path, *_NFS3)}
    assert found == {xid for (xid,) in calls}


def test_calls_behind_gaps_are_in_the_bytes() -> None:
    """tshark loses its place at the first of 6,168 gaps; a scan for headers does not. It finds all
    but those that lie across two packets, and one whose record the file does not hold to its end.
    """
    path = _path(_GAPS)
    ours = _frames(path)
    found = {header.xid: header.frame for header in headers.calls(path, *_NFS3)}
    answered = _replies(path, frozenset(found.keys() | ours.keys()))
    assert {xid for xid in found if xid in answered} <= ours.keys()
    assert found.keys() - ours.keys() <= {xid for xid in found if xid not in answered}
    assert len(ours.keys() - found.keys()) == 13
    # Every one has its reply, in the packet that the table names.
    replied = {xid: reply for xid, (_, _, reply) in ours.items() if reply is not None}
    assert all(reply in answered[xid] for xid, reply in replied.items())
    assert len(ours) - len(replied) == 1  # the last, which the file holds in part
    assert all(found.get(xid, first) == first for xid, (first, _, _) in ours.items())


def test_a_packet_with_wrong_flags_loses_nothing() -> None:
    """One packet in the middle has the SYN flag set by a damage: tshark begins a new connection,
    nfstrace loses two calls. In the bytes all are there.
    """
    path = _path(_FLIPPED)
    ours = _frames(path)
    found = {header.xid: header.frame for header in headers.calls(path, *_NFS3)}
    assert found == {xid: call for xid, (_, call, _) in ours.items()}
    answered = _replies(path, frozenset(ours))
    assert all(reply in answered[xid] for xid, (_, _, reply) in ours.items())


@pytest.mark.parametrize("name", [_FRAGMENT, _FRAGMENTS, _SEGMENT])
def test_a_write_that_lost_its_end_is_known_by_its_beginning(
    name: str, pytestconfig: pytest.Config
) -> None:
    """One fragment or segment of a WRITE: tshark shows none of it, though the header is there."""
    (key,) = _differences(name, pytestconfig).only_ours
    call = comparison.decoded([_path(name)])[key]
    assert (call.program, call.version, call.procedure) == (*_NFS3, 7)
    if _path(name).suffix != ".pcapng":
        assert key[1] in {header.xid for header in headers.calls(_path(name), *_NFS3)}


def _frames(path: Path) -> dict[int, tuple[int, int, int | None]]:
    """First and last frame of each call, and last of its reply, by xid."""
    with pcapnfs.open(path) as trace:
        rows = trace.sql("select xid, call_first_frame, call_frame, reply_frame from calls")
        return {xid: (first, last, reply) for xid, first, last, reply in rows.fetchall()}


def _replies(path: Path, xids: frozenset[int]) -> dict[int, set[int]]:
    """Packets in which a reply begins; retransmitted segments hold one twice."""
    found: dict[int, set[int]] = {}
    for header in headers.replies(path, xids):
        found.setdefault(header.xid, set()).add(header.frame)
    return found


def test_tshark_does_not_know_a_delegation_of_a_directory(pytestconfig: pytest.Config) -> None:
    """tshark 4.0 stops at GET_DIR_DELEGATION (RFC 8881 section 18.39); a GETATTR follows it."""
    require_corpus()
    if not _stops(pytestconfig):
        pytest.skip("this tshark knows it")
    ours, theirs = comparison.decoded([_path(_DIRECTORY)]), _tshark(_DIRECTORY, pytestconfig)
    ((key,),) = [
        tuple(keys) for keys in {_differences(_DIRECTORY, pytestconfig).changed["executed"]}
    ]
    for mine, other in (
        (ours[key].operations, theirs[key].operations),
        (ours[key].executed, theirs[key].executed),
    ):
        assert other[-1] == _GET_DIR_DELEGATION
        assert mine == (*other, 9)


@pytest.mark.parametrize(("name", "program"), [(_BOOT, 100026), (_INSTRUMENT, 395183)])
def test_programs_beside_nfs_are_not_looked_for(
    name: str, program: int, pytestconfig: pytest.Config
) -> None:
    """bootparam and VXI-11 are ONC RPC; connections that carry nothing else are left alone."""
    theirs = _tshark(name, pytestconfig)
    only = _differences(name, pytestconfig).only_theirs
    assert {theirs[key].program for key in only} == {program}
    with pcapnfs.open(_path(name)) as trace:
        assert trace.sql("select distinct protocol from calls").fetchall() == [("portmap2",)]


# Against nfstrace --------------------------------------------------------------------------------

_REFERENCES = "nfstrace/references/breakdown"

_LOST_BY_NFSTRACE = {
    (_FLIPPED, "3"): Counter({"ACCESS": 2}),
    (_GAPS, "3"): Counter({"WRITE": 1}),
    (_FRAGMENT, "3"): Counter({"WRITE": 1}),
}
"""Calls that are in the bytes (see above) and not in nfstrace's counts, by capture and version."""

_MINORS = {"4.0": 0, "4.1": 1}


def _references() -> list[str]:
    root = corpus_path()
    folder = root / "public" / _REFERENCES if root else Path("absent")
    return sorted(path.name for path in folder.glob("*.ref")) or ["no-corpus"]


@pytest.mark.parametrize("reference", _references())
def test_counts_are_those_of_nfstrace(reference: str) -> None:
    """In the whole and in each session; operations of compounds as far as they were executed."""
    name = f"nfstrace/{reference.removesuffix('.ref')}"
    path = _path(name)
    told = breakdowns(_path(_REFERENCES) / reference)
    with pcapnfs.open(path) as trace:
        ours = {version: _breakdown(trace, version) for version in ("3", "4.0", "4.1")}
    for version, mine in ours.items():
        theirs = told.get(version, Breakdown(Counter(), {}))
        lost = _LOST_BY_NFSTRACE.get((name, version), Counter())
        assert mine.whole == theirs.whole + lost, version
        assert lost or mine.sessions == theirs.sessions, version


def _breakdown(trace: pcapnfs.Trace, version: str) -> Breakdown:
    """What nfstrace would count: NULL of NFSv4 has no minor version and counts as 4.0."""
    sessions: dict[Session, Counter[str]] = {}
    kinds = f"c.version = 3 and {version == '3'}::bool"
    if version in _MINORS:
        kinds = f"c.version = 4 and coalesce(c.minor, 0) = {_MINORS[version]}"
    rows = trace.sql(
        f"""
        with told as (
            select connection, if(c.procedure = 1 and c.version = 4, 'COMPOUND', op) as name
            from calls c where program = 100003 and {kinds}
            union all
            select connection, o.op from operations o join calls c using (call)
            where program = 100003 and c.version = 4 and c.procedure = 1 and o.executed and {kinds}
        )
        select transport, client, client_port, server, server_port, name, count(*)
        from told join connections using (connection) group by all
        """
    ).fetchall()
    for *ends, name, number in rows:
        sessions.setdefault(Session(*ends), Counter())[name] = number
    return Breakdown(sum(sessions.values(), Counter()), sessions)


# Captures of one another -------------------------------------------------------------------------

_CALLS = """
    select xid, protocol, op, signature, call_bytes, reply_bytes, srt, status_name, undecoded
    from calls order by call
"""


def _calls(name: str) -> list[tuple[object, ...]]:
    with pcapnfs.open(_path(name)) as trace:
        return trace.sql(_CALLS).fetchall()


def test_two_captures_in_one_file_are_their_calls() -> None:
    """1999 and 2019 in one file: time jumps by 19 years, and nothing else changes."""
    parts = ["nfstrace/eth-ipv4-udp-nfsv3.pcap.bz2", "wireshark-samples/nfsv4.1_pnfs.cap"]
    both = _calls("suricata-verify/nfs3-procedure.pcap")
    assert sorted(map(repr, both)) == sorted(repr(row) for part in parts for row in _calls(part))


def test_a_call_that_was_taken_out_leaves_its_reply() -> None:
    whole = _calls("nfstrace/eth-ipv4-udp-nfsv3.pcap.bz2")
    name = "nfstrace/eth-ipv4-udp-nfsv3-reply-first.pcap.bz2"
    rest = _calls(name)
    (gone,) = Counter(whole) - Counter(rest)
    assert Counter(rest) - Counter(whole) == Counter()
    assert gone[2] == "GETATTR"
    with pcapnfs.open(_path(name)) as trace:
        notes = trace.sql("select reason, frame, xid from notes").fetchall()
    assert notes == [("reply_without_call", 11, gone[0])]


@pytest.mark.parametrize(
    ("name", "op", "side"),
    [
        ("nfs_fsinfo_bad_status", "FSINFO", "reply"),
        ("nfs_getattr_bad_ftype", "GETATTR", None),
        ("nfs_setattr_bad_set_it", "SETATTR", "call"),
    ],
)
def test_a_value_that_does_not_exist_touches_one_call(name: str, op: str, side: str | None) -> None:
    """Each differs from nfs_base in one value. An unknown type of file is kept as a number (RFC
    1813 leaves none open, but nothing after it depends on it); an unknown status or time_how says
    that what follows cannot be known.
    """
    query = """
        select call_frame, calls.op, calls.status, calls.undecoded, type, size, fileid, name, mtime
        from calls join operations using (call) order by call_frame
    """
    with (
        pcapnfs.open(_path("zeek/nfs_base.pcap")) as base,
        pcapnfs.open(_path(f"zeek/{name}.pcap")) as damaged,
    ):
        pairs = zip(base.sql(query).fetchall(), damaged.sql(query).fetchall(), strict=True)
        changed = [(before, after) for before, after in pairs if before != after]
        layers = damaged.sql("select layer from notes").fetchall()
    assert {before[1] for before, _ in changed} == {op}
    assert len(changed) == 1
    assert layers == ([(side,)] if side else [])


def test_nothing_is_invented() -> None:
    """Two calls that end behind the version."""
    with pcapnfs.open(_path("arkime/arkime_synthetic.pcap")) as trace:
        assert trace.sql("select count(*) from calls").fetchall() == [(0,)]
        assert trace.sql("select count(*) from entries").fetchall() == [(0,)]


def test_a_packed_capture_is_unpacked_for_tshark(tmp_path: Path) -> None:
    """The oracle's own way with bzip2, which tshark does not read."""
    require_tshark()
    plain = dissect([_path("zeek/mount-unmount.pcap")], PORTS, tmp_path / "plain")
    packed = tmp_path / "packed.pcap.bz2"
    with _path("zeek/mount-unmount.pcap").open("rb") as stream, bz2.open(packed, "wb") as target:
        shutil.copyfileobj(stream, target)
    assert dissect([packed], PORTS, tmp_path / "packed") == plain
    assert plain.calls
