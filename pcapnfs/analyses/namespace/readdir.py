"""Listings of directories, and the calls about their entries that followed.

A listing *with attributes* is READDIRPLUS, or a READDIR of NFSv4 that asks for what a stat needs. A
*follow-up* is a GETATTR, LOOKUP or ACCESS on a child of a directory, by the same client, after it
was listed and before it is listed again, 30 s later at most: what attributes in the listing, or a
warm attribute cache, would have saved. What attributes in the listing would have spared,
`listing_costs` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, spilled, walks
from pcapnfs.analyses.asking import order, parts, paths, population
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.sorts import DirectorySort
from pcapnfs.analyses.asking.texts import among, place
from pcapnfs.analyses.asking.values import integer, seconds, whole
from pcapnfs.analyses.caching.told import ASKS_STATE
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.namespace import former_names, listings
from pcapnfs.analyses.namespace import listing_costs as _listing_costs
from pcapnfs.analyses.namespace.listing_costs import listing_costs
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.analyses.namespace.listing_costs import ListingCosts
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    listings.READS,
    _untold.READS,
    listings.USED_READS,
    listings.BROUGHT_READS,
    former_names.READS,
    _listing_costs.READS,
    columns.of(
        calls="call mount callback program version op call_time reply_time srt file directory",
        operations="call op attributes",
        files="file server parent name path",
        entries="call position name file",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(listings.LISTING)
"""Only these list."""

_ORDER = {
    "time": "coalesce(time, 0) + coalesce(follow_up_time, 0) desc, entries desc nulls last",
    "calls": "plain + plus + unknown desc, entries desc nulls last",
    "entries": "entries desc nulls last, time desc nulls last",
    "follow-ups": "follow_ups desc nulls last, time desc nulls last",
    "name": "true",
}
"""Of equals, the first by path comes first."""


class FollowUps(Record):
    """Calls about entries after a listing."""

    calls: int
    """All of them."""
    lookups: int
    """LOOKUPs."""
    getattrs: int
    """GETATTRs; of NFSv4 those that ask for the change attribute or the times."""
    accesses: int
    """ACCESSes. A listing brings no access rights: only a warm cache spares them."""
    time_s: float
    """Sum of their service times, seconds."""
    wall_s: float
    """Time in which at least one of them was under way, client by client, seconds: what they cost
    at most, since calls that overlap wait together."""


class DirectoryListing(Record):
    """One directory, all clients together."""

    file: int
    """Its number in the table files."""
    path: str
    """Path, as in the table files; not escaped."""
    server: str
    """Address of the server."""
    readdir_calls: int | None
    """Calls that listed it without attributes; None where it would be 0, but some do not tell."""
    readdirplus_calls: int | None
    """Calls that listed it with attributes; None likewise."""
    unknown_calls: int
    """Calls that listed it, of which it was cut off whether they asked for attributes."""
    listings: int | None
    """Calls that began at the first entry (cookie 0); None when not one call tells."""
    entries: int | None
    """Entries in the replies; None when not one reply tells."""
    bytes: int | None
    """Length of the replies, bytes; None without one."""
    time_s: float | None
    """Sum of the calls' service times, seconds; None without a reply."""
    plus_lost: int | None
    """Times that a client listed without attributes after it had listed with them, also within one
    listing; None likewise."""
    plus_won_back: int | None
    """Times that a client listed with attributes after it had listed without; None likewise."""
    revalidations: int
    """GETATTRs about the directory itself."""
    revalidation_s: float
    """Sum of their service times, seconds."""
    follow_ups: int | None
    """Follow-ups about its children; None when no entry is known, but replies do not tell."""
    follow_up_s: float | None
    """Sum of their service times, seconds; None likewise."""
    plus_entries: int | None
    """Pairs of a client and an entry that it was told of with attributes; without `.` and `..`;
    None likewise."""
    untouched: int | None
    """Those of them that the client never addressed by any call afterwards; None likewise."""


