"""`pcapnfs patterns`: files folded into classes by what was done to them."""

from __future__ import annotations

from typing import Annotated

from pcapnfs import columns, views
from pcapnfs.cli import options, output


def patterns(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Patterns")] = 10,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Fold the files into classes by what was done to them, call after call.

    Example: pcapnfs patterns slow.pcap
    """
    from pcapnfs.analyses.by_file import patterns as analysis
    from pcapnfs.analyses.captured import trust as trusting

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        result = analysis.patterns(trace, top=top)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.patterns.screen(result), json=json, trust=lost)
