"""Whether the OPENs of NFSv4.0 wait for one another.

An open-owner of NFSv4.0 numbers its OPENs, and the next may only be sent when the one before is
answered (RFC 7530 section 9.1.7). A client uses one owner for each of its users. NFSv4.1 has slots
instead. Takes a trace; gives for each client, server and user how its OPENs lay in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses import shares
from pcapnfs.analyses.levels import levels
from pcapnfs.analyses.service_time import NANOSECONDS, integer, whole
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server callback protocol op uid call_frame call_first_time reply_time"
    ),
)
"""The columns that the queries here read."""

LATEST_NS = 2**62
"""Times beyond this, in nanoseconds since 1970, are taken for this."""

OWNERS = 100
"""Users that are looked at, most OPENs first: a hostile capture may have one for each call."""

EXAMPLES = 5
"""Frames that are told."""


class OpenOrder(Record):
    """One user of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    uid: int | None
    """AUTH_SYS user; None with other flavors."""
    opens: int
    """Its OPENs in NFSv4.0, answered."""
    overlapping: bool
    """Two of them were under way at once."""
    others_at_once: float
    """Other calls of the same client and user at this server, under way at once while any was, on
    average; 0 without any."""
    time_s: float
    """What the OPENs took of the clock (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of the first OPENs."""


def open_order(trace: Trace) -> tuple[OpenOrder, ...]:
    """Look at each user's OPENs, most first."""
    shares.register(trace)
    owners = trace.rows(
        """
        select client, server, uid, count(*) filter (op = 'OPEN') from calls
        where protocol = '4.0' and not callback and reply_time is not null
        group by client, server, uid order by client, server, uid
        """
    )
    if not any(opens for *_, opens in owners):
        return ()
    rows = trace.arrays(
        """
        select dense_rank() over (order by client, server, uid) - 1 as owner,
               call_first_time as begin, greatest(reply_time, call_first_time) as end,
               op = 'OPEN' as opening, share, call_frame as frame
        from calls join shares using (call)
        where protocol = '4.0' and not callback and reply_time is not null
        order by owner, call_first_time, call
        """
    )
    told = {name: np.asarray(values) for name, values in rows.items()}
    bounds = np.searchsorted(told["owner"], np.arange(len(owners) + 1))
    most = sorted(range(len(owners)), key=lambda place: -integer(owners[place][3]))[:OWNERS]
    return tuple(
        _owner(
            owners[place],
            {name: values[bounds[place] : bounds[place + 1]] for name, values in told.items()},
        )
        for place in most
        if owners[place][3]
    )


def _owner(owner: tuple[object, ...], rows: dict[str, NDArray[Any]]) -> OpenOrder:
    client, server, uid, opens = owner
    begin, end = (np.minimum(rows[name], LATEST_NS) for name in ("begin", "end"))
    opening = rows["opening"]
    opened = levels(begin[opening], end[opening])
    others = levels(begin[~opening], end[~opening])
    busy = int(others[1:].sum())
    weights = np.arange(len(others), dtype=np.float64)
    return OpenOrder(
        client=str(client),
        server=str(server),
        uid=whole(uid),
        opens=integer(opens),
        overlapping=len(opened) > 2,
        others_at_once=float((others * weights).sum() / busy) if busy else 0.0,
        time_s=int(rows["share"][opening].sum()) / NANOSECONDS,
        frames=tuple(int(frame) for frame in rows["frame"][opening][:EXAMPLES]),
    )
