"""Handles that the server no longer knew: their last good use, and who removed the object.

Takes a trace; gives for each client and server the calls answered STALE or FHEXPIRED, or NOENT
where they name nothing but a handle, and for the files that they named what the capture shows of
their end: whether the handle (another one of the same file does not count) worked again, or was
refused after the file was renamed; and whether all of it came after a connection broke.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.statuses import NOENT
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds, text, whole
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import untold
from pcapnfs.analyses.namespace import replaced
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    _untold.READS,
    replaced.READS,
    columns.of(
        calls="call client server connection callback op call_frame call_time reply_time program "
        "status",
        operations="call op status file directory target_directory name executed",
        names="file directory name",
        files="file identity path",
        connections="connection client server server_port first_time refusals attempts "
        "client_fin_time server_fin_time client_rst_time server_rst_time",
    ),
)
"""The columns that the queries here read."""

STALE = (70, 10014)
"""NFS3ERR_STALE and NFS4ERR_STALE, NFS4ERR_FHEXPIRED (RFC 1813 section 2.6, RFC 8881 section
15.1)."""

BY_HANDLE = (
    "GETATTR", "SETATTR", "ACCESS", "READLINK", "READ", "WRITE", "COMMIT", "READDIR",
    "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF",
)  # fmt: skip
"""Operations that name an object by its handle alone: NOENT is no answer to them (RFC 1813 section
3.3, RFC 8881 section 15.2). Servers that find files by path give it where no file has the path that
belongs to the handle."""

REFUSED = population.Calls(statuses=STALE)
UNFOUND = population.Calls(ops=BY_HANDLE, statuses=(NOENT,))
"""Without a call that was refused in either way there is none."""

NO_HANDLE_USED = ("REMOVE", "RMDIR", "RENAME")
"""Operations that name their object in its directory, and tell nothing of its own handle."""

GIVES_ROOT = ("MNT", "PUTROOTFH", "PUTPUBFH")
"""How clients get at the root of an export. Servers that know no other handle after a restart may
know this one: it is always the same."""

FILES_MOST = 60
"""Files that are told of all clients and servers: each is looked for among all removals, and many
may have had the same name."""


class StaleFile(Record):
    """A file whose handle was refused."""

    path: str
    """Its path; not escaped."""
    calls: int
    """Calls that were refused for it."""
    operations: tuple[str, ...]
    """Their operations."""
    last_use_frame: int | None
    """Frame of the last call before them with which any client used the handle successfully; None
    when the capture has none."""
    unused_s: float | None
    """From the reply to it to the first refusal, seconds; None likewise."""
    next_use_frame: int | None
    """Frame of the first call after the first refusal with which any client used the refused handle
    itself successfully; None when the capture has none: the file is gone, or has another handle."""
    remover: str | None
    """Address of the client that removed or replaced it before the first refusal was answered; None
    when the capture does not show it."""
    remover_op: str | None
    """`REMOVE`, `RMDIR`, or `RENAME` of another object to its name; None likewise."""
    remover_frame: int | None
    """Frame of that call; None likewise."""
    renamed_frame: int | None = None
    """Frame of the last RENAME of the file before the first refusal; None when the capture does not
    show one."""
    other_frame: int | None = None
    """Frame of the first call after the first refusal with which any client used another handle of
    the same file successfully; None when the capture has none."""
    after_removal_s: float | None = None
    """From the reply to the removal to the last call that was refused, seconds: below zero where it
    was sent before that reply. None when the capture shows no removal, or no reply to it."""


class StaleHandles(Record):
    """The handles of one client that one server no longer knew."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls that were refused."""
    files: int
    """Files that they named; those whose handles were cut off do not count."""
    expired: int
    """Those calls that were answered FHEXPIRED: the server's handles are volatile."""
    shown: tuple[StaleFile, ...]
    """The files refused most often."""
    frames: tuple[int, ...]
    """Example frames: of the calls refused."""
    unfound: int = 0
    """Those calls that were answered NOENT, though they name nothing but a handle."""
    forgotten: bool = False
    """All of them came on connections that the client began after the server had reset an earlier
    one to the same service, or had let an attempt to connect again come to nothing; their handles
    had worked before that; and of the handles that had, none but those of roots worked for the
    client later."""
    told: bool = True
    """Every call in the capture tells what it is about. Else one that does not may have removed a
    file, or have used its handle well."""


