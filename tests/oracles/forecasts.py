"""Forecasts of one capture held against what another one measured.

Takes the lab's captures with their truth, and simulated ones; gives a `Forecast` for each pair:
what the model foretells from the first capture, and what the second took. A pair is named by what
differs between both runs; the changed input is taken from the truth of the second (its ping, its
storage's own latency), never from its packets.

Each run is measured twice: the whole capture, from its first call to its last reply, which is what
`pcapnfs estimate` sees; and the workload's step alone, whose duration the shell measured. What the
program takes before its first call and after its last reply is in no capture: it is taken over from
the first run.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pcapnfs
from pcapnfs.analyses.forecasts.model import READS, Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.trace import Trace
from tests.oracles.corpus import Capture, lab_captures

MEDIAN_ERROR = 0.11
"""What tests hold the median error of forecasts from one `tar -x` to another to. None of the runs
holds what lies between its mount and its use, which would make all of them alike."""

WORST_ERROR = 0.25
"""And each of them."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """One forecast and its measurement."""

    source: str
    """The capture that the forecast is from."""
    target: str
    """The capture that was foretold."""
    scope: str
    """`capture`: from the first call to the last reply; else the label of the step."""
    change: str
    """What differs, and with which value."""
    forecast_s: float
    """The forecast, seconds."""
    low_s: float
    """Lower end of its range, seconds."""
    high_s: float
    """Upper end of its range, seconds."""
    measured_s: float
    """What the other capture took, seconds."""

    @property
    def error(self) -> float:
        """Forecast by measurement, less 1."""
        return self.forecast_s / self.measured_s - 1

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the range."""
        return self.low_s <= self.measured_s <= self.high_s


def named(name: str) -> Capture:
    """A capture of the lab by its name."""
    (found,) = [capture for capture in lab_captures() if capture.name == name]
    return found


@contextmanager
def opened(capture: Capture, step: dict[str, Any] | None = None) -> Iterator[Trace]:
    """The trace of a capture; with a step, only the calls that were sent during it."""
    with pcapnfs.open([str(path) for path in capture.files], columns=READS) as trace:
        if step is not None:
            with closing(trace.cursor()) as cursor:
                cursor.execute(
                    "delete from calls where not call_first_time between $start and $end",
                    {"start": step["start_ns"], "end": step["end_ns"]},
                )
        yield trace


def steps(capture: Capture) -> list[dict[str, Any]]:
    """The commands of the workload that have a duration."""
    return [step for step in capture.truth()["steps"] if step.get("duration_s")]


def labelled(capture: Capture, label: str) -> dict[str, Any]:
    """A step by its label."""
    (found,) = [step for step in steps(capture) if step["label"] == label]
    return found


def storage_s(capture: Capture) -> float:
    """What a small synchronous operation takes on the exported file system itself: the mean of the
    two that were timed without NFS."""
    probe = capture.truth()["server"]["persist_probe"]
    return statistics.fmean(float(each["median_ms"]) for each in probe.values()) / 1000


def ping_s(capture: Capture) -> float:
    """A round trip of the network, as ping measured it before the run."""
    return float(capture.truth()["network"]["ping_before"]["min_ms"]) / 1000


def tar_pairs() -> Iterator[Forecast]:
    """From `tar -x` onto a slow disk to an async export, a fast disk, and a slow network."""
    for version in ("v3", "v42"):
        source = f"k61-tar-{version}"
        yield from both_scopes(source, f"k61-tar-async-{version}", "async export", persist_s=0.0)
        fast = f"k61-tar-fastdisk-{version}"
        persist = storage_s(named(fast))
        yield from both_scopes(source, fast, f"persist {persist * 1000:.3f} ms", persist_s=persist)
        slow = f"k61-tar-rtt5-{version}"
        rtt = ping_s(named(slow))
        yield from both_scopes(
            source, slow, f"RTT {rtt * 1000:.2f} ms, 100 files", rtt_s=rtt, files=100
        )


def noisy_pairs() -> Iterator[Forecast]:
    """The same on the emulated machine, whose processor adds milliseconds at random."""
    yield from both_scopes("tar-v3", "tar-async-v3", "async export", persist_s=0.0)
    yield from both_scopes("tar-v3", "tar-fastdisk-v3", "disk without delay", persist_s=0.0)


def both_scopes(source: str, target: str, change: str, **given: float) -> Iterator[Forecast]:
    """The forecast for the whole capture, and for the workload's only step."""
    one, other = named(source), named(target)
    overrides = Overrides(**given)  # type: ignore[arg-type]
    for scope in ("capture", "tar"):
        step = None if scope == "capture" else labelled(one, scope)
        with opened(one, step) as trace:
            found = model(trace, overrides)
        if scope == "capture":
            with opened(other) as trace:
                measured = model(trace).measured_s
        else:
            measured = float(labelled(other, scope)["duration_s"])
        assert measured is not None
        yield forecast(source, target, scope, change, found, measured, step)


