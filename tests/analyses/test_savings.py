"""What larger WRITEs would have spared."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.savings import LargerWrites, larger_writes
from tests.unit.rows import Row, call, file, operation, trace_of


def written(*levels: str, unanswered: int = 0) -> LargerWrites:
    """A file of 4 KiB WRITEs that asked for these levels, the first without reply, and a COMMIT."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, level in enumerate(levels, 1):
        stable = "unstable_write" if level == "UNSTABLE" else "stable"
        if number <= unanswered:
            calls.append(call(number, "WRITE", None, file=1, stability="unknown"))
        else:
            calls.append(call(number, "WRITE", 1, file=1, stability=stable))
        operations.append(
            operation(
                number,
                "WRITE",
                file=1,
                offset=4096 * (number - 1),
                requested=4096,
                stable_requested=level,
            )
        )
    calls.append(call(len(levels) + 1, "COMMIT", 1, file=1, stability="stable"))
    with trace_of(calls=calls, operations=operations, files=[file(1, "f")]) as trace:
        return larger_writes(trace)


@pytest.mark.parametrize("last", ["UNSTABLE", "FILE_SYNC"])
def test_what_the_size_of_a_write_cuts_would_fit_one(last: str) -> None:
    found = written("UNSTABLE", "UNSTABLE", "UNSTABLE", last)
    assert (found.files, found.write_bytes, found.calls) == (1, 16384, 4)


@pytest.mark.parametrize("unanswered", [1, 4])
def test_a_write_without_reply_is_a_call_as_well(unanswered: int) -> None:
    """It belongs to the file's size, and to the calls that the model counts for a file."""
    found = written(*["UNSTABLE"] * 4, unanswered=unanswered)
    assert found == LargerWrites(files=1, write_bytes=16384, calls=4, stable_calls=0)


@pytest.mark.parametrize("level", ["FILE_SYNC", "DATA_SYNC"])
def test_what_each_write_asked_to_be_on_storage_a_larger_one_would_not_spare(level: str) -> None:
    """A mount with sync, or O_SYNC: the program makes the pieces."""
    assert written(level, level, level, level) == LargerWrites(0, 0, 0, 0)
