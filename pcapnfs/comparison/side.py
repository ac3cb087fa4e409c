"""One side of a comparison: all that is asked of its trace, once.

Takes a trace; gives a `Side`, after which the trace may be closed: two captures are never open at
the same time. Times are those that the client saw, so that captures from different vantage points
can be held side by side.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import owners, paths
from pcapnfs.analyses.asking.service_time import SUM
from pcapnfs.analyses.asking.side_by_side import side_by_side
from pcapnfs.analyses.asking.values import integer, text
from pcapnfs.analyses.by_file import patterns as _patterns
from pcapnfs.analyses.by_file import steps
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.forecasts import measuring as _measuring
from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.mounts import software as _software
from pcapnfs.analyses.namespace import readdir as _readdir
from pcapnfs.analyses.namespace.readdir import Readdir, readdir
from pcapnfs.analyses.servers import in_turn as _in_turn
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.comparison import callers as _callers
from pcapnfs.comparison import habits as _habits
from pcapnfs.comparison import moved_files as _moved_files
from pcapnfs.diagnosis import judging
from pcapnfs.diagnosis import material as _material
from pcapnfs.diagnosis.rules import sync_mount
from pcapnfs.diagnosis.thresholds import chosen
from pcapnfs.programs import NFS_PROGRAMS, NFSACL, NLM
from pcapnfs.record import Record
from pcapnfs.spilled import Kept
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.analyses.by_file.patterns import Counted
    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.analyses.data.commits import Commits
    from pcapnfs.analyses.data.transfer_runs import TransferRuns
    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.analyses.mounts.software import Software
    from pcapnfs.analyses.servers.exports import Exports
    from pcapnfs.analyses.servers.in_turn import InTurn
    from pcapnfs.analyses.wire.caps import Pair
    from pcapnfs.analyses.wire.network_path import Way
    from pcapnfs.comparison.callers import Caller
    from pcapnfs.comparison.habits import Habits
    from pcapnfs.comparison.moved_files import MovedFiles
    from pcapnfs.diagnosis.finding import Finding
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]

READS = columns.together(
    _callers.READS,
    _habits.READS,
    _in_turn.READS,
    _measuring.READS,
    _moved_files.READS,
    _network_path.READS,
    _patterns.READS,
    _readdir.READS,
    _software.READS,
    clock_ticks.READS,
    traffic.READS,
    judging.READS,
    owners.READS,
    steps.READS,
    columns.of(
        calls="call client server connection callback program version protocol op flavor srt "
        "call_first_time reply_time first_arrived stability file",
        operations="op requested committed",
        files="file identity role path export listed_only",
        connections="connection transport",
    ),
)
"""The columns that this reads."""


SERVERS = 5
"""Addresses of servers that are kept."""

LISTED = 100
"""Directories whose paths are kept."""

LOOKED_UP = 500
"""Files whose costs are looked up at a time: their paths, up to 4 KB each, are held meanwhile."""


MOUNTING: frozenset[str | None] = frozenset(
    (*_habits.PROBES, *_habits.MACHINE, *SMALL_OPERATIONS, "PUTROOTFH", "LOOKUPP", "GETFH")
)
"""Calls of NFS that a mount may consist of: what is there, and how it may be reached."""


class Times(Record):
    """Service times of one operation."""

    stable: bool
    """Its calls are stable."""
    calls: int
    """Answered calls, whatever their time tells."""
    seconds: Floats
    """What the client waited for each of them that was sent once, in the order of the calls,
    seconds."""


FileCost: TypeAlias = tuple[str, int, int, int]
"""What the calls of one path came to: the path, as in the table files and not escaped, calls,
stable ones, and the sum of service times, ns."""


class Side(Record):
    """What one trace says."""

    captures: tuple[str, ...]
    """Its captures, as they were named."""
    trust: Trust
    """What was matched and decoded, and what was not."""
    capture: Capture
    """How much was captured."""
    measured: Measurement
    """The inputs of the model."""
    callers: Mapping[str, Caller]
    """Who called NFS, by address."""
    only_null: bool
    """All that was called of NFS is NULL, which asks whether anybody is there."""
    refused: bool
    """A mount came to nothing (`mount_outcome`), and no call but those of a mount was made."""
    moved_bytes: int
    """Bytes of all calls and replies."""
    servers: tuple[str, ...]
    """Addresses of servers that were called, those of most calls first; up to `SERVERS`."""
    in_turn: tuple[InTurn, ...]
    """How servers take calls that come while others are under way: of those that were called most;
    empty where the capture's clock ticks, since replies of one tick have no order."""
    caps: tuple[Pair, ...]
    """How many calls clients had under way at once at servers."""
    times: Mapping[tuple[str, str], Times]
    """Service times by version (`3`, `4`, `nfsacl`, `nlm`) and operation, as steps.py writes it.
    Those of calls sent more than once are not in it, since they hold the wait until that; such
    calls are counted all the same."""
    times_of: Mapping[str, Mapping[tuple[str, str], Times]]
    """The same of each of several clients that has a clock of its own, by address."""
    way: Way
    """What lies between the clients and their servers."""
    files: Kept[FileCost]
    """Costs of paths, in the order of the paths."""
    moved: MovedFiles
    """The files that were read and written."""
    moved_by: Mapping[str, MovedFiles]
    """The same of each client, by address."""
    classes: Kept[Counted]
    """Classes of files by pattern, all of them, in the order of kinds and patterns."""
    mounts: tuple[Mount, ...]
    """What the questions of the clients say of mount options."""
    findings: tuple[Finding, ...]
    """What the rules found."""
    commits: tuple[Commits, ...]
    """The COMMITs of each client at each server."""
    behind_pieces: tuple[Commits, ...]
    """Those of them that the rule `sync_mount` takes to be behind pieces that are written through.
    """
    written_through: tuple[TransferRuns, ...]
    """Whose WRITEs the same rule takes to be written through."""
    lost_segments: int
    """Segments with data that TCP sent again, without those that were late alone."""
    segments: int
    """Segments with data, both ways, of connections that carried RPC over TCP."""
    windows_told: bool
    """Of all these the capture tells how windows are scaled."""
    software: Software
    """What clients and servers say they are."""
    habits: Habits
    """What its calls have in common."""
    of_each: Mapping[str, Habits]
    """The same of each client that has a clock of its own, by address."""
    plain_listings: int
    """Calls that listed without attributes."""
    plus_listings: int
    """Calls that listed with them."""
    plain_entries: int
    """Entries in the replies, where no call listed with attributes; without `.` and `..` as NFSv3
    has them. 0 elsewhere."""
    plain_lookups: int
    """LOOKUPs of entries that followed listings without attributes."""
    exports: Exports
    """What calls took at each export, where the capture shows several of a server."""
    listed: frozenset[str]
    """Paths of directories that were listed, below their exports: those that took longest, up to
    `LISTED`."""
    largest_listing_bytes: int | None
    """The most that a listing asked for, bytes; None without one."""

    def calls(self, family: str, op: str) -> int:
        """How many calls `times` has of an operation."""
        found = self.times.get((family, op))
        return 0 if found is None else found.calls


