"""What calls on files add up to: the SQL and the totals that `perfile` and `pergroup` share.

Takes a `Selection` of files. Every call of a client is in exactly one place: on a listed file, on
one that the pattern leaves out, on a name not found or not told or a directory above an export, or
on no file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from pcapnfs import columns
from pcapnfs.analyses.asking import order, owners, wildcards
from pcapnfs.analyses.asking.owners import OBJECTS, OWNED
from pcapnfs.analyses.asking.service_time import FAILED
from pcapnfs.analyses.asking.sorts import FileSort
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.caching.told import ASKS_CHANGE, ASKS_STATE
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.data.moves import MOVING, READ_OPERATIONS
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    owners.READS,
    _untold.READS,
    columns.of(
        calls="call client server version op call_first_frame call_frame reply_frame "
        "call_first_time call_time reply_time srt transmissions rpc_status status stability",
        operations="call op executed status file count change attributes",
        files="role path export listed_only",
        entries="call file change",
    ),
)
"""The columns that the queries here read."""

LEFT_OUT_ROLES = ("pseudo", "absent", "untold")
"""Directories above an export, and names that were looked for and not found, or of which no reply
tells: an object that has such a name may be another one by its handle."""


UNTOLD = "stability = 'unknown'"
"""SQL: nothing tells whether a call was stable."""


class Total(Record):
    """A group of calls."""

    files: int | None
    """Files in the group; those without a call of their own are in `listed` alone. None when none
    is known, but there are calls that do not tell."""
    calls: int
    """Calls."""
    stable_calls: int | None
    """Those of them that were stable; None when none is known to be, and of some it is not
    known."""
    time_s: float
    """Sum of their service times, seconds."""

    @classmethod
    def of(cls, parts: Collection[Costly], *, files: int | None) -> Total:
        """Add up what `files` files cost; `parts` are these files, or groups of them."""
        stable = sum(part.stable_calls or 0 for part in parts)
        return cls(
            files=files,
            calls=sum(part.calls for part in parts),
            stable_calls=known(stable, unless=any(part.stable_calls is None for part in parts)),
            time_s=sum(part.time_s for part in parts),
        )


class Costly(Protocol):
    """A file, or some, whose calls were counted."""

    @property
    def calls(self) -> int:
        """Calls."""

    @property
    def stable_calls(self) -> int | None:
        """Those of them that were stable; None where that is not known."""

    @property
    def time_s(self) -> float:
        """Sum of their service times, seconds."""


class Selection(Record):
    """Which files, in what order."""

    top: int = 20
    """Files, or groups; 0 for all."""
    sort: FileSort = "time"
    """What the files are sorted by."""
    show_all: bool = False
    """Also names that were not found or not told, and directories above an export."""
    match: str | None = None
    """A pattern for names, or with a slash for paths; None for all files."""

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        order.check("files", top=self.top, sort=self.sort, kinds=FileSort)

    def parameters(self) -> dict[str, object]:
        """What `PLACED` asks for."""
        return {
            "left_out": () if self.show_all else LEFT_OUT_ROLES,
            "pattern": None if self.match is None else wildcards.text(self.match),
        }


PLACED = f"""
    placed as (
        select *, case when list_contains($left_out, role) then 'left_out'
                       when $pattern is null then 'listed'
                       when {wildcards.LIKE_PATTERN} then 'listed'
                       else 'not_matched' end as place
        from objects where not listed_only
    )
"""
"""The files that calls addressed, and where their costs go."""

SUMS = f"""
    count(*) as calls, count(*) filter (stability = 'stable') as stable_calls,
    coalesce(sum(srt), 0) as time,
    coalesce(sum(srt) filter (stability = 'stable'), 0) as stable_time,
    count(*) filter ({FAILED}) as errors, count(*) filter (transmissions > 1) as retransmitted,
    min(call_first_frame) as first_frame, max(coalesce(reply_frame, call_frame)) as last_frame,
    min(call_first_time) as first_time, max(coalesce(reply_time, call_time)) as last_time
