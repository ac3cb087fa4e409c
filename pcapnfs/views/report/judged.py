"""What is wrong: a card for each finding, with what to do, its frames, and a filter for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import escape
from pcapnfs.views import findings as view
from pcapnfs.views.report.blocks import (
    SENTENCE_CELLS,
    Block,
    Card,
    Cell,
    Column,
    Facts,
    Filter,
    Paragraph,
    Section,
    Table,
    filters,
    quoted,
    table,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pcapnfs.diagnosis.finding import Finding
    from pcapnfs.meta import Stream
    from pcapnfs.report import Report

TITLE_CELLS = 200
"""Width to which a title is cut."""

FINDINGS = 30
"""Findings that have a card, the gravest."""


def sentence(report: Report) -> str:
    """How many findings there are, and how much of the time they explain."""
    summary = report.summary
    unread = summary.trust.mostly_unread
    return view.in_a_sentence(summary.findings, summary.judged, unread=unread)


def in_short(report: Report) -> Table | None:
    """The gravest findings, a line each; None without any."""
    found = report.summary.findings
    if not found:
        return None
    columns = [Column("finding", "long"), Column("costs", "words"), Column("severity", "words")]
    rows = [
        [
            Cell(quoted(each.title, TITLE_CELLS), None, f"finding-{place}"),
            Cell(view.cost(each), each.cost_s),
            Cell(each.severity, float(place)),
        ]
        for place, each in enumerate(found[: view.IN_SHORT], 1)
    ]
    hidden = len(found) - len(rows)
    notes = [f"{units.counted(hidden, 'more finding')} below."] if hidden else []
    shown, summary = found[: view.IN_SHORT], report.summary
    notes += view.about_base(shown, summary.judged, view.judged_s(summary.model))
    notes += view.about_shares(shown)
    return table("What was found", columns, rows, more=" ".join(notes))


def section(report: Report) -> Section:
    """The findings, gravest first."""
    found = report.summary.findings
    parts: list[Block] = [Paragraph(sentence(report))]
    streams = report.summary.capture.streams
    parts += [_card(place, each, streams) for place, each in enumerate(found[:FINDINGS], 1)]
    if len(found) > FINDINGS:
        parts.append(Paragraph(f"{units.count(len(found) - FINDINGS)} more.", "note"))
    return Section("findings", "What is wrong, and what to do", tuple(parts), ("findings",))


def _card(place: int, found: Finding, streams: Sequence[Stream]) -> Card:
    parts: list[Block] = [Facts(tuple(_facts(found)))]
    if found.frames:
        frames = ", ".join(str(frame) for frame in found.frames)
        parts.append(Paragraph(f"Example frames: {frames}.", "note"))
    # Half a filter is none: one that is too long gives way to that of the frames.
    if found.display_filter and len(found.display_filter) <= SENTENCE_CELLS:
        parts.append(Filter(escape(found.display_filter)))
    else:
        parts += filters(found.frames, streams)
    return Card(
        f"finding-{place}",
        found.severity,
        f"{place}. {quoted(found.title, TITLE_CELLS)}",
        tuple(parts),
    )


def _facts(found: Finding) -> Iterator[tuple[str, str]]:
    if costs := view.costs(found):
        yield "Costs", costs
    if found.about:
        yield "Where", view.where(found, told)
    yield "Seen", quoted(found.evidence)
    yield "Why", quoted(found.why)
    for place, advice in enumerate(found.advice):
        yield "Do" if not place else "", view.with_risk(advice, quoted)
    yield "Sure", f"{found.confidence}; {quoted(found.data)}"
    also = f", also {', '.join(found.also)}" if found.also else ""
    yield "Rule", f"{found.id}{also} ({quoted(found.origin)})"
