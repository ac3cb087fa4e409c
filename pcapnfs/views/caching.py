"""What clients asked again, on a terminal: the numbers, what they point to, then files.

Takes a result; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group

from pcapnfs import units
from pcapnfs.text import escape, joined, rooted, sentence
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note, unless_zero
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.caching.cache import Cache, FileCache, Interval
    from pcapnfs.analyses.caching.delegations import Delegations
    from pcapnfs.analyses.mounts.mount_options import Mount


MOUNTS_SHOWN = 4
"""Pairs of client and server that are named where many may say the same; the rest is counted."""


def in_short(result: Cache) -> str:
    """Revalidations in one sentence."""
    if result.revalidations:
        told = (
            f"{units.counted(result.revalidations, 'revalidation')}, "
            f"{units.duration(result.revalidation_s)}"
        )
        if result.unchanged_share is not None:
            told += f": {units.share(result.unchanged_share)} unchanged"
    else:
        told = "Revalidations are not known" if result.revalidations is None else "No revalidations"
    if not result.invalidations:
        return f"{told}."
    return (
        f"{told}; changes by somebody else noticed {units.counted(result.invalidations, 'time')}."
    )


def screen(result: Cache) -> RenderableType:
    """The screen of `cache`."""
    parts: list[RenderableType] = [Prose(line) for line in revalidation_sentences(result)]
    parts += [heading("Mount options"), _mounts(result.mounts)]
    if any(interval.files + interval.directories for interval in result.intervals):
        parts += [
            heading("Age of what the client knew when it asked"),
            _intervals(result.intervals),
        ]
    data = data_sentences(result)
    if data:
        parts += [heading("Cached data"), *(note(line) for line in data)]
    if result.delegations.opens or result.delegations.recalled:
        parts += [heading("Delegations"), _delegations(result.delegations)]
    if result.files:
        parts += [heading("Asked about"), _files(result)]
    return Group(*parts)


def revalidation_sentences(result: Cache) -> list[str]:
    """What was asked and found, most important first."""
    without_file = []
    if result.without_file:
        without_file.append(
            f"{units.counted(result.without_file, 'GETATTR')} of unknown objects: their "
            "handles could not be read."
        )
    if result.revalidations is None and not without_file:
        return ["What clients asked is not known: calls do not tell, or have no replies."]
    if not result.revalidations:
        return without_file or ["No client asked whether what it knew had changed (GETATTR, OPEN)."]
    told = (
        f"{units.counted(result.revalidations, 'revalidation')} of "
        f"{units.counted(result.objects, 'object')}, {units.duration(result.revalidation_s)}"
    )
    if result.unchanged_share is not None:
        told += (
            f": {units.share(result.unchanged_share)} of the answers that could be compared were "
            "what the client knew"
        )
    lines = [f"{told}."]
    found = [
        (result.unchanged, "unchanged"),
        (result.changed_by_self, "changed by itself"),
        (result.changed_by_other, "changed by somebody else"),
        (result.changed_by_unknown, "changed by whom is not known"),
        (result.first_sight, "seen for the first time"),
        (result.for_times, "that asked for times alone"),
        (result.unknown, "without an answer that tells"),
    ]
    asked = [
        (result.by_getattr, "by GETATTR"),
        (result.by_open, "with OPEN"),
        (result.by_verify, "by VERIFY or NVERIFY"),
    ]
    ways = [(f"{words} ({units.count(number)})", words) for number, words in asked if number]
    told = ", ".join(counted if len(ways) > 1 else alone for counted, alone in ways)
    lines.append(f"{_counted(found)}; asked {told}.")
    return lines + without_file


def _counted(parts: list[tuple[int | None, str]]) -> str:
    return ", ".join(f"{units.count(number)} {words}" for number, words in parts if number)


def verdict_sentences(mounts: tuple[Mount, ...]) -> list[str]:
    """The verdicts in short, one line for each of the first clients and servers that have any."""
    judged = [mount for mount in mounts if mount.verdicts]
    lines = [
        f"{_ends(mount)}: the calls are those of "
        + "; ".join(f"{verdict.title} ({verdict.confidence})" for verdict in mount.verdicts)
        + "."
        for mount in judged[:MOUNTS_SHOWN]
    ]
    if len(judged) > MOUNTS_SHOWN:
        more = units.counted(len(judged) - MOUNTS_SHOWN, "more pair")
        lines.append(f"{more} of client and server with a verdict.")
    return lines


def _ends(mount: Mount) -> str:
    ends = f"{escape(mount.client)} \u2192 {escape(mount.server)}"
    return ends if mount.part is None else f"{ends}, {escape(mount.part)}"


def _mounts(mounts: tuple[Mount, ...]) -> RenderableType:
    parts: list[RenderableType] = []
    for mount in mounts:
        for verdict in mount.verdicts:
            parts.append(
                note(f"{_ends(mount)}: {verdict.title} ({verdict.confidence})", style="bold")
            )
            frames = ", ".join(str(frame) for frame in verdict.frames)
            where = f" (frames {frames})" if frames else ""
            parts.append(note(f"{sentence(verdict.evidence)}{where}", indent=4))
    silent = [mount for mount in mounts if not mount.verdicts]
    for mount in silent[:MOUNTS_SHOWN]:
        if mount.too_little is None:
            said = "nothing that default options would not explain"
            if mount.between:
                said += (
                    ", though it asked for the unchanged directory between "
                    f"{units.count(mount.moves_asked)} of {units.counted(mount.moves, 'move')} "
                    "from one child to the next: programs that open directories do, or one of "
                    "several mounts that their calls do not tell apart"
                )
        else:
            said = f"too little to judge attribute caching: {escape(mount.too_little)}"
        parts.append(note(f"{_ends(mount)}: {said}."))
    if len(silent) > MOUNTS_SHOWN:
        more = units.counted(len(silent) - MOUNTS_SHOWN, "more pair")
        parts.append(note(f"{more} of client and server without a verdict."))
    return Group(*parts) if parts else note("No client called NFS.")


def _intervals(intervals: tuple[Interval, ...]) -> RenderableType:
    columns = [
        Column("age", align="left"),
        Column("files"),
        Column("directories"),
    ]
    rows = [
        [
            span(interval),
            units.count(interval.files),
            units.count(interval.directories),
        ]
        for interval in intervals
        if interval.files or interval.directories
    ]
    return FittedTable(columns, rows, indent=2)


def span(interval: Interval) -> str:
    """A range of ages in words."""
    if interval.below_s is None:
        return f"{units.duration(interval.from_s)} and more"
    if not interval.from_s:
        return f"below {units.duration(interval.below_s)}"
    return f"{units.duration(interval.from_s)} to {units.duration(interval.below_s)}"


def data_sentences(result: Cache) -> list[str]:
    """What the caches held and lost, in sentences."""
    lines = []
    if result.bytes_reread or result.bytes_saved:
        again = units.size(result.bytes_reread) if result.bytes_reread else "Nothing"
        told = f"{again} read again after somebody else's change"
        if result.bytes_saved:
            saved = units.size(result.bytes_saved)
            told += f"; about {saved} not read again, because the cache was valid"
        lines.append(f"{told}.")
    if result.invalidations:
        lines.append(
            f"Clients noticed {units.counted(result.invalidations, 'time')} that somebody else had "
            "changed an object, asked for or not."
        )
    if result.not_atomic:
        lines.append(
            f"{units.counted(result.not_atomic, 'change')} of directories that the server did "
            "not report atomically: clients must drop what they knew."
        )
    return lines


def delegation_sentences(told: Delegations) -> list[str]:
    """What was granted, called back and returned, and what it was good for."""
    granted = (
        f"{units.count(told.granted_read)} read and {units.count(told.granted_write)} write "
        "delegations"
    )
    if told.granted_directory:
        granted += f" and {units.count(told.granted_directory)} of directories"
    neither = told.granted_read is None and told.granted_write is None
    kinds = [
        ("granted", None if neither else granted),
        ("recalled", None if told.recalled is None else units.count(told.recalled)),
        ("returned", None if told.returned is None else units.count(told.returned)),
    ]
    parts = [", ".join(f"{count} {kind}" for kind, count in kinds if count is not None)]
    if unknown := [kind for kind, count in kinds if count is None]:
        parts.append(f"how many delegations were {joined(unknown, ' or ')} is not known")
    lines = [f"{units.counted(told.opens, 'OPEN')}: {'; '.join(filter(None, parts))}."]
    if told.recall_max_s is not None:
        lines.append(
            f"From recall to return {units.duration(told.recall_s)} in all, "
            f"{units.duration(told.recall_max_s)} at most."
        )
    if told.opens_served:
        lines.append(
            f"At least {units.counted(told.opens_served, 'open')} needed no call, as reads and "
            "writes under a delegation show."
        )
    return lines


def _delegations(told: Delegations) -> RenderableType:
    return Group(*(note(line) for line in delegation_sentences(told)))


_FILE_COLUMNS = (
    Column("file", align="left", least=24),
    Column("client", 1, align="left"),
    Column("asked"),
    Column("unchanged", 2),
    Column("by itself", 4),
    Column("by others", 3),
    Column("void", 6),
    Column("median age", 5),
    Column("time"),
    Column("read again", 3),
    Column("saved", 4),
    Column("recalls", 7),
)


def _files(result: Cache) -> RenderableType:
    several = len(result.mounts) > 1
    parts: list[RenderableType] = [
        FittedTable(
            _FILE_COLUMNS,
            (_file_row(row, several) for row in result.files),
            indent=2,
            naming=True,
        )
    ]
    listed = (result.objects or 0) + (result.unasked or 0)
    if len(result.files) < listed:
        parts.append(
            note(f"{units.count(len(result.files))} of {units.count(listed)} (--top 0 shows all).")
        )
    return Group(*parts)


def _file_row(row: FileCache, several_clients: bool) -> list[str]:
    return [
        escape(rooted(row.path)),
        escape(row.client) if several_clients else "",
        units.count(row.revalidations),
        unless_zero(row.unchanged),
        unless_zero(row.changed_by_self),
        unless_zero(row.changed_by_other),
        unless_zero(row.invalidations),
        units.duration(row.interval_p50_s),
        # What goes with an OPEN takes no time of its own.
        units.duration(row.time_s) if row.time_s else "",
        units.size(row.bytes_reread) if row.bytes_reread else "",
        units.size(row.bytes_saved) if row.bytes_saved else "",
        unless_zero(row.recalls),
    ]
