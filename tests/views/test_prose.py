"""Sentences wrap between words, and quantities stay whole."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.padding import Padding

from pcapnfs import units
from pcapnfs.cli import output
from pcapnfs.views.prose import Prose
from tests.views.samples import render

QUANTITIES = (
    units.duration(60),
    units.duration(7500),
    units.duration(363_600),
    units.duration(22.8e-3),
    units.size(94_515),
    units.count(1_234_567),
    units.share(0.351),
    "frame 12",
    "frames 85-14826",
    "uid 0",
    "1.56 ×",
)


@given(st.lists(st.sampled_from((*QUANTITIES, "a", "long", "sentence,", "(that)"))))
def test_no_line_ends_within_a_quantity(parts: list[str]) -> None:
    text = " and ".join(parts)
    for width in (20, 33, 80):
        drawn = render(Padding(Prose(text), (0, 0, 0, 2), expand=False), width)
        lines = [line.strip() for line in drawn.splitlines()]
        assert all(cell_len(line) <= width for line in drawn.splitlines())
        assert " ".join(lines).split() == text.split()
        for line in lines:
            assert line.split()[-1] not in ("frame", "frames", "uid")
            assert not re.match(r"(s|ms|m|h|d|KiB|%|×|\d+ s|\d+ h(?! \d+ m))\b", line)


def test_styles_and_what_is_too_long_stay() -> None:
    text = Prose("1 m 5 s " + "x" * 50)
    text.stylize("bold", 0, 7)
    lines = [line.strip() for line in render(text, 20).splitlines()]
    assert lines == ["1 m 5 s", "x" * 20, "x" * 20, "x" * 10]
    assert text.plain == "1 m 5 s " + "x" * 50


def test_quantities_stay_whole_on_the_way_to_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text alone is what most screens begin with."""
    monkeypatch.setenv("COLUMNS", "23")
    output.screen(Prose("They took 31.0 s (56.5 %)."))
    assert capsys.readouterr().out.splitlines() == ["They took 31.0 s", "(56.5 %)."]
