"""The five kinds of calls are disjoint and add up."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.stability import stability
from tests.unit.rows import call, trace_of


def test_splits_calls_and_time_into_disjoint_rows() -> None:
    with trace_of(
        calls=[
            call(1, "CREATE", 30, stability="stable"),
            call(2, "SETATTR", 10, stability="stable", unlisted=True),
            call(3, "GETATTR", 1),
            call(4, "LOOKUP", 3),
            call(5, "WRITE", 20, stability="unstable_write"),
            call(6, "READ", 16, stability="read"),
            call(7, "EXCHANGE_ID", 20, stability="state"),
            call(8, "CREATE", None, stability="unstable"),
            call(9, "CB_RECALL", 500, stability="unstable", callback=True),
            call(10, "WRITE", 100, stability="unknown", assumed=True),
        ]
    ) as trace:
        split = stability(trace)
    rows = [
        split.stable,
        split.unstable,
        split.unstable_write,
        split.read,
        split.state,
        split.unknown,
    ]
    assert [row.calls for row in rows] == [2, 2, 1, 1, 1, 1]
    assert sum(row.calls for row in rows) == split.total.calls == 8
    assert split.total.sum_s == pytest.approx(0.2)
    assert [row.time_share for row in rows] == pytest.approx([0.2, 0.02, 0.1, 0.08, 0.1, 0.5])
    assert split.stable.mean_s == pytest.approx(0.02)
    assert split.unstable.p50_s == pytest.approx(0.002)
    assert split.unlisted.calls == 1
    assert split.unlisted.sum_s == pytest.approx(0.01)


def test_without_calls_shares_and_means_are_unknown() -> None:
    with trace_of() as trace:
        split = stability(trace)
    assert (split.stable.calls, split.stable.sum_s) == (0, 0.0)
    assert (split.stable.mean_s, split.stable.time_share, split.total.calls_share) == (
        None,
        None,
        None,
    )
