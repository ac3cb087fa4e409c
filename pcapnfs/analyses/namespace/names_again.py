"""Names that a client looked up though it had found them: a client that keeps no names.

Takes a connection with the table `learned` (`change_ids`); makes the table `again`, and gives what
such LOOKUPs of each client and server took. Linux keeps a name for as long as its directory is
unchanged, whatever its age. After a change of its own it may have to look through a directory anew:
names there are no proof that it keeps none; but it asks for each once, and what it asks again
before its next change would be spared. Not counted is a name that it may have dropped for lack of
memory after a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import changed_directories, names_kept
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.trace import Trace

LOOKED_UP = population.Operations(("LOOKUP",), statuses=(0,))
"""Without one there is none."""

LEAST = 20
"""LOOKUPs of what another one had found, below which nothing is concluded from those of a mount."""

KEPT_S = 29.5
"""A directory that was unchanged for longer may have been asked for by default (acdirmin 30 s), and
names may have gone for lack of memory."""

NAMING = ("LOOKUP", "OPEN", "REMOVE", "RMDIR", "RENAME")
"""Operations that use a name in a directory. One that makes a name is left out: Linux looks that up
before, even if it knows it (mkdir -p)."""


class NamesAgain(Record):
    """What one client looked up again on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    lookups: int
    """Its LOOKUPs that found something."""
    calls: int
    """All its answered calls of NFS."""
    needless: Spared
    """LOOKUPs of what it had found in that directory shortly before, where nothing shows that the
    directory had changed since."""
    kept: Spared
    """What would have been spared, had it kept names: those of them in whose place no GETATTR would
    have been sent, as at an open or for a file's expired attributes; and LOOKUPs of names that a
    listing with attributes had told shortly before."""
    part: str | None = None
    """The file systems that this is about, as in `Mount`; None: all that they exchanged."""


def of_learned(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, division: Division | None = None
) -> tuple[NamesAgain, ...]:
    """Add up, for each client and server with any, on a connection with `learned`.

    Args:
        trace: The trace.
        cursor: The connection.
        division: The parts of pairs that it has in place of mounts; None where it has none.
    """
    if not register(trace, cursor):
        return ()
    shares.register(trace)
    if division is None:
        answered: Mapping[int, int] = traffic.answered(trace, NFS_PROGRAMS)
        mounts = traffic.mounts(trace)
    else:
        answered, mounts = division.answered(cursor), division.addresses(trace)
    parts = {} if division is None else division.parts
    names_kept.register(cursor, _UNCHANGED, KEPT_S)
    found = [
        NamesAgain(
            *mounts[mount],
            lookups,
            answered[mount],
            spared.of_row(values[0:4]),
            spared.of_row(values[4:8]),
            parts.get(mount),
        )
        for mount, lookups, *values in cursor.execute(_TOOK).fetchall()
    ]
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


