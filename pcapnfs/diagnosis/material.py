"""What the rules judge by: the results of the analyses, gathered once.

Takes a trace; gives a `Material`. A rule reads it and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import beginnings as _beginnings
from pcapnfs.analyses import cache as _cache
from pcapnfs.analyses import capture as _capture
from pcapnfs.analyses import held_segments as _held_segments
from pcapnfs.analyses import listing_costs as _listing_costs
from pcapnfs.analyses import lock_waits as _lock_waits
from pcapnfs.analyses import not_found as _not_found
from pcapnfs.analyses import questions as _questions
from pcapnfs.analyses import recalls as _recalls
from pcapnfs.analyses import refusals as _refusals
from pcapnfs.analyses import repeated_access as _repeated_access
from pcapnfs.analyses import resent_calls as _resent_calls
from pcapnfs.analyses import round_trip as _round_trip
from pcapnfs.analyses import shared_files as _shared_files
from pcapnfs.analyses import silly_renames as _silly_renames
from pcapnfs.analyses import stale_handles as _stale_handles
from pcapnfs.analyses import tcp_stalls as _tcp_stalls
from pcapnfs.analyses import time_budget as _time_budget
from pcapnfs.analyses import transfer_runs as _transfer_runs
from pcapnfs.analyses import trust as _trust
from pcapnfs.analyses.change_ids import change_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.trace import Trace

READS = columns.together(
    _beginnings.READS,
    _cache.READS,
    _capture.READS,
    _held_segments.READS,
    _listing_costs.READS,
    _lock_waits.READS,
    _not_found.READS,
    _questions.READS,
    _recalls.READS,
    _refusals.READS,
    _repeated_access.READS,
    _resent_calls.READS,
    _round_trip.READS,
    _shared_files.READS,
    _silly_renames.READS,
    _stale_handles.READS,
    _tcp_stalls.READS,
    _time_budget.READS,
    _transfer_runs.READS,
    _trust.READS,
)
"""The columns that all of these read."""


@dataclass(frozen=True, slots=True)
class Material:
    """Results of analyses, by the name of their analysis."""

    time_budget: _time_budget.TimeBudget
    beginnings: tuple[_beginnings.Beginning, ...]
    cache: _cache.Cache
    capture: _capture.Capture
    held_segments: tuple[_held_segments.HeldSegments, ...]
    listing_costs: tuple[_listing_costs.ListingCosts, ...]
    lock_waits: tuple[_lock_waits.LockWaits, ...]
    not_found: tuple[_not_found.NotFound, ...]
    questions: tuple[_questions.Questions, ...]
    recalls: tuple[_recalls.Recalls, ...]
    refusals: tuple[_refusals.Refusals, ...]
    repeated_access: tuple[_repeated_access.RepeatedAccess, ...]
    resent_calls: tuple[_resent_calls.ResentCalls, ...]
    round_trips: _round_trip.RoundTrips
    shared_files: tuple[_shared_files.SharedFiles, ...]
    silly_renames: tuple[_silly_renames.SillyRenames, ...]
    stale_handles: tuple[_stale_handles.StaleHandles, ...]
    tcp_stalls: tuple[_tcp_stalls.TcpStalls, ...]
    transfer_runs: tuple[_transfer_runs.TransferRuns, ...]
    trust: _trust.Trust

    def budget_rows(self) -> Mapping[str, float]:
        """What can be claimed: the rows of the time budget of all clients, in seconds."""
        return {name: time_s for name, time_s, _ in self.time_budget.total.shares()}


def gather(trace: Trace) -> Material:
    """Ask the analyses."""
    # What clients learnt of files is costly to find out: once for all who ask.
    with change_ids(trace) as learned:
        cache = _cache.of_learned(learned)
        questions = _questions.of_learned(trace, learned)
    return Material(
        time_budget=_time_budget.time_budget(trace),
        beginnings=_beginnings.beginnings(trace),
        cache=cache,
        capture=_capture.capture(trace),
        held_segments=_held_segments.held_segments(trace),
        listing_costs=_listing_costs.listing_costs(trace),
        lock_waits=_lock_waits.lock_waits(trace),
        not_found=_not_found.not_found(trace),
        questions=questions,
        recalls=_recalls.recalls(trace),
        refusals=_refusals.refusals(trace),
        repeated_access=_repeated_access.repeated_access(trace),
        resent_calls=_resent_calls.resent_calls(trace),
        round_trips=_round_trip.round_trips(trace),
        shared_files=_shared_files.shared_files(trace),
        silly_renames=_silly_renames.silly_renames(trace),
        stale_handles=_stale_handles.stale_handles(trace),
        tcp_stalls=_tcp_stalls.tcp_stalls(trace),
        transfer_runs=_transfer_runs.transfer_runs(trace),
        trust=_trust.trust(trace),
    )