def gather(trace: Trace, *, values: Values | None = None) -> Side:
    """Ask a trace all that a comparison needs.

    Args:
        trace: The trace.
        values: The thresholds that findings are judged by (`thresholds.chosen`); None for their own
            values.
    """
    limits = chosen(judging.thresholds()) if values is None else values
    with side_by_side(trace) as asking:
        classes = asking.ask(_patterns.counted)
        begun = _material.begin(trace, asking)
        listing = asking.ask(readdir, top=LISTED)
        said = asking.ask(_software.software)
        files = asking.ask(_files)
        moved = asking.ask(_moved_files.by_client)
        habits = asking.ask(_habits.by_client)
        called = asking.ask(_callers.callers)
        servers = asking.ask(_servers)
        turns = asking.ask(_turns)
        ops = asking.ask(_ops)
        times = asking.ask(_times, begun.network.added_ns)
        measured = measure(trace, begun.network, begun.calls, begun.booked, each=True)
        each = _of_each(measured, habits())
        by_client = times()
        budget = time_budget(trace, begun.calls, begun.booked, measured.lock_gaps)
        learned = begun.learned
        del begun  # Arrays of all calls, which nobody asks for any more.
        material = _material.complete(asking, learned, measured, budget)
        listed = listing()
    return Side(
        captures=tuple(file.path for file in trace.meta.files),
        trust=material.trust,
        capture=material.capture,
        measured=measured,
        callers=called(),
        only_null=measured.calls > 0 and all(op == "NULL" for op in ops()),
        refused=any(not met.went_on for met in material.mount_outcomes) and ops() <= MOUNTING,
        moved_bytes=material.bottleneck.moved_bytes,
        servers=servers(),
        in_turn=turns(),
        caps=material.caps.pairs,
        times=_merged([one for times in by_client.values() for one in times]),
        times_of={
            client: _merged(by_client.get(client, [])) for client in (each if len(each) > 1 else ())
        },
        way=measured.path.way,
        files=files(),
        moved=_moved_files.together(moved().values()),
        moved_by=moved(),
        classes=classes(),
        mounts=material.cache.mounts,
        findings=judging.judge(material, values=limits).findings,
        commits=material.commits,
        behind_pieces=tuple(sync_mount.behind_pieces(material, limits)),
        written_through=tuple(sync_mount.through(material, limits)),
        lost_segments=sum(pair.lost for pair in material.tcp_stalls),
        segments=sum(pair.segments for pair in material.tcp_stalls),
        windows_told=all(pair.windows_told for pair in material.tcp_stalls),
        software=said(),
        habits=_habits.together(habits().values()),
        of_each=each,
        plain_listings=listed.readdir_calls or 0,
        plus_listings=listed.readdirplus_calls or 0,
        plain_entries=_plain_entries(listed),
        plain_lookups=listed.after_plain.lookups if listed.after_plain else 0,
        exports=material.exports,
        listed=_below(trace, (directory.file for directory in listed.shown)),
        largest_listing_bytes=listed.largest_request_bytes,
    )


