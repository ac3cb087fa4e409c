"""Service times and counts, with numbers that can be checked by head."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.operations import operation_counts, operation_times, signature_times
from tests.unit.rows import call, operation, trace_of


def test_groups_by_protocol_and_operation_longest_sum_first() -> None:
    with trace_of(
        calls=[
            call(1, "GETATTR", 1),
            call(2, "GETATTR", 2),
            call(3, "GETATTR", 6),
            call(4, "CREATE", 20, stability="stable"),
            call(5, "LOOKUP", 1, status=2, status_name="NFS3ERR_NOENT"),
            call(6, "GETATTR", 3, protocol="4.1", minor=1),
        ]
    ) as trace:
        rows = operation_times(trace)
    assert [(row.version, row.op, row.calls) for row in rows] == [
        ("3", "CREATE", 1),
        ("3", "GETATTR", 3),
        ("4.1", "GETATTR", 1),
        ("3", "LOOKUP", 1),
    ]
    getattr_ = rows[1].srt
    assert getattr_.count == 3
    assert getattr_.min_s == pytest.approx(0.001)
    assert getattr_.mean_s == pytest.approx(0.003)
    assert getattr_.p50_s == pytest.approx(0.002)
    assert getattr_.p95_s == pytest.approx(0.0056)  # 2 ms + 0.9 × 4 ms
    assert getattr_.p99_s == pytest.approx(0.00592)
    assert getattr_.max_s == pytest.approx(0.006)
    assert getattr_.sum_s == pytest.approx(0.009)
    assert rows[0].stable_calls == 1
    assert rows[3].errors == 1


def test_calls_of_servers_stand_under_the_protocol_that_they_are_of() -> None:
    with trace_of(
        calls=[
            call(1, "CB_RECALL", 3, protocol="4 callback", minor=0, callback=True),
            call(2, "GRANTED_MSG", 2, protocol="nlm4", callback=True),
            call(3, "LOCK", 1, protocol="nlm4"),
        ]
    ) as trace:
        rows = operation_times(trace)
    assert [(row.version, row.op) for row in rows] == [
        ("4 callback", "CB_RECALL"),
        ("nlm4", "GRANTED_MSG"),
        ("nlm4", "LOCK"),
    ]


def test_unanswered_and_refused_calls_count_but_unanswered_ones_have_no_time() -> None:
    with trace_of(
        calls=[
            call(1, "READ", None),
            call(2, "READ", 4, status=None, rpc_status="PROC_UNAVAIL"),
        ]
    ) as trace:
        (row,) = operation_times(trace)
    assert (row.calls, row.errors, row.srt.count) == (2, 1, 1)


def test_an_operation_without_any_reply_has_no_statistics() -> None:
    with trace_of(calls=[call(1, "READ", None)]) as trace:
        (row,) = operation_times(trace)
    assert (row.srt.count, row.srt.sum_s, row.srt.mean_s, row.srt.p99_s) == (0, 0.0, None, None)


def test_retransmitted_calls_are_counted_apart_and_negative_times_kept() -> None:
    with trace_of(calls=[call(1, "READ", 1000, transmissions=3), call(2, "READ", -2)]) as trace:
        (row,) = operation_times(trace)
    assert (row.calls, row.retransmitted_calls, row.srt.count) == (2, 1, 2)
    assert row.srt.min_s == pytest.approx(-0.002)
    assert row.srt.max_s == pytest.approx(1.0)


def test_signatures_are_those_of_compounds() -> None:
    compound = {"protocol": "4.1", "minor": 1, "version": 4}
    with trace_of(
        calls=[
            call(1, "OPEN", 5, signature="PUTFH OPEN(create)", stability="stable", **compound),
            call(2, "OPEN", 1, signature="PUTFH OPEN", **compound),
            call(3, "GETATTR", 9),
        ]
    ) as trace:
        rows = signature_times(trace)
        first = signature_times(trace, top=1)
    assert [(row.signature, row.stable_calls) for row in rows] == [
        ("PUTFH OPEN(create)", 1),
        ("PUTFH OPEN", 0),
    ]
    assert first == rows[:1]


def test_counts_every_operation_of_a_compound_executed_or_not() -> None:
    with trace_of(
        calls=[call(1, "OPEN", 1, protocol="4.1"), call(2, "OPEN", 1, protocol="4.1")],
        operations=[
            operation(1, "PUTFH"),
            operation(1, "OPEN", position=1, status=2),
            operation(1, "GETATTR", position=2, executed=False, status=None),
            operation(2, "PUTFH"),
        ],
    ) as trace:
        counts = {
            row.op: (row.version, row.count, row.executed, row.errors)
            for row in operation_counts(trace)
        }
    assert counts == {
        "PUTFH": ("4.1", 2, 2, 0),
        "OPEN": ("4.1", 1, 1, 1),
        "GETATTR": ("4.1", 1, 0, 0),
    }


def test_an_empty_trace_has_no_rows() -> None:
    with trace_of() as trace:
        assert operation_times(trace) == ()
        assert signature_times(trace) == ()
        assert operation_counts(trace) == ()
