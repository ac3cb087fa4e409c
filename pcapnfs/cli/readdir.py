"""`pcapnfs readdir`: how directories were listed, and what that caused."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import columns, views
from pcapnfs.analyses.asking.sorts import DirectorySort
from pcapnfs.cli import options, output


def readdir(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Directories")] = 20,
    sort: Annotated[
        DirectorySort,
        typer.Option("--sort", help="Sort order; time is that of listings and follow-ups."),
    ] = "time",
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show how directories were listed, and which calls on their entries followed.

    Example: pcapnfs readdir slow.pcap
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.namespace import readdir as analysis

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        result = analysis.readdir(trace, top=top, sort=sort)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.listings.screen(result), json=json, trust=lost)
