"""Attributes of new files that took calls of their own: owner, mode and times, set one by one.

Takes a trace; gives for each client and server the SETATTRs on files that the client made in the
capture. A program that unpacks or copies sets the times, the owner and the mode with a system call
each (utimensat, fchown, fchmod), and each of them is a SETATTR, on stable storage like the create.
Left out are those that set the size, that belong to an exclusive create (`exclusive_creates`), or
by which a client gives back the times that it kept under a delegation (RFC 9754).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.bitmaps import holds
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import new_files
from pcapnfs.analyses.namespace.exclusive_creates import (
    EXCLUSIVE,
    ONLY_TIMES,
    SOON_S,
    TIMES_AS_LONG,
    WITH_ATTRIBUTES,
)
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    new_files.READS,
    traffic.READS,
    population.OPERATIONS_READS,
    columns.of(
        calls="call mount callback op signature status file call_frame call_time reply_time",
        operations="call op set_size attributes",
        files="file parent name path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("SETATTR",), statuses=(0,))
"""Without one that succeeded nothing was set."""


class AttributeCalls(Record):
    """What one client set on files that it made at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    made: int
    """Files that it made."""
    files: int
    """Those of them on which it set attributes."""
    calls: Spared
    """The SETATTRs that did."""
    modes: int
    """Those of them that set the mode, as far as they were captured whole."""
    owners: int
    """Those that set the owner or the group, likewise."""
    times: int
    """Those that set times, likewise."""
    names: int
    """Names that the files on which attributes were set had last, each in its directory; a file
    whose name is not known counts as one."""
    journals: int
    """The SETATTRs on files with names as SQLite gives them to its journals and write-ahead logs:
    that of the database, and -journal, -wal or -shm behind it."""
    most: str | None
    """Path of the name under which most of these files were made; the first in the order of the
    alphabet where several are; None where no name is known."""


def attribute_calls(trace: Trace) -> tuple[AttributeCalls, ...]:
    """Count them, by client and server."""
    if not (NEEDS.met(trace) and new_files.register(trace)):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        for statement in (_NEW, _ASKED, _SET):
            cursor.execute(statement)
        rows = cursor.execute(_COUNTED).fetchall()
    mounts = traffic.mounts(trace)
    found = (
        AttributeCalls(
            *mounts[integer(mount)],
            made=integer(made),
            files=integer(files),
            calls=spared.of_row(values),
            modes=integer(modes),
            owners=integer(owners),
            times=integer(times),
            names=integer(names),
            journals=integer(journals),
            most=None if most is None else str(most),
        )
        for mount, made, files, modes, owners, times, names, journals, most, *values in rows
    )
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


_NEW = f"""
    create temp table new as
    select mount, file, min(call_time) as made, arg_min(reply_time, call_time) as answered,
           arg_min(create_mode, call_time) as create_mode
    from {new_files.TABLE} where coalesce(created, true)
    group by mount, file
"""
"""Files, and how they were made first."""

_MODE, _OWNER, _TIMES = holds(33), holds(36, 37), holds(48, 54)
"""SQL: mode, owner and owner_group, time_access_set and time_modify_set are set (RFC 8881 section
5.8), or what NFSv3 has in their place."""

# A table of its own: DuckDB does not know how few of the SETATTRs these are.
_ASKED = f"""
    create temp table asked as
    select call, call_frame, mount, file, call_time, create_mode, answered
    from (
        select call, call_frame, mount, file, call_time from calls
        where {among("op", ("SETATTR",))} and status = 0 and not callback
              and reply_time is not null and signature not like '%DELEGRETURN%'
    ) join new using (mount, file)
    where call_time > made
"""

# The first after a create may belong to that.
_SET = f"""
    create temp table set_apart as
    with told as (
        select call, set_size, attributes, {_MODE} as mode, {_OWNER} as owner, {_TIMES} as times,
               {ONLY_TIMES} as only_times
        from operations where {among("op", ("SETATTR",))}
    ),
    firsts as (
        select min_by(call, (call_time, call)) as call, true as first
        from asked where create_mode in ({EXCLUSIVE}, {WITH_ATTRIBUTES}) group by mount, file
    )
    select call, call_frame, mount, file, coalesce(mode, false) as mode,
           coalesce(owner, false) as owner, coalesce(times, false) as times
    from asked join told using (call) left join firsts using (call)
    where set_size is null and (attributes is null or mode or owner or times)
          and not coalesce(
              first and case create_mode when {EXCLUSIVE}
                             then call_time - answered < {SOON_S * NANOSECONDS}
                             else only_times end, false)
"""

_JOURNALS = "name similar to '.+-(journal|wal|shm)'"
"""SQL: the name is one of SQLite's, as "Temporary Files Used By SQLite" has them."""

_COUNTED = f"""
    with timed as materialized (
        select call_frame, mount, file, mode, owner, times, share, pause
        from set_apart join shares using (call)
    ),
    usual as (select mount, {TIMES_AS_LONG} * median(share) as most from timed group by mount),
    shared as (
        select timed.* replace (least(share, most)::bigint as share)
        from timed join usual using (mount)
    ),
    made as (select mount, count(*) as made from new group by mount),
    named as (
        select file, parent, name, path, {_JOURNALS} as journal
        from files where file in (select file from shared)
    ),
    counted as (
        select mount, count(distinct file) as files, count(*) filter (mode) as modes,
               count(*) filter (owner) as owners, count(*) filter (times) as times,
               count(*) filter (journal) as journals,
               {spared.columns("true")}
        from shared left join named using (file) group by mount
    ),
    titles as (
        select mount, coalesce(name, file::varchar) as title, parent, any_value(path) as path,
               count(*) as files, any_value(name) is not null as known
        from (select distinct mount, file from shared) left join named using (file)
        group by mount, title, parent
    ),
    distinct_names as (
        select mount, count(*) as names,
               arg_max(path, (files, -rank)) filter (known) as most
        from (select *, row_number() over (partition by mount order by path) as rank from titles)
        group by mount
    )
    select mount, made, files, modes, owners, times, names, journals, most,
           {spared.names("spared")}
    from counted join made using (mount) join distinct_names using (mount)
"""
