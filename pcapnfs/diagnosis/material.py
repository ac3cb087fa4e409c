"""What the rules judge by: the results of the analyses, gathered once.

Takes a trace; gives a `Material`. A rule reads it and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from pcapnfs import columns
from pcapnfs.analyses.asking.equal_shares import equal_shares
from pcapnfs.analyses.asking.side_by_side import side_by_side
from pcapnfs.analyses.caching import access_times as _access_times
from pcapnfs.analyses.caching import acl_queries as _acl_queries
from pcapnfs.analyses.caching import asked_again as _asked_again
from pcapnfs.analyses.caching import cache as _cache
from pcapnfs.analyses.caching import opened_again as _opened_again
from pcapnfs.analyses.caching import overwritten as _overwritten
from pcapnfs.analyses.caching import questions as _questions
from pcapnfs.analyses.caching import recalls as _recalls
from pcapnfs.analyses.caching import repeated_access as _repeated_access
from pcapnfs.analyses.caching import returned_at_once as _returned_at_once
from pcapnfs.analyses.caching import shared_files as _shared_files
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.captured import beginnings as _beginnings
from pcapnfs.analyses.captured import capture as _capture
from pcapnfs.analyses.captured import filter_ports as _filter_ports
from pcapnfs.analyses.captured import passed_on as _passed_on
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.data import commits as _commits
from pcapnfs.analyses.data import layouts as _layouts
from pcapnfs.analyses.data import transfer_runs as _transfer_runs
from pcapnfs.analyses.data import write_shapes as _write_shapes
from pcapnfs.analyses.forecasts import bottleneck as _bottleneck
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.locks import dot_locks as _dot_locks
from pcapnfs.analyses.locks import lock_calls as _lock_calls
from pcapnfs.analyses.locks import lock_files as _lock_files
from pcapnfs.analyses.locks import lock_waits as _lock_waits
from pcapnfs.analyses.locks import open_order as _open_order
from pcapnfs.analyses.mounts import mount_outcomes as _mount_outcomes
from pcapnfs.analyses.mounts import preliminaries as _preliminaries
from pcapnfs.analyses.mounts import repeated_mounts as _repeated_mounts
from pcapnfs.analyses.mounts import shared_names as _shared_names
from pcapnfs.analyses.mounts import software as _software
from pcapnfs.analyses.mounts.mount_options import NO_NAMES
from pcapnfs.analyses.mounts.mount_timeouts import is_longest
from pcapnfs.analyses.mounts.mounts_apart import apart
from pcapnfs.analyses.namespace import attribute_calls as _attribute_calls
from pcapnfs.analyses.namespace import directories_again as _directories_again
from pcapnfs.analyses.namespace import directory_order as _directory_order
from pcapnfs.analyses.namespace import exclusive_creates as _exclusive_creates
from pcapnfs.analyses.namespace import journals as _journals
from pcapnfs.analyses.namespace import listing_costs as _listing_costs
from pcapnfs.analyses.namespace import move_order as _move_order
from pcapnfs.analyses.namespace import names_again as _names_again
from pcapnfs.analyses.namespace import not_found as _not_found
from pcapnfs.analyses.namespace import silly_renames as _silly_renames
from pcapnfs.analyses.namespace import small_pages as _small_pages
from pcapnfs.analyses.namespace import stale_handles as _stale_handles
from pcapnfs.analyses.namespace import voided_names as _voided_names
from pcapnfs.analyses.servers import exports as _exports
from pcapnfs.analyses.servers import failures as _failures
from pcapnfs.analyses.servers import in_turn as _in_turn
from pcapnfs.analyses.servers import load as _load
from pcapnfs.analyses.servers import refusals as _refusals
from pcapnfs.analyses.servers import rejections as _rejections
from pcapnfs.analyses.servers import restarts as _restarts
from pcapnfs.analyses.servers import server_times as _server_times
from pcapnfs.analyses.servers import stalled_calls as _stalled_calls
from pcapnfs.analyses.servers import unanswered as _unanswered
from pcapnfs.analyses.servers import warm_calls as _warm_calls
from pcapnfs.analyses.servers import withheld_rights as _withheld_rights
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times import time_budget as _time_budget
from pcapnfs.analyses.times.budget import Booked, book
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.wire import caps as _caps
from pcapnfs.analyses.wire import cut_off as _cut_off
from pcapnfs.analyses.wire import data_rates as _data_rates
from pcapnfs.analyses.wire import full_windows as _full_windows
from pcapnfs.analyses.wire import held_segments as _held_segments
from pcapnfs.analyses.wire import late_connections as _late_connections
from pcapnfs.analyses.wire import loss_rate as _loss_rate
from pcapnfs.analyses.wire import own_ways as _own_ways
from pcapnfs.analyses.wire import rdma_losses as _rdma_losses
from pcapnfs.analyses.wire import resent_calls as _resent_calls
from pcapnfs.analyses.wire import round_trip as _round_trip
from pcapnfs.analyses.wire import slower_path as _slower_path
from pcapnfs.analyses.wire import tcp_stalls as _tcp_stalls
from pcapnfs.analyses.wire import uneven_connections as _uneven_connections
from pcapnfs.analyses.wire import vain_connections as _vain_connections
from pcapnfs.analyses.wire.network_path import NetworkPath, network_path
from pcapnfs.record import Record, defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pcapnfs.analyses.asking.side_by_side import Asking
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.columns import Columns
    from pcapnfs.trace import Trace

Answer = TypeVar("Answer")


class Question(Record):
    """What is asked of a trace and needs nothing else."""

    function: Callable[[Trace], Any]
    """The analysis."""
    reads: Columns
    """The columns that it reads."""


def _asked(function: Callable[[Trace], Answer], reads: Columns) -> Answer:
    """Say of a field of `Material` which analysis fills it; type checkers hold both together."""
    return cast("Answer", Question(function, reads))


class Material(Record):
    """Results of analyses, by the name of their analysis.

    Those that take nothing but the trace are asked for where they stand.
    """

    asked_again: tuple[_asked_again.AskedAgain, ...]
    bottleneck: _bottleneck.Bottleneck
    cache: _cache.Cache
    directories_again: tuple[_directories_again.DirectoriesAgain, ...]
    in_turn: tuple[_in_turn.InTurn, ...]
    names_again: tuple[_names_again.NamesAgain, ...]
    questions: tuple[_questions.Questions, ...]
    server_times: tuple[_server_times.ServerTime, ...]
    time_budget: _time_budget.TimeBudget
    transfer_runs: tuple[_transfer_runs.TransferRuns, ...]
    voided_names: tuple[_voided_names.VoidedNames, ...]
    warm_calls: tuple[_warm_calls.WarmCalls, ...]

    access_times: tuple[_access_times.AccessTimes, ...] = _asked(
        _access_times.access_times, _access_times.READS
    )
    acl_queries: tuple[_acl_queries.AclQueries, ...] = _asked(
        _acl_queries.acl_queries, _acl_queries.READS
    )
    attribute_calls: tuple[_attribute_calls.AttributeCalls, ...] = _asked(
        _attribute_calls.attribute_calls, _attribute_calls.READS
    )
    beginnings: tuple[_beginnings.Beginning, ...] = _asked(
        _beginnings.beginnings, _beginnings.READS
    )
    caps: _caps.Caps = _asked(_caps.caps, _caps.READS)
    capture: _capture.Capture = _asked(_capture.capture, _capture.READS)
    commits: tuple[_commits.Commits, ...] = _asked(_commits.commits, _commits.READS)
    cut_off: tuple[_cut_off.CutOff, ...] = _asked(_cut_off.cut_off, _cut_off.READS)
    data_rates: tuple[_data_rates.DataRate, ...] = _asked(_data_rates.data_rates, _data_rates.READS)
    directory_order: tuple[_directory_order.DirectoryOrder, ...] = _asked(
        _directory_order.directory_order, _directory_order.READS
    )
    dot_locks: tuple[_dot_locks.DotLocks, ...] = _asked(_dot_locks.dot_locks, _dot_locks.READS)
    exclusive_creates: tuple[_exclusive_creates.ExclusiveCreates, ...] = _asked(
        _exclusive_creates.exclusive_creates, _exclusive_creates.READS
    )
    exports: _exports.Exports = _asked(_exports.exports, _exports.READS)
    failures: tuple[_failures.Failures, ...] = _asked(_failures.failures, _failures.READS)
    filter_ports: tuple[int, ...] = _asked(_filter_ports.filter_ports, _filter_ports.READS)
    full_windows: tuple[_full_windows.FullWindow, ...] = _asked(
        _full_windows.full_windows, _full_windows.READS
    )
    held_segments: tuple[_held_segments.HeldSegments, ...] = _asked(
        _held_segments.held_segments, _held_segments.READS
    )
    journals: tuple[_journals.Journals, ...] = _asked(_journals.journals, _journals.READS)
    late_connections: tuple[_late_connections.LateConnections, ...] = _asked(
        _late_connections.late_connections, _late_connections.READS
    )
    layouts: tuple[_layouts.Layouts, ...] = _asked(_layouts.layouts, _layouts.READS)
    listing_costs: tuple[_listing_costs.ListingCosts, ...] = _asked(
        _listing_costs.listing_costs, _listing_costs.READS
    )
    load: tuple[_load.Load, ...] = _asked(_load.load, _load.READS)
    lock_calls: tuple[_lock_calls.LockCalls, ...] = _asked(
        _lock_calls.lock_calls, _lock_calls.READS
    )
    lock_files: tuple[_lock_files.LockFiles, ...] = _asked(
        _lock_files.lock_files, _lock_files.READS
    )
    lock_waits: tuple[_lock_waits.LockWaits, ...] = _asked(
        _lock_waits.lock_waits, _lock_waits.READS
    )
    loss_rates: tuple[_loss_rate.LossRate, ...] = _asked(_loss_rate.loss_rates, _loss_rate.READS)
    mount_outcomes: tuple[_mount_outcomes.MountOutcome, ...] = _asked(
        _mount_outcomes.mount_outcomes, _mount_outcomes.READS
    )
    move_order: tuple[_move_order.MoveOrder, ...] = _asked(
        _move_order.move_order, _move_order.READS
    )
    not_found: tuple[_not_found.NotFound, ...] = _asked(_not_found.not_found, _not_found.READS)
    open_order: tuple[_open_order.OpenOrder, ...] = _asked(
        _open_order.open_order, _open_order.READS
    )
    opened_again: tuple[_opened_again.OpenedAgain, ...] = _asked(
        _opened_again.opened_again, _opened_again.READS
    )
    overwritten: tuple[_overwritten.Overwritten, ...] = _asked(
        _overwritten.overwritten, _overwritten.READS
    )
    own_ways: tuple[_own_ways.OwnWay, ...] = _asked(_own_ways.own_ways, _own_ways.READS)
    passed_on: tuple[_passed_on.PassedOn, ...] = _asked(_passed_on.passed_on, _passed_on.READS)
    preliminaries: tuple[_preliminaries.Preliminaries, ...] = _asked(
        _preliminaries.preliminaries, _preliminaries.READS
    )
    rdma_losses: tuple[_rdma_losses.RdmaLosses, ...] = _asked(
        _rdma_losses.rdma_losses, _rdma_losses.READS
    )
    recalls: tuple[_recalls.Recalls, ...] = _asked(_recalls.recalls, _recalls.READS)
    refusals: tuple[_refusals.Refusals, ...] = _asked(_refusals.refusals, _refusals.READS)
    rejections: tuple[_rejections.Rejections, ...] = _asked(
        _rejections.rejections, _rejections.READS
    )
    repeated_access: tuple[_repeated_access.RepeatedAccess, ...] = _asked(
        _repeated_access.repeated_access, _repeated_access.READS
    )
    repeated_mounts: tuple[_repeated_mounts.RepeatedMounts, ...] = _asked(
        _repeated_mounts.repeated_mounts, _repeated_mounts.READS
    )
    resent_calls: tuple[_resent_calls.ResentCalls, ...] = _asked(
        _resent_calls.resent_calls, _resent_calls.READS
    )
    restarts: tuple[_restarts.Restart, ...] = _asked(_restarts.restarts, _restarts.READS)
    returned_at_once: tuple[_returned_at_once.ReturnedAtOnce, ...] = _asked(
        _returned_at_once.returned_at_once, _returned_at_once.READS
    )
    round_trips: _round_trip.RoundTrips = _asked(_round_trip.round_trips, _round_trip.READS)
    shared_files: tuple[_shared_files.SharedFiles, ...] = _asked(
        _shared_files.shared_files, _shared_files.READS
    )
    shared_names: tuple[_shared_names.SharedName, ...] = _asked(
        _shared_names.shared_names, _shared_names.READS
    )
    silly_renames: tuple[_silly_renames.SillyRenames, ...] = _asked(
        _silly_renames.silly_renames, _silly_renames.READS
    )
    slower_paths: tuple[_slower_path.SlowerPath, ...] = _asked(
        _slower_path.slower_paths, _slower_path.READS
    )
    small_pages: tuple[_small_pages.SmallPages, ...] = _asked(
        _small_pages.small_pages, _small_pages.READS
    )
    software: _software.Software = _asked(_software.software, _software.READS)
    stale_handles: tuple[_stale_handles.StaleHandles, ...] = _asked(
        _stale_handles.stale_handles, _stale_handles.READS
    )
    stalled_calls: tuple[_stalled_calls.StalledCalls, ...] = _asked(
        _stalled_calls.stalled_calls, _stalled_calls.READS
    )
    tcp_stalls: tuple[_tcp_stalls.TcpStalls, ...] = _asked(
        _tcp_stalls.tcp_stalls, _tcp_stalls.READS
    )
    trust: _trust.Trust = _asked(_trust.trust, _trust.READS)
    unanswered: tuple[_unanswered.Unanswered, ...] = _asked(
        _unanswered.unanswered, _unanswered.READS
    )
    uneven_connections: tuple[_uneven_connections.UnevenConnections, ...] = _asked(
        _uneven_connections.uneven_connections, _uneven_connections.READS
    )
    vain_connections: tuple[_vain_connections.VainConnections, ...] = _asked(
        _vain_connections.vain_connections, _vain_connections.READS
    )
    withheld_rights: tuple[_withheld_rights.WithheldRights, ...] = _asked(
        _withheld_rights.withheld_rights, _withheld_rights.READS
    )
    write_shapes: tuple[_write_shapes.WriteShapes, ...] = _asked(
        _write_shapes.write_shapes, _write_shapes.READS
    )

    def budget_rows(self) -> Mapping[str, float]:
        """What can be claimed: the rows of the time budget of all clients, in seconds."""
        return {name: time_s for name, time_s, _ in self.time_budget.total.shares()}


QUESTIONS = {
    name: asked for name, asked in defaults(Material).items() if isinstance(asked, Question)
}
"""What is asked of the trace alone, by the field that the answer goes to."""

READS = columns.together(
    _bottleneck.READS,
    _cache.READS,
    _directories_again.READS,
    _in_turn.READS,
    _questions.READS,
    _server_times.READS,
    _time_budget.READS,
    _transfer_runs.READS,
    _voided_names.READS,
    _warm_calls.READS,
    *(asked.reads for asked in QUESTIONS.values()),
)
"""The columns that all of these read."""


class Learned(Record):
    """What follows from what clients learnt of files, which is costly to find out."""

    cache: _cache.Cache
    """What was asked and read again."""
    questions: tuple[_questions.Questions, ...]
    """What clients asked beside."""
    asked_again: tuple[_asked_again.AskedAgain, ...]
    """What they asked for again as soon as before."""
    names_again: tuple[_names_again.NamesAgain, ...]
    """What they looked up again."""
    voided_names: tuple[_voided_names.VoidedNames, ...]
    """What they had to look up again, since somebody else had changed the directory."""
    directories_again: tuple[_directories_again.DirectoriesAgain, ...]
    """What directories they looked up again though they knew them."""
    division: Division | None
    """How the calls of pairs of client and server are divided by mounts; None where none are."""


class Begun(Record):
    """What other answers build on."""

    network: NetworkPath
    """Round trips, and what lies before the capture point."""
    calls: Outstanding
    """When calls were outstanding."""
    booked: Booked
    """They added up by client."""
    learned: Callable[[], Learned]
    """Gives what clients learnt of files; it takes longest."""


def gather(trace: Trace) -> Material:
    """Ask all analyses."""
    with side_by_side(trace) as asking:
        begun = begin(trace, asking)
        measured = measure(trace, begun.network, begun.calls, begun.booked)
        budget = _time_budget.time_budget(trace, begun.calls, begun.booked, measured.lock_gaps)
        learned = begun.learned
        del begun  # Arrays of all calls, which nobody asks for any more.
        return complete(asking, learned, measured, budget)


def begin(trace: Trace, asking: Asking) -> Begun:
    """Find out what other answers build on, and ask for what takes longest."""
    trace.demand_memory()
    network = network_path(trace)
    calls = outstanding(trace, added_ns=network.added_ns)
    given = equal_shares(calls.intervals)
    booked, share = book(calls, given), shares.shares(calls, given)
    del given
    shares.register(trace, calls, share)
    return Begun(network, calls, booked, asking.ask(learn))


def learn(trace: Trace) -> Learned:
    """Find out what clients learnt of files, once for all who ask."""
    with change_ids(trace) as learned, apart(trace, learned) as judged:
        return Learned(
            _cache.of_learned(trace, learned, judged.mounts),
            _questions.of_learned(trace, judged.cursor, judged.division),
            _asked_again.of_learned(trace, judged.cursor, judged.division)
            if any(is_longest(told.options) for mount in judged.mounts for told in mount.verdicts)
            else (),
            # Who keeps names looks none of them up again, and most do.
            _names_again.of_learned(trace, judged.cursor, judged.division)
            if any(told.options == NO_NAMES for mount in judged.mounts for told in mount.verdicts)
            else (),
            _voided_names.of_learned(trace, learned),
            _directories_again.of_learned(trace, learned),
            judged.division,
        )


def complete(
    asking: Asking,
    learned: Callable[[], Learned],
    measured: Measurement,
    time_budget: _time_budget.TimeBudget,
) -> Material:
    """Ask the other analyses.

    Args:
        asking: Where the trace's questions are asked.
        learned: Gives what clients learnt of files, of `begin`.
        measured: What the model measures.
        time_budget: Where the clock went.
    """
    ask = asking.ask
    bottleneck = ask(_bottleneck.bottleneck, measured)
    server_times, transfer_runs = ask(_server_times.server_times), ask(_transfer_runs.transfer_runs)
    answers = {name: ask(asked.function) for name, asked in QUESTIONS.items()}
    of_servers = server_times()
    in_turn = ask(_in_turn.in_turn, of_servers)
    warm_calls = ask(_warm_calls.warm_calls, of_servers)
    of_files = learned()
    of_transfers = transfer_runs()
    if of_files.division is not None:
        of_transfers = ask(_transfer_runs.transfer_runs, of_files.division)()
    return Material(
        asked_again=of_files.asked_again,
        bottleneck=bottleneck(),
        cache=of_files.cache,
        directories_again=of_files.directories_again,
        in_turn=in_turn(),
        names_again=of_files.names_again,
        questions=of_files.questions,
        server_times=of_servers,
        time_budget=time_budget,
        transfer_runs=of_transfers,
        voided_names=of_files.voided_names,
        warm_calls=warm_calls(),
        **{name: answer() for name, answer in answers.items()},
    )
