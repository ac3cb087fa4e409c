"""Results in a notebook: HTML without style or script of its own, everything escaped.

Takes results; gives HTML text for `_repr_html_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as html_escape
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import sentence
from pcapnfs.views.trust import trust_sentences

if TYPE_CHECKING:
    from pcapnfs.meta import Meta
    from pcapnfs.summary import Summary


def meta_html(meta: Meta) -> str:
    """The files of a trace."""
    rows = [
        (
            file.path,
            file.format,
            units.count(file.packets),
            units.size(file.bytes),
            (units.timestamp(file.start_ns) or units.UNKNOWN),
            file.damage or "",
        )
        for file in meta.files
    ]
    table = _table(("file", "format", "packets", "size", "start", "damage"), rows)
    return f"<div><p>Trace with {units.counted(meta.calls, 'call')}</p>{table}</div>"


def summary_html(summary: Summary) -> str:
    """Trust and the table of operations."""
    sentences = "".join(
        f"<p>{_safe(line)}</p>" for line in trust_sentences(summary.trust, summary.capture)
    )
    rows = [
        (
            row.version,
            row.op,
            units.count(row.calls),
            units.count(row.errors),
            units.count(row.stable_calls),
            units.duration(took),
            units.duration(mean),
            units.duration(p50),
            units.duration(p95),
            units.duration(most),
        )
        for row in summary.operations
        for took, mean, _, p50, p95, _, most in (row.srt.spread(),)
    ]
    titles = (
        "version",
        "operation",
        "calls",
        "errors",
        "stable",
        "time",
        "mean",
        "median",
        "p95",
        "max",
    )
    return f"<div>{sentences}{_table(titles, rows)}</div>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_safe(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _safe(text: str) -> str:
    return html_escape(sentence(text))
