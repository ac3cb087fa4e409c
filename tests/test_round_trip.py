"""Round trips and vantage points, on captures of which they are known."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pcapnfs
from pcapnfs.analyses.wire.network_path import READS, network_path
from pcapnfs.analyses.wire.round_trip import RoundTrips, round_trips
from pcapnfs.synth.builder import damage
from pcapnfs.synth.builder.capture import Capture as Made
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from tests.oracles.corpus import Capture, lab_captures, other_captures, require_corpus
from tests.oracles.opened import opened

pytest.importorskip("pcapnfs._core")

US, MS = 1_000, 1_000_000

PLACES = {"client1": "client", "client2": "client", "server": "server", "middle": "between"}
"""The vantage point by the interface that was listened on."""


def _parameters(captures: list[Capture]) -> list[Any]:
    named = [pytest.param(capture, id=capture.name) for capture in captures]
    return named or [pytest.param(None, id="no-corpus")]


def _said(capture: Capture | None) -> RoundTrips:
    return round_trips(opened(capture).trace)


LAB = [capture for capture in lab_captures() if not capture.merged]


@pytest.mark.parametrize("capture", _parameters(LAB))
def test_the_vantage_point_is_right(capture: Capture | None) -> None:
    """On every capture of two machines; nothing tells it between two programs of one."""
    said = _said(capture)
    assert capture is not None
    assert said.vantage == PLACES[capture.vantage]


@pytest.mark.parametrize("capture", _parameters(other_captures()))
def test_within_one_machine_the_vantage_point_is_unknown(capture: Capture | None) -> None:
    said = _said(capture)
    assert capture is not None
    assert said.vantage == PLACES.get(capture.vantage, "unknown")


PINGED = [capture for capture in LAB if capture.name.startswith("k61-")]


@pytest.mark.parametrize("capture", _parameters(PINGED))
def test_the_round_trip_is_that_of_ping(capture: Capture | None) -> None:
    """Ping wakes a program, which takes some 80 µs there; the kernel's ACKs do without."""
    path_s = _said(capture).path_s
    assert capture is not None
    assert path_s is not None
    ping_s = capture.truth()["network"]["ping_before"]["min_ms"] * 1e-3
    assert 0.95 * ping_s - 100e-6 < path_s < 1.1 * ping_s


SAME_TRAFFIC = [
    ("tar-v3", "tar-v3-server"),
    ("tar-v41", "tar-v41-server"),
    ("loss-v42", "loss-v42-server"),
    ("fmt-plain-v42", "fmt-plain-v42-wire-any"),
    ("two-clients-v3-client1", "two-clients-v3-server"),
    ("two-clients-v42-client1", "two-clients-v42-server"),
    ("two-clients-v42-client2", "two-clients-v42-server"),
    ("k61-two-clients-v3-client1", "k61-two-clients-v3-server"),
    ("k61-two-clients-v3-client2", "k61-two-clients-v3-server"),
    ("k61-two-clients-v42-client1", "k61-two-clients-v42-server"),
    ("k61-two-clients-v42-client2", "k61-two-clients-v42-server"),
]


@pytest.mark.parametrize(("here", "there"), SAME_TRAFFIC)
def test_what_the_client_saw_is_the_same_from_every_vantage_point(here: str, there: str) -> None:
    """Of the median call within 10 %: what is added is what the network took.

    Call by call: on the slower lab machine times scatter by more than the round trip.
    """
    require_corpus()
    by_name = {capture.name: capture for capture in lab_captures()}
    at_client, elsewhere = (_waited(by_name[name]) for name in (here, there))
    common = at_client.keys() & elsewhere.keys()
    assert len(common) > 30
    error = statistics.median(elsewhere[call] - at_client[call] for call in common)
    assert abs(error) < 0.1 * statistics.median(at_client[call] for call in common)


def _waited(capture: Capture) -> dict[tuple[object, ...], int]:
    """What each call took its client, nanoseconds."""
    with pcapnfs.open(capture.files) as trace:
        rows = trace.sql(
            """
            select client, server, xid, procedure, srt from calls
            where not callback and transmissions = 1 and srt is not null
            """
        ).fetchall()
        added_ns = network_path(trace).added_ns
    return {
        (client, *key): srt + added_ns.get((client, server), 0)
        for client, server, *key, srt in rows
    }


ADDED = {"client": 0.0, "between": 0.5, "server": 1.0}
"""What the service time lacks, by vantage point: a part of the round trip."""


def _simulated(folder: Path, **options: str | float) -> tuple[RoundTrips, list[int]]:
    capture, _ = Simulation(Options(**options)).run()  # type: ignore[arg-type]
    with pcapnfs.open(capture.write(folder / "made.pcap"), columns=READS) as trace:
        return round_trips(trace), list(network_path(trace).added_ns.values())


@pytest.mark.parametrize("vantage", ADDED)
@pytest.mark.parametrize("rtt_ns", [100 * US, 300 * US, 2 * MS, 20 * MS, 150 * MS])
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_the_round_trip_of_a_simulation_is_found_from_everywhere(
    version: str, rtt_ns: int, vantage: str, tmp_path: Path
) -> None:
    found, added = _simulated(
        tmp_path, version=version, rtt_ns=rtt_ns, vantage=vantage, files=20, persist_ns=4 * MS
    )
    assert found.vantage == vantage
    assert found.path_s == pytest.approx(rtt_ns * 1e-9, rel=0.05)
    expected = pytest.approx(ADDED[vantage] * rtt_ns, rel=0.05)
    assert added == [expected]


@pytest.mark.parametrize("vantage", ADDED)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_losses_and_jitter_do_not_hide_it(seed: int, vantage: str, tmp_path: Path) -> None:
    """Four threads on two connections; each message is up to a fifth of the round trip late."""
    found, added = _simulated(
        tmp_path, vantage=vantage, rtt_ns=2 * MS, loss=0.02, jitter_ns=200 * US, threads=4,
        connections=2, files=60, size=20_000, seed=seed,
    )  # fmt: skip
    assert found.vantage == vantage
    assert found.path_s == pytest.approx(2.2e-3, rel=0.15)
    assert added == [pytest.approx(ADDED[vantage] * 2.2e6, rel=0.2)]


DAMAGE: dict[str, Callable[[Made], Made]] = {
    "midway": lambda capture: damage.cut_start(capture, 40),
    "dropped": lambda capture: damage.drop(capture, damage.at_random(0.03, seed=5)),
    "twice": lambda capture: damage.duplicate(capture, damage.at_random(0.3, seed=5), 3 * US),
    "snapped": lambda capture: damage.snap(capture, 128),
}


@pytest.mark.parametrize("vantage", ADDED)
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_capture_tells_it_too(how: str, vantage: str, tmp_path: Path) -> None:
    """Without the handshake, with packets missing or twice, with little of each packet."""
    options = Options(vantage=vantage, rtt_ns=2 * MS, files=60, size=20_000)
    capture = DAMAGE[how](Simulation(options).run()[0])
    with pcapnfs.open(capture.write(tmp_path / "made.pcap"), columns=READS) as trace:
        found = round_trips(trace)
    assert found.vantage == vantage
    assert found.path_s == pytest.approx(2e-3, rel=0.1)