def stale_handles(trace: Trace) -> tuple[StaleHandles, ...]:
    """Put together, for each client and server, most calls first."""
    if not (REFUSED.met(trace) or UNFOUND.met(trace)):
        return ()
    told = not untold(trace).unplaced
    with closing(trace.cursor()) as cursor:
        cursor.execute(_FAILED)
        cursor.execute(_REFUSED)
        pairs = cursor.execute(_PAIRS, {"examples": EXAMPLES}).fetchall()
        cursor.execute(_ANEW)
        anew = cursor.execute("select 1 from anew limit 1").fetchone() is not None
        forgotten = set(cursor.execute(_FORGOTTEN).fetchall()) if anew else set()
        cursor.execute(_FIRST, {"files": FILES_SHOWN, "most": FILES_MOST})
        cursor.execute(_NAMED)
        cursor.execute(_TOUCHED)
        cursor.execute(_UNBOUND)
        if replaced.RENAMES.met(trace):
            cursor.execute(_REPLACED)
        rows = cursor.execute(_FILES).fetchall()
        objects = cursor.execute("select identity, file from named order by all").fetchall()
        known = paths.of(cursor, (file for _, file in objects))
    least: dict[int, str] = {}
    for identity, file in objects:
        least[identity] = min(known[file], least.get(identity, known[file]))
    shown: dict[tuple[str, str], list[StaleFile]] = {}
    for (
        client, server, identity, calls, ops, use, unused, later, remover, removal, frame, renamed,
        other, since,
    ) in rows:  # fmt: skip
        shown.setdefault((client, server), []).append(
            StaleFile(
                path=least[identity],
                calls=integer(calls),
                operations=tuple(ops),
                last_use_frame=whole(use),
                unused_s=seconds(unused),
                next_use_frame=whole(later),
                remover=text(remover),
                remover_op=text(removal),
                remover_frame=whole(frame),
                renamed_frame=whole(renamed),
                other_frame=whole(other),
                after_removal_s=seconds(since),
            )
        )
    return tuple(
        StaleHandles(
            client=client,
            server=server,
            calls=integer(calls),
            files=integer(files),
            expired=integer(expired),
            shown=tuple(shown.get((client, server), ())),
            frames=tuple(frames),
            unfound=integer(unfound),
            forgotten=(client, server) in forgotten,
            told=told,
        )
        for client, server, calls, files, expired, unfound, frames in pairs
    )


_FAILED = f"""
    create temp table failed as
    select call, client, server, connection, op, status, call_frame, call_time, reply_time
    from calls
    where (status in {STALE} or status = {NOENT} and coalesce({among("op", BY_HANDLE)}, false))
          and program = {NFS} and not callback
"""

# A compound fails at the operation that names the handle (PUTFH, mostly), an NFSv3 call as a whole.
# The handle of an operation by name is its directory's; of two that are not one, any may be it.
_REFUSED = f"""
    create temp table refused as
    with handles as (
        select call, case when op <> 'LINK' and target_directory <> directory then null
                          when op <> 'LINK' and directory is not null then directory
                          else file end as file
        from operations semi join failed using (call)
        where operations.status in {STALE}
              or operations.status = {NOENT} and {among("op", BY_HANDLE)}
    ),
    named as (
        select call, min(identity) as identity, arg_min(file, identity) as file
        from handles join (select file, identity from files) using (file) group by call
    )
    select call, client, server, connection, op, status = 10014 as expired,
           status = {NOENT} as unfound, identity, file, call_frame, call_time, reply_time
    from failed left join named using (call)
"""

# A connection that begins while an earlier one is in use is one of several, and no new one.
_ANEW = """
    create temp table anew as
    with ended as (
        select client, server, server_port, server_rst_time is not null as reset,
               least(client_fin_time, server_fin_time, client_rst_time, server_rst_time) as ended
        from connections
    ),
    begun as (
        select connections.connection, any_value(first_time) as first_time
        from (from connections semi join refused using (connection)) as connections join ended
             on connections.client = ended.client and connections.server = ended.server
                and connections.server_port = ended.server_port
                and ended.ended <= first_time
        group by connections.connection
        having bool_or(reset or attempts > 0 or refusals > 0)
    )
    select client, server, min(first_time) as since
    from refused left join begun using (connection)
    group by client, server having count(first_time) = count(*) and count(file) > 0
"""

_FORGOTTEN = f"""
    with told as (
        select call, file from operations
        where {among("op", BY_HANDLE)} and status = 0 and file is not null
        union
        select call, directory from operations where status = 0 and directory is not null
    ),
    uses as (
        select client, server, told.file, call_time, reply_time
        from told join calls using (call)
        where not callback and program = {NFS} and reply_time is not null
              and server in (select server from anew)
    ),
    before as (
        select distinct anew.client, anew.server, file
        from anew join uses on anew.server = uses.server and reply_time < since
    ),
    later as (
        select distinct anew.client, anew.server, file
        from anew join uses
             on anew.client = uses.client and anew.server = uses.server and call_time >= since
    ),
    roots as (
        select distinct file from operations
        where {among("op", GIVES_ROOT)} and file is not null
    )
    select client, server from anew
    except
    select client, server from before semi join later using (client, server, file)
    where file not in (from roots)
    except
    select client, server from refused anti join before using (client, server, file)
    where file is not null
"""

