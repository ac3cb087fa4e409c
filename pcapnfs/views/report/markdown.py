"""The report as Markdown, for tickets and wikis: the same sections, pictures as their tables.

Takes a `Report`; gives text. Promises that no name from the capture is read as markup or HTML.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pcapnfs import __version__
from pcapnfs.views.report import content
from pcapnfs.views.report.blocks import Card, Facts, Filter, Fold, Paragraph, Table
from pcapnfs.views.report.glossary import TERMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.report import Report
    from pcapnfs.views.report.blocks import Block, Section

_SPECIAL = re.compile(r"([\\`*_\[\]|~#$])")


def markdown(report: Report) -> str:
    """Write the report."""
    return of_sections(
        content.title(report), content.sections(report), numbers=content.numbers(report)
    )


def of_sections(
    title: str, sections: tuple[Section, ...], what: str = "report", *, numbers: str
) -> str:
    """Write sections; `what` they are stands before the title, what `numbers` mean below."""
    return "".join(pieces(title, sections, what, numbers=numbers))


def pieces(
    title: str, sections: tuple[Section, ...], what: str = "report", *, numbers: str
) -> Iterator[str]:
    """The same piece by piece."""
    return (f"{line}\n" for line in _lines(title, sections, what, numbers))


def _lines(title: str, sections: tuple[Section, ...], what: str, numbers: str) -> Iterator[str]:
    yield from (f"# pcapnfs {what}: {_safe(title)}", "")
    for section in sections:
        yield from (f"## {section.title}", "")
        for block in section.blocks:
            yield from _block(block)
    yield from ("## How figures are defined", "")
    yield from (f"- **{_safe(title)}**: {_safe(text)}" for title, text in TERMS.values())
    yield from ("", f"Written by pcapnfs {__version__}. {_safe(numbers)}")


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield from (_safe(block.text), "")
        case Facts():
            yield from (
                f"- {f'**{_safe(word)}**: ' if word else ''}{_safe(said)}"
                for word, said in block.pairs
            )
            yield ""
        case Filter():
            yield from ("```", block.text, "```", "")
        case Table():
            yield from _table(block)
        case Fold():
            aside = f" ({_safe(block.aside)})" if block.aside else ""
            yield from (f"### {_safe(block.title)}{aside}", "")
            for inner in block.blocks:
                yield from _block(inner)
        case Card():
            yield from (f"### {_safe(block.title)} ({block.tag})", "")
            for inner in block.blocks:
                yield from _block(inner)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_safe(table.caption)}**", "")
    yield _row([_safe(column.title) for column in table.columns])
    yield _row([":---" if column.kind != "number" else "---:" for column in table.columns])
    yield from (_row([_safe(cell.text) for cell in row]) for row in table.rows)
    yield ""
    if table.more:
        yield from (_safe(table.more), "")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    """Text that Markdown and the HTML in it leave alone."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)
