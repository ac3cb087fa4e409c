"""What a server never makes: symbolic links, further names of files, devices and pipes.

Takes a trace; gives the servers and operations of NFSv3 and NFSv4 that failed each time, always in
the same way, though that is not how a server says that it does not support them. Some that have no
POSIX file system behind them answer as if the user might not, or as if something was wrong with
the name. Who makes files in a directory may also make links and pipes there, by mode as by ACL (RFC
8881 section 6.2.1.3.1, ACE4_ADD_FILE): so it is not the right that lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    columns.of(
        calls="server callback program op status status_name rpc_status uid directory reply_time"
    ),
)
"""The columns that the query here reads."""

NOT_ALLOWED = ("NFS3ERR_ACCES", "NFS3ERR_PERM")
"""As if the user might not. In NFSv4 one operation, CREATE, makes links, directories and devices:
nothing tells there whether all of one type failed."""

NOT_VALID = ("NFS3ERR_INVAL", "NFS4ERR_INVAL")
"""As if something was wrong with what was asked."""

MAKING = ("SYMLINK", "MKNOD", "LINK")
"""What a server may not be able to make at all."""

TELLS_NOTHING = (
    "NFS3ERR_EXIST", "NFS4ERR_EXIST", "NFS3ERR_NOENT", "NFS4ERR_NOENT", "NFS3ERR_STALE",
    "NFS4ERR_STALE", "NFS3ERR_JUKEBOX", "NFS4ERR_DELAY", "NFS4ERR_GRACE",
)  # fmt: skip
"""Answers that come before a server finds out whether it can: the name, the directory, the time
(RFC 1813 section 2.6, RFC 8881 section 15.1)."""

NEEDS = population.Calls(ops=MAKING, names=(*NOT_ALLOWED, *NOT_VALID))
"""Without a call that was answered so there is none."""

UNMADE = "list_contains($unmade, server || ' ' || op)"
"""SQL: whether a call of the table calls is of what its server never makes. Its parameter is what
`unmade` gives."""


@once
def unmade(trace: Trace) -> list[str]:
    """The addresses of servers, each with an operation behind it, in order."""
    if not NEEDS.met(trace):
        return []
    return [each for (each,) in trace.rows(_UNMADE)]


# The right to make a device is root's alone, so that PERM says what it says (mknod(2)).
_UNMADE = f"""
    with making as (
        select server, op, status, uid, directory, coalesce(status_name, rpc_status) as answer
        from calls
        where {among("op", (*MAKING, "CREATE"))} and program = {NFS} and not callback
              and reply_time is not null
    ),
    made as (
        select distinct server, op, uid, directory from making where status = 0
    ),
    alike as (
        select server, op, min(answer) as answer
        from making
        where not coalesce({among("answer", TELLS_NOTHING)}, false)
        group by server, op
        having count(*) = count(answer) and min(answer) = max(answer)
               and {among("op", MAKING)}
    ),
    allowed as (
        select distinct making.server, making.op
        from making join made
             on making.server = made.server and making.op <> made.op
                and making.uid is not distinct from made.uid
                and (making.directory = made.directory or making.directory is null)
    )
    select server || ' ' || op
    from alike left join (select *, true as may from allowed) as allowed using (server, op)
    where {among("answer", NOT_VALID)}
          or {among("answer", NOT_ALLOWED)} and may
             and not (op = 'MKNOD' and answer = 'NFS3ERR_PERM')
    order by all
"""
