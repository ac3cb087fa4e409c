"""What is said of frame numbers, by how many captures there are, and of how many streams."""

from __future__ import annotations

from pcapnfs.meta import Stream
from pcapnfs.views import numbered


def test_of_one_capture_they_are_those_of_wireshark() -> None:
    streams = (Stream(("a.pcap",), 0),)
    assert numbered.sentence(streams) == "Frame numbers are those of Wireshark."
    assert numbered.unless_plain(streams) == numbered.unless_plain(()) == ""
    assert list(numbered.filters([7], streams)) == [("", "frame.number in {7}")]


def test_of_several_that_are_one_stream_it_is_told_which_file_has_them() -> None:
    streams = (Stream(("a.pcap", "b.pcap"), 0),)
    assert numbered.sentence(streams) == numbered.unless_plain(streams) == numbered.OVER_ALL
    assert "pcapnfs annotate or mergecap" in numbered.OVER_ALL
    assert list(numbered.filters([7], streams)) == [("", "frame.number in {7}")]


def test_of_several_streams_it_is_told_by_how_much_they_differ() -> None:
    streams = (Stream(("a.pcap",), 0), Stream(("x/b\n.pcap",), 1000), Stream(("-", "d"), 3000))
    assert numbered.sentence(streams).replace("\u2009", " ") == (
        "Frame numbers are counted on from one capture to the next: those of Wireshark are lower "
        "by 1 000 in x/b\\x0a.pcap, by 3 000 in standard input to d, put together."
    )
    assert list(numbered.filters([7, 1007], streams)) == [
        ("a.pcap", "frame.number in {7}"),
        ("x/b\\x0a.pcap", "frame.number in {7}"),
    ]
    many = [Stream((f"{place}.pcap",), 10 * place) for place in range(9)]
    assert numbered.sentence(many).endswith("by 40 in 4.pcap, by more in 4 others.")


def test_where_nothing_is_counted_before_there_is_nothing_to_subtract() -> None:
    streams = (Stream(("a.pcap",), 0), Stream(("none.pcap",), 0))
    assert numbered.sentence(streams) == (
        "Frame numbers are counted on from one capture to the next."
    )
