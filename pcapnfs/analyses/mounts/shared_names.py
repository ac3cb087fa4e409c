"""Clients of one server that log in by the same name, and so end each other's state.

Takes the logins of NFSv4 clients (SETCLIENTID, EXCHANGE_ID); gives the names by which several
addresses logged in by turns. A server knows a client by the name that it gives itself alone (RFC
8881 section 2.4, RFC 7530 section 9.1.1). One client may have several addresses, or another one
than before: then it changes from one to the next, and perhaps back, but not again and again. And
nothing is ended where it bears the verifier of the login before: that is the same incarnation of
one client, which logs in over all of its addresses (RFC 8881 sections 2.10.5 and 18.35.4), or has
another one for its callbacks (RFC 7530 section 16.33).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.analyses.mounts.software import TELLING
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call client server callback call_frame call_time",
        operations="call op client_owner client_verifier",
    ),
)
"""The columns that the query here reads."""

NEEDS = population.Operations(TELLING)
"""Without one of them nobody logs in."""

TURNS = 3
"""Logins as another client, from another address than the one before: there, back, there again."""


class SharedName(Record):
    """A name by which several clients log in at one server."""

    server: str
    """Address of the server."""
    name: str
    """The name; not escaped."""
    clients: tuple[str, ...]
    """Addresses of the clients."""
    logins: int
    """Logins by that name."""
    turns: int
    """Those that came from another address than the one before, and with another verifier."""
    frames: tuple[int, ...]
    """Frames of the first of these."""


def shared_names(trace: Trace) -> tuple[SharedName, ...]:
    """Tell each, most logins first."""
    if not NEEDS.met(trace):
        return ()
    rows = trace.rows(_SHARED, {"turns": TURNS, "examples": EXAMPLES, "others": OTHERS})
    return tuple(
        SharedName(
            str(server), str(name), tuple(clients), integer(logins), integer(turns), tuple(frames)
        )
        for server, name, clients, logins, turns, frames in rows
    )


_SHARED = f"""
    with logins as (
        select server, client_owner as name, client_verifier as verifier, client, call, call_time,
               call_frame
        from operations join calls using (call)
        where {among("operations.op", TELLING)} and client_owner is not null and not callback
              and client <> $others
    ),
    several as (
        select server, name from logins group by server, name having count(distinct client) > 1
    ),
    ordered as (
        select *, coalesce(
                   lag(client) over before <> client
                   -- What does not tell the verifier may be another.
                   and coalesce(lag(verifier) over before <> verifier, true),
                   false
               ) as turned
        from logins semi join several using (server, name)
        window before as (partition by server, name order by call_time, call)
    )
    select server, name, list_sort(list(distinct client)) as clients,
           count(*) as logins, count(*) filter (turned) as turns,
           coalesce(min(call_frame, $examples) filter (turned), []) as frames
    from ordered group by server, name having turns >= $turns
    order by logins desc, server, name
"""
