"""Every request and reply that the builder knows, once: the table the builder tests walk over."""

from collections.abc import Callable

from pcapnfs.synth.builder import Compound, CompoundReply, Stateid, mount3, nfs3, nfs4, nfsacl
from pcapnfs.synth.builder.nfs3 import Fattr3, Sattr3, Wcc
from pcapnfs.synth.builder.nfs3.results import Entry
from pcapnfs.synth.builder.nfs4 import ChangeInfo, Delegation, Denied, Entry4, Layout, Op
from pcapnfs.synth.builder.nfs4.call_state import (
    claim_delegate_cur,
    claim_delegate_prev,
    claim_previous,
)
from pcapnfs.synth.builder.rpc import RPCSEC_GSS, Request

FH = bytes(range(32))
DIR = bytes(range(32, 64))
ATTR = Fattr3(size=5, mtime_ns=1_500_000_000_123_456_789)
WCC = Wcc(ATTR, ATTR)
SET = Sattr3(0o640, 1, 2, 3, "server", 1_500_000_000_000_000_007)
STATE = Stateid(3, b"twelve-bytes")
SESSION = b"sixteen-bytes-id"
DEVICE = b"device-id-16byte"
r = nfs3.results

V3: list[tuple[Request, bytes, bytes | None]] = [
    (nfs3.null(), b"", None),
    (nfs3.getattr_(FH), r.getattr_(ATTR), r.getattr_(status=70)),
    (nfs3.setattr_(FH, SET, 7), r.setattr_(WCC), r.setattr_(WCC, status=10002)),
    (nfs3.lookup(DIR, "a"), r.lookup(FH, ATTR, ATTR), r.lookup(directory=ATTR, status=2)),
    (nfs3.access(FH), r.access(3, ATTR), r.access(attributes=ATTR, status=13)),
    (nfs3.readlink(FH), r.readlink("../t", ATTR), r.readlink(status=22)),
    (nfs3.read(FH, 1 << 33, 5), r.read(b"12345", True, ATTR), r.read(status=5)),
    (nfs3.write(FH, 7, b"abc", nfs3.UNSTABLE), r.write(3, 0, b"verifier", WCC), r.write(status=28)),
    (nfs3.create(DIR, "new", SET, nfs3.GUARDED), r.create(FH, ATTR, WCC), r.create(status=17)),
    (nfs3.mkdir(DIR, "dir", SET), r.mkdir(None, None, WCC), r.mkdir(wcc=WCC, status=17)),
    (nfs3.symlink(DIR, "l", "to", SET), r.symlink(FH, ATTR, WCC), r.symlink(status=30)),
    (nfs3.mknod(DIR, "n", nfs3.NF3CHR, SET, (4, 5)), r.mknod(FH, ATTR), r.mknod(status=1)),
    (nfs3.remove(DIR, "gone"), r.remove(WCC), r.remove(WCC, status=2)),
    (nfs3.rmdir(DIR, "gone"), r.rmdir(WCC), r.rmdir(status=66)),
    (nfs3.rename(DIR, "a", FH, "b"), r.rename(WCC, WCC), r.rename(WCC, None, status=18)),
    (nfs3.link(FH, DIR, "b"), r.link(ATTR, WCC), r.link(ATTR, WCC, status=31)),
    (
        nfs3.readdir(DIR, 5, b"verifier", 4096),
        r.readdir([Entry(1, "a", 6), Entry(2, "bcdef", 7)], False, b"verifier", ATTR),
        r.readdir(directory=ATTR, status=10003),
    ),
    (
        nfs3.readdirplus(DIR),
        r.readdirplus([Entry(1, "a", 6, ATTR, FH), Entry(2, "b", 7)], directory=ATTR),
        r.readdirplus(status=10004),
    ),
    (nfs3.fsstat(FH), r.fsstat(attributes=ATTR), r.fsstat(status=70)),
    (nfs3.fsinfo(FH), r.fsinfo(attributes=ATTR), r.fsinfo(status=70)),
    (nfs3.pathconf(FH), r.pathconf(attributes=ATTR), r.pathconf(status=70)),
    (nfs3.commit(FH, 8, 9), r.commit(WCC, b"verifier"), r.commit(WCC, status=5)),
    (nfs3.create_exclusive(DIR, "x", b"verifier"), r.create(FH), None),
    (nfs3.mknod(DIR, "fifo"), r.mknod(FH), None),
]
"""Request, successful result, failed result; the first 22 are the procedures in order."""

