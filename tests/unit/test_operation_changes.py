"""Whether an operation takes longer than before, or chance may have made the difference."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.comparison.changed_counts import counts
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Times

STEADY = np.linspace(0.009, 0.011, 60)[np.random.default_rng(1).permutation(60)]

IN_TURN = np.repeat([0.004, 0.030], 30)
"""As of a disk that was slow for half of the run."""


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        pytest.param(STEADY, STEADY * 1.02, "same", id="hardly moved"),
        pytest.param(STEADY, STEADY / 2, "faster", id="each is faster"),
        pytest.param(STEADY, STEADY * 2, "slower", id="each is slower"),
        pytest.param(STEADY, IN_TURN, "unclear", id="one half is slower, the other faster"),
        pytest.param(STEADY, STEADY[:29] * 2, "few", id="too few"),
        pytest.param(np.zeros(60), np.zeros(60), "same", id="a clock that does not tell"),
    ],
)
def test_verdict(before: np.ndarray, after: np.ndarray, verdict: str) -> None:
    assert told(before, after) == verdict


@pytest.mark.parametrize(
    ("times", "there", "back"),
    [(1.105, "same", "same"), (1.15, "slower", "faster"), (10, "slower", "faster")],
)
def test_the_verdict_is_the_same_whichever_side_is_named_first(
    times: float, there: str, back: str
) -> None:
    """A tenth more than 10 ms is no tenth of 11.05 ms."""
    assert told(STEADY, STEADY * times) == there
    assert told(STEADY * times, STEADY) == back


def told(before: np.ndarray, after: np.ndarray) -> str:
    (row,) = operation_changes(*(times_of(each) for each in (before, after)))
    return row.verdict


def times_of(seconds: np.ndarray, again: int = 0) -> dict[tuple[str, str], Times]:
    """WRITEs that were sent once, and others."""
    return {("3", "WRITE"): Times(stable=True, calls=len(seconds) + again, seconds=seconds)}


def test_calls_are_counted_whether_they_were_sent_again_or_not() -> None:
    """Of a run whose client sent all of them again: they are neither new nor gone."""
    untimed = times_of(np.zeros(0), again=60)
    (row,) = operation_changes(untimed, times_of(STEADY))
    assert (row.calls_before, row.timed_before, row.p50_before_s) == (60, 0, None)
    assert (row.calls_after, row.timed_after) == (len(STEADY), len(STEADY))
    assert row.verdict == "few"
    (gone,) = operation_changes(untimed, {})
    assert gone.verdict == "gone"
    (often,) = counts(untimed, times_of(STEADY))
    assert (often.calls_before, often.calls_after) == (60, len(STEADY))
