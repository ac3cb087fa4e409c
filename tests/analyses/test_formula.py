"""The arithmetic of the model, and what changes of it come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.what_if import Base, Change, scenario
from pcapnfs.record import replace

PLAIN = Costs(
    files=1000.0,
    rpcs_per_file=6.0,
    rtt_s=0.001,
    syncops_per_file=4.0,
    persist_s=0.005,
    other_s=0.002,
    client_s=0.0005,
    pauses_s=7.0,
    concurrency=2.0,
)

positive = st.floats(0, 1e3)


@st.composite
def costs(draw: st.DrawFn) -> Costs[float]:
    return Costs(
        files=float(draw(st.integers(1, 10**6))),
        rpcs_per_file=draw(positive),
        rtt_s=draw(positive),
        syncops_per_file=draw(positive),
        persist_s=draw(positive),
        other_s=draw(positive),
        client_s=draw(positive),
        pauses_s=draw(positive),
        concurrency=draw(st.floats(1, 64)),
    )


def test_the_plain_formula_and_the_forecast() -> None:
    assert PLAIN.first_order_s == pytest.approx(1000 * (6 * 0.001 + 4 * 0.005))
    assert PLAIN.forecast_s == pytest.approx((26 + 2) / 2 + 3 + 7)


def test_a_quarter_of_a_million_files_take_an_hour() -> None:
    """The published case: 290,000 files in 61 minutes are 12.62 ms each."""
    nothing = dict.fromkeys(("syncops_per_file", "persist_s", "other_s", "client_s"), 0.0)
    run = Costs(
        files=290_000.0, rpcs_per_file=1.0, rtt_s=0.01262, pauses_s=0.0, concurrency=1.0, **nothing
    )
    assert run.forecast_s / 60 == pytest.approx(61, abs=0.01)


@given(costs())
def test_parts_add_up(run: Costs[float]) -> None:
    parts = run.round_trips_s + run.persistence_s + run.beyond_s + run.client_time_s
    assert run.forecast_s == pytest.approx(parts)
    waited = run.first_order_s + run.files * run.other_s
    assert run.forecast_s == pytest.approx(waited / run.concurrency + run.client_time_s)


def test_calls_that_were_faster_than_the_round_trip_take_no_time_back() -> None:
    faster = replace(PLAIN, other_s=-0.02)
    assert faster.forecast_s == pytest.approx((26 - 20) / 2 + 3 + 7)
    without = Change(rtt_added_s=-0.0005, persist_s=0.0).of(faster)
    assert (without.round_trips_s, without.beyond_s) == (3 / 2, -3 / 2)
    assert without.forecast_s == 3 + 7


@given(costs(), st.integers(1, 1000))
def test_twice_the_files_take_twice_as_long_but_for_pauses(run: Costs[float], times: int) -> None:
    more = replace(run, files=run.files * times)
    assert more.forecast_s - run.pauses_s == pytest.approx(
        (run.forecast_s - run.pauses_s) * times, abs=1e-9 * more.forecast_s
    )


@given(costs(), positive, positive)
def test_less_of_anything_is_never_slower(run: Costs[float], rtt: float, persist: float) -> None:
    change = Change(
        rtt_added_s=min(0.0, rtt - run.rtt_s), persist_s=min(persist, run.persist_s), rpcs_saved=1
    )
    assert change.of(run).forecast_s <= run.forecast_s * (1 + 1e-12)


@given(costs(), positive, positive, st.integers(1, 64))
def test_arrays_give_what_numbers_give(
    run: Costs[float], added: float, persist: float, streams: int
) -> None:
    change = Change(rtt_added_s=added, persist_s=persist, streams=streams, syncops_saved=0.5)
    arrays = Costs(
        *(
            np.array([getattr(run, name)])
            for name in (
                "files",
                "rpcs_per_file",
                "rtt_s",
                "syncops_per_file",
                "persist_s",
                "other_s",
                "client_s",
                "pauses_s",
                "concurrency",
            )
        )
    )
    assert change.of(arrays).forecast_s[0] == pytest.approx(change.of(run).forecast_s)


def test_a_change_moves_what_it_names_and_nothing_else() -> None:
    assert Change().of(PLAIN) == PLAIN
    assert Change(persist_s=0.0).of(PLAIN) == replace(PLAIN, persist_s=0.0)
    assert Change(streams=8).of(PLAIN) == replace(PLAIN, concurrency=8.0)
    assert Change(rtt_added_s=-1.0).of(PLAIN) == replace(PLAIN, rtt_s=0.0)
    assert Change(rpcs_saved=7.0, syncops_saved=1.0).of(PLAIN) == replace(
        PLAIN, rpcs_per_file=0.0, syncops_per_file=3.0, pauses_s=10.0
    )
    # A client's own time that is given takes the place of its pauses, too.
    assert Change(client_s=0.0).of(PLAIN) == replace(PLAIN, client_s=0.0, pauses_s=0.0)


def test_the_range_goes_from_the_observed_overlap_to_one_call_after_the_other() -> None:
    found = scenario(
        "async", 0.0, Base(PLAIN, None, absorbs=False, measured=False), Change(persist_s=0.0)
    )
    assert found.forecast_s == pytest.approx((6 + 2) / 2 + 10)
    assert (found.low_s, found.high_s) == pytest.approx((14, 18))
    assert found.factor == pytest.approx(24 / 14)


def test_another_round_trip_goes_by_the_turns_that_calls_take() -> None:
    """Half of the 6 calls of a file come one by one, the others ten at a time."""
    uneven = replace(PLAIN, turns=(3 + 0.3) / 3)
    found = scenario(
        "rtt", 0.002, Base(uneven, None, absorbs=False, measured=False), Change(rtt_added_s=0.002)
    )
    assert found.forecast_s == pytest.approx(uneven.forecast_s + 3.3 * 2)
    # One after the other they are as many as they are.
    assert found.high_s == pytest.approx(28 + 6 * 2 + 10)
    nearer = Change(rtt_added_s=-0.001).of(uneven)
    assert nearer.forecast_s == pytest.approx(uneven.forecast_s - 3.3)
    assert nearer.round_trips_s == 0.0


def test_other_storage_goes_by_the_turns_that_stable_calls_take() -> None:
    uneven = replace(PLAIN, stored_turns=1.1)
    stored = Change(persist_s=0.0).of(uneven)
    assert stored.forecast_s == pytest.approx(uneven.forecast_s - 1.1 * 20 / 2)
    assert stored.persistence_s == 0.0
    slower = Change(persist_s=0.010).of(uneven)
    assert slower.forecast_s == pytest.approx(uneven.forecast_s + 1.1 * 20 / 2)
    assert slower.persistence_s == pytest.approx(20 / 2 + 1.1 * 20 / 2)
    parts = slower.round_trips_s + slower.persistence_s + slower.beyond_s + slower.client_time_s
    assert slower.forecast_s == pytest.approx(parts)


def test_saved_calls_save_the_round_trip_and_perhaps_the_clients_time() -> None:
    serial = replace(PLAIN, concurrency=1.0)
    found = scenario(
        "readdirplus",
        2000.0,
        Base(serial, None, absorbs=False, measured=False),
        Change(rpcs_saved=2),
    )
    assert found.forecast_s == pytest.approx(serial.forecast_s - 2000 * 0.001)
    assert found.low_s == pytest.approx(serial.forecast_s - 2000 * 0.0015)
    assert found.high_s == found.forecast_s


@pytest.mark.parametrize(("pause_s", "saved_s"), [(0.0002, 0.0012), (0.0009, 0.0015)])
def test_saved_calls_save_the_clients_pauses_that_are_known(pause_s: float, saved_s: float) -> None:
    """Never more than all of its time for them, which is 0.5 ms each here."""
    serial = replace(PLAIN, concurrency=1.0)
    change = Change(rpcs_saved=2, pauses_saved_s=2 * pause_s)
    found = scenario(
        "readdirplus", 2000.0, Base(serial, None, absorbs=False, measured=False), change
    )
    assert found.forecast_s == pytest.approx(serial.forecast_s - 2000 * saved_s)
    assert found.low_s == pytest.approx(serial.forecast_s - 2000 * 0.0015)
    assert found.high_s == pytest.approx(serial.forecast_s - 2000 * 0.001)


def test_streams_may_share_more_or_less_than_the_waits() -> None:
    serial = replace(PLAIN, concurrency=1.0)
    found = scenario(
        "streams", 4.0, Base(serial, None, absorbs=False, measured=False), Change(streams=4)
    )
    assert found.forecast_s == pytest.approx(28 / 4 + 10)
    assert found.low_s == pytest.approx(28 / 4 + 3 / 4 + 7)  # several processors
    assert found.high_s == pytest.approx(28 + 10)  # they wait for the same


def test_a_clock_of_the_storage_absorbs_a_longer_round_trip() -> None:
    """4 of the 6 calls of a file wait for the storage in any case."""
    slower = Change(rtt_added_s=0.002)
    plain = scenario("rtt", 0.002, Base(PLAIN, None, absorbs=False, measured=False), slower)
    assert plain.low_s == plain.forecast_s == pytest.approx((6 * 3 + 20 + 2) / 2 + 10)
    absorbed = scenario("rtt", 0.002, Base(PLAIN, None, absorbs=True, measured=False), slower)
    assert absorbed.forecast_s == plain.forecast_s
    assert absorbed.low_s == pytest.approx((6 * 3 + 12 + 2) / 2 + 10)
    # More than the storage takes cannot be absorbed.
    much = scenario(
        "rtt", 1.0, Base(PLAIN, None, absorbs=True, measured=False), Change(rtt_added_s=1.0)
    )
    assert much.low_s == pytest.approx((6 * 1001 + 2) / 2 + 10)


QUEUED = Costs(
    files=1.0, rpcs_per_file=100.0, rtt_s=0.1, syncops_per_file=50.0, persist_s=0.06, other_s=0.0,
    client_s=0.0, pauses_s=0.0, concurrency=5.0, queue_s=0.08,
)  # fmt: skip
"""A round trip of 20 ms, and 80 ms behind others at the server: half the calls take 60 ms more."""


@pytest.mark.parametrize(
    ("change", "queue_s"),
    [
        pytest.param(Change(), 0.08, id="as it is"),
        # Each of those before it takes 20 ms in the mean, where it took 50 ms.
        pytest.param(Change(persist_s=0.0), 0.032, id="async export"),
        pytest.param(Change(persist_s=0.03), 0.056, id="half of it"),
        pytest.param(Change(streams=9.0), 0.16, id="twice as many before it"),
        pytest.param(Change(streams=1.0), 0.0, id="none before it"),
        pytest.param(Change(rtt_added_s=-0.01), 0.08, id="a shorter way"),
    ],
)
def test_a_queue_is_as_long_as_what_those_before_it_take(change: Change, queue_s: float) -> None:
    changed = change.of(QUEUED)
    assert changed.queue_s == pytest.approx(queue_s)
    assert changed.rtt_s == pytest.approx(0.02 + queue_s + change.rtt_added_s)


def test_without_a_queue_nothing_is_taken_from_a_round_trip() -> None:
    plain = replace(QUEUED, queue_s=0.0)
    assert Change(persist_s=0.0, streams=9.0).of(plain).rtt_s == 0.1


def test_streams_that_wait_for_one_another_have_no_more_calls_under_way_than_that_leaves() -> None:
    run = replace(PLAIN, client_s=0.0, pauses_s=0.0, serial_rpcs=1.0, serial_syncops=1.0)
    change = Change(streams=100, moving_s=0.001)
    costs = change.of(run)
    # A millisecond of each file moves bytes, two calls at a time: that no stream makes shorter.
    assert change.side_by_side(run).forecast_s == pytest.approx(27 / 100 + 0.5)
    assert costs.forecast_s == pytest.approx(1000 * 0.006)
    assert costs.concurrency == pytest.approx(27 / 5.5)
    longer = Change(streams=100, moving_s=0.001, persist_s=0.009)
    assert longer.of(run).forecast_s == pytest.approx(1000 * 0.01)
    few = Change(streams=4, moving_s=0.001)
    assert few.of(run).forecast_s == few.side_by_side(run).forecast_s > 6


def test_calls_that_take_no_time_are_no_slower_by_their_number() -> None:
    """What is left of them is rounding, of which no overlap makes half a second."""
    faster = Costs(
        files=1.0,
        rpcs_per_file=1.0,
        rtt_s=0.001,
        syncops_per_file=0.0,
        persist_s=0.01,
        other_s=-0.1,
        client_s=0.001,
        pauses_s=0.0,
        concurrency=8.0,
        longer_s=0.01,
        least_s=0.5,
    )
    assert 0 < faster.forecast_s - faster.client_time_s < 1e-15
    assert faster.no_faster.forecast_s == pytest.approx(faster.client_time_s)


def test_the_range_of_streams_that_wait_for_one_another_is_no_shorter_than_that() -> None:
    run = replace(PLAIN, client_s=0.0, pauses_s=0.0, serial_rpcs=1.0, serial_syncops=1.0)
    found = scenario(
        "streams", 100.0, Base(run, None, absorbs=False, measured=False), Change(streams=100)
    )
    assert [found.low_s, found.forecast_s] == pytest.approx([6, 6])
    assert found.serial
