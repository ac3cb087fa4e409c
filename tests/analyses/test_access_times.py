"""Questions for the access times of files that were just read."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.access_times import AccessTimes, access_times
from tests.unit.rows import Row, call, operation, trace_of

TIMES = "00100102:00b0a008"
"""What Linux asks under a delegation: type, fsid, file number, links, space and times."""


def found(*steps: tuple[str, int], attributes: str = TIMES) -> tuple[AccessTimes, ...]:
    """What is said of calls about files, GETATTRs for these attributes among them."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, (op, about) in enumerate(steps, 1):
        told = {"attributes": attributes} if op == "GETATTR" else {}
        calls.append(call(number, op, 2, file=about, version=4, protocol="4.2"))
        operations.append(operation(number, op, file=about, **told))
    with trace_of(calls=calls, operations=operations) as trace:
        return access_times(trace)


def test_what_follows_a_read_is_counted() -> None:
    (pair,) = found(
        ("OPEN", 1), ("READ", 1), ("CLOSE", 1), ("GETATTR", 1),
        ("READ", 2), ("READ", 1), ("GETATTR", 1), ("GETATTR", 2),
    )  # fmt: skip
    assert (pair.client, pair.server, pair.calls, pair.files) == ("10.0.0.2", "10.0.0.1", 8, 2)
    assert (pair.asked.calls, pair.asked.frames) == (3, (7, 13, 15))
    assert pair.asked.time_s == pytest.approx(0.006)


@pytest.mark.parametrize("last", ["OPEN", "WRITE", "SETATTR", "GETATTR"])
def test_after_anything_else_the_read_is_not_why(last: str) -> None:
    before = found(("READ", 1), ("READ", 2), ("GETATTR", 2), (last, 1), ("GETATTR", 1))
    assert [pair.asked.calls for pair in before] == [2 if last == "GETATTR" else 1]


@pytest.mark.parametrize(
    "attributes",
    [
        "0010010a:00b0a008",  # change
        "00100112:00b0a008",  # size
        "00100102:00b0a00a",  # mode
        "00100102:00b0a018",  # owner
        "00100102:00b02008",  # no access time
    ],
)
def test_who_asks_for_more_does_not_ask_for_that_alone(attributes: str) -> None:
    assert found(("READ", 1), ("GETATTR", 1), attributes=attributes) == ()


def test_without_an_answer_nothing_is_counted() -> None:
    calls = [
        call(1, "READ", 2, file=1, version=4),
        call(2, "GETATTR", None, file=1, version=4),
    ]
    operations = [operation(1, "READ"), operation(2, "GETATTR", attributes=TIMES)]
    with trace_of(calls=calls, operations=operations) as trace:
        assert access_times(trace) == ()
