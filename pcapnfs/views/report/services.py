"""What the server took for: operations, what had to be stable, and that at each export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.views import exports as exports_view
from pcapnfs.views.report import blocks, charts
from pcapnfs.views.report.blocks import Block, Cell, Column, Fold, Paragraph, Picture, Section
from pcapnfs.views.screen import STABILITY_ROWS, left_out
from pcapnfs.views.words import aside, protocol_name

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.exports import Exports, StableKind
    from pcapnfs.analyses.times.distributions import Spreads
    from pcapnfs.analyses.times.operations import OperationTimes, SignatureTimes
    from pcapnfs.analyses.times.stability import Stability, StabilityRow
    from pcapnfs.report import Report

OPERATIONS = 40
"""Operations that have a row, those that took longest."""

EXPORTS = 20
"""Exports that have a row, those that took longest."""

KINDS = 60
"""Rows of kinds of stable calls at these."""

SIGNATURES = 20
"""Signatures that have a row, those that took longest."""


def operations(report: Report) -> Section:
    """Operations, and how their service times spread."""
    summary = report.summary
    parts: list[Block] = []
    if report.spreads.operations:
        legend = (("bar", "calls"), ("median", "median"), ("p95", "95th percentile"))
        parts.append(Picture(charts.spreads(report.spreads), legend))
        if report.spreads.hidden:
            more = units.counted(report.spreads.hidden, "more operation")
            parts.append(Paragraph(f"{more} in the table.", "note"))
    parts.append(_operations(summary.operations))
    if report.spreads.operations:
        parts.append(Fold("The same spread in numbers", (_bins(report.spreads),)))
    if summary.signatures:
        parts.append(
            Fold("By signature: what compounds were made of", (_signatures(summary.signatures),))
        )
    return Section("operations", "Operations", tuple(parts), ("calls", "srt", "signature"))


def stability(report: Report) -> Section:
    """What had to be on stable storage."""
    found = report.summary.stability
    parts: list[Block] = [_stability(found)]
    if found.unlisted.calls:
        parts.append(
            Paragraph(
                f"Stable includes {units.count(found.unlisted.calls)} SETATTR and SETACL"
                f"{aside(found.unlisted.sum_s)}, which RFC 1813 does not list.",
                "note",
            )
        )
    if told := left_out(found, report.summary.trust):
        parts.append(Paragraph(told, "note"))
    return Section("stability", "What had to be on stable storage", tuple(parts), ("stable", "srt"))


def exports(report: Report) -> Section | None:
    """What calls took at each export; None where calls went to one alone."""
    found = report.summary.exports
    if not exports_view.several(found):
        return None
    parts: list[Block] = [_exports(found)]
    if any(each.kinds for each in found.exports[:EXPORTS]):
        parts.append(Fold("Stable calls by kind", (_kinds(found),)))
    return Section("exports", "Exports", tuple(parts), ("export", "stable"))


_TIMES = (
    Column("calls"),
    Column("errors"),
    Column("stable"),
    Column("resent"),
    Column("time"),
    Column("mean"),
    Column("min"),
    Column("median"),
    Column("p95"),
    Column("p99"),
    Column("max"),
)


def _times(row: OperationTimes | SignatureTimes) -> list[Cell]:
    return [
        blocks.total(row.calls),
        blocks.count(row.errors),
        blocks.count(row.stable_calls),
        blocks.count(row.retransmitted_calls),
        *map(blocks.time, row.srt.spread()),
    ]


def _operations(operations: tuple[OperationTimes, ...]) -> Block:
    columns = [Column("operation", "words"), Column("version", "words"), *_TIMES]
    rows = [
        [blocks.name(row.op), Cell(protocol_name(row.version)), *_times(row)]
        for row in operations[:OPERATIONS]
    ]
    hidden = len(operations) - len(rows)
    more = f"{units.counted(hidden, 'more operation')}." if hidden else ""
    return blocks.table("Service times by operation", columns, rows, more=more)


def _signatures(signatures: tuple[SignatureTimes, ...]) -> Block:
    columns = [Column("signature", "long"), Column("version", "words"), *_TIMES]
    rows = [
        [Cell(blocks.told(row.signature, 160)), Cell(protocol_name(row.version)), *_times(row)]
        for row in signatures[:SIGNATURES]
    ]
    hidden = len(signatures) - len(rows)
    more = f"{units.counted(hidden, 'more signature')}." if hidden else ""
    return blocks.table("Service times by signature", columns, rows, more=more)


def _exports(found: Exports) -> Block:
    columns = [
        Column("export", "name"),
        Column("clients"),
        Column("calls"),
        Column("stable"),
        Column("time"),
        Column("of the clock"),
        Column("small calls"),
        Column("median small call"),
        Column("median stable call"),
    ]
    rows = [
        [
            blocks.name(each.export),
            blocks.total(each.clients),
            blocks.total(each.calls),
            blocks.count(each.stable_calls),
            blocks.time(each.time_s or None),
            blocks.time(each.clock_s or None),
            blocks.count(each.small_calls),
            blocks.time(each.small_median_s),
            blocks.time(each.stable_median_s),
        ]
        for each in found.exports[:EXPORTS]
    ]
    more = exports_view.more(found, len(rows))
    return blocks.table("Calls by export", columns, rows, more=f"{more}." if more else "")


def _kinds(found: Exports) -> Block:
    columns = [
        Column("export", "name"),
        Column("operation", "words"),
        Column("calls below"),
        Column("under way"),
        Column("at the server"),
        Column("calls"),
        Column("lower quartile"),
        Column("median"),
        Column("upper quartile"),
        Column("of the clock"),
    ]
    kinds = [(each.export, kind) for each in found.exports[:EXPORTS] for kind in each.kinds]
    rows = [[blocks.name(export), *_kind(kind)] for export, kind in kinds[:KINDS]]
    more = f"{units.counted(len(kinds) - KINDS, 'more row')}." if len(kinds) > KINDS else ""
    return blocks.table("Stable calls beyond a small one, by export", columns, rows, more=more)


def _kind(kind: StableKind) -> list[Cell]:
    return [
        blocks.name(kind.op),
        blocks.size(kind.below_bytes),
        blocks.total(kind.at_once),
        blocks.total(kind.at_server),
        blocks.total(kind.calls),
        blocks.time(kind.low_s),
        blocks.time(kind.median_s),
        blocks.time(kind.high_s),
        blocks.time(kind.time_s or None),
    ]


def _bins(found: Spreads) -> Block:
    columns = [Column("from"), Column("to")]
    columns += [
        Column(f"{blocks.told(each.op, 24)} {protocol_name(each.version)}")
        for each in found.operations
    ]
    rows = [
        [
            blocks.time(found.edges_s[place]),
            blocks.time(found.edges_s[place + 1]),
            *(blocks.count(each.bins[place]) for each in found.operations),
        ]
        for place in range(len(found.edges_s) - 1)
    ]
    return blocks.table("Calls by service time", columns, rows)


def _stability(found: Stability) -> Block:
    columns = [
        Column("", "words"),
        Column("calls"),
        Column("of calls"),
        Column("time"),
        Column("of time"),
        Column("mean"),
        Column("median"),
    ]
    rows = []
    for kind, title in (*STABILITY_ROWS, ("total", "total")):
        row: StabilityRow = getattr(found, kind)
        if row.calls:
            rows.append(
                [
                    blocks.words(title),
                    blocks.total(row.calls),
                    blocks.share(row.calls_share),
                    blocks.time(row.sum_s or None),
                    blocks.share(row.time_share),
                    blocks.time(row.mean_s if row.sum_s else None),
                    blocks.time(row.p50_s if row.sum_s else None),
                ]
            )
    return blocks.table("Answered calls by what they ask of storage", columns, rows)
