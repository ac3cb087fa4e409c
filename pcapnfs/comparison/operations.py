"""Which operations became faster or slower.

Takes the service times of both sides; gives a row for each operation with both distributions, how
far one is shifted from the other, and whether that may be chance (rank_test.py). An operation is
compared with itself in the same version only: a CREATE of NFSv3 and an OPEN that creates do not do
the same (what they ask of storage alone is: across_versions.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison import rank_test
from pcapnfs.comparison.side import Times
from pcapnfs.record import Record

SIGNIFICANT = 0.01
"""Probability of a slip in all tests together."""

CLEARLY = 0.14
"""How far the probability that a time after is longer must be from one half, for a move to matter:
a medium effect by Vargha and Delaney."""

RELEVANT = 0.1
"""Part of the longer median that the shift must come to: machines are not alike to the percent. The
longer one, so that it is the same whichever side is named first."""


class OperationChange(Record):
    """One operation on both sides. Times are those of its calls that were sent once."""

    version: str
    """`3`, `4` (all minor versions), `nfsacl` or `nlm` (locks beside NFSv2 and NFSv3)."""
    op: str
    """Procedure or main operation with its marks, as in patterns."""
    stable: bool
    """Its calls are stable."""
    calls_before: int
    """Answered calls before."""
    calls_after: int
    """Answered calls after."""
    timed_before: int
    """Those of the calls before that were sent once."""
    timed_after: int
    """The same after."""
    sum_before_s: float
    """Sum of what the client waited for them before, seconds."""
    sum_after_s: float
    """The same after."""
    p50_before_s: float | None
    """Median before, seconds; None without calls."""
    p50_after_s: float | None
    """Median after, seconds; None likewise."""
    p95_before_s: float | None
    """95th percentile before, seconds; None likewise."""
    p95_after_s: float | None
    """95th percentile after, seconds; None likewise."""
    shift_s: float | None
    """By how much the distribution is shifted: median of the differences of all pairs of a call
    after and one before (Hodges and Lehmann), seconds; None with fewer than 30 calls on a side."""
    superiority: float | None
    """Probability that a call after takes longer than one before, 0…1; None likewise."""
    p: float | None
    """Probability that ranks are as far apart by chance (Mann and Whitney, with correction for
    ties, for the correlation of neighbouring calls, and for the number of operations); None
    likewise."""
    verdict: str
    """`faster` or `slower`: significant, and a tenth of the longer median or more; `unclear`: as
    much, which may be chance; `same`: less than that; `few`: fewer than 30 calls on a side that
    were sent once; `new` or `gone`: calls on one side only."""


def taken_s(row: OperationChange) -> float:
    """What an operation took on both sides together, seconds of service time."""
    return row.sum_before_s + row.sum_after_s


def operation_changes(
    before: Mapping[tuple[str, str], Times], after: Mapping[tuple[str, str], Times]
) -> tuple[OperationChange, ...]:
    """Compare each operation with itself; the largest difference of time first."""
    keys = sorted(before.keys() | after.keys())
    tests = {
        key: rank_test.shift(before[key].seconds, after[key].seconds)
        for key in keys
        if all(key in side and len(side[key].seconds) >= LEAST_CALLS for side in (before, after))
    }
    together = rank_test.corrected([test.p for test in tests.values()])
    chances = dict(zip(tests, together, strict=True))
    rows = [_row(key, before, after, tests.get(key), chances.get(key)) for key in keys]
    return tuple(sorted(rows, key=lambda row: -abs(row.sum_after_s - row.sum_before_s)))


def _row(
    key: tuple[str, str],
    before: Mapping[tuple[str, str], Times],
    after: Mapping[tuple[str, str], Times],
    test: rank_test.Shift | None,
    p: float | None,
) -> OperationChange:
    nothing = np.zeros(0)
    first, second = (side[key].seconds if key in side else nothing for side in (before, after))
    calls = [side[key].calls if key in side else 0 for side in (before, after)]
    known = before.get(key) or after[key]
    medians = _quantile(first, 0.5), _quantile(second, 0.5)
    return OperationChange(
        version=key[0],
        op=key[1],
        stable=known.stable,
        calls_before=calls[0],
        calls_after=calls[1],
        timed_before=len(first),
        timed_after=len(second),
        sum_before_s=float(first.sum()),
        sum_after_s=float(second.sum()),
        p50_before_s=medians[0],
        p50_after_s=medians[1],
        p95_before_s=_quantile(first, 0.95),
        p95_after_s=_quantile(second, 0.95),
        shift_s=None if test is None else test.shift_s,
        superiority=None if test is None else test.superiority,
        p=p,
        verdict=_verdict(medians, test, p) if all(calls) else "gone" if calls[0] else "new",
    )


def _verdict(
    medians: tuple[float | None, float | None], test: rank_test.Shift | None, p: float | None
) -> str:
    before, after = medians
    if before is None or after is None or test is None or p is None:
        return "few"
    if not test.shift_s or abs(test.shift_s) < RELEVANT * max(before, after):
        return "same"
    if p >= SIGNIFICANT or abs(test.superiority - 0.5) < CLEARLY:
        return "unclear"
    return "slower" if test.shift_s > 0 else "faster"


def _quantile(values: rank_test.Floats, share: float) -> float | None:
    return float(np.quantile(values, share)) if len(values) else None
