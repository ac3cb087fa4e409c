"""Whether calls arrived the later the more of their client's data was under way.

Takes pairs of a client and a server of which calls arrived late; gives how fast a link takes data
behind which just these calls were late. Such a link is told from a path that became longer by its
queue: what waits there is what was sent before and has not gone through, so that a call is later by
what these bytes take, its own included, and one that is sent with nothing under way comes as soon
as ever. For each speed of a link the queue follows from the calls alone: their bytes come as they
were sent, and go at that speed. What each call was late for is known within bounds: it came after
the last acknowledgement that left out some of it (`unreceived_time`), and before its reply was
sent. The speed is the one by which most calls are in these bounds. Nothing is said where many are
not, as where the path was longer, others filled the link, or it lost segments; nor where the queue
was hardly ever empty in between; nor where all would wait for as long, and nothing shows calls that
need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]

READS = columns.of(
    calls="call client server callback call_first_time call_time unreceived_time reply_time "
    "call_bytes"
)
"""The columns that the query here reads."""

PAIRS = 20
"""Pairs that are looked at, the first of them."""

CALLS = 5_000
"""Calls of each, the last ones."""

SPEEDS = np.geomspace(1e-5, 2.0, 84)
"""Those that are tried, bytes a nanosecond: 10 kB to 2 GB a second."""

FINER, AROUND = 25, 3
"""Those that are tried after that, between the ones so many places below and above the best."""

NEAR = 1.25
"""How many times the bounds a wait may be beyond them …"""

SLACK_NS = 2_000_000.0
"""… and by how much besides: hosts and paths vary."""

LATE_NS = 5_000_000.0
"""What a call must have waited for, or have to, in order to tell anything."""

QUICK_NS = 1_000_000.0
"""A call that has to wait for no more waits for next to nothing."""

LEAST = 10
"""Calls that tell, and of those that need not wait, if all others wait for as long."""

FOLLOWING = 0.85
"""Part of the calls that tell that must be within the bounds. Of transfers over links that queues
of 50 to 100 ms were before, which the client's own data filled again and again, it was 0.98 and
more; over a path that was 20 ms longer for a while, with delays that vary, or with data under way
all the time, 0.4 at most."""

ALIKE = 0.02
"""By how much less speeds are as good as the best."""

PERIODS = 5
"""Times that the queue must have been empty before a call that tells: in one that lasts all wait
for as long as it does, whatever they stand in."""

SPREAD = 2.0
"""How many times as long some of them wait as others (ninth and first decile)."""


class Late(Record):
    """A client and a server of which calls arrived late."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    usual_ns: int
    """The usual round trip to the server, ns."""
    until_ns: int
    """When the last of these calls had not arrived yet, nanoseconds since 1970."""


def rates(trace: Trace, late: Sequence[Late]) -> dict[tuple[str, str], float]:
    """How fast the link takes data behind which just these calls were late, bytes a second.

    By client and server; those are left out of which nothing tells.
    """
    asked = late[:PAIRS]
    if not asked:
        return {}
    rows = trace.arrays(
        _CALLS,
        {
            "clients": given.text(each.client for each in asked),
            "servers": given.text(each.server for each in asked),
            "until": given.text(each.until_ns for each in asked),
            "most": CALLS,
        },
    )
    found = {}
    for place, each in enumerate(asked):
        chosen = np.flatnonzero(rows["place"] == place)
        first, last, size, unreceived, reply = (
            rows[name][chosen].astype(np.float64)
            for name in ("first", "last", "size", "unreceived", "reply")
        )
        rate = _rate(first, last, size, (unreceived - each.usual_ns, reply - each.usual_ns))
        if rate is not None:
            found[each.client, each.server] = rate * NANOSECONDS
    return found


def _rate(first: Floats, last: Floats, size: Floats, waited: tuple[Floats, Floats]) -> float | None:
    """The speed of the link, bytes a nanosecond; None where nothing tells.

    Args:
        first: When the first byte of each call was sent, ns, in the order of the last ones.
        last: When the last byte was.
        size: Its bytes.
        waited: What it waited for at least and at most, ns.
    """
    least, most = (each[:, np.newaxis] for each in waited)
    if len(size) < LEAST:
        return None
    speeds = SPEEDS
    for around in (SPEEDS[AROUND] / SPEEDS[0], 1.0):
        waits, empty = _waits(first, last, size, speeds)
        tells = (waits >= LATE_NS) | (least >= LATE_NS)
        near = (waits >= least / NEAR - SLACK_NS) & (waits <= most * NEAR + SLACK_NS)
        number = np.maximum(tells.sum(axis=0), LEAST)
        following = (tells & near).sum(axis=0) / number
        # Of several by which as many are within wider bounds, the one that is best in those known.
        beyond = (tells * np.maximum(np.maximum(least - waits, waits - most), 0.0)).sum(axis=0)
        alike = following >= following.max() - ALIKE
        best = int(np.where(alike, beyond / number, np.inf).argmin())
        speed = float(speeds[best])
        speeds = np.geomspace(speed / around, speed * around, FINER)
    telling, chosen = tells[:, best], waits[:, best]
    periods = (telling & empty[:, best]).sum()
    if following[best] < FOLLOWING or telling.sum() < LEAST or periods < PERIODS:
        return None
    lower, upper = np.quantile(chosen[telling], (0.1, 0.9))
    quick = (chosen < QUICK_NS) & (waited[1] < LATE_NS)
    return speed if upper >= SPREAD * lower or quick.sum() >= LEAST else None


def _waits(
    first: Floats, last: Floats, size: Floats, speeds: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """What each call waits for at each speed, ns: what stands in the queue behind its last byte.

    And whether that was empty before it.
    """
    found = np.empty((len(size), len(speeds)))
    empty = np.empty((len(size), len(speeds)), dtype=np.bool_)
    queue, now = np.zeros(len(speeds)), float(first[0])
    for place, (begin, end, sent) in enumerate(
        zip(first.tolist(), last.tolist(), size.tolist(), strict=True)
    ):
        begin = max(begin, now)
        end = max(begin, end)
        queue = np.maximum(queue - speeds * (begin - now), 0.0)
        empty[place] = queue == 0.0
        queue = np.maximum(queue + sent - speeds * (end - begin), 0.0)
        found[place] = queue / speeds
        now = end
    return found, empty


# Times since the last byte of each was sent; a call that nothing left out may have come at once.
_CALLS = f"""
    with pairs as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("until", "bigint")} as until,
               {given.places("clients")} as place
    )
    select place, call_first_time - min(call_first_time) over () as first,
           call_time - min(call_first_time) over () as last, call_bytes as size,
           coalesce(unreceived_time - call_time, 0) as unreceived, reply_time - call_time as reply
    from (
        select * from calls join pairs using (client, server)
        where not callback and reply_time is not null and call_time <= until
        qualify row_number() over (
                    partition by place order by call_time desc, call desc
                ) <= $most
    ) order by place, last, call
"""
