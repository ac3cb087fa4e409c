"""Names that a client had to look up again because somebody else changed their directory.

Takes a connection with the table `learned` (`change_ids`); gives for each client and server the
LOOKUPs of names that a listing with attributes, or a call of the client's own (`voided_lookups`),
had told, in directories of which the client learnt since then that somebody else had changed them.
A client keeps what it knows of names for as long as their directory is unchanged: one new file
voids all names in it, of thousands of entries too, and each is then asked for by itself. Only the
first LOOKUP of a name after such a change counts, and none of a name that a listing told where the
client had changed the directory itself: that may void names as well.

What kept names of a listing would have spared is reckoned as in `listing_costs`: the LOOKUPs that
come while a client believes the attributes of the listing, by a clock without the calls that are
spared. Later a GETATTR takes the place of the LOOKUP. So it does where the object is opened: not
spared is a LOOKUP whose next call about the object is one by which an open begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts, paths, population
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import change_ids as _change_ids
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.caching.questions import DIRECTORY_FRESH_S, FILE_FRESH_S
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import (
    changed_directories,
    former_names,
    listings,
    voided_lookups,
)
from pcapnfs.analyses.namespace.names_again import LOOKED_UP
from pcapnfs.analyses.namespace.voided_lookups import OPENING, followed
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS, NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    _change_ids.READS,
    changed_directories.READS,
    listings.READS,
    listings.BROUGHT_READS,
    former_names.READS,
    voided_lookups.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback program version op status call_frame call_time reply_time file "
        "directory",
        files="file parent name path role",
        entries="call position name file",
    ),
)
"""The columns that the queries here read."""

NEEDS = LOOKED_UP
"""What must be there."""

LISTED = population.Operations(listings.LISTING)
"""What must be there for a listing to have told names."""

PLACES_SHOWN = 3
"""Directories that are told."""


class VoidedNames(Record):
    """What one client looked up again on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    asked: Spared
    """LOOKUPs of names that the client knew, until somebody else changed the directory: of those
    that a listing with attributes had told, one by one, at most 30 s after that of another name or
    after the listing."""
    kept: Spared
    """Those of them that would have been spared, had the client kept the names."""
    changes: int
    """Changes of these directories by somebody else that it noticed before them."""
    directories: int
    """Directories that these were about."""
    places: tuple[str, ...]
    """The directories with most of them; paths, not escaped."""


def voided_names(trace: Trace) -> tuple[VoidedNames, ...]:
    """Add up, for each client and server with any, in the order of addresses."""
    with change_ids(trace) as cursor:
        return of_learned(trace, cursor)


