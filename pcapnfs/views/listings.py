"""Listings on a terminal: the numbers, what followed them, then directories.

Takes a result; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, joined, rooted
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note, unless_zero
from pcapnfs.views.prose import Prose
from pcapnfs.views.words import aside

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.namespace.readdir import DirectoryListing, FollowUps, Readdir

_FOLLOW_UP_COLUMNS = (
    Column("within 30 s of listings", align="left", least=18, cut="end"),
    Column("calls"),
    Column("LOOKUP", 1),
    Column("GETATTR", 1),
    Column("ACCESS", 1),
    Column("time"),
    Column("waited", 2),
)

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


def screen(result: Readdir) -> RenderableType:
    """The screen of `readdir`."""
    if result.unknown_calls is None:
        return Prose("Whether a directory was listed is not known: calls do not tell what they do.")
    if not listed(result):
        return Text("No directory was listed.")
    parts: list[RenderableType] = [Prose(line) for line in sentences(result)]
    if not result.directories:
        parts.append(Prose("Which directories is not known: handles could not be read."))
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


def sentences(result: Readdir) -> list[str]:
    """What the listings were, most important first."""
    calls = joined(
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
        f"{_entries(result)}{_long(result.bytes)}{_took(result.time_s)}."
    ]
    if result.plus_lost or result.plus_won_back:
        lines.append(
            f"A client gave up asking for attributes {units.counted(result.plus_lost, 'time')}, "
            f"and took it up again {units.counted(result.plus_won_back, 'time')}."
        )
    return lines


def in_short(result: Readdir) -> str:
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
        f"{units.counted(result.directories, 'directory', 'directories')}{_took(result.time_s)}"
    )
    if not result.follow_ups:
        return f"{told}."
    follow_ups = units.counted(result.follow_ups, "follow-up")
    return f"{told}; then, within 30 s, {follow_ups} on entries{_took(result.follow_up_s)}."


def spared(result: Readdir) -> list[str]:
    """What attributes in the listings would have spared, as far as that is known."""
    lines = []
    plain = result.after_plain
    if result.spared:
        lines.append(
            f"Attributes in the listings would have spared "
            f"{units.counted(result.spared, 'LOOKUP or GETATTR', 'LOOKUPs and GETATTRs')}: those "
            "that come while attributes are believed (at first 3 s, of directories 30 s), these "
            "calls' own time not counted."
        )
    elif plain and plain.calls > plain.accesses:
        lines.append(
            "Attributes in the listings would not have spared the LOOKUPs and GETATTRs after those "
            "without: they came when attributes are asked for again (at first after 3 s)."
        )
    if result.spared_perhaps:
        lines.append(
            f"Later walks made {units.counted(result.spared_perhaps, 'call')}: attributes in the "
            "listings would have spared all of them if only types were wanted, else none; half of "
            "them are counted."
        )
    return lines


def _long(size: int | None) -> str:
    """How long replies were, likewise."""
    return "" if size is None else f", {units.size(size)}"


def _took(time_s: float | None) -> str:
    """What calls took, behind them; nothing where their times do not tell."""
    return f", {units.duration(time_s)}" if time_s else ""


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
        f"{units.count(count) if place else units.counted(count, 'call')} {kind[place > 0]}"
        for place, (count, kind) in enumerate(kinds)
    ]


def _entries(result: Readdir) -> str:
    """How many entries were told."""
    if result.entries is None:
        return "an unknown number of entries"
    return units.counted(result.entries, "entry", "entries")


def _directories_listed(result: Readdir) -> str:
    """How many were listed, at the begin of a sentence."""
    if result.directories is None:
        return "Directories were listed"
    return f"{units.counted(result.directories, 'directory', 'directories')} listed"


def _as_readdirplus(result: Readdir) -> str:
    """The procedure that lists with attributes, where there is one: in NFSv3 alone."""
    of_v4 = result.v4_plain_calls or result.v4_plus_calls or result.unknown_calls
    return "" if of_v4 else " (READDIRPLUS)"


def _follow_ups(result: Readdir) -> RenderableType:
    if result.follow_ups is None:
        parts = [note("Which calls followed is not known: replies do not tell the entries.")]
    elif not result.follow_ups:
        parts = [note("No LOOKUP, GETATTR or ACCESS about an entry followed.")]
    else:
        kinds = (
            ("without attributes", result.after_plain),
            ("with attributes", result.after_plus),
        )
        rows = [_follow_up_row(title, each) for title, each in kinds if each and each.calls]
        parts = [FittedTable(_FOLLOW_UP_COLUMNS, rows, indent=2)]
    parts += [note(line) for line in spared(result)]
    parts += [note(line) for line in after_plus(result)]
    if result.revalidations is not None:
        parts.append(
            note(
                f"The listed directories themselves were asked about "
                f"{units.counted(result.revalidations, 'time')}{aside(result.revalidation_s)}."
            )
        )
    if result.bare_entries:
        parts.append(
            note(
                f"Listings asked for attributes, but the server gave none of "
                f"{units.counted(result.bare_entries, 'entry', 'entries')}: these count as told "
                "without."
            )
        )
    if result.plus_entries:
        entries = units.counted(result.plus_entries, "entry", "entries")
        if result.untouched == 0:
            told = f"Of {entries} with attributes, all were met by some later call."
        else:
            told = (
                f"{units.count(result.untouched)} of {entries} with attributes "
                f"{'was' if result.untouched == 1 else 'were'} never touched afterwards."
            )
        parts.append(note(told))
    return Group(*parts)


def after_plus(result: Readdir) -> list[str]:
    """What would spare follow-ups of listings that had told the attributes; nothing without any."""
    after = result.after_plus
    if not result.follow_ups or after is None or not after.calls:
        return []
    if 2 * after.lookups >= after.calls:
        return [
            "After listings with attributes most of them are LOOKUPs: the client did not keep the "
            "names, as when somebody changes the directory meanwhile (pcapnfs cache tells), or it "
            "was mounted anew. Longer timeouts (actimeo) do not spare these."
        ]
    means = "actimeo, delegations" if result.v4_plus_calls else "actimeo"
    return [
        f"After listings with attributes only a cache that stays warm longer saves calls ({means})."
    ]


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


def _directories(result: Readdir) -> RenderableType:
    columns = _DIRECTORY_COLUMNS
    if not result.unknown_calls:
        columns = tuple(column for column in columns if column.title != "unknown")
    rows = (
        [
            cell
            for column, cell in zip(_DIRECTORY_COLUMNS, _directory_row(row), strict=True)
            if column in columns
        ]
        for row in result.shown
    )
    return FittedTable(columns, rows, indent=2, naming=True)


def _directory_row(row: DirectoryListing) -> list[str]:
    return [
        escape(rooted(row.path)),
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
