"""What the model recovers of simulated runs whose network and storage are known.

Takes a network's round trip, what storage takes, a number of streams, a protocol and a place to
look on; gives what the model measured and concluded, beside what was set. The simulation shares no
code with the decoder nor with the model.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pcapnfs
from pcapnfs.analyses.forecasts.model import READS, Model, model
from pcapnfs.analyses.forecasts.verdict_evidence import LARGE_SHARE
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation

MILLISECOND = 1_000_000

RTTS_MS = (0.1, 0.5, 1.0, 5.0, 20.0)
"""Round trips of the network."""

PERSISTS_MS = (0.0, 0.5, 4.0, 8.0, 12.0)
"""What a stable operation takes longer."""

STREAMS = (1, 2, 4, 8)
"""Threads that share the work."""

VERSIONS = ("3", "4.2")
VANTAGES = ("client", "server")

TOLERANCE = 0.03
"""By how much what is recovered may differ from what was set."""

SERVICE_MS, THINK_MS = 0.03, 0.02
"""What the server takes for any call, and the client between calls."""

BANDWIDTH = 40_000_000_000
"""Bits per second of the link: what messages take on it must not hide what is compared."""

WIRE_MS = 0.001
"""What a call and its reply take on it, and what a capture's clock resolves."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One simulated run."""

    rtt_ms: float
    persist_ms: float
    streams: int
    version: str
    vantage: str

    def options(self, files: int) -> Options:
        """What the simulation is asked for."""
        return Options(
            workload="tar",
            version=self.version,
            files=files,
            directories=1,
            rtt_ns=round(self.rtt_ms * MILLISECOND),
            persist_ns=round(self.persist_ms * MILLISECOND),
            service_ns=round(SERVICE_MS * MILLISECOND),
            think_ns=round(THINK_MS * MILLISECOND),
            threads=self.streams,
            vantage=self.vantage,
            bandwidth=BANDWIDTH,
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """One run, and what the model made of it."""

    setting: Setting
    """What was set."""
    found: Model
    """What the model says."""
    span_ms: float
    """From the first call to the last reply as the client saw it, by the simulation's own books."""
    concurrency: float
    """Calls under way while any was, likewise."""
    expected: dict[str, float]
    """Shares of the time by cause, likewise."""

    @property
    def errors(self) -> dict[str, float]:
        """By how much each recovered input differs from what was set, 0…, beyond what the wire
        takes."""
        setting, found = self.setting, self.found
        return {
            "rtt": _error((found.network_rtt_s or 0.0) * 1000, setting.rtt_ms),
            "round trip": _error((found.rtt_s or 0.0) * 1000, setting.rtt_ms + SERVICE_MS),
            "persist": _error((found.persist_s or 0.0) * 1000, setting.persist_ms),
            "overlap": abs((found.concurrency or 0.0) / self.concurrency - 1),
            "time": _error((found.forecast_s or 0.0) * 1000, self.span_ms),
        }

    @property
    def right(self) -> bool:
        """Whether the verdict names what took the time: the largest cause first, and every other
        one that took a large share, with a margin where shares are close."""
        assert self.found.verdict is not None
        named = set(self.found.verdict.named)
        largest = max(self.expected.values())
        must = {
            cause
            for cause, share in self.expected.items()
            if share >= LARGE_SHARE + TOLERANCE or share >= largest
        }
        may = {cause for cause, share in self.expected.items() if share > LARGE_SHARE - TOLERANCE}
        first = self.expected.get(self.found.verdict.named[0], 0.0)
        return must <= named <= must | may and first >= largest - TOLERANCE


def settings(
    rtts_ms: Iterable[float] = RTTS_MS,
    persists_ms: Iterable[float] = PERSISTS_MS,
    streams: Iterable[int] = STREAMS,
) -> Iterator[Setting]:
    """The grid."""
    for each in itertools.product(rtts_ms, persists_ms, streams, VERSIONS, VANTAGES):
        yield Setting(*each)


def run(setting: Setting, files: int = 40) -> Cell:
    """Simulate one run and ask the model."""
    options = setting.options(files)
    capture, truth = Simulation(options).run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.pcap")
        capture.write(path)
        with pcapnfs.open(path, columns=READS) as trace:
            found = model(trace)
    calls = [call for call in truth.calls if call.operation != "MNT"]
    beyond = options.rtt_ns // 2 if setting.vantage == "server" else 0
    intervals = [(call.call_ns - beyond, call.reply_ns + beyond) for call in calls]
    busy, span = _union(intervals)
    overlap = sum(end - begin for begin, end in intervals) / busy
    stable = sum(call.stability == "stable" for call in calls)
    waits = {
        "persistence": stable * setting.persist_ms,
        "round_trips": len(calls) * (setting.rtt_ms + SERVICE_MS),
    }
    # Of what the streams think, only the time counts in which none of them waits.
    parts = {cause: time / overlap for cause, time in waits.items()}
    parts["client"] = (span - busy) / MILLISECOND
    total = sum(parts.values())
    expected = {cause: time / total for cause, time in parts.items()}
    return Cell(setting, found, span / MILLISECOND, overlap, expected)


def _union(intervals: list[tuple[int, int]]) -> tuple[int, int]:
    """The time in which any interval is open, and that from the first begin to the last end."""
    busy, reached = 0, 0
    for begin, end in sorted(intervals):
        busy += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return busy, reached - min(begin for begin, _ in intervals)


def _error(found_ms: float, set_ms: float) -> float:
    """Relative to what was set, beyond what the wire takes."""
    beyond = max(0.0, abs(found_ms - set_ms) - WIRE_MS)
    return beyond / set_ms if set_ms else beyond
