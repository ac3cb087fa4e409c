"""Rows come back whole and in order, whether they were in memory or in files."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs import spilled
from pcapnfs.errors import WriteError

ROWS = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=9), st.integers(0, 9)))


@pytest.fixture(params=[1, 20, 16 << 20])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", request.param)


@pytest.mark.usefixtures("held")
def test_rows_come_back() -> None:
    @given(ROWS)
    @settings(max_examples=50, deadline=None)
    def come_back(rows: list[tuple[str, int]]) -> None:
        kept = spilled.Kept(iter(rows))
        assert list(kept) == rows
        assert list(kept) == rows, "the second time as well"
        assert list(spilled.ordered(iter(rows))) == sorted(rows)

    come_back()


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(WriteError, match=r"No space left on device; TMPDIR names another place"):
        list(spilled.ordered([("b", 1), ("a", 2)]))
