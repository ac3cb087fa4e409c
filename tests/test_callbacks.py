"""Callbacks from or to another address than those of the mount: whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.caching.recalls import recalls
from pcapnfs.synth.builder import Capture, Compound, CompoundReply, Conversation, Stateid, rpc
from pcapnfs.synth.builder.nfs4 import CallbackCompound, CallbackReply
from pcapnfs.synth.builder.nfs4.types import ChangeInfo, Delegation
from pcapnfs.trace import Trace

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
SESSION = b"s" * 16
CLIENT, SERVER, ELSEWHERE = "10.0.2.11", "10.0.2.10", "10.0.2.99"
FOLDER = bytes(32)
FILE, DELEGATION = bytes(range(32)), Stateid(1, b"d" * 12)


def called(minor: int, sequence: int) -> Compound:
    """The beginning of a call."""
    call = Compound(minor)
    return call.sequence(SESSION, sequence) if minor else call


def answered(minor: int, sequence: int) -> CompoundReply:
    """The beginning of its reply."""
    reply = CompoundReply()
    return reply.sequence(SESSION, sequence) if minor else reply


def used(minor: int, client: str = CLIENT, server: str = SERVER) -> Conversation:
    """A client opens a file with a delegation at 1 ms, and has given it back at 502 ms."""
    grant = Delegation(1, DELEGATION)
    opened = answered(minor, 1).putfh().open(change=ChangeInfo(1, 1), delegation=grant)
    talk = Conversation(client, server, 900).open(0)
    talk.call(1, MS, *called(minor, 1).putfh(FOLDER).open_name(b"f").getfh().request())
    talk.reply(1, 2 * MS, opened.getfh(FILE).body())
    talk.call(2, 501 * MS, *called(minor, 2).putfh(FILE).delegreturn(DELEGATION).request())
    talk.reply(2, 502 * MS, answered(minor, 2).putfh().delegreturn().body())
    return talk


def recalled(
    minor: int, client: str, server: str, handle: bytes = FILE, session: bytes = SESSION
) -> Capture:
    """A callback at 102 ms: of NFSv4.0 to the client's port, else on what the client opened."""
    call, reply = CallbackCompound(minor=minor), CallbackReply()
    if minor:
        call.cb_sequence(session, 1)
        reply.cb_sequence(session, 1)
    asked = call.cb_recall(DELEGATION, handle).request()
    told = reply.cb_recall().body()
    if not minor:
        talk = Conversation(server, client, 800, 40_000).open(100 * MS)
        return talk.call(9, 102 * MS, *asked).reply(9, 103 * MS, told).capture()
    talk = Conversation(client, server, 901).open(100 * MS)
    sent = rpc.call(9, asked.program, asked.version, asked.procedure, asked.body)
    talk.message("server", 102 * MS, sent)
    return talk.message("client", 103 * MS, rpc.reply(9, told)).capture()


def opened(capture: Capture, folder: Path) -> Trace:
    """A trace of it."""
    return pcapnfs.open([capture.write(folder / "recalled.pcap")])


def parties(trace: Trace) -> list[tuple[str, str]]:
    """Client and server of each callback."""
    return trace.sql("select client, server from calls where callback").fetchall()


@pytest.mark.parametrize("minor", [0, 1])
@pytest.mark.parametrize(
    ("client", "server"), [(CLIENT, SERVER), (CLIENT, ELSEWHERE), ("10.0.9.11", SERVER)]
)
def test_a_recall_is_of_who_was_granted_the_delegation(
    minor: int, client: str, server: str, tmp_path: Path
) -> None:
    capture = used(minor).capture() + recalled(minor, client, server)
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == [(CLIENT, SERVER)]
        (found,) = recalls(trace)
    assert (found.holder, found.server, found.recalled, found.returned) == (CLIENT, SERVER, 1, 1)
    assert found.longest_s == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("minor", "session", "known"), [(0, SESSION, False), (1, SESSION, True), (1, b"t" * 16, False)]
)
def test_where_the_grant_is_not_in_the_capture_the_session_tells(
    minor: int, session: bytes, known: bool, tmp_path: Path
) -> None:
    other = bytes(reversed(FILE))
    capture = used(minor).capture() + recalled(minor, CLIENT, ELSEWHERE, other, session)
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == [(CLIENT, SERVER if known else ELSEWHERE)]


def test_a_connection_that_is_only_bound_to_a_session_is_no_other_client(tmp_path: Path) -> None:
    """A client may have the callbacks of a session come to another of its addresses."""
    bound = Conversation("10.0.9.11", SERVER, 902).open(0)
    bound.call(1, MS, *Compound(1).bind_conn_to_session(SESSION).request())
    bound.reply(1, 2 * MS, CompoundReply().bind_conn_to_session(SESSION).body())
    other = bytes(reversed(FILE))
    capture = used(1).capture() + bound.capture() + recalled(1, "10.0.9.11", SERVER, other)
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == [(CLIENT, SERVER)]


@pytest.mark.parametrize("minor", [0, 1])
def test_what_two_servers_granted_alike_tells_nothing(minor: int, tmp_path: Path) -> None:
    """Servers that were copied may have equal handles, and count states from one number."""
    both = used(minor).capture() + used(minor, server="10.0.2.20").capture()
    capture = both + recalled(minor, CLIENT, "10.0.2.20")
    with opened(capture, tmp_path) as trace:
        assert parties(trace) == [(CLIENT, "10.0.2.20")]