_PAIRS = """
    select client, server, count(distinct call), count(distinct identity),
           count(distinct call) filter (expired), count(distinct call) filter (unfound),
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from refused group by client, server order by 3 desc, client, server
"""

_FIRST = """
    create temp table first as
    select client, server, identity, count(distinct call) as calls, min(call_time) as refused,
           min(reply_time) as answered, max(call_time) as refused_last,
           list_sort(list(distinct op)) as ops
    from refused where identity is not null group by client, server, identity
    qualify row_number() over (
        partition by client, server order by count(distinct call) desc, identity
    ) <= $files
    order by calls desc, client, server, identity limit $most
"""

# Few files are told. With tables of what concerns them, no later join is with all operations.
_NAMED = """
    create temp table named as
    select file, identity from files semi join first using (identity)
"""

# Of a compound that worked, every operation did, also those whose results were cut off.
_TOUCHED = """
    create temp table touched as
    with told as (
        select call, op, status, executed, file as child, file
        from operations where file in (select file from named)
        union
        select call, op, status, executed, file, directory
        from operations where directory in (select file from named)
        union
        select call, op, status, executed, file, target_directory
        from operations where target_directory in (select file from named)
    )
    select call, op, executed or told.status is null as executed, identity, named.file,
           file is not distinct from child as itself
    from told join named using (file)
         join (select call, status as of_call from calls) as calls using (call)
    where coalesce(told.status, of_call) = 0 and (op <> 'PUTFH' or of_call = 0)
"""

_UNBOUND = f"""
    create temp table unbound as
    with bound as (
        select distinct directory, name, identity from names join named using (file)
    )
    select call, op, identity
    from operations join bound using (directory, name)
    where {among("op", ("REMOVE", "RMDIR"))} and status = 0
    union all
    select call, op, identity from touched where {among("op", ("REMOVE", "RMDIR"))} and itself
"""

_REPLACED = f"""
    insert into unbound
    select call, 'RENAME', identity
    from ({replaced.replaced("select file from named")}) join named using (file)
    where status = 0
"""

_FILES = f"""
    with uses as (
        select identity, file, call_frame as frame, reply_time as used
        from touched join (
                 select call, call_frame, reply_time from calls where not callback
             ) using (call)
             anti join refused using (call)
        where executed and reply_time is not null
              and not ({among("op", NO_HANDLE_USED)} and itself)
    ),
    removals as (
        select identity, call_frame as frame, call_time as removed, reply_time as gone,
               client as remover, unbound.op
        from unbound join (
                 select call, client, call_frame, call_time, reply_time
                 from calls where not callback
             ) using (call)
    ),
    renames as (
        select identity, call_frame as frame, call_time as renamed
        from touched join (
                 select call, call_frame, call_time from calls where not callback
             ) using (call)
        where op = 'RENAME' and itself and executed
    ),
    -- A file may have had several handles, one after the other.
    handles as (
        select client, server, identity, file, min(call_time) as refused
        from refused semi join first using (client, server, identity)
        where file is not null
        group by client, server, identity, file
    ),
    again as (
        select client, server, identity,
               min(frame) filter (uses.file = handles.file) as later_frame,
               min(frame) filter (uses.file <> handles.file and uses.file not in (
                   select file from handles as others
                   where others.client = handles.client and others.server = handles.server
               )) as other_frame
        from handles join uses using (identity)
        where handles.refused < uses.used
        group by client, server, identity
    ),
    told as (
        select first.*, uses.frame as used_frame, refused - used as unused
        from first asof left join uses
             on first.identity = uses.identity and first.refused > uses.used
    ),
    moved as (
        select told.*, renames.frame as renamed_frame
        from told asof left join renames
             on told.identity = renames.identity and told.refused >= renames.renamed
    ),
    ended as (
        select moved.*, remover, removals.op as removal, removals.frame as removal_frame,
               refused_last - gone as since_removal
        from moved asof left join removals
             on moved.identity = removals.identity and moved.answered >= removals.removed
    )
    select client, server, identity, calls, ops, used_frame, unused, later_frame, remover, removal,
           removal_frame, renamed_frame, other_frame, since_removal
    from ended left join again using (client, server, identity)
    order by client, server, calls desc, identity
"""
