"""Under which name calls met a file that had several."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

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


def _former(
    *calls: Row,
    operations: tuple[Row, ...] = (),
    names: Sequence[Row] = NAMES,
    entries: tuple[Row, ...] = (),
) -> list[tuple[object, ...]]:
    with trace_of(
        files=FILES, calls=calls, operations=operations, names=names, entries=entries
    ) as trace:
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


LINKED: list[Row] = [
    {"call": 2, "position": 0, "directory": 1, "name": "a", "file": 3},
    {"call": 4, "position": 0, "directory": 2, "name": "b", "file": 3},  # LINK
    {"call": 6, "position": 0, "directory": 2, "name": "b"},
    {"call": 6, "position": 0, "directory": 2, "name": "c", "file": 3},  # RENAME
    {"call": 8, "position": 0, "directory": 2, "name": "c"},  # REMOVE
]
LINK = operation(4, "LINK", file=3, directory=2)


def _asked(*moments: int) -> list[Row]:
    return [call(moment, "GETATTR", 1, file=3) for moment in moments]


def test_of_hard_links_it_is_the_latest_that_is_still_there() -> None:
    assert _former(*_asked(3, 5, 7, 9), operations=(LINK,), names=LINKED) == [
        (3, 1, "a"),
        (5, 2, "b"),
        (7, 2, "c"),
        (9, 1, "a"),
    ]


def test_of_hard_links_it_is_the_one_that_was_listed() -> None:
    listed = {"call": 3, "position": 0, "directory": 1, "name": "a", "file": 3}
    later = {"call": 8, "position": 0, "directory": 2, "name": "c", "file": 3}
    asked = _asked(5, 7, 9)
    for entries in ((listed,), (listed, later)):
        found = _former(*asked, operations=(LINK,), names=LINKED, entries=entries)
        assert found == [(moment, 1, "a") for moment in (5, 7, 9)]


@pytest.mark.parametrize("most", [3, 2])
def test_of_very_many_names_the_latest_counts(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_names, "MOST_NAMES", most)
    place = (1, "a") if most == 3 else (2, "c")
    assert _former(*_asked(9), operations=(LINK,), names=LINKED) == [(9, *place)]
