"""Telling storage whose waits add up from storage that ends calls on a clock of its own."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.clocked import Clocked
from pcapnfs.analyses.times.storage_clock import absorbs
from pcapnfs.analyses.times.taken_out import Longer, Lost
from pcapnfs.analyses.times.timeline import BetweenCalls, Timeline, Units

CALLS = 300


def timeline(gaps: np.ndarray, times: np.ndarray, **changes: object) -> Timeline:
    """Stable calls one after the other, with the gap before each."""
    count = len(gaps)
    yes, no = np.ones(count, bool), np.zeros(count, bool)
    columns: dict[str, object] = {
        "unit": np.zeros(count, np.int32),
        "clients": ("10.0.0.2",),
        "client": np.zeros(count, np.int32),
        "units": Units(np.zeros(1, np.int32), yes[:1], no[:1], *[np.array([times.sum()])] * 10),
        "counted": yes,
        "small": no,
        "stable": yes,
        "known": yes,
        "from_disk": no,
        "timed": yes,
        "once": yes,
        "small_enough": False,
        "own_small": no,
        "own_enough": no[:1],
        "own_timed": yes,
        "operation": np.zeros(count, np.int16),
        "operations": ("CREATE", "WRITE"),
        "service_s": times,
        "waited_s": float(times.sum()),
        "busy_s": float(times.sum()),
        "transfer_s": 0.0,
        "postponed_s": 0.0,
        "put_off_s": 0.0,
        "unknown_s": 0.0,
        "unknown_calls": 0,
        "lost": Lost(),
        "longer": Longer(),
        "clocked": Clocked(),
        "stood_still": StoodStill(),
        "served": {},
        "spent": {},
        "locked": BetweenCalls(),
        "lock_gaps": (),
        "unanswered_last": no[:1],
        "apart_s": np.zeros(1),
        "unmoved_s": np.zeros(1),
        "idle_s": gaps,
        "alone": yes,
        "behind": no,
    }
    return Timeline(**(columns | changes))  # type: ignore[arg-type]


def gaps(scale: float = 1e-3) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 1.0, CALLS) * scale


@pytest.mark.parametrize("tick_s", [0.004, 0.00833, 0.010, 0.020])
def test_a_clock_is_recognised(tick_s: float) -> None:
    """Whatever the client does before the call, it ends at the next tick."""
    noise = np.random.default_rng(2).normal(0, 20e-6, CALLS)
    assert absorbs(timeline(gaps(), tick_s - gaps() + noise)) is True


@pytest.mark.parametrize("persist_s", [0.0, 0.0002, 0.008, 0.040])
def test_persistence_that_adds_up_is_no_clock(persist_s: float) -> None:
    noise = np.abs(np.random.default_rng(2).normal(0, 0.0005, CALLS))
    assert absorbs(timeline(gaps(), 0.002 + persist_s + noise)) is False


def test_calls_that_slow_down_with_the_client_are_no_clock() -> None:
    """A processor that is busy with other things delays both."""
    assert absorbs(timeline(gaps(), 0.010 + 3 * gaps())) is False


def test_outliers_do_not_matter() -> None:
    times = 0.010 - gaps()
    times[::10] += 0.1
    assert absorbs(timeline(gaps(), times)) is True


def test_equal_gaps_tell_nothing() -> None:
    same = np.full(CALLS, 20e-6)
    assert absorbs(timeline(same, np.full(CALLS, 0.010))) is None


def test_few_calls_tell_nothing() -> None:
    assert absorbs(timeline(gaps()[:29], 0.010 - gaps()[:29])) is None
    assert absorbs(timeline(gaps()[:0], gaps()[:0])) is None


def test_calls_that_overlap_tell_nothing() -> None:
    alone = np.zeros(CALLS, bool)
    assert absorbs(timeline(gaps(), 0.010 - gaps(), alone=alone)) is None


def test_the_kind_that_takes_longer_decides() -> None:
    """Short calls add up, long ones end on a clock."""
    operation = np.arange(CALLS) % 2
    long = np.where(operation == 0, 0.005, 0.020 - gaps())
    assert absorbs(timeline(gaps(), long, operation=operation)) is True
    short = np.where(operation == 0, 0.030, 0.020 - gaps())
    assert absorbs(timeline(gaps(), short, operation=operation)) is False
