"""What a reply says of its sender's clock is that of the segment that completes it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import pcapnfs
from pcapnfs.synth.builder import Capture, Conversation, nfs3
from tests.decoded import MS, T

pytest.importorskip("pcapnfs._core")

WRAP = 2**32


def clocks(folder: Path, capture: Capture) -> list[int | None]:
    """The column, in order of the calls."""
    path = capture.write(folder / "clocks.pcap")
    with pcapnfs.open(path) as trace:
        return [clock for (clock,) in trace.rows("select reply_clock from calls order by call")]


def talk(
    bases: tuple[int, int] | None = (0, 0), transport: Literal["tcp", "udp"] = "tcp"
) -> Conversation:
    """Two calls, whose replies come in segments 2 ms apart, and what both clocks say at time 0."""
    connection = Conversation(transport=transport, timestamp_bases=bases, segment_gap_ns=2 * MS)
    for number in range(2):
        at_ns = T + number * 100 * MS
        connection.call(number, at_ns, *nfs3.access(bytes(32)))
        connection.reply(number, at_ns + 10 * MS, bytes(3000))
    return connection


@pytest.mark.parametrize("ahead", [0, 20])
def test_it_is_that_of_the_last_segment(ahead: int, tmp_path: Path) -> None:
    """Three segments each; the server's clock begins anew within the second reply, or nowhere."""
    base = (ahead - T // MS - 120) % WRAP
    expected = [(base + (T + at * MS) // MS) % WRAP for at in (14, 114)]
    capture = talk((7, base)).capture()
    assert clocks(tmp_path, capture) == expected


def test_it_is_unknown_where_nothing_says_so(tmp_path: Path) -> None:
    assert clocks(tmp_path, talk(None).capture()) == [None, None]
    assert clocks(tmp_path, talk(transport="udp").capture()) == [None, None]


def test_it_is_unknown_of_a_segment_that_waited_for_one_that_was_lost(tmp_path: Path) -> None:
    """The second segment of the first reply comes 20 ms late, behind the third."""
    connection = talk((0, 5))
    frames = connection.capture().frames
    late = frames[2]
    capture = Capture([*frames[:2], frames[3], late.at(late.time_ns + 20 * MS), *frames[4:]])
    assert clocks(tmp_path, capture) == [None, (5 + (T + 114 * MS) // MS) % WRAP]
