"""What lost segments cost, held against the same run without loss."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.captured.capture import capture
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation

pytest.importorskip("pcapnfs._core")

MS = 1_000_000


def told(folder: Path, **options: object) -> tuple[float, float, float]:
    """How long a run took, what of it lost segments did, and persistence, seconds."""
    path = folder / "run.pcap"
    Simulation(Options(**options)).run()[0].write(path)  # type: ignore[arg-type]
    with pcapnfs.open(path) as trace:
        duration_s, known = capture(trace).duration_s, model(trace)
        found = {each.id: each for each in pcapnfs.findings(trace).findings}
    lost = found["tcp_loss"].saving_s if "tcp_loss" in found else 0.0
    assert duration_s is not None
    return duration_s, lost or 0.0, known.persist_s or 0.0


@pytest.mark.parametrize("vantage", ["client", "server"])
@pytest.mark.parametrize(
    "options",
    [
        {"files": 15, "sizes": (1 << 20,), "persist_ns": MS, "loss": 0.002},
        {"files": 15, "sizes": (1 << 20,), "persist_ns": 30 * MS, "loss": 0.001},
        {"files": 12, "sizes": (1 << 20,), "persist_ns": 2 * MS, "loss": 0.001, "threads": 4},
    ],
    ids=["most of a kind", "slow storage", "several at once"],
)
def test_what_is_lost_is_what_the_run_takes_longer(
    vantage: str, options: dict[str, object], tmp_path: Path
) -> None:
    """Nearly all WRITEs of a run meet a loss, and none of that is the storage's."""
    given = {"version": "3", "rtt_ns": 2 * MS, "vantage": vantage, **options}
    lossy_s, lost_s, persist_s = told(tmp_path, **given)
    clean_s, nothing_s, _ = told(tmp_path, **given | {"loss": 0.0})
    assert nothing_s == 0
    assert lost_s == pytest.approx(lossy_s - clean_s, rel=0.2)
    # Calls side by side wait for what was lost of others, too: not all of it is known.
    assert persist_s * 1e9 == pytest.approx(
        options["persist_ns"], rel=0.5 if "threads" in options else 0.3
    )


@pytest.mark.parametrize(("persist_ms", "told"), [(1, {"loss"}), (30, {"loss", "storage"})])
def test_the_storage_is_not_blamed_for_what_is_lost(
    persist_ms: int, told: set[str], tmp_path: Path
) -> None:
    """Nearly all WRITEs of the second run meet a loss, so that their median is that of the loss."""
    paths = []
    for name, persist, loss in (("before", 1, 0.0), ("after", persist_ms, 0.002)):
        options = Options(
            files=32, sizes=(1 << 20,), rtt_ns=2 * MS, persist_ns=persist * MS, loss=loss
        )  # fmt: skip
        paths.append(tmp_path / f"{name}.pcap")
        Simulation(options).run()[0].write(paths[-1])
    with pcapnfs.open(paths[0]) as before, pcapnfs.open(paths[1]) as after:
        causes = {each.subject for each in pcapnfs.compare(before, after).causes}
    assert causes == told
