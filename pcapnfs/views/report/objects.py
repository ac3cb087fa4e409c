"""Files: what one costs, which were treated alike, what happened to the most expensive ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import rooted
from pcapnfs.views import patterns as patterns_view
from pcapnfs.views import sizes as sizes_view
from pcapnfs.views.parts import frames
from pcapnfs.views.report import blocks, charts
from pcapnfs.views.report.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Paragraph,
    Picture,
    Section,
    told,
)
from pcapnfs.views.words import addressed, beside_them, moved, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.by_file.files import Distribution, Files
    from pcapnfs.analyses.by_file.patterns import PatternClass, Patterns
    from pcapnfs.analyses.by_file.perfile import FileCost, PerFile
    from pcapnfs.analyses.by_file.sequence import FileSequence, Step
    from pcapnfs.analyses.by_file.sizes import Sizes
    from pcapnfs.meta import Stream
    from pcapnfs.report import Report

RUNS = 16
"""Runs of a pattern that are told."""


def files(report: Report) -> Section:
    """Files, their patterns, and the calls of the most expensive."""
    summary = report.summary
    parts: list[Block] = [Paragraph(_found(summary.files))]
    if summary.files.regular:
        parts.append(_spread(summary.files))
    if summary.patterns.classes:
        parts.append(_patterns(summary.patterns))
    if report.perfile.files:
        parts.append(Fold("The files that cost most", (_costs(report.perfile),)))
    known = [each for each in report.sequences if each.steps]
    if known:
        parts.append(Paragraph("The calls of the most expensive files, one by one:", "screen"))
        streams = report.summary.capture.streams
        parts += [_sequence(each, streams) for each in known]
    return Section(
        "files", "Files and patterns", tuple(parts), ("file", "pattern", "stable", "srt")
    )


def sizes(report: Report) -> Section | None:
    """How large the files are; None where no size is known."""
    found = report.summary.sizes
    if not found.files:
        return None
    parts: list[Block] = [
        Picture(charts.sizes(found)),
        Paragraph(sizes_view.spread(found)),
        *_fits(found),
        Fold("The same in numbers", (_bins(found),)),
    ]
    return Section("sizes", "Sizes of the files", tuple(parts), ("size",))


def _found(found: Files) -> str:
    facts = [*addressed(found), *beside_them(found)]
    return sentence(f"{', '.join(facts)}; {moved(found)}")


def _spread(found: Files) -> Block:
    columns = [
        Column("", "words"),
        Column("mean"),
        Column("median"),
        Column("p95"),
        Column("max"),
    ]

    def row(title: str, spread: Distribution) -> list[Cell]:
        values = (spread.mean, spread.p50, spread.p95, spread.max)
        return [blocks.words(title), *(blocks.mean(value) for value in values)]

    rows = [row("calls", found.calls_per_file), row("stable calls", found.stable_per_file)]
    return blocks.table("Calls per regular file", columns, rows)


def _patterns(found: Patterns) -> Block:
    columns = [
        Column("pattern", "long"),
        Column("files"),
        Column("time"),
        Column("of time"),
        Column("calls each"),
        Column("stable each"),
        Column("time each"),
        Column("slowest", "name"),
        Column("frames", "words"),
    ]
    hidden = (found.class_count or 0) - len(found.classes)
    more = ""
    if hidden:
        more = (
            f"{units.counted(hidden, 'more pattern')} of "
            f"{units.counted(found.others.files, 'file')}, {units.taken(found.others.time_s)}."
        )
    return blocks.table(
        "Files that were treated alike", columns, [_pattern(each) for each in found.classes],
        more=more,
    )  # fmt: skip


def _pattern(each: PatternClass) -> list[Cell]:
    cut = each.pattern.endswith("…") or len(each.runs) > RUNS
    slow = each.slowest
    return [
        blocks.steps(patterns_view.steps(each.runs[:RUNS], cut=cut)),
        Cell(units.counted(each.files, *patterns_view.KINDS[each.kind]), each.files),
        blocks.time(each.time_s or None),
        blocks.share(each.time_share),
        blocks.mean(each.calls_per_file),
        blocks.mean(each.stable_per_file),
        blocks.time(each.time_per_file_s or None),
        blocks.name(rooted(slow.path)),
        Cell(frames(slow.first_frame, slow.last_frame), slow.first_frame),
    ]


def _costs(found: PerFile) -> Block:
    columns = [
        Column("file", "name"),
        Column("size"),
        Column("calls"),
        Column("stable"),
        Column("errors"),
        Column("asked again"),
        Column("time"),
        Column("stable time"),
        Column("read"),
        Column("written"),
        Column("lifetime"),
        Column("frames", "words"),
    ]
    hidden = (found.listed.files or 0) - len(found.files)
    more = f"{units.counted(hidden, 'more file')}." if hidden > 0 else ""
    return blocks.table("Files by time", columns, [_cost(each) for each in found.files], more=more)


def _cost(each: FileCost) -> list[Cell]:
    return [
        blocks.name(rooted(each.path)),
        blocks.size(each.size_bytes),
        blocks.total(each.calls),
        blocks.count(each.stable_calls),
        blocks.count(each.errors),
        blocks.count(each.revalidations),
        blocks.time(each.time_s or None),
        blocks.time(each.stable_s or None),
        blocks.volume(each.bytes_read),
        blocks.volume(each.bytes_written),
        blocks.time(each.lifetime_s),
        Cell(
            "" if each.first_frame is None else frames(each.first_frame, each.last_frame),
            each.first_frame,
        ),
    ]


def _sequence(file: FileSequence, streams: Sequence[Stream]) -> Fold:
    columns = [
        Column("frames", "words"),
        Column("at"),
        Column("gap"),
        Column("time"),
        Column("", "words"),
        Column("call", "name"),
        Column("offset"),
        Column("length"),
        Column("status", "name"),
        Column("sent"),
        Column("client", "name"),
        Column("name", "name"),
    ]
    several = len({step.client for step in file.steps}) > 1
    hidden = file.calls - len(file.steps)
    more = f"{units.counted(hidden, 'more call')}." if hidden > 0 else ""
    rows = [_step(step, several=several) for step in file.steps]
    aside = f"{units.counted(file.calls, 'call')}, {units.taken(file.time_s)}"
    if file.stable_calls:
        aside += f", {units.count(file.stable_calls)} stable"
    numbers = {
        frame
        for step in file.steps
        for frame in (step.call_frame, step.reply_frame)
        if frame is not None
    }
    return Fold(
        told(rooted(file.path)),
        (
            blocks.table("Calls in order of time", columns, rows, more=more),
            *blocks.filters(numbers, streams),
        ),
        aside,
    )


def _step(step: Step, *, several: bool) -> list[Cell]:
    last = step.reply_frame if step.reply_frame is not None else step.call_frame
    data = next((each for each in step.operations if each.offset_bytes is not None), None)
    moved = None if data is None else data.done_bytes
    if data is not None and moved is None:
        moved = data.requested_bytes
    named = next((each for each in step.operations if each.name is not None), None)
    name = "" if named is None else told(named.name or "", 60)
    if named is not None and named.new_name is not None:
        name += f" → {told(named.new_name, 60)}"
    return [
        Cell(frames(step.call_first_frame, last), step.call_first_frame),
        blocks.time(step.start_s),
        blocks.time(step.gap_s),
        Cell("no reply", -1.0) if step.srt_s is None else blocks.time(step.srt_s),
        blocks.words("stable" if step.stability == "stable" else ""),
        blocks.name(step.step),
        Cell("", -1.0) if data is None else blocks.total(data.offset_bytes or 0),
        blocks.size(moved),
        blocks.name(step.status),
        Cell(f"{step.transmissions}×" if step.transmissions > 1 else "", step.transmissions),
        blocks.name(step.client if several else ""),
        Cell(name),
    ]


def _fits(found: Sizes) -> list[Block]:
    """What files fit into; nothing where they are held against nothing."""
    columns = [
        Column("fit into", "words"),
        Column("bytes"),
        Column("of files"),
        Column("told by", "words"),
    ]
    rows = [
        [
            blocks.words(title),
            Cell(sizes_view.amount(fit.limit_bytes), fit.limit_bytes),
            Cell(units.share(fit.share), fit.share),
            blocks.words(sizes_view.source(name, fit, found)),
        ]
        for name, title in sizes_view.FITS
        for fit in (getattr(found, name),)
        if fit.limit_bytes is not None
    ]
    return [blocks.table("What a file fits into", columns, rows)] if rows else []


def _bins(found: Sizes) -> Block:
    columns = [
        Column("above"),
        Column("up to"),
        Column("files"),
        Column("of files"),
        Column("up to here"),
    ]
    rows = [
        [
            Cell(sizes_view.amount(above) if above else "", above),
            Cell(sizes_view.amount(each.up_to_bytes), each.up_to_bytes),
            blocks.count(each.files),
            blocks.share(each.share),
            Cell(units.share(each.share_up_to), each.share_up_to),
        ]
        for above, each in sizes_view.spanned(found)
    ]
    return blocks.table("Files by size", columns, rows)
