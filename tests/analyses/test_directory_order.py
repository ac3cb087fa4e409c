"""Changes of one directory that wait for one another."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.directory_order import DirectoryOrder, directory_order
from pcapnfs.analyses.namespace.exclusive_creates import EXCLUSIVE
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

MANY = 60
"""Files that are made."""


def made(
    *,
    between_ms: float = 0,
    beside: bool = True,
    together: bool = False,
    delegation: str | None = None,
    directories: int = 1,
    lookups: tuple[int, ...] = (),
    later_ms: float = 0.1,
) -> tuple[DirectoryOrder, ...]:
    """What is told of files that are made one after the other, the next as soon as one is there.

    Args:
        between_ms: What the client takes between two of them.
        beside: The file before is looked at by another program meanwhile.
        together: Two of them overlap.
        delegation: What each came with.
        directories: So many of them, in turn.
        lookups: How many names are looked up there as each of the first files is made.
        later_ms: How long after that.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    for number, names in enumerate(lookups, 1):
        for _ in range(names):
            own = 5000 + len(calls)
            sent = START_NS + int(((number + 1) * 10 + later_ms) * MILLISECOND)
            times = {"call_first_time": sent, "call_time": sent, "reply_time": sent + MILLISECOND}
            calls.append({**call(number, "LOOKUP", 1), **times, "call": own})
            operations.append(operation(own, "LOOKUP", directory=1))
    for number in range(1, MANY + 1):
        takes = 11 if together and number == 1 else 10 - between_ms
        calls.append(call(number, "CREATE", takes, file=1000 + number, stability="stable"))
        operations.append(
            operation(
                number,
                "CREATE",
                directory=1 + number % directories,
                created=True,
                delegation=delegation,
            )
        )
        if beside:
            look = call(number, "GETATTR", 2, file=999 + number)
            calls.append({**look, "call": 1000 + number})
    files = [file(1, "spool", "directory"), file(2, "other", "directory")]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        return directory_order(trace)


def test_what_is_sent_as_soon_as_another_one_is_done_had_waited() -> None:
    (found,) = made()
    assert (found.client, found.server) == ("10.0.0.2", "10.0.0.1")
    assert (found.directories, found.changes) == (1, MANY)
    assert (found.handed_over, found.followed) == (MANY - 1, MANY - 1)
    # Beside each there is another call for two of its ten milliseconds.
    assert dict(found.waited_s) == pytest.approx({"stable": 0.009 * (MANY - 1)})
    assert found.places == ("spool",)
    assert found.frames[0] == 3


def test_what_comes_a_while_later_is_the_programs_pace() -> None:
    assert made(between_ms=1.1) == ()


def test_a_program_that_works_by_itself_has_nothing_else_under_way() -> None:
    assert made(beside=False) == ()


def test_a_client_that_sends_several_at_once_has_no_such_order() -> None:
    assert made(together=True) == ()


@pytest.mark.parametrize(
    ("lookups", "programs"),
    [((7, 1, 6, 6, 1, 4, 2), 6), ((7, 6, 6, 6), 2), ((1, 1, 1, 1, 1, 1), 2), ((), 2)],
)
def test_names_looked_up_at_once_as_a_change_is_answered_show_how_many_wait(
    lookups: tuple[int, ...], programs: int
) -> None:
    (found,) = made(lookups=lookups)
    assert found.programs == programs


def test_names_looked_up_a_while_later_show_nothing() -> None:
    (found,) = made(lookups=(6,) * 6, later_ms=1.1)
    assert found.programs == 2


