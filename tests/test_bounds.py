"""What findings say of time in general, against what changes really saved.

The pairs of captures differ in one thing only: what the first one's finding names as its cost is
what the second one's run took less.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.simulated import simulated, took_s

AGREEMENT = 0.2
"""What a finding names is within this share of what was really saved."""

RESTART_FILES = 60
"""Files that the runs with a restart unpack."""

MS = 1_000_000
"""Nanoseconds."""

CAPTURES = {capture.name: capture for capture in lab_captures()}


@pytest.mark.parametrize("version", ["v3", "v42"])
@pytest.mark.parametrize("fast", ["async", "fastdisk"])
def test_storage_costs_what_a_run_without_it_saves(fast: str, version: str) -> None:
    require_corpus()
    slow, quick = CAPTURES[f"k61-tar-{version}"], CAPTURES[f"k61-tar-{fast}-{version}"]
    saved_s = ran_s(slow) - ran_s(quick)
    assert finding(slow, "persistence_bound").saving_s == pytest.approx(saved_s, rel=AGREEMENT)


@pytest.mark.parametrize("version", ["v3", "v40", "v42"])
def test_a_restart_costs_what_the_same_files_take_less_without(version: str) -> None:
    require_corpus()
    capture, usual = CAPTURES[f"k61-restart-{version}"], CAPTURES[f"k61-tar-{version}"]
    ran = ran_s(capture, without="list")
    saved_s = ran - ran_s(usual) / usual.truth()["facts"]["files"] * RESTART_FILES
    assert finding(capture, "server_restart").saving_s == pytest.approx(saved_s, rel=AGREEMENT)


@pytest.mark.parametrize(("threads", "version"), [(1, "3"), (4, "4.2")])
def test_round_trips_cost_what_a_near_server_saves(
    threads: int, version: str, tmp_path: Path
) -> None:
    walk = {"workload": "walk", "listing": "lookup", "rounds": 1, "files": 300}
    far, far_s = simulated(tmp_path, **walk, rtt_ns=10 * MS, threads=threads, version=version)
    near_s = took_s(**walk, rtt_ns=MS // 2, threads=threads, version=version)
    bound = far["round_trip_bound"]
    assert bound.severity == "problem"
    assert bound.saving_s == pytest.approx(far_s - near_s, rel=AGREEMENT)


def test_transfer_costs_what_a_fast_link_saves(tmp_path: Path) -> None:
    cat = {"workload": "cachedread", "rounds": 1, "files": 2, "size": 4 << 20, "rsize": 32 << 10}
    thin, thin_s = simulated(tmp_path, **cat, bandwidth=10**8)
    wide_s = took_s(**cat, bandwidth=4 * 10**10)
    assert thin["transfer_bound"].saving_s == pytest.approx(thin_s - wide_s, rel=AGREEMENT)
    assert thin["single_connection"].severity == "note"
    assert "slow_service" not in thin


def test_commits_that_wait_for_the_disk_are_told(tmp_path: Path) -> None:
    tar = {"workload": "tar", "files": 20, "size": 64 << 10, "wsize": 16 << 10}
    slow, _ = simulated(tmp_path, **tar, persist_ns=8 * MS)
    fast, _ = simulated(tmp_path, **tar, persist_ns=0)
    assert slow["commit_cost"].saving_s == pytest.approx(20 * 0.008, rel=AGREEMENT)
    assert "commit_cost" not in fast


def test_a_slow_server_is_told_by_what_it_takes(tmp_path: Path) -> None:
    walk = {"workload": "walk", "listing": "lookup", "rounds": 1, "files": 100}
    slow, slow_s = simulated(tmp_path, **walk, service_ns=20 * MS)
    fast, fast_s = simulated(tmp_path, **walk, service_ns=MS // 2)
    assert slow["slow_service"].severity == "problem"
    assert slow["slow_service"].saving_s == pytest.approx(slow_s - fast_s, rel=AGREEMENT)
    assert "slow_service" not in fast


def test_calls_at_once_that_stay_at_the_number_of_threads_are_told(tmp_path: Path) -> None:
    walk = {"workload": "walk", "listing": "lookup", "rounds": 1, "files": 2000}
    many, _ = simulated(tmp_path, **walk, directories=100, threads=24)
    few, _ = simulated(tmp_path, **walk, directories=100, threads=4)
    assert "exactly 24" in many["concurrency_cap"].evidence
    assert not few.keys() & {"concurrency_cap", "single_connection", "server_overload"}


def ran_s(capture: Capture, without: str | None = None) -> float:
    """How long the steps of the workload took, without one."""
    return sum(
        step["duration_s"] or 0.0
        for step in capture.truth()["steps"]
        if without is None or step["label"] != without
    )


def finding(capture: Capture, rule: str) -> Finding:
    """The finding of a rule on a capture."""
    with pcapnfs.open([str(path) for path in capture.files]) as trace:
        (found,) = (each for each in pcapnfs.findings(trace).findings if each.id == rule)
    return found
