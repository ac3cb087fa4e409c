"""Where most calls lack the other direction, the rest gives no verdict."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.forecasts.model import model
from tests.unit.rows import call, operation, trace_of


@pytest.mark.parametrize(("alone", "told"), [(19, True), (20, False)])
def test_half_of_the_calls_alone_leave_no_verdict(alone: int, told: bool) -> None:
    numbers = range(1, 40)
    calls = [
        call(number, "GETATTR", None if number <= alone else 1, connection=int(number > alone))
        for number in numbers
    ]
    both = {"server_segments": 20, "syn_rtt": 1000, "handshake": True}
    with trace_of(
        calls=calls,
        operations=[operation(number, "GETATTR") for number in numbers],
        connections=[
            {"connection": 0, "transport": "TCP", "client_segments": alone},
            {"connection": 1, "transport": "TCP", "client_segments": 39 - alone} | both,
        ],
    ) as trace:
        assert (directions(trace).calls, directions(trace).mostly) == (alone, not told)
        found = model(trace)
        assert (found.verdict is not None, found.concurrency is not None) == (told, told)


@pytest.mark.parametrize(("missing_bytes", "alone"), [(23 * 10, 0), (24 * 10, 10)])
def test_what_a_client_acknowledged_was_sent(missing_bytes: int, alone: int) -> None:
    """However often a timer that is too short has it send its calls again."""
    numbers = range(1, 11)
    with trace_of(
        calls=[call(number, "GETATTR", None, transmissions=2) for number in numbers],
        operations=[operation(number, "GETATTR") for number in numbers],
        connections=[
            {
                "connection": 0,
                "transport": "TCP",
                "client_segments": 20,
                "missing_bytes": missing_bytes,
            }
        ],
    ) as trace:
        assert directions(trace).calls == alone
        assert len(directions(trace).pairs) == bool(alone)