"""
"""What a group-by over calls gives."""

DATA = f"""
    data as (
        select call, identity as file,
               {among("op", READ_OPERATIONS)} as reading, "count" as moved
        from operations join files using (file)
        where ("count" is not null or coalesce(status, 0) = 0)
              and {among("op", MOVING)}
    )
"""
"""File data that operations moved; NULL where a reply that may have been a success does not say."""

MOVED = """
    case when bool_or(reading) then sum(moved) filter (reading) else 0 end as bytes_read,
    case when bool_and(reading) then 0 else sum(moved) filter (not reading) end as bytes_written
"""
"""What a group-by over these gives: NULL where not one of those that there are says it."""

REVALIDATED = f"""
    asked as (
        select operations.call, files.identity as file, owned.client, owned.server,
               owned.reply_time, owned.version, owned.op as purpose, operations.op
        from operations join files using (file)
             join owned on owned.call = operations.call
        where operations.executed and reply_time is not null
          and case when operations.op in ('VERIFY', 'NVERIFY') then {ASKS_CHANGE}
                   when operations.op = 'GETATTR' and owned.op in ('GETATTR', 'OPEN')
                   then owned.file = files.identity and (owned.version < 4 or {ASKS_STATE})
                   else false end
    ),
    opened as (select * from asked where op = 'GETATTR' and purpose = 'OPEN'),
    acquainted as (
        select client, server, file, min(reply_time) as since
        from (
            select owned.client, owned.server, files.identity as file, owned.reply_time
            from operations join files using (file) join owned on owned.call = operations.call
            where operations.change is not null
            union all
            select owned.client, owned.server, files.identity, owned.reply_time
            from entries join files using (file) join owned on owned.call = entries.call
            where entries.change is not null
        )
        semi join opened using (file)
        group by client, server, file
    ),
    revalidated as (
        select call, file from asked where op <> 'GETATTR' or purpose = 'GETATTR'
        union all
        select call, file from opened join acquainted using (client, server, file)
        where since < reply_time
    )
"""
"""Questions whether a file has changed, by the definition of `cache` (caching/told.py).

A call whose purpose is GETATTR, VERIFY or NVERIFY on the change attribute, and the GETATTR that
goes with an OPEN when the client knew the file.
"""


def prepare(
    cursor: duckdb.DuckDBPyConnection,
    tables: Mapping[str, str],
    parameters: Mapping[str, Mapping[str, object]],
) -> None:
    """Make temporary tables, one after the other.

    What one query would hold of all of them at the same time would be more than a tight limit
    leaves the database; tables it can spill.

    Args:
        cursor: A connection to a trace.
        tables: Queries by the name of the table.
        parameters: Parameters of those that have any, likewise.
    """
    for table, query in tables.items():
        cursor.execute(f"create temp table {table} as {query}", parameters.get(table))


def totals(trace: Trace, selection: Selection) -> dict[str, Total]:
    """Each call of a client under exactly one of the totals; and all of them together."""
    rows = trace.rows(
        f"""
        with {OWNED}, {OBJECTS}, {PLACED},
        costs as (
            select file, count(*) as calls, count(*) filter (stability = 'stable') as stable_calls,
                   sum(srt) as time, bool_or({UNTOLD}) as untold
            from owned group by file
        )
        select coalesce(place, 'without_file'), count(placed.file), sum(calls),
               sum(stable_calls), sum(time), coalesce(bool_or(untold), false)
        from placed full join costs using (file) group by 1
        """,
        selection.parameters(),
    )
    found = {
        place: Total(
            integer(files),
            integer(calls),
            known(integer(stable), unless=some_untold),
            seconds(time) or 0.0,
        )
        for place, files, calls, stable, time, some_untold in rows
    }
    places = ("listed", "not_matched", "left_out", "without_file")
    parts = {place: found.get(place, Total(0, 0, 0, 0.0)) for place in places}
    unless = untold(trace).unplaced
    files = sum(part.files or 0 for part in parts.values())
    parts["total"] = Total.of(parts.values(), files=known(files, unless=unless))
    listed = parts["listed"]
    parts["listed"] = replace(listed, files=known(listed.files or 0, unless=unless))
    return parts