class Readdir(Record):
    """All listings, and what followed them.

    A number is None where it would be 0, but the capture does not tell: of no listing is known, but
    of calls it is not what they do; or none tells which directory it was of, or what it brought; or
    some do not tell whether they asked for attributes.
    """

    readdir_calls: int | None
    """Calls that listed without attributes: READDIR, of NFSv4 if it asks for no more than names,
    file numbers and types; None as above."""
    readdirplus_calls: int | None
    """Calls that listed with attributes: READDIRPLUS, or READDIR of NFSv4 that asks for them; None
    as above."""
    unknown_calls: int | None
    """Calls that listed, all of NFSv4, of which it was cut off whether they asked for attributes;
    None as above."""
    v4_plain_calls: int | None
    """The part of readdir_calls that is NFSv4; None as above."""
    v4_plus_calls: int | None
    """The part of readdirplus_calls that is NFSv4; None as above."""
    directories: int | None
    """Directories that were listed; None as above."""
    listings: int | None
    """Calls that began at the first entry (cookie 0); None as above."""
    entries: int | None
    """Entries in the replies; NFSv3 lists `.` and `..`, too; None as above."""
    bytes: int | None
    """Length of the replies, bytes; None as above."""
    time_s: float | None
    """Sum of the calls' service times, seconds; None as above."""
    largest_request_bytes: int | None
    """The most that a call asked for (maxcount), bytes; None without listings."""
    plus_lost: int | None
    """Times that a client listed a directory without attributes after it had listed it with them,
    also within one listing; None as above."""
    plus_won_back: int | None
    """Times that a client listed a directory with attributes after it had listed it without; None
    as above."""
    revalidations: int | None
    """GETATTRs about directories that were listed, as far as they were answered; None as above, and
    where no listing was answered either: replies may not be in the capture."""
    revalidation_s: float | None
    """Sum of their service times, seconds; None likewise."""
    follow_ups: int | None
    """Follow-ups: after_plain and after_plus together; None as above."""
    follow_up_s: float | None
    """Sum of their service times, seconds; None as above."""
    after_plain: FollowUps | None
    """Follow-ups after listings without attributes; None as above."""
    after_plus: FollowUps | None
    """Follow-ups after listings with attributes: a longer attribute cache would have saved them;
    None as above."""
    spared: int | None
    """LOOKUPs and GETATTRs that attributes in the listings would have spared: those that came while
    a client believes what came with a listing (`listing_costs`), also later than follow-ups; None
    as after_plain."""
    spared_perhaps: int | None
    """What later walks asked, which types in the listings would have spared if the program wanted
    nothing else; forecasts and findings reckon with half of it; None likewise."""
    plus_entries: int | None
    """Pairs of a client and an entry that it was told of with attributes; without `.` and `..`;
    None as above."""
    untouched: int | None
    """Those of them that the client never addressed by any call afterwards: attributes for nothing,
    unless the program only wanted them; None as above."""
    bare_entries: int | None
    """Entries that the server told without attributes, though the listing asked for them; without
    `.` and `..`; None as above."""
    sort: str
    """What the directories are sorted by: `time`, `calls`, `entries`, `follow-ups` or `name`."""
    shown: Sequence[DirectoryListing]
    """The directories that cost most."""


def readdir(trace: Trace, *, top: int = 20, sort: DirectorySort = "time") -> Readdir:
    """Add up the listings of each directory, and find what followed them.

    Args:
        trace: The trace.
        top: Directories to give; 0 for all.
        sort: What to sort them by; `time` is that of listings and follow-ups.

    Raises:
        UsageError: `sort` is unknown, or `top` is negative.
    """
    order.check("directories", top=top, sort=sort, kinds=DirectorySort)
    unnamed = untold(trace).unnamed
    if not NEEDS.met(trace):
        return _readdir(None, {}, (), sort, (), untold=unnamed)
    listings.register(trace)
    former_names.register(trace)
    with closing(trace.cursor()) as cursor:
        walk = walks.FollowUps(longest_s=listings.FOLLOW_UP_S)
        for events in parts.of(trace, cursor, _EVENTS, by="directory", entries=True):
            walk.add(events)
        cursor.register("followed", walk.followed())
        cursor.execute(_OBJECTS)
        cursor.execute(_TOLD)
        cursor.execute(_BY_DIRECTORY)
        (totals,) = by_name(cursor.execute(_TOTALS))
        costs = listing_costs(trace) if any_plain(totals) else ()
        return _readdir(
            totals if totals["plain"] is not None else None,
            _follow_ups(cursor, walk.walls()),
            costs,
            sort,
            _directories(cursor, top, sort),
            untold=unnamed,
        )


