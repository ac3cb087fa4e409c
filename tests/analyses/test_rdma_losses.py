"""Packets of RDMA that were sent again, and the calls that waited for them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.rdma_losses import RdmaLosses, rdma_losses
from tests.unit.rows import MILLISECOND, Row, call, trace_of

RDMA: Row = {
    "connection": 0,
    "transport": "RDMA",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "client_resent": 4,
    "server_resent": 2,
    "client_segments": 10,
    "server_segments": 11,
}


def calls(took_ms: float, **columns: object) -> list[Row]:
    """Ten LOOKUPs of a millisecond, and one of this length while packets were sent again."""
    usual = [call(number, "LOOKUP", 1, connection=0) for number in range(1, 11)]
    late = {**call(11, "LOOKUP", took_ms, connection=0), "tcp_resent": True, **columns}
    return [*usual, late]


def test_what_a_call_took_longer_than_others_is_counted() -> None:
    with trace_of(calls=calls(41), connections=[RDMA]) as trace:
        assert rdma_losses(trace) == (
            RdmaLosses(
                client="10.0.0.2",
                server="10.0.0.1",
                messages=21,
                client_resent=4,
                server_resent=2,
                held=1,
                longest_s=0.04,
                longer_s=0.04,
                late=0,
                late_s=0.0,
                time_s={"unstable": 0.04},
                frames=(21,),
            ),
        )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(calls(5.9), id="not much longer"),
        pytest.param(calls(41, tcp_resent=False), id="before or after"),
        pytest.param(calls(41, connection=1), id="on another connection"),
        pytest.param(calls(41, op="WRITE"), id="nothing is usual for it"),
    ],
)
def test_other_calls_are_not(rows: list[Row]) -> None:
    other = {**RDMA, "connection": 1, "transport": "TCP"}
    with trace_of(calls=rows, connections=[RDMA, other]) as trace:
        (found,) = rdma_losses(trace)
    assert (found.held, found.longer_s, found.time_s, found.frames) == (0, 0.0, {}, ())


@pytest.mark.parametrize(
    ("resent_ms", "late"),
    [
        pytest.param(2290, 1, id="the call came at once"),
        pytest.param(2200, 1, id="the call came soon"),
        pytest.param(2000, 0, id="the call came later"),
        pytest.param(-1, 0, id="nothing was sent again meanwhile"),
        pytest.param(None, 0, id="nothing was sent again"),
    ],
)
def test_a_call_that_a_packet_sent_again_let_through_came_late(
    resent_ms: float | None, late: int
) -> None:
    """The call before was answered 2.3 s before it."""
    usual = [call(number, "LOOKUP", 1, connection=0) for number in range(1, 11)]
    answered = max(int(str(row["reply_time"])) for row in usual)
    sent = answered + 2300 * MILLISECOND
    again = None if resent_ms is None else answered + int(resent_ms * MILLISECOND)
    times = {"call_first_time": sent, "call_time": sent, "reply_time": sent + MILLISECOND}
    last = {**call(11, "LOOKUP", 1, connection=0), **times, "resent_before_time": again}
    with trace_of(calls=[*usual, last], connections=[RDMA]) as trace:
        (found,) = rdma_losses(trace)
    assert (found.held, found.late) == (0, late)
    assert found.time_s == ({"client": found.late_s} if late else {})
    assert found.late_s == (pytest.approx(resent_ms / 1000) if late and resent_ms else 0.0)


@pytest.mark.parametrize(
    "changes", [{"transport": "TCP"}, {"client_resent": 0, "server_resent": 0}]
)
def test_where_nothing_was_sent_again_over_rdma_there_is_none(changes: Row) -> None:
    with trace_of(calls=calls(41), connections=[{**RDMA, **changes}]) as trace:
        assert rdma_losses(trace) == ()
