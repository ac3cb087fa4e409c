"""COMMITs and what was written before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.analyses.data.commits import commits
from tests.unit.rows import Row, call, operation, trace_of


def write(number: int, size: int, about: int = 1, level: str = "UNSTABLE") -> list[Row]:
    return [
        call(number, "WRITE", 1, file=about, stability="unstable_write"),
        operation(number, "WRITE", file=about, count=size, committed=level),
    ]


def commit(number: int, took_ms: float, about: int = 1) -> list[Row]:
    return [
        call(number, "COMMIT", took_ms, file=about, stability="stable"),
        operation(number, "COMMIT", file=about),
    ]


def test_each_commit_answers_for_what_came_before_it_in_its_file() -> None:
    steps = [
        write(1, 1000),
        write(2, 1000),
        write(3, 9999, about=2),
        commit(4, 3),
        write(5, 4000),
        write(6, 5000, level="FILE_SYNC"),
        commit(7, 5),
        commit(8, 1),
    ]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = commits(trace)
    assert (pair.commits, pair.files, pair.written_bytes, pair.empty) == (3, 1, 6000, 1)
    assert pair.time_s == pytest.approx(0.009)
    assert pair.mean_s == pytest.approx(0.003)
    assert pair.longest_s == 0.005
    # 1 ms, and 1 ms for each 1000 bytes.
    assert pair.fixed_s == pytest.approx(0.001)
    assert pair.rate_bytes == pytest.approx(1e6)
    assert pair.frames == (13, 7, 15)


def test_of_equal_ones_nothing_is_known_of_growth() -> None:
    calls, operations = zip(write(1, 10), commit(2, 3), strict=True)
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = commits(trace)
    assert (pair.fixed_s, pair.rate_bytes) == (None, None)


def test_without_commits_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1)]) as trace:
        assert commits(trace) == ()


def copy(number: int, level: str, *, size: int = 500, committed: bool = False) -> list[Row]:
    """A COPY within the server, with the COMMIT that Linux puts behind it, or without."""
    rows = [
        call(number, "COPY", 2, file=1, stability="stable" if committed else "unstable_write"),
        operation(number, "COPY", file=1, count=size, committed=level),
    ]
    return [*rows, operation(number, "COMMIT", file=1, position=1)] if committed else rows


def of_copies(*steps: Sequence[Row]) -> list[tuple[int, int, int, int]]:
    """Of each mount its COMMITs, what had been written before them, those without, and those before
    which more was copied than written.
    """
    operations = [operation for _, *executed in steps for operation in executed]
    with trace_of(calls=[step[0] for step in steps], operations=operations) as trace:
        return [
            (pair.commits, pair.written_bytes, pair.empty, pair.copied) for pair in commits(trace)
        ]


def test_a_commit_in_the_compound_of_a_copy_is_none_of_its_own() -> None:
    assert of_copies(copy(1, "UNSTABLE", committed=True)) == []
    assert of_copies(copy(1, "UNSTABLE", committed=True), commit(2, 3)) == [(1, 0, 1, 0)]


def test_what_was_copied_unstable_waits_for_a_commit_as_what_was_written() -> None:
    assert of_copies(copy(1, "UNSTABLE"), write(2, 300), commit(3, 3)) == [(1, 800, 0, 1)]
    assert of_copies(copy(1, "UNSTABLE"), write(2, 500), commit(3, 3)) == [(1, 1000, 0, 0)]
    assert of_copies(copy(1, "UNSTABLE"), copy(2, "UNSTABLE"), commit(3, 3)) == [(1, 1000, 0, 1)]
    assert of_copies(copy(1, "FILE_SYNC"), commit(2, 3)) == [(1, 0, 1, 0)]
    assert of_copies(commit(1, 3), copy(2, "UNSTABLE")) == [(1, 0, 1, 0)]


@pytest.mark.parametrize(
    ("level", "told"), [("UNSTABLE", (1, 900, 0, 1)), ("FILE_SYNC", (1, 0, 1, 0))]
)
def test_of_a_copy_in_the_background_its_end_tells(
    level: str, told: tuple[int, int, int, int]
) -> None:
    ended = [
        call(2, "CB_OFFLOAD", 1, callback=True, file=1),
        operation(2, "CB_OFFLOAD", file=1, count=900, committed=level),
    ]
    assert of_copies(copy(1, "UNSTABLE", size=0), ended, commit(3, 3)) == [told]


PIECE = 8000


def pieces(
    many: int,
    *,
    size: Callable[[int], int] = lambda _: PIECE,
    gap: int = 0,
    writes: int = 2,
    took_ms: float = 4,
    after: Sequence[Row] = (),
) -> Places:
    """A file in pieces of some WRITEs and a COMMIT each; each call is sent 10 ms after another."""
    steps: list[list[Row]] = []
    start = 0
    for piece in range(many):
        for _ in range(writes):
            bytes_each = size(piece) // writes
            called, executed = write(len(steps) + 1, bytes_each)
            steps.append([called, {**executed, "offset": start}])
            start += bytes_each + gap
        steps.append(commit(len(steps) + 1, took_ms))
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=[*calls, *after], operations=operations) as trace:
        (pair,) = commits(trace)
    return pair.places


def test_pieces_of_one_size_are_written_through() -> None:
    found = pieces(4)
    assert (found.pieces, found.piece_files, found.piece_bytes) == (4, 1, 4 * PIECE)
    assert found.piece_time_s == pytest.approx(0.016)
    assert found.piece_saved_s == pytest.approx(0.012)
    assert found.piece_frames == (5, 11, 17, 23)
    assert found.at_end == 0


@pytest.mark.parametrize(("closed", "saved_s"), [(1, 0.020), (2, 0.016), (3, 0.012), (4, 0.008)])
def test_one_stays_for_each_time_that_the_file_was_closed(closed: int, saved_s: float) -> None:
    """What a client holds of a file must be stored before close() returns."""
    after = [call(30 + number, "CLOSE", 1, file=1, version=4) for number in range(closed)]
    found = pieces(6, after=after)
    assert found.pieces == 6
    assert found.piece_time_s == pytest.approx(0.024)
    assert found.piece_saved_s == pytest.approx(saved_s)


def test_of_each_file_as_many_stay_as_it_was_closed() -> None:
    """Not of one those that another one is closed more often."""
    after = [call(30 + number, "CLOSE", 1, file=9, version=4) for number in range(4)]
    assert pieces(6, after=after).piece_saved_s == pytest.approx(0.020)


def test_the_last_piece_may_be_smaller() -> None:
    assert pieces(5, size=lambda piece: PIECE if piece < 4 else PIECE // 4).pieces == 4


@pytest.mark.parametrize(
    "shape",
    [
        {"many": 2},
        {"size": lambda piece: PIECE * (1 + piece % 2)},
        {"gap": 4096},
        {"writes": 1},
        {"took_ms": 11},
        {"after": [call(number, "GETATTR", 1, file=1) for number in (20, 21, 22)]},
    ],
    ids=["few", "two sizes", "not side by side", "one WRITE", "goes on", "opened as often"],
)
def test_what_only_looks_like_it_is_not(shape: dict[str, Any]) -> None:
    assert pieces(**({"many": 4} | shape)).pieces == 0


def test_a_commit_behind_all_of_its_file_is_at_its_end() -> None:
    assert pieces(1).at_end == 1
    assert pieces(1, writes=1).at_end == 1
    assert pieces(2).at_end == 0
    steps = [write(1, 1000), commit(2, 3), write(3, 1000)]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = commits(trace)
    assert pair.places.at_end == 0
