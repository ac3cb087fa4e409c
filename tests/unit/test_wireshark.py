"""Display filters."""

from __future__ import annotations

import pytest

from pcapnfs import wireshark


def test_neighbouring_frames_become_spans() -> None:
    assert wireshark.frames([9, 3, 8, 7, 3]) == "frame.number in {3, 7..9}"
    assert wireshark.frames([1]) == "frame.number in {1}"


def test_no_frame_makes_no_filter() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        wireshark.frames([])
