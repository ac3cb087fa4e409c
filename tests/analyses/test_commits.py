"""COMMITs and what was written before them."""

from __future__ import annotations

import pytest

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
