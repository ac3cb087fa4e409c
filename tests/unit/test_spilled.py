"""Rows come back whole and in order, whether they were in memory or in files."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs import record, spilled
from pcapnfs.errors import WriteError
from pcapnfs.record import Record

ROWS = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=9), st.integers(0, 9)))


@pytest.fixture(params=[1, 20, 16 << 20])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", request.param)


@pytest.mark.usefixtures("held")
def test_rows_come_back() -> None:
    @given(ROWS)
    @settings(max_examples=50)
    def come_back(rows: list[tuple[str, int]]) -> None:
        kept = spilled.Kept(iter(rows))
        assert list(kept) == rows
        assert list(kept) == rows, "the second time as well"
        assert list(spilled.ordered(iter(rows))) == sorted(rows)

    come_back()


class Told(Record):
    name: str
    share: float | None
    within: tuple[int, ...]


@pytest.mark.usefixtures("held")
def test_records_come_back_as_records() -> None:
    told = tuple(Told(f"nàme\n{number}", number / 3, (number, 1)) for number in range(40))
    kept = spilled.listed(iter(told), Told)
    assert tuple(kept) == told
    assert len(kept) == 40
    assert (kept[0], kept[-1], kept[38:]) == (told[0], told[-1], told[38:])
    assert (kept[3:30:4], kept[5:5]) == (told[3:30:4], ())
    assert isinstance(kept, tuple) == (spilled.HELD_BYTES > 1000)
    with pytest.raises(IndexError):
        kept[40]


@pytest.mark.usefixtures("held")
def test_several_go_over_the_same_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "READ_BYTES", 7)
    monkeypatch.setattr(spilled, "MARKED", 3)
    rows = [(number, "x" * number) for number in range(20)]
    kept = spilled.Kept(iter(rows))
    assert list(zip(kept, kept, strict=True)) == list(zip(rows, rows, strict=True))
    assert [kept[place] for place in range(20)] == rows


def test_few_files_are_open_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(spilled, "RUNS", 4)
    made = tempfile.TemporaryFile
    files: list[IO[bytes]] = []

    def counted(mode: str) -> IO[bytes]:
        files.append(made(mode))
        # Of three levels, one of which is merged into the next.
        assert sum(not file.closed for file in files) <= 4 + 3 + 3
        return files[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", counted)
    rows = [(number * 7 % 50, number) for number in range(50)]
    assert list(spilled.ordered(iter(rows))) == sorted(rows)
    assert all(file.closed for file in files)


def test_a_row_is_written_once_for_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(spilled, "RUNS", 4)
    encode = record.encoded
    lengths: list[int] = []

    def counted(row: tuple[int, int]) -> bytes:
        line = encode(row)
        lengths.append(len(line))
        return line

    monkeypatch.setattr(spilled, "encoded", counted)
    rows = [(number * 7 % 256, number) for number in range(256)]
    assert list(spilled.ordered(iter(rows))) == sorted(rows)
    # Once to be measured, once by itself, and in four levels: a run has 1, 4, 16 … rows.
    assert len(lengths) <= len(rows) * 6


def test_rows_take_no_more_memory_the_more_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 1 << 20)
    monkeypatch.setattr(spilled, "READ_BYTES", 4 << 10)
    tracemalloc.start()
    try:
        for of_rows in (spilled.Kept, spilled.ordered):
            tracemalloc.reset_peak()
            number = sum(1 for _ in of_rows((-place, "", None, 0.5) for place in range(60_000)))
            assert number == 60_000
            # Held together they would take twice as much.
            assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()


def test_rows_are_gone_once_they_are_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "HELD_BYTES", 1 << 20)
    monkeypatch.setattr(spilled, "READ_BYTES", 4 << 10)
    least = 1 << 30

    def long_ones() -> Iterator[tuple[str, int]]:
        nonlocal least
        for place in range(2_000):
            yield f"{place * 7 % 2_000:04000}", place
            if place > 1_000:
                least = min(least, tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        assert len(spilled.Kept(long_ones())) == 2_000
        assert least < 1 << 19
        tracemalloc.reset_peak()
        assert sum(1 for _ in spilled.ordered(long_ones())) == 2_000
        # Those of a file that is being written, and not those that come next.
        assert tracemalloc.get_traced_memory()[1] < 3 << 19
    finally:
        tracemalloc.stop()


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spilled, "HELD_BYTES", 1)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(WriteError, match=r"No space left on device; TMPDIR names another place"):
        list(spilled.ordered([("b", 1), ("a", 2)]))
