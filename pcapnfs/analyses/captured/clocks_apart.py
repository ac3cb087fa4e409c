"""Two clocks in one capture: a reply that is there before its call, again and again.

Takes the calls; gives by how much at least the clocks of the two directions are apart. Each
direction of a full-duplex link may be captured by a port of its own (a tap, two mirror ports), and
files of two hosts may be merged: where the clock behind replies is late by more than the quickest
calls take, these take less than nothing. Where it is ahead, calls merely look longer, and nothing
tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(calls="callback stability srt")
"""The columns that this reads."""

FEW = 8
"""Answered calls below which nothing is said: a capturing host may mix up the order of some
packets."""

OFTEN = 0.25
"""Share of the calls that need no storage, or of all, whose replies must be there before them: a
host that mixes up packets does so with some."""

LITTLE = 0.1
"""Part of what a call usually takes below which the clocks may be apart: then it takes about what
the capture shows."""


class ClocksApart(Record):
    """What calls that took less than nothing tell."""

    least_s: float | None
    """By how much at least the clocks of the two directions are apart, seconds; None where nothing
    tells that they are."""
    untold: bool
    """It is so much that what calls took is not known."""


@once
def clocks_apart(trace: Trace) -> ClocksApart:
    """Say by how much the clocks of the two directions are apart."""
    if not any_below(trace):
        return ClocksApart(None, untold=False)
    ((quick, quick_below, quickest, calls, below, least, usual),) = trace.rows(_TIMES)
    often = below >= OFTEN * calls >= OFTEN * FEW
    if quick >= FEW and quick_below >= OFTEN * quick:
        least = quickest
    elif not often:
        return ClocksApart(None, untold=False)
    return ClocksApart(
        least_s=seconds(-least), untold=often or -integer(least) >= LITTLE * integer(usual)
    )


def any_below(trace: Trace) -> bool:
    """Whether any call took less than nothing: most captures have none to ask further about."""
    return bool(trace.rows("select 1 from calls where srt < 0 and not callback limit 1"))


_TIMES = """
    select count(*) filter (quick), count(*) filter (quick and srt < 0),
           quantile_disc(srt, 0.05) filter (quick),
           count(*), count(*) filter (srt < 0), quantile_disc(srt, 0.05), quantile_disc(srt, 0.5)
    from (
        select srt, stability = 'unstable' as quick
        from calls where srt is not null and not callback
    )
"""
"""The 5th percentile, since single packets may be out of order by more."""
