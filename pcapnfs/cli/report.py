"""`pcapnfs report`: all of it in one file, for the support case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pcapnfs.cli import options, output

if TYPE_CHECKING:
    from pcapnfs.report import Report

Format = Literal["html", "md", "json"]
"""How a report may be written."""


def report(
    captures: options.CapturesOrLast = None,
    to: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it; - is standard output.",
            show_default=False,
        ),
    ] = Path("report.html"),
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How to write it; by the ending of the file, else HTML.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Write a report for a support case: one file that opens anywhere, offline."""
    from pcapnfs import report as contents
    from pcapnfs.cli import files

    files.refuse(to, force=force)
    with options.open_trace(captures, port, memory, contents.READS) as trace:
        found = contents.report(trace)
    text = _written(found, "json" if json else form or _by_ending(to))
    if str(to) == files.STANDARD_OUTPUT:
        output.write([text])
    else:
        files.replace(to, text, force=force)


def _by_ending(path: Path) -> Format:
    match path.suffix.lower():
        case ".md" | ".markdown":
            return "md"
        case ".json":
            return "json"
        case _:
            return "html"


def _written(found: Report, form: Format) -> str:
    match form:
        case "json":
            from pcapnfs.views import document

            return document.to_json(found)
        case "md":
            from pcapnfs.views.report import markdown

            return markdown.markdown(found)
        case "html":
            from pcapnfs.views.report import page

            return page.html(found)
