"""Whether an operation takes longer than before, or chance may have made the difference."""

from __future__ import annotations

import numpy as np
import pytest

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
    sides = ({("3", "WRITE"): Times(stable=True, seconds=each)} for each in (before, after))
    (row,) = operation_changes(*sides)
    return row.verdict
