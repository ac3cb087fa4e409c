"""Captures whose path, or whose storage, became slower in the middle: which of both is said.

A server delays its ACKs while it works for longer than 40 ms. So after storage became slow, none of
its answers is quick any more, and it looks as if the path were longer. A link that is full makes it
longer by what waits before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.record import replace
from pcapnfs.synth.builder import Capture
from pcapnfs.synth.simulation import network
from pcapnfs.synth.simulation.exchange import Pause, Slot, Work
from pcapnfs.synth.simulation.filesystem import Node
from pcapnfs.synth.simulation.network import MSS, Segment, Wire
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation, _Thread

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
    assert " went into a longer path 9" in sentence
    assert "persistence_bound" not in findings
    assert "slow_service" not in findings


def test_a_path_that_became_so_much_longer_that_no_ack_is_delayed_for_it(tmp_path: Path) -> None:
    """Files of one segment."""
    findings, _, _ = told(slower_path(OPTIONS, 300 * MS), tmp_path)
    found = findings["slower_path"]
    assert found.confidence == "likely"
    # No ACK without data came meanwhile: what there is none of is not told.
    assert re.fullmatch(r"\d+ ACKs with data on 1 connection", found.data)


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


class FullLink(Wire):
    """A sender that has so many bytes under way, all that a link behind the capture point holds up.

    What is lost there is sent again after a round trip, and a third less is under way for a while.
    """

    def __init__(self, wire: Wire, bandwidth: int, window: int) -> None:
        self.__dict__.update(wire.__dict__)
        self._link, self._link_free_ns = bandwidth, 0
        self._window = self._most = float(window)
        self._acknowledged_ns: list[int] = []
        self._oldest = self._lost_ns = 0

    def send(self, at_ns: int, stream: bytes) -> int:
        moment = max(at_ns, self._free_ns)
        for start in range(0, len(stream), MSS):
            data = stream[start : start + MSS]
            moment = self._may_send(moment, self._position + len(data) - int(self._window))
            through = max(moment, self._link_free_ns) + len(data) * 8 * SECOND // self._link
            self._link_free_ns = through
            arrives = through + self.delay_ns
            self._acknowledged_ns.append(arrives + self.delay_ns)
            sent = [moment]
            if self._loss and self._random.random() < self._loss:
                sent.append(self._acknowledged_ns[-1] + MS)
                arrives += sent[-1] - moment
                if moment > self._lost_ns:
                    self._window, self._lost_ns = self._window * 0.7, sent[-1]
            self._window = min(self._most, self._window + 4 * MSS * MSS / self._window)
            last = start + MSS >= len(stream)
            self.segments.append(Segment(self._position, data, tuple(sent), arrives, last))
            self._position += len(data)
            self._delivered_ns = max(self._delivered_ns, arrives)
            moment += self.takes(len(data))
        self._free_ns = moment
        return self._delivered_ns

    def _may_send(self, moment: int, received: int) -> int:
        """From when on, once so much of the stream was received."""
        while self._oldest < len(self.segments) and self.segments[self._oldest].end <= received:
            moment = max(moment, self._acknowledged_ns[self._oldest])
            self._oldest += 1
        return moment


SECOND = 1000 * MS

COPY = Options(files=8, size=3 << 20, wsize=1 << 19, threads=8, bandwidth=10**10, rtt_ns=1 * MS)
"""A copy by eight streams."""


def full_link(options: Options, mbits: int, window: int) -> Capture:
    """Its link carries so many Mbit/s."""
    run = Simulation(options)
    run._connections[1].up = FullLink(run._connections[1].up, mbits * 10**6, window)
    return run.run()[0]


class FileByFile(Simulation):
    """Copies one file after the other: its WRITEs side by side, then a COMMIT behind them."""

    def _whole(self) -> Work:
        options, server = self.options, self._client.server
        directory = yield from server.mkdir((yield from server.mount()), "copy")
        for number in range(options.files):
            node = yield from server.create(directory, f"file{number}")
            waited_for = [AT_ONCE]

            def some(first: int, waited_for: list[int] = waited_for, node: Node = node) -> Work:
                for offset in range(first, options.size, AT_ONCE * options.wsize):
                    yield from server.write(node, offset, options.wsize, stable=False)
                waited_for[0] -= 1

            for part in range(AT_ONCE):
                thread = _Thread(some(part * options.wsize), Slot(1 + part), 1)
                self._start(thread, self._now_ns)
            while waited_for[0]:
                yield Pause(MS // 20)
            yield from server.commit(node)


AT_ONCE = 8
"""WRITEs that are under way side by side."""

DRAINING = Options(
    files=12, size=2 << 20, wsize=1 << 17, bandwidth=10**10, rtt_ns=1 * MS, persist_ns=10 * MS
)


@pytest.mark.parametrize("vantage", ["client", "between"])
@pytest.mark.parametrize(("mbits", "window"), [(20, 1 << 19), (50, 1 << 20)])
def test_a_link_that_is_full_file_by_file_is_no_slow_server(
    mbits: int, window: int, vantage: str, tmp_path: Path
) -> None:
    """Its queue is gone each time that a COMMIT has come through: answers are quick then."""
    run = FileByFile(replace(DRAINING, vantage=vantage))
    run._connections[1].up = FullLink(run._connections[1].up, mbits * 10**6, window)
    findings, causes, _ = told(run.run()[0], tmp_path)
    found = findings["slower_path"]
    assert found.title == "The link to the server was full for a while"
    assert (found.confidence, found.severity) == ("certain", "problem")
    assert "slow_service" not in findings
    assert (causes.get("server") or 0) < 0.05
    assert (causes["path"] or 0) + (causes.get("transfer") or 0) > 0.9


@pytest.mark.parametrize("service_ms", [20, 100])
def test_a_slow_server_is_no_full_link(service_ms: int, tmp_path: Path) -> None:
    run = FileByFile(replace(DRAINING, service_ns=service_ms * MS))
    findings, causes, _ = told(run.run()[0], tmp_path)
    assert "slower_path" not in findings
    assert not causes.get("path")


def test_reads_that_fill_the_link_to_the_client_are_no_longer_path_to_the_server(
    tmp_path: Path,
) -> None:
    """The server's acknowledgements wait behind its replies."""
    run = Simulation(replace(COPY, workload="cachedread", rounds=1, rsize=1 << 19))
    run._connections[1].down = FullLink(run._connections[1].down, 50 * 10**6, 1 << 20)
    findings, causes, _ = told(run.run()[0], tmp_path)
    assert "slower_path" not in findings
    assert (causes["transfer"] or 0) > 0.7


