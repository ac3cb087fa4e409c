"""`pcapnfs summarize`: what the capture says, on one screen."""

from __future__ import annotations

from pcapnfs import views
from pcapnfs.cli import options, output


def summarize(
    captures: options.CapturesOrTraces,
    threshold: options.Thresholds = None,
    config: options.Config = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what was read, how far to trust it, and where the service time went.

    Example: pcapnfs summarize slow.pcap
    """
    from pcapnfs import summary

    values = options.thresholds_of(threshold, config)
    with options.open_trace(captures, port, memory, summary.READS) as trace:
        result = summary.summarize(trace, values=values)
    output.answer(result, lambda: views.screen.summary(result), json=json)
