"""Every message that the builder knows, through the decoder: whole, and cut at every byte.

The builder shares no code with the decoder, and tshark has confirmed its messages
(tests/synth/test_builder.py). What the builder does not know is named in `_NOT_BUILT`: those
operations have samples of bytes in the core, which goes through the same cuts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.builder import Capture, Compound, CompoundReply, Conversation, damage, nfs4, rpc
from tests.damage import tables as decoded_tables
from tests.synth import messages
from tests.synth.messages import FH, SESSION, V3, V40, V41, V42, Call, Reply

_core = pytest.importorskip("pcapnfs._core")

_START = 1_500_000_000_123_456_789
_STEP = 1_000_000
_FRAME_BYTES = 66
"""Ethernet, IPv4 and TCP with time stamps, before the payload."""

_NOT_BUILT = {
    "nfs2": None,
    "mount1": None,
    "nfsacl2": None,
    "portmap2": None,
    "rpcbind": None,
    "nlm": None,
    "nlm4": None,
    "nsm1": None,
    "rquota1": None,
    "rquota2": None,
    "mount3": {"DUMP", "UMNTALL", "EXPORT"},
    "nfsacl3": {"GETXATTRDIR"},
    "nfs4": {
        "BACKCHANNEL_CTL",
        "COPY_NOTIFY",
        "GETDEVICELIST",
        "GET_DIR_DELEGATION",
        "ILLEGAL",
        "IO_ADVISE",
        "LAYOUTERROR",
        "LAYOUTSTATS",
        "SET_SSV",
        "WANT_DELEGATION",
        "WRITE_SAME",
    },
    "nfs4 callback": {
        "CB_LAYOUTRECALL",
        "CB_NOTIFY",
        "CB_PUSH_DELEG",
        "CB_RECALL_ANY",
        "CB_RECALLABLE_OBJ_AVAIL",
        "CB_RECALL_SLOT",
        "CB_WANTS_CANCELLED",
        "CB_NOTIFY_LOCK",
        "CB_NOTIFY_DEVICEID",
        "CB_OFFLOAD",
        "CB_ILLEGAL",
    },
}
"""Operations without a message here, by protocol of docs/operations.md; None: all of them."""


# Messages ----------------------------------------------------------------------------------------


def _procedures() -> Iterator[tuple[list[str], Conversation]]:
    """NFSv3, NFSACL and MOUNT, answered well and badly."""
    talk, names, xid = Conversation().open(_START - _STEP), [], 0
    for request, good, bad in V3 + messages.SIDE:
        for body in (good, bad):
            if body is not None:
                xid += 1
                names.append(_name(request.program, request.procedure))
                talk.call(xid, _at(xid), *request).reply(xid, _at(xid) + _STEP // 2, body)
    yield names, talk


def _compounds(
    minor: int, cases: list[tuple[int, Call, Reply]], *, failing: bool = False
) -> Iterator[tuple[list[str], Conversation]]:
    """Each operation behind PUTFH, and before GETFH unless it fails."""
    talk, names = Conversation().open(_START - _STEP), []
    for xid, (opcode, call, reply) in enumerate(cases, start=1):
        request, answer = Compound(minor, b"tag"), CompoundReply(b"tag")
        if minor:
            request.sequence(SESSION, xid)
            answer.sequence(SESSION, xid)
        call(request.putfh(FH))
        reply(answer.putfh())
        if not failing:
            request.getfh()
            answer.getfh(FH)
        names.append(nfs4.Op(opcode).name)
        talk.call(xid, _at(xid), *request.request())
        talk.reply(xid, _at(xid) + _STEP // 2, answer.body())
    yield names, talk


def _callbacks() -> Iterator[tuple[list[str], Conversation]]:
    """From the server to the client, on the client's own connection."""
    talk = Conversation().open(_START - _STEP)
    talk.call(1, _at(1), *Compound(1).create_session(1, program=0x40000000).request())
    talk.reply(1, _at(1) + _STEP // 2, CompoundReply().create_session(SESSION).body())
    cases = [
        (
            nfs4.CallbackCompound().cb_sequence(SESSION, 1).cb_recall(messages.STATE, FH),
            nfs4.CallbackReply().cb_sequence(SESSION, 1).cb_recall(),
        ),
        (
            nfs4.CallbackCompound().cb_sequence(SESSION, 2).cb_getattr(FH, ["size", "change"]),
            nfs4.CallbackReply().cb_sequence(SESSION, 2).cb_getattr({"size": 5, "change": 6}),
        ),
    ]
    for xid, (call, reply) in enumerate(cases, start=2):
        talk.message("server", _at(xid), rpc.call(xid, *call.request()))
        talk.message("client", _at(xid) + _STEP // 2, rpc.reply(xid, reply.body()))
    yield ["CREATE_SESSION", "CB_RECALL", "CB_GETATTR"], talk


def _at(xid: int) -> int:
    return _START + xid * _STEP


_TALKS = {
    "3": _procedures,
    "4.0": lambda: _compounds(0, V40),
    "4.1": lambda: _compounds(1, V40 + V41),
    "4.2": lambda: _compounds(2, V41 + V42),
    "failed": lambda: _compounds(1, messages.FAILED, failing=True),
    "callbacks": _callbacks,
}


def _talk(kind: str) -> tuple[list[str], Capture]:
    ((names, talk),) = _TALKS[kind]()
    return names, talk.capture()


def _operations() -> dict[str, dict[int, str]]:
    """Every operation of docs/operations.md, by protocol."""
    found: dict[str, dict[int, str]] = {}
    for row in json.loads(_core.operations()):
        found.setdefault(row["protocol"], {})[row["number"]] = row["name"]
    return found


def _name(program: int, procedure: int) -> str:
    protocol = {100003: "nfs3", 100227: "nfsacl3", 100005: "mount3"}[program]
    return _operations()[protocol][procedure]


# Whole -------------------------------------------------------------------------------------------


def test_every_operation_is_built_or_named_here() -> None:
    built = {kind: set(_talk(kind)[0]) for kind in _TALKS}
    covered = {
        "nfs3": built["3"],
        "nfsacl3": built["3"],
        "mount3": built["3"],
        "nfs4": built["4.0"] | built["4.1"] | built["4.2"] | {"SEQUENCE", "PUTFH", "GETFH"},
        "nfs4 callback": built["callbacks"] | {"CB_SEQUENCE"},
    }
    missing = {
        protocol: {*operations.values()} - covered.get(protocol, set())
        for protocol, operations in _operations().items()
    }
    named = {
        protocol: {*_operations()[protocol].values()} if names is None else names
        for protocol, names in _NOT_BUILT.items()
    }
    assert {protocol: names for protocol, names in missing.items() if names} == named


@pytest.mark.parametrize("kind", _TALKS)
def test_messages_are_decoded_to_their_end(kind: str, tmp_path: Path) -> None:
    names, capture = _talk(kind)
    with pcapnfs.open(capture.write(tmp_path / "whole.pcap")) as trace:
        rows = trace.sql(
            """
            select c.call, list(o.op order by o.position), bool_and(o.executed), any_value(c.srt)
            from calls c join operations o using (call) group by c.call order by c.call
            """
        ).fetchall()
        assert trace.sql("select reason, layer, call from notes").fetchall() == []
    assert len(rows) == len(names)
    for name, (_, operations, executed, srt) in zip(names, rows, strict=True):
        assert name in operations
        assert executed
        assert srt == _STEP // 2


# Cut ---------------------------------------------------------------------------------------------

_STRIDE = 7
"""Bytes from one cut to the next: every place in a word of XDR comes up. The core's own tests cut
each message at every byte."""

_TOLD_LESS = {
    "calls": {
        # A compound of which the minor version, or every operation, is cut off.
        "protocol",
        "op",
        "signature",
        "operations",
        "executed",
        # Says that it is cut, and what is made of that.
        "undecoded",
        "assumed",
        "unlisted",
        # Numbers of objects, which are counted as they are met; an OPEN without its claim.
        "file",
        "directory",
    },
    "operations": {"executed", "file", "directory", "target_directory"},
}
"""Columns that may say something else of a call that is cut."""


@pytest.mark.parametrize("kind", _TALKS)
def test_a_cut_takes_facts_away_and_changes_none(kind: str, tmp_path: Path) -> None:
    """Packets cut at a byte of their payload: the calls that are still visible are those of the
    whole, with their frames and times; each value is as in the whole, or unknown; the operations
    are the first of the whole; and what is cut says so.
    """
    _, capture = _talk(kind)
    whole = _rows(capture, tmp_path)
    header = 4 + 24  # mark, and the words of a call up to its procedure
    longest = max(len(frame.data) for frame in capture.frames) - _FRAME_BYTES
    for kept in (*range(header, longest, _STRIDE), longest):
        cut = _rows(damage.snap(capture, _FRAME_BYTES + kept), tmp_path)
        assert cut.keys() == whole.keys(), kept
        for xid, (call, operations) in cut.items():
            full_call, full_operations = whole[xid]
            where = f"xid {xid} cut at byte {kept}"
            _assert_part("calls", call, full_call, where)
            assert len(operations) <= len(full_operations), where
            for part, full in zip(operations, full_operations, strict=False):
                _assert_part("operations", part, full, where)
            if (call, operations) != whole[xid] and call["file"] == full_call["file"]:
                assert call["undecoded"] == "truncated", where
    assert cut == whole


Row = dict[str, object]


def _rows(capture: Capture, folder: Path) -> dict[int, tuple[Row, list[Row]]]:
    """Each call with its operations, by xid."""
    tables = decoded_tables(capture.write(folder / "cut.pcap"), *_TOLD_LESS)
    operations: dict[object, list[Row]] = {}
    for row in tables["operations"]:
        operations.setdefault(row["call"], []).append(row)
    return {call["xid"]: (call, operations.get(call["call"], [])) for call in tables["calls"]}


def _assert_part(table: str, part: Row, full: Row, where: str) -> None:
    """Whether a row says nothing that the whole does not say."""
    for column, value in part.items():
        if value in (None, "unknown", full[column]) or column in _TOLD_LESS[table]:
            continue
        if column == "stability":
            # Taken for a success, or for the level that the call asked for (docs/definitions.md).
            assert full["status"] != 0 or "WRITE" in str(full["op"]), f"{column} of {where}"
            continue
        pytest.fail(f"{column} of {where}: {value} for {full[column]}")
