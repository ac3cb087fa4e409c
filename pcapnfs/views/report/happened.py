"""What happened when: a picture of the whole time, and its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.views.report import blocks, charts
from pcapnfs.views.report.blocks import Block, Column, Fold, Paragraph, Picture, Section

if TYPE_CHECKING:
    from pcapnfs.report import Report


def section(report: Report) -> Section | None:
    """The course; None where no call was answered."""
    found = report.course
    if not found.parts:
        return None
    legend: tuple[tuple[str, str], ...] = (
        ("b-stable", "stable calls"),
        ("b-unstable", "other calls"),
        ("bar", "median, calls under way"),
        ("spread", "median to 95th percentile"),
    )
    if report.marks:
        legend += (("mark", "frames of the finding with this number"),)
    columns = [
        Column("from"),
        Column("calls"),
        Column("stable"),
        Column("median"),
        Column("p95"),
        Column("under way"),
    ]
    rows = [
        [
            blocks.time(part.at_s),
            blocks.count(part.calls),
            blocks.count(part.stable_calls),
            blocks.time(part.p50_s),
            blocks.time(part.p95_s),
            blocks.mean(part.outstanding),
        ]
        for part in found.parts
    ]
    begins = ""
    if found.start_s:
        begins = f", which came {units.duration(found.start_s)} after the capture began"
    parts: list[Block] = [
        Picture(charts.course(found, report.marks), legend),
        Paragraph(
            f"Time counts from the first call{begins}; each part is "
            f"{units.duration(found.part_s)} long.",
            "note",
        ),
        Fold("The same in numbers", (blocks.table("Parts of the time", columns, rows),)),
    ]
    return Section("course", "What happened when", tuple(parts), ("calls", "srt", "concurrency"))
