"""Copies of packets, which come late, begin late, or were cut otherwise: none was sent again.

IPv6 numbers no packets. What tells a copy then is the clock of its sender, in the timestamps of
TCP: what is sent again bears the time at which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.record import replace
from pcapnfs.synth.builder import Capture, Conversation, nfs3, rpc
from pcapnfs.synth.builder.nfs3 import results
from pcapnfs.synth.builder.packet import Frame
from tests.damage import rows
from tests.decoded import MS, T

pytest.importorskip("pcapnfs._core")

SIZE = 20_000
"""Bytes of a READ: fifteen segments."""

CALLS = 20

HANDSHAKE = 3
"""Packets that open the connection."""


NUMBERED = ("10.0.0.2", "10.0.0.1")
"""Hosts whose packets are numbered."""


def talk(
    *,
    clocks: int = 0,
    mss: int = 1448,
    hosts: tuple[str, str] = ("fd00::11", "fd00::10"),
    calls: int = CALLS,
) -> Conversation:
    """READs over a path of 7 ms, one after the other, by clocks that are so many ms ahead."""
    conversation = Conversation(
        *hosts, mss=mss, mtu=mss + 100, timestamp_bases=(clocks, clocks)
    ).open(T, 7 * MS)
    for number in range(calls):
        at = T + (number + 2) * 20 * MS
        conversation.call(number, at, *nfs3.read(b"file", number * SIZE, SIZE))
        conversation.reply(number, at + 7 * MS, results.read(bytes(SIZE)))
    return conversation


def again() -> tuple[Frame, Frame]:
    """A call and a segment of another one's answer, sent again 5 ms later: at another time."""
    frames = talk(clocks=5).frames
    each = (len(frames) - HANDSHAKE) // CALLS
    call, segment = frames[HANDSHAKE + 2 * each], frames[HANDSHAKE + 5 * each + 4]
    assert len(call.data) < 300 < 1400 < len(segment.data)
    return call.at(call.time_ns + 5 * MS), segment.at(segment.time_ns + 5 * MS)


RESENT = "SELECT sum(client_resent + server_resent) FROM connections"


def resent(capture: Capture, path: Path) -> int:
    """How many segments were sent again."""
    ((segments,),) = rows(capture.write(path), RESENT)
    return int(segments)


@pytest.mark.parametrize("delay_ms", [1, 3, 10, 40])
def test_what_a_second_place_of_capture_saw_later_was_not_sent_again(
    delay_ms: int, tmp_path: Path
) -> None:
    frames = talk().frames
    copies = [frame.at(frame.time_ns + delay_ms * MS) for frame in frames]
    assert resent(Capture([*frames, *copies]), tmp_path / "twice.pcap") == 0
    assert resent(Capture([*frames, *copies, *again()]), tmp_path / "again.pcap") == 2


@pytest.mark.parametrize("after_ns", [-20_000, 20_000, 3 * MS])
def test_what_a_host_captured_before_it_was_cut_was_not_sent_again(
    after_ns: int, tmp_path: Path
) -> None:
    """A card cuts what is sent, and puts together what comes."""
    wire = talk().frames
    host = [frame.at(frame.time_ns + after_ns) for frame in talk(mss=60_000).frames]
    assert len(wire) > 5 * len(host)
    assert resent(Capture([*wire, *host]), tmp_path / "both.pcap") == 0
    assert resent(Capture([*wire, *host, *again()]), tmp_path / "again.pcap") == 2


@pytest.mark.parametrize("hosts", [NUMBERED, ("fd00::11", "fd00::10")])
def test_copies_that_begin_late_were_not_sent_again(hosts: tuple[str, str], tmp_path: Path) -> None:
    """Long after the first packets, in which copies are looked for."""
    frames = talk(hosts=hosts, calls=720).frames
    late = frames[9_000:]
    assert len(late) > 1_000
    copies = [frame.at(frame.time_ns + 2_000) for frame in late]
    assert resent(Capture([*frames, *copies]), tmp_path / "late.pcap") == 0
    again = [frame.at(frame.time_ns + 3 * MS) for frame in talk(clocks=3, hosts=hosts).frames[-5:]]
    assert resent(Capture([*talk(hosts=hosts).frames, *again]), tmp_path / "again.pcap") > 0


