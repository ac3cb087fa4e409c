"""`pcapnfs annotate`: the capture with comments that Wireshark shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import options, output
from pcapnfs.cli.progress import progress


def annotate(
    captures: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN...",
            help=f"Capture files that belong together ({options.READ}), or their trace.",
            show_default=False,
            readable=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT.pcapng",
            help="The annotated capture, always pcapng; names in .gz and .zst compress it.",
            show_default=False,
            readable=False,
        ),
    ],
    top: Annotated[int, typer.Option(min=0, metavar="N", help="Slow calls to mark; 0: none.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    threshold: options.Thresholds = None,
    config: options.Config = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Write the capture with comments at findings, slow calls and phases, for Wireshark.

    Packets have the frame numbers that reports mention (docs/annotation.md).

    Example: pcapnfs annotate slow.pcap annotated.pcapng
    """
    from pcapnfs import annotation, rewriting

    rewriting.check(captures, out, overwrite=force)  # Before the work is done for it.
    values = options.thresholds_of(threshold, config)
    with options.open_trace(captures, port, memory, annotation.READS) as trace, progress() as shown:
        result = annotation.annotate(
            trace, out, top=top, values=values, overwrite=force, progress=shown
        )
    output.only_tells()
    output.answer(result, lambda: views.annotate.screen(result, str(out)), json=json)
