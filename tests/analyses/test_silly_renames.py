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
    assert pair.time_s == pytest.approx(0.008)
    assert pair.frames == (1, 3)


def test_other_names_are_nothing_to_tell() -> None:
    renamed = operation(1, "RENAME", directory=1, name="a", new_name="b")
    with trace_of(calls=[call(1, "RENAME", 4)], operations=[renamed], files=FILES) as trace:
        assert silly_renames(trace) == ()
