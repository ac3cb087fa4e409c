"""Listings and cache on a terminal: the numbers, what they point to, then directories or files.

Takes results; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, sentence
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note, unless_zero
from pcapnfs.views.prose import Prose
from pcapnfs.views.words import aside, plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.cache import Cache, FileCache, Interval
    from pcapnfs.analyses.delegations import Delegations
    from pcapnfs.analyses.mount_options import Mount
    from pcapnfs.analyses.readdir import DirectoryListing, FollowUps, Readdir


MOUNTS_SHOWN = 4
"""Pairs of client and server that are named where many may say the same; the rest is counted."""


def readdir(result: Readdir) -> RenderableType:
    """The screen of `readdir`."""
    if result.unknown_calls is None:
        return Prose("Whether a directory was listed is not known: calls do not tell what they do.")
    if not listed(result):
        return Text("No directory was listed.")
    parts: list[RenderableType] = [Prose(line) for line in listing_sentences(result)]
    if not result.directories:
        parts.append(
            Prose(
                "Which directories is not known: handles were cut at the snaplen or are encrypted."
            )
        )
        return Group(*parts)
    parts += [heading("Follow-ups"), _follow_ups(result)]
    parts += [heading("Directories"), _directories(result)]
    if len(result.shown) < result.directories:
        parts.append(
            note(
                f"{units.count(len(result.shown))} of {units.count(result.directories)} "
                "directories (--top 0 shows all)."
            )
        )
    return Group(*parts)


def listed(result: Readdir) -> bool:
    """Whether a directory was listed, as far as calls tell."""
    return bool(result.readdir_calls or result.readdirplus_calls or result.unknown_calls)


def listing_sentences(result: Readdir) -> list[str]:
    """What the listings were, most important first."""
    calls = _listed(
        _calls(
            result,
            (f"that asked for attributes{_as_readdirplus(result)}", ""),
            ("that did not ask for attributes", "that did not"),
            ("that may have asked for attributes (cut off)", "that may have (cut off)"),
        ),
        " and ",
    )
    lines = [
        f"{_directories_listed(result)} with {calls}: "
        f"{_entries(result)}, {units.size(result.bytes)}, "
        f"{units.taken(result.time_s)}."
    ]
    if result.plus_lost or result.plus_won_back:
        lines.append(
            f"A client gave up asking for attributes {_times(result.plus_lost)}, and took it up "
            f"again {_times(result.plus_won_back)}."
        )
    return lines


def listings_in_short(result: Readdir) -> str:
    """Listings and follow-ups in one sentence."""
    unknown = "with or without attributes (cut off)"
    calls = ", ".join(
        _calls(
            result,
            (f"with attributes{_as_readdirplus(result)}", ""),
            ("without attributes", "without"),
            (unknown, unknown.replace(" attributes", "")),
        )
    )
    told = (
        f"{calls}: {_entries(result)} of "
        f"{plural(result.directories, 'directory', 'directories')}, {units.taken(result.time_s)}"
    )
    if not result.follow_ups:
        return f"{told}."
    follow_ups = plural(result.follow_ups, "follow-up", "follow-ups")
    return f"{told}; then {follow_ups} on entries, {units.taken(result.follow_up_s)}."


def _calls(
    result: Readdir, plus: tuple[str, str], plain: tuple[str, str], unknown: tuple[str, str]
) -> list[str]:
    """How many calls asked for attributes, how many did not, and of how many that is not known.

    Args:
        result: The listings.
        plus: What is said of calls that asked: first, and after others.
        plain: The same of those that did not.
        unknown: The same of those of which it is not known.
    """
    kinds = [(result.readdirplus_calls, plus), (result.readdir_calls, plain)]
    if result.unknown_calls:
        kinds = [(count, kind) for count, kind in kinds if count]
        kinds.append((result.unknown_calls, unknown))
    return [
        f"{units.count(count) if place else plural(count, 'call', 'calls')} {kind[place > 0]}"
        for place, (count, kind) in enumerate(kinds)
    ]


def _listed(parts: list[str], last: str) -> str:
    """Parts of a sentence one after the other, before the last of them another word."""
    return last.join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _directories_listed(result: Readdir) -> str:
    """How many were listed, at the begin of a sentence."""
    if result.directories is None:
        return "Directories were listed"
    return f"{plural(result.directories, 'directory', 'directories')} listed"


def _entries(result: Readdir) -> str:
    """How many entries were told."""
    if result.entries is None:
        return "an unknown number of entries"
    return plural(result.entries, "entry", "entries")


def _as_readdirplus(result: Readdir) -> str:
    """The procedure that lists with attributes, where there is one: in NFSv3 alone."""
    of_v4 = result.v4_plain_calls or result.v4_plus_calls or result.unknown_calls
    return "" if of_v4 else " (READDIRPLUS)"


def cache_in_short(result: Cache) -> str:
    """Revalidations in one sentence."""
    told = (
        f"{plural(result.revalidations, 'revalidation', 'revalidations')}, "
        f"{units.duration(result.revalidation_s)}: {units.share(result.unchanged_share)} unchanged"
    )
    if not result.invalidations:
        return f"{told}."
    return f"{told}; somebody else's changes learnt {_times(result.invalidations)}."


_FOLLOW_UP_COLUMNS = (
    Column("after listings", align="left", least=12, cut="end"),
    Column("calls"),
    Column("LOOKUP", 1),
    Column("GETATTR", 1),
    Column("ACCESS", 1),
    Column("time"),
    Column("waited", 2),
)


def _follow_ups(result: Readdir) -> RenderableType:
    if result.follow_ups is None:
        parts = [note("Which calls followed is not known: replies do not tell the entries.")]
    elif not result.follow_ups:
        parts = [note("No entry was asked for afterwards.")]
    else:
        kinds = (
            ("without attributes", result.after_plain),
            ("with attributes", result.after_plus),
        )
        rows = [_follow_up_row(title, each) for title, each in kinds if each and each.calls]
        parts = [FittedTable(_FOLLOW_UP_COLUMNS, rows, indent=2)]
        if (plain := result.after_plain) and plain.calls > plain.accesses:
            parts.append(
                note(
                    "With attributes in the listings, the LOOKUPs and GETATTRs of the first row "
                    "were not needed."
                )
            )
        if result.after_plus and result.after_plus.calls:
            parts.append(
                note(
                    "After listings with attributes only a cache that stays warm longer saves "
                    "calls (actimeo, delegations)."
                )
            )
    parts.append(
        note(
            f"The listed directories themselves were asked for "
            f"{_times(result.revalidations)}{aside(result.revalidation_s)}."
        )
    )
    if result.plus_entries:
        parts.append(
            note(
                f"{units.count(result.untouched)} of "
                f"{plural(result.plus_entries, 'entry', 'entries')} with attributes "
                f"{'was' if result.untouched == 1 else 'were'} never touched afterwards."
            )
        )
    return Group(*parts)


def _follow_up_row(title: str, follow_ups: FollowUps) -> list[str]:
    return [
        title,
        units.count(follow_ups.calls),
        units.count(follow_ups.lookups),
        units.count(follow_ups.getattrs),
        units.count(follow_ups.accesses),
        units.taken(follow_ups.time_s),
        units.duration(follow_ups.wall_s),
    ]


_DIRECTORY_COLUMNS: tuple[Column, ...] = (
    Column("directory", align="left", least=24),
    Column("plain", 2),
    Column("plus", 2),
    Column("unknown", 2),
    Column("begun", 6),
    Column("entries"),
    Column("bytes", 5),
    Column("time"),
    Column("follow-ups"),
    Column("their time"),
    Column("asked itself", 3),
    Column("plus lost", 4),
    Column("won back", 4),
    Column("untouched", 7),
)


def _directories(result: Readdir) -> RenderableType:
    rows = [_directory_row(row) for row in result.shown]
    columns = _DIRECTORY_COLUMNS
    if not result.unknown_calls:
        columns = tuple(column for column in columns if column.title != "unknown")
        rows = [
            [
                cell
                for column, cell in zip(_DIRECTORY_COLUMNS, row, strict=True)
                if column in columns
            ]
            for row in rows
        ]
    return FittedTable(columns, rows, indent=2)


def _directory_row(row: DirectoryListing) -> list[str]:
    return [
        escape(row.path),
        unless_zero(row.readdir_calls),
        unless_zero(row.readdirplus_calls),
        unless_zero(row.unknown_calls),
        units.count(row.listings),
        "" if row.entries is None else units.count(row.entries),
        units.size(row.bytes),
        units.taken(row.time_s),
        unless_zero(row.follow_ups),
        units.duration(row.follow_up_s) if row.follow_ups else "",
        unless_zero(row.revalidations),
        unless_zero(row.plus_lost),
        unless_zero(row.plus_won_back),
        unless_zero(row.untouched),
    ]


def cache(result: Cache) -> RenderableType:
    """The screen of `cache`."""
    parts: list[RenderableType] = [Prose(line) for line in revalidation_sentences(result)]
    parts += [heading("Mount options"), _mounts(result.mounts)]
    if any(interval.files + interval.directories for interval in result.intervals):
        parts += [heading("Age of the knowledge when asked"), _intervals(result.intervals)]
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
            f"{plural(result.without_file, 'GETATTR', 'GETATTRs')} of unknown objects: handles "
            "were cut at the snaplen or are encrypted."
        )
    if result.revalidations is None and not without_file:
        return ["What clients asked is not known: calls do not tell, or have no replies."]
    if not result.revalidations:
        return without_file or ["No client asked for what it might have known."]
    lines = [
        f"{plural(result.revalidations, 'revalidation', 'revalidations')} of "
        f"{plural(result.objects, 'object', 'objects')}, {units.duration(result.revalidation_s)}: "
        f"{units.share(result.unchanged_share)} of the answers that could be compared were what "
        "the client knew."
    ]
    found = [
        (result.unchanged, "unchanged"),
        (result.changed_by_self, "changed by itself"),
        (result.changed_by_other, "changed by somebody else"),
        (result.first_sight, "seen for the first time"),
        (result.unknown, "without an answer that tells"),
    ]
    asked = [
        (result.by_getattr, "by GETATTR"),
        (result.by_open, "with OPEN"),
        (result.by_verify, "by VERIFY or NVERIFY"),
    ]
    lines.append(f"{_counted(found)}; asked {_counted(asked)}.")
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
        more = plural(len(judged) - MOUNTS_SHOWN, "more pair", "more pairs")
        lines.append(f"{more} of client and server with a verdict.")
    return lines


def _ends(mount: Mount) -> str:
    return f"{escape(mount.client)} \u2192 {escape(mount.server)}"


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
        else:
            said = f"too little to judge attribute caching: {escape(mount.too_little)}"
        parts.append(note(f"{_ends(mount)}: {said}."))
    if len(silent) > MOUNTS_SHOWN:
        more = plural(len(silent) - MOUNTS_SHOWN, "more pair", "more pairs")
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
        lines.append(
            f"{units.size(result.bytes_reread)} read again after somebody else's change; at most "
            f"{units.size(result.bytes_saved)} not read again, because the cache was valid."
        )
    if result.invalidations:
        lines.append(
            f"Clients learnt {_times(result.invalidations)} that somebody else had changed an "
            "object, asked for or not."
        )
    if result.not_atomic:
        lines.append(
            f"{plural(result.not_atomic, 'change', 'changes')} of directories that the server did "
            "not report atomically: clients must drop what they knew."
        )
    return lines


def delegation_sentences(told: Delegations) -> list[str]:
    """What was granted, called back and returned, and what it was good for."""
    granted = (
        f"{units.count(told.granted_read)} read and {units.count(told.granted_write)} write "
        "delegations"
    )
    neither = told.granted_read is None and told.granted_write is None
    kinds = [
        ("granted", None if neither else granted),
        ("recalled", None if told.recalled is None else units.count(told.recalled)),
        ("returned", None if told.returned is None else units.count(told.returned)),
    ]
    parts = [", ".join(f"{count} {kind}" for kind, count in kinds if count is not None)]
    if unknown := [kind for kind, count in kinds if count is None]:
        parts.append(f"how many delegations were {_listed(unknown, ' or ')} is not known")
    lines = [f"{plural(told.opens, 'OPEN', 'OPENs')}: {'; '.join(filter(None, parts))}."]
    if told.recall_max_s is not None:
        lines.append(
            f"From recall to return {units.duration(told.recall_s)} in all, "
            f"{units.duration(told.recall_max_s)} at most."
        )
    if told.opens_served:
        lines.append(
            f"At least {plural(told.opens_served, 'open', 'opens')} needed no call, as reads and "
            "writes under a delegation show."
        )
    return lines


def _delegations(told: Delegations) -> RenderableType:
    return Group(*(note(line) for line in delegation_sentences(told)))


_FILE_COLUMNS = (
    Column("file", align="left", least=24),
    Column("client", 4, align="left"),
    Column("asked"),
    Column("unchanged", 1),
    Column("by itself", 3),
    Column("by others", 2),
    Column("void", 5),
    Column("median age", 4),
    Column("time"),
    Column("read again", 2),
    Column("saved", 3),
    Column("recalls", 6),
)


def _files(result: Cache) -> RenderableType:
    several = len(result.mounts) > 1
    parts: list[RenderableType] = [
        FittedTable(_FILE_COLUMNS, [_file_row(row, several) for row in result.files], indent=2)
    ]
    if len(result.files) < (result.objects or 0):
        parts.append(
            note(
                f"{units.count(len(result.files))} of {units.count(result.objects)} "
                "(--top 0 shows all)."
            )
        )
    return Group(*parts)


def _file_row(row: FileCache, several_clients: bool) -> list[str]:
    return [
        escape(row.path),
        escape(row.client) if several_clients else "",
        units.count(row.revalidations),
        unless_zero(row.unchanged),
        unless_zero(row.changed_by_self),
        unless_zero(row.changed_by_other),
        unless_zero(row.invalidations),
        units.duration(row.interval_p50_s),
        units.duration(row.time_s),
        units.size(row.bytes_reread) if row.bytes_reread else "",
        units.size(row.bytes_saved) if row.bytes_saved else "",
        unless_zero(row.recalls),
    ]


def _times(number: int | None) -> str:
    return plural(number, "time", "times")
