"""Names that were looked for and never were: what a search path costs.

Takes a trace; counts LOOKUPs, and OPENs that look a name up, answered NOENT. A name that came into
being in that directory later in the capture does not count: whoever creates a file looks first
whether it is there. Nor does one that may have (names, directories or whole operations that may
create something were cut off later), or that was to be made and was refused.
"""

from __future__ import annotations

from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import joined, paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.statuses import NOENT
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace.listings import LISTING
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount client server callback op stability status call_frame",
        operations="call op executed status stability file directory name target_directory "
        "new_name",
        names="call directory name file",
        files="file path parent type",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("LOOKUP", "OPEN"), statuses=(NOENT,))
"""Without one that found nothing there is none."""

APPLE_DOUBLE = "._"
"""How the name of the file begins that macOS keeps beside another one, for its extended attributes
and resource fork."""

MAKES = ("OPEN", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "LINK", "RENAME")
"""Operations that give something a name."""

NAMES_SHOWN = 5
"""Names that are told."""

PLACES_SHOWN = 6
"""Directories of a name, or of a search order, that are told."""

ORDERS_SHOWN = 3
"""Search orders that are told."""


class MissingName(Record):
    """A name that was looked for in vain."""

    name: str
    """The name; not escaped."""
    searches: int
    """How often it was looked for."""
    directories: int
    """In how many directories."""
    places: tuple[str, ...]
    """The first of them, in the order in which they were searched; not escaped."""


class SearchOrder(Record):
    """Directories in which names were looked for one after the other."""

    places: tuple[str, ...]
    """The first of them, in their order; not escaped."""
    searches: int
    """How often names were looked for in just these, in this order."""
    names: int
    """How many names."""


class NotFound(Record):
    """What one client looked for in vain on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    lookups: int
    """Its LOOKUPs, and OPENs by name that create nothing, answered."""
    missing: int
    """Those of them that found nothing, of a name that did not come into being there later, nor was
    to, for all that was not cut off or lost."""
    again: int
    """Those of them that the client had looked for in the same directory before."""
    apple_double: int
    """Those of them whose names are such as macOS gives to files of extended attributes."""
    names: tuple[MissingName, ...]
    """The names looked for most."""
    orders: tuple[SearchOrder, ...]
    """The orders of two directories or more in which most names were looked for in vain."""
    searched: int
    """Of those that found nothing, those that belong to a search: the name was looked for in
    another directory before or after, and the client used neither in between."""
    climbing: int
    """Searches that went from a directory to its parent, and so on: node_modules, configuration
    files."""
    time_s: float
    """What they took of the clock (`shares`), seconds."""
    pause_s: float
    """The client's own time that they took beside it (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of calls."""
    opens: int = 0
    """Part of lookups: the OPENs."""


def not_found(trace: Trace) -> tuple[NotFound, ...]:
    """Count, for each client and server, by the time it took."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_GONE)
        cursor.execute(_MAYBE_MADE)
        cursor.execute(_MISSED)
        pairs = cursor.execute(_PAIRS, {"examples": EXAMPLES, **traffic.named(trace)}).fetchall()
        names = cursor.execute(_NAMES, {"names": NAMES_SHOWN, "places": PLACES_SHOWN}).fetchall()
        orders, steps = _searched(cursor)
        known = paths.of(cursor, (place for row in (*names, *orders) for place in row[_PLACES]))
    found: dict[tuple[str, str], list[MissingName]] = {}
    for client, server, places, name, searches, directories in names:
        found.setdefault((client, server), []).append(
            MissingName(
                str(name),
                integer(searches),
                integer(directories),
                tuple(known[place] for place in places),
            )
        )
    searched: dict[tuple[str, str], list[SearchOrder]] = {}
    for client, server, places, searches, told in orders:
        searched.setdefault((client, server), []).append(
            SearchOrder(tuple(known[place] for place in places), integer(searches), integer(told))
        )
    stepped = {
        (client, server): (integer(searched), integer(climbs))
        for client, server, searched, climbs in steps
    }
    return tuple(
        NotFound(
            client=str(client),
            server=str(server),
            lookups=integer(lookups),
            missing=integer(missing),
            again=integer(again),
            apple_double=integer(apple_double),
            names=tuple(found.get((client, server), ())),
            orders=tuple(searched.get((client, server), ())),
            searched=stepped.get((client, server), (0, 0))[0],
            climbing=stepped.get((client, server), (0, 0))[1],
            time_s=seconds(time) or 0.0,
            pause_s=seconds(pause) or 0.0,
            frames=tuple(frames),
            opens=integer(opens),
        )
        for (
            client,
            server,
            lookups,
            opens,
            missing,
            again,
            apple_double,
            time,
            pause,
            frames,
        ) in pairs
    )


def _searched(
    cursor: duckdb.DuckDBPyConnection,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The orders in which directories were searched, and how many steps of a pair were searches."""
    cursor.execute(_TURNS)
    if not any_step(cursor):
        return [], []
    cursor.execute(_WORKED)
    cursor.execute(_SEARCHES, {"places": PLACES_SHOWN})
    return (
        _first(cursor, cursor.execute(_ORDERS, {"orders": ORDERS_SHOWN}).fetchall()),
        cursor.execute(_SEARCHED).fetchall(),
    )


