"""Captures whose path, or whose storage, became slower in the middle: which of both is said.

A server delays its ACKs while it works for longer than 40 ms. So after storage became slow, none of
its answers is quick any more, and it looks as if the path were longer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.record import replace
from pcapnfs.synth.builder import Capture
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
OPTIONS = Options(files=60, rtt_ns=300_000, persist_ns=1 * MS)
SOURCE = slice(26, 30)
"""Where an Ethernet frame has the IPv4 address of its sender."""


def slower_path(options: Options, more_ns: int) -> Capture:
    """From the middle on each turn from client to server takes longer, as seen at the client."""
    frames = Simulation(options).run()[0].frames
    client, added, asking = frames[0].data[SOURCE], 0, False
    moved = []
    for place, frame in enumerate(frames):
        was_asking, asking = asking, frame.data[SOURCE] == client
        if place > len(frames) // 2 and was_asking and not asking:
            added += more_ns
        moved.append(replace(frame, time_ns=frame.time_ns + added))
    return Capture(moved)


def slower_storage(options: Options, persist_ns: int) -> Capture:
    """From some time on storage takes so long."""
    run = Simulation(options)

    def change() -> None:
        run.options = replace(options, persist_ns=persist_ns)

    run._at(options.start_ns + 200 * MS, change)
    return run.run()[0]


def told(capture: Capture, folder: Path) -> tuple[dict[str, Finding], dict[str, float | None], str]:
    """The findings by rule, the causes with their shares, and the verdict."""
    path = folder / "slower.pcap"
    path.write_bytes(capture.pcap())
    with pcapnfs.open(path) as trace:
        findings = {found.id: found for found in pcapnfs.findings(trace).findings}
        verdict = pcapnfs.model(trace).verdict
    assert verdict is not None
    return findings, {cause.cause: cause.share for cause in verdict.causes}, verdict.sentence


@pytest.mark.parametrize("more_ms", [60, 300])
def test_a_path_that_became_longer(more_ms: int, tmp_path: Path) -> None:
    """Files of several segments: their ACKs are not delayed."""
    capture = slower_path(replace(OPTIONS, size=20_000), more_ms * MS)
    findings, causes, sentence = told(capture, tmp_path)
    found = findings["slower_path"]
    assert (found.confidence, found.severity) == ("certain", "problem")
    assert found.cost_share is not None
    assert found.cost_share > 0.9
    assert found.cost_share == pytest.approx(causes["path"], abs=0.02)
    assert sentence.startswith("The time went into a longer path 9")
    assert "persistence_bound" not in findings
    assert "slow_service" not in findings


def test_a_path_that_became_so_much_longer_that_no_ack_is_delayed_for_it(tmp_path: Path) -> None:
    """Files of one segment."""
    findings, _, _ = told(slower_path(OPTIONS, 300 * MS), tmp_path)
    assert findings["slower_path"].confidence == "likely"


def test_a_little_longer_path_cannot_be_told_from_a_slow_server(tmp_path: Path) -> None:
    findings, _, _ = told(slower_path(OPTIONS, 60 * MS), tmp_path)
    assert "slower_path" not in findings


@pytest.mark.parametrize("size", [1024, 20_000])
@pytest.mark.parametrize("persist_ms", [20, 50, 100, 150, 400])
def test_slow_storage_is_no_longer_path(size: int, persist_ms: int, tmp_path: Path) -> None:
    """Though its server delays all ACKs by 40 ms."""
    options = replace(OPTIONS, size=size)
    findings, _, _ = told(slower_storage(options, persist_ms * MS), tmp_path)
    assert "slower_path" not in findings
    assert "persistence_bound" in findings


def test_storage_that_is_always_slow_is_no_longer_path(tmp_path: Path) -> None:
    findings, _, _ = told(Simulation(replace(OPTIONS, persist_ns=100 * MS)).run()[0], tmp_path)
    assert "slower_path" not in findings


@pytest.mark.parametrize("answer_ms", [100, 250])
def test_replies_alone_that_come_later_are_no_longer_path(answer_ms: int, tmp_path: Path) -> None:
    """ACKs come as they did."""
    options = replace(OPTIONS, size=20_000)
    capture = _replies_later(Simulation(options).run()[0], answer_ms * MS)
    findings, _, _ = told(capture, tmp_path)
    assert "slower_path" not in findings


def _replies_later(capture: Capture, more_ns: int) -> Capture:
    """From the middle on replies, and all that follows them, come later."""
    frames, added = capture.frames, 0
    client, asked = frames[0].data[SOURCE], False
    moved = []
    for place, frame in enumerate(frames):
        if len(frame.data) > EMPTY:
            replies = frame.data[SOURCE] != client
            if place > len(frames) // 2 and replies and asked:
                added += more_ns
            asked = not replies
        moved.append(replace(frame, time_ns=frame.time_ns + added))
    return Capture(moved)


EMPTY = 14 + 20 + 20
"""Length of an Ethernet frame with a segment of TCP without data and options."""
