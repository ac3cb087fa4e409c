"""What the server took for: operations with their service times, and what had to be stable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.views.report import blocks, charts
from pcapnfs.views.report.blocks import Block, Cell, Column, Fold, Paragraph, Picture, Section
from pcapnfs.views.screen import STABILITY_ROWS, left_out
from pcapnfs.views.words import aside, protocol_name

if TYPE_CHECKING:
    from pcapnfs.analyses.times.distributions import Spreads
    from pcapnfs.analyses.times.operations import OperationTimes, SignatureTimes
    from pcapnfs.analyses.times.stability import Stability, StabilityRow
    from pcapnfs.report import Report

OPERATIONS = 40
"""Operations that have a row, those that took longest."""

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
