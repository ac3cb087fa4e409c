"""A client chooses the program by which its server calls it back."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.builder import Conversation, rpc
from pcapnfs.synth.builder.nfs4 import (
    CallbackCompound,
    CallbackReply,
    Compound,
    CompoundReply,
    Stateid,
)

from .decoded import MS, T

pytest.importorskip("pcapnfs._core")

SESSION = bytes(range(16))
STATE = Stateid(1, b"d" * 12)


def _talk(path: Path, named: int, called: int, *, other: bool = False) -> pcapnfs.Trace:
    """A session, and recalls on its connection; or from a host where nobody named a program."""
    fore = Conversation().open(T)
    fore.call(1, T + MS, *Compound(1).create_session(1, program=named).request())
    fore.reply(1, T + 2 * MS, CompoundReply().create_session(SESSION).body())
    ask = Compound(1).sequence(SESSION, 1, 0).putfh(b"root").getattr(["size"])
    fore.call(2, T + 3 * MS, *ask.request())
    answer = CompoundReply().sequence(SESSION, 1, 0).putfh().getattr({"size": 1})
    fore.reply(2, T + 4 * MS, answer.body())
    back = Conversation(client="10.0.9.9", client_port=999).open(T + 5 * MS) if other else fore
    for number in range(1, 4):
        at = T + 10 * MS * number
        call = CallbackCompound(program=called).cb_sequence(SESSION, number)
        request = call.cb_recall(STATE, b"file").request()
        back.message("server", at, rpc.call(number, called, 1, 1, request.body))
        reply = CallbackReply().cb_sequence(SESSION, number).cb_recall()
        back.message("client", at + MS, rpc.reply(number, reply.body()))
    capture = fore.capture() + back.capture() if other else fore.capture()
    path.write_bytes(capture.pcap())
    return pcapnfs.open(path)


_CALLS = """
    select protocol, op, client, server, callback, undecoded, srt from calls order by call_time
"""


@pytest.mark.parametrize("program", [0x2358, 0x7000_0001])
def test_callbacks_go_by_the_number_that_the_client_named(tmp_path: Path, program: int) -> None:
    with _talk(tmp_path / "usual.pcap", 0x4000_0000, 0x4000_0000) as usual:
        expected = usual.rows(_CALLS)
    with _talk(tmp_path / "other.pcap", program, program) as trace:
        assert trace.rows(_CALLS) == expected
        assert trace.rows("select reason from notes") == []
    assert [row[1] for row in expected].count("CB_RECALL") == 3


def test_a_program_that_nobody_named_is_none_of_them(tmp_path: Path) -> None:
    with _talk(tmp_path / "other.pcap", 0x4000_0000, 0x2358) as trace:
        assert trace.rows("select count(*) from calls where callback") == [(0,)]
    with _talk(tmp_path / "host.pcap", 0x2358, 0x2358, other=True) as trace:
        assert trace.rows("select count(*) from calls where callback") == [(0,)]
