"""The time budget on a terminal: the clock with a bar for each row, clients, and phases.

Takes results; gives Rich renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, joined
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.locks.lock_gaps import LockGaps
    from pcapnfs.analyses.mounts.first_use import MountIdle
    from pcapnfs.analyses.times.budget import Budget
    from pcapnfs.analyses.times.phases import Phase
    from pcapnfs.analyses.times.time_budget import TimeBudget
    from pcapnfs.analyses.wire.slower_path import SlowerPath

BAR_CELLS = 20
"""Width of a bar that stands for the whole clock."""

PHASES_SHOWN = 8
"""Phases in `summarize`, those that took longest; the rest is counted."""

MOSTLY = 0.9
"""Share of the calls of which it must be known where they were captured, not to be warned."""

TITLES = {
    "stable": "stable: on disk before the reply",
    "unstable": "unstable: metadata, lookups",
    "unstable_write": "unstable writes",
    "read": "reads",
    "state": "client state",
    "unknown": "unknown: no reply, or unreadable",
    "transfer": "transfer: bytes on their way",
    "waiting": "waiting: not ready or no answer",
    "client": "client: no call outstanding",
}
"""The rows of a budget and how the screen calls them."""

UNTOLD = "unknown: not told by clocks"
"""What the row `unknown` is called where that is why."""

SHORT = {
    "stable": "stable",
    "unstable": "unstable",
    "unstable_write": "writes",
    "read": "reads",
    "state": "state",
    "unknown": "unknown",
    "transfer": "transfer",
    "waiting": "waiting",
    "client": "client",
}
"""The same above a column."""


OVERLAP = 1.005
"""Calls outstanding on average, below which they are written as 1."""

TOLD_SHARE = 0.01
"""Of the clock so much must have been lost by lost segments, or be any part of the client's time,
for the rows to be told to hold it."""


OUTSIDE_SHARE = 0.05
"""Of the clock so much must lie before the first call and after the last reply, and between mount
and first use, for the client's time to be told to hold it: a verdict is of the run without it."""


def screen(result: TimeBudget) -> RenderableType:
    """The screen of `budget`."""
    parts: list[RenderableType] = [
        _clock(
            result.total,
            result.slower_paths,
            result.lock_gaps,
            result.stood_still_s,
            result.unreached_s,
            result.phases,
            result.mount_idle,
        )
    ]
    if result.total.clients > 1:
        parts += [heading("Clients"), *_told(result.total, result.clients, "--top 0")]
    for client in dict.fromkeys(phase.client for phase in result.phases):
        whose = f"Phases of {escape(client)}" if result.total.clients > 1 else "Phases"
        mine = [phase for phase in result.phases if phase.client == client]
        parts += [heading(whose), _phases(mine, detailed=True)]
    return Group(*parts)


def block(
    total: Budget,
    phases: Sequence[Phase],
    clients: Sequence[Budget] = (),
    paths: Sequence[SlowerPath] = (),
    locks: Sequence[LockGaps] = (),
    still: Mapping[str, float] | None = None,
    unreached_s: float = 0.0,
    mount_idle: MountIdle | None = None,
) -> RenderableType:
    """The budget within `summarize`."""
    parts: list[RenderableType] = [
        _clock(total, paths, locks, still, unreached_s, phases, mount_idle)
    ]
    if total.clients > 1 and clients:
        parts += [Text(""), *_told(total, clients, "pcapnfs budget --top 0")]
    if len(phases) > 1 and total.wall_s:
        longest = sorted(phases, key=lambda phase: -phase.budget.wall_s)[:PHASES_SHOWN]
        parts += [Text(""), _phases([phase for phase in phases if phase in longest])]
        rest = len(phases) - len(longest)
        if rest:
            parts.append(note(f"{units.counted(rest, 'shorter phase')} not shown."))
    return Group(*parts)


_CLOCK_COLUMNS = (
    Column("", align="left", least=12, cut="wrap"),
    Column("time"),
    Column("of the clock"),
    Column("", 1, align="left"),
)


def _clock(
    budget: Budget,
    paths: Sequence[SlowerPath],
    locks: Sequence[LockGaps],
    still: Mapping[str, float] | None,
    unreached_s: float,
    phases: Sequence[Phase],
    mount_idle: MountIdle | None,
) -> RenderableType:
    rows = [
        [title(row, budget), units.duration(time_s), units.share(share), _bar(share)]
        for row, time_s, share in budget.shares()
        if time_s
    ]
    added = f"clocks of {units.count(budget.clients)} clients, added up"
    whose = "wall clock" if budget.clients == 1 else added
    rows.append([whose, units.taken(budget.wall_s), "", ""])
    table = FittedTable(_CLOCK_COLUMNS, rows, indent=2)
    told = remarks(budget, paths, locks, still, unreached_s, phases, mount_idle)
    return Group(table, *(note(remark) for remark in told))


