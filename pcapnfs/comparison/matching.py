"""Files matched by path, patterns matched by their steps, findings by their rule.

Takes what both sides list; gives what is on both, and what came or went.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pcapnfs import spilled
from pcapnfs.comparison.gaps import read_alike
from pcapnfs.record import Record, values
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.by_file.patterns import Counted
    from pcapnfs.comparison.side import FileCost, Side
    from pcapnfs.diagnosis.finding import Finding

Key = TypeVar("Key")
Matched = TypeVar("Matched")
Values = TypeVar("Values", bound=tuple[Any, ...])

Where = Literal["both", "came", "went"]
"""On both sides, only after, or only before."""


VERSIONS = frozenset(("3", "4"))
"""Versions of NFS in which patterns are written."""


def same_server(server: str, mine: Iterable[str], other: Iterable[str]) -> str | None:
    """Which server of another side this one is; where each has one, that, whatever its address.

    Args:
        server: The server.
        mine: All servers of its side.
        other: Those of the other side.
    """
    here, there = set(mine), set(other)
    if len(here) == len(there) == 1:
        return there.pop()
    return server if server in there else None


class FileChange(Record):
    """A path on both sides."""

    path: str
    """The path; not escaped."""
    calls_before: int
    """Calls before."""
    calls_after: int
    """Calls after."""
    stable_before: int
    """Stable ones before."""
    stable_after: int
    """Stable ones after."""
    time_before_s: float
    """Sum of service times before, seconds."""
    time_after_s: float
    """The same after."""


class FileChanges(Record):
    """Objects that calls addressed, matched by path below the export."""

    both: int
    """Paths on both sides."""
    only_before: int
    """Paths only before."""
    only_after: int
    """Paths only after."""
    both_before_s: float
    """Service time of the calls on those of both sides, before, seconds."""
    both_after_s: float
    """The same after."""
    only_before_s: float
    """Service time of those only before, seconds."""
    only_after_s: float
    """Service time of those only after, seconds."""
    files: Sequence[FileChange]
    """Paths of both sides whose time differs most, the largest difference first."""


class PatternChange(Record):
    """A pattern of calls, and the files that had it."""

    where: Where
    """`both`, `came` (only after) or `went` (only before)."""
    pattern: str
    """The steps, runs collapsed, as `patterns` gives them."""
    kind: str
    """`file`, `directory`, `other`, `unknown`, `absent`, `untold` or `pseudo`."""
    files_before: int
    """Files before."""
    files_after: int
    """Files after."""
    time_per_file_before_s: float | None
    """Mean of their service time before, seconds; None without any."""
    time_per_file_after_s: float | None
    """The same after."""


class PatternChanges(Record):
    """Patterns of calls on files."""

    both: int
    """Patterns on both sides."""
    came: int
    """Patterns only after."""
    went: int
    """Patterns only before."""
    patterns: Sequence[PatternChange]
    """Those of most files first."""


class FindingChange(Record):
    """A rule that found something on one side or both."""

    where: Where
    """`both`, `came` (only after) or `went` (only before)."""
    id: str
    """The rule's name."""
    severity: str
    """`problem`, `warning` or `note`; after, where it is on both sides."""
    title: str
    """It in a few words; likewise."""
    cost_before_s: float | None
    """What it cost before, seconds; None when that is not known or nothing."""
    cost_after_s: float | None
    """The same after."""


def file_changes(before: Iterable[FileCost], after: Iterable[FileCost], *, top: int) -> FileChanges:
    """Match paths; both sides are in the order of their paths. `top` files, or all with 0."""
    both: list[int] = [0, 0, 0]
    only = [[0, 0], [0, 0]]

    def changes() -> Iterator[FileChange]:
        for sides in _by_path(before, after):
            if len(sides) == 2:
                both[0] += 1
                both[1] += sides[0][3]
                both[2] += sides[1][3]
                yield _file(sides[0], sides[1])
            else:
                for side, cost in sides.items():
                    only[side][0] += 1
                    only[side][1] += cost[3]

    # Of those whose time differs alike, the first by path comes first.
    rows = ((_moved(row), place, *values(row)) for place, row in enumerate(changes()))
    shown = (FileChange(*told) for _, _, *told in _first(rows, top))
    listed = spilled.listed(shown, FileChange)
    return FileChanges(
        both=both[0],
        only_before=only[0][0],
        only_after=only[1][0],
        both_before_s=both[1] / NANOSECONDS,
        both_after_s=both[2] / NANOSECONDS,
        only_before_s=only[0][1] / NANOSECONDS,
        only_after_s=only[1][1] / NANOSECONDS,
        files=listed,
    )


def _first(rows: Iterable[Values], top: int) -> Iterable[Values]:
    """The first rows in ascending order; with 0 all, of which some are in memory."""
    return heapq.nsmallest(top, rows) if top else spilled.ordered(rows)


def _by_path(
    before: Iterable[FileCost], after: Iterable[FileCost]
) -> Iterator[dict[int, FileCost]]:
    """What each path cost before (0) and after (1), path by path."""
    return _matched(((cost[0], cost) for cost in before), ((cost[0], cost) for cost in after))


def _by_pattern(
    before: Iterable[Counted], after: Iterable[Counted]
) -> Iterator[dict[int, Counted]]:
    """The same of classes of files, pattern by pattern."""
    first, second = (
        (((one.kind, one.pattern), one) for one in classes) for classes in (before, after)
    )
    return _matched(first, second)


