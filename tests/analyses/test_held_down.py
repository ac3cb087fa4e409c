"""What another round trip makes of transfers that lost segments or full windows hold down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pcapnfs.analyses.forecasts import what_if
from pcapnfs.analyses.forecasts.client_forecasts import ClientForecast
from pcapnfs.analyses.forecasts.held_down import (
    NOTHING,
    UNLIKE,
    MovedTime,
    held_down,
    moved,
)
from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from pcapnfs.views.estimate import remarks
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

FILES = 40
RTT_S = 0.02

RATE = LossRate(
    client="10.0.0.2", server="10.0.0.1", sender="server", connections=1, lost=200,
    lost_share=0.01, segment_bytes=1448, rtt_s=RTT_S, moved_bytes=4 << 20, moving_s=3.6,
    bytes_per_s=1.2e6, allowed_bytes_per_s=1.2e6, time_s=3.6,
)  # fmt: skip
"""All that moved."""


WINDOW = FullWindow(
    client="10.0.0.2", server="10.0.0.1", receiver="client", connections=1, busy_connections=1,
    window_bytes=47_000, scaled=True, rtt_s=RTT_S, turn_s=RTT_S, stood_s=3.0,
    time_s={"transfer": 2.4, "read": 0.6},
)  # fmt: skip
"""Most of what moved."""


@pytest.fixture(autouse=True)
def _alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges without what differs from run to run, so that what else is in them can be told."""
    monkeypatch.setattr(what_if, "CLIENT_TIMES", 1.0)
    monkeypatch.setattr(what_if, "CALLS_PART", 0.0)


def run(client: str = "10.0.0.2", connection: int = 0, calls: int = 0) -> list[Row]:
    """For each file a LOOKUP of 20 ms and a READ of 110, of which bytes move for 90.

    Args:
        client: Its address.
        connection: Its connection.
        calls: Calls before.
    """
    rows: list[Row] = []
    now = START_NS
    for number in range(1, FILES + 1):
        for op, first_ms, last_ms in (("LOOKUP", 20, 20), ("READ", 20, 110)):
            first, last = (now + each * MILLISECOND for each in (first_ms, last_ms))
            rows.append(
                call(
                    calls + len(rows) + 1, op, 1, file=number, connection=connection, client=client,
                    stability="read" if op == "READ" else "unstable", call_first_time=now,
                    call_time=now, reply_first_time=first, reply_time=last, srt=last - now,
                )
            )  # fmt: skip
            now = last + MILLISECOND
    return rows


def path(client: str = "10.0.0.2", connection: int = 0) -> Row:
    return {
        "connection": connection, "transport": "TCP", "client": client, "server": "10.0.0.1",
        "syn_rtt": round(RTT_S * 1e9), "ack_rtt": 10_000, "server_ack_rtt": round(RTT_S * 1e9),
    }  # fmt: skip


OBJECTS = [file(number, f"f{number}") for number in range(1, FILES + 1)]


@pytest.fixture
def trace() -> Iterator[Trace]:
    with trace_of(calls=run(), files=OBJECTS, connections=[path()]) as opened:
        yield opened


def held(trace: Trace) -> Measurement:
    return replace(measure(trace), loss_rates=(RATE,))


def given(trace: Trace, measured: Measurement, rtt_s: float) -> tuple[float, float, float]:
    """The forecast with a round trip, and its range."""
    told = model(trace, Overrides(rtt_s=rtt_s), measured=measured)
    (found,) = (each for each in told.what_if if each.change == "given")
    assert found.low_s is not None
    assert found.high_s is not None
    return found.forecast_s, found.low_s, found.high_s


def test_a_shorter_round_trip_makes_it_shorter(trace: Trace) -> None:
    measured = held(trace)
    assert moved(measured).held_s == pytest.approx(3.6)
    # Round trips go from 20 to 5 ms, and nearly so does what is held down: timers run out seldom.
    plain, *_ = given(trace, measure(trace), 0.005)
    forecast, low, high = given(trace, measured, 0.005)
    found = held_down(moved(measured), -0.015)
    assert 0.7 < found.saved < 0.75
    assert plain - forecast == pytest.approx(3.6 * found.saved)
    # Without timers it were a quarter; other segments are lost in each run.
    assert found.least < found.saved < 0.75 < found.most
    assert low == pytest.approx(plain - 3.6 * found.most, abs=0.1)
    assert high == pytest.approx(plain - 3.6 * found.least, abs=0.1)


@pytest.mark.parametrize(
    ("lost", "moved_s"),
    [
        (27, {40.33: 14.1, 20.30: 7.62, 10.21: 3.74, 3.20: 1.42, 1.21: 0.55}),
        (85, {40.36: 29.6, 20.28: 17.0, 10.23: 7.82, 3.22: 3.21, 1.18: 1.51}),
        (248, {40.32: 54.4, 20.24: 30.1, 10.30: 19.2, 3.22: 9.78, 1.20: 6.14}),
    ],
    ids=["0.3 %", "1 %", "3 %"],
)
def test_linux_took_as_long_as_is_foretold(lost: int, moved_s: dict[float, float]) -> None:
    """WRITEs of 12 MiB by Linux 6.18: from one round trip, in ms, to each other one."""
    for before_ms, before_s in moved_s.items():
        rate = replace(
            RATE, lost=lost, lost_share=lost / (12 << 20) * RATE.segment_bytes,
            rtt_s=before_ms / 1e3, time_s=before_s,
        )  # fmt: skip
        what = MovedTime((rate,), transfer_s=before_s, beyond_s=before_s)
        for after_ms, after_s in moved_s.items():
            found = held_down(what, (after_ms - before_ms) / 1e3)
            assert before_s * (1 - found.saved) == pytest.approx(after_s, rel=0.45)
            if after_ms != before_ms:
                assert before_s * (1 - found.most) < 1.1 * after_s
                assert before_s * (1 - found.least) > 0.9 * after_s