def title(row: str, budget: Budget) -> str:
    """What the screen calls a row of a budget."""
    return UNTOLD if budget.untold and row == "unknown" else TITLES[row]


def remarks(
    budget: Budget,
    paths: Sequence[SlowerPath] = (),
    locks: Sequence[LockGaps] = (),
    still: Mapping[str, float] | None = None,
    unreached_s: float = 0.0,
    phases: Sequence[Phase] = (),
    mount_idle: MountIdle | None = None,
) -> list[str]:
    """What the rows of a clock leave open, in sentences.

    Args:
        budget: The clock.
        paths: The paths that were longer for a while, or became so for good.
        locks: What of their own time clients waited for locks.
        still: What of the rows calls stood still until TCP or RDMA sent something again.
        unreached_s: What of their own time clients had no connection to a server for.
        phases: What the only client did, in order of time.
        mount_idle: For how long it did not use what it had mounted.
    """
    if budget.untold:
        return ["The capture's clocks do not tell when calls were outstanding."]
    told = []
    longer = {
        row: sum(path.time_s.get(row, 0.0) for path in paths)
        for row in TITLES
        if any(path.time_s.get(row) for path in paths)
    }
    if longer:
        why = _why_longer([path for path in paths if any(path.time_s.values())])
        told.append(_within(longer, "by which calls", "took longer", "came later", why))
    stood = {row: still[row] for row in TITLES if still and still.get(row)}
    if stood and sum(stood.values()) >= TOLD_SHARE * budget.wall_s:
        again = "until something was sent again"
        told.append(_within(stood, "in which calls", "stood still", "did not come", again))
    if waited_s := sum(each.time_s for each in locks):
        told.append(
            f"The client's time includes {units.duration(waited_s)} of waiting for locks that were "
            "refused at first."
        )
    if unreached_s and unreached_s >= TOLD_SHARE * budget.wall_s:
        told.append(
            f"The client's time includes {units.duration(unreached_s)} without a connection to the "
            "server."
        )
    told += _outside(budget, phases, mount_idle)
    # A call whose reply is not there counts as outstanding to the end of the capture.
    known = budget.unknown_s <= budget.wall_s / 2
    if known and budget.concurrency is not None and budget.concurrency >= OVERLAP:
        calls = units.number(budget.concurrency)
        # Of answered calls alone, as `network` counts them, it is another number.
        waits_s = budget.waiting_s + budget.unknown_s
        waits = WAITED_OUT if waits_s >= TOLD_SHARE * (budget.wall_s - budget.client_s) else ""
        told.append(f"While any call was outstanding, there were {calls} on average{waits}.")
    if budget.added_s:
        added = units.duration(budget.added_s)
        told.append(
            f"Not captured at the client: for the way to it, {added} were added to each call."
        )
    if budget.placed_share is not None and budget.placed_share < MOSTLY:
        share = units.share(1 - budget.placed_share)
        which = (
            f"Of {share} of the calls nothing tells where they"
            if budget.placed_share
            else "Nothing tells where the calls"
        )
        told.append(
            f"{which} were captured: if at the server, part of the client's time is the network's."
        )
    return told


WAITED_OUT = "; one that got no answer, or was to come again, counts until that wait was over"
"""What makes calls outstanding that are not under way."""


def _why_longer(paths: Sequence[SlowerPath]) -> str:
    """What made calls take longer, in the words of the finding on that."""
    links = dict.fromkeys(
        "a link is narrow" if path.alone else "a link was full for a while"
        for path in sorted(paths, key=lambda path: not path.alone)
        if path.full_bytes_per_s
    )
    stay = {path.stays for path in paths if not path.full_bytes_per_s}
    longer = [_LONGER[min(stay), max(stay)]] if stay else []
    return f"because {', or '.join([*links, *longer])}"


_LONGER = {
    (False, False): "the path was longer for a while",
    (False, True): "paths were longer, not all of them for a while only",
    (True, True): "the path became longer, and stayed so",
}
"""What paths became that were longer: whether each of them stayed so, and whether any did."""


def _outside(budget: Budget, phases: Sequence[Phase], mount_idle: MountIdle | None) -> list[str]:
    """What of the only client's time is no part of its run: before its first call, and so on."""
    if budget.clients != 1 or not phases or not budget.wall_s:
        return []
    last = phases[-1]
    idle = ((0.0, ""), (0.0, "")) if mount_idle is None else mount_idle.parts
    parts = [
        (phases[0].start_s, "before the first call"),
        *idle,
        (budget.wall_s - last.start_s - last.budget.wall_s, "after the last reply"),
    ]
    outside_s = sum(time_s for time_s, _ in parts)
    if outside_s < OUTSIDE_SHARE * budget.wall_s:
        return []
    # Where nothing can be seen of calls, that time is not booked to the client.
    whose = "The client's time" if outside_s <= budget.client_s else "The wall clock"
    each = [
        f"{units.duration(time_s)} {when}"
        for time_s, when in parts
        if time_s >= TOLD_SHARE * budget.wall_s
    ]
    return [f"{whose} includes {joined(each)}."]


