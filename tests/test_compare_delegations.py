"""What is told of delegations that a server grants in one run, and not in the other."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest

from pcapnfs.comparison import habits
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.changed_delegations import delegations
from pcapnfs.comparison.comparing import of_sides
from pcapnfs.comparison.side import Side, gather
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.unit.rows import Row, call, operation, trace_of

DISK, OTHER = "10.0.0.3", "10.0.0.4"

Kinds = Mapping[str, tuple[int, int]]
"""Calls by what a delegation is for, and how many got one."""

READING, WRITING, BOTH = 1, 2, 3
"""What share_access asks for."""

OPENED = {"reading": (READING,), "writing": (WRITING, BOTH)}


def trace(clients: Mapping[str, Kinds], **columns: object) -> Trace:
    """Calls of which the first so many of each kind got a delegation."""
    calls: list[Row] = []
    operations: list[Row] = []
    for client, kinds in clients.items():
        for purpose, (asked, granted) in kinds.items():
            for turn in range(asked):
                number = len(calls) + 1
                op = "OPEN" if purpose in OPENED else "GET_DIR_DELEGATION"
                given: Row = {"delegation": "READ" if purpose != "writing" else "WRITE_ATTRS"}
                if turn >= granted:
                    given = {"delegation": "NONE_EXT"}
                if purpose in OPENED:
                    access = OPENED[purpose]
                    given = {**given, "share_access": access[turn % len(access)]}
                row = call(number, op, 1, client=client, version=4, minor=2, protocol="4.2")
                calls.append({**row, "connection": 0})
                operations.append({**operation(number, op, **given), **columns})
    return trace_of(calls=calls, operations=operations, connections=[{"transport": "TCP"}])


@functools.cache
def alone() -> Side:
    """A client without a call."""
    with trace({}) as nothing:
        return gather(nothing)


def side(kinds: Kinds, **columns: object) -> Side:
    """The same with the habits of calls like these."""
    with trace({DISK: kinds}, **columns) as run:
        return replace(alone(), habits=habits.together(habits.by_client(run).values()))


def told(before: Side, after: Side) -> list[Cause]:
    return list(delegations(before, after))


@pytest.mark.parametrize(
    ("purpose", "words", "calls"),
    [
        ("reading", "for files opened to read", "OPENs to read"),
        ("writing", "for files opened to write", "OPENs to write"),
        ("directories", "for directories", "GET_DIR_DELEGATIONs"),
    ],
)
def test_what_is_granted_in_one_run_alone_is_told(purpose: str, words: str, calls: str) -> None:
    without, some = (side({purpose: (20, granted)}) for granted in (1, 12))
    (cause,) = told(without, some)
    assert (cause.before, cause.after) == ("none granted", words)
    assert cause.confidence == "certain"
    assert cause.evidence == f"1 of 20 {calls} got one before, 12 of 20 after"
    (back,) = told(some, without)
    assert (back.before, back.after) == (words, "none granted")
    assert told(some, some) == told(without, without) == []


def test_what_is_granted_in_both_stands_beside_what_came() -> None:
    before = side({"reading": (10, 10), "writing": (10, 0), "directories": (10, 0)})
    after = side({"reading": (10, 9), "writing": (10, 10), "directories": (10, 3)})
    (cause,) = told(before, after)
    assert cause.before == "for files opened to read"
    assert cause.after == "for files opened to read, files opened to write and directories"
    assert cause.evidence == (
        "0 of 10 OPENs to write got one before, 10 of 10 after; "
        "0 of 10 GET_DIR_DELEGATIONs got one before, 3 of 10 after"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"writing": (9, 0)}, {"writing": (9, 9)}, id="few"),
        pytest.param({"writing": (20, 2)}, {"writing": (20, 20)}, id="now and then"),
        pytest.param({"writing": (20, 0)}, {"writing": (20, 4)}, id="hardly more"),
        pytest.param({"reading": (20, 0)}, {"writing": (20, 20)}, id="of other files"),
        pytest.param({"writing": (20, 20)}, {"reading": (20, 20)}, id="of other files, always"),
    ],
)
def test_what_a_side_does_not_tell_is_not(before: Kinds, after: Kinds) -> None:
    assert told(side(before), side(after)) == []


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"status": 10008}, id="refused"),
        pytest.param({"status": None}, id="without reply"),
        pytest.param({"delegation": None}, id="cut before it"),
        pytest.param({"share_access": None}, id="not known what for"),
    ],
)
def test_opens_that_do_not_tell_count_for_nothing(columns: dict[str, object]) -> None:
    without, some = side({"writing": (20, 0)}), {"writing": (20, 20)}
    assert told(without, side(some)) != []
    assert told(without, side(some, **columns)) == []


def test_what_changed_for_one_client_is_told_of_it() -> None:
    """All together the other one opens more without."""
    sides = []
    for granted in (0, 20):
        with trace({DISK: {"writing": (20, 0)}, OTHER: {"writing": (20, granted)}}) as run:
            sides.append(gather(run))
    (cause,) = [each for each in of_sides(*sides).causes if each.subject == "delegations"]
    assert cause.clients == (OTHER,)
    assert cause.evidence == "0 of 20 OPENs to write got one before, 20 of 20 after"
