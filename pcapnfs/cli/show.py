"""`pcapnfs show`: a call and its reply, field by field as Wireshark dissects them."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import options, output


def _frame(text: str) -> int:
    """The number; what comes last on the command line may also be a capture."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"{text!r} is no frame number; name one behind the captures")
    return number


def show(
    captures: options.CapturesOrLast = None,
    frame: Annotated[
        int,
        typer.Argument(
            parser=_frame, metavar="FRAME", help="A frame number, as reports mention it."
        ),
    ] = ...,  # type: ignore[assignment]  # how typer writes a required argument behind others
    all_layers: Annotated[
        bool, typer.Option("--all", help="Include the fields of Ethernet, IP and TCP.")
    ] = False,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show Wireshark's dissection of a call and its reply, by the number of any of their frames.

    Example: pcapnfs show slow.pcap 1512
    """
    from pcapnfs import usage
    from pcapnfs.verify import dissection, tool

    tool.find()  # Before the capture is decoded: without tshark that is for nothing.
    usage.demand_files(captures or ())
    with options.open_trace(captures, port, memory, dissection.READS) as trace:
        paths = trace.captures()
        result = dissection.show(trace, paths, frame, every_layer=all_layers)
    output.answer(result, lambda: views.show.screen(result), json=json)