ACE = nfsacl.Ace(1, 0, 7)
SIDE: list[tuple[Request, bytes, bytes | None]] = [
    (nfsacl.null(), b"", None),
    (
        nfsacl.getacl(FH),
        nfsacl.getacl_reply(ATTR, [ACE], [ACE, ACE]),
        nfsacl.getacl_reply(ATTR, status=13),
    ),
    (nfsacl.setacl(FH, [ACE]), nfsacl.setacl_reply(ATTR), nfsacl.setacl_reply(status=1)),
    (mount3.null(), b"", None),
    (mount3.mnt("/export"), mount3.mnt_reply(FH, (1, 390003)), mount3.mnt_reply(status=13)),
    (mount3.umnt("/export"), b"", None),
]

Call = Callable[[Compound], Compound]
Reply = Callable[[CompoundReply], CompoundReply]
C = ChangeInfo(5, 6)
ALL_TIMES = {"time_access_set": None, "time_modify_set": 1_500_000_000_000_000_001}

V40: list[tuple[int, Call, Reply]] = [
    (Op.ACCESS, lambda c: c.access(31), lambda p: p.access(3)),
    (Op.COMMIT, lambda c: c.commit(1, 2), lambda p: p.commit(b"verifier")),
    (Op.CREATE, lambda c: c.create("d", attributes={"mode": 5}), lambda p: p.create(C, ["mode"])),
    (Op.CREATE, lambda c: c.create("l", nfs4.types.NF4LNK, target="t"), lambda p: p.create(C)),
    (Op.CREATE, lambda c: c.create("n", nfs4.types.NF4BLK, device=(1, 2)), lambda p: p.create()),
    (
        Op.GETATTR,
        lambda c: c.getattr(["size", "mode"]),
        lambda p: p.getattr({"mode": 1, "size": 2}),
    ),
    (Op.GETFH, lambda c: c.getfh(), lambda p: p.getfh(FH)),
    (Op.LINK, lambda c: c.link("b"), lambda p: p.link(C)),
    (Op.LOOKUP, lambda c: c.lookup("name"), lambda p: p.lookup()),
    (Op.LOOKUPP, lambda c: c.lookupp(), lambda p: p.lookupp()),
    (Op.NVERIFY, lambda c: c.nverify({"change": 1}), lambda p: p.nverify(0)),
    (Op.VERIFY, lambda c: c.verify({"size": 1}), lambda p: p.verify()),
    (Op.OPENATTR, lambda c: c.openattr(True), lambda p: p.openattr()),
    (Op.PUTFH, lambda c: c.putfh(FH), lambda p: p.putfh()),
    (Op.PUTPUBFH, lambda c: c.putpubfh(), lambda p: p.putpubfh()),
    (Op.PUTROOTFH, lambda c: c.putrootfh(), lambda p: p.putrootfh()),
    (Op.READ, lambda c: c.read(9, 5, STATE), lambda p: p.read(b"12345", True)),
    (
        Op.READDIR,
        lambda c: c.readdir(["type", "fileid"], 3, b"verifier"),
        lambda p: p.readdir([Entry4(1, "a", {"fileid": 3, "type": 1}), Entry4(2, "b")]),
    ),
    (Op.READLINK, lambda c: c.readlink(), lambda p: p.readlink("to")),
    (Op.REMOVE, lambda c: c.remove("gone"), lambda p: p.remove(C)),
    (Op.RENAME, lambda c: c.rename("a", "b"), lambda p: p.rename(C, C)),
    (Op.RESTOREFH, lambda c: c.restorefh(), lambda p: p.restorefh()),
    (Op.SAVEFH, lambda c: c.savefh(), lambda p: p.savefh()),
    (Op.SECINFO, lambda c: c.secinfo("a"), lambda p: p.secinfo([1, RPCSEC_GSS])),
    (Op.SETATTR, lambda c: c.setattr(ALL_TIMES, STATE), lambda p: p.setattr(ALL_TIMES)),
    (Op.WRITE, lambda c: c.write(1, b"abc", 0, STATE), lambda p: p.write(3, 0, b"verifier")),
    (Op.OPEN, lambda c: c.open_name("f"), lambda p: p.open(STATE, C, 6)),
    (
        Op.OPEN,
        lambda c: c.open_create("f", {"mode": 0o600}, nfs4.types.GUARDED4),
        lambda p: p.open(STATE, C, delegation=Delegation(1, STATE, who="me"), attributes_set=[33]),
    ),
    (
        Op.OPEN,
        lambda c: c.open_create("f", mode=nfs4.types.EXCLUSIVE4, verifier=b"verifier"),
        lambda p: p.open(STATE, C, delegation=Delegation(2, STATE, True, 4096)),
    ),
    (Op.OPEN, lambda c: c.open(claim_previous(1)), lambda p: p.open()),
    (Op.OPEN, lambda c: c.open(claim_delegate_cur(STATE, "f")), lambda p: p.open()),
    (Op.OPEN, lambda c: c.open(claim_delegate_prev("f")), lambda p: p.open()),
    (Op.OPEN_CONFIRM, lambda c: c.open_confirm(STATE, 2), lambda p: p.open_confirm(STATE)),
    (Op.OPEN_DOWNGRADE, lambda c: c.open_downgrade(STATE), lambda p: p.open_downgrade(STATE)),
    (Op.CLOSE, lambda c: c.close(STATE, 4), lambda p: p.close(STATE)),
    (Op.DELEGPURGE, lambda c: c.delegpurge(9), lambda p: p.delegpurge()),
    (Op.DELEGRETURN, lambda c: c.delegreturn(STATE), lambda p: p.delegreturn()),
    (Op.LOCK, lambda c: c.lock_new(STATE, "me"), lambda p: p.lock(STATE)),
    (Op.LOCK, lambda c: c.lock(STATE, 1, 5, 6), lambda p: p.lock(STATE)),
    (Op.LOCKT, lambda c: c.lockt("me"), lambda p: p.lockt()),
    (Op.LOCKU, lambda c: c.locku(STATE, 1), lambda p: p.locku(STATE)),
    (Op.RELEASE_LOCKOWNER, lambda c: c.release_lockowner(1, "me"), lambda p: p.release_lockowner()),
    (Op.RENEW, lambda c: c.renew(1), lambda p: p.renew()),
    (Op.SETCLIENTID, lambda c: c.setclientid("id"), lambda p: p.setclientid(7, b"verifier")),
    (
        Op.SETCLIENTID_CONFIRM,
        lambda c: c.setclientid_confirm(7, b"verifier"),
        lambda p: p.setclientid_confirm(),
    ),
]

