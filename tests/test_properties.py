"""Whatever happens to packets on their way into a file, the calls in them stay the same.

Traffic is made up by Hypothesis and built by the project's own builder; each test does one kind of
harm to it. What is cut or lost may hide calls, but never makes new ones.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcapnfs.synth.builder import Conversation, damage, nfs3
from pcapnfs.synth.builder.capture import Capture
from tests.damage import rows
from tests.decoded import MS, T

FH = bytes(range(32))

_ROWS = """
SELECT xid, o.op, o.executed, o.status, o."offset", o.count, c.reply_frame IS NOT NULL
FROM calls c JOIN operations o USING (call) ORDER BY xid, position
"""

Row = tuple[Any, ...]

_examples = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def traffic(draw: st.DrawFn, opened: bool = False) -> Capture:
    """Some calls, up to four of them under way at a time, on one connection or two.

    ``opened``: with the handshake; otherwise it may be missing.
    """
    captures = []
    for connection in range(draw(st.integers(1, 2))):
        talk = Conversation(
            client_port=700 + connection,
            mss=draw(st.sampled_from([536, 1448, 8948, 60_000])),
            isns=(draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 2**32 - 1))),
            acknowledge_after_ns=draw(st.sampled_from([None, 1000])),
        )
        if opened or draw(st.booleans()):
            talk.open(T - MS)
        xid = 1000 * connection
        at_ns = T
        while xid < 1000 * connection + 24:
            under_way = [_exchange(draw, xid + n) for n in range(draw(st.integers(1, 4)))]
            xid += len(under_way)
            for n, (request, _) in under_way:
                at_ns += MS
                talk.call(n, at_ns, *request)
            for n, (_, answer) in draw(st.permutations(under_way)):
                at_ns += MS
                talk.reply(n, at_ns, answer)
        captures.append(talk.capture())
    return sum(captures[1:], captures[0])


def _exchange(draw: st.DrawFn, xid: int) -> tuple[int, tuple[Any, bytes]]:
    size = draw(st.sampled_from([0, 1, 1300, 5000, 40_000]))
    offset = draw(st.integers(0, 2**40))
    return xid, draw(
        st.sampled_from(
            [
                (nfs3.access(FH), nfs3.results.access(0x1F)),
                (nfs3.write(FH, offset, bytes(size)), nfs3.results.write(size)),
                (nfs3.read(FH, offset, size), nfs3.results.read(bytes(size))),
                (nfs3.lookup(FH, f"name{xid}"), nfs3.results.lookup(status=2)),
            ]
        )
    )


def found(capture: Capture, folder: Path) -> list[Row]:
    return rows(capture.write(folder / "harmed.pcap"), _ROWS)


def expected(capture: Capture, folder: Path) -> list[Row]:
    """What the whole capture gives; every call of it is answered."""
    whole = rows(capture.write(folder / "whole.pcap"), _ROWS)
    assert len(whole) >= 24
    assert all(row[-1] for row in whole)
    return whole


def _split_and_merge(capture: Capture, seed: int) -> Iterator[Capture]:
    """The same bytes in other segments, step by step."""
    chance = random.Random(seed)
    for _ in range(30):
        number = chance.randrange(1, len(capture) + 1)
        packet = capture.frames[number - 1].packet
        if packet is not None and len(packet.payload) > 1:
            capture = damage.split(capture, number, chance.randrange(1, len(packet.payload)))
        yield capture


@_examples
@given(traffic(), st.integers(0, 2**32))
def test_other_segment_borders(tmp_path: Path, capture: Capture, seed: int) -> None:
    *_, harmed = _split_and_merge(capture, seed)
    assert len(harmed) > len(capture)
    assert found(harmed, tmp_path) == expected(capture, tmp_path)


@_examples
@given(traffic(), st.integers(0, 2**32), st.sampled_from([0, 1000, 5 * MS]))
def test_frames_that_come_twice(tmp_path: Path, capture: Capture, seed: int, after: int) -> None:
    """At once, as a mirror port shows them, or later, as a retransmission."""
    harmed = damage.duplicate(capture, damage.at_random(0.3, seed), after)
    assert found(harmed, tmp_path) == expected(capture, tmp_path)


@pytest.mark.parametrize("late_ns", [700_000, 2_900_000])
def test_a_segment_overtaken_by_many_and_by_the_ack_for_them(late_ns: int, tmp_path: Path) -> None:
    """Seventy-five segments and the ACK for all of them come before the first of a reply."""
    talk = Conversation(mss=536, acknowledge_after_ns=1000)
    talk.open(T - MS)
    talk.call(1, T, *nfs3.read(FH, 0, 40_000))
    talk.reply(1, T + MS, nfs3.results.read(bytes(40_000)))
    for xid in range(2, 26):
        talk.call(xid, T + 2 * xid * MS, *nfs3.access(FH))
        talk.reply(xid, T + 2 * xid * MS + MS, nfs3.results.access(0x1F))
    capture = talk.capture()
    first = next(
        number for number, frame in enumerate(capture.frames, 1) if frame.time_ns == T + MS
    )
    harmed = damage.delay(capture, damage.frames(first), late_ns)
    assert found(harmed, tmp_path) == expected(capture, tmp_path)


@_examples
@given(traffic(opened=True), st.integers(0, 2**32))
def test_another_order_within_a_window(tmp_path: Path, capture: Capture, seed: int) -> None:
    """Frames come late by up to three milliseconds, after others if need be.

    (Where the handshake is missing, what was sent before the first segment cannot be told from what
    was sent again.)
    """
    chance = random.Random(seed)
    harmed = capture
    for _ in range(10):
        late = chance.randrange(1, len(capture) + 1)
        harmed = damage.delay(harmed, damage.frames(late), chance.randrange(3 * MS))
    assert found(harmed, tmp_path) == expected(capture, tmp_path)


@_examples
@given(traffic())
def test_another_container(tmp_path: Path, capture: Capture) -> None:
    """Big endian or nanoseconds, pcapng, compressed: all tables are the same, frames included."""
    whole = expected(capture, tmp_path)
    every = "SELECT * FROM calls ORDER BY call"
    frames = rows(capture.write(tmp_path / "a.pcap"), every)
    data = capture.pcap()
    for name, content in {
        "b.pcapng": capture.pcapng(),
        "c.pcap.gz": gzip.compress(data),
        "d.pcapng.gz": gzip.compress(capture.pcapng()),
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert rows(path, _ROWS) == whole
        assert rows(path, every) == frames


@_examples
@given(traffic(), st.integers(0, 2**32), st.sampled_from([0.01, 0.1, 0.4]))
def test_loss_hides_calls_and_makes_none(
    tmp_path: Path, capture: Capture, seed: int, share: float
) -> None:
    harmed = damage.drop(capture, damage.at_random(share, seed))
    _is_part(found(harmed, tmp_path), expected(capture, tmp_path))


@_examples
@given(traffic(), st.data())
def test_ends_cut_off(tmp_path: Path, capture: Capture, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(capture) - 1))
    end = data.draw(st.integers(0, len(capture) - 1 - start))
    harmed = damage.cut_end(damage.cut_start(capture, start), end)
    _is_part(found(harmed, tmp_path), expected(capture, tmp_path))


@_examples
@given(traffic(), st.integers(14, 400))
def test_a_snaplen(tmp_path: Path, capture: Capture, snaplen: int) -> None:
    _is_part(found(damage.snap(capture, snaplen), tmp_path), expected(capture, tmp_path))


def _is_part(some: list[Row], whole: list[Row]) -> None:
    """What a message says of itself is said of it in the whole capture too, or unknown."""
    by_xid = {row[0]: row for row in whole}
    for row in some:
        assert row[0] in by_xid, row
        for said, truth in zip(row[1:], by_xid[row[0]][1:], strict=True):
            assert said == truth or said in (None, False), (row, by_xid[row[0]])


@pytest.mark.parametrize("port", [2049, 12049])
def test_every_prefix_of_a_capture(port: int, tmp_path: Path) -> None:
    """A file that breaks off anywhere gives the calls before the break, and no other."""
    talk = Conversation(server_port=port)
    for xid in range(4):
        talk.call(xid, T + xid * MS, *nfs3.lookup(FH, f"name{xid}"))
        talk.reply(xid, T + xid * MS + 1000, nfs3.results.lookup(status=2))
    data = talk.capture().pcap()
    path = tmp_path / "prefix.pcap"
    last = 0
    for end in range(24, len(data) + 1, 7):
        path.write_bytes(data[:end])
        xids = [row[0] for row in rows(path, _ROWS)]
        assert xids == list(range(len(xids)))
        assert len(xids) >= last
        last = len(xids)
    assert last == 4