def any_plain(totals: Row) -> bool:
    """Whether anything was told without attributes."""
    return bool(totals["plain"] or totals["bare"])


def _readdir(
    totals: Row | None,
    found: dict[bool, FollowUps],
    costs: tuple[ListingCosts, ...],
    sort: DirectorySort,
    shown: Sequence[DirectoryListing],
    *,
    untold: bool,
) -> Readdir:
    """Put the answers together.

    Args:
        totals: The row of `_TOTALS`; None without listings.
        found: Follow-ups after listings without and with attributes.
        costs: What listings without attributes cost.
        sort: What the directories are sorted by.
        shown: The directories.
        untold: There are calls of which it is not known what they do.
    """
    # Without a listing all is nothing, or nothing is known.
    nothing = None if untold else 0
    none = dict.fromkeys(("directories", *_SUMMED), nothing)
    all_of = totals or {**none, "largest": None}

    def told_apart(name: str) -> int | None:
        """How many are known to be of a kind, where that is not known of all."""
        number = all_of[name]
        return None if number is None else known(integer(number), unless=bool(all_of["unknown"]))

    asked, asked_s = whole(all_of["asked"]), seconds(all_of["asked_time"])
    if totals is not None and not all_of["answered"] and not asked:
        asked = asked_s = None  # No listing has its reply: others may lack theirs as well.
    # Nothing followed either kind, or it is not known which kind something followed.
    unknown = all_of["follow_ups"] is None or bool(all_of["unknown"])
    after = {
        plus: found.get(plus, None if unknown else FollowUps(0, 0, 0, 0, 0.0, 0.0))
        for plus in (False, True)
    }
    return Readdir(
        readdir_calls=told_apart("plain"),
        readdirplus_calls=told_apart("plus"),
        unknown_calls=whole(all_of["unknown"]),
        v4_plain_calls=told_apart("v4_plain"),
        v4_plus_calls=told_apart("v4_plus"),
        directories=whole(all_of["directories"]),
        listings=whole(all_of["listings"]),
        entries=whole(all_of["entries"]),
        bytes=whole(all_of["bytes"]),
        time_s=seconds(all_of["time"]),
        largest_request_bytes=whole(all_of["largest"]),
        plus_lost=told_apart("lost"),
        plus_won_back=told_apart("won"),
        revalidations=asked,
        revalidation_s=asked_s,
        follow_ups=whole(all_of["follow_ups"]),
        follow_up_s=seconds(all_of["follow_up_time"]),
        after_plain=after[False],
        after_plus=after[True],
        spared=None if after[False] is None else sum(each.followed.calls for each in costs),
        spared_perhaps=None if after[False] is None else sum(each.untyped.calls for each in costs),
        plus_entries=whole(all_of["plus_entries"]),
        untouched=whole(all_of["untouched"]),
        bare_entries=whole(all_of["bare"]),
        sort=sort,
        shown=shown,
    )


_OPERATIONS = ("LOOKUP", "GETATTR", "ACCESS")
"""What may follow, by number."""