V41: list[tuple[int, Call, Reply]] = [
    (
        Op.OPEN,
        lambda c: c.open_create("f", {"mode": 1}, nfs4.types.EXCLUSIVE4_1),
        lambda p: p.open(delegation=Delegation(3)),
    ),
    (Op.OPEN, lambda c: c.open_fh(), lambda p: p.open(delegation=Delegation(3, why=3))),
    (
        Op.EXCHANGE_ID,
        lambda c: c.exchange_id("me", implementation=("example.test", "client")),
        lambda p: p.exchange_id(5, 1, 0x10000, implementation=("example.test", "server")),
    ),
    (Op.CREATE_SESSION, lambda c: c.create_session(5), lambda p: p.create_session(SESSION)),
    (
        Op.BIND_CONN_TO_SESSION,
        lambda c: c.bind_conn_to_session(SESSION),
        lambda p: p.bind_conn_to_session(SESSION),
    ),
    (Op.DESTROY_SESSION, lambda c: c.destroy_session(SESSION), lambda p: p.destroy_session()),
    (Op.DESTROY_CLIENTID, lambda c: c.destroy_clientid(5), lambda p: p.destroy_clientid()),
    (Op.SEQUENCE, lambda c: c.sequence(SESSION, 2, 1, 3), lambda p: p.sequence(SESSION, 2, 1)),
    (Op.RECLAIM_COMPLETE, lambda c: c.reclaim_complete(), lambda p: p.reclaim_complete()),
    (Op.SECINFO_NO_NAME, lambda c: c.secinfo_no_name(), lambda p: p.secinfo_no_name([1, 6])),
    (Op.FREE_STATEID, lambda c: c.free_stateid(STATE), lambda p: p.free_stateid()),
    (Op.TEST_STATEID, lambda c: c.test_stateid([STATE, STATE]), lambda p: p.test_stateid([0, 1])),
    (
        Op.LAYOUTGET,
        lambda c: c.layoutget(STATE),
        lambda p: p.layoutget([Layout(body=nfs4.file_layout(DEVICE, [FH]))], STATE),
    ),
    (
        Op.LAYOUTGET,
        lambda c: c.layoutget(STATE, type=4),
        lambda p: p.layoutget([Layout(type=4, body=nfs4.flex_layout(DEVICE, [FH], 2))], STATE),
    ),
    (Op.LAYOUTRETURN, lambda c: c.layoutreturn(STATE), lambda p: p.layoutreturn(STATE)),
    (Op.LAYOUTRETURN, lambda c: c.layoutreturn(STATE), lambda p: p.layoutreturn()),
    (
        Op.LAYOUTCOMMIT,
        lambda c: c.layoutcommit(STATE, last_byte=99, modified_ns=1_500_000_000_000_000_000),
        lambda p: p.layoutcommit(100),
    ),
    (
        Op.GETDEVICEINFO,
        lambda c: c.getdeviceinfo(DEVICE, notify=[1]),
        lambda p: p.getdeviceinfo(nfs4.file_device_address()),
    ),
    (
        Op.GETDEVICEINFO,
        lambda c: c.getdeviceinfo(DEVICE, type=4),
        lambda p: p.getdeviceinfo(nfs4.flex_device_address(), type=4),
    ),
]

