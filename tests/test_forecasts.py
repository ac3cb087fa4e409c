"""Forecasts across the lab's captures, and what the model recovers of simulated runs.

The whole of both stands in docs/validation.md (`python -m tests.oracles.validate`).
"""

from __future__ import annotations

import statistics

import pytest

import pcapnfs
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from tests.oracles import grid
from tests.oracles.corpus import require_corpus
from tests.oracles.forecasts import (
    MEDIAN_ERROR,
    WORST_ERROR,
    labelled,
    listing_pairs,
    median_error,
    named,
    opened,
    stream_pairs,
    tar_pairs,
)

pytest.importorskip("pcapnfs._core")


def asked(name: str, **given: float) -> Model:
    """What the model says of a capture of the lab."""
    require_corpus()
    with opened(named(name)) as trace:
        return model(trace, Overrides(**given))  # type: ignore[arg-type]


def causes(found: Model) -> tuple[str, ...]:
    assert found.verdict is not None
    return found.verdict.named


def test_a_capture_foretells_another_disk_and_another_network() -> None:
    require_corpus()
    found = list(tar_pairs())
    assert len(found) == 12
    assert median_error(each.error for each in found) <= MEDIAN_ERROR
    assert max(abs(each.error) for each in found) <= WORST_ERROR
    # Also where the disk ends calls on a tick of 10 ms, which absorbs the round trip.
    assert all(each.inside for each in found)


def test_on_a_local_disk_no_segment_is_lost() -> None:
    """Calls that stood still for lost segments took 5.9 of 16.8 s, the client itself 3.0 s."""
    with pcapnfs.open(require_corpus() / "lab" / "loss-v3.pcap") as trace:
        found = model(trace)
    assert found.verdict is not None
    lost_s = next(each.time_s for each in found.verdict.causes if each.cause == "loss")
    assert 5 < lost_s < 7
    local = next(each for each in found.what_if if each.change == "local")
    assert local.low_s is not None
    assert local.high_s is not None
    assert found.client_s is not None
    assert found.client_s < local.forecast_s < found.client_s + 0.5
    assert local.low_s <= local.forecast_s <= local.high_s


def test_more_streams_lie_in_the_range() -> None:
    require_corpus()
    found = list(stream_pairs())
    assert len(found) == 6
    # Also where more processes took longer than one: runs differ by that.
    assert all(each.inside for each in found)


def test_listings_with_attributes_lie_in_the_range() -> None:
    require_corpus()
    found = list(listing_pairs())
    assert len(found) == 2
    assert all(each.inside for each in found)
    # The forecast moves the run time by more than its noise.
    for each in found:
        before = float(labelled(named(each.source), "find-cold")["duration_s"])
        assert each.forecast_s < before - 1


@pytest.mark.parametrize("version", ["v3", "v42"])
def test_persistence_is_named_where_a_disk_is_slow_and_only_there(version: str) -> None:
    assert causes(asked(f"k61-tar-{version}")) == ("persistence",)
    assert causes(asked(f"k61-tar-rtt5-{version}"))[0] == "persistence"
    for name in (f"k61-tar-fastdisk-{version}", f"k61-tar-async-{version}"):
        assert "persistence" not in causes(asked(name))
    fast = asked(f"k61-tar-rtt5-{version}", persist_s=95e-6)
    assert causes(fast) == ("round_trips",)


def test_a_client_that_idles_is_named() -> None:
    assert causes(asked("k61-walk-v3")) == ("client",)


@pytest.mark.parametrize("version", ["v3", "v42"])
def test_a_timer_driven_disk_is_recognised(version: str) -> None:
    assert asked(f"k61-tar-{version}").absorbs_rtt is True
    assert asked(f"k61-tar-rtt5-{version}").absorbs_rtt is True
    assert asked(f"k61-tar-fastdisk-{version}").absorbs_rtt is False
    assert asked(f"k61-tar-async-{version}").absorbs_rtt is False


def test_tar_has_next_to_no_unstable_calls_and_takes_its_round_trip_from_tcp() -> None:
    found = asked("k61-tar-v3")
    assert found.small_calls < 30
    assert found.rtt_source in ("handshake", "acks")
    assert found.rtt_s == pytest.approx(0.27e-3, rel=0.15)
    assert asked("k61-tar-v42").rtt_source == "calls"


@pytest.mark.parametrize("name", ["k61-tar-v3", "k61-tar-v42", "npm-like-v42", "opt-noac-v3"])
def test_half_of_the_files_foretells_the_other(name: str) -> None:
    found = asked(name)
    assert found.holdout_error is not None
    assert found.holdout_error < 0.05
    assert found.forecast_s == pytest.approx(found.measured_s, rel=1e-6)


@pytest.mark.parametrize(
    "names", [("tar-v3", "tar-v3-server"), ("tar-v41", "tar-v41-server")], ids=str
)
def test_both_ends_of_the_same_traffic_foretell_the_same(names: tuple[str, str]) -> None:
    """The server's capture with the network added is what the client saw."""
    client, server = (asked(name, persist_s=0.0) for name in names)
    assert client.vantage == "client"
    assert server.vantage == "server"
    # On this machine, each end's processor has its part in the few calls that show the round trip.
    assert server.forecast_s == pytest.approx(client.forecast_s, rel=0.15)
    assert server.measured_s == pytest.approx(client.measured_s, rel=0.02)


SMALL_GRID = list(grid.settings((0.1, 2.0, 20.0), (0.0, 1.0, 12.0), (1, 8)))


def test_the_small_grid_holds_every_corner() -> None:
    assert len(SMALL_GRID) == 72
    assert len({(each.version, each.vantage) for each in SMALL_GRID}) == 4


@pytest.mark.parametrize(
    "setting", SMALL_GRID, ids=lambda each: "-".join(str(part) for part in vars_of(each))
)
def test_what_was_simulated_is_recovered(setting: grid.Setting) -> None:
    cell = grid.run(setting, files=32)
    assert {name: error for name, error in cell.errors.items() if error > grid.TOLERANCE} == {}
    assert cell.right, (cell.expected, cell.found.verdict)
    assert cell.found.vantage == setting.vantage
    assert cell.found.holdout_error is not None


def vars_of(setting: grid.Setting) -> tuple[object, ...]:
    return (
        f"{setting.rtt_ms:g}ms",
        f"{setting.persist_ms:g}ms",
        setting.streams,
        setting.version,
        setting.vantage,
    )


def test_a_verdict_that_were_wrong_would_be_seen() -> None:
    """The comparison itself: another setting's expectation does not fit."""
    disk = grid.run(grid.Setting(0.1, 12.0, 1, "3", "client"), files=32)
    network = grid.run(grid.Setting(20.0, 0.0, 1, "3", "client"), files=32)
    swapped = grid.Cell(disk.setting, network.found, disk.span_ms, disk.concurrency, disk.expected)
    assert disk.right
    assert not swapped.right
    assert statistics.median(swapped.errors.values()) > grid.TOLERANCE
