"""Files read and written in several calls where fewer, or less strict ones, would have done.

Takes a trace; gives for each client and server the calls for READ and WRITE that follow one another
in a file (*runs*: each begins where the one before ended, or, for stable storage, in the page in
which that ended, and goes on behind it, less than a second later), what would be left of them if
each moved as much as the server allows, and what WRITEs that ask for stable storage though the next
one follows have cost. Time in which the bytes themselves are on their way is in none of it: they
have to be moved in any case.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, seconds, whole
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.data import sent_ahead, written_back
from pcapnfs.analyses.data import transfers as _transfers
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.analyses.data.transfer_sizes import (
    ALLOWED_READS,
    WITHHELD_READS,
    allowed,
    withheld,
)
from pcapnfs.analyses.data.transfers import transfers
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.trace import Trace

READS = columns.together(
    _transfers.READS,
    shares.READS,
    sent_ahead.READS,
    ALLOWED_READS,
    WITHHELD_READS,
    written_back.READS,
    columns.of(calls="call mount stability"),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(MOVING)
"""Only these move data."""

LONG = 10
"""Calls of one size behind one another that show a habit: a client that begins to read ahead goes
through a few sizes, each twice as large as the one before."""

LARGEST_BYTES = 1048576
"""What Linux moves in one call at most, whatever the server allows."""


class Runs(Record):
    """READs or WRITEs of one client, of one server."""

    calls: int
    """All of them, answered."""
    in_runs: int
    """Those in runs of two or more."""
    largest_bytes: int
    """The most that one of them asked for or brought, bytes."""
    allowed_bytes: int | None
    """What the server allows (FSINFO, maxread, maxwrite), but 1 MiB at most, bytes; None when the
    capture does not tell."""
    merged: Spared
    """Those that would be left out if each moved as much as the server allows, or, where they do so
    already, 1 MiB; of runs of the largest size, with their part of the time: of those that were
    sent while others of their file were under way, the server's work for each alone (`sent_ahead`).
    Nothing when what the server allows is not known."""
    merged_stable_s: float
    """The part of `merged.time_s` for WRITEs that were on stable storage when answered, seconds."""
    even: int = 0
    """Those in runs of ten or more of which all but the last had one size."""
    ahead: int = 0
    """Those sent while others of their file were under way, of files that would need fewer."""


class TransferRuns(Record):
    """One client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    reads: Runs
    """READs."""
    writes: Runs
    """WRITEs."""
    withheld: bool
    """The server does not say what it allows (NFSv4), and the client keeps to the little that it
    takes then."""
    continued: int
    """WRITEs that the next one continued."""
    sync: Spared
    """Those of them that asked for stable storage and were not refused, with all their time."""
    sync_files: int
    """Files that they belong to."""
    sync_ends: int
    """How often these were closed or unlocked (`written_back`), or, of NFSv3, asked for."""
    sync_bytes: int
    """What they brought, bytes."""
    sync_saved_s: float
    """What of `sync.time_s` would be saved if they were sent UNSTABLE, in pieces of what the server
    allows (1 MiB where that is not known), and committed once, and each time that the file was
    closed or unlocked, seconds: all less these, and less the median of this client's calls without
    stable storage for each piece."""
    part: str | None = None
    """The file systems that this is about, as in `Mount`; None: all that they exchanged."""


def transfer_runs(trace: Trace, division: Division | None = None) -> tuple[TransferRuns, ...]:
    """Follow the transfers of each client and server, in the order of their addresses.

    Args:
        trace: The trace.
        division: How the calls of pairs of client and server are divided by mounts; None where
            none are.
    """
    if not NEEDS.met(trace):
        return ()
    walked = transfers(trace) if division is None else _transfers.of_parts(trace, division)
    parts = {} if division is None else division.parts
    pairs = {} if division is None else division.pairs
    with closing(trace.cursor()) as cursor:
        if division is not None:
            division.begin(cursor)
        cursor.register("walked", walked.runs)
        limits = {each.mount: each for each in allowed(trace)}
        limits |= {part: limits[mount] for part, mount in pairs.items() if mount in limits}
        reads = [
            (mount, each.read_bytes)
            for mount, each in limits.items()
            if each.read_bytes is not None
        ]
        writes = [
            (mount, each.write_bytes)
            for mount, each in limits.items()
            if each.write_bytes is not None
        ]
        cursor.execute(
            _RUNS,
            {
                "reading": given.text(mount for mount, _ in reads),
                "reads": given.text(told for _, told in reads),
                "writing": given.text(mount for mount, _ in writes),
                "writes": given.text(told for _, told in writes),
                "largest": LARGEST_BYTES,
            },
        )
        cursor.execute(_FEWER, {"largest": LARGEST_BYTES})
        sent_ahead.register(trace, cursor, walked.mounts)
        runs = {
            (mount, bool(reading)): _runs(*values)
            for mount, reading, *values in cursor.execute(_MERGED).fetchall()
        }
        synchronous = _synchronous(cursor)
    nothing = Runs(0, 0, 0, None, spared.NONE, 0.0)
    return tuple(
        TransferRuns(
            client=walked.mounts[mount][0],
            server=walked.mounts[mount][1],
            reads=runs.get((mount, True), nothing),
            writes=runs.get((mount, False), nothing),
            withheld=pairs.get(mount, mount) in withheld(trace),
            continued=continued,
            sync=sync,
            sync_files=files,
            sync_ends=ends,
            sync_bytes=size,
            sync_saved_s=saved_s,
            part=parts.get(mount),
        )
        for mount, (continued, files, ends, size, saved_s, sync) in sorted(synchronous.items())
    )


