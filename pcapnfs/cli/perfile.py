"""`pcapnfs perfile`: what each file cost, or each group of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from pcapnfs import columns
from pcapnfs.analyses.asking.sorts import FileSort
from pcapnfs.cli import options, output
from pcapnfs.errors import UsageError
from pcapnfs.record import names
from pcapnfs.text import argument

if TYPE_CHECKING:
    from pcapnfs.analyses.by_file.costs import Selection
    from pcapnfs.analyses.by_file.perfile import FileCost
    from pcapnfs.analyses.by_file.pergroup import PerGroup
    from pcapnfs.trace import Trace


_NAMED = f"{', '.join(get_args(FileSort)[:-1])} or {get_args(FileSort)[-1]}"


def perfile(
    captures: options.CapturesOrLast = None,
    top: Annotated[int, options.top("Files or groups")] = 20,
    sort: Annotated[
        FileSort,
        typer.Option("--sort", metavar="COLUMN", help=f"Sort by {_NAMED}."),
    ] = "time",
    by: Annotated[
        Literal["directory", "export", "client", "uid", "extension"] | None,
        typer.Option("--by", help="Show sums for groups of files instead.", show_default=False),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            "--match",
            parser=argument,
            metavar="GLOB",
            help="Only files that match this pattern, such as *.o or src/*.",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Include names not found, files of unknown name, and directories above an export.",
        ),
    ] = False,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV, columns as in JSON.")] = False,
    spreadsheet: options.Spreadsheet = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what each file cost: calls, time, bytes, errors.

    Example: pcapnfs perfile slow.pcap --sort stable-time --top 10
    """
    from pcapnfs.analyses.by_file import costs, pergroup
    from pcapnfs.analyses.by_file import perfile as analysis
    from pcapnfs.analyses.captured import trust as trusting
    from pcapnfs.views import perfile as view

    if json and csv:
        raise UsageError("either --json or --csv, not both")
    options.demand_csv(csv=csv, spreadsheet=spreadsheet)
    if by is not None and sort != "time":
        raise UsageError("groups are sorted by time; --sort is for files")
    selection = costs.Selection(top, sort, show_all, match)
    reads = columns.together(analysis.READS if by is None else pergroup.READS, trusting.READS)
    with options.open_trace(captures, port, memory, reads, of_files=True) as trace:
        lost = trusting.trust(trace)
        if json or csv:
            output.warn(lost)
        if by is not None:
            grouped = pergroup.pergroup(trace, by, top=top, show_all=show_all, match=match)
            if json or csv:
                _write_groups(grouped, csv=csv, spreadsheet=spreadsheet)
            else:
                output.screen(view.groups(grouped), lost)
        elif json or csv:
            _write_files(trace, selection, csv=csv, spreadsheet=spreadsheet)
        else:
            result = analysis.perfile(trace, top=top, sort=sort, show_all=show_all, match=match)
            output.screen(view.files(result), lost)


def _write_files(trace: Trace, selection: Selection, *, csv: bool, spreadsheet: bool) -> None:
    """Write the files while the database gives them: there may be a million."""
    from pcapnfs.analyses.by_file import costs as sums
    from pcapnfs.analyses.by_file import perfile as analysis
    from pcapnfs.views import document, table

    costs = analysis.file_costs(trace, selection)
    if csv:
        columns = names(analysis.FileCost)
        rows = ([getattr(cost, column) for column in columns] for cost in costs)
        output.write_document(table.csv_pieces(columns, rows, spreadsheet=spreadsheet))
        return
    shown: dict[str, float] = {}
    rest = {"sort": selection.sort, "shown": shown, **sums.totals(trace, selection)}
    output.write(document.pieces("files", _counted(costs, shown), rest))


def _write_groups(result: PerGroup, *, csv: bool, spreadsheet: bool) -> None:
    from pcapnfs.analyses.by_file.pergroup import GroupCost
    from pcapnfs.views import document, table

    if not csv:
        output.write(document.json_pieces(result))
        return
    columns = names(GroupCost)
    rows = ([getattr(group, column) for column in columns] for group in result.groups)
    output.write_document(table.csv_pieces(columns, rows, spreadsheet=spreadsheet))


def _counted(costs: Iterator[FileCost], shown: dict[str, float]) -> Iterator[FileCost]:
    """Add up what passes: `Total`, field by field."""
    shown.update(files=0, calls=0, stable_calls=0, time_s=0.0)
    for cost in costs:
        shown["files"] += 1
        shown["calls"] += cost.calls
        shown["stable_calls"] += cost.stable_calls
        shown["time_s"] += cost.time_s
        yield cost