V42: list[tuple[int, Call, Reply]] = [
    (Op.ALLOCATE, lambda c: c.allocate(STATE, 0, 9), lambda p: p.allocate()),
    (Op.DEALLOCATE, lambda c: c.deallocate(STATE, 0, 9), lambda p: p.deallocate()),
    (Op.CLONE, lambda c: c.clone(STATE, STATE), lambda p: p.clone()),
    (Op.COPY, lambda c: c.copy(STATE, STATE, 1, 2, 3), lambda p: p.copy(3, callback=STATE)),
    (Op.COPY, lambda c: c.copy(STATE, STATE), lambda p: p.copy(3, 2, b"verifier")),
    (Op.OFFLOAD_STATUS, lambda c: c.offload_status(STATE), lambda p: p.offload_status(3, 0)),
    (Op.OFFLOAD_CANCEL, lambda c: c.offload_cancel(STATE), lambda p: p.offload_cancel()),
    (Op.SEEK, lambda c: c.seek(STATE, 5, 1), lambda p: p.seek(8, True)),
    (
        Op.READ_PLUS,
        lambda c: c.read_plus(0, 20, STATE),
        lambda p: p.read_plus([nfs4.Data(0, b"abcde"), nfs4.Hole(5, 15)], True),
    ),
    (Op.GETXATTR, lambda c: c.getxattr("user.a"), lambda p: p.getxattr(b"value")),
    (Op.SETXATTR, lambda c: c.setxattr("user.a", b"value"), lambda p: p.setxattr(C)),
    (Op.LISTXATTRS, lambda c: c.listxattrs(), lambda p: p.listxattrs(["user.a", "b"], 2)),
    (Op.REMOVEXATTR, lambda c: c.removexattr("user.a"), lambda p: p.removexattr(C)),
]

FAILED: list[tuple[int, Call, Reply]] = [
    (Op.LOCK, lambda c: c.lock(STATE), lambda p: p.lock(denied=Denied(1, 2), status=10010)),
    (Op.LOCKT, lambda c: c.lockt("me"), lambda p: p.lockt(Denied(), status=10010)),
    (Op.SETATTR, lambda c: c.setattr({"size": 0}), lambda p: p.setattr(status=13)),
    (Op.OPEN, lambda c: c.open_name("f"), lambda p: p.open(status=2)),
    (Op.SETCLIENTID, lambda c: c.setclientid("id"), lambda p: p.setclientid(status=10017)),
    (Op.READ, lambda c: c.read(0, 1), lambda p: p.read(status=5)),
]
"""Operations that fail, as the last of their compound."""
