"""`network` on the lab, against what the captures' truth says and against tshark."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

import pcapnfs
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire.network import Network
from pcapnfs.verify.verification import settings
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.opened import opened
from tests.oracles.tshark import columns, require_tshark, tshark_cache

pytest.importorskip("pcapnfs._core")


def _named(*names: str) -> list[Any]:
    found = [
        pytest.param(capture, id=capture.name)
        for capture in lab_captures()
        if any(capture.name.startswith(name) for name in names)
    ]
    return found or [pytest.param(None, id="no-corpus")]


def _said(capture: Capture | None) -> Network:
    return pcapnfs.network(opened(capture).trace)


def _tshark(capture: Capture, show: str, *fields: str) -> list[list[str]]:
    """The fields of the frames that a display filter shows."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    (path,) = capture.files
    command = ["tshark", "-r", str(path), "-Y", show, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in run.stdout.splitlines()]


@pytest.mark.parametrize("capture", _named("nconnect4", "k61-nconnect4"))
def test_a_mount_with_nconnect_uses_as_many_connections_at_once(capture: Capture | None) -> None:
    """Each session goes over all of them."""
    said = _said(capture)
    assert [path.nfs_connections_at_once for path in said.paths] == [4]
    assert {session.connections for session in said.shown_sessions} == {4}


@pytest.mark.parametrize("capture", _named("k61-tar-v3", "k61-tar-v42", "tar-sizes-v41-w32k"))
def test_one_mount_uses_one_connection(capture: Capture | None) -> None:
    assert [path.nfs_connections_at_once for path in _said(capture).paths] == [1]


@pytest.mark.parametrize("capture", _named("opt-rwsize4096", "k61-tar-sizes", "tar-sizes"))
def test_the_largest_write_is_wsize(capture: Capture | None) -> None:
    """Files of 64 KiB, and of 4 KiB where that is wsize, fill it or fit it."""
    said = _said(capture)
    assert capture is not None
    wsize = 4096 if "4096" in capture.name else 32768 if "w32k" in capture.name else 65536
    (path,) = said.paths
    assert path.wsize_bytes == wsize
    assert path.max_write_bytes is not None
    assert path.max_write_bytes >= wsize


@pytest.mark.parametrize("capture", _named("loss", "reorder", "tar-v3", "k61-retrans"))
def test_segments_sent_again_are_those_of_tshark(capture: Capture | None) -> None:
    """But for a few that come within 3 ms of the first sign of their loss: overtaken, here."""
    said = _said(capture)
    assert capture is not None
    repeated = "(tcp.analysis.retransmission || tcp.analysis.out_of_order) && tcp.len > 1"
    told = len(_tshark(capture, repeated, "frame.number"))
    found = said.loss.client_resent + said.loss.server_resent
    assert 0.85 * told <= found <= told


@pytest.mark.parametrize(
    "capture", _named("k61-tar", "k61-walk", "loss", "tar-v3", "fmt-plain-v42")
)
def test_handshakes_are_those_of_tshark(
    capture: Capture | None, pytestconfig: pytest.Config
) -> None:
    """tshark's `initial_rtt` is SYN to the last ACK: both halves of a connection. It stands beside
    each of its messages.
    """
    require_corpus()
    assert capture is not None
    if capture.seen_twice or len(capture.files) > 1:
        pytest.skip("tshark counts a packet that was captured twice as sent again")
    require_tshark()
    trace = opened(capture).trace
    fields = ("tcp.srcport", "tcp.dstport", "tcp.analysis.initial_rtt")
    told = {
        min(ports, key=lambda port: port == "2049"): float(rtt)
        for *ports, rtt in columns(
            capture.files,
            capture.ports,
            tshark_cache(pytestconfig),
            *fields,
            whole_packets=capture.full,
            named=settings(trace),
        )
        if rtt and "2049" in ports
    }
    found = trace.sql(
        "select client_port, (syn_rtt + ack_rtt) / 1e9 from connections "
        "where server_port = 2049 and syn_rtt is not null"
    ).fetchall()
    assert found
    for port, rtt_s in found:
        assert rtt_s == pytest.approx(told[str(port)], abs=1e-6)


@pytest.mark.parametrize("capture", _named("k61-tar-v4", "tar-v42", "tar-v41", "k61-restart-v42"))
def test_a_client_that_calls_one_by_one_needs_one_slot(capture: Capture | None) -> None:
    """The kernel offers thirty or more; tar waits for each call."""
    said = _said(capture)
    assert capture is not None
    if "v40" in capture.name or capture.snaplen < 256:
        assert said.sessions == 0  # There are none, or they are past the snaplen.
        return
    assert said.sessions > 0
    for session in said.shown_sessions:
        assert session.slots_used <= said.concurrency.peak + 1
        assert session.slots_offered is None or session.slots_offered >= 30
        assert session.slots_used <= (session.slots_offered or session.slots_used)


@pytest.mark.parametrize("capture", _named("k61-walk-threads"))
def test_parallel_processes_are_calls_at_once(capture: Capture | None) -> None:
    said = _said(capture)
    assert said.concurrency.peak >= 4
    assert said.concurrency.mean is not None
    assert said.concurrency.mean > 1.1


@pytest.mark.parametrize("capture", _named("k61-walk", "k61-tar", "npm-like", "k61-nconnect4"))
def test_calls_under_way_are_those_of_the_time_budget(capture: Capture | None) -> None:
    """Where every call was answered, and none had to come again."""
    trace = opened(capture).trace
    (client,) = time_budget(trace).clients
    found = pcapnfs.network(trace).concurrency
    assert found.mean == pytest.approx(client.concurrency, rel=1e-6)


@pytest.mark.parametrize("capture", _named("sec-tls", "fmt-udp"))
def test_transports_are_named(capture: Capture | None) -> None:
    said = _said(capture)
    assert capture is not None
    (path,) = said.paths
    assert ("TLS" if "tls" in capture.name else "UDP") in path.transports
