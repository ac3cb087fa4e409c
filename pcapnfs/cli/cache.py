"""`pcapnfs cache`: what clients asked again, what for, and what it says of mount options."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pcapnfs import columns, views
from pcapnfs.cli import options, output


def cache(
    captures: options.CapturesOrLast = None,
    top: Annotated[
        int, typer.Option("--top", min=0, metavar="N", help="Files to show; 0 shows all.")
    ] = 20,
    sort: Annotated[
        Literal["time", "revalidations", "bytes", "name"],
        typer.Option("--sort", help="What comes first; bytes are those read again or saved."),
    ] = "time",
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Say what clients asked again, what they found, and which mount options that points to.

    Example: pcapnfs cache slow.pcap
    """
    from pcapnfs.analyses.caching import cache as analysis
    from pcapnfs.analyses.captured import trust as trusting

    reads = columns.together(analysis.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        result = analysis.cache(trace, top=top, sort=sort)
        lost = trusting.trust(trace)
    output.answer(result, lambda: views.caching.screen(result), json=json, trust=lost)
