"""When calls were outstanding, and what each took of the clock."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.outstanding import (
    SPAN_LIMIT_NS,
    TRANSFER,
    WAITING,
    Outstanding,
    outstanding,
)
from pcapnfs.analyses.times.shares import pauses, register, shares, where
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of

FIRST = {"call_first_frame": 0, "call_frame": 0}
"""What `call` would number below zero for the call at the capture's start."""


def at(ms: float) -> int:
    """A time of the trace, whose calls are sent every 10 ms."""
    return START_NS + round(ms * MILLISECOND)


def spans(found: Outstanding) -> list[tuple[float, float]]:
    """Begin and end of each call, ms."""
    pairs = zip(found.intervals.begin, found.intervals.end, strict=True)
    return [(begin / MILLISECOND, end / MILLISECOND) for begin, end in pairs]


def parts(found: Outstanding) -> list[tuple[int, int, float, float]]:
    """Call, kind, begin and end in ms of each part."""
    intervals = found.intervals
    columns = (intervals.part_of, found.part_kind, intervals.part_begin, intervals.part_end)
    return sorted(
        (int(found.call[of]), int(kind), begin / MILLISECOND, end / MILLISECOND)
        for of, kind, begin, end in zip(*columns, strict=True)
    )


def shares_ms(trace: Trace) -> list[float]:
    """The share of each call, ms."""
    return [share / MILLISECOND for share in shares(outstanding(trace)).tolist()]


def test_calls_that_overlap_share_the_clock() -> None:
    with trace_of(calls=[call(1, "READ", 15), call(2, "READ", 15), call(5, "READ", 1)]) as trace:
        assert shares_ms(trace) == [12.5, 12.5, 1]


def test_each_client_has_its_own_clock_and_callbacks_have_none() -> None:
    rows = [
        call(1, "READ", 8),
        call(2, "READ", 8, client="10.0.0.3", call_first_time=at(10), call_time=at(10)),
        call(3, "CB_RECALL", 8, callback=True, call_first_time=at(10), call_time=at(10)),
    ]
    with trace_of(calls=rows) as trace:
        found = outstanding(trace)
        assert found.clients == ("10.0.0.2", "10.0.0.3")
        assert found.call.tolist() == [1, 2]
        assert shares_ms(trace) == [8, 18]


def test_a_call_is_outstanding_from_its_first_byte_to_the_last_of_its_reply() -> None:
    rows = [call(1, "WRITE", 6, call_first_time=at(7), reply_first_time=at(14))]
    with trace_of(calls=rows) as trace:
        found = outstanding(trace)
    assert spans(found) == [(7, 16)]
    assert parts(found) == [(1, TRANSFER, 7, 10), (1, TRANSFER, 14, 16)]


@pytest.mark.parametrize(
    ("later", "end"),
    [
        ([], 10_000),
        ([call(2, "READ", 5)], 25),
        ([call(2, "READ", 5, server="10.0.0.9")], 10_000),
        ([call(2, "READ", 5, client="10.0.0.3")], 10_000),
        ([call(2, "READ", None), call(3, "READ", 9), call(4, "READ", 1)], 39),
        ([call(2, "CB_RECALL", 5, callback=True)], 10_000),
        # It was sent before, so that its reply says nothing.
        ([call(0, "READ", 12, **FIRST), call(3, "READ", 1)], 31),
    ],
)
def test_a_call_without_reply_waits_until_a_later_one_is_answered(
    later: list[Row], end: float
) -> None:
    with trace_of(calls=[call(1, "READ", None), *later]) as trace:
        found = outstanding(trace)
        (place,) = [place for place, number in enumerate(found.call) if number == 1]
        assert spans(found)[place] == (10, end)


@pytest.mark.parametrize(
    ("again", "end"),
    [
        ({}, 40),
        ({"file": 8}, 11),
        ({"uid": 5}, 11),
        ({"signature": "PUTFH OPEN GETFH"}, 11),
        ({"call_first_time": at(60_012)}, 11),
    ],
)
def test_a_call_that_was_refused_waits_until_it_comes_again(
    again: dict[str, object], end: float
) -> None:
    rows = [
        call(1, "OPEN", 1, file=7, status=10008, status_name="NFS4ERR_DELAY"),
        call(2, "GETATTR", 5, file=7),
        call(4, "OPEN", 1, **({"file": 7} | again)),
        call(6, "OPEN", 1, file=7, call_first_time=at(70_000), call_time=at(70_000)),
    ]
    with trace_of(meta(end_ns=at(80_000)), calls=rows) as trace:
        found = outstanding(trace)
    assert spans(found)[0] == (10, end)
    assert found.kind.tolist()[:2] == [WAITING, 1]


def test_a_call_sent_again_on_a_new_connection_waited_for_that() -> None:
    rows = [
        call(1, "WRITE", 6, transmissions=2, connection=3),
        call(2, "WRITE", 6, transmissions=2, connection=1),
    ]
    connections: list[Row] = [
        {"connection": 3, "first_time": at(14)},
        {"connection": 1, "first_time": at(0)},
    ]
    with trace_of(calls=rows, connections=connections) as trace:
        assert parts(outstanding(trace)) == [(1, WAITING, 10, 14)]


def test_a_reply_before_its_call_ends_it_at_once() -> None:
    with trace_of(calls=[call(1, "WRITE", -3, call_first_time=at(9))]) as trace:
        found = outstanding(trace)
    assert spans(found) == [(9, 10)]
    assert parts(found) == [(1, TRANSFER, 9, 10)]


