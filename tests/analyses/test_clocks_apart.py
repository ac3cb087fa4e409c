"""Two clocks in one capture: by how much they are apart, and when that is too much."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.clocks_apart import clocks_apart
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.diagnosis.judging import findings
from pcapnfs.views.clocks import clocks_apart as clocks_told
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of


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


def ahead(segments: int, first: int, lead_ms: float | None) -> Row:
    """A connection whose server's segments were acknowledged before they came."""
    return {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_segments": segments,
        "server_acked_first": first,
        "server_acked_lead": None if lead_ms is None else integer(lead_ms * MILLISECOND),
    }


def test_segments_that_were_acknowledged_before_they_came_are_two_clocks() -> None:
    with trace_of(calls=calls([1004] * 40), connections=[ahead(40, 39, 999)]) as trace:
        told = trust(trace)
        assert model(trace).verdict is None
    assert told.clocks_apart_s == pytest.approx(0.999)
    assert told.times_untold
    assert not told.complete
    assert clocks_told(told).startswith(
        "Packets are in the capture before those that they answer or acknowledge: the two "
    )
    # What calls take is known to a hundredth.
    with trace_of(calls=calls([20] * 40), connections=[ahead(40, 39, 0.2)]) as trace:
        found = clocks_apart(trace)
    assert found.least_s == pytest.approx(0.0002)
    assert not found.untold


@pytest.mark.parametrize(
    ("segments", "first", "lead_ms"), [(40, 9, 5), (7, 1, 5), (0, 0, None), (40, 40, None)]
)
def test_few_segments_behind_their_acknowledgement_are_no_clock(
    segments: int, first: int, lead_ms: float | None
) -> None:
    connections = [ahead(segments, first, lead_ms)]
    with trace_of(calls=calls([5] * 40), connections=connections) as trace:
        assert clocks_apart(trace).least_s is None
        assert not trust(trace).times_untold


def hour_apart(replies: int, first_xid: int = 1) -> dict[str, list[Row]]:
    """Calls, and replies with their xids an hour before, on what counts as another connection."""
    sent = [call(number, "GETATTR", None, connection=1, xid=number) for number in range(1, 11)]
    notes: list[Row] = [
        {
            "reason": "reply_without_call",
            "connection": 0,
            "xid": first_xid + number,
            "time": START_NS + number * 10 * MILLISECOND - 3_599_990 * MILLISECOND,
        }
        for number in range(replies)
    ]
    connection: Row = {
        "connection": 1,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "client_segments": 10,
        "missing_bytes": 280,
    }
    return {"calls": sent, "notes": notes, "connections": [connection]}


def test_replies_much_earlier_than_their_calls_are_two_clocks_and_not_two_directions() -> None:
    with trace_of(**hour_apart(10)) as trace:
        told = trust(trace)
    assert told.clocks_apart_s == pytest.approx(3600, abs=0.02)
    assert told.times_untold
    assert (told.calls_alone, told.replies_alone) == (0, 0)


@pytest.mark.parametrize(("replies", "first_xid"), [(7, 1), (10, 4)])
def test_replies_without_calls_are_no_clock(replies: int, first_xid: int) -> None:
    with trace_of(**hour_apart(replies, first_xid)) as trace:
        assert clocks_apart(trace).least_s is None


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
