"""`pcapnfs compare`: what changed from one run to another, and what explains it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcapnfs import views
from pcapnfs.cli import files, options, output
from pcapnfs.errors import UsageError
from pcapnfs.text import escape

if TYPE_CHECKING:
    from pcapnfs.comparison.comparing import Comparison
    from pcapnfs.comparison.side import Side

MARKDOWN = (".md", ".markdown")
"""Endings of names that Markdown is written to."""

Sides = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="BEFORE AFTER",
        help="A capture or trace of each run.",
        show_default=False,
        readable=False,
    ),
]


def compare(
    captures: Sides = None,
    before: Annotated[
        list[Path] | None,
        typer.Option(
            "--before",
            metavar="CAPTURE",
            help="A capture of the run before; may be repeated.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    after: Annotated[
        list[Path] | None,
        typer.Option(
            "--after",
            metavar="CAPTURE",
            help="A capture of the run after; may be repeated.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    top: Annotated[int, options.top("Files and patterns")] = 10,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write an HTML page, or Markdown if the name ends in .md; - is standard output.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file, but no capture.")
    ] = False,
    threshold: options.Thresholds = None,
    config: options.Config = None,
    json: options.Json = False,
    port: options.Ports = None,
    memory: options.Memory = None,
) -> None:
    """Show what changed from one run to another: settings, round trips, storage, calls, files.

    Example: pcapnfs compare sync.pcap async.pcap
    """
    from pcapnfs import opening, placement, rewriting, usage
    from pcapnfs.comparison import comparing, side

    if to is not None:
        if json:
            raise UsageError("--output writes HTML or Markdown; --json goes to standard output")
        files.refuse(to, force=force)
    first, second = _sides(captures or [], before or [], after or [])
    usage.demand_read_once([*first, *second])
    if to is not None:
        rewriting.demand_another([*first, *second], to)
        _demand_ending(to)
    values = options.thresholds_of(threshold, config)
    empty: set[str] = set()

    def gathered(named: list[Path]) -> Side:
        # One after the other: two captures of some size would share the memory of one.
        with options.open_trace(named, port, memory, comparing.READS) as trace:
            empty.update(file.path for file in trace.meta.files if not file.packets)
            return side.gather(trace, values=values)

    result = comparing.of_sides(gathered(first), gathered(second), top=top)
    if (same := opening.on_both_sides(first, second, empty)) is not None:
        one, other = map(escape, same)
        twice = f"{one} is on both sides" if one == other else f"{one} and {other} are one capture"
        output.tell(f"{twice}: of what it holds nothing can have changed")
    if to is not None:
        pieces = _written(result, to)
        if str(to) == placement.STANDARD_OUTPUT:
            output.write_document(pieces)
        else:
            files.replace(to, pieces, force=force)
        return
    output.answer(result, lambda: views.compare.screen(result), json=json)


def _demand_ending(path: Path) -> None:
    """Refuse a name that ends like another kind of file.

    Raises:
        UsageError: It does.
    """
    ending = path.suffix.lower()
    if ending not in (*MARKDOWN, "", ".html", ".htm"):
        raise UsageError(f"a comparison is no {ending} file; name it .html or .md")


def _written(result: Comparison, path: Path) -> Iterable[str]:
    """The text of the file, by its ending, piece by piece."""
    from pcapnfs.views.report import compared, markdown, page

    title, sections = compared.title(result), compared.sections(result)
    numbers = compared.numbers(result)
    if path.suffix.lower() in MARKDOWN:
        return markdown.pieces(title, sections, "comparison", numbers=numbers)
    return [page.of_sections(title, sections, "comparison", numbers=numbers)]


def _sides(
    captures: list[Path], before: list[Path], after: list[Path]
) -> tuple[list[Path], list[Path]]:
    """The captures of each run.

    Raises:
        UsageError: It is not said which they are.
    """
    if before and after and not captures:
        return before, after
    if len(captures) == 2 and not before and not after:
        return captures[:1], captures[1:]
    raise UsageError(
        "name one capture before and one after, or several of each with --before and --after"
    )
