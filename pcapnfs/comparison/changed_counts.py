"""The operation that one run sent several times as often as the other, while it did the same work.

Takes the operations of a comparison and what both runs hold; gives that operation. No setting shows
itself by that alone: how often a client asks depends on what it may keep, and on what its programs
ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.comparison.operations import OperationChange

SEVERAL = 3.0
"""So many times as often for each file, at least."""

NOTICEABLE = 0.1
"""Part of the calls of the run that has more which the difference comes to, at least: less is no
reason for a change of the run time."""

STEADY = 1.25
"""Up to so many times as often, an operation is as often as before: runs of the same work are not
alike to the call."""

MOST = 0.5
"""Part of the calls of the other operations that are of those that stayed, at least."""


class Often(Record):
    """An operation that one run sent several times as often."""

    op: str
    """Procedure or main operation with its marks, as in patterns."""
    calls_before: int
    """Answered calls before."""
    calls_after: int
    """Answered calls after."""


def more_often(
    operations: Sequence[OperationChange],
    calls: tuple[int, int],
    files: tuple[int | None, int | None],
) -> Often | None:
    """The operation; None where there are several, or the others did not stay.

    Args:
        operations: How operations moved.
        calls: All calls before and after.
        files: Files that both runs count; where either is not known, or none, calls are compared
            by the run.
    """
    before, after = files
    scale = after / before if before and after else 1.0
    some = [row for row in operations if max(row.calls_before, row.calls_after) >= LEAST_CALLS]
    moved = [row for row in some if _times(row, scale) >= SEVERAL and _noticed(row, scale, calls)]
    others = [row for row in some if row not in moved]
    stayed = [row for row in others if _times(row, scale) <= STEADY]
    if len(moved) != 1 or not others or _calls(stayed) < MOST * _calls(others):
        return None
    (row,) = moved
    return Often(row.op, row.calls_before, row.calls_after)


def _calls(rows: Sequence[OperationChange]) -> int:
    return sum(max(row.calls_before, row.calls_after) for row in rows)


def _times(row: OperationChange, scale: float) -> float:
    """How many times as often one side sent it, for as many files as the other had."""
    counts = scale * row.calls_before, float(row.calls_after)
    return max(counts) / max(1.0, min(counts))


def _noticed(row: OperationChange, scale: float, calls: tuple[int, int]) -> bool:
    least = NOTICEABLE * max(scale * calls[0], calls[1])
    return abs(row.calls_after - scale * row.calls_before) >= least
