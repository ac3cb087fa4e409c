"""Where the time went by the clock: a bar, its rows, and what was done one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.views import budget as budget_view
from pcapnfs.views.report import blocks, charts
from pcapnfs.views.report.blocks import Block, Cell, Column, Paragraph, Picture, Section

if TYPE_CHECKING:
    from pcapnfs.analyses.times.budget import Budget
    from pcapnfs.analyses.times.phases import Phase
    from pcapnfs.report import Report

NO_TIME = "No time passed from the first call to the last reply: there is none to divide."
"""What stands in place of the clock where no call was answered, or all within a tick of it."""

PHASES = 20
"""Phases that have a row; the rest is counted."""


def section(report: Report) -> Section:
    """The time budget."""
    summary = report.summary
    paths, locks = summary.network.slower_paths, summary.lock_gaps
    total, clients = summary.time_budget_total, summary.time_budget
    clocks = [total, *clients] if total.clients > 1 else [total]
    parts: list[Block] = []
    if total.wall_s > 0:
        legend = tuple(
            (f"b-{name}", budget_view.title(name, total))
            for name, _, _ in total.shares()
            if any(time_s for clock in clocks for row, time_s, _ in clock.shares() if row == name)
        )
        parts.append(Picture(charts.budget(clocks), legend))
        parts.append(_clock(total))
    else:
        parts.append(Paragraph(NO_TIME))
    remarks = budget_view.remarks(
        total,
        paths,
        locks,
        summary.stood_still_s,
        summary.unreached_s,
        summary.phases,
        summary.mount_idle,
    )
    parts += [Paragraph(line, "note") for line in remarks]
    if total.clients > 1:
        parts.append(_clients(clients, total.clients))
    if len(summary.phases) > 1 and total.wall_s:
        parts.append(_phases(summary.phases))
    return Section("budget", "Where the time went", tuple(parts), ("clock", "stable", "phase"))


def _clock(total: Budget) -> Block:
    whose = (
        "The clock"
        if total.clients == 1
        else f"The clocks of {units.counted(total.clients, 'client')}, added up"
    )
    rows = [
        [blocks.words(budget_view.title(name, total)), blocks.time(time_s), blocks.share(share)]
        for name, time_s, share in total.shares()
        if time_s
    ]
    whole = "wall clock" if total.clients == 1 else "clocks, added up"
    rows.append([Cell(whole), blocks.time(total.wall_s), Cell("")])
    columns = [Column("", "words"), Column("time"), Column("of the clock")]
    return blocks.table(whose, columns, rows)


def _shares(budget: Budget) -> list[Cell]:
    return [blocks.share(share) for _, _, share in budget.shares()]


def _share_columns(budget: Budget) -> list[Column]:
    return [Column(budget_view.SHORT[name]) for name, _, _ in budget.shares()]


def _clients(clients: tuple[Budget, ...], number: int) -> Block:
    rows = [
        [
            blocks.name(each.client),
            blocks.total(each.calls),
            blocks.mean(each.concurrency),
            *_shares(each),
        ]
        for each in clients
    ]
    columns = [
        Column("client", "name"),
        Column("calls"),
        Column("under way"),
        *_share_columns(clients[0]),
    ]
    hidden = number - len(clients)
    more = f"{units.counted(hidden, 'more client')}." if hidden else ""
    return blocks.table("Clients", columns, rows, more=more)


def _phases(phases: tuple[Phase, ...]) -> Block:
    several = len({phase.client for phase in phases}) > 1
    columns = [
        Column("phase", "words"),
        Column("client", "name"),
        Column("begins at"),
        Column("takes"),
        Column("calls"),
        Column("files"),
        *_share_columns(phases[0].budget),
    ]
    rows = [
        [
            blocks.name(phase.name),
            blocks.name(phase.client if several else ""),
            blocks.time(phase.start_s),
            blocks.time(phase.budget.wall_s or None),
            blocks.total(phase.calls),
            blocks.count(phase.files),
            *_shares(phase.budget),
        ]
        for phase in phases[:PHASES]
    ]
    hidden = len(phases) - len(rows)
    more = f"{units.count(hidden)} more." if hidden else ""
    return blocks.table("What was done one after the other", columns, rows, more=more)
