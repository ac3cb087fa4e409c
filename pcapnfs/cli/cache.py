"""`pcapnfs cache`: what clients asked again, what for, and what it says of mount options."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import columns, views
from pcapnfs.analyses.asking.sorts import CachedSort
from pcapnfs.cli import options, output


def cache(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Files")] = 20,
    sort: Annotated[
        CachedSort,
        typer.Option("--sort", help="Sort order; bytes are those read again or saved."),
    ] = "time",
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what clients asked again, what they found, and which mount options that points to.

    Example: pcapnfs cache slow.pcap
    """
    from pcapnfs.analyses.caching import cache as analysis
    from pcapnfs.analyses.captured import trust as trusting

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        result = analysis.cache(trace, top=top, sort=sort)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.caching.screen(result), json=json, trust=lost)