def test_what_the_client_waited_beyond_the_capture_is_added_half_before_and_half_after() -> None:
    rows = [
        call(1, "WRITE", 6, call_first_time=at(9), reply_first_time=at(14)),
        call(2, "WRITE", 6, server="10.0.0.9"),
        call(3, "OPEN", 1, status_name="NFS4ERR_DELAY"),
        call(4, "OPEN", 1),
        call(0, "NULL", 1, **FIRST),
    ]
    with trace_of(calls=rows) as trace:
        added = {("10.0.0.2", "10.0.0.1"): 2 * MILLISECOND + 1, ("10.0.0.7", "10.0.0.1"): 5}
        found = outstanding(trace, added_ns=added)
    assert found.call.tolist() == [0, 1, 2, 3, 4]
    assert spans(found) == [
        (0, 2.000001),
        (8, 17.000001),
        (20, 26),
        (29, 39),
        (39, 42.000001),
    ]
    assert parts(found) == [(1, TRANSFER, 8, 9), (1, TRANSFER, 15.000001, 17.000001)]
    assert found.added_ns.tolist() == [0.8 * (2 * MILLISECOND + 1)]
    assert found.placed_share.tolist() == [0.8]


def connection(**columns: object) -> Row:
    """A TCP connection between the two of `call`."""
    return {"client": "10.0.0.2", "server": "10.0.0.1", "transport": "TCP"} | columns


@pytest.mark.parametrize(
    ("ack_rtt", "syn_rtt", "span", "placed"),
    [
        (4 * MILLISECOND, MILLISECOND // 10, (8, 17), 1),
        (4 * MILLISECOND, 4 * MILLISECOND, (8, 17), 1),
        (MILLISECOND // 10, 4 * MILLISECOND, (10, 15), 1),
        (None, None, (10, 15), 0),
    ],
    ids=["server", "between", "client", "unknown"],
)
def test_where_the_capture_was_taken_is_asked_of_tcp(
    ack_rtt: int | None, syn_rtt: int | None, span: tuple[float, float], placed: float
) -> None:
    """A handshake times the client's half from SYN+ACK to ACK, the server's from SYN to SYN+ACK."""
    rows = [call(1, "WRITE", 5), call(2, "WRITE", 5), call(3, "WRITE", 5)]
    handshake = connection(ack_rtt=ack_rtt, syn_rtt=syn_rtt, handshake=True)
    with trace_of(calls=rows, connections=[handshake]) as trace:
        found = outstanding(trace)
    assert spans(found)[0] == span
    assert found.placed_share.tolist() == [placed]


def test_other_analyses_join_shares_by_call() -> None:
    with trace_of(calls=[call(1, "READ", 15), call(2, "WRITE", 15)]) as trace:
        trace.lock()
        register(trace)
        register(trace)
        rows = trace.sql("select op, share, pause from shares join calls using (call) order by op")
        assert rows.fetchall() == [("READ", 12_500_000, 0), ("WRITE", 12_500_000, 0)]
        (types,) = trace.sql(
            "select typeof(call), typeof(share), typeof(pause) from shares limit 1"
        ).fetchall()
        assert types == ("UBIGINT", "BIGINT", "BIGINT")


def test_a_pause_is_the_shorter_gap_and_none_where_another_call_is_outstanding() -> None:
    rows = [
        call(0, "LOOKUP", 4, **FIRST),
        call(1, "GETATTR", 2),
        call(2, "GETATTR", 1),
        call(3, "READ", 15),
        call(4, "READ", 2),
        call(5, "READ", 3),
        call(6, "READ", 3),
        # A pause on both sides is not the call's.
        call(9, "GETATTR", 1),
        call(12, "GETATTR", 1),
        # Another client's calls are no reason to wait.
        call(7, "READ", 9, client="10.0.0.3", call_first_time=at(12), call_time=at(12)),
    ]
    with trace_of(calls=rows) as trace:
        found = outstanding(trace)
        assert found.call.tolist() == [*range(8), 9, 12]
        assert (pauses(found) / MILLISECOND).tolist() == [0, 6, 8, 0, 0, 5, 7, 0, 0, 0]


def test_a_trace_without_calls_has_no_shares() -> None:
    with trace_of() as trace:
        register(trace)
        assert trace.sql("from shares").fetchall() == []


def test_times_of_a_damaged_capture_do_no_harm() -> None:
    """An offset of an interface may put packets 290 years before 1970, and damage any time."""
    first, last = -(2**63), 2**63 - 1
    damaged = {"call_first_time": first, "call_time": first, "reply_first_time": last}
    rows = [
        call(1, "READ", 1, **damaged),
        call(2, "READ", 1, reply_time=last),
        call(3, "READ", None, call_time=last),
    ]
    told = meta(start_ns=first, end_ns=last)
    with trace_of(told, calls=rows) as trace:
        found = outstanding(trace, added_ns={("10.0.0.2", "10.0.0.1"): 10**9})
    assert found.span_ns == SPAN_LIMIT_NS
    assert shares(found).sum() <= SPAN_LIMIT_NS
    assert all(0 <= begin <= end for begin, end in spans(found))


def test_a_condition_on_calls_is_tested_on_the_rows_of_the_join() -> None:
    calls = [call(1, "GETATTR", 2), call(2, "READ", 3), call(3, "CB_RECALL", 1, callback=True)]
    with trace_of(calls=calls) as trace:
        register(trace)
        told = where("op <> 'READ'")
        query = f"select call from calls join shares using (call) where {told}"
        assert trace.sql(query).fetchall() == [(1,)]
