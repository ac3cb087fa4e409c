"""Findings on many clients: those of whom the same is true stand in one, another one by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.synth.simulation import run
from pcapnfs.synth.simulation.options import Options

FILES = {"workload": "lifecycle", "files": 40, "directories": 1, "size": 64 << 10}
"""What every client does."""

NO_DIRECTORIES = {"acdirmin_ns": 0, "acdirmax_ns": 0}
"""acdirmin=0, the option of most of them."""

MS = 1_000_000
"""Nanoseconds."""

THROUGH = {"sync": True}
"""sync, that of another one."""


def found(folder: Path, clients: Mapping[str, Mapping[str, object]]) -> tuple[list[Finding], float]:
    """The findings on a capture of all these clients, by address, and the time budget, seconds."""
    paths = []
    with pytest.MonkeyPatch.context() as patch:
        for address, options in clients.items():
            patch.setattr(run, "CLIENT", address)
            capture, _ = run.Simulation(Options(**{**FILES, **options})).run()  # type: ignore[arg-type]
            paths.append(folder / f"{address}.pcap")
            capture.write(paths[-1])
    with pcapnfs.open([str(path) for path in paths]) as trace:
        result = pcapnfs.findings(trace)
    assert result.booked_s <= result.budget_s
    return list(result.findings), result.budget_s


def test_twelve_clients_alike_are_one_finding_and_one_that_differs_another(tmp_path: Path) -> None:
    alike = [f"10.0.2.{host}" for host in range(20, 32)]
    clients = dict.fromkeys(alike, NO_DIRECTORIES) | {"10.0.2.99": THROUGH}
    findings, _ = found(tmp_path, clients)
    (directories,) = (each for each in findings if each.id == "no_directory_cache")
    assert {subject.about[0] for subject in directories.alike} == set(alike)
    assert directories.evidence.startswith("Alike for 12 clients (10.0.2.")
    assert len(directories.frames) == 5
    (through,) = (each for each in findings if each.id == "sync_mount")
    assert (through.about[0], through.alike) == ("10.0.2.99", ())
    one, _ = found(tmp_path, {"10.0.2.20": NO_DIRECTORIES})
    (single,) = (each for each in one if each.id == "no_directory_cache")
    assert single.alike == ()
    assert single.saving_s is not None
    assert directories.saving_s == pytest.approx(12 * single.saving_s, rel=0.01)
    assert (directories.severity, single.severity) == ("warning", "problem")


def test_what_limits_a_client_is_told_of_that_client(tmp_path: Path) -> None:
    """One waits for the server's disk, another one for the network, a third one hardly works."""
    clients: dict[str, dict[str, object]] = {
        "10.0.2.20": {"persist_ns": 8 * MS, "rtt_ns": MS // 5},
        "10.0.2.21": {"persist_ns": 0, "rtt_ns": 12 * MS},
        "10.0.2.22": {"workload": "walk", "files": 1, "rounds": 1},
    }
    findings, budget_s = found(tmp_path, clients)
    general = {each.id: each for each in findings if each.id.endswith("_bound")}
    storage, network = general["persistence_bound"], general["round_trip_bound"]
    assert (storage.about, storage.alike) == (("10.0.2.20", "10.0.2.10"), ())
    assert (network.about, network.alike) == (("10.0.2.21", "10.0.2.10"), ())
    assert storage.severity == "problem"
    assert "beyond the round trip of 2" in storage.evidence
    assert "of the client's active time" in storage.evidence
    # What the first waited for storage is no part of what the second waited for the network.
    assert storage.saving_s is not None
    assert network.saving_s is not None
    assert storage.saving_s + network.saving_s < 2 / 3 * budget_s


def test_what_twelve_clients_do_as_they_should_is_no_finding(tmp_path: Path) -> None:
    findings, _ = found(tmp_path, {f"10.0.2.{host}": {} for host in range(20, 32)})
    graver = [each for each in findings if each.alike and each.severity != "note"]
    # That they wait for storage is all of them.
    assert [(each.id, len(each.alike)) for each in graver] == [("persistence_bound", 12)]
