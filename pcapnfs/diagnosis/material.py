"""What the rules judge by: the results of the analyses, gathered once.

Takes a trace; gives a `Material`. A rule reads it and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.equal_shares import equal_shares
from pcapnfs.analyses.asking.side_by_side import side_by_side
from pcapnfs.analyses.caching import acl_queries as _acl_queries
from pcapnfs.analyses.caching import asked_again as _asked_again
from pcapnfs.analyses.caching import cache as _cache
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
from pcapnfs.analyses.locks import lock_calls as _lock_calls
from pcapnfs.analyses.locks import lock_files as _lock_files
from pcapnfs.analyses.locks import lock_waits as _lock_waits
from pcapnfs.analyses.locks import open_order as _open_order
from pcapnfs.analyses.mounts import mount_outcomes as _mount_outcomes
from pcapnfs.analyses.mounts import preliminaries as _preliminaries
from pcapnfs.analyses.mounts import shared_names as _shared_names
from pcapnfs.analyses.mounts import software as _software
from pcapnfs.analyses.mounts.mount_options import NO_NAMES
from pcapnfs.analyses.mounts.mount_timeouts import is_longest
from pcapnfs.analyses.mounts.mounts_apart import apart
from pcapnfs.analyses.namespace import attribute_calls as _attribute_calls
from pcapnfs.analyses.namespace import directory_order as _directory_order
from pcapnfs.analyses.namespace import exclusive_creates as _exclusive_creates
from pcapnfs.analyses.namespace import journals as _journals
from pcapnfs.analyses.namespace import listing_costs as _listing_costs
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
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pcapnfs.analyses.asking.side_by_side import Asking
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

READS = columns.together(
    _acl_queries.READS,
    _attribute_calls.READS,
    _beginnings.READS,
    _bottleneck.READS,
    _cache.READS,
    _caps.READS,
    _capture.READS,
    _commits.READS,
    _cut_off.READS,
    _data_rates.READS,
    _directory_order.READS,
    _exclusive_creates.READS,
    _exports.READS,
    _failures.READS,
    _filter_ports.READS,
    _full_windows.READS,
    _held_segments.READS,
    _late_connections.READS,
    _journals.READS,
    _layouts.READS,
    _listing_costs.READS,
    _in_turn.READS,
    _load.READS,
    _lock_calls.READS,
    _lock_files.READS,
    _lock_waits.READS,
    _loss_rate.READS,
    _mount_outcomes.READS,
    _not_found.READS,
    _open_order.READS,
    _own_ways.READS,
    _passed_on.READS,
    _preliminaries.READS,
    _questions.READS,
    _rdma_losses.READS,
    _recalls.READS,
    _refusals.READS,
    _rejections.READS,
    _repeated_access.READS,
    _resent_calls.READS,
    _restarts.READS,
    _returned_at_once.READS,
    _round_trip.READS,
    _server_times.READS,
    _shared_files.READS,
    _shared_names.READS,
    _silly_renames.READS,
    _slower_path.READS,
    _small_pages.READS,
    _software.READS,
    _stale_handles.READS,
    _stalled_calls.READS,
    _tcp_stalls.READS,
    _time_budget.READS,
    _transfer_runs.READS,
    _trust.READS,
    _unanswered.READS,
    _uneven_connections.READS,
    _vain_connections.READS,
    _voided_names.READS,
    _warm_calls.READS,
    _write_shapes.READS,
)
"""The columns that all of these read."""


class Material(Record):
    """Results of analyses, by the name of their analysis."""

    acl_queries: tuple[_acl_queries.AclQueries, ...]
    asked_again: tuple[_asked_again.AskedAgain, ...]
    attribute_calls: tuple[_attribute_calls.AttributeCalls, ...]
    beginnings: tuple[_beginnings.Beginning, ...]
    bottleneck: _bottleneck.Bottleneck
    cache: _cache.Cache
    caps: _caps.Caps
    capture: _capture.Capture
    commits: tuple[_commits.Commits, ...]
    cut_off: tuple[_cut_off.CutOff, ...]
    data_rates: tuple[_data_rates.DataRate, ...]
    directory_order: tuple[_directory_order.DirectoryOrder, ...]
    exclusive_creates: tuple[_exclusive_creates.ExclusiveCreates, ...]
    exports: _exports.Exports
    failures: tuple[_failures.Failures, ...]
    filter_ports: tuple[int, ...]
    full_windows: tuple[_full_windows.FullWindow, ...]
    held_segments: tuple[_held_segments.HeldSegments, ...]
    late_connections: tuple[_late_connections.LateConnections, ...]
    journals: tuple[_journals.Journals, ...]
    layouts: tuple[_layouts.Layouts, ...]
    listing_costs: tuple[_listing_costs.ListingCosts, ...]
    in_turn: tuple[_in_turn.InTurn, ...]
    load: tuple[_load.Load, ...]
    lock_calls: tuple[_lock_calls.LockCalls, ...]
    lock_files: tuple[_lock_files.LockFiles, ...]
    lock_waits: tuple[_lock_waits.LockWaits, ...]
    loss_rates: tuple[_loss_rate.LossRate, ...]
    mount_outcomes: tuple[_mount_outcomes.MountOutcome, ...]
    names_again: tuple[_names_again.NamesAgain, ...]
    not_found: tuple[_not_found.NotFound, ...]
    open_order: tuple[_open_order.OpenOrder, ...]
    own_ways: tuple[_own_ways.OwnWay, ...]
    passed_on: tuple[_passed_on.PassedOn, ...]
    preliminaries: tuple[_preliminaries.Preliminaries, ...]
    questions: tuple[_questions.Questions, ...]
    rdma_losses: tuple[_rdma_losses.RdmaLosses, ...]
    recalls: tuple[_recalls.Recalls, ...]
    refusals: tuple[_refusals.Refusals, ...]
    rejections: tuple[_rejections.Rejections, ...]
    repeated_access: tuple[_repeated_access.RepeatedAccess, ...]
    resent_calls: tuple[_resent_calls.ResentCalls, ...]
    restarts: tuple[_restarts.Restart, ...]
    returned_at_once: tuple[_returned_at_once.ReturnedAtOnce, ...]
    round_trips: _round_trip.RoundTrips
    server_times: tuple[_server_times.ServerTime, ...]
    shared_files: tuple[_shared_files.SharedFiles, ...]
    shared_names: tuple[_shared_names.SharedName, ...]
    silly_renames: tuple[_silly_renames.SillyRenames, ...]
    slower_paths: tuple[_slower_path.SlowerPath, ...]
    small_pages: tuple[_small_pages.SmallPages, ...]
    software: _software.Software
    stale_handles: tuple[_stale_handles.StaleHandles, ...]
    stalled_calls: tuple[_stalled_calls.StalledCalls, ...]
    tcp_stalls: tuple[_tcp_stalls.TcpStalls, ...]
    time_budget: _time_budget.TimeBudget
    transfer_runs: tuple[_transfer_runs.TransferRuns, ...]
    trust: _trust.Trust
    unanswered: tuple[_unanswered.Unanswered, ...]
    uneven_connections: tuple[_uneven_connections.UnevenConnections, ...]
    vain_connections: tuple[_vain_connections.VainConnections, ...]
    voided_names: tuple[_voided_names.VoidedNames, ...]
    warm_calls: tuple[_warm_calls.WarmCalls, ...]
    write_shapes: tuple[_write_shapes.WriteShapes, ...]

    def budget_rows(self) -> Mapping[str, float]:
        """What can be claimed: the rows of the time budget of all clients, in seconds."""
        return {name: time_s for name, time_s, _ in self.time_budget.total.shares()}


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
    acl_queries = ask(_acl_queries.acl_queries)
    attribute_calls = ask(_attribute_calls.attribute_calls)
    beginnings = ask(_beginnings.beginnings)
    bottleneck = ask(_bottleneck.bottleneck, measured)
    caps = ask(_caps.caps)
    capture = ask(_capture.capture)
    commits = ask(_commits.commits)
    cut_off = ask(_cut_off.cut_off)
    data_rates = ask(_data_rates.data_rates)
    directory_order = ask(_directory_order.directory_order)
    exclusive_creates = ask(_exclusive_creates.exclusive_creates)
    exports = ask(_exports.exports)
    failures = ask(_failures.failures)
    filter_ports = ask(_filter_ports.filter_ports)
    full_windows = ask(_full_windows.full_windows)
    held_segments = ask(_held_segments.held_segments)
    late_connections = ask(_late_connections.late_connections)
    journals = ask(_journals.journals)
    layouts = ask(_layouts.layouts)
    listing_costs = ask(_listing_costs.listing_costs)
    load = ask(_load.load)
    lock_calls = ask(_lock_calls.lock_calls)
    lock_files = ask(_lock_files.lock_files)
    lock_waits = ask(_lock_waits.lock_waits)
    loss_rates = ask(_loss_rate.loss_rates)
    mount_outcomes = ask(_mount_outcomes.mount_outcomes)
    not_found = ask(_not_found.not_found)
    open_order = ask(_open_order.open_order)
    own_ways = ask(_own_ways.own_ways)
    passed_on = ask(_passed_on.passed_on)
    preliminaries = ask(_preliminaries.preliminaries)
    rdma_losses = ask(_rdma_losses.rdma_losses)
    recalls = ask(_recalls.recalls)
    refusals = ask(_refusals.refusals)
    rejections = ask(_rejections.rejections)
    repeated_access = ask(_repeated_access.repeated_access)
    resent_calls = ask(_resent_calls.resent_calls)
    restarts = ask(_restarts.restarts)
    returned_at_once = ask(_returned_at_once.returned_at_once)
    round_trips = ask(_round_trip.round_trips)
    server_times = ask(_server_times.server_times)
    shared_files = ask(_shared_files.shared_files)
    shared_names = ask(_shared_names.shared_names)
    silly_renames = ask(_silly_renames.silly_renames)
    slower_paths = ask(_slower_path.slower_paths)
    small_pages = ask(_small_pages.small_pages)
    software = ask(_software.software)
    stale_handles = ask(_stale_handles.stale_handles)
    stalled_calls = ask(_stalled_calls.stalled_calls)
    tcp_stalls = ask(_tcp_stalls.tcp_stalls)
    transfer_runs = ask(_transfer_runs.transfer_runs)
    trust = ask(_trust.trust)
    unanswered = ask(_unanswered.unanswered)
    uneven_connections = ask(_uneven_connections.uneven_connections)
    vain_connections = ask(_vain_connections.vain_connections)
    write_shapes = ask(_write_shapes.write_shapes)
    of_servers = server_times()
    one_by_one = ask(_in_turn.in_turn, of_servers)
    warm_calls = ask(_warm_calls.warm_calls, of_servers)
    of_files = learned()
    of_transfers = transfer_runs()
    if of_files.division is not None:
        of_transfers = ask(_transfer_runs.transfer_runs, of_files.division)()
    return Material(
        acl_queries=acl_queries(),
        asked_again=of_files.asked_again,
        attribute_calls=attribute_calls(),
        beginnings=beginnings(),
        bottleneck=bottleneck(),
        cache=of_files.cache,
        caps=caps(),
        capture=capture(),
        commits=commits(),
        cut_off=cut_off(),
        data_rates=data_rates(),
        directory_order=directory_order(),
        exclusive_creates=exclusive_creates(),
        exports=exports(),
        failures=failures(),
        filter_ports=filter_ports(),
        full_windows=full_windows(),
        held_segments=held_segments(),
        late_connections=late_connections(),
        journals=journals(),
        layouts=layouts(),
        listing_costs=listing_costs(),
        in_turn=one_by_one(),
        load=load(),
        lock_calls=lock_calls(),
        lock_files=lock_files(),
        lock_waits=lock_waits(),
        loss_rates=loss_rates(),
        mount_outcomes=mount_outcomes(),
        names_again=of_files.names_again,
        not_found=not_found(),
        open_order=open_order(),
        own_ways=own_ways(),
        passed_on=passed_on(),
        preliminaries=preliminaries(),
        questions=of_files.questions,
        rdma_losses=rdma_losses(),
        recalls=recalls(),
        refusals=refusals(),
        rejections=rejections(),
        repeated_access=repeated_access(),
        resent_calls=resent_calls(),
        restarts=restarts(),
        returned_at_once=returned_at_once(),
        round_trips=round_trips(),
        server_times=of_servers,
        shared_files=shared_files(),
        shared_names=shared_names(),
        silly_renames=silly_renames(),
        slower_paths=slower_paths(),
        small_pages=small_pages(),
        software=software(),
        stale_handles=stale_handles(),
        stalled_calls=stalled_calls(),
        tcp_stalls=tcp_stalls(),
        time_budget=time_budget,
        transfer_runs=of_transfers,
        trust=trust(),
        unanswered=unanswered(),
        uneven_connections=uneven_connections(),
        vain_connections=vain_connections(),
        voided_names=of_files.voided_names,
        warm_calls=warm_calls(),
        write_shapes=write_shapes(),
    )