@pytest.mark.parametrize("hosts", [NUMBERED, ("fd00::11", "fd00::10")])
@pytest.mark.parametrize("apart_ms", [-2_000, 200, 400, 90_000])
def test_what_another_host_captured_by_its_own_clock_was_not_sent_again(
    apart_ms: int, hosts: tuple[str, str], tmp_path: Path
) -> None:
    frames = talk(hosts=hosts).frames
    other = Capture([frame.at(frame.time_ns + apart_ms * MS) for frame in frames])
    paths = [
        Capture(frames).write(tmp_path / "client.pcap"),
        other.write(tmp_path / "server.pcap"),
    ]
    with pcapnfs.open(paths) as trace:
        assert trace.rows(RESENT) == [(0,)]
        assert trace.rows("SELECT count(*), count(reply_frame) FROM calls") == [(CALLS, CALLS)]
        meta = trace.meta
        assert meta.packets == {"tcp": len(frames), "duplicate": len(frames)}
        assert meta.apart_ns == abs(apart_ms) * MS
        assert meta.copies_apart >= len(frames) - 1


def test_what_one_host_captured_half_a_second_later_was_sent_again(tmp_path: Path) -> None:
    """Near miss: in a single file nobody else's clock is in the way."""
    frames = talk(hosts=NUMBERED).frames
    late = [frame.at(frame.time_ns + 500 * MS) for frame in frames[HANDSHAKE:]]
    assert resent(Capture([*frames, *late]), tmp_path / "one.pcap") > CALLS


def cut(frames: Sequence[Frame], snaplen: int, after_ns: int = 0) -> list[Frame]:
    """The same frames as a capture keeps them that looks so much later."""
    return [
        replace(
            frame.at(frame.time_ns + after_ns),
            data=frame.data[:snaplen],
            original_length=frame.wire_length,
        )
        for frame in frames
    ]


@pytest.mark.parametrize("hosts", [NUMBERED, ("fd00::11", "fd00::10")])
@pytest.mark.parametrize("less", [120, 150])
def test_a_copy_that_holds_more_is_read_whenever_it_comes(
    less: int, hosts: tuple[str, str], tmp_path: Path
) -> None:
    """One place of capture cuts packets where the other keeps more of them."""
    frames = talk(hosts=hosts).frames
    tables = []
    for name, captures in {
        "whole": [frames],
        "before": [frames, cut(frames, less, 2_000)],
        "after": [cut(frames, less), cut(frames, 65_535, 2_000)],
    }.items():
        paths = [
            Capture(each).write(tmp_path / f"{name}{number}.pcap")
            for number, each in enumerate(captures)
        ]
        together = Capture([frame for each in captures for frame in each])
        for given in (paths, [together.write(tmp_path / f"{name}.pcap")]):
            with pcapnfs.open(given) as trace:
                tables.append(trace.rows("SELECT op, srt, undecoded, file FROM calls"))
    assert len(tables[0]) == CALLS
    assert all(table == tables[0] for table in tables)


BURST = 8
"""Messages that leave at once, in one segment until it is cut."""


def bursts(mss: int, *, stamped: bool = True) -> Conversation:
    """READs of 500 bytes, some at a time, over IPv6."""
    conversation = Conversation(
        "fd00::11",
        "fd00::10",
        mss=mss,
        mtu=mss + 100,
        timestamp_bases=(0, 0) if stamped else None,
    ).open(T, 7 * MS)
    for turn in range(CALLS):
        at, xids = T + (turn + 2) * 20 * MS, range(turn * BURST, (turn + 1) * BURST)
        calls = [rpc.call(xid, *nfs3.read(b"file", xid * 500, 500)) for xid in xids]
        replies = [rpc.reply(xid, results.read(bytes(500))) for xid in xids]
        conversation.send("client", at, b"".join(map(rpc.record, calls)))
        conversation.send("server", at + 7 * MS, b"".join(map(rpc.record, replies)))
    return conversation


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("after_ns", [-20_000, 20_000])
def test_a_segment_that_was_cut_is_read_from_the_packets_it_became(
    after_ns: int, stamped: bool, tmp_path: Path
) -> None:
    """A host captures what it sends before its card cuts it, and a mirror port what leaves."""
    wire = bursts(1448, stamped=stamped).frames
    host = [frame.at(frame.time_ns + after_ns) for frame in bursts(60_000, stamped=stamped).frames]
    assert max(len(frame.data) for frame in host) > 2 * 1600
    query = "SELECT xid, op, file, reply_bytes, undecoded FROM calls ORDER BY xid"
    alone = rows(Capture(wire).write(tmp_path / "wire.pcap"), query)
    both = Capture(cut([*wire, *host], 1600)).write(tmp_path / "both.pcap")
    assert len(alone) == CALLS * BURST
    assert rows(both, query) == alone
    if stamped:
        assert rows(both, RESENT) == [(0,)]