def _within(times: Mapping[str, float], which: str, under_way: str, between: str, why: str) -> str:
    """What of the rows calls took for one reason.

    Args:
        times: What it is of each row, seconds.
        which: "in which calls", or the like.
        under_way: What calls did.
        between: What those did that came next: between calls nothing was under way.
        why: The reason.
    """
    happened = [
        words
        for words, rows in (
            (under_way, times.keys() - {"client"}),
            (between, times.keys() & {"client"}),
        )
        if rows
    ]
    return (
        f"This includes {units.duration(sum(times.values()))} {which} {' or '.join(happened)} "
        f"{why}: {_by_row(times)}."
    )


def _by_row(times: Mapping[str, float]) -> str:
    if len(times) == 1:
        return f"all in {SHORT[next(iter(times))]}"
    return ", ".join(f"{units.duration(time)} in {SHORT[row]}" for row, time in times.items())


def _bar(share: float | None) -> str:
    """As long as the share; what is there at all has a trace of it."""
    if not share:
        return ""
    eighths = max(1, round(share * BAR_CELLS * 8))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


LITTLE = 0.05
"""Share of every clock below which a row's column is the first to go where room is short."""

ALWAYS = 2
"""Rows whose columns always stay, those with the largest shares."""

BEFORE_ROWS = len(SHORT) + 1
"""Priority of columns that go before any row with more than a little, and after those with less."""


def _row_columns(told: Sequence[Budget]) -> list[Column]:
    """A column for each row; where room is short, those go first that hold least of every clock."""
    most = dict.fromkeys(SHORT, 0.0)
    for budget in told:
        for row, _, share in budget.shares():
            most[row] = max(most[row], share or 0.0)
    ranks = {row: rank for rank, row in enumerate(sorted(most, key=lambda row: -most[row]))}
    return [
        Column(
            title,
            BEFORE_ROWS + 1 + ranks[row] if most[row] < LITTLE else max(0, ranks[row] - ALWAYS + 1),
        )
        for row, title in SHORT.items()
    ]


def _told(total: Budget, clients: Sequence[Budget], whole: str) -> list[RenderableType]:
    """A row for each client, and what shows those that are not told."""
    told: list[RenderableType] = [_clients(clients)]
    if len(clients) < total.clients:
        shown = f"{units.count(len(clients))} of {units.count(total.clients)} clients"
        told.append(note(f"{shown} ({whole} shows all)."))
    return told


def _shares(budget: Budget) -> list[str]:
    return [units.share(share) if time_s else "" for _, time_s, share in budget.shares()]


def _clients(clients: Sequence[Budget]) -> RenderableType:
    columns = (
        Column("client", align="left", least=15),
        Column("calls"),
        Column("outstanding", BEFORE_ROWS),
        *_row_columns(clients),
    )
    rows = [
        [
            escape(budget.client or ""),
            units.count(budget.calls),
            units.number(budget.concurrency),
            *_shares(budget),
        ]
        for budget in clients
    ]
    return FittedTable(columns, rows, indent=2)


def _phases(phases: Sequence[Phase], *, detailed: bool = False) -> RenderableType:
    """A line for each; in detail, its operations below it."""
    several = len({phase.client for phase in phases}) > 1
    shares = _row_columns([phase.budget for phase in phases])
    columns = (
        Column("client", align="left", least=9),
        Column("phase", align="left", least=18, cut="end"),
        Column("begins at", BEFORE_ROWS),
        Column("takes"),
        Column("calls"),
        Column("files", BEFORE_ROWS),
        *shares,
    )
    rows = [
        [
            escape(phase.client) if several else "",
            escape(phase.name),
            units.duration(phase.start_s),
            units.taken(phase.budget.wall_s),
            units.count(phase.calls),
            units.count(phase.files),
            *_shares(phase.budget),
        ]
        for phase in phases
    ]
    below = [[_operations(phase)] for phase in phases] if detailed else ()
    # Without them, shares that were not added up would seem to be all.
    much = {column.title for column in shares if column.priority < BEFORE_ROWS}
    return FittedTable(columns, rows, indent=2, below=below, naming=detailed or much)


def _operations(phase: Phase) -> Text:
    told = ", ".join(
        # Without a call of its own, those of the phase before go on in this one.
        (
            f"{units.count(each.calls)} {escape(each.op)}"
            if each.calls
            else f"earlier {escape(each.op)}"
        )
        + ("" if each.time_s is None else f" {units.taken(each.time_s)}")
        for each in phase.operations
    )
    pause = f"after a pause of {units.duration(phase.pause_s)}: " if phase.pause_s else ""
    return Prose(f"{pause}{told}", style="dim")
