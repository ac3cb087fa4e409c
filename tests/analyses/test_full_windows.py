"""Transfers that a TCP window holds down, and those that something else does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.forecasts.verdict import verdict
from pcapnfs.analyses.wire.full_windows import (
    FullWindow,
    full_windows,
    full_windows_by_client,
    holding,
)
from pcapnfs.record import replace
from tests.analyses.test_loss_rate import MESSAGE, NUMBER, reads, writes
from tests.analyses.test_loss_rate import connection as lossy_connection
from tests.analyses.test_verdict import DISK
from tests.unit.rows import MILLISECOND, Row, trace_of

SECOND = 1000 * MILLISECOND

WINDOW = 20_000
"""Goes round in 10 ms at 2 MB/s, as the path does."""


def connection(number: int = 1, /, **columns: object) -> Row:
    """One over 10 ms whose server stood for 8 of 10 s since the client's window was full."""
    window: dict[str, object] = {
        "server_resent": 0, "window_scaling": True, "client_window": WINDOW,
        "client_full_window": WINDOW, "client_window_full": 8 * SECOND,
        "client_window_full_bytes": 16_000_000,
    }  # fmt: skip
    return lossy_connection(number, **(window | columns))


def told(calls: Sequence[Row] | None = None, *connections: Row) -> tuple[FullWindow, ...]:
    rows = connections or (connection(),)
    with trace_of(calls=reads() if calls is None else calls, connections=rows) as trace:
        return full_windows(trace)


def test_it_is_told_with_what_it_took_of_the_clock() -> None:
    (found,) = told()
    assert (found.client, found.server, found.receiver) == ("10.0.0.2", "10.0.0.1", "client")
    assert (found.connections, found.busy_connections) == (1, 1)
    assert (found.window_bytes, found.scaled) == (WINDOW, True)
    assert found.rtt_s == pytest.approx(0.010005)
    assert found.turn_s == pytest.approx(0.01)
    assert found.stood_s == 8.0
    # All of it while data moved, which is 9.3 s of the clock (test_loss_rate.py).
    assert found.time_s == {"transfer": pytest.approx(8.0)}


def test_what_is_more_than_the_transfer_is_in_the_row_of_its_calls() -> None:
    (found,) = told(reads(pause_ms=40), connection(client_window_full=9 * SECOND))
    assert found.cost_s == pytest.approx(9.0)
    assert found.time_s["transfer"] + found.time_s["read"] == pytest.approx(9.0)
    assert found.time_s["read"] > 2.5


def test_no_more_is_claimed_than_there_was() -> None:
    (found,) = told(
        None,
        connection(client_window_full=80 * SECOND, client_full_window=2_000, client_window=2_000),
    )
    assert found.stood_s == 80.0
    assert found.cost_s == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize(
    ("columns", "held"),
    [
        # A window goes round in 15 ms at most where the path takes 10.
        pytest.param({"client_window_full_bytes": 10_700_000}, True, id="as the path"),
        pytest.param({"client_window_full_bytes": 10_600_000}, False, id="in a queue"),
        pytest.param({"client_window": 2 * WINDOW - 1}, True, id="as large otherwise"),
        pytest.param({"client_window": 2 * WINDOW}, False, id="that grew"),
        pytest.param({"client_window_full": 0}, False, id="that never was full"),
        pytest.param({"client_full_window": None}, False, id="that is not known"),
        pytest.param({"client_window_full_bytes": 0}, False, id="that moved nothing"),
        pytest.param({"transport": "RDMA"}, False, id="of no TCP"),
        pytest.param({"syn_rtt": None, "ack_rtt": None}, False, id="of a path of unknown length"),
    ],
)
def test_another_window_would_have_to_change_something(
    columns: dict[str, object], held: bool
) -> None:
    assert bool(told(None, connection(**columns))) is held


def test_writes_wait_for_the_servers_window() -> None:
    up: dict[str, object] = {
        "client_bytes": NUMBER * MESSAGE, "server_bytes": 30_000, "server_window": WINDOW,
        "server_full_window": WINDOW, "server_window_full": 8 * SECOND,
        "server_window_full_bytes": 16_000_000, "client_window_full": 0,
        "window_scaling": False,
    }  # fmt: skip
    (found,) = told(writes(), connection(**up))
    assert (found.receiver, found.scaled) == ("server", False)
    assert found.time_s == {"transfer": pytest.approx(8.0)}


def test_connections_that_share_a_transfer_stand_at_the_same_time() -> None:
    calls = [*reads(), *reads(number=2)]
    (both,) = told(calls, connection(), connection(2, client_window_full=4 * SECOND))
    assert (both.connections, both.busy_connections, both.stood_s) == (2, 2, 6.0)
    # The other one did not stand, and a third moved next to nothing.
    idle = connection(3, server_bytes=NUMBER * MESSAGE // 10 - 1, client_window_full=0)
    (one,) = told(calls, connection(), connection(2, client_window_full=0), idle)
    assert (one.connections, one.busy_connections, one.stood_s) == (1, 2, 4.0)


def test_a_client_has_its_own_and_most_of_its_transfer_is_told() -> None:
    with trace_of(calls=reads(), connections=[connection()]) as trace:
        ((client, windows),) = full_windows_by_client(trace).items()
    assert client == "10.0.0.2"
    assert holding(windows, 16.0) == windows[0]
    assert holding(windows, 16.1) is None
    assert holding((), 0.0) is None
    # That of WRITEs cost more in all, and less of it while their bytes moved.
    (reads_wait,) = windows
    writes_wait = replace(reads_wait, receiver="server", time_s={"stable": 9.0, "transfer": 1.0})
    assert holding((writes_wait, reads_wait), 16.0) == reads_wait


def test_the_verdict_says_what_holds_the_transfer_down() -> None:
    (window,) = told()
    costs = replace(DISK.costs, other_s=0.1, persist_s=0.0)
    evidence = replace(DISK, costs=costs, transfer_s=90.0)
    held = verdict(replace(evidence, full_window=window)).sentence
    assert (
        "(data on the wire, held down by the client's TCP window: no more than 19.5 KiB in each "
        "round trip of 10.0 ms)" in held
    )
    assert "window" not in verdict(evidence).sentence


def test_times_that_cannot_be_are_no_failure() -> None:
    """As a damaged capture may claim them: their differences do not fit."""
    early, late = -(2**62) - 10, 2**62 + 10
    calls = [
        row | {"call_first_time": early, "call_time": late, "reply_first_time": early}
        for row in map(dict, reads())
    ]
    assert len(told(calls)) <= 1
