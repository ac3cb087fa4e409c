"""The calls that a server was not ready for, and those that ask for the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.servers import same_calls
from tests.unit.rows import Row, call, file, trace_of


def _same(*calls: Row, files: Sequence[Row] = ()) -> list[int]:
    with trace_of(calls=calls, files=files) as trace:
        same_calls.register(trace)
        same_calls.register(trace)
        return [
            number
            for (number,) in trace.sql("select call from same_calls order by call").fetchall()
        ]


def _kinds(*calls: Row, files: Sequence[Row] = ()) -> int:
    """How many things are asked for; each call asks for one."""
    with trace_of(calls=calls, files=files) as trace:
        same_calls.register(trace)
        ((found, rows, kinds),) = trace.sql(
            "select count(distinct call), count(*), count(distinct kind) from same_calls"
        ).fetchall()
    assert found == rows == len(calls)
    return int(kinds)


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


def test_a_reply_tells_the_object_of_a_call_that_was_cut() -> None:
    put_off = {"status_name": "NFS4ERR_GRACE", "status": 10013}
    untold = call(1, "OPEN", 1, uid=0, undecoded="truncated", **put_off)
    assert _same(untold, call(2, "OPEN", 1, uid=0, file=9, directory=3)) == [1, 2]
    assert _same(untold, call(2, "OPEN", 1, uid=5, file=9)) == [1]
    assert _same({**untold, "undecoded": None}, call(2, "OPEN", 1, uid=0, file=9)) == [1]
    known = call(2, "OPEN", 1, uid=0, file=9, **put_off)
    assert _kinds(untold, known, call(3, "OPEN", 1, uid=0, file=9)) == 2


def test_an_object_that_had_a_name_alone_is_the_same_by_its_handle() -> None:
    named = call(1, "OPEN", 1, file=3, status_name="NFS4ERR_DELAY")
    again = call(2, "OPEN", 1, file=2)
    told = [file(2, "other", identity=2), file(3, "other", "absent", identity=2), file(4, "held")]
    assert _same(named, again, call(3, "OPEN", 1, file=4), files=told) == [1, 2]
    both = {**again, "status_name": "NFS4ERR_DELAY"}
    assert _kinds(named, both, call(3, "OPEN", 1, file=2), files=told) == 1


def test_the_handles_of_an_object_do_not_multiply_what_is_asked() -> None:
    """A server may give an object a handle for each client. Each with each would be 16 million."""
    handles = range(2, 4_002)
    calls = [
        call(handle, "READ", 1, file=handle, status_name="NFS4ERR_DELAY", status=10008)
        for handle in handles
    ]
    same = [file(handle, "a", identity=2) for handle in handles]
    assert _kinds(*calls, files=same) == 1


def test_where_nothing_is_put_off_the_table_is_empty() -> None:
    assert _same(call(1, "READ", 1, file=5)) == []
