"""What READs and WRITEs asked for, and what servers allow, in a few numbers for each mount.

Takes a trace; gives the largest sizes and the bytes moved, counted in one pass over the operations
for all the questions that want some of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import joined
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, whole
from pcapnfs.analyses.by_file.visits import TOGETHER_NS
from pcapnfs.analyses.data import moves
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

MOVED_READS = columns.together(moves.READS, columns.of(calls="call mount callback"))
"""The columns that `moved` reads."""

ALLOWED_READS = columns.of(calls="call mount callback", operations="call op max_read max_write")
"""The columns that `allowed` reads."""

WITHHELD_READS = columns.together(
    MOVED_READS, ALLOWED_READS, columns.of(operations="call op status attributes")
)
"""The columns that `withheld` reads."""

WENT_ON_READS = columns.together(
    MOVED_READS, columns.of(calls="call call_time call_frame reply_time")
)
"""The columns that `went_on` reads."""

READS = columns.together(MOVED_READS, ALLOWED_READS)
"""The columns that `moved` and `allowed` read."""

UNTOLD_BYTES = 1024
"""What Linux moves in one call at most where an NFSv4 server does not say what it allows, whatever
rsize and wsize are."""

REACH = f'case when greatest("offset", requested) < {1 << 62} then "offset" + requested end'
"""SQL: the first byte behind what a READ or a WRITE asks for; NULL where one of the two is not
known, or so large, by damage, that the sum may have no place in 64 bits."""


class Moved(Record):
    """The READs, or the WRITEs, of one client at one server."""

    mount: int
    """Number of the client and server (table calls)."""
    reading: bool
    """They are READs."""
    moved_bytes: int | None
    """What the replies say was read or written, bytes; None when not one of them says it."""
    untold: int
    """Those of which nothing says how much it was: cut or sealed before that, or without reply."""
    largest_bytes: int | None
    """The most that one of them asked for, bytes; None when no call tells."""
    largest_placed_bytes: int | None
    """The same of those whose offset is known, bytes; None when no such call tells."""
    reach_bytes: int | None
    """How far into a file any of them went, bytes, without those that moved nothing, as behind the
    file's end; None when no call tells."""


class Allowed(Record):
    """What one server allows one client."""

    mount: int
    """Number of the client and server (table calls)."""
    read_bytes: int | None
    """The most that it allows in one READ, bytes; None when it does not say."""
    write_bytes: int | None
    """The most that it allows in one WRITE, bytes; None when it does not say."""


@once
def moved(trace: Trace) -> tuple[Moved, ...]:
    """Look at the READs and the WRITEs of each mount."""
    moves.register(trace)
    return tuple(
        Moved(
            mount=integer(mount),
            reading=bool(reading),
            moved_bytes=whole(size),
            untold=integer(untold),
            largest_bytes=whole(largest),
            largest_placed_bytes=whole(placed),
            reach_bytes=whole(reach),
        )
        for mount, reading, size, untold, largest, placed, reach in trace.rows(_MOVED)
    )


@once
def allowed(trace: Trace) -> tuple[Allowed, ...]:
    """Look at what servers say, by mount."""
    return tuple(
        Allowed(integer(mount), whole(read), whole(write))
        for mount, read, write in trace.rows(_ALLOWED)
    )


@once
def withheld(trace: Trace) -> frozenset[int]:
    """Mounts of NFSv4 whose server does not say what it allows, where the client goes by that.

    The client asked in the capture what the server supports and how long its lease is, as it does
    when it mounts, and had no answer with `maxread` or `maxwrite`.
    """
    largest: dict[int, int] = {}
    for each in moved(trace):
        if each.largest_bytes is not None:
            largest[each.mount] = max(each.largest_bytes, largest.get(each.mount, 0))
    small = {mount for mount, size in largest.items() if size <= UNTOLD_BYTES}
    if not small:
        return frozenset()
    return frozenset(small.intersection(integer(mount) for (mount,) in trace.rows(_WITHHELD)))


def went_on(trace: Trace, size: int, *, reading: bool) -> bool:
    """Whether any READ or WRITE went on where one of a size ended, as those of rsize or wsize do.

    Who waits for each READ, or makes sure of each WRITE, has not had them cut: so there was no
    COMMIT between the two, and a READ, or one that asks for stable storage, was under way still.
    """
    moves.register(trace)
    return bool(trace.rows(_WENT_ON, {"size": size, "reading": reading}))


_OF_CLIENT = joined.condition("not callback", other="operations.op")

_MOVED = f"""
    select mount, reading, sum("count"),
           count(*) filter ("count" is null and coalesce({moves.TABLE}.status, 0) = 0),
           max(requested), max(requested) filter ("offset" is not null),
           max({REACH}) filter (coalesce("count", 1) > 0 and coalesce({moves.TABLE}.status, 0) = 0)
    from {moves.TABLE} join calls using (call)
    where what < {moves.COMMIT} and {joined.condition("not callback", other="what")}
    group by mount, reading
"""

_WENT_ON = f"""
    with ordered as (
        select requested, what,
               not reading and unstable_asked or lead(call_time) over next < reply_time as cut,
               "offset"::hugeint + requested = lead("offset") over next
               and lead(what) over next < {moves.COMMIT}
               and lead(call_time) over next - call_time < {TOGETHER_NS} as continued
        from {moves.TABLE} join calls using (call)
        where reading = $reading and {joined.condition("not callback", other="what")}
        window next as (partition by mount, {moves.TABLE}.file
                        order by call_time, call_frame, call, position)
    )
    select 1 from ordered
    where continued and cut and requested = $size and what < {moves.COMMIT} limit 1
"""

# Apart from what was moved: where nothing has a value, DuckDB does not even look at the rows.
_ALLOWED = f"""
    select mount, max(max_read), max(max_write) from operations join calls using (call)
    where (max_read is not null or max_write is not null) and {_OF_CLIENT}
    group by mount
"""

# Attributes 0, 10, and 30 or 31 of the mask.
_WITHHELD = f"""
    with asked as (
        select mount, max_read, max_write,
               contains('13579bdf', substr(attributes, 8, 1)) as supported,
               contains('4567cdef', substr(attributes, 6, 1)) or substr(attributes, 1, 1) >= '4'
                   as limits
        from operations join calls using (call)
        where operations.op = 'GETATTR' and operations.status = 0 and attributes is not null
              and {_OF_CLIENT}
    )
    select mount from asked group by mount
    having bool_or(supported) and bool_or(limits)
           and count(max_read) = 0 and count(max_write) = 0
"""
