"""Questions for the access times of files that were just read."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.caching.access_times import MANY, AccessTimes, access_times
from tests.unit.rows import MILLISECOND, START_NS, Row, call, operation, trace_of

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


WHOLE = "0010011a:00b0a23a"
"""What Linux asks without one: change, size, mode and owner as well."""


def read_and_asked(
    *,
    between: tuple[str, ...] = (),
    change: int | None = 7,
    after_ms: int = 30,
    read_brings: bool = False,
    vain: int = 0,
    files: int = MANY,
) -> tuple[AccessTimes, ...]:
    """What is said of files that are opened, read and asked about so long after the OPEN.

    Args:
        between: Operations between READ and GETATTR.
        change: The change attribute that the GETATTR brings; the OPEN brought 7.
        after_ms: From the OPEN to the GETATTR.
        read_brings: Whether the READ brings attributes as well.
        vain: Files that are asked about as soon as they are open, before they are read.
        files: How many.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    for about in range(1, files + 1):
        asked_first = ("GETATTR",) if about <= vain else ()
        steps = ("OPEN", *asked_first, "READ", *between, "GETATTR")
        for place, op in enumerate(steps):
            number = len(calls) + 1
            brings = op in {"OPEN", "GETATTR"} or (op == "READ" and read_brings)
            last = place == len(steps) - 1
            at = START_NS + MILLISECOND * (10_000 * about + (after_ms if last else place))
            calls.append(
                call(
                    number, op, 2, file=about, version=4, protocol="4.2",
                    call_time=at, reply_time=at + 2 * MILLISECOND,
                )
            )  # fmt: skip
            operations.append(operation(number, op, file=about))
            if brings:
                operations.append(
                    operation(
                        number, "GETATTR", file=about, attributes=WHOLE,
                        change=change if last else 7,
                    )
                )  # fmt: skip
    with trace_of(calls=calls, operations=operations) as trace:
        return access_times(trace)


def test_one_call_that_asks_twice_is_one() -> None:
    calls = [call(number, op, 2, file=1, version=4) for number, op in ((1, "READ"), (2, "GETATTR"))]
    asked = operation(2, "GETATTR", file=1, attributes=TIMES)
    with trace_of(calls=calls, operations=[operation(1, "READ", file=1), asked, asked]) as trace:
        (pair,) = access_times(trace)
    assert (pair.asked.calls, pair.whole) == (1, 0)


def test_what_was_known_a_moment_ago_is_asked_for_the_access_time() -> None:
    (pair,) = read_and_asked()
    assert (pair.asked.calls, pair.files, pair.whole) == (MANY, MANY, MANY)
    (pair,) = read_and_asked(after_ms=2_999)
    assert pair.whole == MANY


@pytest.mark.parametrize(
    "given",
    [
        {"change": 8},
        {"change": None},
        {"after_ms": 3_000},
        {"read_brings": True},
        {"between": ("LOCK",)},
        {"between": ("OPEN",)},
        {"between": ("WRITE",)},
        {"files": MANY - 1},
    ],
)
def test_all_attributes_are_asked_for_with_another_reason(given: dict[str, Any]) -> None:
    assert read_and_asked(**given) == ()


def test_who_trusts_no_attributes_asks_whatever_is_read() -> None:
    """With noac, also between opening a file and reading it."""
    (pair,) = read_and_asked(vain=MANY // 10)
    assert pair.whole == MANY
    assert read_and_asked(vain=MANY // 5) == ()


def test_without_an_answer_nothing_is_counted() -> None:
    calls = [
        call(1, "READ", 2, file=1, version=4),
        call(2, "GETATTR", None, file=1, version=4),
    ]
    operations = [operation(1, "READ"), operation(2, "GETATTR", attributes=TIMES)]
    with trace_of(calls=calls, operations=operations) as trace:
        assert access_times(trace) == ()
