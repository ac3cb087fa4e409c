"""Clients of two runs, in the words that the screen and the report share.

Takes a `Comparison` or one of its clients; gives sentences and cells, escaped: who they are, what
the difference of each is made of, and by what those before and after were taken for the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict_reasons import TITLES
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.text import escape, some
from pcapnfs.views.changed_figures import signed
from pcapnfs.views.columns import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.comparison.clients import ClientChange, ClientForetold
    from pcapnfs.comparison.comparing import Comparison

NAMED = 4
"""Clients that a sentence names."""

OTHER_CLIENTS = "Not told: the captures are not of the same clients."
"""Where no client is on both sides."""

NAMES = {"client_owner": "client owner", "machine": "machine name"}
"""Names by which clients are matched whose addresses differ."""

NAME_CELLS = 40
"""Of each of them, this much is told."""

CLIENTS = 8
"""Clients whose runs are told on a screen; JSON has all."""


def several(result: Comparison) -> bool:
    """Whether there are clients to be told one by one."""
    return len(result.clients) > 1


def foretold_clients(result: Comparison) -> list[tuple[str, ClientForetold]]:
    """The forecasts of each of several clients; none where all are taken as one."""
    if result.as_one:
        return []
    rows = [row for row in result.clients if row.where == "both"]
    return [(row.client or "", each) for row in rows[:CLIENTS] for each in row.foretold]


def more_foretold(result: Comparison) -> str | None:
    """How many clients' forecasts are not shown; None where all are."""
    rows = [row for row in result.clients if row.where == "both"]
    more = 0 if result.as_one else sum(bool(row.foretold) for row in rows[CLIENTS:])
    return f"Those of {units.counted(more, 'more client')} in JSON." if more else None


def client(row: ClientChange) -> str:
    """The address of a client, or both where it has another after."""
    if row.before and row.after and row.before.address != row.after.address:
        before, after = (escape(run.address or "") for run in (row.before, row.after))
        return f"{before} →\u00a0{after}"  # No line ends behind the arrow.
    return escape(row.client or "added up")


def made_of(row: ClientChange) -> str:
    """What a client's difference is made of, or which side it is on alone."""
    if row.where != "both":
        return f"only {'BEFORE' if row.where == 'went' else 'AFTER'}"
    if not row.parts:
        return "not told"
    clear = [f"{TITLES[part.cause]} {signed(part.change_s)}" for part in row.parts if part.clear]
    return ", ".join(clear) or "nothing clear"


def about_clients(result: Comparison) -> list[str]:
    """What the table of clients tells, and whether they only ran at other times."""
    told = []
    if any(row.where == "both" for row in result.clients):
        least = "a twentieth"
        if result.clear_from > NOTICEABLE:
            least = units.share(result.clear_from)
        told.append(
            "Each from its first call to its last reply, mounting included. Made of: the causes "
            f"of its verdict that make up {least} of its longer run or more."
        )
    told += _matched(result.clients)
    of_each = [
        f"{units.count(number)} of {units.counted(run.clients, 'client')} {when}"
        for run, number, when in (
            (result.before, sum(row.before is not None for row in result.clients), "before"),
            (result.after, sum(row.after is not None for row in result.clients), "after"),
        )
        if number < run.clients
    ]
    if of_each:
        told.append(
            f"Shown are {' and '.join(of_each)}: those that waited longest, on both sides or on "
            "the only one where they are."
        )
    whole_s = max(result.before.run_s, result.after.run_s)
    moved = abs(result.change_s) >= NOTICEABLE * whole_s
    if result.same_clients and moved and all(_same(row) for row in result.clients):
        told.append("None took longer or shorter by itself: they ran at other times.")
    return told


def shown_clients(result: Comparison) -> list[ClientChange]:
    """The clients that a screen tells, and those of both sides added up."""
    return [*result.clients[:CLIENTS], *([result.together] if result.together else [])]


def _same(row: ClientChange) -> bool:
    """Whether a client's run took as long as before."""
    if row.before is None or row.after is None or row.change_s is None:
        return False
    return abs(row.change_s) < NOTICEABLE * max(row.before.run_s, row.after.run_s)


def _matched(rows: Sequence[ClientChange]) -> list[str]:
    """By what several clients were matched, where that is not their address alone."""
    told = []
    for by, what in NAMES.items():
        if names := [_names(row, by)[0] for row in rows if row.matched_by == by]:
            told.append(f"Matched by {what}, as addresses differ: {some(names, NAMED, str)}.")
    told += [
        f"Taken for the same, as the only ones left on each side: {client(row)}."
        for row in rows
        if row.matched_by == "alone"
    ]
    renamed = [
        f"{client(row)} ({' → '.join(_names(row, 'machine'))})"
        for row in rows
        if row.matched_by == "address" and _renamed(row)
    ]
    if renamed:
        told.append(f"Matched by address, though names differ: {some(renamed, NAMED, str)}.")
    return told


def _only(row: ClientChange) -> list[str]:
    """The same of the only client of both sides."""
    if row.before is None or row.after is None or row.matched_by is None:
        return []
    first, second = _names(row, "machine")
    themselves = f"calls itself {first} before and {second} after"
    if row.matched_by == "address":
        same = f"The client at {client(row)} {themselves}: taken for the same by its address."
        return [same] if _renamed(row) else []
    at = [escape(run.address or "") for run in (row.before, row.after)]
    told = f"The client is {at[0]} before and {at[1]} after: "
    if what := NAMES.get(row.matched_by):
        return [f"{told}the same by its {what}, {_names(row, row.matched_by)[0]}."]
    told += "taken for the same, as the only one on each side"
    return [f"{told}, though it {themselves}." if _renamed(row) else f"{told}."]


def _names(row: ClientChange, by: str) -> list[str]:
    """What a client calls itself, on both sides."""
    names = [getattr(run, by) for run in (row.before, row.after)]
    return [shorten(escape(name or ""), NAME_CELLS) for name in names]


def _renamed(row: ClientChange) -> bool:
    """Whether the machine names of both sides differ."""
    names = {run.machine for run in (row.before, row.after) if run}
    return len(names) > 1 and None not in names


def whose_runs(result: Comparison) -> list[str]:
    """Which clients run times are of."""
    if not several(result):
        return [told for row in result.clients for told in _only(row)]
    rows = {
        where: [row.client or "" for row in result.clients if row.where == where]
        for where in ("both", "went", "came")
    }
    told = []
    if not rows["both"]:
        told.append(
            f"No client is in both captures (BEFORE: {some(rows['went'], NAMED)}; AFTER: "
            f"{some(rows['came'], NAMED)}): nothing tells what changed for any of them."
        )
    else:
        told += [
            f"{some(rows[where], NAMED)} {'is' if len(rows[where]) == 1 else 'are'} in {title} "
            "alone."
            for where, title in (("went", "BEFORE"), ("came", "AFTER"))
            if rows[where]
        ]
    if result.same_clients:
        told.append(
            "Run times are from the first call of any client to the last reply of any; what each "
            "took stands under Clients."
        )
    return told
