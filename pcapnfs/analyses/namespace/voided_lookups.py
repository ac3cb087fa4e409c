"""LOOKUPs of names that a client knew from a call of its own, until somebody else's change.

Takes a connection with the table `learned` (`change_ids`); makes the table `voided_lookups`. What a
LOOKUP, or a call that opened or made something, taught of a name a client keeps for as long as the
directory is unchanged, as it does with the names of a listing (`voided_names`). A name counts as
kept for as long as in `names_again`.

Between two LOOKUPs of a name the client may have changed the directory itself, as one does that
makes files there. The server says to what, so that names need not go (change_info4, RFC 8881
section 3.3.8; wcc_data, RFC 1813 section 2.6), but clients may drop them all the same. So such a
LOOKUP counts only where the client changed the directory several times without a change by somebody
else until its next one: had these voided names, it would have looked them up then. It counts
nowhere where the client often looks names up again though nobody else changed the directory: it
keeps none, or a program makes what there is (mkdir -p).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching.questions import DIRECTORY_FRESH_S
from pcapnfs.analyses.namespace import changed_directories, listings
from pcapnfs.analyses.namespace.names_again import KEPT_S, LOOKED_UP
from pcapnfs.analyses.namespace.names_kept import span_of_file
from pcapnfs.programs import NFS
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    changed_directories.READS,
    columns.of(
        calls="call mount callback program version op status call_frame call_time reply_time file "
        "directory",
        files="file role",
    ),
)
"""The columns that this reads."""

TEACHING = ("LOOKUP", "OPEN", "CREATE", "MKDIR", "MKNOD", "SYMLINK")
"""Operations whose reply tells what a name of a directory denotes."""

OPENING = ("ACCESS", "READ", "WRITE", *listings.LISTING)
"""Operations by which a client uses an object that a program has opened. A file of NFSv4 is opened
by its name, without a LOOKUP."""

OFTENER = 2
"""How many times as many changes of a directory must be known to be somebody else's as those are of
which nothing tells whose they were, for these to be taken for theirs, too."""

SETTLED_SHARE = 0.25
"""LOOKUPs of known names without a change by somebody else, to those after one, up to which these
are taken to be why the names went."""

LEAST_QUIET = 3
"""Changes of the client's own, without one by somebody else until its next, by which it shows that
they leave names as they are."""


def register(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> bool:
    """Make the table `voided_lookups`. Whether it has rows.

    It has a row for each LOOKUP that found what the client knew to be there, since when it had
    learnt that somebody else changed the directory: `mount`, `directory`, `moment` (when it learnt
    of the last change), `call`, `call_frame`, `taught` (when the client last knew), and `spared`: a
    client that keeps names would have sent nothing in its place.
    """
    cursor.execute(_TABLE)
    if not LOOKED_UP.met(trace):
        return False
    cursor.execute(_CHANGED)
    if not any_changed(cursor):
        return False
    changed_directories.register(trace)
    for statement in (_DOUBTED, _KNOWN, _JUDGED, _VOIDED):
        cursor.execute(statement)
    return cursor.execute("select 1 from voided_lookups limit 1").fetchone() is not None


def any_changed(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether somebody else changed a directory, on a connection with `directories_changed`."""
    return cursor.execute("select 1 from directories_changed limit 1").fetchone() is not None


def taught(scope: str, *columns: str) -> str:
    """SQL: calls that taught a client what a name denotes, and when it had learnt that before.

    A row has `mount`, `directory`, `file`, `call`, `call_frame`, `call_time`, `looked_up` (by a
    LOOKUP) and `taught`, NULL of the first.

    Args:
        scope: Which calls of those whose directory is known.
        columns: What else of them is wanted.
    """
    return f"""
        select mount, directory, file, call, call_frame, call_time, op = 'LOOKUP' as looked_up,
               lag(reply_time) over (
                   partition by mount, directory, file order by call_time, call) as taught
               {"".join(f", {column}" for column in columns)}
        from calls
        where {among("op", TEACHING)} and status = 0 and not callback and program = {NFS}
              and file is not null and directory is not null and reply_time is not null
              and {scope}
    """


