"""`pcapnfs network`: round trips, connections, losses, calls under way, sessions."""

from __future__ import annotations

from typing import Annotated

from pcapnfs import columns, views
from pcapnfs.cli import options, output


def network(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Paths and sessions")] = 20,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show how far clients and servers are apart, where that was captured, and what was lost.

    Example: pcapnfs network slow.pcap
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.wire import network as analysis

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads) as trace:
        result = analysis.network(trace, top=top)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.network.screen(result), json=json, trust=lost)
