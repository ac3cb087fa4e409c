"""What findings cost, held against captures in which the one thing that they name was different.

Simulated pairs take exactly as long as their truth says. The times of the lab's pairs scatter by
more than what is to be shown; the calls that their kernels counted do not.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.caching.questions import questions
from pcapnfs.analyses.namespace.listing_costs import listing_costs
from pcapnfs.synth.simulation import workloads
from pcapnfs.synth.simulation.client import Client
from pcapnfs.synth.simulation.exchange import Work
from pcapnfs.synth.simulation.filesystem import Node
from pcapnfs.synth.simulation.options import Options
from tests.oracles.corpus import lab_captures, require_corpus
from tests.oracles.kernel import operations
from tests.simulated import simulated
from tests.unit.rows import ROOT

MADE = ROOT / "samples" / "made"

AGREEMENT = 0.2
"""What a finding names is within this share of what was really saved."""


@pytest.mark.parametrize(
    ("slow", "fast", "rules"),
    [
        ("files-sync-v3", "files-default-v3", {"sync_mount"}),
        ("files-noac-v3", "files-default-v3", {"noac"}),
        ("files-acdirmin0-v3", "files-default-v3", {"no_directory_cache"}),
        ("files-4k-v3", "files-default-v3", {"small_rsize", "small_wsize"}),
        ("walk-plain-v3", "walk-plus-v3", {"readdir_without_plus"}),
    ],
)
def test_the_cost_is_the_time_that_the_change_saved(slow: str, fast: str, rules: set[str]) -> None:
    truth = json.loads((MADE / "truth.json").read_text(encoding="utf-8"))
    saved_s = (truth[slow]["took_ns"] - truth[fast]["took_ns"]) / 1e9
    costs = alone(slow)
    assert costs.keys() >= rules
    assert sum(costs[rule] for rule in rules) == pytest.approx(saved_s, rel=AGREEMENT)
    assert not alone(fast).keys() & rules


@functools.cache
def alone(name: str) -> dict[str, float]:
    """What each finding of a sample would save by itself, seconds."""
    with pcapnfs.open(MADE / f"{name}.pcap.gz") as trace:
        found = pcapnfs.findings(trace).findings
    return {each.id: each.saving_s or 0.0 for each in found}


@pytest.mark.parametrize("version", ["v3", "v42"])
@pytest.mark.parametrize("option", ["noac", "actimeo0", "acdirmin0"])
def test_the_questions_spared_are_those_that_default_options_spare(
    option: str, version: str
) -> None:
    require_corpus()
    slow, saved = lab_pair(f"opt-{option}-{version}", f"opt-default-{version}")
    with pcapnfs.open(slow) as trace:
        (asked,) = questions(trace)
    spared = asked.fresh_files.calls + asked.fresh_directories.calls
    assert spared == pytest.approx(saved, rel=AGREEMENT)


@pytest.mark.parametrize("version", ["v3", "v42"])
def test_the_calls_spared_by_attributes_in_listings_are_those_that_they_spare(
    version: str,
) -> None:
    require_corpus()
    slow, saved = lab_pair(f"walk-nordirplus-{version}", f"walk-{version}")
    with pcapnfs.open(slow) as trace:
        (listed,) = listing_costs(trace)
    assert listed.fewer == pytest.approx(saved, rel=AGREEMENT)


@pytest.mark.parametrize(
    ("version", "files", "directories", "pause_s", "threads"),
    [("3", 700, 7, 1, 1), ("3", 300, 60, 5, 1), ("4.1", 500, 10, 40, 1), ("3", 400, 20, 40, 4)],
)
def test_what_programs_want_again_attributes_in_listings_do_not_spare(
    version: str, files: int, directories: int, pause_s: int, threads: int, tmp_path: Path
) -> None:
    walk = {
        "workload": "walk",
        "version": version,
        "files": files,
        "directories": directories,
        "pause_ns": pause_s * 10**9,
        "threads": threads,
    }
    plain, plain_s = simulated(tmp_path, **walk, listing="readdir")
    plus, plus_s = simulated(tmp_path, **walk, listing="readdirplus")
    saved_s = plain_s - plus_s
    assert plain["readdir_without_plus"].saving_s == pytest.approx(saved_s, rel=AGREEMENT)
    assert "readdir_without_plus" not in plus


def looked_at_and_used(
    client: Client, options: Options, directories: Sequence[Node], numbers: range
) -> Work:
    """All of a directory is listed; then a program looks at each entry, and does something more."""
    for directory in directories[numbers.start :: options.threads]:
        cookie, done, listed = 0, False, []
        plus = options.listing == "readdirplus"
        while not done:
            nodes, cookie, done = yield from client.server.readdir(directory, cookie, plus=plus)
            listed += nodes
        for node in listed if plus else ():
            client.learn(node, node.change)
        for node in listed:
            if plus:
                yield from client.stat(node)
            else:
                yield from client.server.lookup(directory, node.path.rpartition("/")[2])
            yield from client.server.access(node)


@pytest.mark.parametrize("version", ["3", "4.2"])
@pytest.mark.parametrize(("files", "rtt_ms", "part"), [(1000, 10, 0.3), (1000, 1, 1.0)])
def test_attributes_spare_what_comes_while_they_are_believed(
    version: str,
    files: int,
    rtt_ms: int,
    part: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A walk that takes longer, also without LOOKUPs, asks again for what it was told."""
    monkeypatch.setitem(workloads.WORKLOADS, "walk", looked_at_and_used)
    walk = {
        "workload": "walk",
        "version": version,
        "files": files,
        "directories": 1,
        "rtt_ns": rtt_ms * 10**6,
    }
    plain, plain_s = simulated(tmp_path, **walk, listing="readdir")
    with pcapnfs.open(tmp_path / "simulated.pcap") as trace:
        (listed,) = listing_costs(trace)
        measured = pcapnfs.model(trace)
        (forecast,) = (each for each in measured.what_if if each.change == "readdirplus")
    plus, plus_s = simulated(tmp_path, **walk, listing="readdirplus")
    assert listed.asked_entries == files
    assert listed.fewer == pytest.approx(part * files, rel=AGREEMENT)
    assert forecast.value == listed.fewer
    finding = plain["readdir_without_plus"]
    assert finding.saving_s == pytest.approx(plain_s - plus_s, rel=AGREEMENT)
    assert "readdir_without_plus" not in plus
    # Both tell the same saving, from the same calls.
    assert measured.measured_s is not None
    assert finding.saving_s == pytest.approx(
        measured.measured_s - forecast.forecast_s, rel=AGREEMENT
    )


def lab_pair(slow: str, fast: str) -> tuple[str, int]:
    """The file of a lab capture, and the calls that its client sent more than another's."""
    captures = {capture.name: capture for capture in lab_captures()}
    sent = [operations(captures[name].truth()).total() for name in (slow, fast)]
    return str(captures[slow].files[0]), sent[0] - sent[1]