def of_learned(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> tuple[VoidedNames, ...]:
    """The same, on a connection with the tables of `change_ids`, of whole mounts."""
    if not NEEDS.met(trace):
        return ()
    cursor.execute(_FOUND)
    told, known = _listed(trace, cursor), voided_lookups.register(trace, cursor)
    if not told and not known:
        return ()
    shares.register(trace)
    if told:
        cursor.execute(_OF_LISTINGS)
    if told and known:
        cursor.execute(_TOLD_SINCE)
    if known:
        cursor.execute(_OF_LOOKUPS)
    places = paths.most_in(cursor, "voided_found", PLACES_SHOWN)
    found = cursor.execute(_BY_MOUNT).fetchall()
    answered, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    each = [
        VoidedNames(
            *mounts[mount],
            answered[mount],
            spared.of_row(values[0:4]),
            spared.of_row(values[4:8]),
            integer(changes),
            integer(directories),
            tuple(places.get(mount, ())),
        )
        for mount, changes, directories, *values in found
    ]
    return tuple(sorted(each, key=lambda pair: (pair.client, pair.server)))


def _listed(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> bool:
    """Make the tables `names_voided` and `voided_one_by_one`: whether there was anything to ask."""
    if not LISTED.met(trace):
        return False
    listings.register(trace)
    cursor.execute(_CHANGED)
    if not any_changed(cursor):
        return False
    changed_directories.register(trace)
    former_names.register(trace)
    shares.register(trace)
    for statement in (_TOLD, _LOOKED_UP, _KNOWN, _VOIDED, _OPENED, _ASKED, _ONE_BY_ONE):
        cursor.execute(statement)
    walk = walks.OneByOne(longest_s=listings.FOLLOW_UP_S)
    many = parts.number(trace, entries=False)
    for rows in parts.of_table(trace, cursor, "voided_asked", "mount, directory", many):
        walks.put(cursor, "voided_one_by_one", walk.asked(rows))
    return True


def any_changed(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether somebody else changed a listed directory, on a connection with `changed_by_others`.

    In few captures anybody did: without, nothing else is asked.
    """
    return cursor.execute("select 1 from changed_by_others limit 1").fetchone() is not None


_CHANGED = f"""
    create temp table changed_by_others as
    select mount, file as directory, reply_time as moment
    from learned
    where finding = 'other'::finding
          and file in (select directory from {listings.TABLE} where plus)
"""

# Tables, since DuckDB then knows how many rows these have: it would compare each of them with each
# of the others.
_TOLD = f"""
    create temp table names_told as
    select mount, listings.directory, {former_names.title()} as title, listings.call as listing,
           reply_time, plus and {listings.BROUGHT} as plus
    from entries join {listings.TABLE} as listings using (call, position)
    where listings.directory in (select directory from changed_by_others)
          and name not in ('.', '..') and reply_time is not null
"""

_LOOKED_UP = f"""
    create temp table names_looked_up as
    with looked_up as (
        select mount, {former_names.DIRECTORY} as directory,
               {former_names.TITLE} as title, file, call, call_frame, call_time,
               reply_time, is_directory as opened, version < 4 or opened as asks_at_open
        from {former_names.CALLS}
        where op = 'LOOKUP' and status = 0 and not callback and program = {NFS}
              and reply_time is not null
              and {former_names.DIRECTORY}
                  in (select directory from changed_by_others)
    )
    from looked_up semi join names_told using (mount, directory, title)
"""

# The names are those of the listing, as in listing_costs: the last one that told a name decides
# whether it did so with attributes.
_KNOWN = """
    create temp table names_known as
    select looked_up.*, names_told.listing, names_told.reply_time as told, plus,
           greatest(names_told.reply_time, lag(looked_up.reply_time) over (
               partition by looked_up.mount, looked_up.directory, looked_up.title
               order by call_time, call)) as known_time
    from names_looked_up as looked_up asof join (
             from names_told semi join names_looked_up using (mount, directory, title)
         ) as names_told
         on looked_up.mount = names_told.mount and looked_up.directory = names_told.directory
            and looked_up.title = names_told.title and looked_up.call_time >= names_told.reply_time
"""

_VOIDED = f"""
    create temp table names_voided as
    with own as materialized (
        {changed_directories.by_client("select directory from changed_by_others")}
    )
    select known.mount, known.directory, title, file, known.call, call_frame, known.call_time,
           known.reply_time, opened, asks_at_open, listing, told, moment
    from names_known as known asof join changed_by_others as changed
         on known.mount = changed.mount and known.directory = changed.directory
            and known.call_time >= changed.moment
         asof left join own
         on known.mount = own.mount and known.directory = own.directory
            and known.call_time >= own.call_time
    where plus and moment >= known_time and coalesce(until < known_time, true)
"""

_OPENED = f"""
    create temp table voided_opened as
    select call from ({followed("select file from names_voided", OPENING)}) where leads_on
"""

# What begins an open is a question of its own, which nothing spares.
_ASKED = f"""
    create temp table voided_asked as
    select mount, directory, call, call_time as moment, reply_time, pause, title,
           listing, told, false as once,
           case when asks_at_open and call in (from voided_opened) then 0
                when opened then {int(DIRECTORY_FRESH_S * NANOSECONDS)}
                else {int(FILE_FRESH_S * NANOSECONDS)} end::bigint as fresh
    from names_voided join shares using (call)
"""

_ONE_BY_ONE = "create temp table voided_one_by_one (call ubigint, first boolean, spared boolean)"

_FOUND = """
    create temp table voided_found (
        mount uinteger, directory uinteger, moment bigint, call ubigint, call_frame ubigint,
        spared boolean, share bigint, pause bigint
    )
"""

_OF_LISTINGS = """
    insert into voided_found by name
    select mount, directory, moment, call, call_frame, spared, share, pause
    from names_voided join voided_one_by_one using (call) join shares using (call)
"""

# What a listing told since the client last looked it up is one of its names, void or not.
_TOLD_SINCE = """
    delete from voided_lookups where call in (
        select known.call from names_known as known join voided_lookups using (call)
        where known.told >= taught
    )
"""

_OF_LOOKUPS = """
    insert into voided_found by name
    select mount, directory, moment, call, call_frame, spared, share, pause
    from voided_lookups join shares using (call)
    where call not in (select call from voided_found)
"""

_BY_MOUNT = f"""
    select mount, count(distinct (directory, moment)), count(distinct directory),
           {spared.columns("true", "asked")}, {spared.columns("spared", "kept")}
    from voided_found group by mount
"""
