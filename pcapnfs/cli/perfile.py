"""`pcapnfs perfile`: what each file cost."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pcapnfs.cli import options, output


def perfile(
    captures: options.CapturesOrLast = None,
    top: Annotated[
        int, typer.Option("--top", min=0, metavar="N", help="Files to show; 0 shows all.")
    ] = 20,
    sort: Annotated[
        Literal["time", "calls", "stable", "bytes", "name"],
        typer.Option("--sort", help="What comes first."),
    ] = "time",
    show_all: Annotated[
        bool,
        typer.Option(
            "--all", help="Also names that were not found and directories above an export."
        ),
    ] = False,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Say what each file cost: calls, time, bytes, errors."""
    from pcapnfs.analyses import perfile as analysis
    from pcapnfs.views import document, screen

    with options.open_trace(captures, port, memory) as trace:
        result = analysis.perfile(trace, top=top, sort=sort, show_all=show_all)
    if json:
        output.write([document.to_json(result)])
    else:
        output.screen(screen.perfile(result))
