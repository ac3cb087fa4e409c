"""The operations that one run sent several times as often as the other.

Takes the operations of a comparison and what both runs hold; gives these operations, and whether
the other ones stayed. No setting shows itself by that alone: how often a client asks depends on
what it may keep, and on what its programs ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Protocol

from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.comparison.side import Times

SEVERAL = 3.0
"""So many times as often, at least."""

NOTICEABLE = 0.1
"""Part of the calls of the run that has more which the difference comes to, at least: less is no
reason for a change of the run time."""

STEADY = 1.25
"""Up to so many times as often, an operation is as often as before: runs of the same work are not
alike to the call."""

MOST = 0.5
"""Part of the calls of the other operations that are of those that stayed, at least, for the runs
to have done the same but for what moved."""


class Counted(Protocol):
    """An operation with its calls on both sides."""

    @property
    def version(self) -> str:
        """`3`, `4` (all minor versions), `nfsacl` or `nlm`."""

    @property
    def op(self) -> str:
        """Procedure or main operation with its marks, as in patterns."""

    @property
    def calls_before(self) -> int:
        """Answered calls before."""

    @property
    def calls_after(self) -> int:
        """Answered calls after."""


class Often(Record):
    """An operation that one run sent several times as often."""

    version: str
    """`3`, `4` (all minor versions), `nfsacl` or `nlm`."""
    op: str
    """Procedure or main operation as in patterns, without the level that a WRITE was granted: that
    is no other call, and a reply that was cut does not tell it."""
    calls_before: int
    """Answered calls before."""
    calls_after: int
    """Answered calls after."""


class Counts(Record):
    """What one run sent several times as often, and what became of the rest."""

    moved: tuple[Often, ...]
    """The operations, those of most calls first; one at least."""
    by_file: bool
    """They are held against the number of files, since the other operations go with that."""
    stayed: bool
    """Most calls of the other operations are of those that stayed; not where there are none."""

    @property
    def one_way(self) -> bool:
        """Whether one run sent all of them more often."""
        return len({each.calls_before < each.calls_after for each in self.moved}) == 1


def counts(
    before: Mapping[tuple[str, str], Times], after: Mapping[tuple[str, str], Times]
) -> list[Often]:
    """How many calls of each operation two sides have, in the order of versions and operations."""
    first, second = ({key: times.calls for key, times in side.items()} for side in (before, after))
    return [
        Often(*key, first.get(key, 0), second.get(key, 0))
        for key in sorted(first.keys() | second.keys())
    ]


def more_often(
    operations: Sequence[Counted],
    files: tuple[int | None, int | None],
    *,
    several: float = SEVERAL,
) -> Counts | None:
    """What one run sent several times as often; None where there is no such operation.

    Of two runs one of which counts twice as many files, either everything may be twice as often,
    or the same work was done, and the client looked at more files: it does not look at those of
    which it keeps the attributes. So calls are held against the run and against the number of
    files, whichever has more calls stay. Where neither has most of them stay, more or fewer files
    are other work, and no count says more than that.

    Args:
        operations: The operations of both runs.
        files: Files that both runs count; where either is not known, or none, calls are held
            against the run alone.
        several: How many times as often, at least.
    """
    before, after = files
    operations = _merged(operations)
    scales = [1.0]
    if before and after and not 1 / STEADY <= after / before <= STEADY:
        scales.insert(0, after / before)
    best = max(scales, key=lambda scale: _stayed(operations, scale))
    found = _counts(operations, best, several)
    if found is not None and not found.stayed and len(scales) > 1:
        return None
    return found


def same_work(operations: Iterable[Counted], files: tuple[int | None, int | None]) -> bool:
    """Whether most calls are of operations that stayed, by the run or by the number of files."""
    rows = _merged(operations)
    before, after = files
    scales = {1.0, after / before if before and after else 1.0}
    return bool(rows) and max(_stayed(rows, scale) for scale in scales) >= MOST * _calls(rows)


def with_files(operations: Iterable[Counted], files: tuple[int | None, int | None]) -> bool:
    """Whether calls go with the number of files at least as well as with the run.

    Where they do not, as many calls were sent for more or fewer files: those only looked at, whose
    attributes a client may keep, are no more work.
    """
    before, after = files
    rows = _merged(operations)
    return bool(before and after) and _stayed(rows, (after or 1) / (before or 1)) >= _stayed(
        rows, 1.0
    )


def _merged(operations: Iterable[Counted]) -> list[Often]:
    """The operations without the level that a WRITE was granted."""
    calls: dict[tuple[str, str], list[int]] = {}
    for row in operations:
        both = calls.setdefault((row.version, row.op.partition("[")[0]), [0, 0])
        both[0] += row.calls_before
        both[1] += row.calls_after
    return [Often(*key, *both) for key, both in calls.items()]


def _counts(operations: Sequence[Often], scale: float, several: float) -> Counts | None:
    """What moved, for so many times as many files after."""
    least = NOTICEABLE * max(
        scale * sum(row.calls_before for row in operations),
        sum(row.calls_after for row in operations),
    )
    moved = [
        row
        for row in operations
        if max(row.calls_before, row.calls_after) >= LEAST_CALLS
        and _times(row, scale) >= several
        and abs(row.calls_after - scale * row.calls_before) >= least
    ]
    if not moved:
        return None
    others = [row for row in operations if row not in moved]
    return Counts(
        moved=tuple(sorted(moved, key=lambda row: -max(row.calls_before, row.calls_after))),
        by_file=scale != 1.0,
        stayed=bool(others) and _stayed(others, scale) >= MOST * _calls(others),
    )


def _stayed(rows: Iterable[Often], scale: float) -> int:
    """Calls of the operations that are as often as before."""
    return _calls(row for row in rows if _times(row, scale) <= STEADY)


def _calls(rows: Iterable[Often]) -> int:
    return sum(max(row.calls_before, row.calls_after) for row in rows)


def _times(row: Often, scale: float) -> float:
    """How many times as often one side sent it, for as many files as the other had.

    Both counts are taken to the middle between the two, so that it does not matter which side is
    BEFORE.
    """
    middle = row.calls_before * sqrt(scale), row.calls_after / sqrt(scale)
    return max(middle) / max(1.0, min(middle))