def _below(trace: Trace, files: Iterable[int]) -> frozenset[str]:
    """The paths of a few files below their exports: those of the other side may have others."""
    with closing(trace.cursor()) as cursor:
        return frozenset(path for _, path in paths.each(cursor, list(files), paths.BELOW))


def _of_each(measured: Measurement, habits: Mapping[str, Habits]) -> Mapping[str, Habits]:
    """The habits of each client that has a clock of its own."""
    alone = [] if measured.alone is None else [measured.alone]
    clocks = alone if measured.clients is None else measured.clients.each
    none = _habits.together(())
    return {clock.client: habits.get(clock.client, none) for clock in clocks}


def _plain_entries(listed: Readdir) -> int:
    """Entries of listings that were all without attributes."""
    if listed.readdirplus_calls:
        return 0
    # Those of NFSv3 begin with `.` and `..`.
    dots = 0 if listed.v4_plain_calls else 2 * (listed.listings or 0)
    return max(0, (listed.entries or 0) - dots)


class _Timed(Record):
    """The calls of one operation that a client made to a server."""

    key: tuple[str, str]
    """Version and operation."""
    stable: bool
    """They are stable."""
    calls: int
    """How many they are."""
    waited: Floats
    """What the client waited for each that was sent once, in the order in which they were sent,
    seconds."""
    sent: NDArray[np.int64]
    """When each of these was sent, ns."""


def _times(trace: Trace, added_ns: Mapping[tuple[str, str], int]) -> dict[str, list[_Timed]]:
    """The times of each operation by client, in the order of its calls."""
    chosen = f"""
        with {owners.OWNED}, {steps.STEPS},
        chosen as (
            select case program when {NFSACL} then 'nfsacl' when {NLM} then 'nlm'
                                else version::varchar end as family,
                   step, stability = 'stable' as stable, client, server, call_first_time, call,
                   greatest(srt, 0) as srt, first_arrived
            from steps
            where program in {(*NFS_PROGRAMS, NLM)} and srt is not null
        )
    """
    # One query gives names and lengths, the next all times in that order, as plain numbers.
    groups = trace.rows(
        f"""{chosen} select family, step, stable, client, server, count(*),
               count(*) filter (first_arrived) from chosen
        group by family, step, stable, client, server
        order by family, step, stable, client, server"""
    )
    order = "family, step, stable, client, server, call_first_time, call"
    rows = trace.sql(
        f"{chosen} select srt, call_first_time from chosen where first_arrived order by {order}"
    )
    numbers = rows.fetchnumpy()
    srt, sent = np.asarray(numbers["srt"]), np.asarray(numbers["call_first_time"])
    parts: dict[str, list[_Timed]] = {}
    begin = 0
    for family, step, stable, client, server, calls, once in groups:
        end = begin + integer(once)
        waited = (srt[begin:end] + added_ns.get((client, server), 0)) / NANOSECONDS
        timed = _Timed((family, step), bool(stable), integer(calls), waited, sent[begin:end])
        parts.setdefault(client, []).append(timed)
        begin = end
    return parts