# A name is what a listing always has; handles come with attributes alone. Its hash of 64 bits is
# narrower to sort, and two names of a directory share one with a probability below 10^-9.
# Materialized, since both branches of the union join: of many rows, DuckDB would have each wait for
# the other (tests/analyses/test_streams.py).
_EVENTS = f"""
    with objects as (select file, parent, hash(name) as title from files where name is not null),
    about as (
        select mount, {former_names.DIRECTORY} as directory,
               coalesce(former.title, objects.title) as title, what, call, call_time, reply_time,
               srt, unsure
        from (
                 select *, {place("op", _OPERATIONS)} as what,
                        version = 4 and op = 'GETATTR' as unsure
                 from calls
             ) as calls
             join objects using (file)
             left join (
                 select call, directory, hash(name) as title from {former_names.TABLE}
             ) as former using (call)
        where of_stretch(call) and {among("op", _OPERATIONS)} and not callback and program = {NFS}
              and reply_time is not null
              and {former_names.DIRECTORY}
                  in (select listings.directory from listings)
    ),
    asked as materialized (
        from about where not unsure or call in (
            select call from operations
            where of_stretch(call) and op = 'GETATTR' and {ASKS_STATE})
    )
    select mount, listings.directory, hash(name) as title, reply_time as moment,
           plus and {listings.BROUGHT} as plus,
           null::utinyint as op, null::bigint as reply_time, null::bigint as srt
    from entries join listings using (call, position)
    where of_stretch(entries.call) and of_stretch(listings.call)
          and listings.reply_time is not null and listings.directory is not null
    union all
    select mount, directory, title, call_time, null, what, reply_time, srt from asked
"""
"""Entries that were told, and calls about them."""

_OBJECTS = f"""
    create temp table objects as
    select mount, listings.directory, entries.file, min(reply_time) as told_at
    from entries join listings using (call, position)
    where plus and {listings.BROUGHT} and entries.file is not null and name not in ('.', '..')
          and reply_time is not null
    group by all
"""

_TOLD = f"""
    create temp table told as
    with touched as (
        select directory, count(*) as touched
        from objects semi join ({listings.USED}) as used
             on objects.mount = used.mount and objects.file = used.file
                and objects.told_at <= used.call_time
        group by directory
    )
    select directory, plus_entries, plus_entries - coalesce(touched, 0) as untouched
    from (select directory, count(*) as plus_entries from objects group by directory)
         left join touched using (directory)
"""


_BY_DIRECTORY = f"""
    create temp table by_directory as
    with turns as (
        select *, lag(plus) over (partition by mount, directory order by call_time, call) as before
        from listings
    ),
    calls_of as (
        select directory, count(*) filter (not plus) as plain, count(*) filter (plus) as plus,
               count(*) filter (plus is null) as unknown,
               count(*) filter (version = 4 and not plus) as v4_plain,
               count(*) filter (version = 4 and plus) as v4_plus,
               case when count(cookie) > 0 then count(*) filter (cookie = 0) end as listings,
               count(reply_time) as answered,
               sum(entries) as entries, sum(reply_bytes) as bytes, sum(srt) as time,
               max(requested) as largest,
               case when directory is not null
                    then count(*) filter (before and not plus) end as lost,
               case when directory is not null
                    then count(*) filter (not before and plus and not unsupported) end as won,
               directory is null as unplaced,
               directory is null or count(entries) = 0 or count(plus) < count(*) as untold
        from turns group by directory
    ),
    -- Few are about directories: what they asked for is looked up for these alone.
    about as materialized (
        select call, file, version, srt from calls
        where op = 'GETATTR' and not callback and program = {NFS} and reply_time is not null
              and file in (select directory from listings)
    ),
    asked as (
        select file as directory, count(*) as asked, sum(srt) as asked_time
        from about
        where version < 4 or call in (
            select operations.call from operations semi join about using (call)
            where op = 'GETATTR' and {ASKS_STATE})
        group by file
    ),
    after as (
        select directory, sum(calls) as follow_ups, sum(time) as follow_up_time
        from followed group by directory
    ),
    left_out as (
        select listings.directory, count(*) as bare
        from entries join listings using (call, position)
        where plus and not {listings.BROUGHT} and name not in ('.', '..')
        group by listings.directory
    )
    select calls_of.*,
           coalesce(asked, case when unplaced then null else 0 end) as asked,
           coalesce(asked_time, case when unplaced then null else 0 end) as asked_time,
           coalesce(follow_ups, case when untold then null else 0 end) as follow_ups,
           coalesce(follow_up_time, case when untold then null else 0 end) as follow_up_time,
           coalesce(plus_entries, case when untold then null else 0 end) as plus_entries,
           coalesce(untouched, case when untold then null else 0 end) as untouched,
           coalesce(bare, case when untold then null else 0 end) as bare
    from calls_of left join asked using (directory) left join after using (directory)
         left join told using (directory) left join left_out using (directory)
"""

