"""Which messages belong together: clocks that jump, ports and xids used again, calls sent again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from pcapnfs.synth.builder import Conversation, damage, nfs3, rpc
from pcapnfs.synth.builder.packet import Frame
from tests.damage import rows
from tests.decoded import MS, S, T, calls, write

FH = bytes(range(32))
OK = nfs3.results.access(0x1F)


def _times(path: Path) -> list[tuple[Any, ...]]:
    return rows(
        path, "SELECT xid, reply_first_time - call_first_time FROM calls ORDER BY call_first_frame"
    )


def _pairs_at(times: list[tuple[int, int]]) -> list[Frame]:
    """Frames of an ACCESS for each pair of times, in this order whatever the times."""
    frames = []
    for xid, (sent_ns, answered_ns) in enumerate(times):
        talk = Conversation(client_port=700 + xid, timestamp_bases=None)
        talk.call(xid, T, *nfs3.access(FH)).reply(xid, T, OK)
        call, reply = talk.frames
        frames += [call.at(sent_ns), reply.at(answered_ns)]
    return frames


def test_clocks_that_jump(tmp_path: Path) -> None:
    """Nineteen years on, back again, and a reply before its call by the clock."""
    years = 19 * 365 * 86400 * S
    times = [
        (T, T + MS),
        (T + years, T + years + MS),
        (T + 2 * MS, T + 3 * MS),
        (T + 9 * MS, T + 7 * MS),
    ]
    path = write(tmp_path / "jumps.pcap", [(f.time_ns, f.data) for f in _pairs_at(times)])
    assert _times(path) == [(0, MS), (1, MS), (2, MS), (3, -2 * MS)]


def test_a_reply_recorded_before_its_call(tmp_path: Path) -> None:
    talk = Conversation()
    for xid in range(4):
        talk.call(xid, T + xid * MS, *nfs3.access(FH)).reply(xid, T + xid * MS + 1000, OK)
    capture = damage.swap(talk.capture(), 3)
    path = capture.write(tmp_path / "early.pcap")
    assert calls(path) == [(0, True), (1, True), (2, True), (3, True)]


def test_a_pair_of_ports_used_again(tmp_path: Path) -> None:
    """New sequence numbers and the same xids: other calls, none a retransmission."""
    first = Conversation().open(T)
    second = Conversation(isns=(3_000_000_000, 4_000_000_000)).open(T + 60 * S)
    for start, talk in ((T + S, first), (T + 61 * S, second)):
        for xid in range(5):
            talk.call(xid, start + xid * MS, *nfs3.lookup(FH, f"{start}-{xid}"))
            talk.reply(xid, start + xid * MS + 1000, nfs3.results.lookup(status=2))
    path = (first.capture() + second.capture()).write(tmp_path / "ports.pcap")
    assert calls(path) == [(xid, True) for xid in range(5)] * 2
    assert rows(
        path, "SELECT count(*), count(DISTINCT connection), max(transmissions) FROM calls"
    ) == [(10, 2, 1)]


@pytest.mark.parametrize("frame", [1, 2], ids=["SYN", "SYN+ACK"])
def test_a_handshake_that_comes_after_the_first_data(frame: int, tmp_path: Path) -> None:
    """Its number says that it belongs to what was seen, and opens nothing new."""
    talk = Conversation().open(T)
    for xid in range(8):
        talk.call(xid, T + (xid + 1) * MS, *nfs3.access(FH))
        talk.reply(xid, T + (xid + 1) * MS + 1000, OK)
    late = damage.delay(talk.capture(), damage.frames(frame), 2 * MS + MS // 2)
    path = late.write(tmp_path / "late.pcap")
    assert calls(path) == [(xid, True) for xid in range(8)]
    assert rows(path, "SELECT count(DISTINCT connection) FROM calls") == [(1,)]


def test_an_xid_used_again(tmp_path: Path) -> None:
    """Another call with the same xid is another call, whether the first was answered or not."""
    talk = Conversation()
    talk.call(1, T, *nfs3.lookup(FH, "a")).reply(1, T + MS, nfs3.results.lookup(status=2))
    talk.call(1, T + 2 * MS, *nfs3.lookup(FH, "b"))
    talk.call(1, T + 9 * S, *nfs3.lookup(FH, "c"))
    talk.reply(1, T + 9 * S + MS, nfs3.results.lookup(status=2))
    path = talk.capture().write(tmp_path / "xids.pcap")
    assert calls(path) == [(1, True), (1, False), (1, True)]
    assert [srt for _, srt in _times(path)] == [MS, None, MS]


def test_a_lost_fragment_leaves_the_call(tmp_path: Path) -> None:
    """A WRITE over UDP whose third fragment was not captured: handle, offset, reply are there."""
    talk = Conversation(transport="udp")
    talk.call(1, T, *nfs3.write(FH, 4096, bytes(8000)))
    talk.reply(1, T + 5 * MS, nfs3.results.write(8000))
    capture = damage.drop(talk.capture(), damage.frames(3))
    path = capture.write(tmp_path / "fragment.pcap")
    found = rows(
        path,
        'SELECT c.call_first_frame, c.reply_frame IS NOT NULL, o."offset", o.count '
        "FROM calls c JOIN operations o USING (call)",
    )
    assert found == [(1, True, 4096, 8000)]


def test_a_call_behind_a_hole_is_found_though_its_connection_falls_silent(tmp_path: Path) -> None:
    """Other connections go on: the hole is given up while the reply is still held for its call."""
    silent = Conversation()
    silent.call(1, T, *nfs3.access(FH)).reply(1, T + MS, OK)
    silent.skip("client", 300).call(2, T + 2 * MS, *nfs3.access(FH)).reply(2, T + 3 * MS, OK)
    busy = Conversation(client_port=800)
    for xid in range(3000):
        busy.call(xid + 10, T + xid * 2 * MS, *nfs3.access(FH)).reply(
            xid + 10, T + xid * 2 * MS + MS, OK
        )
    path = (silent.capture() + busy.capture()).write(tmp_path / "silent.pcap")
    assert [answered for xid, answered in calls(path) if xid == 2] == [True]


def test_a_call_behind_a_hole_is_found_after_a_pause_of_all(tmp_path: Path) -> None:
    """The reply came long before the hole could be given up: nothing happened in between."""
    talk = Conversation()
    talk.call(1, T, *nfs3.access(FH)).reply(1, T + MS, OK)
    talk.skip("client", 300).call(2, T + 2 * MS, *nfs3.access(FH)).reply(2, T + 3 * MS, OK)
    talk.call(3, T + 30 * S, *nfs3.access(FH)).reply(3, T + 30 * S + MS, OK)
    path = talk.capture().write(tmp_path / "pause.pcap")
    assert calls(path) == [(1, True), (2, True), (3, True)]


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_call_whose_end_was_lost_is_found_and_timed(goes_on: bool, tmp_path: Path) -> None:
    """The reply acknowledges it; what the capture has of it says when it came."""
    talk = Conversation(timestamp_bases=None)
    talk.call(1, T, *nfs3.access(FH)).reply(1, T + MS, OK)
    talk.call(2, T + 2 * MS, *nfs3.write(FH, 0, bytes(4000)))
    talk.reply(2, T + 3 * MS, nfs3.results.write(4000))
    if goes_on:
        talk.call(3, T + 10 * S, *nfs3.access(FH)).reply(3, T + 10 * S + MS, OK)
    capture = damage.drop(talk.capture(), damage.frames(5))
    path = capture.write(tmp_path / "end.pcap")
    assert calls(path) == [(1, True), (2, True), (3, True)][: 3 if goes_on else 2]
    ((missing,),) = rows(path, "SELECT missing_bytes FROM connections")
    assert missing == len(talk.frames[4].data) - 54
    service_time = dict(_times(path))[2]
    assert isinstance(service_time, int)
    assert 0 < service_time <= MS


def test_a_message_that_the_end_of_the_capture_cut_is_told(tmp_path: Path) -> None:
    """A reply of which the beginning is there answers its call; a call is a call."""
    talk = Conversation()
    talk.call(1, T, *nfs3.read(FH, 0, 8000)).reply(1, T + MS, nfs3.results.read(bytes(8000)))
    path = damage.cut_end(talk.capture(), 2).write(tmp_path / "reply.pcap")
    assert calls(path) == [(1, True)]
    talk = Conversation()
    talk.call(1, T, *nfs3.access(FH)).reply(1, T + MS, OK).call(
        2, T + 2 * MS, *nfs3.write(FH, 0, bytes(8000))
    )
    path = damage.cut_end(talk.capture(), 2).write(tmp_path / "call.pcap")
    assert calls(path) == [(1, True), (2, False)]


@pytest.mark.parametrize("client_isn", [1, 1 << 30, 3 << 30, 5_000_000])
@pytest.mark.parametrize("server_isn", [1, 1 << 30, 3 << 30, 5_000_000])
def test_ports_used_again_though_the_syn_was_lost(
    client_isn: int, server_isn: int, tmp_path: Path
) -> None:
    """The new numbers may lie anywhere; after some segments the streams are found there."""
    first = Conversation(isns=(6_000_000, 6_000_000))
    second = Conversation(isns=(client_isn, server_isn))
    for start, talk, base in ((T, first, 0), (T + 60 * S, second, 100)):
        for n in range(50):
            talk.call(base + n, start + n * 30 * MS, *nfs3.access(FH))
            talk.reply(base + n, start + n * 30 * MS + MS, OK)
    path = (first.capture() + second.capture()).write(tmp_path / "ports.pcap")
    answered = [xid for xid, answered in calls(path) if answered]
    assert answered[:50] == list(range(50))
    assert len(answered) >= 90
    assert set(answered) <= {*range(50), *range(100, 150)}


# Sent again ---------------------------------------------------------------------------------------


def _two_connections() -> tuple[Conversation, Conversation]:
    return Conversation(client_port=800).open(T), Conversation(client_port=801).open(T + 10 * S)


def test_a_call_sent_again_on_a_new_connection_is_the_same(tmp_path: Path) -> None:
    old, new = _two_connections()
    old.call(1, T + S, *nfs3.access(FH))
    new.call(1, T + 11 * S, *nfs3.access(FH)).reply(1, T + 11 * S + MS, OK)
    path = (old.capture() + new.capture()).write(tmp_path / "again.pcap")
    assert rows(path, "SELECT xid, transmissions, srt FROM calls") == [(1, 2, 10 * S + MS)]


def _asked_twice(talk: Conversation, again_ns: int, answered_ns: int) -> Conversation:
    """An ACCESS that was sent again, and the times of that and of its answer after it began."""
    talk.call(1, T + S, *nfs3.access(FH))
    return talk.call(1, T + S + again_ns, *nfs3.access(FH)).reply(1, T + S + answered_ns, OK)


@pytest.mark.parametrize(
    ("transport", "answered_ns", "lost", "first_arrived"),
    [
        pytest.param("tcp", 149 * MS, False, True, id="server slower than timer"),
        pytest.param("tcp", 60 * S - MS, False, True, id="just within timeo"),
        pytest.param("tcp", 60 * S + MS, False, False, id="maybe dropped by the server"),
        pytest.param("tcp", 149 * MS, True, False, id="segment sent again"),
        pytest.param("udp", 149 * MS, False, False, id="no TCP"),
    ],
)
def test_whether_what_was_answered_is_the_first_of_several_transmissions(
    transport: Literal["tcp", "udp"],
    answered_ns: int,
    lost: bool,
    first_arrived: bool,
    tmp_path: Path,
) -> None:
    talk = _asked_twice(Conversation(transport=transport), 100 * MS, answered_ns)
    if lost:
        again = Conversation(transport=transport).call(1, T + S + 120 * MS, *nfs3.access(FH))
        talk.frames += again.frames
    path = talk.capture().write(tmp_path / "again.pcap")
    asked = "SELECT transmissions, srt, first_arrived FROM calls"
    assert rows(path, asked) == [(2, answered_ns, first_arrived)]


def test_what_was_answered_on_a_new_connection_may_be_any_transmission(tmp_path: Path) -> None:
    old, new = _two_connections()
    old.call(1, T + S, *nfs3.access(FH)).call(2, T + S, *nfs3.access(FH)).reply(2, T + 2 * S, OK)
    new.call(1, T + 11 * S, *nfs3.access(FH)).reply(1, T + 11 * S + MS, OK)
    path = (old.capture() + new.capture()).write(tmp_path / "moved.pcap")
    asked = "SELECT xid, transmissions, first_arrived FROM calls ORDER BY xid"
    assert rows(path, asked) == [(1, 2, False), (2, 1, True)]


def test_a_reply_on_the_old_connection_answers_a_call_sent_again_on_the_new(tmp_path: Path) -> None:
    old, new = _two_connections()
    old.call(1, T + S, *nfs3.access(FH))
    new.call(1, T + 11 * S, *nfs3.access(FH))
    old.reply(1, T + 12 * S, OK)
    new.reply(1, T + 13 * S, OK)
    path = (old.capture() + new.capture()).write(tmp_path / "old.pcap")
    assert rows(path, "SELECT xid, transmissions, srt FROM calls") == [(1, 2, 11 * S)]
    assert rows(path, "SELECT reason FROM notes") == [("duplicate_reply",)]


def test_a_call_sent_again_on_a_new_connection_after_its_reply_is_no_new_one(
    tmp_path: Path,
) -> None:
    """The client never saw the first reply; the capture did."""
    old, new = _two_connections()
    old.call(1, T + S, *nfs3.remove(FH, "a")).reply(1, T + S + MS, nfs3.results.remove())
    new.call(1, T + 11 * S, *nfs3.remove(FH, "a"))
    new.reply(1, T + 11 * S + MS, nfs3.results.remove(status=2))
    new.call(2, T + 12 * S, *nfs3.access(FH)).reply(2, T + 12 * S + MS, OK)
    path = (old.capture() + new.capture()).write(tmp_path / "late.pcap")
    assert calls(path) == [(1, True), (2, True)]
    found = rows(path, "SELECT reason, call FROM notes ORDER BY frame")
    assert [reason for reason, _ in found] == ["retransmitted_call", "duplicate_reply"]
    assert len({call for _, call in found}) == 1


def test_a_call_answered_after_20000_others_is_remembered_like_them(tmp_path: Path) -> None:
    """A lock that waited: its reply is found, and a second one is known as such."""
    talk = Conversation(timestamp_bases=None)
    talk.call(1_000_000, T, *nfs3.access(FH))
    for xid in range(20_000):
        talk.call(xid, T + xid * 1000, *nfs3.access(FH)).reply(xid, T + xid * 1000 + 500, OK)
    talk.reply(1_000_000, T + S, OK).reply(1_000_000, T + 2 * S, OK)
    path = talk.capture().write(tmp_path / "lock.pcap")
    assert rows(path, "SELECT srt FROM calls WHERE xid = 1000000") == [(S,)]
    assert rows(path, "SELECT reason FROM notes") == [("duplicate_reply",)]


@pytest.mark.parametrize("apart_ms", [1, 30, 300, 800])
@pytest.mark.parametrize("late", ["client", "server"])
def test_two_ports_whose_clocks_are_apart(late: str, apart_ms: int, tmp_path: Path) -> None:
    """All that one side sent is dated later: acknowledgements come before what they are for."""
    talk = Conversation(acknowledge_after_ns=10_000).open(T)
    at_ns = T + S
    for xid in range(200):
        size = (xid % 7) * 2000
        talk.call(xid, at_ns, *nfs3.write(FH, 0, bytes(size)))
        talk.reply(xid, at_ns + MS // 2, nfs3.results.write(size))
        at_ns += MS
    ends = {"client": b"\x03\xff\x08\x01", "server": b"\x08\x01\x03\xff"}
    capture = damage.delay(
        talk.capture(), lambda _, frame: frame.data[34:38] == ends[late], apart_ms * MS
    )
    path = capture.write(tmp_path / "apart.pcap")
    assert calls(path) == [(xid, True) for xid in range(200)]
    service_time = MS // 2 + (apart_ms if late == "server" else -apart_ms) * MS
    assert all(abs(found - service_time) < MS // 4 for _, found in _times(path))
    assert rows(path, "SELECT missing_bytes FROM connections") == [(0,)]
    assert rows(path, "SELECT * FROM notes") == []


def test_a_call_sent_again_behind_one_without_an_answer_counts_so_on_any_port(
    tmp_path: Path,
) -> None:
    """The port has answered others, so that the first of a connection needs no proof of its own."""
    ports = [
        Conversation(client_port=800 + n, server_port=5555).open(T + 10 * n * S) for n in range(3)
    ]
    first, silent, last = ports
    first.call(1, T + S, *nfs3.access(FH)).reply(1, T + S + MS, OK)
    silent.call(2, T + 11 * S, *nfs3.write(FH, 0, bytes(8000)))
    last.call(2, T + 21 * S, *nfs3.write(FH, 0, bytes(8000)))
    last.reply(2, T + 22 * S, nfs3.results.write(8000))
    capture = first.capture() + silent.capture() + last.capture()
    path = capture.write(tmp_path / "silent.pcap")
    found = rows(path, "SELECT xid, transmissions, call_first_time FROM calls ORDER BY xid")
    assert found == [(1, 1, T + S), (2, 2, T + 11 * S)]


def test_no_port_is_learnt_of_a_client_that_is_called_back(tmp_path: Path) -> None:
    """What comes to that port of its is no RPC by that: of another server, say."""
    talk = Conversation(client_port=800).open(T)
    talk.message("server", T + S, rpc.call(1, 0x40000000, 1, 0, b"", rpc.NO_AUTH, rpc.NO_AUTH))
    talk.message("client", T + S + MS, rpc.reply(1, b"", rpc.NO_AUTH))
    other = Conversation(server="10.0.2.99", server_port=5555, client_port=800)
    other.reply(7, T + 2 * S, bytes(2000))
    path = (talk.capture() + other.capture()).write(tmp_path / "callback.pcap")
    assert calls(path) == [(1, True)]
    assert rows(path, "SELECT * FROM notes") == []


@pytest.mark.parametrize(
    ("port", "client_port", "xid", "answered"),
    [(2049, 1023, 7, True), (111, 1023, 7, False), (2049, 1024, 7, False), (2049, 1023, 8, False)],
)
def test_a_server_may_answer_udp_from_another_of_its_addresses(
    port: int, client_port: int, xid: int, answered: bool, tmp_path: Path
) -> None:
    """From the port that was called, to the one that called."""
    asked = Conversation(server="10.0.2.10", client_port=1023, transport="udp")
    asked.call(7, T, *nfs3.access(FH))
    other = Conversation(
        server="10.0.2.12", client_port=client_port, server_port=port, transport="udp"
    )
    other.reply(xid, T + MS, OK)
    path = (asked.capture() + other.capture()).write(tmp_path / "multihomed.pcap")
    assert calls(path) == [(7, answered)]
    lonely = rows(path, "SELECT count(*) FROM notes WHERE reason = 'reply_without_call'")
    assert lonely == [(int(not answered),)]


def test_another_reply_from_there_is_told_as_repeated(tmp_path: Path) -> None:
    asked = Conversation(server="10.0.2.10", transport="udp").call(7, T, *nfs3.access(FH))
    asked.call(7, T + 2 * MS, *nfs3.access(FH))
    other = Conversation(server="10.0.2.12", transport="udp")
    other.reply(7, T + MS, OK).reply(7, T + 3 * MS, OK)
    path = (asked.capture() + other.capture()).write(tmp_path / "repeated.pcap")
    assert calls(path) == [(7, True)]
    told = rows(path, "SELECT reason FROM notes ORDER BY reason")
    assert told == [("duplicate_reply",), ("retransmitted_call",)]


def test_a_reply_that_may_answer_calls_to_two_servers_answers_neither(tmp_path: Path) -> None:
    captures = []
    for server in ("10.0.2.10", "10.0.2.11"):
        talk = Conversation(server=server, transport="udp")
        captures.append(talk.call(7, T, *nfs3.access(FH)).capture())
    other = Conversation(server="10.0.2.12", transport="udp").reply(7, T + MS, OK)
    path = (captures[0] + captures[1] + other.capture()).write(tmp_path / "two.pcap")
    assert calls(path) == [(7, False), (7, False)]


def test_a_reply_is_of_its_own_connection_first(tmp_path: Path) -> None:
    """A client may call two servers from one port with one xid."""
    captures = []
    for number, server in enumerate(("10.0.2.10", "10.0.2.12")):
        talk = Conversation(server=server, transport="udp")
        talk.call(7, T, *nfs3.access(FH)).reply(7, T + (2 - number) * MS, OK)
        captures.append(talk.capture())
    path = (captures[0] + captures[1]).write(tmp_path / "both.pcap")
    assert rows(path, "SELECT server, srt FROM calls ORDER BY server") == [
        ("10.0.2.10", 2 * MS),
        ("10.0.2.12", MS),
    ]
