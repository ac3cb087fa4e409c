"""Programs that take turns at few calls at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.wire.turns import MOST_BETWEEN, Turns, turns
from tests.unit.rows import Row, call, trace_of

STEPS = ("LOOKUP", "ACCESS", "READ")
"""What a program does with each file."""


def in_turn(programs: int, *, most: int, files: int = 10) -> list[Row]:
    """Programs that go over files of their own, of whose calls only so many are under way at once.

    Each call takes a tenth of a millisecond less than it takes until the next ones may go.
    """
    queue = [
        (step, 100 * (1 + program) + number)
        for number in range(files)
        for step in STEPS
        for program in range(programs)
    ]
    calls: list[Row] = []
    for place, (step, about) in enumerate(queue):
        begun = call(1 + place // most, step, 9.9, file=about)
        calls.append({**begun, "call": 1 + place})
    return calls


def told(calls: Sequence[Row], most: int = 2) -> Turns | None:
    with trace_of(calls=[{"mount": 0, **each} for each in calls]) as trace:
        return turns(trace, [0], most)


def test_who_waits_lets_the_others_go_first() -> None:
    # Of eight programs two go at once: six others come before the next of the same.
    assert told(in_turn(8, most=2)) == Turns(calls=80, soon=0, between=6.0)


def test_who_need_not_wait_goes_on_at_once() -> None:
    found = told(in_turn(2, most=2))
    assert found is not None
    assert (found.calls, found.soon) == (20, 20)
    assert found.between < 2


def test_who_opens_two_files_before_it_reads_both_has_few_before_half_of_its_calls() -> None:
    """As diff: of four at once, each opens two files and reads them; they take the same pace."""
    steps = (("ACCESS", 1), ("ACCESS", 2), ("READ", 1), ("READ", 2))
    calls: list[Row] = []
    for number in range(10):
        for place, (op, which) in enumerate(steps):
            for program in range(4):
                about = 100 * program + 2 * number + which
                begun = call(1 + number * 4 + place, op, 9.9, file=about)
                calls.append({**begun, "call": 1 + len(calls)})
    # One round of the four comes between the ACCESS and the READ of each file.
    assert told(calls, most=4) == Turns(calls=80, soon=80, between=4.0)


def test_files_that_were_gone_over_before_show_nothing() -> None:
    """A single program that looks at many files, and reads them later."""
    many = 2 * MOST_BETWEEN + 2
    looked = [call(1 + number, "GETATTR", 9, file=number) for number in range(many)]
    read = [call(1 + many + number, "READ", 9, file=number) for number in range(many)]
    assert told([*looked, *read]) is None
    assert told([*looked[2:], *read[2:]]) == Turns(calls=32, soon=0, between=31.0)


@pytest.mark.parametrize(
    ("before", "then", "counts"),
    [
        ("OPEN", "READ", True),
        ("CREATE", "SETATTR", True),
        ("READ", "READ", False),
        ("GETATTR", "SETATTR", False),
        ("OPEN", "WRITE", False),
        ("WRITE", "COMMIT", False),
    ],
)
def test_only_what_a_program_does_without_a_pause_counts(
    before: str, then: str, *, counts: bool
) -> None:
    calls = [call(1, before, 1, file=1), call(2, then, 1, file=1)]
    assert (told(calls) is not None) is counts


def test_what_was_sent_before_the_answer_followed_nothing() -> None:
    assert told([call(1, "OPEN", 11, file=1), call(2, "READ", 1, file=1)]) is None


def test_calls_of_others_show_nothing() -> None:
    elsewhere = [{**each, "mount": 1} for each in in_turn(8, most=2)]
    assert told(elsewhere) is None
