"""Files that were opened again where no delegation was granted."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.opened_again import OpenedAgain, opened_again
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(number, f"f{number}") for number in range(1, 12)]

Step = list[Row]


def step(number: int, op: str, about: int, minor: int = 1, **told: object) -> Step:
    """A call of 4 ms about a file."""
    return [
        call(number, op, 4, file=about, version=4, minor=minor, status=0),
        operation(number, op, file=about, status=0, **told),
    ]


def opened(number: int, about: int, minor: int = 1, **told: object) -> Step:
    answer = {"delegation": "NONE", "share_access": 1, "change": 100, **told}
    return step(number, "OPEN", about, minor, **answer)


def rounds(
    *others: Step, minor: int = 1, opens: int = 20, change: int | None = 100
) -> tuple[OpenedAgain, ...]:
    """Ten files, opened and closed one after the other, so often, and what else there was."""
    steps = [
        each
        for number in range(opens)
        for each in (
            opened(2 * number + 1, number % 10 + 1, minor, change=change),
            step(2 * number + 2, "CLOSE", number % 10 + 1, minor),
        )
    ]
    calls, operations = ([each[place] for each in (*steps, *others)] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        return opened_again(trace)


def test_the_first_open_of_each_file_is_needed() -> None:
    (pair,) = rounds()
    assert (pair.client, pair.server, pair.calls) == ("10.0.0.2", "10.0.0.1", 40)
    assert (pair.opens, pair.files, pair.again) == (20, 10, 10)
    assert (pair.spared.calls, pair.spared.frames[:2]) == (20, (41, 43))
    assert pair.spared.time_s == pytest.approx(0.08)
    assert not pair.called_back_apart
    assert pair.span_s == pytest.approx(0.38)
    assert rounds(minor=0)[0].called_back_apart


@pytest.mark.parametrize(
    "other",
    [
        opened(41, 1, share_access=3),
        opened(41, 1, create_mode=0),
        opened(41, 1, change=101),
        step(41, "WRITE", 1),
        step(41, "SETATTR", 1),
        step(41, "SETXATTR", 1),
    ],
    ids=["to write", "made", "changed by somebody", "written", "set", "given an attribute"],
)
def test_of_a_file_that_changes_nobody_gets_a_delegation(other: Step) -> None:
    (pair,) = rounds(other)
    assert (pair.files, pair.again, pair.spared.calls) == (9, 9, 18)


def test_of_files_whose_change_is_never_told_it_is_not_known_whether_they_changed() -> None:
    assert rounds(change=None) == ()
    # What one answer lacks, others tell.
    (pair,) = rounds(opened(41, 1, change=None))
    assert (pair.files, pair.again) == (10, 11)


@pytest.mark.parametrize("delegation", ["NONE_EXT", None])
def test_where_the_server_does_not_say_what_it_does_nothing_is_told(
    delegation: str | None,
) -> None:
    assert rounds(opened(41, 11, delegation=delegation)) == ()


@pytest.mark.parametrize("delegation", ["READ", "WRITE"])
def test_what_was_opened_again_counts_up_to_the_first_delegation(delegation: str) -> None:
    """Whatever is granted, or opened, from then on."""
    granted = opened(41, 1, delegation=delegation)
    (pair,) = rounds(granted, step(42, "CLOSE", 2), opened(43, 2), opened(44, 3, delegation=None))
    (before,) = rounds()
    assert (pair.opens, pair.later, before.later) == (20, 3, 0)
    assert (pair.files, pair.again, pair.spared.calls) == (10, 10, 20)
    assert pair.span_s == before.span_s


def test_a_few_opens_before_it_are_not_told() -> None:
    assert rounds(opened(39, 11, delegation="READ"), opens=19) == ()
    assert rounds(opened(41, 11, delegation="READ")) != ()
