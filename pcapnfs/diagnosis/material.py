"""What the rules judge by: the results of the analyses, gathered once.

Takes a trace; gives a `Material`. A rule reads it and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import bottleneck as _bottleneck
from pcapnfs.analyses import cache as _cache
from pcapnfs.analyses import caps as _caps
from pcapnfs.analyses import commits as _commits
from pcapnfs.analyses import exclusive_creates as _exclusive_creates
from pcapnfs.analyses import listing_costs as _listing_costs
from pcapnfs.analyses import load as _load
from pcapnfs.analyses import not_found as _not_found
from pcapnfs.analyses import open_order as _open_order
from pcapnfs.analyses import questions as _questions
from pcapnfs.analyses import repeated_access as _repeated_access
from pcapnfs.analyses import restarts as _restarts
from pcapnfs.analyses import server_times as _server_times
from pcapnfs.analyses import time_budget as _time_budget
from pcapnfs.analyses import transfer_runs as _transfer_runs
from pcapnfs.analyses import write_shapes as _write_shapes
from pcapnfs.analyses.change_ids import change_ids
from pcapnfs.analyses.network_path import network_path
from pcapnfs.analyses.outstanding import outstanding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.trace import Trace

READS = columns.together(
    _bottleneck.READS,
    _cache.READS,
    _listing_costs.READS,
    _not_found.READS,
    _questions.READS,
    _repeated_access.READS,
    _restarts.READS,
    _commits.READS,
    _server_times.READS,
    _load.READS,
    _caps.READS,
    _exclusive_creates.READS,
    _write_shapes.READS,
    _open_order.READS,
    _time_budget.READS,
    _transfer_runs.READS,
)
"""The columns that all of these read."""


@dataclass(frozen=True, slots=True)
class Material:
    """Results of analyses, by the name of their analysis."""

    time_budget: _time_budget.TimeBudget
    bottleneck: _bottleneck.Bottleneck
    cache: _cache.Cache
    listing_costs: tuple[_listing_costs.ListingCosts, ...]
    not_found: tuple[_not_found.NotFound, ...]
    questions: tuple[_questions.Questions, ...]
    repeated_access: tuple[_repeated_access.RepeatedAccess, ...]
    transfer_runs: tuple[_transfer_runs.TransferRuns, ...]
    restarts: tuple[_restarts.Restart, ...]
    commits: tuple[_commits.Commits, ...]
    server_times: tuple[_server_times.ServerTime, ...]
    load: tuple[_load.Load, ...]
    caps: _caps.Caps
    exclusive_creates: tuple[_exclusive_creates.ExclusiveCreates, ...]
    write_shapes: tuple[_write_shapes.WriteShapes, ...]
    open_order: tuple[_open_order.OpenOrder, ...]

    def budget_rows(self) -> Mapping[str, float]:
        """What can be claimed: the rows of the time budget of all clients, in seconds."""
        return {name: time_s for name, time_s, _ in self.time_budget.total.shares()}


def gather(trace: Trace) -> Material:
    """Ask the analyses."""
    # What clients learnt of files is costly to find out: once for all who ask.
    with change_ids(trace) as learned:
        cache = _cache.of_learned(learned)
        questions = _questions.of_learned(trace, learned)
    network = network_path(trace)
    calls = outstanding(trace, added_ns=network.added_ns)
    return Material(
        time_budget=_time_budget.time_budget(trace, calls),
        bottleneck=_bottleneck.bottleneck(trace, network, calls),
        cache=cache,
        listing_costs=_listing_costs.listing_costs(trace),
        not_found=_not_found.not_found(trace),
        questions=questions,
        repeated_access=_repeated_access.repeated_access(trace),
        transfer_runs=_transfer_runs.transfer_runs(trace),
        restarts=_restarts.restarts(trace),
        commits=_commits.commits(trace),
        server_times=_server_times.server_times(trace),
        load=_load.load(trace),
        caps=_caps.caps(trace),
        exclusive_creates=_exclusive_creates.exclusive_creates(trace),
        write_shapes=_write_shapes.write_shapes(trace),
        open_order=_open_order.open_order(trace),
    )
