"""What each client learnt of each file's change-ID, and who had changed the file.

Takes a trace; gives a cursor with temporary tables that other analyses question. What replies told
of change-IDs stands in `told`; what follows from its order is a walk of the core (`pcapnfs.walks`).

A client learns it from every reply with attributes of the object: GETATTR, post-operation
attributes, `change_info4`, entries of a listing. Whether it changed the object itself is told by
what it knew before and what the server says to have found (RFC 1813 section 2.6 `wcc_data`, RFC
8881 section 3.3.8 `change_info4`); where the server does not say, by whether a modifying operation
of its own lies in between or was under way. What nothing tells is in `doubts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.caching import doubts, told
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs._core import Batch
    from pcapnfs.trace import Trace

READS = columns.together(
    doubts.READS, told.READS, columns.of(calls="client server mount callback program")
)
"""The columns that the queries here read."""


@contextmanager
def change_ids(
    trace: Trace,
    *,
    all_rows: bool = False,
    begin: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Fill the tables `mounts`, `learned` and `asked_about` on a connection of their own.

    `mounts`: the addresses of each `calls.mount`. `learned`: a row for each time that a client
    asked for the change-ID of an object, or learnt that somebody else had changed it:

    - `question`: NULL for attributes that came along with something else. `getattr`: a call whose
      purpose was to ask; `open`: the GETATTR in the compound of an OPEN; `verify`: VERIFY or
      NVERIFY on the change attribute.
    - `finding`: `first` (nothing known before), `unchanged`, `self`, `other`; `unknown` when a
      RENAME or LINK of this client in between may have been about it, or a call whose reply, or a
      reply whose call, is not in the capture, or when nothing proves that anybody changed it; NULL
      when the reply did not tell.
    - `modified`: the operation itself modified the object. `meddled`: so did one of this client
      since it last knew the change-ID.
    - `known_time`: when it last learnt it; NULL when it never had. Times are the capture's.
      `known_call`, `known_position`: from which operation's reply.
    - `alone`: the call did nothing but ask, so that the time to its reply is the question's.

    `asked_about`: a row for each mount and object with rows in `learned`, with their numbers:
    `revalidations` (a first OPEN of a file is none: it asks nothing that the client could have
    known), of these by finding `first_sight`, `unchanged`, `changed_by_self`, `changed_by_other`,
    `changed_by_unknown` (those taken back) and `unknown`; `by_getattr`, `by_open`, `by_verify`;
    `invalidations`: times that it learnt, asked or not, that somebody else had changed it; `time`:
    nanoseconds from calls to replies, of those calls that did nothing but ask.

    Args:
        trace: The trace.
        all_rows: Also have those rows in `learned` that are neither a question nor somebody else's
            change: attributes that came along, and the client's own changes. No question needs
            these; tests hold by them what the others rest on.
        begin: What to do with the connection first: it may put other mounts in place of those of
            `calls`.
    """
    cursor = trace.cursor()
    try:
        if begin is not None:
            begin(cursor)
        cursor.execute(_MOUNTS)
        cursor.execute(_TABLES)
        _learn(trace, cursor, all_rows=all_rows)
        doubts.take_back(trace, cursor)
        yield cursor
    finally:
        cursor.close()


def _learn(trace: Trace, cursor: duckdb.DuckDBPyConnection, *, all_rows: bool) -> None:
    """Fill `learned` and `asked_about`."""
    # Held as they come from the walk, the counts of millions of objects would be memory that
    # nothing can put on the disk.
    as_they_come = told.at_once(trace)
    statement = f"create temp {'view' if as_they_come else 'table'} asked_about as {_ASKED_ABOUT}"
    for learned, asked in _walked(trace, cursor, all_rows=all_rows):
        walks.put(cursor, "learned", learned)
        del learned
        cursor.register("asked_counts", asked)
        cursor.execute(statement)
        if not as_they_come:
            cursor.unregister("asked_counts")
            statement = f"insert into asked_about {_ASKED_ABOUT}"


def _walked(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, *, all_rows: bool
) -> Iterator[tuple[Batch, Batch]]:
    """What clients learnt and asked, part by part of the objects."""
    many = parts.number(trace, entries=True)
    if many == 1:
        parts.whole(cursor)
        told.look_beside(cursor)
        answered = walks.Answered(cursor.sql(told.ANSWERED))
        yield answered.learned(cursor.sql(f"{told.SAID} from said"), all_rows=all_rows)
        return
    told.tell(trace, cursor, "told")
    for some in parts.of_table(trace, cursor, "told", "mount, file", many):
        yield walks.learned(some, all_rows=all_rows)


def age_s(column: str = "call_time - known_time") -> str:
    """SQL for how old the client's knowledge was when it asked, in seconds."""
    return f"({column}) / {NANOSECONDS}"


_MOUNTS = f"""
    create temp table mounts as
    select mount, any_value(client) as client, any_value(server) as server
    from calls where not callback and program in {NFS_PROGRAMS}
    group by mount
"""

_TABLES = """
    create temp type question as enum ('getattr', 'open', 'verify');
    create temp type finding as enum ('first', 'unchanged', 'self', 'other', 'unknown');
    create temp table learned (
        mount uinteger, file uinteger, call ubigint, position uinteger, call_time bigint,
        reply_time bigint, question question, modified boolean, alone boolean, known_call ubigint,
        known_position uinteger, known_time bigint, meddled boolean, finding finding
    );
"""

# Whose change it was is in doubt only where all objects are looked at together.
_ASKED_ABOUT = "select *, 0::ubigint as changed_by_unknown from asked_counts"
