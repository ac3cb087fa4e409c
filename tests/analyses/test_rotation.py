"""Which files of a rotation were not given."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.rotation import not_given


@pytest.mark.parametrize(
    ("files", "numbers"),
    [
        (("a.pcap0", "a.pcap1", "a.pcap3"), ("2",)),
        (("a.pcap", "a.pcap1", "a.pcap4.gz"), ("2 to 3",)),
        (("x/a.pcap08", "x/a.pcap11", "x/a.pcap00", "x/a.pcap02"), ("9 to 10", "1")),
        (("a_00001_20261128154051.pcapng", "a_00003_20261128154055.pcapng"), ("2",)),
        (("a.pcap1", "b.pcap0", "a.pcap2", "b.pcap1"), ()),
        (("a.pcap2", "a.pcap0", "a.pcap1"), ()),
        (("client1.pcap", "client3.pcap"), ()),
        (("run.v3", "run.v42"), ()),
        (("a.dmp", "a.dmp2"), ("1",)),
        (("a-154051.pcap", "a-154055.pcap"), ()),
        # One without packets stands before all others.
        (("a.pcap2", "a.pcap0", "a.pcap1", "a.pcap3"), ()),
        (("a.pcap2", "a.pcap0", "a.pcap5"), ("1", "3 to 4")),
    ],
)
def test_numbers_between_two_files_are_those_not_given(
    files: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    assert not_given(files) == numbers
