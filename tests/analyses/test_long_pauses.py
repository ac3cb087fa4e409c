"""Long pauses: told where there is work between them, and not where somebody only looks in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from pcapnfs.analyses.times.long_pauses import long_enough, pauses, told

SECOND = 1_000_000_000


def paused(*calls: tuple[float, float]) -> float:
    """The long pauses between calls that begin and end at these seconds."""
    return pauses(*times_of(calls)).long_s


def rested(*calls: tuple[float, float]) -> float:
    """The shorter ones, likewise."""
    return pauses(*times_of(calls)).few_s


def times_of(calls: Sequence[tuple[float, float]]) -> Sequence[NDArray[np.int64]]:
    """When calls begin and end, ns."""
    return [
        np.array([round(time_s * SECOND) for time_s in times], np.int64)
        for times in zip(*calls, strict=True)
    ]


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


@pytest.mark.parametrize(
    ("pause_s", "found_s"), [(0.9, 0.0), (1.0, 1.0), (29.9, 29.9), (30.0, 0.0)]
)
def test_a_shorter_pause_may_lie_between_two_commands(pause_s: float, found_s: float) -> None:
    assert rested(*work(0, 1.1), *work(1.1 + pause_s, 1.1)) == pytest.approx(found_s)


@pytest.mark.parametrize(("number", "found_s"), [(3, 15.0), (4, 0.0)])
def test_many_of_them_are_a_part_of_what_a_program_does(number: int, found_s: float) -> None:
    """It sleeps in a loop, or computes for each file."""
    times = [call for run in range(number + 1) for call in work(6.1 * run, 1.1)]
    assert rested(*times) == pytest.approx(found_s)
    # All are pauses of a second or more, however many.
    assert pauses(*times_of(times)).short_s == pytest.approx(5.0 * number)
    # A long one is none of them.
    assert rested(*times, *work(100, 1.1)) == pytest.approx(found_s)


def test_what_looks_in_every_few_seconds_does_not_pause_between_commands() -> None:
    looks = [(5.0 * number, 5.0 * number + 0.2) for number in range(4)]
    assert rested(*looks) == 0.0
    assert rested(*looks, *work(15.3, 1.0)) == pytest.approx(3 * 4.8)


def test_without_a_pause_there_is_none() -> None:
    assert paused((0.0, 0.1)) == rested((0.0, 0.1)) == 0.0
    assert (long_enough(29.9), long_enough(30.0)) == (0.0, 30.0)


def test_they_are_told_with_what_they_are() -> None:
    assert told(2986.0) == "49 m 46 s in pauses of 30 s or more"
