"""Every message the builder knows, in the eyes of tshark: decoded, complete, counted."""

from collections import Counter
from pathlib import Path

import pytest

from pcapnfs.synth.builder import Compound, CompoundReply, Conversation, Packer, nfs3, rpc
from pcapnfs.synth.builder.nfs4 import (
    ATTRIBUTES,
    CallbackCompound,
    CallbackReply,
    Delegation,
    Op,
    Stateid,
    fattr4,
)
from pcapnfs.synth.builder.nfs4.call_state import claim_deleg_cur_fh
from tests.synth import messages
from tests.synth.messages import FH, SESSION, V3, V40, V41, V42, Call, Reply
from tests.synth.tshark import of_clean, written

START = 1_500_000_000_123_456_789
STEP = 1_000_000


def test_xdr_by_hand() -> None:
    packer = Packer().uint(1).hyper(2).boolean(True).opaque("abcde").uint_array([7])
    assert packer.optional(None, Packer.uint).linked([9], Packer.uint).done() == bytes.fromhex(
        "00000001"  # uint
        "0000000000000002"  # hyper
        "00000001"  # TRUE
        "00000005 6162636465 000000"  # length, bytes, padding
        "00000001 00000007"  # array of one
        "00000000"  # absent
        "00000001 00000009 00000000"  # list of one
    )


def test_null_call_by_hand() -> None:
    message = rpc.call(0x01020304, *nfs3.null())
    assert rpc.record(message, (4,)) == bytes.fromhex(
        "00000004 01020304"  # first fragment: xid
        "80000024"  # last fragment of 36 bytes
        "00000000 00000002 000186a3 00000003 00000000"  # CALL, RPC 2, NFS 3, NULL
        "00000000 00000000 00000000 00000000"  # no credential, no verifier
    )


def test_fattr4_is_in_order_of_the_bits() -> None:
    assert fattr4({"mode": 0o600, "size": 5}) == bytes.fromhex(
        "00000002 00000010 00000002"  # bitmap: bit 4, bit 33
        "0000000c 0000000000000005 00000180"
    )
    with pytest.raises(KeyError):
        fattr4({"colour": 1})


def test_stateid_has_twelve_bytes() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        Compound().close(Stateid(1, b"short"))


def test_fragments_must_fit() -> None:
    with pytest.raises(ValueError, match="fragments of 99 bytes"):
        rpc.record(b"four", (99,))


