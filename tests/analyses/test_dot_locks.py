"""Locks that are taken by making a name, and given back by removing it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.locks.dot_locks import OFTEN, DotLocks, dot_locks
from tests.unit.rows import Row, call, file, operation, trace_of

EXCLUSIVE = 2

Step = tuple[str, str | None, int]
"""An operation, the name that it is about, and the file."""


def found(
    steps: Sequence[Step], *, removed: bool = True, changes: Row | None = None, version: int = 3
) -> tuple[DotLocks, ...]:
    """What is told of these steps, each of 2 ms."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, (op, name, about) in enumerate(steps, 1):
        row = "unstable" if op == "CLOSE" else "stable"
        made = {"create_mode": EXCLUSIVE, "created": True} if op == "OPEN" else {}
        of = {"directory": 9, "name": name} if name else {}
        calls.append(call(number, op, 2, file=about, stability=row, version=version))
        operations.append(operation(number, op, file=about, **{**of, **made, **(changes or {})}))
    files = [
        file(number, f"d/{number}", parent=9, removed=removed)
        for number in sorted({about for *_, about in steps})
    ]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        return dot_locks(trace)


def linked(number: int) -> list[Step]:
    """A lock by a link, as mail programs take it."""
    own = f"box.lock.{number}"
    return [
        ("OPEN", own, number),
        ("CLOSE", None, number),
        ("LINK", "box.lock", number),
        ("REMOVE", own, number),
        ("WRITE", None, 99),
        ("REMOVE", "box.lock", number),
    ]


def often(of: list[Step]) -> list[Step]:
    """The same steps again and again."""
    return of * OFTEN


def test_a_lock_is_all_that_is_done_to_the_file_by_any_of_its_names() -> None:
    steps = [step for number in range(1, OFTEN + 1) for step in linked(number)]
    (pair,) = found(steps)
    assert (pair.client, pair.server) == ("10.0.0.2", "10.0.0.1")
    assert (pair.taken, pair.names, pair.most, pair.calls) == (OFTEN, 1, "box.lock", 5 * OFTEN)
    assert dict(pair.time_s) == {
        "stable": pytest.approx(0.008 * OFTEN),
        "unstable": pytest.approx(0.002 * OFTEN),
    }
    assert pair.frames == (1, 3, 5, 7, 11)


@pytest.mark.parametrize("make", ["LINK", "SYMLINK", "MKDIR", "OPEN"])
def test_what_fails_where_the_name_is_there_is_a_lock(make: str) -> None:
    remove = "RMDIR" if make == "MKDIR" else "REMOVE"
    steps = often([(make, "lock", 1), (remove, "lock", 1)])
    (pair,) = found(steps)
    assert (pair.taken, pair.most) == (OFTEN, "lock")
    assert found(steps[:-1]) == ()


@pytest.mark.parametrize(("column", "value"), [("create_mode", 0), ("created", False)])
def test_who_may_find_the_file_there_has_no_lock(column: str, value: object) -> None:
    steps = often([("OPEN", "lock", 1), ("REMOVE", "lock", 1)])
    assert found(steps, changes={column: value}) == ()


@pytest.mark.parametrize(("version", "told"), [(2, False), (3, False), (4, True)])
def test_only_that_of_nfsv4_has_no_mode_and_is_exclusive(version: int, told: bool) -> None:
    """NFSv2 makes what there is anew; of NFSv3 the mode was cut off."""
    steps = often([("CREATE", "lock", 1), ("REMOVE", "lock", 1)])
    assert bool(found(steps, changes={"created": True}, version=version)) is told


def test_other_names_and_files_that_stay_are_none() -> None:
    apart = [
        step
        for number in range(OFTEN)
        for step in ((("OPEN", f"tmp{number}", 1)), ("REMOVE", f"tmp{number}", 1))
    ]
    assert found(apart) == ()
    replaced = often([("OPEN", "index.lock", 1), ("RENAME", "index.lock", 1)])
    assert found(replaced) == ()
    # What holds the data has the lock's name for a while.
    (pair,) = found(often([("LINK", "lock", 1), ("REMOVE", "lock", 1)]), removed=False)
    assert (pair.taken, pair.calls, pair.time_s) == (OFTEN, 0, ())
