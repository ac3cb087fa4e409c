"""What is sent again on one connection says nothing of calls on another."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation

pytest.importorskip("pcapnfs._core")


def test_a_call_goes_by_the_connection_of_its_reply(tmp_path: Path) -> None:
    """Two at the same time, one of which loses segments."""
    options = Options(files=2000, size=4000, threads=8, connections=2, loss=0.02, rtt_ns=5_000_000)
    run = Simulation(options)
    for wire in (run._connections[2].up, run._connections[2].down):
        wire._loss = 0.0
    path = tmp_path / "one-lossy.pcap"
    path.write_bytes(run.run()[0].pcap())
    with pcapnfs.open(path) as trace:
        rows = trace.sql(
            "select client_resent + server_resent > 0 as lossy, count(*) filter (tcp_resent), "
            "count(*) from calls join connections using (connection) "
            "where server_port = 2049 group by lossy order by lossy"
        ).fetchall()
    (_, clean, _), (_, resent, calls) = rows
    assert clean == 0
    assert resent > calls / 10