def _synchronous(
    cursor: duckdb.DuckDBPyConnection,
) -> dict[int, tuple[int, int, int, int, float, Spared]]:
    """Of each mount: WRITEs that went on; of stable ones files, ends, bytes, time saved, calls."""
    rows = cursor.execute(_SYNCHRONOUS, {"largest": LARGEST_BYTES}).fetchall()
    return {
        integer(mount): (
            integer(continued),
            integer(files),
            integer(ends),
            integer(size),
            seconds(saved) or 0.0,
            spared.of_row(values),
        )
        for mount, continued, files, ends, size, saved, *values in rows
    }


def _runs(
    calls: object,
    in_runs: object,
    largest: object,
    allowed: object,
    left_out: object,
    share: object,
    stable: object,
    pause: object,
    frames: object,
    even: object,
    ahead: object,
) -> Runs:
    """Read a row of `_MERGED`."""
    return Runs(
        calls=integer(calls),
        in_runs=integer(in_runs),
        largest_bytes=integer(largest),
        allowed_bytes=whole(allowed),
        merged=spared.of_row((left_out, share, pause, frames)),
        merged_stable_s=seconds(stable) or 0.0,
        even=integer(even),
        ahead=integer(ahead),
    )


_RUNS = f"""
    create temp table runs as
    with limits as (
        select {given.rows("reading", "uinteger")} as mount, true as reading,
               {given.rows("reads", "ubigint")} as told
        union all
        select {given.rows("writing", "uinteger")}, false, {given.rows("writes", "ubigint")}
    )
    -- The least of NULL and a number is the number.
    select walked.*, case when told is not null then least(told, $largest) end as allowed
    from walked left join limits using (mount, reading)
"""
"""Runs, also those of a single call, with what the server allows."""

_FEWER = """
    create temp table fewer as
    -- What is smaller than the rest was not cut to size: it was all there was to move.
    select *, case when bytes > (calls - 1) * biggest
              then greatest(calls - ceil(bytes / case when allowed > biggest then allowed
                                                      when allowed > 0 then $largest end), 0)
              else 0 end::bigint as left_out
    from (select *, max(largest) over (partition by mount, reading) as biggest from runs)
"""
"""The runs, with how many of their calls would be left out."""

_MERGED = f"""
    with told as (
        select fewer.*, coalesce(ahead.ahead, 0) as sent_ahead,
               share * (left_out / fewer.calls) as whole,
               -- Of those sent ahead, the work alone: as much of it as of the file's calls.
               if(left_out = 0, 0,
                  least(whole, whole * coalesce(alone, 1)
                               + coalesce(work * (left_out / ahead.calls), 0))) as spared
        from fewer left join {sent_ahead.TABLE} as ahead using (mount, file, reading)
    ),
    files as (
        select mount, reading, sum(sent_ahead) as ahead
        from (select mount, file, reading, any_value(sent_ahead) as sent_ahead
              from told group by mount, file, reading)
        group by mount, reading
    )
    select mount, reading, sum(calls), sum(calls) filter (calls > 1), max(largest), max(allowed),
           coalesce(sum(left_out), 0), sum(spared::bigint),
           sum((spared * coalesce(stable_share / nullif(share, 0), 0))::bigint),
           sum((pause * (left_out / calls))::bigint),
           coalesce(arg_max(frame, (left_out, -frame::bigint), {EXAMPLES})
                        filter (left_out > 0), []),
           coalesce(sum(calls) filter (calls >= {LONG} and bytes > (calls - 1) * largest), 0),
           any_value(ahead)
    from told join files using (mount, reading) group by mount, reading
"""

_SYNCHRONOUS = f"""
    with written as (
        select *, not reading and calls > 1 and sync > 1 as synchronous,
               ceil(sync_bytes / coalesce(nullif(allowed, 0), $largest)) as pieces
        from runs
    ),
    floors as (
        select mount, median(share) as floor
        from calls join shares using (call)
        where stability = 'unstable' and mount in (select mount from written where synchronous)
        group by mount
    ),
    through as (select mount, file from written where synchronous),
    ended as ({written_back.ends("through", by="mount, file")}),
    kept as (
        select written.*, ends,
               least(sync, greatest(1, coalesce(ends, 0) * sync
                                       / nullif(sum(sync) over (partition by mount, file), 0)))
                   as kept
        from written left join ended using (mount, file)
    ),
    all_ends as (select mount, sum(ends)::bigint as ends from ended group by mount)
    select mount, coalesce(sum(calls - 1) filter (not reading), 0),
           count(distinct file) filter (synchronous), coalesce(any_value(all_ends.ends), 0),
           coalesce(sum(sync_bytes) filter (synchronous), 0),
           sum(greatest(sync_share * ((sync - kept) / nullif(sync, 0))
                        - least(greatest(pieces, kept), sync) * coalesce(floor, 0), 0)::bigint)
               filter (synchronous),
           coalesce(sum(sync) filter (synchronous), 0), sum(sync_share) filter (synchronous),
           sum(sync_pause) filter (synchronous),
           coalesce(min(frame::bigint, {EXAMPLES}) filter (synchronous), [])
    from kept left join floors using (mount) left join all_ends using (mount)
    group by mount
"""