def _merged(calls: list[_Timed]) -> dict[tuple[str, str], Times]:
    """The times of each operation."""
    parts: dict[tuple[str, str], list[_Timed]] = {}
    # Of several clients, each has its operations in their order.
    for timed in sorted(calls, key=lambda timed: timed.key):
        parts.setdefault(timed.key, []).append(timed)
    return {key: _together(pieces) for key, pieces in parts.items()}


def _together(pieces: list[_Timed]) -> Times:
    """The times of several clients and servers in one order; stable when most of them are."""
    order = np.argsort(np.concatenate([each.sent for each in pieces]), kind="stable")
    seconds = np.concatenate([each.waited for each in pieces])[order]
    calls = sum(each.calls for each in pieces)
    stable = sum(each.calls for each in pieces if each.stable)
    return Times(stable=2 * stable > calls, calls=calls, seconds=seconds)


def _files(trace: Trace) -> Kept[FileCost]:
    """What each path cost; several objects may have had one path after the other."""
    found = trace.arrays(
        f"""
        with {owners.OWNED},
        costs as (
            select file, count(*) as calls, count(*) filter (stability = 'stable') as stable,
                   {SUM} as time
            from owned group by file
        )
        select file, calls, stable, time from costs join (
            select file from files
            where file = identity and not listed_only
                  and role not in ('pseudo', 'absent', 'untold')
        ) using (file)
        order by file
        """
    )
    with closing(trace.cursor()) as cursor:
        by_path = paths.ordered(cursor, found["file"], paths.BELOW)
        return Kept(_together_by_path(_costs(found, by_path)))


def _costs(
    found: Mapping[str, NDArray[Any]], by_path: Iterator[tuple[str, int]]
) -> Iterator[FileCost]:
    """What each file cost, in the order of these; `found` is in that of the files."""
    files = found["file"]
    # Some at a time: a dict of all of them takes a hundred bytes for each.
    while some := list(islice(by_path, LOOKED_UP)):
        # Of the same type: numbers of another one would have all files copied.
        wanted = np.fromiter((file for _, file in some), files.dtype, len(some))
        places = np.searchsorted(files, wanted)
        numbers = (found[name][places].tolist() for name in ("calls", "stable", "time"))
        yield from zip((path for path, _ in some), *numbers, strict=True)


def _together_by_path(costs: Iterable[FileCost]) -> Iterator[FileCost]:
    """The sums of those that have the same path, which follow one another."""
    for _, same in groupby(costs, itemgetter(0)):
        yield reduce(_added, same)


def _added(some: FileCost, more: FileCost) -> FileCost:
    """What both cost, of one path."""
    path, calls, stable, time = some
    return path, calls + more[1], stable + more[2], time + more[3]


def _ops(trace: Trace) -> set[str | None]:
    """What was called of NFS: names, and None where that was cut off or is sealed."""
    rows = trace.rows(
        f"select distinct op from calls where program in {NFS_PROGRAMS} and not callback"
    )
    return {text(op) for (op,) in rows}


def _turns(trace: Trace) -> tuple[InTurn, ...]:
    """How the servers that were called most take calls, where the order of replies is known."""
    if clock(trace).tick_s is not None:
        return ()
    return _in_turn.of_servers(trace, traffic.busiest_servers(trace))


def _servers(trace: Trace) -> tuple[str, ...]:
    """The servers that were called most."""
    lines = traffic.of_clients(trace)
    called = lines.where(np.isin(lines.numbers["program"], NFS_PROGRAMS))
    calls: Counter[str] = Counter()
    for (_, server), number in called.by_pair("calls").items():
        calls[server] += number
    return tuple(server for server, _ in calls.most_common(SERVERS))
