"""The report as one page of HTML that needs nothing but itself.

Takes a `Report`; gives text of less than `LIMIT_BYTES`. Promises that nothing outside is referred
to, that everything is readable without scripts, and that the policy in the page lets the browser
run its own script and style and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pcapnfs import __version__, units
from pcapnfs.record import replace
from pcapnfs.views.report import content
from pcapnfs.views.report.blocks import Fold, Paragraph, Table
from pcapnfs.views.report.glossary import TERMS
from pcapnfs.views.words import quantities_held

if TYPE_CHECKING:
    from pcapnfs.report import Report
    from pcapnfs.views.report.blocks import Block, Section

LIMIT_BYTES = 500_000
"""A page is smaller than this, as UTF-8."""

ROWS = (1000, 30, 12, 5, 2)
"""Rows of a table, and things to unfold in a section, at most: the next when the page is too large
with those before. Names of ordinary length never get beyond the first."""


def html(report: Report) -> str:
    """Write the page of a report."""
    return of_sections(
        content.title(report), content.sections(report), numbers=content.numbers(report)
    )


def of_sections(
    title: str, sections: tuple[Section, ...], what: str = "report", *, numbers: str
) -> str:
    """Write a page of sections; `what` it is stands before its title, what `numbers` mean below."""
    for rows in ROWS:
        page = _page(title, what, tuple(_shortened(each, rows) for each in sections), numbers)
        if len(page.encode()) < LIMIT_BYTES:
            break
    return page


def _shortened(section: Section, rows: int) -> Section:
    """The section with at most so many rows in each table, and so many blocks of each kind."""
    kept: list[Block] = []
    met: Counter[str] = Counter()
    for block in section.blocks:
        met[block.kind] += 1
        if met[block.kind] <= rows:
            kept.append(_cut(block, rows))
    if hidden := len(section.blocks) - len(kept):
        kept.append(Paragraph(f"{units.count(hidden)} more did not fit this page.", "note"))
    return replace(section, blocks=tuple(kept))


def _cut(block: Block, rows: int) -> Block:
    if isinstance(block, Fold):
        return replace(block, blocks=tuple(_cut(each, rows) for each in block.blocks))
    if isinstance(block, Table) and len(block.rows) > rows:
        hidden = f"{units.count(len(block.rows) - rows)} more rows did not fit this page."
        return replace(block, rows=block.rows[:rows], more=f"{hidden} {block.more}".rstrip())
    return block


def _page(title: str, what: str, sections: tuple[Section, ...], numbers: str) -> str:
    style, script = _file("style.css"), _file("script.js")
    return _environment().get_template("page.html").render(
        title=title,
        what=what,
        sections=sections,
        numbers=numbers,
        terms=TERMS,
        version=__version__,
        style=Markup(style),
        script=Markup(script),
        policy=(
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'"
        ),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pcapnfs.views.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawn"] = Markup
    environment.filters["flow"] = _flow
    return environment


def _flow(text: str) -> Markup:
    """A sentence in which no line ends within a number, before its unit, or within an option.

    A browser ends lines behind any hyphen, also that with which an option begins.
    """
    held = str(escape(quantities_held(text, blank="\u00a0", thin="\u202f")))
    return Markup(_OPTION.sub(r'<span class="held">\g<0></span>', held))  # Escaped.


_OPTION = re.compile(r"(?<![\w.-])--?[A-Za-z][\w.-]{0,30}(?![\w-])")
"""An option of a command, which is not so long that a phone could not show it."""


@cache
def _file(name: str) -> str:
    return resources.files("pcapnfs.views.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a Content-Security-Policy names what stands inline (W3C CSP Level 3, section 2.3.1)."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
