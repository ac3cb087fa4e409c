"""OPENs of NFSv4.0 in time."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.open_order import open_order
from tests.unit.rows import Row, call, trace_of


def step(number: int, op: str, took_ms: float, **more: object) -> Row:
    return call(number, op, took_ms, protocol="4.0", uid=1000, **more)


def test_opens_in_a_row_beside_calls_side_by_side() -> None:
    calls = [
        step(1, "OPEN", 10),
        step(2, "OPEN", 5),
        {**step(2, "READ", 20), "call": 20},
        {**step(2, "READ", 20), "call": 21},
        call(3, "OPEN", 50, protocol="4.1", uid=1000),
    ]
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert (owner.uid, owner.opens, owner.overlapping) == (1000, 2, False)
    assert owner.others_at_once == pytest.approx(2.0)
    assert owner.frames == (1, 3)


def test_opens_that_overlap() -> None:
    calls = [step(1, "OPEN", 15), step(2, "OPEN", 5)]
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert owner.overlapping
    assert owner.others_at_once == 0
    assert owner.time_s == pytest.approx(0.015)


def test_without_nfsv40_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "OPEN", 1, protocol="4.2")]) as trace:
        assert open_order(trace) == ()