def _matched(
    before: Iterable[tuple[Key, Matched]], after: Iterable[tuple[Key, Matched]]
) -> Iterator[dict[int, Matched]]:
    """What has one key before (0) and after (1); both are in the order of their keys."""
    first = ((key, 0, one) for key, one in before)
    second = ((key, 1, one) for key, one in after)
    merged = heapq.merge(first, second, key=itemgetter(0, 1))
    for _, sides in groupby(merged, itemgetter(0)):
        yield {side: one for _, side, one in sides}


def _moved(row: FileChange) -> float:
    """What the order of paths is by: how much the time differs, the most first."""
    return -abs(row.time_after_s - row.time_before_s)


MORE_FILES = 1.1
"""So many times as many files on one side are another number of them."""

LOOKED_AT = 0.5
"""Part of their share of the time which paths of one side alone take at most where they were hardly
more than looked at: files that were worked on take about theirs (0.8 to 1.1 of it)."""


def looked_at(numbers: tuple[int | None, int | None], files: FileChanges) -> bool:
    """Whether the files that one side has more of were hardly more than looked at.

    They come and go with what a client keeps of attributes and names, and cost no more than that:
    what a file costs on average says nothing of them.

    Args:
        numbers: Files that the model counts, before and after.
        files: Paths, matched.
    """
    before, after = numbers
    if not before or not after or max(before, after) < MORE_FILES * min(before, after):
        return False
    more, more_s, both_s = (
        (files.only_before, files.only_before_s, files.both_before_s)
        if before > after
        else (files.only_after, files.only_after_s, files.both_after_s)
    )
    share = more / max(1, more + files.both)
    # Where hardly a path is on one side alone, other objects had the same paths.
    if share < 1 - 1 / MORE_FILES:
        return False
    return more_s < LOOKED_AT * share * (more_s + both_s)


def in_common(before: Side, after: Side, files: FileChanges) -> float | None:
    """What of the work of one side is on the other, 0…1: see `Comparison.in_common`.

    Args:
        before: The side before.
        after: The side after.
        files: Their files, matched.
    """
    paths = (
        (files.both_before_s, files.both_before_s + files.only_before_s),
        (files.both_after_s, files.both_after_s + files.only_after_s),
    )
    patterns = [[0, 0], [0, 0]]
    for sides in _by_pattern(before.classes, after.classes):
        for side, one in sides.items():
            patterns[side][0] += one.files if len(sides) == 2 else 0
            patterns[side][1] += one.files
    shares = [part / whole for part, whole in (*paths, *patterns) if whole > 0]
    # A pattern of one version is none of another.
    versions = [{version for version, _ in side.times} & VERSIONS for side in (before, after)]
    told = len(shares) == 4 and versions[0] & versions[1] and read_alike(before, after)
    return max(shares) if told else None


def pattern_changes(
    before: Iterable[Counted], after: Iterable[Counted], *, top: int
) -> PatternChanges:
    """Match patterns of one kind of file, in the order of both. `top` of them, or all with 0."""
    count: Counter[Where] = Counter()

    def changes() -> Iterator[PatternChange]:
        for sides in _by_pattern(before, after):
            change = _pattern(sides.get(0), sides.get(1))
            count[change.where] += 1
            yield change

    rows = (
        (-max(row.files_before, row.files_after), row.pattern, row.kind, *values(row))
        for row in changes()
    )
    shown = (PatternChange(*told) for _, _, _, *told in _first(rows, top))
    listed = spilled.listed(shown, PatternChange)
    return PatternChanges(
        both=count["both"], came=count["came"], went=count["went"], patterns=listed
    )


def finding_changes(
    before: tuple[Finding, ...], after: tuple[Finding, ...]
) -> tuple[FindingChange, ...]:
    """Match findings by rule: those that came, those that went, those of both sides."""
    first, second = _by_rule(before), _by_rule(after)
    rows = [
        _finding(first.get(rule, []), second.get(rule, []))
        for rule in dict.fromkeys((*second, *first))
    ]
    order: tuple[Where, ...] = ("came", "went", "both")
    return tuple(sorted(rows, key=lambda row: order.index(row.where)))


def _file(before: FileCost, after: FileCost) -> FileChange:
    path, calls_before, stable_before, time_before = before
    _, calls_after, stable_after, time_after = after
    return FileChange(
        path=path,
        calls_before=calls_before,
        calls_after=calls_after,
        stable_before=stable_before,
        stable_after=stable_after,
        time_before_s=time_before / NANOSECONDS,
        time_after_s=time_after / NANOSECONDS,
    )


def _pattern(before: Counted | None, after: Counted | None) -> PatternChange:
    known = next(one for one in (before, after) if one is not None)
    return PatternChange(
        where=_where(before is not None, after is not None),
        pattern=known.pattern,
        kind=known.kind,
        files_before=0 if before is None else before.files,
        files_after=0 if after is None else after.files,
        time_per_file_before_s=None if before is None else before.time_per_file_s,
        time_per_file_after_s=None if after is None else after.time_per_file_s,
    )


def _by_rule(found: Iterable[Finding]) -> dict[str, list[Finding]]:
    """One rule may find the same of several pairs of client and server."""
    rules: dict[str, list[Finding]] = {}
    for finding in found:
        rules.setdefault(finding.id, []).append(finding)
    return rules


def _finding(before: list[Finding], after: list[Finding]) -> FindingChange:
    known = (after or before)[0]
    return FindingChange(
        where=_where(bool(before), bool(after)),
        id=known.id,
        severity=known.severity,
        title=known.title,
        cost_before_s=_sum(finding.cost_s for finding in before),
        cost_after_s=_sum(finding.cost_s for finding in after),
    )


def _sum(costs: Iterator[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _where(before: bool, after: bool) -> Where:
    if before and after:
        return "both"
    return "went" if before else "came"
