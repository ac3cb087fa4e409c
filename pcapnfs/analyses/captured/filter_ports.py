"""The ports that a capture filter must let through, so that it loses no connection of these.

Takes calls and connections; gives ports. A connection on which only callbacks were seen is one that
the server opened to a port of the client (RFC 7530 section 16.33): there it is that port. What RDMA
carries goes to one port of UDP, whatever the service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.values import integer
from pcapnfs.programs import ROCE_PORT

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="connection callback",
    connections="connection transport client_port server_port",
)
"""The columns that the queries here read."""


def filter_ports(trace: Trace) -> tuple[int, ...]:
    """Ports that calls went to, in order."""
    return tuple(integer(port) for (port,) in trace.rows(_PORTS))


_PORTS = f"""
    with called as (
        select connection, bool_and(callback) as back from calls group by connection
    )
    select distinct case when transport = 'RDMA' then {ROCE_PORT}
                         when back then client_port else server_port end as port
    from called join connections using (connection) order by port
"""
