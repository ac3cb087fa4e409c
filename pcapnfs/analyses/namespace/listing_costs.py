"""What it cost to list directories without attributes, and what it cost to list them with.

Takes a trace; gives for each client and server the calls that listings with attributes
(READDIRPLUS, or a READDIR of NFSv4 that asks for what a stat needs) would have spared. This is the
one place that says which these are: the finding, the forecast and the numbers of `readdir` rest on
it. And what listings with attributes took beyond what a small call takes, with the entries that
nobody asked for afterwards.

Entries are *asked for one by one* where each entry told without attributes is asked for by a LOOKUP
or GETATTR, as long as one follows another. Attributes that had come with the listing would have
spared those LOOKUPs and GETATTRs that come while a client believes them: 3 s for a file, 30 s for a
directory, which is what Linux begins with. The clock for that is the client's without the calls
that are spared: who looks at ten thousand entries in a minute, and waits for nothing but these
calls, would have had them all at once. But who asks for other things of each entry (ACLs, data)
takes that time in any case; once the attributes have expired a GETATTR takes the place of the
LOOKUP, and nothing is spared. A directory that is opened is asked for in any case, as is a file
with NFSv3: of one that is read, written or examined by ACCESS, the first question alone is spared.
A listing with attributes that was cut may have told any entry.

What a mount believes otherwise (actimeo, acregmin, noac) is not taken into account. Longer timeouts
show in no call, and of those without any, attributes spare what asks for types in place of what
asks for the entry.

READDIR of NFSv3 tells no types either. Whoever walks a tree (ls -R, find) must then ask about each
entry to learn whether it is a directory, also in later walks, when the client has the names and the
attributes have expired. With attributes the client would have kept the type with the name. What a
program asks that wants more than the type looks the same, and would be asked in any case.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts, paths, population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.questions import DIRECTORY_FRESH_S, FILE_FRESH_S
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.caching.told import ASKS_STATE
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.namespace import former_names, listings
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    clock_ticks.READS,
    listings.READS,
    listings.USED_READS,
    listings.BROUGHT_READS,
    former_names.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback program version op call_frame call_time reply_frame reply_time "
        "file directory",
        operations="call op attributes",
        files="file parent name path role",
        entries="call position name file",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(listings.LISTING)
"""Only these list."""

WALK_SHARE = 0.5
"""Of the entries of a directory so many are asked about in a walk: others only look for some."""

PLACES_SHOWN = 3
"""Directories that are told."""


class ListingCosts(Record):
    """One client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    plain_calls: int
    """Calls that listed without attributes."""
    plain_versions: tuple[int, ...]
    """Versions of NFS of these, 3 or 4."""
    plain_entries: int
    """Entries that came without attributes, in their replies or in others; without `.` and `..`."""
    asked: Spared
    """LOOKUPs and GETATTRs that asked for these entries one by one: the first about each, at most
    30 s after that about another one or the listing, and what else would have been spared."""
    asked_entries: int
    """Entries that these were about."""
    followed: Spared
    """Those of them that attributes in the listing would have spared."""
    untyped: Spared
    """What later walks asked about entries whose listing had told no type, of a tree, and nothing
    else was asked about: attributes in the listing would have spared them if the program only
    wanted types (ls -R, find -name), and none of them if it wanted attributes (find -ls, du)."""
    places: tuple[str, ...]
    """The directories with most of them; paths, not escaped."""
    plus_calls: int
    """Calls that listed with attributes, but for those that are not supported."""
    plus_entries: int
    """Entries in their replies that came with attributes; without `.` and `..`."""
    plus_objects: int
    """Objects among these, each once."""
    touched: int
    """Those of them that some later call of the client was about."""
    plus: Spared
    """These calls."""
    plus_extra_s: float
    """What they took of the clock beyond the median of GETATTR, LOOKUP and ACCESS for each,
    seconds."""
    plus_unsupported: int = 0
    """READDIRPLUSes answered that the server has no such call (NOTSUPP)."""
    listed_both_ways: int = 0
    """Directories that were listed with attributes and without them: the client chose."""
    bare_calls: int = 0
    """Calls that listed with attributes, of which the server brought those of some entries not."""
    bare_entries: int = 0
    """Entries that came without attributes, though these calls asked for them."""

    @property
    def spared(self) -> tuple[Spared, Spared]:
        """What attributes are reckoned to spare: half of what may be for types alone."""
        return self.followed, self.untyped.half()

    @property
    def fewer(self) -> int:
        """Calls of that."""
        return sum(each.calls for each in self.spared)