def stream_pairs() -> Iterator[Forecast]:
    """From a walk by one process to the same by 2, 4 and 8."""
    for name in ("k61-walk-threads-v3", "walk-threads-v3"):
        capture = named(name)
        step = labelled(capture, "walk-P1")
        with opened(capture, step) as trace:
            for streams in (2, 4, 8):
                found = model(trace, Overrides(streams=streams))
                measured = float(labelled(capture, f"walk-P{streams}")["duration_s"])
                change = f"{streams} streams"
                yield forecast(name, name, f"walk-P{streams}", change, found, measured, step)


def listing_pairs() -> Iterator[Forecast]:
    """From a cold walk without READDIRPLUS to one with it."""
    for version in ("v3", "v42"):
        plain, plus = named(f"walk-nordirplus-{version}"), named(f"walk-{version}")
        step = labelled(plain, "find-cold")
        with opened(plain, step) as trace:
            found = model(trace)
        (saved,) = [each for each in found.what_if if each.change == "readdirplus"]
        assert found.measured_s is not None
        assert saved.low_s is not None
        assert saved.high_s is not None
        outside = float(step["duration_s"]) - found.measured_s
        yield Forecast(
            source=plain.name,
            target=plus.name,
            scope="find-cold",
            change=f"{saved.value:.0f} calls less",
            forecast_s=saved.forecast_s + outside,
            low_s=saved.low_s + outside,
            high_s=saved.high_s + outside,
            measured_s=float(labelled(plus, "find-cold")["duration_s"]),
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """What a mount option did to one phase of a script, and what its calls explain of it."""

    target: str
    """The capture with the option."""
    phase: str
    """Label of the step."""
    calls: tuple[int, int]
    """Calls without and with the option."""
    stable: tuple[int, int]
    """Stable calls without and with it."""
    before_s: float
    """How long the phase took without it, seconds."""
    explained_s: float
    """That, with the calls that came in addition at the cost that calls had without it, seconds."""
    measured_s: float
    """How long the phase took with it, seconds."""

    @property
    def error(self) -> float:
        """Explained by measured, less 1."""
        return self.explained_s / self.measured_s - 1


OPTIONS = ("noac", "sync", "actimeo0")
"""Mount options whose effect is explained."""


def option_effects() -> Iterator[Effect]:
    """From a script under default options to the same under others, phase by phase."""
    for version in ("v3", "v42"):
        plain = named(f"opt-default-{version}")
        with opened(plain) as trace:
            costs = model(trace)
        assert costs.rtt_s is not None
        assert costs.persist_s is not None
        for option in OPTIONS:
            other = named(f"opt-{option}-{version}")
            for step in steps(plain):
                same = labelled(other, step["label"])
                (calls, more_calls), (stable, more_stable) = zip(
                    counted(plain, step), counted(other, same), strict=True
                )
                yield Effect(
                    target=other.name,
                    phase=str(step["label"]),
                    calls=(calls, more_calls),
                    stable=(stable, more_stable),
                    before_s=float(step["duration_s"]),
                    explained_s=float(step["duration_s"])
                    + (more_calls - calls) * costs.rtt_s
                    + (more_stable - stable) * costs.persist_s,
                    measured_s=float(same["duration_s"]),
                )


def counted(capture: Capture, step: dict[str, Any]) -> tuple[int, int]:
    """Calls, and stable calls, of a step."""
    with opened(capture, step) as trace:
        found = model(trace)
    assert found.stable_calls is not None
    return found.calls, found.stable_calls


def forecast(
    source: str,
    target: str,
    scope: str,
    change: str,
    found: Model,
    measured_s: float,
    step: dict[str, Any] | None,
) -> Forecast:
    """Put a model beside a measurement."""
    assert found.forecast_s is not None
    assert found.measured_s is not None
    (told,) = (each for each in found.what_if if each.change == "given")
    low = found.forecast_s if told.low_s is None else told.low_s
    high = found.forecast_s if told.high_s is None else told.high_s
    outside = 0.0 if step is None else float(step["duration_s"]) - found.measured_s
    return Forecast(
        source=source,
        target=target,
        scope=scope,
        change=change,
        forecast_s=found.forecast_s + outside,
        low_s=low + outside,
        high_s=high + outside,
        measured_s=measured_s,
    )


def median_error(errors: Iterable[float]) -> float:
    """The median of the errors' amounts."""
    return statistics.median(abs(error) for error in errors)
