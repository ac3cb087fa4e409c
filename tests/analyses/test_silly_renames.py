"""Files renamed because they were open when they were removed."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.silly_renames import silly_renames
from tests.unit.rows import call, file, operation, trace_of

FILES = [file(1, ".", "directory"), file(2, "d/e", "directory")]
LINUX = ".nfs000000000000000c00000001"


def test_the_path_before_and_the_removal_after() -> None:
    calls = [
        call(1, "RENAME", 4, stability="stable"),
        call(2, "RENAME", 4, stability="stable"),
        call(3, "REMOVE", 1),
        call(4, "REMOVE", 1, client="10.0.0.3"),
        call(5, "RENAME", 4, status=2),
        call(6, "RENAME", 4),
    ]
    operations = [
        operation(1, "RENAME", directory=1, name="a", new_name=LINUX),
        operation(2, "RENAME", directory=2, target_directory=2, name="b", new_name=".nfsA4F3"),
        operation(3, "REMOVE", directory=1, name=LINUX),
        operation(4, "REMOVE", directory=2, name=".nfsA4F3"),
        operation(5, "RENAME", directory=1, name="c", new_name=".nfs1234", status=2),
        operation(6, "RENAME", directory=1, name="d", new_name=".nfsrc-old"),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = silly_renames(trace)
    assert (pair.client, pair.renames, pair.removed) == ("10.0.0.2", 2, 1)
    assert pair.longest_s == pytest.approx(0.02)
    assert (pair.paths, pair.left) == (("a", "d/e/b"), ("d/e/.nfsA4F3",))
    assert pair.time_s == pytest.approx(0.001)  # the REMOVE of a, which was the shorter
    assert pair.frames == (1, 3)


def test_other_names_are_nothing_to_tell() -> None:
    renamed = operation(1, "RENAME", directory=1, name="a", new_name="b")
    with trace_of(calls=[call(1, "RENAME", 4)], operations=[renamed], files=FILES) as trace:
        assert silly_renames(trace) == ()


def test_what_a_remove_does_not_need_is_counted_beside() -> None:
    """A LOOKUP for the name that the file gets, and a GETATTR if that is the file's next call."""
    calls = [
        call(1, "LOOKUP", 2, status=2, file=8),
        call(2, "RENAME", 4, file=5),
        call(3, "GETATTR", 3, file=5),
        call(4, "LOOKUP", 2, status=2, file=9),
        call(5, "RENAME", 4, file=6),
        call(6, "WRITE", 4, file=6),
        call(7, "GETATTR", 3, file=6),
        call(8, "LOOKUP", 2, status=2, file=9, client="10.0.0.3"),
    ]
    operations = [
        operation(1, "LOOKUP", directory=1, name=LINUX, status=2),
        operation(2, "RENAME", directory=1, name="a", new_name=LINUX),
        operation(3, "GETATTR"),
        operation(4, "LOOKUP", directory=1, name=".nfs9999", status=2),
        operation(5, "RENAME", directory=1, name="b", new_name=".nfsA4F3"),
        operation(6, "WRITE"),
        operation(7, "GETATTR"),
        operation(8, "LOOKUP", directory=1, name=LINUX, status=2),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = silly_renames(trace)
    assert (pair.beside.calls, pair.beside.frames) == (2, (1, 5))
    assert pair.beside.time_s == pytest.approx(0.005)
    assert pair.frames == (3, 9)