def test_a_longer_one_makes_it_longer(trace: Trace) -> None:
    plain, *_ = given(trace, measure(trace), 0.08)
    forecast, *_ = given(trace, held(trace), 0.08)
    assert 2 * 3.6 < forecast - plain < 3 * 3.6


def test_half_of_the_network_is_forecast_alike_on_top_of_a_given_one(trace: Trace) -> None:
    def of(told: Model, change: str) -> float:
        return next(each.forecast_s for each in told.what_if if each.change == change)

    measured = held(trace)
    quarter = model(trace, Overrides(rtt_s=RTT_S / 2), measured=measured)
    assert of(quarter, "rtt") == pytest.approx(given(trace, measured, RTT_S / 4)[0])
    # Local, nothing moves over a network, whatever round trip was given.
    assert of(quarter, "local") == pytest.approx(
        of(model(trace, measured=measured), "local"), abs=0.01
    )


def test_a_full_window_goes_round_once_in_each_round_trip(trace: Trace) -> None:
    measured = replace(measure(trace), full_windows=(WINDOW,))
    assert moved(measured).full_s == pytest.approx(3.0)
    for rtt_s in (0.005, 0.08):
        plain, *_ = given(trace, measure(trace), rtt_s)
        forecast, low, high = given(trace, measured, rtt_s)
        added = 3.0 * (rtt_s / RTT_S - 1)
        assert forecast - plain == pytest.approx(added)
        assert low == pytest.approx(plain + added - UNLIKE * abs(added), abs=0.1)
        assert high == pytest.approx(plain + added + UNLIKE * abs(added), abs=0.1)
    # No window goes round in less than nothing.
    assert held_down(moved(measured), -2 * RTT_S).saved == pytest.approx(3.0 / 3.6)


def test_lost_segments_come_before_full_windows(trace: Trace) -> None:
    both = replace(held(trace), full_windows=(WINDOW,))
    assert moved(both).full_s == 0.0
    assert held_down(moved(both), 0.01) == held_down(moved(held(trace)), 0.01)


def test_what_stood_still_may_go_with_it(trace: Trace) -> None:
    measured = held(trace)
    rates = (replace(RATE, time_s=1.8),)
    clocked = replace(measured.clocked, lost_s=1.0)
    stood = replace(measured, loss_rates=rates, clocked=clocked)
    by = 1.0 / 3.6 * 0.75
    without = replace(stood, clocked=measured.clocked)
    assert held_down(moved(stood), -0.015).most == pytest.approx(
        held_down(moved(without), -0.015).most + by
    )
    assert held_down(moved(stood), 0.015).most == held_down(moved(without), 0.015).most


@pytest.mark.parametrize(
    "rates", [(), (replace(RATE, time_s=1.0),)], ids=["nothing is lost", "not the most of it"]
)
def test_where_something_else_sets_the_pace_it_stays(
    trace: Trace, rates: tuple[LossRate, ...]
) -> None:
    measured = replace(measure(trace), loss_rates=rates)
    assert held_down(moved(measured), -0.015) == NOTHING
    assert not model(trace, measured=measured).held_down


@pytest.mark.parametrize("holding", [{"loss_rates": (RATE,)}, {"full_windows": (WINDOW,)}])
@pytest.mark.parametrize("change", ["given", "rtt", "local"])
def test_a_client_is_held_down_as_in_a_capture_of_its_own(
    trace: Trace, change: str, holding: dict[str, Any]
) -> None:
    def of(told: Model | ClientForecast) -> Scenario:
        return next(each for each in told.what_if if each.change == change)

    shorter = Overrides(rtt_s=0.005)
    alone = of(model(trace, shorter, measured=replace(measure(trace), **holding)))
    plain = of(model(trace, shorter))
    rows = [*run(), *run("10.0.0.3", 1, 2 * FILES)]
    with trace_of(calls=rows, files=OBJECTS, connections=[path(), path("10.0.0.3", 1)]) as both:
        measured = measure(both)
        assert measured.clients is not None
        each = tuple(
            replace(clock, **holding) if clock.client == RATE.client else clock
            for clock in measured.clients.each
        )
        measured = replace(measured, clients=replace(measured.clients, each=each))
        found = {one.client: of(one) for one in model(both, shorter, measured=measured).clients}
    held_down, other = found[RATE.client], found["10.0.0.3"]
    assert held_down.forecast_s == pytest.approx(alone.forecast_s)
    assert other.forecast_s == pytest.approx(plain.forecast_s)
    if change != "local":
        assert held_down.forecast_s < other.forecast_s
        assert held_down.low_s is not None
        assert held_down.high_s is not None
        assert held_down.low_s < held_down.forecast_s < held_down.high_s


def test_the_round_trip_as_it_is_changes_nothing(trace: Trace) -> None:
    assert held_down(moved(held(trace)), 0.0) == NOTHING


def test_the_screen_says_so(trace: Trace) -> None:
    told = " ".join(remarks(model(trace, measured=held(trace))))
    assert "For 3.60 s data moved at the pace that lost segments allow" in told
    plain = " ".join(remarks(model(trace)))
    assert "pace that lost" not in plain
    stood = replace(measure(trace), full_windows=(WINDOW,))
    words = "For 3.00 s data moved one full TCP window in each round trip"
    assert words in " ".join(remarks(model(trace, measured=stood)))
    assert words not in plain
