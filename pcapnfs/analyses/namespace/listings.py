"""The calls that listed directories, as several analyses begin with them.

Takes a trace; makes a table of its READDIRs and READDIRPLUSes by clients.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call mount callback program version op call_frame call_time reply_frame "
    "reply_time srt reply_bytes undecoded",
    operations="call position op status file attributes requested plus cookie entries",
)
"""The columns that this reads."""

LISTING = ("READDIR", "READDIRPLUS")
"""Operations that list."""

NOT_SUPPORTED = 10004
"""NFS3ERR_NOTSUPP (RFC 1813 section 2.6)."""

FOLLOW_UP_S = 30.0
"""How long after the listing, or after a call about another entry, one about an entry counts as
caused by it."""

TABLE = "listings"
"""The table that `register` makes: `call`, `position`, `mount`, `version`, `call_frame`,
`call_time`, `reply_frame`, `reply_time`, `cookie`, `entries` and `requested` as in the tables calls
and operations; `directory`, the one that was listed; `plus`, whether it was with attributes, NULL
where that was cut off; `untyped`, whether the reply tells no types, NULL when that is unknown;
`unsupported`, whether the server answered that it does not list so; `cut`, whether the call could
not be decoded to its end;
`srt` and `reply_bytes` of calls that did nothing else, else NULL."""


BROUGHT = "(entries.type is not null or coalesce(untyped, true) or cut)"
"""SQL: an entry of `entries`, joined to this table, brought the attributes that the listing asked
for, if it asked for any, or may have brought them, where the reply was cut. A server may leave them
out of each entry, and brings the type wherever it brings others (RFC 1813 section 3.3.17; RFC 8881
section 18.23.3, rdattr_error)."""

BROUGHT_READS = columns.of(entries="type")
"""The columns that this reads."""


@once
def register(trace: Trace) -> None:
    """Make the table `listings` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_ASKED)
        cursor.execute(_LISTINGS)


_ASKS_NO_TYPE = "not contains('2367abef', substr(attributes, 8, 1))"
"""SQL: an NFSv4 bitmap lacks the type, bit 1 of its first word, whose eighth digit has bits 0 to 3;
NULL when it is unknown."""

USED = """
    select mount, file, call_time from calls where not callback
    union all
    select mount, directory, call_time from calls where not callback and directory is not null
"""
"""SQL: what calls of clients were about, when, and the directory in which they named it. Join it to
a table of what was told, so that DuckDB knows how much that is: it looks the calls up there."""

USED_READS = columns.of(calls="mount callback file directory call_time")
"""The columns that this reads."""

# Listings are few: with a table of them the join is by them, and not by all calls.
_ASKED = f"""
    create temp table asked as
    select call, position, op, file as directory,
           plus, {_ASKS_NO_TYPE} as asks_no_type,
           coalesce(op = 'READDIRPLUS' and status = {NOT_SUPPORTED}, false) as unsupported,
           cookie, case when status > 0 then coalesce(entries, 0) else entries end as entries,
           requested
    from operations where {among("op", LISTING)}
"""

_LISTINGS = f"""
    create table {TABLE} as
    select asked.call, position, mount, version, asked.directory,
           -- READDIR of NFSv4 says so by its attributes.
           case when asked.op = 'READDIRPLUS' then true when version < 4 then false else plus end
               as plus,
           asked.op = 'READDIR' and (version = 3 or asks_no_type) as untyped,
           unsupported, undecoded is not null as cut, cookie, entries, requested,
           call_frame, call_time, reply_frame, reply_time,
           case when calls.op = asked.op then srt end as srt,
           case when calls.op = asked.op then reply_bytes end as reply_bytes
    from asked join calls using (call)
    where not callback and program = {NFS}
"""
