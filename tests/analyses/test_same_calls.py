"""The calls that a server was not ready for, and those that ask for the same."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers import same_calls
from tests.unit.rows import Row, call, trace_of


def _same(*calls: Row) -> list[int]:
    with trace_of(calls=calls) as trace:
        same_calls.register(trace)
        same_calls.register(trace)
        return [
            number
            for (number,) in trace.sql("select call from same_calls order by call").fetchall()
        ]


def test_the_same_before_and_after_are_found() -> None:
    put_off = {"status_name": "NFS3ERR_JUKEBOX", "status": 10008}
    assert _same(
        call(1, "READ", 1, file=5),
        call(2, "READ", 1, file=5, **put_off),
        call(3, "READ", None, file=5),
        call(4, "FSSTAT", 1, **put_off),
        call(5, "FSSTAT", 1),
    ) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "other",
    [
        {"client": "10.0.0.9"},
        {"server": "10.0.0.9"},
        {"op": "WRITE"},
        {"signature": "READ READ"},
        {"file": 6},
        {"file": None},
        {"directory": 7},
        {"uid": 8},
        {"callback": True},
    ],
)
def test_what_asks_for_something_else_is_not(other: dict[str, object]) -> None:
    refused = call(1, "READ", 1, file=5, status_name="NFS4ERR_DELAY")
    assert _same(refused, {**call(2, "READ", 1, file=5), **other}) == [1]


def test_a_reply_tells_more_of_a_call_that_was_cut() -> None:
    begun, told = "SEQUENCE PUTFH OPEN", "SEQUENCE PUTFH OPEN GETFH"
    put_off = {"status_name": "NFS4ERR_GRACE", "status": 10013}
    cut = {"undecoded": "truncated"}
    refused = call(1, "OPEN", 1, signature=begun, **cut, **put_off)
    again = call(2, "OPEN", 1, signature=begun, **cut, **put_off)
    assert _same(refused, again, call(3, "OPEN", 1, signature=told, **cut)) == [1, 2, 3]
    assert _same(refused, call(3, "OPEN", 1, signature="SEQUENCE PUTFH OPENATTR", **cut)) == [1]
    whole = {**refused, "undecoded": None}
    assert _same(whole, call(3, "OPEN", 1, signature=told)) == [1]
    further = call(2, "OPEN", 1, signature=told, **cut, **put_off)
    assert _same(refused, further, call(3, "OPEN", 1, signature=told, **cut)) == [1, 2, 3]


def test_where_nothing_is_put_off_the_table_is_empty() -> None:
    assert _same(call(1, "READ", 1, file=5)) == []
