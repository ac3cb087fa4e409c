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
from tests.unit.rows import MILLISECOND, START_NS, Row, call, operation, trace_of

DISK, OTHER = "10.0.0.3", "10.0.0.4"

Kinds = Mapping[str, tuple[int, int]]
"""Calls by what a delegation is for, and how many got one."""

READING, WRITING, BOTH = 1, 2, 3
"""What share_access asks for."""

OPENED = {"reading": (READING,), "writing": (WRITING, BOTH)}


Ages = tuple[tuple[int, bool], ...]
"""When OPENs were sent, ms after the client's first call, and whether each got a delegation."""


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


def opened(*ages: tuple[int, bool], share_access: int = WRITING) -> Side:
    """The same with the habits of a client that opens files at these ages."""
    calls: list[Row] = [_at(1, "GETATTR", 0)]
    operations: list[Row] = []
    for age, granted in ages:
        number = len(calls) + 1
        calls.append(_at(number, "OPEN", age))
        given: Row = {"delegation": "WRITE" if granted else "NONE_EXT"}
        operations.append(operation(number, "OPEN", share_access=share_access, **given))
    with trace_of(calls=calls, operations=operations, connections=[{"transport": "TCP"}]) as run:
        return replace(alone(), habits=habits.together(habits.by_client(run).values()))


def _at(number: int, op: str, age: int) -> Row:
    sent = START_NS + age * MILLISECOND
    return {
        **call(number, op, 1, client=DISK, version=4, minor=2, protocol="4.2"),
        "call_first_time": sent,
        "call_time": sent,
        "connection": 0,
    }


def every(step: int, begin: int, end: int, granted: bool) -> Ages:
    """OPENs at regular ages."""
    return tuple((age, granted) for age in range(begin, end, step))


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


LATE: Ages = every(100, 100, 8_000, False) + every(100, 9_000, 30_000, True)
"""Files that a client opened for half a minute, the last 210 of which came with delegations."""


def test_of_a_run_that_was_over_before_the_other_got_any_it_is_the_age() -> None:
    """As of two runs right after the server's start."""
    slow, quick = opened(*LATE), opened(*every(10, 10, 3_000, False))
    (cause,) = told(slow, quick)
    assert (cause.before, cause.after) == (
        "for files opened to write, later in the run",
        "none granted so early",
    )
    assert cause.confidence == "possible"
    assert cause.evidence == (
        "210 of 289 OPENs to write got one before, 0 of 299 after; before, the first came 9.00 s "
        "after the client's first call; after, the last was asked for 2.99 s after it: a server "
        "that has just started grants none for a while, so that this may come from the length of "
        "the runs alone"
    )
    (back,) = told(quick, slow)
    assert (back.before, back.after, back.confidence) == (cause.after, cause.before, "possible")
    assert "got one before, 210 of 289 after; after, the first came 9.00 s" in back.evidence


@pytest.mark.parametrize(
    ("quick", "confidence"),
    [
        pytest.param(every(100, 100, 15_000, False), "certain", id="asked for long enough"),
        # The other had got one with 27 of its 106 calls by then …
        pytest.param(every(100, 100, 11_700, False), "certain", id="just long enough"),
        # … and with 26 of 105.
        pytest.param(every(100, 100, 11_600, False), "possible", id="hardly longer"),
        pytest.param(
            (*every(100, 100, 3_000, False), (20_000, False)), "possible", id="one file later"
        ),
        pytest.param(
            every(100, 9_500, 10_400, False) + every(100, 20_000, 20_100, False),
            "certain",
            id="enough later",
        ),
    ],
)
def test_files_are_held_against_those_of_the_same_age(quick: Ages, confidence: str) -> None:
    (cause,) = told(opened(*LATE), opened(*quick))
    assert cause.confidence == confidence


def test_of_a_short_run_that_got_them_at_once_it_is_not_the_age() -> None:
    quick, slow = opened(*every(10, 10, 500, True)), opened(*every(100, 100, 30_000, False))
    (cause,) = told(quick, slow)
    assert cause.confidence == "certain"


def test_what_comes_from_the_age_stands_apart_from_what_does_not() -> None:
    def both(reading: Ages, writing: Ages) -> Side:
        sides = opened(*reading, share_access=READING), opened(*writing)
        merged = {
            purpose: delegated
            for side in sides
            for purpose, delegated in side.habits.delegated.items()
        }
        return replace(sides[0], habits=replace(sides[0].habits, delegated=merged))

    slow = both(every(100, 100, 30_000, True), LATE)
    quick = both(every(10, 10, 3_000, False), every(10, 10, 3_000, False))
    certain, possible = told(slow, quick)
    assert (certain.confidence, certain.before) == ("certain", "for files opened to read")
    assert (possible.confidence, possible.before) == (
        "possible",
        "for files opened to write, later in the run",
    )


def test_what_is_asked_for_together_is_told_once() -> None:
    """A copy opens a file to read, and some milliseconds later one to write."""
    sides = []
    for ages in (LATE, every(10, 10, 3_000, False)):
        reading = opened(*ages, share_access=READING)
        writing = opened(*((age + 7, granted) for age, granted in ages))
        both = {**reading.habits.delegated, **writing.habits.delegated}
        sides.append(replace(reading, habits=replace(reading.habits, delegated=both)))
    (cause,) = told(*sides)
    assert cause.evidence.startswith(
        "210 of 289 OPENs to read got one before, 0 of 299 after; 210 of 289 OPENs to write got "
        "one before, 0 of 299 after; before, the first came 9.00 s after the client's first call; "
        "after, the last was asked for 3.00 s after it: a server"
    )


def test_those_that_the_length_of_runs_explains_stand_behind_what_made_one_longer() -> None:
    short = opened(*every(10, 100, 1000, False))
    long = opened(*every(100, 100, 5000, False), *every(100, 5000, 9000, True))
    assert [cause.confidence for cause in told(short, long)] == ["possible"]

    def behind(side: Side, rtt_s: float) -> Side:
        return replace(side, way=replace(side.way, rtt_s=rtt_s, floor_s=rtt_s, source="acks"))

    near, far = behind(short, 0.0005), behind(long, 0.005)
    found = [cause.subject for cause in of_sides(near, far).causes]
    assert found == ["network_rtt", "delegations"]
    # Those that the server grants for another reason are a setting, and stand before the network.
    always = behind(opened(*every(10, 100, 1000, True)), 0.005)
    found = [cause.subject for cause in of_sides(near, always).causes]
    assert found == ["delegations", "network_rtt"]