@once
def listing_costs(trace: Trace) -> tuple[ListingCosts, ...]:
    """Add up, for each client and server that listed a directory, in the order of addresses."""
    if not NEEDS.met(trace):
        return ()
    listings.register(trace)
    former_names.register(trace)
    shares.register(trace)
    mounts = traffic.mounts(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_LISTED)
        ((any_plain, any_plus),) = cursor.execute(
            "select coalesce(bool_or(not plus), false), coalesce(bool_or(plus), false) from listed"
        ).fetchall()
        if not any_plain and not any_plus:
            return ()
        cursor.execute(_TOLD)
        ((any_bare,),) = cursor.execute(
            "select coalesce(bool_or(bare), false) from told"
        ).fetchall()
        cursor.execute(_OBJECTS)
        order = "frame" if clock(trace).tick_s is not None else "time"
        without = any_plain or any_bare
        cursor.execute(_AFTER.format(order=order), {"without": without})
        cursor.execute(_ONE_BY_ONE)
        if without:
            _ask_one_by_one(trace, cursor)
        cursor.execute(_FOLLOWED)
        cursor.execute(_UNTYPED, {"without": without})
        found = paths.most_in(cursor, "followed", PLACES_SHOWN)
        rows = cursor.execute(_BY_MOUNT, {"plus": any_plus}).fetchall()
        unsupported = dict(cursor.execute(_UNSUPPORTED).fetchall())
        both = dict(cursor.execute(_BOTH_WAYS).fetchall()) if any_plain and any_plus else {}
    return tuple(
        ListingCosts(
            client=mounts[mount][0],
            server=mounts[mount][1],
            plain_calls=integer(plain),
            plain_versions=tuple(versions or ()),
            plain_entries=integer(plain_entries),
            asked=spared.of_row(values[0:4]),
            asked_entries=integer(entries),
            followed=spared.of_row(values[4:8]),
            untyped=spared.of_row(values[8:12]),
            places=tuple(found.get(mount, ())),
            plus_calls=integer(plus),
            plus_unsupported=unsupported.get(mount, 0),
            listed_both_ways=both.get(mount, 0),
            bare_calls=integer(bare_calls),
            bare_entries=integer(bare_entries),
            plus_entries=integer(plus_entries),
            plus_objects=integer(objects),
            touched=integer(touched),
            plus=spared.of_row(values[12:16]),
            plus_extra_s=seconds(extra) or 0.0,
        )
        for mount, plain, versions, plain_entries, plus, plus_entries, objects, touched,
        entries, bare_entries, bare_calls, extra, *values
        in rows
    )  # fmt: skip