def _v3() -> Conversation:
    conversation = Conversation(acknowledge_after_ns=20_000).open(START - STEP)
    xid = 0
    for request, good, bad in V3 + messages.SIDE:
        for body in (good, bad):
            if body is not None:
                xid += 1
                at = START + xid * STEP
                conversation.call(xid, at, *request).reply(xid, at + STEP // 2, body)
    return conversation.close(START + (xid + 1) * STEP)


def test_v3_procedures(tmp_path: Path) -> None:
    assert [request.procedure for request, _, _ in V3[:22]] == list(range(22))
    path = written(_v3().capture(), tmp_path)
    rows = of_clean(path, ["rpc.time", "rpc.program", "rpc.procedure"], "rpc.msgtyp == 1")
    expected = Counter[tuple[str, ...]]()
    for request, _, bad in V3 + messages.SIDE:
        expected[str(request.program), str(request.procedure)] += 1 if bad is None else 2
    assert Counter(tuple(names) for _, *names in rows) == expected
    assert {time for time, *_ in rows} == {"0.000500000"}


def _compounds(minor: int, cases: list[tuple[int, Call, Reply]], sentinel: bool) -> Conversation:
    """Each operation after PUTFH and, as a sentinel for its length, before GETFH."""
    conversation = Conversation()
    for xid, (_, call, reply) in enumerate(cases, start=1):
        request = Compound(minor, b"tag")
        answer = CompoundReply(b"tag")
        if minor:
            request.sequence(SESSION, xid)
            answer.sequence(SESSION, xid)
        call(request.putfh(FH))
        reply(answer.putfh())
        if sentinel:
            request.getfh()
            answer.getfh(FH)
        at = START + xid * STEP
        conversation.call(xid, at, *request.request())
        conversation.reply(xid, at + STEP // 2, answer.body())
    return conversation


@pytest.mark.parametrize(
    ("minor", "cases", "sentinel"),
    [(0, V40, True), (1, V40 + V41, True), (2, V41 + V42, True), (1, messages.FAILED, False)],
    ids=["4.0", "4.1", "4.2", "failed"],
)
def test_v4_operations(
    minor: int, cases: list[tuple[int, Call, Reply]], sentinel: bool, tmp_path: Path
) -> None:
    path = written(_compounds(minor, cases, sentinel).capture(), tmp_path)
    before = [str(int(Op.SEQUENCE))] * (minor > 0) + [str(int(Op.PUTFH))]
    after = [str(int(Op.GETFH))] * sentinel
    expected = [[*before, str(int(opcode)), *after] for opcode, _, _ in cases]
    rows = of_clean(path, ["rpc.msgtyp", "nfs.opcode"], "rpc.msgtyp")
    for message_type in ("0", "1"):
        assert [row[1].split(",") for row in rows if row[0] == message_type] == expected


def test_shapes_that_tshark_does_not_know() -> None:
    """Wireshark 4.0 stops before these bodies; they are checked against RFC 8881 by hand."""
    claim = claim_deleg_cur_fh(Stateid(3, b"twelve-bytes"))
    assert claim == bytes.fromhex("00000005 00000003") + b"twelve-bytes"
    contention = Delegation(3, why=1).pack(Packer()).done()
    assert contention == bytes.fromhex("00000003 00000001 00000000")
    later = CompoundReply().layoutget(will_signal=True, status=10058).body()
    assert later == bytes.fromhex("0000274a 00000000 00000001  00000032 0000274a 00000001")
    small = CompoundReply().getdeviceinfo(least=99, status=10005).body()
    assert small == bytes.fromhex("00002715 00000000 00000001  0000002f 00002715 00000063")


def test_v4_tables_hold_every_operation() -> None:
    missing = {Op.BACKCHANNEL_CTL, Op.GET_DIR_DELEGATION, Op.GETDEVICELIST, Op.SET_SSV}
    missing |= {Op.WANT_DELEGATION, Op.COPY_NOTIFY, Op.IO_ADVISE, Op.LAYOUTERROR}
    missing |= {Op.LAYOUTSTATS, Op.WRITE_SAME, Op.ILLEGAL}
    assert {opcode for opcode, _, _ in V40 + V41 + V42} == set(Op) - missing


SIMPLE_VALUES: dict[str, object] = {
    "supported_attrs": ["size", "mode"],
    "fsid": (1, 2),
    "filehandle": FH,
    "mimetype": "text/plain",
    "owner": "user@example.test",
    "owner_group": "group@example.test",
    "rawdev": (3, 4),
    "change_policy": (1, 2),
    "fs_layout_types": [1],
    "layout_types": [1, 4],
    "mode_set_masked": (1, 2),
    "suppattr_exclcreat": ["size"],
    "sec_label": b"label",
    "mode_umask": (1, 2),
}
RAW_VALUES = {
    "acl": Packer().uint(1).uints(0, 0, 1).opaque("OWNER@").done(),
    "fs_locations": Packer().uint(0).uint(0).done(),
}
LEFT_TO_THE_CALLER = {"fs_status", "layout_hint", "fs_locations_info", "mdsthreshold", "dacl"}
LEFT_TO_THE_CALLER |= {"sacl", "retention_get", "retention_set", "retentevt_get", "retentevt_set"}
UNKNOWN_TO_TSHARK = {"change_policy", "layout_types", "layout_alignment", "retention_hold"}
UNKNOWN_TO_TSHARK |= {"mode_set_masked"}


def test_every_attribute_value(tmp_path: Path) -> None:
    """Each attribute before the one with the highest bit, which comes out only if it fits."""
    conversation = Conversation()
    names = [name for name in ATTRIBUTES if name not in LEFT_TO_THE_CALLER]
    for xid, name in enumerate(names, start=1):
        value = SIMPLE_VALUES.get(name, RAW_VALUES.get(name, 1))
        answer = CompoundReply().putfh().getattr({name: value, "xattr_support": 1}).getfh(FH)
        request = Compound(0).putfh(FH).getattr([name, "xattr_support"]).getfh().request()
        conversation.call(xid, START + xid * STEP, *request)
        conversation.reply(xid, START + xid * STEP + 1000, answer.body())
    path = written(conversation.capture(), tmp_path)
    rows = of_clean(path, ["nfs.attr", "nfs.fattr4_xattr_support"], "rpc.msgtyp == 1")
    for name, row in zip(names, rows, strict=True):
        assert row[0].split(",")[0] == str(ATTRIBUTES[name][0])
    unread = {name for name, row in zip(names, rows, strict=True) if row[1] != "1"}
    assert unread == UNKNOWN_TO_TSHARK


def test_callbacks_run_from_the_server(tmp_path: Path) -> None:
    """A 4.1 callback on the client's own connection: CREATE_SESSION names the program."""
    conversation = Conversation()
    setup = Compound(1).create_session(1, program=0x40000000).request()
    conversation.call(1, START, *setup)
    conversation.reply(1, START + 1000, CompoundReply().create_session(SESSION).body())
    recall = CallbackCompound().cb_sequence(SESSION, 1).cb_recall(messages.STATE, FH).request()
    message = rpc.call(9, *recall)
    conversation.message("server", START + STEP, message)
    answer = CallbackReply().cb_sequence(SESSION, 1).cb_recall().body()
    conversation.message("client", START + 2 * STEP, rpc.reply(9, answer))
    path = written(conversation.capture(), tmp_path)
    rows = of_clean(path, ["rpc.programversion", "nfs.cb.operation"], "rpc.xid == 9")
    assert [row[1] for row in rows] == ["11,4", "11,4"]


def test_rpc_refusals(tmp_path: Path) -> None:
    conversation = Conversation()
    refusals = [
        rpc.reply_failed(1, rpc.PROG_UNAVAIL),
        rpc.reply_failed(2, rpc.PROG_MISMATCH, 3, 4),
        rpc.reply_failed(3, rpc.PROC_UNAVAIL),
        rpc.reply_failed(4, rpc.GARBAGE_ARGS),
        rpc.reply_failed(5, rpc.SYSTEM_ERR),
        rpc.reply_rpc_mismatch(6),
        rpc.reply_auth_error(7, 5),
    ]
    for xid, refusal in enumerate(refusals, start=1):
        conversation.call(xid, START + xid * STEP, *nfs3.getattr_(FH))
        conversation.message("server", START + xid * STEP + 1000, refusal)
    path = written(conversation.capture(), tmp_path)
    names = ["rpc.state_accept", "rpc.state_reject", "rpc.state_auth"]
    rows = of_clean(path, names, "rpc.msgtyp == 1")
    accepted = [[str(status), "", ""] for status in range(1, 6)]
    assert rows == [*accepted, ["", "0", ""], ["", "1", "5"]]


def test_krb5_integrity_and_privacy(tmp_path: Path) -> None:
    conversation = Conversation()
    request = nfs3.getattr_(FH)
    for xid, service in ((1, rpc.GSS_NONE), (2, rpc.GSS_INTEGRITY), (3, rpc.GSS_PRIVACY)):
        body, answer = request.body, nfs3.results.getattr_()
        if service == rpc.GSS_INTEGRITY:
            body, answer = rpc.gss_integrity(xid, body), rpc.gss_integrity(xid, answer)
        elif service == rpc.GSS_PRIVACY:
            body, answer = rpc.gss_privacy(b"\xa5" * 64), rpc.gss_privacy(b"\x5a" * 96)
        credential, verifier = rpc.auth_gss(xid, service), rpc.gss_verifier()
        known = request._replace(body=body)
        at = START + xid * STEP
        conversation.call(xid, at, *known, credential=credential, verifier=verifier)
        conversation.reply(xid, at + 1000, answer, verifier=verifier)
    path = written(conversation.capture(), tmp_path)
    names = ["rpc.msgtyp", "rpc.authgss.service", "nfs.fattr3.size"]
    rows = of_clean(path, names, "rpc.msgtyp")
    assert [service for kind, service, _ in rows if kind == "0"] == ["1", "2", "3"]
    assert [size for kind, _, size in rows if kind == "1"] == ["0", "0", ""]
