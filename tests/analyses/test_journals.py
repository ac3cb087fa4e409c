"""Journals of databases that are made and removed again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.journals import Journals, journals
from tests.unit.rows import Row, call, file, operation, trace_of


def transaction(number: int, about: int, **changes: object) -> list[list[Row]]:
    """A journal is made, written, and removed: calls of 3, 2 and 4 ms."""
    return [
        [
            call(number, "CREATE", 3, file=about, stability="stable"),
            operation(number, "CREATE", file=about, create_mode=0, **changes),
        ],
        [
            call(number + 1, "WRITE", 2, file=about, stability="stable"),
            operation(number + 1, "WRITE", file=about),
        ],
        [
            call(number + 2, "REMOVE", 4, file=about, stability="stable"),
            operation(number + 2, "REMOVE", file=about),
        ],
    ]


def found(names: list[str], *, removed: bool = True) -> tuple[Journals, ...]:
    """What is told of files with these names, one transaction each."""
    steps = [
        step for place, _ in enumerate(names) for step in transaction(1 + 3 * place, place + 1)
    ]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    files = [
        file(place + 1, f"d/{name}", name=name, parent=99, removed=removed)
        for place, name in enumerate(names)
    ]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        return journals(trace)


def test_what_is_made_and_removed_counts_by_name() -> None:
    (pair,) = found(["b-journal", "a-journal", "b-journal", "other"])
    assert (pair.made, pair.databases, pair.most, pair.calls) == (3, 2, "d/b-journal", 9)
    assert pair.time_s == pytest.approx(0.027)
    assert pair.frames == (1, 3, 5, 7, 9)


def test_only_what_is_named_so_and_removed() -> None:
    assert found(["journal", "-journal", "a-journal2", "a-wal"]) == ()
    assert found(["a-journal"], removed=False) == ()


def test_what_was_there_before_is_not_made() -> None:
    steps = transaction(1, 1, created=False)
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    files = [file(1, "a-journal", name="a-journal", removed=True)]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        assert journals(trace) == ()


def test_a_handle_that_is_given_again_is_another_journal() -> None:
    steps = [*transaction(1, 1), *transaction(4, 1)]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    files = [file(1, "a-journal", name="a-journal", removed=True)]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (pair,) = journals(trace)
    assert (pair.made, pair.databases, pair.calls) == (2, 1, 6)
