"""Mounts that come again and again, as automounters make them.

An automounter (autofs, systemd) mounts what a program asks for, unmounts it when nobody used it for
a while, and mounts it again for the next who asks. Takes a trace; gives for each client and server
how many mounts there were in how many bursts, what was mounted in an earlier burst already, what
mounting that again took, and how long it had not been used. The mounts of one start of a machine
are one burst, however many there are.

With MOUNT (NFSv2, NFSv3) a mount is a MNT that succeeded, and its path is known. With NFSv4 it is a
call that asks for the handle of the server's root; which directory was mounted is not told, but the
file system is in which the client works next (`export` of the table files). A client that begins at
the root for each of its calls mounts nothing by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.service_time import FAILED
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.mounts.mount_outcomes import WALK
from pcapnfs.analyses.mounts.preliminaries import APART_NS, FINDING, LOGIN, MOUNTING
from pcapnfs.analyses.times import shares
from pcapnfs.programs import MOUNT, NFS, NFSACL, PORTMAPPER
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server callback program protocol op signature status status_name "
        "rpc_status stability file call_frame call_time reply_time",
        operations="call op text",
        files="file export",
    ),
)
"""The columns that the queries here read."""

MOUNTED = population.Calls(ops=("MNT",))
ROOTED = population.Operations(("PUTROOTFH",), statuses=(0,))

BURST_NS = 10_000_000_000
"""Mounts of one burst follow each other sooner. A machine that starts mounts one after the other;
what an automounter unmounts was not used for longer than this."""

AGAIN = 3
"""Mounts of what had been mounted in an earlier burst, from which on anything is told: who tries
something out, or drops a cache, unmounts and mounts once or twice."""

BURSTS = 3
"""Bursts from which on mounts come as they are used, where nothing is mounted twice."""

MANY = 10
"""Mounts that there are at least then."""

CALLS_OF_MOUNT = 8
"""Calls of a client for each of its mounts with NFSv4, at least: a Linux client sends a dozen to
mount. Who begins at the root more often finds its files from there."""

SIDE = ("NULL", "FSINFO", "PATHCONF")
"""What a client calls while it mounts, and seldom later (RFC 1813 section 3.3.19)."""


class MountedPath(Record):
    """What was mounted several times."""

    path: str
    """The path that was asked for, or the file system with NFSv4; not escaped."""
    bursts: int
    """Bursts in which it was mounted."""


class RepeatedMounts(Record):
    """What one client mounted from one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    mounts: int
    """Mounts."""
    bursts: int
    """Bursts in which these came, ten seconds and more apart."""
    again: int
    """Mounts of what had been mounted in an earlier burst."""
    paths: int
    """Paths, or file systems, that were mounted in several bursts."""
    most: tuple[MountedPath, ...]
    """Those of them that were mounted most often."""
    unused_s: float | None
    """How long what was mounted again had not been called for, the median in seconds; None where
    that is not known of any."""
    longest_unused_s: float | None
    """The longest, seconds; None likewise."""
    time_s: tuple[tuple[str, float], ...]
    """By row of the time budget, what mounting again took of the clock (`shares`), seconds: of each
    burst the part of its mounts that came again."""
    frames: tuple[int, ...]
    """Frames of the first mounts that came again, or of the first mounts where none did."""


def repeated_mounts(trace: Trace) -> tuple[RepeatedMounts, ...]:
    """Look at each client and server with several mounts, those with most first."""
    if not (MOUNTED.met(trace) or ROOTED.met(trace)) or not any_often(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_MARKS)
        cursor.execute(_NAMED)
        rows = list(by_name(cursor.execute(_TOLD, {"examples": EXAMPLES})))
        if not rows:
            return ()
        costs = _by_pair(cursor.execute(_COSTS).fetchall())
        most = cursor.execute(_MOST, {"shown": FILES_SHOWN}).fetchall()
        files = {file for *_, file in most if file is not None}
        exports = dict(paths.each(cursor, list(files), "export"))
    named = _by_pair(most)
    return tuple(
        RepeatedMounts(
            client=row["client"],
            server=row["server"],
            mounts=integer(row["mounts"]),
            bursts=integer(row["bursts"]),
            again=integer(row["again"]),
            paths=integer(row["paths"]),
            most=tuple(
                MountedPath(path=text or exports.get(file, ""), bursts=integer(times))
                for times, text, file in named.get((row["client"], row["server"]), ())
            ),
            unused_s=seconds(row["unused"]),
            longest_unused_s=seconds(row["longest"]),
            time_s=tuple(
                (str(kind), float(took) / NANOSECONDS)
                for kind, took in costs.get((row["client"], row["server"]), ())
            ),
            frames=tuple(row["frames"]),
        )
        for row in rows
    )


