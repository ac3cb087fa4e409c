"""`pcapnfs sizes`: how large the files are."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import columns, views
from pcapnfs.cli import options, output


def sizes(
    captures: options.CapturesOrLast = None,
    listed_too: Annotated[
        bool,
        typer.Option("--listed", help="Include files that were seen in directory listings only."),
    ] = False,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show how large the files are, and how many fit one frame, one READ, one WRITE.

    Example: pcapnfs sizes slow.pcap
    """
    from pcapnfs.analyses.by_file import sizes as analysis
    from pcapnfs.analyses.captured import trust as trusting

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        result = analysis.sizes(trace, listed_too=listed_too)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.sizes.screen(result), json=json, trust=lost)
