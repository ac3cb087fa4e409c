"""What it cost to list directories without attributes, and what it cost to list them with.

Takes a trace; gives for each client and server the calls that listings with attributes
(READDIRPLUS, or a READDIR of NFSv4 that asks for what a stat needs) would have spared: of each
entry told without attributes the first LOOKUP or GETATTR, as long as one entry follows another, and
those that follow within 3 s; by later ones the attributes would have expired. A directory that is
opened is asked for in any case. And what listings with attributes took beyond what a small call
takes, with the entries that nobody asked for afterwards.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares, spared
from pcapnfs.analyses.change_ids import ASKS_STATE
from pcapnfs.analyses.questions import FILE_FRESH_S
from pcapnfs.analyses.readdir import FOLLOW_UP_S
from pcapnfs.analyses.service_time import NANOSECONDS, integer, seconds
from pcapnfs.analyses.spared import Spared
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call mount client server callback program version op call_frame call_time "
        "reply_time file directory",
        operations="call position op file attributes plus",
        files="file parent name path role",
        entries="call position name file",
    ),
)
"""The columns that the queries here read."""

PLACES_SHOWN = 3
"""Directories that are told."""


@dataclass(frozen=True, slots=True)
class ListingCosts:
    """One client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    plain_calls: int
    """Calls that listed without attributes."""
    plain_entries: int
    """Entries in their replies; without `.` and `..`."""
    followed: Spared
    """LOOKUPs and GETATTRs about these entries that attributes in the listing would have spared:
    the first about each, at most 30 s after that about another one or the listing, and those at
    most 3 s later."""
    followed_entries: int
    """Entries that these were about."""
    places: tuple[str, ...]
    """The directories with most of them; paths, not escaped."""
    plus_calls: int
    """Calls that listed with attributes."""
    plus_entries: int
    """Entries in their replies; without `.` and `..`."""
    plus_objects: int
    """Objects among these, each once."""
    touched: int
    """Those of them that some later call of the client was about."""
    plus: Spared
    """These calls."""
    plus_extra_s: float
    """What they took of the clock beyond the median of GETATTR, LOOKUP and ACCESS for each,
    seconds."""


def listing_costs(trace: Trace) -> tuple[ListingCosts, ...]:
    """Add up, for each client and server that listed a directory, in the order of addresses."""
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_LISTED)
        ((any_plain, any_plus),) = cursor.execute(
            "select coalesce(bool_or(not plus), false), coalesce(bool_or(plus), false) from listed"
        ).fetchall()
        if not any_plain and not any_plus:
            return ()
        cursor.execute(_TOLD)
        cursor.execute(_FOLLOWED, {"plain": any_plain})
        found: dict[int, list[str]] = {}
        for mount, path in cursor.execute(_PLACES, {"places": PLACES_SHOWN}).fetchall():
            found.setdefault(mount, []).append(str(path))
        rows = cursor.execute(_BY_MOUNT, {"plus": any_plus}).fetchall()
    return tuple(
        ListingCosts(
            client=str(client),
            server=str(server),
            plain_calls=integer(plain),
            plain_entries=integer(plain_entries),
            followed=spared.of_row(values[0:4]),
            followed_entries=integer(followed),
            places=tuple(found.get(mount, ())),
            plus_calls=integer(plus),
            plus_entries=integer(plus_entries),
            plus_objects=integer(objects),
            touched=integer(touched),
            plus=spared.of_row(values[4:8]),
            plus_extra_s=seconds(extra) or 0.0,
        )
        for mount, client, server, plain, plain_entries, plus, plus_entries, objects, touched,
        followed, extra, *values
        in rows
    )  # fmt: skip


_LISTED = f"""
    create temp table listed as
    select mount, operations.call, position, operations.file as directory, call_frame, reply_time,
           operations.op = 'READDIRPLUS' or coalesce(plus, false) as plus
    from operations join calls using (call)
    where operations.op in ('READDIR', 'READDIRPLUS') and operations.file is not null
          and not callback and program = {NFS} and version >= 3 and reply_time is not null
"""

_TOLD = """
    create temp table told as
    select mount, listed.directory, name, entries.file, listed.call, reply_time, plus
    from entries join listed using (call, position)
    where name not in ('.', '..')
"""