def register(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> bool:
    """Make the table `again`, unless it is there. Whether it has rows.

    `again` has a row for each LOOKUP that found an object, of mounts that found some more than
    once: `mount`, `directory`, `file` (what it found), `call`, `call_time`, and `needless`: the
    client had found it there shortly before, and nothing shows that the directory had changed, nor
    had the client itself ever changed it; `spared`: the same if it had, but not since.
    """
    cursor.execute(_TABLE)
    if cursor.execute("select 1 from again limit 1").fetchone() is not None:
        return True
    if not LOOKED_UP.met(trace):
        return False
    cursor.execute(_MOUNTS)
    if cursor.execute("select 1 from looking limit 1").fetchone() is None:
        return False
    changed_directories.register(trace)
    cursor.execute(_AGAIN)
    return cursor.execute("select 1 from again limit 1").fetchone() is not None


_TABLE = """
    create temp table if not exists again (
        mount uinteger, directory uinteger, file uinteger, call ubigint, call_time bigint,
        needless boolean, spared boolean
    )
"""

_MOUNTS = f"""
    create or replace temp table looking as
    select mount from calls
    where op = 'LOOKUP' and status = 0 and not callback and program in {NFS_PROGRAMS}
          and file is not null and directory is not null
    group by mount having count(*) - count(distinct file) >= {LEAST}
"""


_UNCHANGED = f"""
    own as materialized ({changed_directories.by_client("select directory from shortly")}),
    others as ({changed_directories.by_others("select directory from shortly")}),
    unchanged as (
        select call, own.until is null as needless
        from shortly asof left join own
             on shortly.mount = own.mount and shortly.directory = own.directory
                and shortly.call_time >= own.call_time
             asof left join others
             on shortly.mount = others.mount and shortly.directory = others.directory
                and shortly.call_time >= others.moment
        where coalesce(own.until < before, true) and coalesce(moment < before, true)
    )
"""
"""SQL: of `shortly`, LOOKUPs with the moment `before` since which they had been known, those in
whose directory nothing shows a change since."""

_AGAIN = f"""
    insert into again
    with found as materialized (
        select mount, directory, file, call, call_time,
               lag(reply_time) over (
                   partition by mount, directory, file order by call_time, call) as before
        from calls
        where op = 'LOOKUP' and status = 0 and not callback and file is not null
              and directory is not null and reply_time is not null
              and mount in (select mount from looking)
    ),
    -- As a rule these are few: what changed is looked up for them alone.
    shortly as (
        select * from found
        where before <= call_time and call_time - before <= {int(KEPT_S * NANOSECONDS)}
    ),
    {_UNCHANGED}
    select mount, directory, file, call, call_time, coalesce(needless, false),
           needless is not null
    from found left join unchanged using (call)
"""
"""Fills the table `again`."""

_TOOK = f"""
    select mount, count(*) as lookups, {spared.columns("spared")},
           {spared.columns("kept", "kept")}
    from (select *, call in (from kept) as kept from again)
         join (select call, call_frame from calls) using (call) join shares using (call)
    group by mount having count(*) filter (spared) > 0
"""

RETURNS = f"""
    with named as (
        select mount, directory, file, call, call_time, call_frame,
               lag(file) over steps as file_before, lag(call_time) over steps as time_before
        from calls
        where {among("op", NAMING)} and not callback and program in {NFS_PROGRAMS}
              and directory is not null and file is not null
              and mount in (select mount from looking) and directory in (select file from again)
        window steps as (partition by mount, directory order by call_time, call)
    ),
    moves as (
        select * from named where file_before <> file and call_time - time_before < $near
    ),
    ways as (
        select moves.mount, moves.call_frame, moves.call_time, again.directory as above,
               again.call_time > time_before as looked_up, needless, spared
        from moves asof join again
             on moves.mount = again.mount and moves.directory = again.file
                and moves.call_time >= again.call_time
    ),
    free as (
        select ways.*
        from ways asof left join delegated
             on ways.mount = delegated.mount and ways.above = delegated.file
                and ways.call_time >= delegated.moment
        where delegated.file is null or until < ways.call_time
    )
    select mount, count(*) filter (needless or not looked_up) as returns,
           count(*) filter (needless and looked_up) as returns_looked_up,
           arg_min(call_frame, (call_time, call_frame), $examples)
               filter (needless and looked_up) as returns_frames,
           count(*) filter (spared or not looked_up) as settled_returns,
           count(*) filter (spared and looked_up) as settled_looked_up,
           arg_min(call_frame, (call_time, call_frame), $examples)
               filter (spared and looked_up) as settled_frames
    from free group by mount
"""
"""SQL: how often a client went from one name in a directory to another, and whether it had looked
up the directory itself in between: where it never changed what that lies in (`returns`), and where
it had not done so since it last found it (`settled`). What lies in a directory under a delegation
(`held_files`) need not be looked up, and shows nothing."""

FILES = """
    with repeated as (
        select mount, file from again join (select file, role from files) using (file)
        where spared and role = 'file' group by mount, file having count(*) >= 2
    )
    select mount, count(*) as files_again from repeated group by mount
"""
"""SQL: how many regular files a client looked up at least three times, each shortly after the one
before, without a change of their directory. Where it looks for a place to make something (`mkdir
-p`, an exclusive create) Linux asks even if it knows the name, but hardly ever that of a file."""

NEEDLESS = """
    select mount, count(*) as found_again from again where needless group by mount
"""
"""SQL: the LOOKUPs of what a client had found, in directories that it never changed."""
