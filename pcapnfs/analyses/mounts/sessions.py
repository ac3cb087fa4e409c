"""NFSv4.1 sessions: over how many connections, and with how many slots.

Takes the calls that name a session; gives each with its connections and addresses (trunking,
nconnect), the slots that the server offered and those that were used (RFC 8881 section 2.10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call mount connection callback program session slot reply_time",
    connections="connection client_address server_address",
    operations="call op session_slots target_highest_slot",
)
"""The columns that the queries here read."""


class Session(Record):
    """One session."""

    session: str
    """Its identifier, hexadecimal."""
    clients: tuple[str, ...]
    """Addresses of the client that used it."""
    servers: tuple[str, ...]
    """Addresses of the server that it was used with; several: trunking."""
    connections: int
    """Connections that carried its calls."""
    calls: int
    """Calls in it."""
    slots_offered: int | None
    """Slots that the server granted in CREATE_SESSION (ca_maxrequests); None when that is not in
    the capture."""
    slots_used: int
    """Slots up to the highest that a call was sent in."""
    slots_wanted_least: int | None
    """Fewest slots that the server wanted used, as SEQUENCE (target_highest_slotid) and
    CB_RECALL_SLOT say; None when nothing tells."""
    slots_wanted_most: int | None
    """Most slots that it wanted used; None when nothing tells."""

    @property
    def slots_limit(self) -> int | None:
        """Slots that the client might use; None when the capture does not tell.

        What the server grants with a session is where it begins: each SEQUENCE says how many it
        wants used now (target_highest_slotid, RFC 8881 section 2.10.6.1), be it fewer, or more as
        the client uses what it has, as newer Linux servers do. Of several numbers it is the
        largest, unless the client keeps to what it was granted.
        """
        offered, wanted = self.slots_offered, self.slots_wanted_most
        if wanted is None or (offered is not None and self.slots_used <= offered < wanted):
            return offered
        return wanted


def sessions(trace: Trace, *, top: int = 20) -> tuple[int, tuple[Session, ...]]:
    """How many sessions carried calls, and the busiest of them; 0 for all."""
    rows = [row for row, sent in ((row[:-2], row[4]) for row in _rows(trace)) if sent]
    shown = rows[:top] if top else rows
    return len(rows), tuple(
        Session(
            session=str(session).lower(),
            clients=tuple(clients),
            servers=tuple(servers),
            connections=connections,
            calls=calls,
            slots_offered=None if offered is None else integer(offered),
            slots_used=integer(used),
            slots_wanted_least=None if least is None else integer(least),
            slots_wanted_most=None if most is None else integer(most),
        )
        for session, clients, servers, connections, calls, offered, used, least, most in shown
    )


def answered(trace: Trace) -> dict[str, int]:
    """How many calls of NFS in each session were answered, by its identifier."""
    return {str(session).lower(): integer(calls) for session, *_, calls, _ in _rows(trace)}


def mounts(trace: Trace) -> set[int]:
    """Mounts with such calls."""
    return {mount for *_, found in _rows(trace) for mount in found or ()}


@once
def _rows(trace: Trace) -> list[tuple[Any, ...]]:
    """Each session with what the server offered and the client used, busiest first.

    Those too in which nothing was sent in a slot.
    """
    return trace.rows(
        f"""
        with used as (
            select session, mount, connection, count(slot) as sent, max(slot) as highest,
                   count(reply_time) filter (program = {NFS}) as answered
            from calls where session is not null and not callback
            group by session, mount, connection
        ),
        told as (
            select call, session_slots, null as wanted
            from operations where op = 'CREATE_SESSION' and session_slots is not null
            union all
            select call, null, target_highest_slot
            from operations
            where target_highest_slot is not null and op in ('SEQUENCE', 'CB_RECALL_SLOT')
        ),
        limits as (
            select session, max(session_slots) as offered, min(wanted) as least,
                   max(wanted) as most
            from told join calls using (call)
            where session is not null
            group by session
        )
        select hex(session), list_sort(list(distinct client_address)),
               list_sort(list(distinct server_address)),
               count(distinct connection), sum(sent)::bigint, any_value(offered),
               max(highest)::bigint + 1, any_value(least)::bigint + 1, any_value(most)::bigint + 1,
               sum(answered)::bigint, list(distinct mount) filter (answered > 0)
        from used left join connections using (connection) left join limits using (session)
        group by session order by sum(sent) desc, 1
        """
    )
