"""`pcapnfs budget`: where the clock went, by client and by phase."""

from __future__ import annotations

from typing import Annotated

from pcapnfs import columns, views
from pcapnfs.cli import options, output


def budget(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Clients")] = 20,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show where the time went by the clock, for each client and each phase of its work.

    Example: pcapnfs budget slow.pcap
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.times import time_budget as analysis

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads) as trace:
        result = analysis.time_budget(trace, top=top)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.budget.screen(result), json=json, trust=lost)