def _ask_one_by_one(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Fill the table of calls that ask for entries one by one."""
    walk = walks.OneByOne(longest_s=listings.FOLLOW_UP_S)
    for rows in parts.of(trace, cursor, _ASKED, by="mount, directory", entries=True):
        walks.put(cursor, "one_by_one", walk.asked(rows))


_LISTED = f"""
    create temp table listed as
    select mount, version, call, position, directory, call_frame, reply_frame, reply_time, plus,
           untyped, cut, entries
    from {listings.TABLE}
    where directory is not null and version >= 3 and reply_time is not null and not unsupported
"""

_UNSUPPORTED = f"select mount, count(*) from {listings.TABLE} where unsupported group by mount"

_BOTH_WAYS = """
    select mount, count(*) from (
        select mount, directory from listed
        group by mount, directory having bool_or(plus) and bool_or(not plus)
    ) group by mount
"""

_TOLD = f"""
    create temp table told as
    select mount, listed.directory, {former_names.title()} as title, entries.file, listed.call,
           reply_frame, reply_time, plus and {listings.BROUGHT} as plus,
           coalesce(plus and not {listings.BROUGHT}, false) as bare,
           coalesce(untyped, false) or bare as untyped
    from entries join listed using (call, position)
    where name not in ('.', '..')
"""

_OBJECTS = """
    create temp table objects as
    select mount, file, max(reply_time) as told_at from told
    where plus and file is not null group by mount, file
"""

_OF_OPEN = ("ACCESS", "READ", "WRITE")
"""Operations of NFSv3 by which a client uses a file that a program has opened."""

# A name is what a listing always has; handles come with attributes alone. By a clock that ticks, a
# call and the listings before and after it may be of one moment: frames tell which came first.
_AFTER = f"""
    create temp table after as
    with about as (
        select mount, {former_names.DIRECTORY} as directory,
               {former_names.TITLE} as title, file, call, call_frame, call_time,
               reply_time, version, version = 4 and op = 'GETATTR' as unsure,
               is_directory as opened
        from {former_names.CALLS}
        where $without and {among("op", ("GETATTR", "LOOKUP"))} and not callback and program = {NFS}
              and reply_time is not null
              and {former_names.DIRECTORY}
                  in (select directory from listed where not plus
                      union select directory from told where bare)
    ),
    asked as materialized (
        from about where not unsure
        union all
        from about where unsure and call in (
            select call from operations where op = 'GETATTR' and {ASKS_STATE})
    ),
    used as (
        select distinct mount, file from calls
        where $without and not callback and version < 4 and program = {NFS}
              and {among("op", _OF_OPEN)}
              and file in (select file from asked)
    ),
    -- A listing that was cut may have told any name with attributes.
    cut as (
        select mount, directory, reply_{{order}} as cut_{{order}}
        from listed where entries is null and coalesce(plus, true)
    )
    select asked.mount, asked.directory, asked.title, asked.file, asked.call, call_frame, call_time,
           asked.reply_time, opened, told.reply_time as told_time, told.call as listing, untyped,
           opened or version < 4 and (asked.mount, asked.file) in (from used) as asks_at_open
    from asked asof join (from told semi join asked using (mount, directory, title)) as told
         on asked.mount = told.mount and asked.directory = told.directory
            and asked.title = told.title and asked.call_{{order}} >= told.reply_{{order}}
         asof left join cut
         on asked.mount = cut.mount and asked.directory = cut.directory
            and asked.call_{{order}} >= cut.cut_{{order}}
    where not plus and coalesce(cut_{{order}} < told.reply_{{order}}, true)
"""

_ASKED = f"""
    select mount, directory, call, call_time as moment, after.reply_time, pause,
           title, listing, told_time as told, asks_at_open as once,
           case when opened then {int(DIRECTORY_FRESH_S * NANOSECONDS)}
                else {int(FILE_FRESH_S * NANOSECONDS)} end::bigint as fresh
    from after join shares using (call)
"""

_ONE_BY_ONE = "create temp table one_by_one (call ubigint, first boolean, spared boolean)"

_FOLLOWED = """
    create temp table followed as
    select mount, directory, call, call_frame, first, spared, share, pause
    from after join one_by_one using (call) join shares using (call)
"""

# A walk opens each directory, which Linux asks about at every open, then asks entry by entry.
_UNTYPED = f"""
    create temp table untyped as
    with names as (
        select mount, directory, count(distinct title) as entries
        from told where untyped group by mount, directory
    ),
    tree as (
        select names.*, parent from names join files on file = directory
    ),
    -- Only who goes on into directories needs types.
    walked as (
        select mount, directory, entries from tree
        where (mount, parent) in (select (mount, directory) from names)
              or (mount, directory) in (select (mount, parent) from tree)
    ),
    openings as (
        select mount, file as directory, call_time
        from calls semi join walked on calls.mount = walked.mount and file = walked.directory
        where $without and op = 'GETATTR' and not callback and program = {NFS}
    ),
    visits as (
        select after.*, openings.call_time as opened_time
        from after asof join openings
             on after.mount = openings.mount and after.directory = openings.directory
                and after.call_time >= openings.call_time
        where untyped
    ),
    paced as (
        select *, call_time - coalesce(lag(call_time) over (
                      partition by mount, directory, opened_time order by call_time, call),
                      opened_time) > {listings.FOLLOW_UP_S * NANOSECONDS} as late
        from visits
    ),
    kept as (
        select * from paced
        qualify not bool_or(late) over (partition by mount, directory, opened_time
                                        order by call_time, call)
    ),
    walks as (
        select mount, directory, opened_time
        from kept join walked using (mount, directory)
        group by mount, directory, opened_time, entries
        having count(distinct title) >= {WALK_SHARE} * entries
    ),
    used as (
        select distinct mount, file from calls
        where $without and not callback and op not in ('GETATTR', 'LOOKUP')
              and file in (select file from visits)
    )
    select mount, call, call_frame, share, pause
    from kept semi join walks using (mount, directory, opened_time)
         anti join followed using (call) anti join used using (mount, file)
         join shares using (call)
    where not opened
"""

_SMALL = shares.where(f"""
    {among("op", ("GETATTR", "LOOKUP", "ACCESS"))} and program = {NFS} and reply_time is not null
""")

_BY_MOUNT = f"""
    with listings_by as (
        select mount, count(*) filter (not listed.plus) as plain_calls,
               list_sort(list(distinct version) filter (not listed.plus)) as plain_versions,
               {spared.columns("listed.plus", "plus")}
        from listed join shares using (call) group by mount
    ),
    followed_by as (
        select mount, count(*) filter (first) as asked_entries,
               {spared.columns("true", "asked")}, {spared.columns("spared", "followed")}
        from followed group by mount
    ),
    untyped_by as (
        select mount, {spared.columns("true", "untyped")} from untyped group by mount
    ),
    small as (
        select mount, median(share) as usual
        from calls join shares using (call)
        where $plus and {_SMALL}
        group by mount
    ),
    counted as (select mount, count(*) as objects from objects group by mount),
    touched_by as (
        select mount, count(*) as touched
        from objects semi join ({listings.USED}) as used
             on objects.mount = used.mount and objects.file = used.file
                and objects.told_at <= used.call_time
        group by mount
    ),
    entries_of as (
        select mount, count(*) filter (not plus) as plain_entries,
               count(*) filter (plus) as plus_entries,
               count(*) filter (bare) as bare_entries,
               count(distinct call) filter (bare) as bare_calls
        from told group by mount
    )
    select mount, plain_calls, plain_versions, coalesce(plain_entries, 0), plus_calls,
           coalesce(plus_entries, 0), coalesce(objects, 0), coalesce(touched, 0),
           coalesce(asked_entries, 0), coalesce(bare_entries, 0), coalesce(bare_calls, 0),
           greatest(plus_share - plus_calls * coalesce(usual, 0), 0),
           {spared.names("asked")}, {spared.names("followed")}, {spared.names("untyped")},
           {spared.names("plus")}
    from listings_by left join followed_by using (mount) left join untyped_by using (mount)
         left join small using (mount) left join counted using (mount)
         left join touched_by using (mount) left join entries_of using (mount)
    order by mount
"""
