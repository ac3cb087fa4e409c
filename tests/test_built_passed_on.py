"""Both sides of a host that passes calls on, and clients that merely do the same, end to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.passed_on import PassedOn, passed_on
from pcapnfs.record import replace
from pcapnfs.synth.builder.capture import Capture
from pcapnfs.synth.simulation import run
from pcapnfs.synth.simulation.options import Options

INNER, OUTER = "172.17.0.2", "192.0.2.9"

MICROSECOND = 1000
"""Nanoseconds."""

SERVER = bytes((10, 0, 2, 10))
"""The simulation's server, as it stands in an IPv4 header."""

SOURCE = slice(26, 30)
"""Where the source's address is in a frame."""


def client(address: str, *, offset_ns: Callable[[bool], int], **options: object) -> Capture:
    """What a client does; `offset_ns`: how much later a frame is, by whether the server sent it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "CLIENT", address)
        capture, _ = run.Simulation(Options(files=20, **options)).run()  # type: ignore[arg-type]
    return Capture(
        replace(frame, time_ns=frame.time_ns + offset_ns(frame.data[SOURCE] == SERVER))
        for frame in capture.frames
    )


def told(folder: Path, *captures: Capture) -> tuple[PassedOn, ...]:
    path = folder / "both.pcap"
    Capture(frame for capture in captures for frame in capture.frames).write(path)
    with pcapnfs.open(path) as trace:
        return passed_on(trace)


@pytest.mark.parametrize("version", ["3", "4.0", "4.2"])
def test_both_sides_of_a_host_that_translates_addresses_are_told(
    tmp_path: Path, version: str
) -> None:
    inside = client(INNER, offset_ns=lambda _: 0, version=version)
    outside = client(
        OUTER,
        offset_ns=lambda from_server: (-20 if from_server else 20) * MICROSECOND,
        version=version,
    )
    (pair,) = told(tmp_path, inside, outside)
    assert (pair.client, pair.onward_client) == (INNER, OUTER)


@pytest.mark.parametrize("later_us", [0, 1, 700, 20_000])
@pytest.mark.parametrize("rtt_us", [50, 200, 5_000])
def test_clients_that_do_the_same_at_the_same_moments_are_not(
    tmp_path: Path, later_us: int, rtt_us: int
) -> None:
    """Their calls have the same xids and bytes; one of them may be farther away."""
    one = client(INNER, offset_ns=lambda _: 0)
    other = client(OUTER, offset_ns=lambda _: later_us * MICROSECOND, rtt_ns=rtt_us * MICROSECOND)
    assert told(tmp_path, one, other) == ()