_SUMMED = (
    "plain", "plus", "unknown", "v4_plain", "v4_plus", "listings", "entries", "bytes", "time",
    "lost", "won", "asked", "asked_time", "follow_ups", "follow_up_time", "plus_entries",
    "untouched", "answered", "bare",
)  # fmt: skip
"""What is added up over directories."""

_TOTALS = f"""
    select nullif(count(directory), 0) as directories, max(its.largest) as largest,
           {", ".join(f"sum(its.{name}) as {name}" for name in _SUMMED)}
    from by_directory as its
"""


def _follow_ups(cursor: duckdb.DuckDBPyConnection, walls: tuple[int, int]) -> dict[bool, FollowUps]:
    """Follow-ups after listings without and with attributes."""
    rows = cursor.execute(
        """
        select plus, sum(calls), sum(calls) filter (op = 0), sum(calls) filter (op = 1),
               sum(calls) filter (op = 2), sum(time)
        from followed group by plus
        """
    ).fetchall()
    return {
        bool(plus): FollowUps(
            calls=integer(calls),
            lookups=integer(lookups),
            getattrs=integer(getattrs),
            accesses=integer(accesses),
            time_s=seconds(time) or 0.0,
            wall_s=seconds(walls[plus]) or 0.0,
        )
        for plus, calls, lookups, getattrs, accesses, time in rows
    }


def _directories(
    cursor: duckdb.DuckDBPyConnection, top: int, sort: DirectorySort
) -> Sequence[DirectoryListing]:
    shown = paths.best(
        cursor,
        f"""
        select directory, server, plain, plus, unknown, listings, entries, bytes, time, lost,
               won, asked, asked_time, follow_ups, follow_up_time, plus_entries, untouched,
               standing
        from (select *, rank() over (order by {_ORDER[sort]}) as standing from by_directory) as its
             join (select file, server from files) as named on named.file = directory
        {f"where standing <= {top}" if top else ""}
        """,
        top,
        file="directory",
        then=("directory",),
    )
    return spilled.listed((_directory(row, path) for row, path in shown), DirectoryListing)


def _directory(row: Row, path: str) -> DirectoryListing:
    """Read a row of the query in `_directories`."""

    def told_apart(name: str) -> int | None:
        """How many are of a kind; None where that is not known of all."""
        return known(integer(row[name]), unless=row["unknown"] > 0)

    return DirectoryListing(
        file=integer(row["directory"]),
        path=path,
        server=str(row["server"]),
        readdir_calls=told_apart("plain"),
        readdirplus_calls=told_apart("plus"),
        unknown_calls=integer(row["unknown"]),
        listings=whole(row["listings"]),
        entries=whole(row["entries"]),
        bytes=whole(row["bytes"]),
        time_s=seconds(row["time"]),
        plus_lost=told_apart("lost"),
        plus_won_back=told_apart("won"),
        revalidations=integer(row["asked"]),
        revalidation_s=seconds(row["asked_time"]) or 0.0,
        follow_ups=whole(row["follow_ups"]),
        follow_up_s=seconds(row["follow_up_time"]),
        plus_entries=whole(row["plus_entries"]),
        untouched=whole(row["untouched"]),
    )
