"""`pcapnfs decode`: captures into a trace on disk, once for all questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import last, options, output, without_nfs
from pcapnfs.cli.progress import progress
from pcapnfs.errors import UsageError

if TYPE_CHECKING:
    from pcapnfs.store import Stored


def decode(
    captures: options.Captures,
    target: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="NAME.nfstrace",
            help="The trace to create: a directory.",
            show_default=False,
            readable=False,
        ),
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace an existing trace, once the new one is complete."),
    ] = False,
    independent: Annotated[
        bool,
        typer.Option(
            "--independent",
            help="The captures are unrelated: decode each one separately.",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Independent captures to decode at once; default: one per processor.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory limit, such as 512M or 4G (at least 128M). Default: half of what is free. "
            "When it is full, the files used longest ago are forgotten, and reported so.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Decode captures into a trace on disk, which commands but redact take in their place.

    Example: pcapnfs decode slow.pcap0 slow.pcap1 -o slow.nfstrace
    """
    from pcapnfs import decoding

    if jobs is not None and not independent:
        raise UsageError("--jobs is for captures that are --independent; others are one stream")
    limit = options.limit_of(memory)
    with progress() as report:
        result = decoding.decode(
            [str(path) for path in captures],
            str(target),
            ports=tuple(port or ()),
            force=force,
            independent=independent,
            jobs=jobs,
            limit=limit,
            accept=_demand_nfs,
            progress=report if limit is None else decoding.watched(limit, report),
        )
    last.remember(last.Captures((result.trace,), ()))
    options.tell_damage(result.damage)
    output.only_tells()
    output.answer(result, lambda: views.decoded.screen(result), json=json)


def _demand_nfs(parts: Sequence[Stored]) -> None:
    if any(part.meta.nfs_calls for part in parts):
        return
    from pcapnfs import opening

    with opening.open([str(part.directory) for part in parts], columns=without_nfs.READS) as trace:
        without_nfs.demand_nfs(trace)
