"""Simulated runs that differ in one option: what findings say of them, and how long they took.

Takes options of the simulation; gives findings by their rule. Promises a run that takes exactly as
long as its options say.
"""

from __future__ import annotations

from pathlib import Path

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation


def simulated(folder: Path, **options: object) -> tuple[dict[str, Finding], float]:
    """The findings on a simulated run, and how long its capture is, seconds."""
    capture, _ = Simulation(Options(**options)).run()  # type: ignore[arg-type]
    path = folder / "simulated.pcap"
    capture.write(path)
    with pcapnfs.open(path) as trace:
        found = {each.id: each for each in pcapnfs.findings(trace).findings}
        start, end = trace.meta.start_ns, trace.meta.end_ns
    assert start is not None
    assert end is not None
    return found, (end - start) / 1e9


def took_s(**options: object) -> float:
    """How long the capture of a simulated run is, seconds; nobody asks what findings say of it."""
    capture, _ = Simulation(Options(**options)).run()  # type: ignore[arg-type]
    return (capture.frames[-1].time_ns - capture.frames[0].time_ns) / 1e9
