"""The histogram of file sizes begins where files do."""

from __future__ import annotations

import re

from pcapnfs.analyses.by_file.sizes import Fit, SizeBin, Sizes
from pcapnfs.record import replace
from pcapnfs.views import sizes
from pcapnfs.views.report import charts
from tests.views import samples
from tests.views.samples import render

LARGE = (
    SizeBin(184, 0, 0.0, 0.0),
    SizeBin(368, 0, 0.0, 0.0),
    SizeBin(736, 3, 0.75, 0.75),
    SizeBin(1472, 0, 0.0, 0.75),
    SizeBin(2944, 1, 0.25, 1.0),
)


def large() -> Sizes:
    return replace(samples.sizes(), bins=LARGE)


def test_bins_below_the_smallest_file_are_not_shown() -> None:
    shown = [(above, each.up_to_bytes) for above, each in sizes.spanned(large())]
    assert shown == [(368, 736), (736, 1472), (1472, 2944)]


def test_each_line_tells_both_ends_of_its_bin() -> None:
    lines = [
        re.split(" +", line.strip()) for line in render(sizes.screen(large()), 80).splitlines()
    ]
    assert lines[-4][:4] == ["above", "up", "to", "files"]
    assert [line[:4] for line in lines[-3:]] == [
        ["368", "B", "736", "B"],
        ["736", "B", "1\u2009472", "B"],
        ["1\u2009472", "B", "2\u2009944", "B"],
    ]


def test_the_first_bin_begins_at_nothing() -> None:
    assert next(sizes.spanned(samples.sizes()))[0] == 0
    assert "\n    184 B" in re.sub(r" {5,}", "    ", render(sizes.screen(samples.sizes()), 80))


def test_sizes_beside_one_another_are_written_alike() -> None:
    assert sizes.amounts(2621.0, 37462.0) == ["2\u2009621 B", "37\u2009462 B"]
    assert sizes.amounts(2621.5, 37462.0) == ["2.56 KiB", "36.6 KiB"]
    assert sizes.amounts(1000.0, 4194.3, 1 << 20) == ["1\u2009000 B", "4.10 KiB", "1.00 MiB"]
    assert sizes.amounts(None, 0) == ["-", "0 B"]


def test_without_frames_only_calls_are_fitted_into() -> None:
    """As over RDMA."""
    none = Fit(None, "rdma", None, None)
    found = replace(samples.sizes(), frame=none, jumbo_frame=none, mtu_bytes=None)
    text = render(sizes.screen(found), 80)
    assert "frame" not in text
    assert "one WRITE (wsize)" in text
    assert sizes.line(found).endswith("largest 1.00 MiB; 90.0 % fit one WRITE (32\u2009768 B).")
    # Of what was only read it is no matter what a WRITE holds.
    assert "one WRITE" not in sizes.line(found, read_alone=True)
    read = replace(found, read=replace(found.write, share=0.7))
    assert "; 70.0 % fit one READ (32" in sizes.line(read, read_alone=True)
    unknown = replace(found, write=replace(none, source="unknown"))
    assert sizes.line(unknown).endswith("largest 1.00 MiB.")
    assert "fit into" not in render(sizes.screen(unknown), 80)


def test_the_picture_begins_there_too() -> None:
    assert re.findall("≤ ([^<]+)<", charts.sizes(large())) == [
        "736 B",
        "1\u2009472 B",
        "2\u2009944 B",
    ]
