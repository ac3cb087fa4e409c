"""NFSv4 delegations: granted, called back, returned, and what they were good for.

Takes a connection with the table `mounts` (`change_ids`); gives a `Delegations`. An OPEN that the
client answers itself leaves no trace; only what it reads or writes afterwards does. So what a
delegation saves is a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured.untold import known
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb


OF_DIRECTORY = "GET_DIR_DELEGATION"
"""What asks for a delegation of a directory. It succeeds also where none is available, and does
not tell the kind of one that is: the column has READ (RFC 8881 section 18.39)."""


class Delegations(Record):
    """What the server granted and took back, of all clients.

    What is 0 unless calls of which it is not known what they do were such, or what came of them was
    cut off or lost, is None.
    """

    opens: int | None
    """OPENs that succeeded; None as above."""
    granted_read: int | None
    """Read delegations that came with them; None as above."""
    granted_write: int | None
    """Write delegations that came with them; None as above."""
    granted_directory: int | None
    """Delegations of directories (GET_DIR_DELEGATION) that were granted; None as above."""
    recalled: int | None
    """Delegations that the server called back (CB_RECALL); None as above."""
    returned: int | None
    """Delegations that a client gave back (DELEGRETURN), called back or not; None as above."""
    recall_s: float | None
    """From CB_RECALL to the reply to the DELEGRETURN that follows, sum, seconds: how long somebody
    else's OPEN had to wait at least; None as above."""
    recall_max_s: float | None
    """The longest of them, seconds; None when none was both called back and returned."""
    opens_served: int | None
    """Times that a client read or wrote a file under a delegation without an OPEN that was still in
    force: a lower bound of the opens that needed no call; None as above."""


def delegations(cursor: duckdb.DuckDBPyConnection, *, untold: bool) -> Delegations:
    """Count delegations, and time what was called back.

    Args:
        cursor: A connection to a trace.
        untold: There are calls of which it is not known what they do.
    """
    (counts,) = cursor.execute(_COUNTS).fetchall()
    (
        opens, granted_read, granted_write, recalled, returned, cut, unheard, unreturned,
        directories, undirected,
    ) = counts  # fmt: skip
    waited, longest, served = None, None, 0
    if recalled and returned:
        ((waited, longest),) = cursor.execute(_RECALLS).fetchall()
    if granted_read or granted_write:  # Only an OPEN that succeeded grants one.
        data = {"data": MOVING}
        ((served,),) = cursor.execute(_SERVED, data).fetchall()
    # An OPEN without reply beside others that have one grants nothing that its client knows of.
    ungranted = untold or cut > 0 or (unheard > 0 and not opens)
    return Delegations(
        opens=known(integer(opens), unless=untold or unheard > 0),
        granted_read=known(integer(granted_read), unless=ungranted),
        granted_write=known(integer(granted_write), unless=ungranted),
        granted_directory=known(integer(directories), unless=untold or undirected > 0),
        recalled=known(integer(recalled), unless=untold),
        returned=known(integer(returned), unless=untold or unreturned > 0),
        recall_s=known(seconds(waited) or 0.0, unless=untold),
        recall_max_s=seconds(longest),
        opens_served=known(integer(served), unless=ungranted),
    )


_COUNTS = f"""
    select count(*) filter (op = 'OPEN' and status = 0),
           count(*) filter (op = 'OPEN' and status = 0 and delegation like 'READ%'),
           count(*) filter (op = 'OPEN' and status = 0 and delegation like 'WRITE%'),
           count(*) filter (op = 'CB_RECALL'),
           count(*) filter (op = 'DELEGRETURN' and status = 0),
           count(*) filter (op = 'OPEN' and status = 0 and delegation is null),
           count(*) filter (op = 'OPEN' and status is null),
           count(*) filter (op = 'DELEGRETURN' and status is null),
           count(*) filter (op = '{OF_DIRECTORY}' and status = 0 and delegation = 'READ'),
           count(*) filter (op = '{OF_DIRECTORY}' and coalesce(status, 0) = 0
                            and delegation is null)
    from operations
    where {among("op", ("OPEN", "CB_RECALL", "DELEGRETURN", OF_DIRECTORY))}
"""

_RECALLS = """
    with recalls as (
        select mount, operations.file, call_time as moment
        from operations join calls using (call)
        where operations.op = 'CB_RECALL' and operations.file is not null
    ),
    returns as (
        select mount, operations.file, reply_time as moment
        from operations join calls using (call)
        where operations.op = 'DELEGRETURN' and operations.status = 0 and reply_time is not null
    ),
    waits as (
        select returns.moment - recalls.moment as wait
        from recalls asof join returns
             on recalls.mount = returns.mount
                and recalls.file = returns.file and recalls.moment <= returns.moment
    )
    select sum(wait), max(wait) from waits
"""

_SERVED = """
    with delegated as (
        select distinct mount, operations.file
        from operations join calls using (call)
        where operations.op = 'OPEN' and (delegation like 'READ%' or delegation like 'WRITE%')
    ),
    steps as (
        select mount, operations.file, reply_time, call, position,
               operations.op in $data as used,
               case operations.op when 'OPEN' then 1 when 'CLOSE' then -1 else 0 end as opened,
               case when (delegation like 'READ%' or delegation like 'WRITE%') then 1
                    when operations.op = 'DELEGRETURN' then -1 else 0 end as held
        from operations join calls using (call)
        where (operations.op in ('OPEN', 'CLOSE', 'DELEGRETURN') or operations.op in $data)
              and operations.status = 0 and not callback and reply_time is not null
              and version = 4
    ),
    followed as (
        select used, sum(opened) over earlier as opened, sum(held) over earlier as held,
               coalesce(lag(used) over earlier, false) as used_before
        from steps semi join delegated using (mount, file)
        window earlier as (partition by mount, file order by reply_time, call, position)
    )
    select count(*) filter (used and not used_before and opened <= 0 and held > 0) from followed
"""
