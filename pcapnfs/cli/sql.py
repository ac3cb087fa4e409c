"""`pcapnfs sql`: a question of one's own."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pcapnfs.cli import options, output
from pcapnfs.errors import UsageError
from pcapnfs.text import argument

if TYPE_CHECKING:
    from pcapnfs.query import Answer

ROWS_ON_SCREEN = 1000
"""Rows shown on the screen; CSV and JSON have no limit."""


def sql(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[CAPTURE...] QUERY",
            help="Captures (default: those of the previous command), then the query.",
            show_default=False,
        ),
    ],
    form: Annotated[
        Literal["screen", "csv", "json"] | None,
        typer.Option("--format", help="Output format; default: screen.", show_default=False),
    ] = None,
    spreadsheet: options.Spreadsheet = False,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Query the tables (docs/tables.md) in DuckDB's SQL; queries cannot change them.

    Example: pcapnfs sql slow.pcap "select op, count(*) from calls group by op"
    """
    options.demand_one_form(form, json=json)
    options.demand_csv(csv=form == "csv", spreadsheet=spreadsheet)
    *captures, query = words
    if os.path.isfile(query):
        raise UsageError(f"the query is missing: {query} is a file")
    from pcapnfs.query import select

    with options.open_trace([Path(name) for name in captures], port, memory) as trace:
        answer = select(trace, argument(query))
        _write(answer, "json" if json else form or "screen", spreadsheet=spreadsheet)


def _write(answer: Answer, form: str, *, spreadsheet: bool) -> None:
    from pcapnfs.views import table

    if form == "csv":
        output.write_document(
            table.csv_pieces(answer.columns, answer.rows, spreadsheet=spreadsheet)
        )
    elif form == "json":
        output.write(table.json_pieces(answer.columns, answer.rows))
    elif answer.drawn:
        output.screen(table.plan(answer.rows))
    else:
        output.screen(table.AnswerTable(answer.columns, list(islice(answer.rows, ROWS_ON_SCREEN))))
        if next(answer.rows, None) is not None:
            output.tell(
                f"these are the first {ROWS_ON_SCREEN} rows; --format csv or json writes all"
            )
