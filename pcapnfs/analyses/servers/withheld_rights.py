"""What a server did not let users open, said by what ACCESS granted them: nothing.

Takes a trace; gives for each client and server the ACCESS calls of users who asked whether they may
read, got none of the rights with which anything is opened, and moved no data of the object later.
NFSv3 has no open that could be refused: its clients ask for rights first, and go no further without
any. Most answers grant less than was asked, for clients ask for all rights whatever they need.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call client server callback op call_frame call_time uid file",
        operations="call op access_requested access_granted",
        files="file path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("ACCESS",), statuses=(0,))
"""Only these are looked at."""

READING = 0x1
"""ACCESS4_READ (RFC 8881 section 18.1, RFC 1813 section 3.3.4), to list a directory as well."""

OPENING = 0x2F
"""Rights with one of which something can be done with an object: to read, to look up, to change,
to extend and to execute. Who may write to a log, or run a program, need not read it."""

USERS_SHOWN = 3
"""Users that are told."""


class WithheldRights(Record):
    """What one server granted one client nothing of."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """ACCESSes that granted nothing."""
    files: int
    """Objects that these are about."""
    users: tuple[int, ...]
    """AUTH_SYS users that asked, the most frequent first."""
    paths: tuple[str, ...]
    """Objects, the first of them; not escaped."""
    frames: tuple[int, ...]
    """Frames of the first of them."""


def withheld_rights(trace: Trace) -> tuple[WithheldRights, ...]:
    """Put together, for each client and server, most calls first."""
    if not (NEEDS.met(trace) and any_withheld(trace)):
        return ()
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(
            _WITHHELD, {"files": FILES_SHOWN, "users": USERS_SHOWN, "examples": EXAMPLES}
        ).fetchall()
        told = paths.told(cursor, (row[5] for row in rows), FILES_SHOWN)
        return tuple(
            WithheldRights(
                client=client,
                server=server,
                calls=integer(calls),
                files=integer(files),
                users=tuple(integer(user) for user in users),
                paths=of_row,
                frames=tuple(frames),
            )
            for (client, server, calls, files, users, _, frames), of_row in zip(
                rows, told, strict=True
            )
        )


def any_withheld(trace: Trace) -> bool:
    """Whether anybody was granted nothing: in most captures nobody was."""
    return bool(trace.rows(f"{_NOTHING} limit 1"))


_NOTHING = f"""
    select call from operations
    where op = 'ACCESS' and access_requested & {READING} <> 0 and access_granted & {OPENING} = 0
"""

_WITHHELD = f"""
    with asked as (
        select client, server, file, uid, call_frame, call_time
        from calls
        where op = 'ACCESS' and not callback and file is not null and uid is not null
              and call in ({_NOTHING})
    ),
    -- A file of mode 0 may be written by who made it, and a right be given later.
    moved as (
        select client, server, file, uid, max(call_time) as moved_last
        from calls
        where {among("op", MOVING)} and not callback and file in (select file from asked)
        group by client, server, file, uid
    ),
    withheld as (
        select asked.* from asked left join moved using (client, server, file, uid)
        where moved_last is null or moved_last < call_time
    ),
    users as (
        select client, server, (list(uid order by calls desc, uid))[:$users] as users
        from (select client, server, uid, count(*) as calls from withheld group by all)
        group by client, server
    )
    select client, server, count(*) as calls, count(distinct file), any_value(users),
           list(file order by call_frame, file)[:10 * $files],
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from withheld join users using (client, server)
    group by client, server order by calls desc, client, server
"""