def from_part(capture: Capture, part: float) -> Capture:
    """Begun late: when so much of the time was over."""
    begin, end = capture.frames[0].time_ns, capture.frames[-1].time_ns
    since = begin + round(part * (end - begin))
    return Capture([frame for frame in capture.frames if frame.time_ns >= since])


@pytest.mark.parametrize(("mbits", "window"), [(20, 1 << 19), (50, 500_000), (50, 1_500_000)])
def test_a_copy_over_a_full_link_is_told_as_path_however_late_the_capture_begins(
    mbits: int, window: int, tmp_path: Path
) -> None:
    """The link takes 80 to 240 ms for what is under way. Where it takes least, the capture begins
    late in more ways.
    """
    capture = full_link(COPY, mbits, window)
    for part in (0, 0.1, 0.3, 0.5, 0.7, 0.8) if window == 500_000 else (0, 0.4, 0.8):
        findings, causes, _ = told(from_part(capture, part), tmp_path)
        assert findings["slower_path"].confidence == "certain", part
        assert (causes.get("server") or 0) < (causes["path"] or 0), part


@pytest.mark.parametrize("part", [0, 0.5, 0.8])
def test_a_full_link_that_loses_packets_is_told_as_path_too(part: float, tmp_path: Path) -> None:
    capture = full_link(replace(COPY, loss=0.001), 20, 1 << 19)
    findings, causes, _ = told(from_part(capture, part), tmp_path)
    assert findings["slower_path"].confidence == "certain"
    assert (causes.get("server") or 0) < 0.2


@pytest.mark.parametrize("rtt_ns", [200_000, 5 * MS])
@pytest.mark.parametrize("delay_ms", [40, 100, 200])
def test_a_server_that_takes_no_more_is_no_longer_path(
    delay_ms: int, rtt_ns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It delays the ACKs of full-sized segments as well. Each delay begins with each part once."""
    options = replace(OPTIONS, size=8_000, rtt_ns=rtt_ns)
    _takes_no_more(monkeypatch, options.start_ns + 200 * MS, delay_ms * MS)
    capture = slower_storage(options, 400 * MS)
    for part in (0, 0.5) if (rtt_ns > MS) == (delay_ms == 100) else (0.2, 0.8):
        findings, _, _ = told(from_part(capture, part), tmp_path)
        assert "slower_path" not in findings, part


def _takes_no_more(monkeypatch: pytest.MonkeyPatch, since_ns: int, delay_ns: int) -> None:
    """From some time on ACKs go so long after the first of what they are for."""
    usually, sends = network._due, network._sends

    def due(times: Sequence[int], sizes: Sequence[int], sending: Sequence[int]) -> Iterator[int]:
        full = bisect_left(times, since_ns)
        yield from usually(times[:full], sizes[:full], sending)
        goes = 0
        for moment in times[full:]:
            if moment > goes:
                goes = moment + delay_ns
                if not sends(sending, moment, goes):
                    yield goes

    monkeypatch.setattr(network, "_due", due)
