"""What limits the calls that a client has under way at once: another limit, or none.

Takes two sides; gives what differs, with what says so. A limit is told where a finding says that
calls wait for it in the client, and where the other side went beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.matching import same_server

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.caps import Pair
    from pcapnfs.comparison.side import Side

FINDINGS = ("concurrency_cap", "session_slots")
"""The findings on calls that wait in the client until fewer are under way."""

LIMITS = (
    "sunrpc.tcp_max_slot_table_entries of a Linux client, the slots of a session (NFSv4.1), or the "
    "pool of a program through which its work on files goes"
)
"""What may be such a limit."""


def calls_at_once(before: Side, after: Side) -> Iterator[Cause]:
    """Whether calls waited for one another in the client, where the other side had more under way.

    On average, more of them than ever before must be under way there: a few that a client sends by
    itself, such as what it gives back in the background, pass a limit of the program. With other
    connections these are the cause, each of which has its own limit.
    """
    for mine, other, first in ((before, after, True), (after, before, False)):
        limited = _limited(mine, mine.caps)
        if limited is None:
            continue
        server = same_server(
            limited.server,
            (each.server for each in mine.caps),
            (each.server for each in other.caps),
        )
        there = [each for each in other.caps if each.server == server]
        more = _limited(other, there)
        free = more or max(there, key=_calls, default=None)
        if free is None or free.mean <= limited.peak or free.connections != limited.connections:
            continue
        words = (
            _at_most(limited),
            f"up to {units.count(free.peak)}" if more is None else _at_most(more),
        )
        yield Cause(
            "calls_at_once",
            *(words if first else words[::-1]),
            "likely",
            f"{'before' if first else 'after'}, exactly {units.count(limited.peak)} were under way "
            f"for {units.share(limited.at_peak_s / limited.busy_s)} of the time in which any was, "
            f"and never more; {'after' if first else 'before'}, {units.number(free.mean)} on "
            f"average: {LIMITS}",
        )


def _limited(side: Side, pairs: Iterable[Pair]) -> Pair | None:
    """Of pairs of client and server, that of most calls whose calls wait, as a finding says."""
    told = {
        about
        for found in side.findings
        if found.id in FINDINGS and found.severity != "note"
        for about in (found.about, *(subject.about for subject in found.alike))
    }
    waiting = (pair for pair in pairs if (pair.client, pair.server) in told)
    return max(waiting, key=_calls, default=None)


def _calls(pair: Pair) -> int:
    return pair.calls


def _at_most(pair: Pair) -> str:
    return f"{units.count(pair.peak)} at most, for which others wait"
