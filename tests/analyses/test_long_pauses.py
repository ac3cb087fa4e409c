"""Long pauses: told where there is work between them, and not where somebody only looks in."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.times.long_pauses import long_enough, long_pauses_s, told

SECOND = 1_000_000_000


def paused(*calls: tuple[float, float]) -> float:
    """The long pauses between calls that begin and end at these seconds."""
    begin, end = (
        np.array([round(time_s * SECOND) for time_s in times], np.int64)
        for times in zip(*calls, strict=True)
    )
    return long_pauses_s(begin, end)


def work(at_s: float, lasts_s: float = 2.0) -> tuple[tuple[float, float], ...]:
    """Two calls at the ends of some work."""
    return (at_s, at_s + 0.1), (at_s + lasts_s - 0.1, at_s + lasts_s)


def test_what_lies_between_two_runs_is_a_long_pause() -> None:
    assert paused(*work(0), *work(102), *work(142)) == pytest.approx(138.0)
    # In whatever order they are.
    assert paused(*work(142), *work(0), *work(102)) == pytest.approx(138.0)


@pytest.mark.parametrize(("pause_s", "found_s"), [(29.9, 0.0), (30.0, 30.0)])
def test_a_program_that_thinks_for_seconds_is_at_work(pause_s: float, found_s: float) -> None:
    assert paused(*work(0), *work(2 + pause_s)) == pytest.approx(found_s)


def test_a_call_that_takes_long_is_no_pause() -> None:
    assert paused((0.0, 100.0), (1.0, 2.0), (100.5, 101.0)) == 0.0


def test_who_only_looks_in_from_time_to_time_is_idle() -> None:
    """A lease is renewed every minute, or a monitor asks how full the mount is."""
    looks = [(60.0 * minute, 60.0 * minute + 0.2) for minute in range(10)]
    assert paused(*looks) == 0.0
    # With as much work beside that, it is at work, and they are not.
    assert paused(*looks, *work(660, 1.9)) == 0.0
    assert paused(*looks, *work(660, 2.1)) == pytest.approx(9 * 59.8 + 119.8)


@pytest.mark.parametrize(("calls", "found_s"), [(29, 0.0), (30, 2 * 59.0)])
def test_a_command_that_is_repeated_is_work_however_soon_it_is_done(
    calls: int, found_s: float
) -> None:
    """A command of 0.9 s every minute: who waits for it is no monitor."""
    command = [(0.03 * number, 0.03 * number + 0.02) for number in range(calls - 1)]
    command.append((0.9, 1.0 - 1e-6))
    runs = [(60.0 * run + begin, 60.0 * run + end) for run in range(3) for begin, end in command]
    assert paused(*runs) == pytest.approx(found_s, abs=0.01)


def test_without_a_pause_there_is_none() -> None:
    assert paused((0.0, 0.1)) == 0.0
    assert (long_enough(29.9), long_enough(30.0)) == (0.0, 30.0)


def test_they_are_told_with_what_they_are() -> None:
    assert told(2986.0) == "49 m 46 s in pauses of 30 s or more"
