"""What a server did not let users open."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.withheld_rights import WithheldRights, withheld_rights
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(1, "a"), file(2, "b")]

ASKED = 0x2D
"""What Linux asks of a file: to read, to change, to extend and to execute."""


def ask(
    number: int, granted: int | None = 0, rights: int = ASKED, about: int = 1, **columns: object
) -> list[Row]:
    """An ACCESS by user 0."""
    row = call(number, "ACCESS", 2, **{"uid": 0, "file": about} | columns)
    asked = operation(number, "ACCESS", file=about, access_requested=rights, access_granted=granted)
    return [row, asked]


def move(number: int, op: str, uid: int = 0, about: int = 1) -> list[Row]:
    """A READ or WRITE."""
    return [call(number, op, 2, uid=uid, file=about), operation(number, op, file=about)]


def found(*steps: list[Row]) -> tuple[WithheldRights, ...]:
    """What there is to tell of these calls."""
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        return withheld_rights(trace)


def test_who_is_granted_nothing_and_reads_nothing_is_refused() -> None:
    (pair,) = found(ask(1), ask(2, about=2), ask(3, uid=7), ask(4))
    assert pair == WithheldRights(
        client="10.0.0.2",
        server="10.0.0.1",
        calls=4,
        files=2,
        users=(0, 7),
        paths=("a", "b"),
        frames=(1, 3, 5, 7),
    )


@pytest.mark.parametrize(
    ("granted", "rights"),
    [
        (0x01, ASKED),
        (0x0C, ASKED),  # a log that all may write to
        (0x20, ASKED),  # a program that all may run
        (0x02, 0x1F),  # a directory that all may pass through
        (0x00, 0x20),  # programs are looked for
        (None, ASKED),
    ],
)
def test_less_than_was_asked_for_is_usual(granted: int | None, rights: int) -> None:
    assert found(ask(1, granted, rights)) == ()


@pytest.mark.parametrize("op", ["READ", "WRITE"])
def test_who_moves_data_of_the_file_then_had_it_open(op: str) -> None:
    """Who made a file of mode 0 may; but others, or before, are no sign of it."""
    assert found(ask(1), move(2, op)) == ()
    for other in (move(3, op, uid=7), move(3, op, about=2), move(1, op)):
        assert [pair.calls for pair in found(ask(2), other)] == [1]


def test_users_who_are_not_known_are_left_out() -> None:
    assert found(ask(1, uid=None)) == ()