# A name is what a listing always has; handles come with attributes alone.
_FOLLOWED = f"""
    create temp table followed as
    with about as (
        select mount, coalesce(calls.directory, parent) as directory, name, call, call_frame,
               call_time, version = 4 and op = 'GETATTR' as unsure, role = 'directory' as opened
        from calls join files using (file)
        where $plain and op in ('GETATTR', 'LOOKUP') and not callback and program = {NFS}
              and reply_time is not null
              and coalesce(calls.directory, parent) in (select directory from listed where not plus)
    ),
    asked as (
        from about where not unsure
        union all
        from about where unsure and call in (
            select call from operations where op = 'GETATTR' and {ASKS_STATE})
    ),
    after as (
        select asked.mount, asked.directory, asked.name, asked.call, call_frame, call_time, opened,
               told.reply_time as told_time, told.call as listing
        from asked asof join told
             on asked.mount = told.mount and asked.directory = told.directory
                and asked.name = told.name and asked.call_time >= told.reply_time
        where not plus
    ),
    timed as (
        select *, min(call_time) over (partition by mount, directory, name, listing) as first_time
        from after
    ),
    -- Entry by entry, until nothing comes for longer than a listing counts as the cause.
    first as (
        select mount, directory, name, listing, told_time, min(call_time) as first_time
        from timed group by mount, directory, name, listing, told_time
    ),
    paced as (
        select *, first_time - greatest(told_time, coalesce(lag(first_time) over (
                      partition by mount, directory order by first_time, name), told_time))
                  > {FOLLOW_UP_S * NANOSECONDS} as late
        from first
    ),
    caused as (
        select mount, directory, name, listing
        from paced
        qualify not bool_or(late) over (partition by mount, directory, listing
                                        order by first_time, name)
    )
    select mount, directory, name, listing, call, call_frame, call_time = first_time as first,
           share, pause
    from timed semi join caused using (mount, directory, name, listing) join shares using (call)
    where call_time = first_time
          or not opened and call_time - first_time < {FILE_FRESH_S * NANOSECONDS}
"""

_PLACES = """
    select mount, path
    from (select mount, directory, count(*) as times from followed group by all)
         join files on file = directory
    qualify row_number() over (partition by mount order by times desc, path) <= $places
    order by mount, times desc, path
"""

_BY_MOUNT = f"""
    with mounts as (
        select mount, any_value(client) as client, any_value(server) as server
        from calls where not callback group by mount
    ),
    listings as (
        select mount, count(*) filter (not listed.plus) as plain_calls,
               {spared.columns("listed.plus", "plus")}
        from listed join shares using (call) group by mount
    ),
    followed_by as (
        select mount, count(*) filter (first) as followed_entries,
               {spared.columns("true", "followed")}
        from followed group by mount
    ),
    small as (
        select mount, median(share) as usual
        from calls join shares using (call)
        where $plus and op in ('GETATTR', 'LOOKUP', 'ACCESS') and not callback and program = {NFS}
              and reply_time is not null and mount in (select mount from listed where plus)
        group by mount
    ),
    addressed as (
        select mount, file, max(call_time) as at_last
        from (
            select mount, file, call_time from calls
            where not callback
            union all
            select mount, directory, call_time from calls
            where not callback
        )
        where $plus and file in (select file from told where plus)
        group by all
    ),
    objects as (
        select mount, count(*) as objects, count(*) filter (at_last >= told_at) as touched
        from (
            select mount, file, max(reply_time) as told_at from told
            where plus and file is not null group by all
        ) left join addressed using (mount, file)
        group by mount
    ),
    entries_of as (
        select mount, count(*) filter (not plus) as plain_entries,
               count(*) filter (plus) as plus_entries
        from told group by mount
    )
    select mount, client, server, plain_calls, coalesce(plain_entries, 0), plus_calls,
           coalesce(plus_entries, 0), coalesce(objects, 0), coalesce(touched, 0),
           coalesce(followed_entries, 0),
           greatest(plus_share - plus_calls * coalesce(usual, 0), 0),
           {spared.names("followed")}, {spared.names("plus")}
    from listings join mounts using (mount) left join followed_by using (mount)
         left join small using (mount) left join objects using (mount)
         left join entries_of using (mount)
    order by mount
"""
