"""Which files a client read and wrote, and which of them it moved in pieces of its largest size.

Takes a trace; gives the paths of each client, as numbers that are made of them, so that those of
another capture can be held against them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.data.moves import MOVING, READ_OPERATIONS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client callback",
    operations="call position op file requested offset",
    files="file identity role path export",
)
"""The columns that the queries here read."""

NEEDS = population.Operations(MOVING)
"""Without these there are none."""

MOSTLY = 0.5
"""Share of the transfers of the largest size behind which the next one goes on that makes pieces:
blocks of a database are seldom neighbours."""


class Sizes(Record):
    """The files that were moved in one direction by calls of the largest size."""

    calls: int = 0
    """Such calls."""
    widest: frozenset[int] = frozenset()
    """Those of which any call asked for as much as the client did at most."""
    pieces: frozenset[int] = frozenset()
    """Those that were moved in pieces of it: behind most of them the next call went on."""


class MovedFiles(Record):
    """The files that clients moved, by numbers that are made of their paths."""

    written: frozenset[int] = frozenset()
    """Those that were written."""
    reads: Sizes = Sizes()
    """Those that were read by the largest READs."""
    writes: Sizes = Sizes()
    """Those that were written by the largest WRITEs."""


def by_client(trace: Trace) -> dict[str, MovedFiles]:
    """What each client moved, by its address."""
    if not NEEDS.met(trace):
        return {}
    found: dict[str, list[_Row]] = {}
    for client, place, reading, calls, pieces in trace.rows(_MOVED):
        row = integer(place), bool(reading), integer(calls), bool(pieces)
        found.setdefault(str(client), []).append(row)
    return {client: _moved(rows) for client, rows in found.items()}


_Row = tuple[int, bool, int, bool]
"""A path's number, whether it was read, calls of the largest size, and whether they are pieces."""


def _moved(rows: list[_Row]) -> MovedFiles:
    def sizes(*, read: bool) -> Sizes:
        mine = [row for row in rows if row[1] is read]
        return Sizes(
            calls=sum(calls for _, _, calls, _ in mine),
            widest=frozenset(place for place, _, calls, _ in mine if calls),
            pieces=frozenset(place for place, *_, pieces in mine if pieces),
        )

    return MovedFiles(
        written=frozenset(place for place, reading, *_ in rows if not reading),
        reads=sizes(read=True),
        writes=sizes(read=False),
    )


def together(each: Iterable[MovedFiles]) -> MovedFiles:
    """What several clients moved.

    Of their largest sizes nothing is told: those of one may be pieces of another's.
    """
    all_of_them = tuple(each)
    if len(all_of_them) == 1:
        return all_of_them[0]
    return MovedFiles(written=frozenset().union(*(one.written for one in all_of_them)))


_MOVED = f"""
    with moved as (
        select call, position, client, operations.file as file,
               {among("operations.op", READ_OPERATIONS)} as reading, requested, "offset"
        from operations join calls using (call)
        where {among("operations.op", MOVING)} and not callback
    ),
    largest as (select client, reading, max(requested) as largest from moved group by all),
    placed as (
        select client, file, reading, coalesce(requested = largest, false) as wide,
               -- Of two that are sent at once, either may come first.
               "offset"::hugeint + requested = lead("offset") over next
               or "offset" = (lead("offset") over next)::hugeint + lead(requested) over next
                   as continued
        from moved join largest using (client, reading)
        window next as (partition by client, file, reading order by call, position)
    ),
    sums as (
        select client, file, reading, count(*) filter (wide) as calls,
               count(*) filter (wide and continued) as pieces
        from placed group by all
    )
    select client, place, reading, sum(calls)::bigint,
           bool_or(pieces > 0 and pieces >= {MOSTLY} * calls)
    from sums join (
        -- A path may have kilobytes: none goes into the join.
        select file, hash({paths.BELOW}) as place from files
        where file = identity and role not in ('pseudo', 'absent', 'untold')
    ) using (file)
    group by all
"""