def any_step(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether a name was looked for in more than one directory."""
    return cursor.execute(_STEPS).fetchone() is not None


def _first(cursor: duckdb.DuckDBPyConnection, orders: list[Any]) -> list[Any]:
    """The search orders that are told, the most frequent first, then in the order of their paths.

    Of those as frequent as the last all are there.
    """
    ranks = paths.ranks(cursor, list({place for row in orders for place in row[_PLACES]}))
    orders.sort(key=lambda row: (*row[:2], -row[3], [ranks[place] for place in row[_PLACES]]))
    pairs = groupby(orders, key=itemgetter(0, 1))
    return [row for _, of_pair in pairs for row in islice(of_pair, ORDERS_SHOWN)]


_PLACES = 2
"""Where rows of names and of orders have the directories."""

_GONE = f"""
    create temp table gone as
    select call, directory, name from operations
    where {among("op", ("LOOKUP", "OPEN"))} and executed and status = {NOENT}
          and {joined.condition("name is not null and directory is not null", other="call")}
"""

_MADE_IN = "case when op = 'RENAME' then target_directory else directory end"
"""SQL: the directory in which an operation makes a name,"""

_MADE_AS = "case when op = 'RENAME' then new_name else name end"
"""and that name."""

# Without a reply, only an OPEN by handle is about an object and has no name.
_MAYBE_MADE = f"""
    create temp table maybe_made as
    with made as (
        select call, {_MADE_IN} as directory, {_MADE_AS} as name from operations
        where {among("op", MAKES)}
              and case when status not in (0, {NOENT}) and {_MADE_IN} is not null
                            and {_MADE_AS} is not null then true
                       when status is null then file is null or name is not null
                       else stability in ('stable', 'unknown')
                            and ({_MADE_IN} is null or {_MADE_AS} is null) end
    ),
    hidden as (
        select call, null::uinteger as directory, null::varchar as name from calls
        where op = 'COMPOUND' and stability = 'unknown' and coalesce(status, 0) = 0 and not callback
    )
    select case when directory is null then server end as server, directory,
           case when directory is not null then name end as name, max(call) as call
    from (from hidden union all from made) join (select call, server from calls) using (call)
    group by all
"""
"""The last operation that may have made a name in a directory, any name there if none is told, any
name of a server if no directory is told: what came of it is not in the capture, or where; or that
was to make it and was refused."""

# A lock file may be looked for, made and removed a hundred thousand times: its last name is enough.
_MISSED = """
    create temp table missed as
    with made_last as (
        select directory, name, max(call) as call
        from names semi join gone using (directory, name) where file is not null group by all
    )
    select call, client, server, call_frame, gone.directory, name
    from gone join calls using (call)
    where not callback and not exists (
        select 1 from made_last as made where made.directory = gone.directory
                                          and made.name = gone.name and made.call > gone.call
    ) and not exists (
        select 1 from maybe_made as made where made.directory = gone.directory
                                           and made.name = gone.name and made.call > gone.call
    ) and not exists (
        select 1 from maybe_made as made where made.directory = gone.directory
                                           and made.name is null and made.call > gone.call
    ) and not exists (
        select 1 from maybe_made as made where made.server = calls.server
                                           and made.call > gone.call
    )
"""

_PAIRS = f"""
    with looked as (
        select client, server, sum(of_mount)::bigint as lookups, sum(opens)::bigint as opens
        from (
            select mount, count(*) as of_mount, count(*) filter (op = 'OPEN') as opens
            from operations join (select call, mount, callback from calls) using (call)
            where {among("op", ("LOOKUP", "OPEN"))} and executed and name is not null
                  and directory is not null and {joined.condition("not callback", other="op")}
            group by mount
        ) join {traffic.NAMED} using (mount)
        group by client, server
    ),
    told as (
        select *, row_number() over (
            partition by client, server, directory, name order by call
        ) > 1 as again
        from missed
    ),
    counted as (
        select client, server, count(*) as missing, count(*) filter (again) as again,
               count(*) filter (starts_with(name, '{APPLE_DOUBLE}') and name <> '{APPLE_DOUBLE}')
                   as apple_double,
               sum(share) as share, sum(pause) as pause,
               list(call_frame order by call_frame)[:$examples] as frames
        from told left join shares using (call)
        group by client, server
    )
    select client, server, lookups, opens, missing, again, apple_double, share, pause, frames
    from counted join looked using (client, server)
    order by share desc, client, server
"""

# Directories are listed of names that are told alone: a list for each of a million names would be
# more than memory holds, and the database does not put lists on the disk.
_NAMES = """
    with counted as (
        select client, server, name, count(*) as searches
        from missed group by client, server, name
    ),
    told as (
        from counted
        qualify row_number() over (
            partition by client, server order by searches desc, name
        ) <= $names
    ),
    places as (
        select client, server, name, directory, min(call) as first
        from missed semi join told using (client, server, name)
        group by client, server, name, directory
    )
    select client, server, list(directory order by first, directory)[:$places], name, searches,
           count(*)
    from places join told using (client, server, name)
    group by client, server, name, searches
    order by client, server, searches desc, name
"""

# A search goes through each directory once: the n-th time of a name there is the n-th search.
_TURNS = """
    create temp table turns as
    with turned as (
        select client, server, name, call, directory,
               row_number() over (
                   partition by client, server, name, directory order by call) as turn
        from missed
    )
    select *, lead(call) over ways as next_call, lead(directory) over ways as next
    from turned
    window ways as (partition by client, server, name, turn order by call, directory)
"""

_STEPS = "select 1 from turns where next is not null limit 1"

_WORKED = f"""
    create temp table worked as
    with concerned as (
        select directory from turns where next is not null
        union
        select next from turns where next is not null
    ),
    regular as (select file, parent from files where type = 'REG'),
    there as (
        select parent as directory, file
        from regular join concerned on parent = directory
        union
        select directory, file
        from (select directory, file from names where file is not null)
             semi join concerned using (directory) semi join regular using (file)
    ),
    used as (select call, op, file from operations where executed and status = 0)
    select distinct directory, call from used join there using (file)
    union all
    select file, call from used semi join concerned on file = directory
    where {joined.condition(among("op", LISTING), other="file")}
"""
"""Calls that listed a directory, or that were about a regular file there: found it, opened, read
it, asked for its attributes. A file may have names in many."""

# A search comes from one directory to the next without any use of either.
_SEARCHES = f"""
    create temp table searches as
    with after as (
        select turns.*, worked.call as worked_after
        from turns asof left join worked
             on turns.directory = worked.directory and turns.call <= worked.call
    ),
    before as (
        select after.*, worked.call as worked_before
        from after asof left join worked
             on after.next = worked.directory and after.next_call >= worked.call
    ),
    judged as (
        select *, next is not null and coalesce(worked_after > next_call, true)
                      and coalesce(worked_before < call, true) as goes_on
        from before
    ),
    parted as (
        select *, coalesce(sum((not goes_on)::integer) over (
                   partition by client, server, name, turn order by call, directory
                   rows between unbounded preceding and 1 preceding), 0) as part
        from judged
    ),
    located as (
        select parted.*, place, parent
        from parted join {paths.HASHED} as hashed on hashed.file = directory
             join (select file, parent from files) as below on below.file = directory
    )
    select client, server, name, count(*) as steps,
           list(place order by call, directory)[:$places] as places,
           list(directory order by call, directory)[:$places] as directories,
           bool_and(not goes_on or coalesce(next = parent, false)) as climbs
    from located
    group by client, server, name, turn, part having count(*) > 1
"""

_ORDERS = """
    select client, server, min(directories), count(*), count(distinct name)
    from searches
    group by client, server, places
    qualify rank() over (partition by client, server order by count(*) desc) <= $orders
"""

_SEARCHED = """
    select client, server, sum(steps)::bigint, count(*) filter (climbs)
    from searches group by client, server
"""
