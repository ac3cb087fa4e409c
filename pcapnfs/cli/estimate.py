"""`pcapnfs estimate`: what the run takes, and what it would take."""

from __future__ import annotations

from typing import Annotated

import typer

from pcapnfs import columns, units, views
from pcapnfs.cli import options, output


def estimate(
    captures: options.CapturesOrLast = None,
    files: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of files.", show_default=False)
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Round-trip time, such as 0.2ms: of the network; without a capture, of a call.",
            show_default=False,
        ),
    ] = None,
    persist: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time that a stable call takes beyond a round trip; 0 for an async export.",
            show_default=False,
        ),
    ] = None,
    rpcs_per_file: Annotated[
        float | None, typer.Option(min=0, metavar="N", help="Calls per file.", show_default=False)
    ] = None,
    syncops_per_file: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Stable calls per file.", show_default=False),
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Calls under way at the same time.", show_default=False
        ),
    ] = None,
    client_time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Time that the client itself spends per call.", show_default=False
        ),
    ] = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Explain the run time by round trips and persistence, and forecast it with other values.

    No capture is needed if --files, --rpcs-per-file, --rtt, --syncops-per-file and --persist are
    given.

    Example: pcapnfs estimate slow.pcap --rtt 200us --files 290000
    """
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.analyses.forecasts import model as analysis
    from pcapnfs.analyses.forecasts.overrides import Overrides

    given = Overrides(
        files=files,
        rtt_s=_seconds(rtt),
        persist_s=_seconds(persist),
        rpcs_per_file=rpcs_per_file,
        syncops_per_file=syncops_per_file,
        streams=streams,
        client_s=_seconds(client_time),
    )
    lost = None
    if not captures and given.complete:
        result = analysis.model(None, given)
    else:
        reads = columns.together(analysis.READS, trusting.READS)
        with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
            result = analysis.model(trace, given)
            lost = trusting.trust(trace)
    output.answer(result, lambda: views.estimate.screen(result), json=json, trust=lost)


def _seconds(text: str | None) -> float | None:
    return None if text is None else units.parse_duration(text)
