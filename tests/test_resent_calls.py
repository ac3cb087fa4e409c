"""What is sent again on one connection says nothing of calls on another."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.builder import Capture, Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import results
from pcapnfs.synth.builder.nfs4 import Compound, CompoundReply
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation

from .damage import rows
from .decoded import MS, S, T

pytest.importorskip("pcapnfs._core")


def test_a_call_goes_by_the_connection_of_its_reply(tmp_path: Path) -> None:
    """Two at the same time, one of which loses segments."""
    options = Options(files=2000, size=4000, threads=8, connections=2, loss=0.02, rtt_ns=5_000_000)
    run = Simulation(options)
    for wire in (run._connections[2].up, run._connections[2].down):
        wire._loss = 0.0
    path = tmp_path / "one-lossy.pcap"
    path.write_bytes(run.run()[0].pcap())
    with pcapnfs.open(path) as trace:
        rows = trace.sql(
            "select client_resent + server_resent > 0 as lossy, count(*) filter (tcp_resent), "
            "count(*) from calls join connections using (connection) "
            "where server_port = 2049 group by lossy order by lossy"
        ).fetchall()
    (_, clean, _), (_, resent, calls) = rows
    assert clean == 0
    assert resent > calls / 10


CONNECTIONS = 6


def asked_anew(*, acknowledged: bool) -> Capture:
    """The same question with the same xid on one connection after the other, answered each time."""
    frames = []
    for number in range(CONNECTIONS):
        at = T + number * 60 * S
        conversation = Conversation(
            client_port=700 + number, isns=(number * 10_000_019, number * 10_000_079)
        )
        conversation.open(at)
        conversation.call(1, at + MS, *nfs3.getattr_(b"root")).reply(
            1, at + 5 * MS, results.getattr_()
        )
        if acknowledged:
            conversation.close(at + 50 * MS)
        frames += conversation.frames
    return Capture(frames)


def test_a_call_whose_reply_was_acknowledged_was_not_sent_again(tmp_path: Path) -> None:
    """Who asks on a connection of its own each time may begin to count anew."""
    path = asked_anew(acknowledged=True).write(tmp_path / "anew.pcap")
    told = "SELECT count(*), count(reply_frame), sum(transmissions), count(DISTINCT srt) FROM calls"
    assert rows(path, told) == [(CONNECTIONS, CONNECTIONS, CONNECTIONS, 1)]
    again = "SELECT count(*) FROM notes WHERE reason IN ('retransmitted_call', 'duplicate_reply')"
    assert rows(path, again) == [(0,)]


def test_a_call_whose_reply_may_be_lost_was_sent_again(tmp_path: Path) -> None:
    path = asked_anew(acknowledged=False).write(tmp_path / "again.pcap")
    assert rows(path, "SELECT count(*) FROM calls") == [(1,)]


SESSION = bytes(range(16))


@pytest.mark.parametrize("same", [True, False])
def test_a_request_of_a_session_is_known_by_its_slot(tmp_path: Path, *, same: bool) -> None:
    """A client that counts its xids anew sends it again; or gave it up, and has another name."""

    def remove(name: bytes, highest: int) -> tuple[int, int, int, bytes]:
        ask = Compound(1).sequence(SESSION, 5, 0, highest).putfh(b"root").remove(name)
        return ask.request()

    answer = CompoundReply().sequence(SESSION, 5, 0).putfh().remove().body()
    first = Conversation(client_port=900).open(T)
    first.call(7, T + MS, *remove(b"name", 0)).reset(T + 10 * S)
    second = Conversation(client_port=901, isns=(7, 9)).open(T + 20 * S)
    ask = remove(b"name" if same else b"other", 3)
    second.call(1, T + 20 * S + MS, *ask).reply(1, T + 20 * S + 5 * MS, answer)
    path = tmp_path / "slot.pcap"
    path.write_bytes(Capture([*first.frames, *second.frames]).pcap())
    with pcapnfs.open(path) as trace:
        found = trace.rows(
            "select transmissions, reply_time - call_first_time from calls order by call_first_time"
        )
    again, alone = [(2, 20 * S + 4 * MS)], [(1, None), (1, 4 * MS)]
    assert found == (again if same else alone)
