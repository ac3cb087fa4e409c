"""Service times in bins: where the edges lie, what is shown, what nothing gives."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.distributions import spreads
from pcapnfs.errors import UsageError
from tests.unit.rows import call, trace_of


def test_a_bin_holds_its_lower_edge_and_not_its_upper() -> None:
    # Five bins to a decade: 1, 1.58, 2.51, 3.98, 6.31, 10 ms.
    times = [1.0, 1.5, 1.6, 9.9, 10.0]
    rows = [call(place, "GETATTR", ms) for place, ms in enumerate(times, 1)]
    with trace_of(calls=rows) as trace:
        found = spreads(trace)
    (each,) = found.operations
    assert found.edges_s[0] == pytest.approx(1e-3)
    assert found.edges_s[-1] == pytest.approx(10e-3 * 10**0.2)
    assert each.bins == (2, 1, 0, 0, 1, 1)
    assert len(found.edges_s) == len(each.bins) + 1
    assert each.count == sum(each.bins) == 5
    assert each.p50_s == pytest.approx(1.6e-3)


def test_operations_share_a_scale_and_come_longest_first() -> None:
    rows = [call(1, "WRITE", 100), call(2, "GETATTR", 1), call(3, "READ", 10)]
    with trace_of(calls=rows) as trace:
        found = spreads(trace, top=2)
    assert [each.op for each in found.operations] == ["WRITE", "READ"]
    assert found.hidden == 1
    # From 10 ms to 100 ms, and the bin that begins there: GETATTR's is not drawn.
    assert [each.bins for each in found.operations] == [(0, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, 0)]


def test_times_beyond_the_scale_are_in_its_ends() -> None:
    rows = [
        call(1, "READ", 0.0001),
        call(2, "READ", -5),
        call(3, "READ", 0),
        call(4, "READ", 1e9),
    ]
    with trace_of(calls=rows) as trace:
        (each,) = spreads(trace).operations
        edges = spreads(trace).edges_s
    assert (each.bins[0], each.bins[-1]) == (3, 1)
    assert edges[0] == pytest.approx(1e-6)
    assert edges[-1] == pytest.approx(100.0)


def test_without_answers_there_is_nothing() -> None:
    with trace_of(calls=[call(1, "READ", None)]) as trace:
        found = spreads(trace)
        assert (found.edges_s, found.operations, found.hidden) == ((), (), 0)
        with pytest.raises(UsageError):
            spreads(trace, top=-1)
