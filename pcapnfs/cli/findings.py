"""`pcapnfs findings`: what is wrong, how sure, what it costs, what to do."""

from __future__ import annotations

from pcapnfs import views
from pcapnfs.cli import options, output


def findings(
    captures: options.CapturesOrLast = None,
    threshold: options.Thresholds = None,
    config: options.Config = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what is wrong, how sure that is, what it costs and what to do about it.

    Example: pcapnfs findings slow.pcap
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.mounts.software import software
    from pcapnfs.diagnosis import judging

    values = options.thresholds_of(threshold, config)
    with options.open_trace(captures, port, memory, judging.READS) as trace:
        result = judging.findings(trace, values=values)
        lost, said = trusting.trust(trace), software(trace)
        streams = trace.meta.streams
    unread = lost.mostly_unread
    output.answer(
        result,
        lambda: views.findings.screen(result, said, streams, unread=unread),
        json=json,
        trust=lost,
    )
