"""`pcapnfs export`: a table for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pcapnfs import columns, naming
from pcapnfs.cli import options, output, without_nfs
from pcapnfs.cli.progress import progress
from pcapnfs.errors import UsageError

if TYPE_CHECKING:
    from pcapnfs.cli import last
    from pcapnfs.meta import Meta

OTHERS = (*naming.COMPRESSIONS, ".zip", ".xls", ".xlsx", ".ods")
"""Endings that promise a compressed file, or a spreadsheet's own."""


def export(
    captures: options.CapturesOrLast = None,
    table: Annotated[
        str,
        typer.Option("--table", metavar="TABLE", help="The table (docs/tables.md)."),
    ] = "calls",
    form: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        typer.Option(
            "--format",
            help="Output format; default: by the extension of the file name, else csv.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output file, overwritten if it exists; default, or with -: standard output (not "
            "for parquet).",
            show_default=False,
            readable=False,
        ),
    ] = None,
    spreadsheet: options.Spreadsheet = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Write a table as CSV, JSON Lines or Parquet: all rows, all columns, values as they are.

    Example: pcapnfs export slow.pcap --table calls -o calls.parquet
    """
    from pcapnfs import export as exports
    from pcapnfs import placement, rewriting

    options.demand_one_form(form, json=json, of_json="jsonl")
    names = exports.tables()
    if table not in names:
        raise UsageError(f"there is no table {table!r}; there are {', '.join(names)}")
    stream = target is None or str(target) == placement.STANDARD_OUTPUT
    named = options.named(captures, port)
    paths = [Path(path) for path in named.paths]
    if target is not None:
        rewriting.demand_another(paths, target)
        rewriting.demand_no_capture(target)
    chosen = "jsonl" if json else form or _by_name(target)
    if stream and chosen == "parquet":
        raise UsageError("Parquet is no stream: name a file with -o")
    # A trace has its tables, and what is no file cannot be read again to say what is in it.
    simple = not spreadsheet and all(map(os.path.isfile, paths))
    if target is not None and chosen == "parquet" and simple:
        _decode_to_file(named, table, target, memory)
        return
    wanted = columns.together(exports.reads(table), without_nfs.READS)
    with options.open_trace(paths, named.ports, memory, wanted, stored=True) as trace:
        if target is not None and not stream:
            exports.to_file(trace, table, chosen, target, spreadsheet=spreadsheet)
        else:
            with exports.pieces(trace, table, chosen, spreadsheet=spreadsheet) as pieces:
                output.write_bytes(pieces)


def _decode_to_file(named: last.Captures, table: str, target: Path, memory: str | None) -> None:
    """Write a table of captures as Parquet while they are decoded, without a trace in between."""
    from pcapnfs import decoding
    from pcapnfs import export as exports

    limit = options.limit_of(memory)

    def accept(told: Meta) -> None:
        if not told.nfs_calls:
            paths = [Path(path) for path in named.paths]
            options.open_trace(paths, named.ports, memory, without_nfs.READS).close()

    with progress() as report:
        told = exports.decode_to_file(
            named.paths,
            table,
            target,
            ports=named.ports,
            limit=limit,
            accept=accept,
            progress=report if limit is None else decoding.watched(limit, report),
        )
    options.opened(named, told)


def _by_name(target: Path | None) -> Literal["csv", "jsonl", "parquet"]:
    """What a name ends in.

    Raises:
        UsageError: It ends like a file that would be read as something else.
    """
    suffix = "" if target is None else target.suffix.lower()
    if suffix in OTHERS:
        raise UsageError(
            f"a table is no {suffix} file; name it .csv, .jsonl or .parquet, or say which with "
            "--format"
        )
    if suffix == ".parquet":
        return "parquet"
    return "jsonl" if suffix in (".jsonl", ".ndjson", ".json") else "csv"
