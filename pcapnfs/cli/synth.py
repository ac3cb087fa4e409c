"""`pcapnfs synth`: a capture of a simulated client and server, with its truth beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pcapnfs import placement, units
from pcapnfs.cli import options, output
from pcapnfs.errors import UsageError, WriteError, not_written
from pcapnfs.text import argument, escape

SUFFIXES = (".pcap", ".pcapng", ".pcap.gz", ".pcapng.gz")
"""How the capture may be called."""

GIGABIT = 1_000_000_000
"""Bits per second of a usual network card of a server."""


def synth(
    workload: Annotated[
        str,
        typer.Argument(metavar="WORKLOAD", help="tar, walk, cachedread, npm, noac or lifecycle."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The capture; the truth goes to FILE's .json.",
            readable=False,
        ),
    ],
    version: Annotated[
        str, typer.Option("--nfs", metavar="VERSION", help="3, 4.0, 4.1 or 4.2.")
    ] = "3",
    files: Annotated[int, typer.Option(metavar="N", help="Regular files.")] = 100,
    size: Annotated[
        str,
        typer.Option(
            metavar="SIZE[,SIZE…]", help="Size of each file; files take turns with several."
        ),
    ] = "1K",
    directories: Annotated[
        int, typer.Option(metavar="N", help="Directories to spread the files over.")
    ] = 5,
    rtt: Annotated[
        str, typer.Option(metavar="TIME", help="Round-trip time of the network.")
    ] = "200us",
    persist: Annotated[
        str, typer.Option(metavar="TIME", help="Additional time of a stable operation.")
    ] = "1ms",
    service: Annotated[
        str, typer.Option(metavar="TIME", help="Time that the server takes for any call.")
    ] = "30us",
    think: Annotated[
        str, typer.Option(metavar="TIME", help="Time that the client takes between calls.")
    ] = "20us",
    pause: Annotated[
        str,
        typer.Option(metavar="TIME", help="Time between the rounds of walk, cachedread and noac."),
    ] = "1s",
    rounds: Annotated[
        int, typer.Option(metavar="N", help="Rounds of walk, cachedread and noac.")
    ] = 3,
    touched: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Round of cachedread before which the server changes the files; 0: none.",
        ),
    ] = 0,
    rsize: Annotated[str, typer.Option(metavar="SIZE", help="Largest READ.")] = "1M",
    wsize: Annotated[str, typer.Option(metavar="SIZE", help="Largest WRITE.")] = "1M",
    sync: Annotated[
        bool,
        typer.Option("--sync", help="Mount option sync: each write goes out at once, FILE_SYNC."),
    ] = False,
    chunk: Annotated[
        str, typer.Option(metavar="SIZE", help="Size of the writes of a program, with --sync.")
    ] = "4K",
    acregmin: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Shortest time for which attributes of files are cached; wins over --acregmax.",
        ),
    ] = "3s",
    acregmax: Annotated[
        str, typer.Option(metavar="TIME", help="Longest time for the same.")
    ] = "60s",
    acdirmin: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Shortest time for which attributes of directories are cached."
        ),
    ] = "30s",
    acdirmax: Annotated[
        str, typer.Option(metavar="TIME", help="Longest time for the same.")
    ] = "60s",
    listing: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="How walk lists directories: readdirplus, readdir or lookup."
        ),
    ] = "readdirplus",
    threads: Annotated[int, typer.Option(metavar="N", help="Threads that share the work.")] = 1,
    nconnect: Annotated[int, typer.Option(metavar="N", help="TCP connections.")] = 1,
    vantage: Annotated[
        str,
        typer.Option(metavar="SIDE", help="Where the capture is taken: client, between or server."),
    ] = "client",
    loss: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of segments that are lost, 0 to 0.5.")
    ] = 0.0,
    jitter: Annotated[
        str, typer.Option(metavar="TIME", help="Largest delay added to a message, each way.")
    ] = "0",
    bandwidth: Annotated[
        int, typer.Option(metavar="BITS", help="Bandwidth of the link, bits per second.")
    ] = GIGABIT,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", help="Seed for random numbers: the same seed gives the same bytes."
        ),
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    json: options.Json = False,
) -> None:
    """Make a capture of a simulated client and server, and write down what is in it.

    Example: pcapnfs synth tar -o tar.pcap --files 200 --persist 5ms
    """
    from pcapnfs import rewriting
    from pcapnfs.synth.simulation.options import Options
    from pcapnfs.synth.simulation.run import Simulation
    from pcapnfs.views import document

    told = _beside(out)
    sizes = tuple(0 if each == "0" else units.parse_size(each) for each in size.split(","))
    wanted = Options(
        workload=workload,
        version=version,
        files=files,
        size=sizes[0],
        sizes=sizes if len(sizes) > 1 else (),
        directories=directories,
        rtt_ns=_nanoseconds(rtt),
        persist_ns=_nanoseconds(persist),
        service_ns=_nanoseconds(service),
        think_ns=_nanoseconds(think),
        pause_ns=_nanoseconds(pause),
        rounds=rounds,
        touched=touched,
        rsize=units.parse_size(rsize),
        wsize=units.parse_size(wsize),
        sync=sync,
        chunk=units.parse_size(chunk),
        acregmin_ns=_nanoseconds(acregmin),
        acregmax_ns=_nanoseconds(acregmax),
        acdirmin_ns=_nanoseconds(acdirmin),
        acdirmax_ns=_nanoseconds(acdirmax),
        listing=listing,
        threads=threads,
        connections=nconnect,
        vantage=vantage,
        loss=loss,
        jitter_ns=_nanoseconds(jitter),
        bandwidth=bandwidth,
        seed=seed,
    )
    for path in (out, told):
        _demand_free(path, force=force)
    rewriting.demand_no_capture(told)
    capture, truth = Simulation(wanted).run()
    rest = {"configured": truth.configured, "operations": truth.operations, "files": truth.files}
    pieces = list(document.pieces("calls", truth.calls, rest))
    _write(out, capture.named(out.name), told, pieces)
    output.only_tells()
    if json:
        output.write(pieces)
        return
    span = (capture.frames[-1].time_ns - capture.frames[0].time_ns) / units.NANOSECONDS
    output.write(
        [
            f"{escape(argument(str(out)))}: {units.counted(len(capture), 'packet')}, "
            f"{units.counted(len(truth.calls), 'call')} in {units.duration(span)}\n"
            f"{escape(argument(str(told)))}: what is in it, by file and call\n"
        ]
    )


def _demand_free(path: Path, *, force: bool) -> None:
    """Refuse a place that is inside of a trace, or taken.

    Raises:
        UsageError: It is, without `force`.
    """
    from pcapnfs import usage

    usage.demand_outside(path)
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} is there already; --force overwrites it")


def _write(out: Path, capture: bytes, told: Path, truth: Iterable[str]) -> None:
    """Write the truth and the capture, each whole or not at all; no capture without its truth.

    Raises:
        WriteError: The disk is full, or does not take them for another reason.
    """
    with _whole(out) as fresh:
        fresh.write_bytes(capture)
        # Within: the capture gets its name once its truth is there.
        with _whole(told) as beside, beside.open("w", encoding="ascii") as file:
            file.writelines(truth)


def _beside(out: Path) -> Path:
    """Where the truth goes.

    Raises:
        UsageError: The capture's name does not say its format.
    """
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if out.name.endswith(suffix) and out.name != suffix:
            return out.with_name(out.name.removesuffix(suffix) + ".json")
    raise UsageError(f"{out}: the name must end in {', '.join(SUFFIXES)}")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give a path beside a file's place, which it takes at the end.

    Raises:
        WriteError: It could not be written.
    """
    try:
        with placement.placed_file(path) as fresh:
            yield fresh
    except OSError as error:
        raise WriteError(not_written(path, error)) from error


def _nanoseconds(text: str) -> int:
    return round(units.parse_duration(text) * units.NANOSECONDS)
