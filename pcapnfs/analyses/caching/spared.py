"""Calls that could have been left out, and what that would have saved: what several analyses give.

Takes rows of `shares` in whatever grouping a query has; gives a `Spared`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.record import Record


class Spared(Record):
    """Calls, with what they took of the clock."""

    calls: int
    """How many."""
    time_s: float
    """Their shares of the clock (`shares`), seconds."""
    pause_s: float
    """The client's own time that they took beside it (`shares`), seconds."""
    frames: tuple[int, ...]
    """Examples: frames of the first calls, at most five."""

    def half(self) -> Spared:
        """The middle between all and none of them, where packets do not tell which it is.

        It is wrong by half of them at most.
        """
        return Spared(self.calls // 2, self.time_s / 2, self.pause_s / 2, self.frames)


NONE = Spared(0, 0.0, 0.0, ())
"""No calls."""


def columns(which: str, name: str = "spared") -> str:
    """SQL: the four values of `of_row`, of the rows for which `which` holds.

    The least of BIGINTs DuckDB finds in a quarter of the time that it takes for other types.

    Args:
        which: A condition.
        name: What the four columns' names begin with.
    """
    return f"""
        count(*) filter ({which}) as {name}_calls, sum(share) filter ({which}) as {name}_share,
        sum(pause) filter ({which}) as {name}_pause,
        coalesce(min(call_frame::bigint, {EXAMPLES}) filter ({which}), []) as {name}_frames
    """


def names(name: str) -> str:
    """The names of these columns."""
    return ", ".join(f"{name}_{what}" for what in ("calls", "share", "pause", "frames"))


def of_row(row: Sequence[object]) -> Spared:
    """Read the four values of `columns`."""
    calls, share, pause, frames = row
    if not calls:  # One record for all of a hundred thousand clients; None: no row to join.
        return NONE
    assert isinstance(frames, list)
    return Spared(
        integer(calls),
        seconds(share) or 0.0,
        seconds(pause) or 0.0,
        tuple(integer(frame) for frame in frames),
    )
