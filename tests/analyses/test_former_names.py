"""Under which name calls met a file that had several."""

from __future__ import annotations

from pcapnfs.analyses.namespace import former_names
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [
    file(1, "d", "directory"),
    file(2, "e", "directory"),
    file(3, "e/new", parent=2, name="new"),
    file(4, "d/other", parent=1, name="other"),
]
NAMES = [
    {"call": 2, "position": 0, "directory": 1, "name": "old", "file": 3},
    {"call": 2, "position": 0, "directory": 1, "name": "other", "file": 4},
    {"call": 5, "position": 0, "directory": 1, "name": "old"},
    {"call": 5, "position": 0, "directory": 2, "name": "new", "file": 3},
]


def _former(*calls: Row, operations: tuple[Row, ...] = ()) -> list[tuple[object, ...]]:
    with trace_of(files=FILES, calls=calls, operations=operations, names=NAMES) as trace:
        former_names.register(trace)
        former_names.register(trace)
        return trace.sql(
            f"select call, directory, name from {former_names.TABLE} order by call"
        ).fetchall()


def test_a_call_on_a_file_that_was_renamed_met_it_by_the_name_of_that_time() -> None:
    calls = (
        call(3, "GETATTR", 1, file=3),
        call(4, "GETATTR", 1, file=4),  # had one name all the time
        call(5, "RENAME", 1, file=3, directory=1),
        call(6, "ACCESS", 1, file=3),
        call(7, "READ", 1, file=3),
        call(8, "GETATTR", None, file=3),
        call(9, "GETATTR", 1, file=3, callback=True),
    )
    assert _former(*calls) == [(3, 1, "old"), (6, 2, "new")]


def test_a_lookup_says_the_name_itself() -> None:
    found = call(6, "LOOKUP", 1, file=3, directory=1)
    looked_up = operation(6, "LOOKUP", file=3, directory=1, name="old")
    assert _former(found, operations=(looked_up,)) == [(6, 1, "old")]


def test_what_was_before_the_first_name_is_not_told() -> None:
    assert _former(call(1, "GETATTR", 1, file=3)) == []
