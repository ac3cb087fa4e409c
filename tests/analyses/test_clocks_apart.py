"""Two clocks in one capture: by how much they are apart, and when that is too much."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pcapnfs.analyses.captured.clocks_apart import clocks_apart
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.diagnosis.judging import findings
from tests.unit.rows import MILLISECOND, Row, call, trace_of


def calls(quick_ms: Iterable[float], slow_ms: Iterable[float] = ()) -> list[Row]:
    """GETATTRs and CREATEs that took so long."""
    times = [("GETATTR", "unstable", each) for each in quick_ms]
    times += [("CREATE", "stable", each) for each in slow_ms]
    return [
        call(number, op, srt_ms, stability=stability)
        for number, (op, stability, srt_ms) in enumerate(times, 1)
    ]


def test_replies_before_their_calls_again_and_again_are_two_clocks() -> None:
    with trace_of(calls=calls([-4.7] * 39 + [-30], [-4.5] * 20)) as trace:
        told = trust(trace)
    # One of them is out of order besides.
    assert told.clocks_apart_s == pytest.approx(0.0047)
    assert told.times_untold
    assert told.negative_times == 60
    assert not told.complete


def test_where_calls_take_much_longer_they_take_about_what_they_seem_to() -> None:
    with trace_of(calls=calls([-0.2] * 10, [20] * 90)) as trace:
        found = clocks_apart(trace)
    assert found.least_s == pytest.approx(0.0002)
    assert not found.untold
    with trace_of(calls=calls([-4.0] * 10, [20] * 90)) as trace:
        assert clocks_apart(trace).untold


@pytest.mark.parametrize(
    "rows",
    [
        calls([]),
        calls([-1] * 7, [20] * 70),
        # A host that mixes up packets does so with some.
        calls([-1] * 9 + [1] * 31, [20] * 100),
    ],
)
def test_few_that_are_out_of_order_are_no_clock(rows: list[Row]) -> None:
    with trace_of(calls=rows) as trace:
        assert clocks_apart(trace).least_s is None
        assert not trust(trace).times_untold


def test_without_calls_that_need_no_storage_a_quarter_of_all_tells() -> None:
    with trace_of(calls=calls([], [-1] * 10 + [4] * 30)) as trace:
        found = clocks_apart(trace)
    assert found.least_s == pytest.approx(0.001)
    assert found.untold


def test_nothing_is_said_of_times_that_nobody_knows() -> None:
    connection = {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "syn_rtt": -4 * MILLISECOND,
        "ack_rtt": 5 * MILLISECOND,
    }
    rows = calls([-4.7] * 40, [-4.5] * 40)
    with trace_of(calls=rows, connections=[connection]) as trace:
        found = model(trace, Overrides(persist_s=0.001))
        (pair,) = round_trips(trace).pairs
        judged = findings(trace)
    assert found.missing == ("clocks",)
    assert (found.rtt_s, found.forecast_s, found.verdict) == (None, None, None)
    assert found.what_if == ()
    assert (found.calls, found.stable_calls) == (80, 40)
    assert (pair.vantage, pair.path_s, pair.addition_s) == ("unknown", None, None)
    assert not [each for each in judged.findings if each.cost_s is not None]
