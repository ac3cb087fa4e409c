"""`pcapnfs verify`: whether Wireshark's dissectors read the capture alike."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import options, output
from pcapnfs.cli.progress import progress

MOST_PACKETS = (1 << 31) - 1
"""What tshark takes for a number of packets."""


def verify(
    captures: options.CapturesOrLast = None,
    packets: Annotated[
        int | None,
        typer.Option(
            "--packets",
            min=1,
            max=MOST_PACKETS,
            metavar="N",
            help="Compare the first N packets only: tshark needs twice a capture's size in memory.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Compare every call, operation, status and service time with tshark's.

    Example: pcapnfs verify slow.pcap --packets 100000
    """
    from pcapnfs import usage
    from pcapnfs.verify import ours, tool
    from pcapnfs.verify import verification as checks

    tool.find()  # Before the capture is decoded: without tshark that is for nothing.
    usage.demand_files(captures or ())
    with options.open_trace(captures, port, memory, ours.READS) as trace:
        paths = trace.captures()
        with progress() as report:
            result = checks.verify(trace, paths, packets=packets, progress=report)
    output.answer(result, lambda: views.verify.screen(result), json=json)