def removed(*, ahead: int, asked_from: int = 1) -> tuple[DirectoryOrder, ...]:
    """What is told of files that are removed one after the other, each asked for before.

    Args:
        ahead: So many removals before its own each file is asked for.
        asked_from: The first that is asked for: of those before it attributes are known.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    for number in range(1, MANY + 1):
        calls.append(call(number, "REMOVE", 10, file=1000 + number, stability="stable"))
        operations.append(operation(number, "REMOVE", directory=1))
        if number + ahead >= asked_from:
            look = call(number, "GETATTR", 2, file=1000 + number + ahead)
            calls.append({**look, "call": 1000 + number})
    with trace_of(calls=calls, operations=operations, files=[file(1, "s", "directory")]) as trace:
        return directory_order(trace)


def test_a_file_asked_for_before_others_are_removed_is_of_a_program_that_waits() -> None:
    (found,) = removed(ahead=3)
    # The last three are asked for, but never removed.
    assert (found.handed_over, found.followed) == (MANY - 4, MANY - 1)


def test_those_before_which_nothing_is_asked_waited_as_well() -> None:
    (found,) = removed(ahead=3, asked_from=24)
    assert (found.handed_over, found.followed) == (37, MANY - 1)
    beside = 0.009 * 40
    assert dict(found.waited_s) == pytest.approx({"stable": beside + 0.010 * 19})


def test_a_program_that_removes_files_while_others_work_elsewhere_waits_for_none() -> None:
    """As rm -r beside others in directories of their own."""
    assert removed(ahead=MANY) == ()


@pytest.mark.parametrize(("ahead", "told"), [(16, True), (17, False)])
def test_who_looks_far_ahead_does_not_wait_there(ahead: int, *, told: bool) -> None:
    assert bool(removed(ahead=ahead)) is told


def test_a_file_with_a_delegation_for_writing_need_not_be_written_at_once() -> None:
    assert made(delegation="WRITE") == ()
    assert made(delegation="READ")


def test_changes_of_different_directories_do_not_wait() -> None:
    """Each takes turns with the other one: between two of the same there is one of the other."""
    assert made(directories=2) == ()


def made_exclusively(
    *, next_beside: bool = False, same_program: bool = False
) -> tuple[DirectoryOrder, ...]:
    """What is told of exclusive creates, each followed by its SETATTR.

    Args:
        next_beside: Another create is sent as soon as that is answered, beside the SETATTR; else
            when the SETATTR is answered, while the file before is written.
        same_program: The file itself is written first, and no other is beside it.
    """
    takes = 9 if next_beside else 4
    calls: list[Row] = []
    operations: list[Row] = []
    for number in range(1, MANY + 1):
        about = 1000 + number
        calls.append(call(number, "CREATE", takes, file=about, stability="stable"))
        operations.append(
            operation(number, "CREATE", directory=1, create_mode=EXCLUSIVE, created=True)
        )
        calls.append(later(1000 + number, "SETATTR", takes, 3 if same_program else 6, about))
        written = about if same_program else about - 1
        calls.append(later(2000 + number, "WRITE", 7 if same_program else 1, 2.5, written))
    with trace_of(calls=calls, operations=operations, files=[file(1, "t", "directory")]) as trace:
        return directory_order(trace)


def later(number: int, op: str, after_ms: int, takes_ms: float, about: int) -> Row:
    """A call that is sent so long after the create of the same thousandth."""
    sent = START_NS + (number % 1000 * 10 + after_ms) * MILLISECOND
    done = sent + int(takes_ms * MILLISECOND)
    times = {"call_first_time": sent, "call_time": sent, "reply_time": done}
    return {**call(number, op, takes_ms, file=about, stability="stable"), **times}


def test_an_exclusive_create_is_done_when_its_setattr_is_answered() -> None:
    (found,) = made_exclusively()
    assert (found.changes, found.handed_over, found.followed) == (MANY, MANY - 1, MANY - 1)
    # Four milliseconds and six, 2.5 of which are shared with a WRITE.
    assert dict(found.waited_s) == pytest.approx({"stable": 0.00875 * (MANY - 1)})


def test_a_program_that_makes_files_exclusively_by_itself_waits_for_none() -> None:
    assert made_exclusively(same_program=True) == ()


def test_where_the_next_is_sent_beside_a_setattr_the_create_itself_is_what_it_waited_for() -> None:
    (found,) = made_exclusively(next_beside=True)
    assert found.followed == MANY - 1
