"""Moves between directories that wait for one another."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.move_order import MoveOrder, move_order
from tests.unit.rows import Row, call, file, operation, trace_of

MANY = 60
"""Files that are moved."""


def moved(
    *,
    between_ms: float = 0,
    beside: bool = True,
    together: bool = False,
    delegation: str | None = None,
    ahead: int = 1,
    routes: int = 1,
    systems: int = 1,
    within: bool = False,
    files: int = MANY,
) -> tuple[MoveOrder, ...]:
    """What is told of files that are moved one after the other, the next as soon as one is there.

    Args:
        between_ms: What the client takes between two of them.
        beside: Another file that is moved later is written meanwhile.
        together: Two of them overlap.
        delegation: What each came with.
        ahead: So many moves before its own each file is written.
        routes: So many pairs of directories, in turn.
        systems: So many file systems hold them, in turn.
        within: The new name is in the same directory.
        files: How many.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    for number in range(1, files + 1):
        takes = 11 if together and number == 1 else 10 - between_ms
        calls.append(call(number, "RENAME", takes, file=1000 + number, stability="stable"))
        source = 1 + number % max(routes, systems)
        target = source if within else 101 + number % routes
        operations.append(
            operation(
                number, "RENAME", file=1000 + number, directory=source, target_directory=target
            )
        )
        if delegation:
            operations.append(
                operation(2000 + number, "OPEN", file=1000 + number, delegation=delegation)
            )
        if beside:
            other = call(number, "WRITE", 2, file=1000 + number + ahead)
            calls.append({**other, "call": 1000 + number})
    directories = [
        file(
            number + side,
            f"{'to' if side else 'from'}{number}",
            "directory",
            fsid_major=8,
            fsid_minor=number % systems,
        )
        for side in (0, 100)
        for number in range(1, 1 + max(routes, systems))
    ]
    with trace_of(calls=calls, operations=operations, files=directories) as trace:
        return move_order(trace)


def test_what_is_sent_as_soon_as_another_one_is_done_had_waited() -> None:
    (found,) = moved()
    assert (found.client, found.server, found.moves) == ("10.0.0.2", "10.0.0.1", MANY)
    # The last one is beside a file that is never moved.
    assert (found.handed_over, found.followed) == (MANY - 2, MANY - 1)
    # Beside each there is another call for two of its ten milliseconds.
    assert dict(found.waited_s) == pytest.approx({"stable": 0.009 * (MANY - 1)})
    assert found.pairs == 1
    (route,) = found.routes
    assert (route.source, route.target, route.moves) == ("from1", "to1", MANY - 1)
    assert route.time_s == pytest.approx(0.009 * (MANY - 1))
    assert found.frames[0] == 3


def test_whichever_directories_they_are_between_all_of_a_file_system_wait() -> None:
    (found,) = moved(routes=5)
    assert (found.followed, found.pairs, len(found.routes)) == (MANY - 1, 5, 3)
    # The first move, from the second directory, waited for none.
    assert [(route.source, route.moves) for route in found.routes] == [
        ("from1", 12),
        ("from3", 12),
        ("from4", 12),
    ]


def test_the_costliest_pairs_come_first() -> None:
    (found,) = moved(routes=2)
    assert [route.time_s for route in found.routes] == sorted(
        (route.time_s for route in found.routes), reverse=True
    )
    assert (found.routes[0].source, found.routes[0].moves) == ("from1", 30)


def test_a_program_that_works_by_itself_has_nothing_else_under_way() -> None:
    assert moved(beside=False) == ()


def test_what_comes_a_while_later_is_the_programs_pace() -> None:
    assert moved(between_ms=1.1) == ()


def test_a_client_that_sends_several_at_once_has_no_such_order() -> None:
    assert moved(together=True) == ()


def test_renames_within_a_directory_are_no_moves() -> None:
    assert moved(within=True) == ()


def test_moves_in_different_file_systems_do_not_wait() -> None:
    """Each takes turns with the other one: between two of the same there is one of the other."""
    assert moved(systems=2, files=2 * MANY) == ()


def test_a_file_with_a_delegation_for_writing_need_not_be_written_at_once() -> None:
    assert moved(delegation="WRITE") == ()
    assert moved(delegation="READ")


def test_files_that_are_moved_much_later_show_nothing() -> None:
    assert moved(ahead=16)
    assert moved(ahead=17) == ()


def test_few_moves_tell_nothing() -> None:
    assert moved(files=29) == ()
    # Of thirty-two, thirty have another one before them and a file beside that is moved.
    assert moved(files=32)
    assert moved(files=31) == ()
