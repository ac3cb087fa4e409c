"""Delegations of new files that are given back before anything was done under them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.returned_at_once import ReturnedAtOnce, returned_at_once
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(number, f"f{number}") for number in range(1, 8)]

Step = list[Row]


def opened(number: int, about: int, delegation: str = "READ", mode: int | None = 3) -> Step:
    """An OPEN, of a new file unless `mode` is None."""
    return [
        call(number, "OPEN", 4, file=about, version=4),
        operation(number, "OPEN", file=about, delegation=delegation, create_mode=mode),
    ]


def step(number: int, about: int, op: str, srt_ms: float | None = 4, status: int = 0) -> Step:
    """Any other call about a file."""
    callback = op.startswith("CB_")
    return [
        call(number, op, srt_ms, file=about, version=4, callback=callback, status=status),
        operation(number, op, file=about, status=status),
    ]


def told(steps: list[Step]) -> tuple[ReturnedAtOnce, ...]:
    calls, operations = ([each[place] for each in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        return returned_at_once(trace)


def at_once(number: int, about: int, srt_ms: float = 4) -> list[Step]:
    """A new file as rsync makes it."""
    return [
        opened(number, about),
        step(number + 1, about, "ACCESS"),
        step(number + 2, about, "DELEGRETURN", srt_ms),
        step(number + 3, about, "SETATTR"),
        step(number + 4, about, "WRITE"),
        step(number + 5, about, "CLOSE"),
    ]


def test_what_comes_between_the_open_and_a_setattr_counts() -> None:
    (pair,) = told([*at_once(1, 1), *at_once(11, 2), opened(21, 3), opened(22, 4, "NONE")])
    assert (pair.client, pair.server, pair.granted) == ("10.0.0.2", "10.0.0.1", 3)
    assert (pair.returned.calls, pair.returned.frames) == (2, (5, 25))
    assert pair.returned.time_s == pytest.approx(0.008)


@pytest.mark.parametrize(
    "other",
    [
        [opened(11, 2, mode=None), step(12, 2, "DELEGRETURN"), step(13, 2, "SETATTR")],
        [opened(11, 2, "WRITE"), step(12, 2, "DELEGRETURN"), step(13, 2, "SETATTR")],
        [opened(11, 2), step(12, 2, "DELEGRETURN"), step(13, 2, "REMOVE")],
        [opened(11, 2), step(12, 2, "DELEGRETURN")],
        [opened(11, 2), step(12, 2, "DELEGRETURN", status=10025), step(13, 2, "SETATTR")],
        [opened(11, 2), step(12, 2, "DELEGRETURN", None), step(13, 2, "SETATTR")],
        [opened(11, 2), step(112, 2, "DELEGRETURN"), step(113, 2, "SETATTR")],
        [opened(11, 2), step(12, 2, "DELEGRETURN"), step(113, 2, "SETATTR")],
        [opened(11, 2), step(12, 2, "READ"), step(13, 2, "DELEGRETURN"), step(14, 2, "SETATTR")],
        [opened(11, 2), step(12, 2, "CLOSE"), step(13, 2, "DELEGRETURN"), step(14, 2, "SETATTR")],
        [
            opened(11, 2),
            step(12, 2, "CB_RECALL"),
            step(13, 2, "DELEGRETURN"),
            step(14, 2, "SETATTR"),
        ],
    ],
    ids=[
        "no new file",
        "a write delegation",
        "before REMOVE",
        "at an unmount",
        "failed",
        "without reply",
        "held",
        "for something later",
        "used",
        "closed",
        "called back",
    ],
)
def test_anything_else_does_not(other: list[Step]) -> None:
    (pair,) = told([*at_once(1, 1), *other])
    assert (pair.granted, pair.returned.calls) == (2, 1)
    assert told(other) == ()


def test_what_one_stood_still_for_is_not_the_price_of_a_return() -> None:
    steps = [
        each
        for about in range(1, 6)
        for each in at_once(10 * about, about, 9.5 if about == 3 else 0.5)
    ]
    (pair,) = told(steps)
    assert pair.returned.calls == 5
    assert pair.returned.time_s == pytest.approx(4 * 0.0005 + 0.005)


def test_without_returns_there_is_nothing_to_tell() -> None:
    assert told([opened(1, 1)]) == ()