def _by_pair(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """Rows that begin with a client and a server, by these."""
    found: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for client, server, *told in rows:
        found.setdefault((client, server), []).append(tuple(told))
    return found


def any_often(trace: Trace) -> bool:
    """Whether a client mounted so often from a server that anything is told of it."""
    return bool(trace.rows(_OFTEN))


_MOUNTS = f"""(
    program = {MOUNT} and op = 'MNT' and not {FAILED}
    or program = {NFS} and protocol like '4.%' and status = 0 and {among("op", WALK)}
       and contains(signature, 'PUTROOTFH') and contains(signature, 'GETFH')
)"""
"""SQL: a call mounts, or begins to."""

_OFTEN = f"""
    select 1 from calls where not callback and reply_time is not null and {_MOUNTS}
    group by client, server having count(*) > {AGAIN} limit 1
"""

# Of what unmounts, only what finds the services is among these, and has bursts without a mount.
_MARKS = f"""
    create temp table mount_marks as
    with often as (
        select client, server from calls
        where not callback and reply_time is not null and {_MOUNTS}
        group by client, server having count(*) > {AGAIN}
    ),
    counted as (
        select client, server, count(*) as calls
        from calls semi join often using (client, server)
        where not callback and program in ({MOUNT}, {NFS}) group by client, server
    ),
    asked as (
        select operations.call, text from operations
        where {among("op", (*FINDING, "MNT"))} and text is not null
    ),
    marks as (
        select calls.call, client, server, program, stability, call_frame, call_time,
               greatest(reply_time, call_time) as done, coalesce(share, 0) as share,
               {_MOUNTS} as mounts, if(op = 'MNT', text, null) as text
        from calls semi join often using (client, server)
             left join shares using (call) left join asked using (call)
        where not callback and reply_time is not null
              and (program = {MOUNT} and {among("op", MOUNTING)}
                   or program = {PORTMAPPER} and {among("op", FINDING)}
                      and coalesce(split_part(text, ' ', 1) in ('{NFS}', '{MOUNT}'), true)
                   or program = {NFS} and ({among("op", LOGIN + SIDE)}
                                           or contains(signature, 'PUTROOTFH'))
                   or program = {NFSACL} and op = 'NULL')
    ),
    begun as (
        select *, coalesce(call_time - max(done) over (
                      partition by client, server order by call_time, call
                      rows between unbounded preceding and 1 preceding
                  ) > {BURST_NS}, true) as begins
        from marks
    ),
    numbered as (
        select *, sum(begins::integer) over (
                      partition by client, server order by call_time, call
                      rows unbounded preceding
                  )::bigint as number
        from begun
    ),
    mounting as (
        select client, server from numbered join counted using (client, server)
        where mounts group by client, server
        having count(*) filter (program = {NFS}) * {CALLS_OF_MOUNT} <= any_value(calls)
    ),
    bursts as (
        select client, server, number, min(call_time) as since, max(done) as until
        from numbered semi join mounting using (client, server)
        group by client, server, number having bool_or(mounts)
    )
    select numbered.*, since, until from numbered join bursts using (client, server, number)
"""
"""The calls that mounting takes, by burst."""

# A file is of the mount before it, so that the next mount ends what tells of one.
_NAMED = f"""
    create temp table named_mounts as
    with mounted as (
        select call, client, server, number, call_frame, call_time, text,
               program = {MOUNT} as by_path,
               lead(call_time) over (
                   partition by client, server order by call_time, call
               ) as next
        from mount_marks where mounts
    ),
    places as (select file, hash(export) as place from files where export is not null),
    used as (
        select client, server, call_time as used_time, calls.file, place
        from calls semi join mounted using (client, server) join places using (file)
        where not callback and program = {NFS}
    ),
    found as (
        select mounted.*, used.file,
               if(by_path, hash(text), if(coalesce(used_time < next, true), place, null)) as place
        from mounted asof left join used
             on mounted.client = used.client and mounted.server = used.server
                and mounted.call_time <= used.used_time
    ),
    judged as (
        select *, coalesce(number > min(number) over (partition by client, server, place)
                           and place is not null, false) as again
        from found
    )
    select judged.*, if(again, judged.call_time - used.used_time, null) as unused
    from judged asof left join used
         on judged.client = used.client and judged.server = used.server
            and judged.place = used.place and judged.call_time > used.used_time
"""
"""Each mount, what of, and whether that had been mounted before."""

_OFTEN_ENOUGH = f"""
    count(*) filter (again) >= {AGAIN}
    or count(distinct number) >= {BURSTS} and count(*) >= {MANY}
"""

_TOLD = f"""
    select client, server, count(*) as mounts, count(distinct number) as bursts,
           count(*) filter (again) as again, count(distinct place) filter (again) as paths,
           median(unused)::bigint as unused, max(unused) as longest,
           (list(call_frame order by not again, call_frame))[:$examples] as frames
    from named_mounts group by client, server having {_OFTEN_ENOUGH}
    order by count(*) filter (again) desc, count(*) desc, client, server
"""

_MOST = """
    select client, server, count(distinct number) as times, any_value(text) as text,
           min(file) as file
    from named_mounts where place is not null group by client, server, place
    having bool_or(again)
    qualify row_number() over (
                partition by client, server order by times desc, min(call_frame)
            ) <= $shown
    order by client, server, times desc, min(call_frame)
"""

_COSTS = f"""
    with parts as (
        select client, server, number, count(*) filter (again) / count(*) as part
        from named_mounts group by client, server, number having bool_or(again)
    ),
    spans as (
        select distinct client, server, number, since, until
        from mount_marks semi join parts using (client, server, number)
    ),
    above as (
        select calls.client, calls.server, number, stability, coalesce(share, 0) as share
        from (
                 select call, client, server, stability, call_time
                 from calls semi join spans using (client, server)
                      join files using (file)
                 where not callback and program = {NFS} and protocol like '4.%'
                       and reply_time is not null and export is null and {among("op", WALK)}
                       and not contains(signature, 'PUTROOTFH')
             ) as calls asof join spans
             on calls.client = spans.client and calls.server = spans.server
                and calls.call_time >= spans.since
             left join shares using (call)
        where call_time <= until + {APART_NS}
    ),
    taken as (
        select client, server, number, stability, share from mount_marks
        union all
        select client, server, number, stability, share from above
    )
    select client, server, stability, sum(share * part) as took
    from taken join parts using (client, server, number)
    group by client, server, stability having took > 0 order by client, server, stability
"""
"""What mounting again took: the calls of each burst, and those on the way to the export."""
