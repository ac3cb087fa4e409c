"""Whether the server works on one call at a time on one side, and on several on the other.

Takes two sides; gives what differs, with what says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison.cause import Cause
from pcapnfs.diagnosis.rules.slow_service import ONE_BY_ONE

if TYPE_CHECKING:
    from pcapnfs.comparison.side import Side
    from pcapnfs.diagnosis.finding import Finding

IN_TURN, AT_SAME_TIME = "works on one call at a time", "works on several at the same time"
"""How the server takes calls."""

AT_ONCE = 1.2
"""Calls under way on average, below which they hardly ever meet at the server."""

SLOW_S = 0.005
"""Median of the stable calls from which on others would have to wait for them in one queue."""

APART = 5
"""Times as long as small calls that median must be: then these did not wait for stable ones."""

SLOW = "slow_service"
"""The finding on a server that takes long where no stable storage is needed; there is none on READs
that wait for a link."""


def in_turn(before: Side, after: Side) -> Iterator[Cause]:
    """Whether the server worked on one call at a time on one side, and side by side on the other.

    A server that is fast keeps none waiting, however few threads it has: of the other side stable
    calls must tell, which take long there while others do not.
    """
    for mine, other, first in ((before, after, True), (after, before, False)):
        told = next((found for found in mine.findings if one_by_one(found)), None)
        if told is None or any(one_by_one(found) for found in other.findings):
            continue
        measured = other.measured
        small_s, stable_s = measured.small_median_s, measured.stable_median_s
        if (
            small_s is None
            or stable_s is None
            or measured.stable_calls < LEAST_CALLS
            or measured.concurrency < AT_ONCE
            or stable_s < max(SLOW_S, APART * small_s)
        ):
            continue
        seen = told.evidence.split(". ")[-1].removesuffix(".")
        yield Cause(
            "server_in_turn",
            IN_TURN if first else AT_SAME_TIME,
            AT_SAME_TIME if first else IN_TURN,
            "possible",
            f"{'before' if first else 'after'}, {seen[:1].lower()}{seen[1:]}; "
            f"{'after' if first else 'before'}, with {measured.concurrency:.2g} calls under way on "
            f"average, half of the small ones took {units.duration(small_s)} at most beside stable "
            f"ones of {units.duration(stable_s)}",
        )


def one_by_one(found: Finding) -> bool:
    """Whether a finding says that the server works on one call at a time."""
    return found.id == SLOW and found.title.endswith(ONE_BY_ONE)
