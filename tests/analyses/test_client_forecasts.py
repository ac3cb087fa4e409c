"""Forecasts of several clients, each of which does what it does at its own pace."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.forecasts.client_forecasts import TOLD, ClientForecast
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.views.forecasts import several
from tests.unit.rows import MILLISECOND, START_NS, Row, file, meta, trace_of
from tests.unit.rows import call as made

SAMPLES = Path(__file__).parents[2] / "samples"

DISK, NETWORK = "10.0.0.3", "10.0.0.4"


def calls_of(
    client: str, op: str, srt_ms: float, number: int = 100, **columns: object
) -> list[Row]:
    """So many calls, one every 10 ms."""
    base = 10_000 * int(client.rsplit(".", 1)[1])
    rows = [
        made(place, op, srt_ms, client=client, file=1, **columns) for place in range(1, number + 1)
    ]
    return [{**row, "call": base + place} for place, row in enumerate(rows)]


def waits_for_disk(client: str = DISK, small: int = 40, number: int = 100) -> list[Row]:
    """Small calls of 1 ms among CREATEs of 9 ms."""
    stable = calls_of(client, "CREATE", 9, number, stability="stable")
    quick = calls_of(client, "GETATTR", 1, number)
    return [quick[place] if place < small else stable[place] for place in range(number)]


def foretold(rows: list[Row], given: Overrides | None = None) -> Model:
    ends = meta(end_ns=START_NS + 2000 * MILLISECOND)
    with trace_of(ends, calls=rows, files=[file(1, "a")]) as trace:
        return model(trace, given)


def times_of(found: ClientForecast) -> dict[str, float]:
    return {each.change: each.forecast_s for each in found.what_if}


def test_each_client_keeps_what_its_own_calls_wait_for() -> None:
    """Side by side: faster storage helps one of them alone, and both are not done sooner for it."""
    found = foretold([*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)])
    assert found.client_number == 2
    clients = {each.client: each for each in found.clients}
    assert set(clients) == {DISK, NETWORK}
    disk, network = clients[DISK], clients[NETWORK]
    assert disk.rtt_s == pytest.approx(0.001)
    assert disk.persist_s == pytest.approx(0.008)
    assert network.rtt_s == pytest.approx(0.008)
    assert network.persist_s is None
    assert disk.measured_s == pytest.approx(0.999)
    assert network.measured_s == pytest.approx(0.998)
    assert times_of(disk)["measured"] == pytest.approx(disk.measured_s)
    assert times_of(disk)["async"] == pytest.approx(0.999 - 60 * 0.008)
    assert times_of(network)["async"] == pytest.approx(network.measured_s)
    assert times_of(network)["log_device"] == pytest.approx(network.measured_s)


def test_the_forecast_of_a_client_is_that_of_a_capture_of_its_own() -> None:
    alone = foretold(waits_for_disk())
    beside = foretold([*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)])
    given = Overrides(persist_s=0.002)
    (one,) = [each for each in beside.clients if each.client == DISK]
    assert (alone.client_number, alone.clients) == (1, ())
    expected = {each.change: each.forecast_s for each in alone.what_if}
    for change in ("measured", "async", "log_device"):
        assert times_of(one)[change] == pytest.approx(expected[change])
    (one,) = [
        each
        for each in foretold([*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)], given).clients
        if each.client == DISK
    ]
    assert times_of(one)["given"] == pytest.approx(foretold(waits_for_disk(), given).forecast_s)


def test_another_network_adds_a_round_trip_for_each_turn_of_a_client() -> None:
    """Calls one by one, and many at once: each of these holds up the clock for its part alone."""
    rows = calls_of(DISK, "GETATTR", 1, 40)
    last = rows[-1]
    times = {
        name: int(str(last[name])) + 20 * MILLISECOND for name in last if name.endswith("_time")
    }
    rows += [{**last, **times, "call": 50_000 + place} for place in range(20)]
    given = Overrides(rtt_s=0.011)
    found = foretold([*rows, *calls_of(NETWORK, "GETATTR", 1)], given)
    (one,) = [each for each in found.clients if each.client == DISK]
    assert one.concurrency == pytest.approx(60 / 41)
    assert times_of(one)["given"] == pytest.approx(times_of(one)["measured"] + 41 * 0.010)


def test_too_few_stable_calls_of_a_client_foretell_no_other_storage() -> None:
    found = foretold([*waits_for_disk(), *waits_for_disk(NETWORK, small=80)])
    clients = {each.client: each for each in found.clients}
    assert clients[NETWORK].persist_s is None
    assert set(times_of(clients[NETWORK])) == {"measured"}
    assert "async" in times_of(clients[DISK])


def test_what_is_given_of_all_together_is_nobodys_own() -> None:
    rows = [*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)]
    for given in (Overrides(files=10), Overrides(streams=4), Overrides(rpcs_per_file=3)):
        assert foretold(rows, given).clients == ()


def test_the_first_few_are_told() -> None:
    rows = [row for last in range(3, 3 + TOLD + 2) for row in waits_for_disk(f"10.0.0.{last}")]
    found = foretold(rows)
    assert (found.client_number, len(found.clients)) == (TOLD + 2, TOLD)


def test_nothing_is_foretold_without_a_network_of_which_nothing_is_known() -> None:
    rows = [*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)]
    for client in foretold(rows).clients:
        assert "local" not in times_of(client)
    for client in foretold(rows, Overrides(rtt_s=0.0005)).clients:
        assert "local" in times_of(client)


def test_all_together_are_done_no_sooner_than_the_slowest() -> None:
    """Side by side: what storage spares one of them does not shorten the run of the other."""
    rows = [*waits_for_disk(), *calls_of(NETWORK, "GETATTR", 8)]
    for asked in (None, Overrides(persist_s=0.0)):
        found = foretold(rows, asked)
        changes = {each.change: each for each in found.what_if}
        clients = {each.client: times_of(each) for each in found.clients}
        change = "async" if asked is None else "given"
        # The other one waits for nothing but the network.
        assert changes[change].forecast_s == pytest.approx(clients[NETWORK]["measured"])
        assert changes[change].slowest
        assert not changes["measured"].slowest
        assert changes["measured"].factor == 1.0
        low_s = changes[change].low_s
        assert low_s is not None
        assert low_s <= changes[change].forecast_s
        assert found.forecast_s == pytest.approx(
            changes["measured" if asked is None else "given"].forecast_s
        )
    (told,) = several(found, "see below")
    assert told.endswith(" As long as the slowest client takes alone: with what was given.")


def test_what_a_client_takes_to_mount_is_no_part_of_what_all_take() -> None:
    """It asks for ten times as long to mount as it works then; the other works meanwhile."""
    mounts = calls_of(NETWORK, "MNT", 900, 1, program=100005, protocol="mount3")
    work = [
        {
            **row,
            **{
                name: time + 950 * MILLISECOND
                for name, time in row.items()
                if name.endswith("_time") and isinstance(time, int)
            },
        }
        for row in calls_of(NETWORK, "GETATTR", 8, 5)
    ]
    found = foretold([*waits_for_disk(), *mounts, *work])
    changes = {each.change: each for each in found.what_if}
    (network,) = (each for each in found.clients if each.client == NETWORK)
    assert times_of(network)["async"] > 0.9
    assert changes["async"].forecast_s < 0.8


def test_locks_that_one_client_waits_for_leave_the_other_as_long() -> None:
    """The other one holds it, and sleeps: without waits the run is over when that one is."""
    with pcapnfs.open(SAMPLES / "k61-locks-v42-server.pcap") as trace:
        found = model(trace)
    waiter, holder = found.clients
    (free,) = (each for each in found.what_if if each.change == "unlocked")
    assert times_of(waiter)["unlocked"] == pytest.approx(waiter.measured_s - 2.31, abs=0.01)
    assert times_of(holder)["unlocked"] == pytest.approx(holder.measured_s)
    assert free.slowest
    assert free.forecast_s == pytest.approx(holder.measured_s, rel=0.01)
