"""What clients asked of directories, and what they asked again: READDIR and caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import rooted
from pcapnfs.views import caching, listings
from pcapnfs.views.report import blocks
from pcapnfs.views.report.blocks import Block, Cell, Column, Facts, Paragraph, Section, quoted

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.cache import Cache, FileCache
    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.analyses.namespace.readdir import DirectoryListing, FollowUps, Readdir
    from pcapnfs.report import Report

MOUNTS = 8
"""Pairs of client and server whose mount options are told."""


def readdir(report: Report) -> Section | None:
    """Listings; None where nothing was listed."""
    found = report.summary.readdir
    if not listings.listed(found):
        return None
    parts: list[Block] = [Paragraph(line) for line in listings.sentences(found)]
    if found.follow_ups:
        parts.append(_follow_ups(found))
    parts += [Paragraph(line) for line in listings.spared(found)]
    parts += [Paragraph(line) for line in listings.after_plus(found)]
    if found.shown:
        parts.append(_directories(found))
    return Section("readdir", "Listings of directories", tuple(parts), ("readdir", "followup"))


def cache(report: Report) -> Section | None:
    """Revalidations; None where nothing was asked and nothing had changed."""
    found = report.summary.cache
    sentences = caching.revalidation_sentences(found)
    if not found.revalidations and not found.invalidations and not found.without_file:
        return None
    parts: list[Block] = [Paragraph(line) for line in sentences]
    parts += [Paragraph(line) for line in caching.data_sentences(found)]
    if told := _mounts(found.mounts):
        parts.append(told)
    if any(each.files + each.directories for each in found.intervals):
        parts.append(_intervals(found))
    if found.delegations.opens or found.delegations.recalled:
        parts += [Paragraph(line) for line in caching.delegation_sentences(found.delegations)]
    if found.files:
        parts.append(_files(found))
    return Section("cache", "Caches of the clients", tuple(parts), ("revalidation", "delegation"))


def _follow_ups(found: Readdir) -> Block:
    columns = [
        Column("", "words"),
        Column("calls"),
        Column("LOOKUP"),
        Column("GETATTR"),
        Column("ACCESS"),
        Column("time"),
        Column("waited"),
    ]

    def row(title: str, each: FollowUps) -> list[Cell]:
        return [
            blocks.words(title),
            blocks.total(each.calls),
            blocks.count(each.lookups),
            blocks.count(each.getattrs),
            blocks.count(each.accesses),
            blocks.time(each.time_s or None),
            blocks.time(each.wall_s),
        ]

    kinds = (
        ("after listings without attributes", found.after_plain),
        ("after listings with attributes", found.after_plus),
    )
    rows = [row(title, each) for title, each in kinds if each is not None and each.calls]
    return blocks.table("Calls about entries within 30 s of their listing", columns, rows)


def _directories(found: Readdir) -> Block:
    columns = [
        Column("directory", "name"),
        Column("with attributes"),
        Column("without"),
        Column("unknown"),
        Column("listings"),
        Column("entries"),
        Column("bytes"),
        Column("time"),
        Column("asked again"),
        Column("follow-ups"),
        Column("their time"),
    ]

    def row(each: DirectoryListing) -> list[Cell]:
        return [
            blocks.name(rooted(each.path)),
            blocks.count(each.readdirplus_calls),
            blocks.count(each.readdir_calls),
            blocks.count(each.unknown_calls),
            blocks.count(each.listings),
            blocks.total(each.entries),
            blocks.size(each.bytes),
            blocks.time(each.time_s or None),
            blocks.count(each.revalidations),
            blocks.count(each.follow_ups),
            blocks.time(each.follow_up_s if each.follow_ups else None),
        ]

    hidden = (found.directories or 0) - len(found.shown)
    more = f"{units.counted(hidden, 'more directory', 'more directories')}." if hidden > 0 else ""
    return blocks.table(
        "Directories that cost most", columns, [row(each) for each in found.shown], more=more
    )


def _mounts(mounts: tuple[Mount, ...]) -> Facts | None:
    """What the calls say of mount options."""
    pairs = []
    for mount in [each for each in mounts if each.verdicts][:MOUNTS]:
        ends = f"{blocks.told(mount.client, 40)} → {blocks.told(mount.server, 40)}"
        if mount.part is not None:
            ends += f", {blocks.told(mount.part, 80)}"
        for verdict in mount.verdicts:
            frames = ", ".join(str(frame) for frame in verdict.frames)
            where = f" (frames {frames})" if frames else ""
            told = f"{quoted(verdict.title)} ({verdict.confidence}): {quoted(verdict.evidence)}"
            pairs.append((f"Mount options {ends}", f"{told}{where}"))
    return Facts(tuple(pairs)) if pairs else None


def _intervals(found: Cache) -> Block:
    columns = [Column("age", "words"), Column("files"), Column("directories")]
    rows = [
        [
            Cell(caching.span(each), each.from_s),
            blocks.count(each.files),
            blocks.count(each.directories),
        ]
        for each in found.intervals
        if each.files or each.directories
    ]
    return blocks.table("How old the knowledge was when a client asked again", columns, rows)


def _files(found: Cache) -> Block:
    columns = [
        Column("object", "name"),
        Column("client", "name"),
        Column("asked"),
        Column("unchanged"),
        Column("by itself"),
        Column("by others"),
        Column("void"),
        Column("median age"),
        Column("time"),
        Column("read again"),
        Column("saved"),
        Column("recalls"),
    ]
    several = len(found.mounts) > 1

    def row(each: FileCache) -> list[Cell]:
        return [
            blocks.name(rooted(each.path)),
            blocks.name(each.client if several else ""),
            blocks.total(each.revalidations),
            blocks.count(each.unchanged),
            blocks.count(each.changed_by_self),
            blocks.count(each.changed_by_other),
            blocks.count(each.invalidations),
            blocks.time(each.interval_p50_s),
            blocks.time(each.time_s),
            blocks.volume(each.bytes_reread),
            blocks.volume(each.bytes_saved),
            blocks.count(each.recalls),
        ]

    hidden = (found.objects or 0) + (found.unasked or 0) - len(found.files)
    more = f"{units.count(hidden)} more." if hidden > 0 else ""
    return blocks.table(
        "What was asked about most", columns, [row(each) for each in found.files], more=more
    )
