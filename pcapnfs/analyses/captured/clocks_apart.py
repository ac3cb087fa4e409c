"""Two clocks in one capture: what cannot be there yet is, again and again.

Takes calls and connections; gives by how much at least the clocks of the two directions are apart.
Each direction of a full-duplex link may be captured by a port of its own (a tap, two mirror ports),
and files of two hosts may be merged. Where the clock behind replies is late by more than the
quickest calls take, these take less than nothing. Where it is ahead, calls look longer, and the
client acknowledges what the server has not sent yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback stability srt xid call_time reply_frame",
    connections="server_segments server_acked_first server_acked_lead",
    notes="reason xid time",
)
"""The columns that this reads."""

FEW = 8
"""Answered calls below which nothing is said: a capturing host may mix up the order of some
packets."""

OFTEN = 0.25
"""Share of the calls that need no storage, or of all, whose replies must be there before them: a
host that mixes up packets does so with some. Of the server's segments as many must come after the
client acknowledged them."""

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
        return _ahead(trace) or _apart_at_all(trace)
    ((quick, quick_below, quickest, calls, below, least, usual),) = trace.rows(_TIMES)
    often = below >= OFTEN * calls >= OFTEN * FEW
    if quick >= FEW and quick_below >= OFTEN * quick:
        least = quickest
    elif not often:
        return _ahead(trace) or _apart_at_all(trace)
    return ClocksApart(
        least_s=seconds(-least), untold=often or -integer(least) >= LITTLE * integer(usual)
    )


def _ahead(trace: Trace) -> ClocksApart | None:
    """What acknowledgements of what was not sent yet tell; None where they tell nothing."""
    ((segments, first, lead),) = trace.rows(_ACKNOWLEDGED)
    if lead is None or first < OFTEN * max(segments, FEW / OFTEN):
        return None
    ((usual,),) = trace.rows(_USUAL)
    return ClocksApart(
        least_s=seconds(lead), untold=usual is None or lead >= LITTLE * integer(usual)
    )


def _apart_at_all(trace: Trace) -> ClocksApart:
    """What replies tell that were not taken for those to calls which come much later."""
    if not any_early(trace):
        return ClocksApart(None, untold=False)
    ((orphans, early, least),) = trace.rows(_MUCH_LATER, {"orphan": ORPHAN_REPLY})
    if least is None or early < max(FEW, OFTEN * orphans):
        return ClocksApart(None, untold=False)
    return ClocksApart(least_s=seconds(least), untold=True)


def any_early(trace: Trace) -> bool:
    """Whether replies have no call: most captures have none to ask further about."""
    few = {"orphan": ORPHAN_REPLY, "few": FEW}
    return bool(trace.rows("select 1 from notes where reason = $orphan offset $few - 1", few))


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

_ACKNOWLEDGED = """
    select coalesce(sum(server_segments), 0), coalesce(sum(server_acked_first), 0),
           (sum(server_acked_first * server_acked_lead)
            / sum(server_acked_first) filter (server_acked_lead is not null))::bigint
    from connections where server_segments > 0
"""

_USUAL = "select quantile_disc(srt, 0.5) from calls where srt is not null and not callback"

_MUCH_LATER = """
    select (select count(*) from notes where reason = $orphan), count(*),
           quantile_disc(call_time - notes.time, 0.5)
    from notes join calls using (xid)
    where reason = $orphan and reply_frame is null and not callback and call_time > notes.time
"""
"""By xids alone: of a connection that has no calls nothing tells who is the client."""
