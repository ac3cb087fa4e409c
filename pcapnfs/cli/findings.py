"""`pcapnfs findings`: what is wrong, how sure, what it costs, what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import options, output

Threshold = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="NAME=VALUE",
        help="Set a threshold of a rule (docs/findings.md); may be repeated.",
        show_default=False,
    ),
]

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Read thresholds from the table [thresholds] of a TOML file.",
        show_default=False,
        readable=False,
    ),
]


def findings(
    captures: options.CapturesOrLast = None,
    threshold: Threshold = None,
    config: Config = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what is wrong, how sure that is, what it costs and what to do about it.

    Example: pcapnfs findings slow.pcap
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.mounts.software import software
    from pcapnfs.diagnosis import judging, thresholds

    values = thresholds.chosen(judging.thresholds(), threshold or (), config)
    with options.open_trace(captures, port, memory, judging.READS) as trace:
        result = judging.findings(trace, values=values)
        lost, said = trusting.trust(trace), software(trace)
        streams = trace.meta.streams
    output.answer(
        result, lambda: views.findings.screen(result, said, streams), json=json, trust=lost
    )
