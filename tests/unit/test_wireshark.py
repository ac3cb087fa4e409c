"""Display filters."""

from __future__ import annotations

import pytest

from pcapnfs import wireshark
from pcapnfs.meta import Stream


def test_neighbouring_frames_become_spans() -> None:
    assert wireshark.frames([9, 3, 8, 7, 3]) == "frame.number in {3, 7..9}"
    assert wireshark.frames([1]) == "frame.number in {1}"


def test_no_frame_makes_no_filter() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        wireshark.frames([])


def test_each_stream_gets_a_filter_by_its_own_numbers() -> None:
    """The second has no packets: whatever is counted behind it is the third's."""
    streams = [
        Stream(("a.pcap",), 0), Stream(("none.pcap",), 10), Stream(("b.pcap", "c.pcap"), 10),
        Stream(("d.pcap",), 30),
    ]  # fmt: skip
    told = [
        (stream.files[0], "".join(pieces))
        for stream, pieces in wireshark.by_stream([31, 11, 10, 12, 30, 3], streams)
    ]
    assert told == [
        ("a.pcap", "frame.number in {3, 10}"),
        ("b.pcap", "frame.number in {1..2, 20}"),
        ("d.pcap", "frame.number in {1}"),
    ]
    assert list(wireshark.by_stream([], streams)) == []