def followed(files: str, operations: Iterable[str]) -> str:
    """SQL: calls about files, and whether the same client's next one about it is of these.

    A row has `call` and `leads_on`, NULL where there is no next one.

    Args:
        files: SQL: the numbers of those that are asked about.
        operations: Main operations.
    """
    return f"""
        select call, lead({among("op", operations)}) over (
                   partition by mount, file order by call_time, call) as leads_on
        from calls
        where not callback and program = {NFS} and file in ({files})
    """


_TABLE = """
    create temp table voided_lookups (
        mount uinteger, directory uinteger, moment bigint, call ubigint, call_frame ubigint,
        taught bigint, spared boolean
    )
"""

# Of a directory that others are seen to change, a change that nothing tells who made is theirs.
_CHANGED = f"""
    create temp table directories_changed as
    with changes as (
        select *, count(case when surely then 1 end) over its as sure,
               count(case when not surely then 1 end) over its as unknown
        from ({changed_directories.by_others("select file from files where role = 'directory'")})
        window its as (partition by mount, directory)
    )
    select mount, directory, moment from changes
    where sure > 0 and (surely or sure >= {OFTENER} * unknown)
"""

# Elsewhere it may have voided names, but nobody can be blamed for it.
_DOUBTED = f"""
    create temp table directories_moved as
    select mount, directory, moment as moved
    from ({changed_directories.by_others("select directory from directories_changed")})
"""

# `since` is when the client began to know the name: what it had not heard of for long, it may have
# forgotten.
_KNOWN = f"""
    create temp table names_taught as
    with taught as (
        {
    taught(
        "(mount, directory) in (select mount, directory from directories_changed)",
        "reply_time",
        "version",
    )
}
    ),
    kept as (
        select *, coalesce(call_time - taught <= {int(KEPT_S * NANOSECONDS)}, false) as known
        from taught
    )
    select *, max(case when not known then reply_time end) over (
                  partition by mount, directory, file order by call_time, call) as since
    from kept
"""

_JUDGED = f"""
    create temp table lookups_judged as
    with own as materialized ({
    changed_directories.by_client(
        "select directory from directories_changed",
        f"coalesce(lead(call_time) over steps, {changed_directories.NEVER_NS}) as next_time",
    )
}),
    calm as (
        select own.mount, own.directory, count(*) as quiet
        from own asof left join directories_moved as others
             on own.mount = others.mount and own.directory = others.directory
                and own.next_time >= others.moved
        where coalesce(moved < own.call_time, true)
        group by own.mount, own.directory
    ),
    known as (
        select taught.*, moment,
               coalesce(moment >= taught.taught, false) as voided,
               coalesce(moved < taught.taught, true) as settled,
               coalesce(until > taught.taught, false) as changed
        from (from names_taught where looked_up and known) as taught
             asof left join directories_changed as others
             on taught.mount = others.mount and taught.directory = others.directory
                and taught.call_time >= others.moment
             asof left join directories_moved as moves
             on taught.mount = moves.mount and taught.directory = moves.directory
                and taught.call_time >= moves.moved
             asof left join own
             on taught.mount = own.mount and taught.directory = own.directory
                and taught.call_time >= own.call_time
    ),
    places as (
        select mount, directory
        from known left join calm using (mount, directory)
        group by mount, directory, quiet
        having count(*) filter (settled) <= {SETTLED_SHARE} * count(*) filter (voided)
    )
    select known.* exclude (looked_up, known, voided, settled, changed)
    from known semi join places using (mount, directory)
         left join calm using (mount, directory)
    where voided and (not changed or coalesce(quiet, 0) >= {LEAST_QUIET})
"""

# As in names_kept: what begins an open, and the first since attributes have expired, a GETATTR
# would have asked.
_VOIDED = f"""
    insert into voided_lookups
    with followed as ({followed("select file from lookups_judged", OPENING)}),
    aged as (
        select judged.*, coalesce(role = 'directory', false) as opened, leads_on,
               (call_time - since) / {NANOSECONDS} as age
        from lookups_judged as judged join files using (file) join followed using (call)
    ),
    spans as (
        select *, case when opened then floor(age / {DIRECTORY_FRESH_S})
                       else {span_of_file("age")} end as span
        from aged
    )
    select mount, directory, moment, call, call_frame, taught,
           not (coalesce((version < 4 or opened) and leads_on, false)
                or span > 0 and row_number() over (
                    partition by mount, directory, file, since, span order by call_time, call) = 1)
    from spans
"""
