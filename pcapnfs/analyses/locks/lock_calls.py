"""Calls that lock, unlock and test files, however soon they were answered.

Takes a trace; gives for each client and server the calls about byte-range locks that did not have
to wait for anybody: LOCK, LOCKT and LOCKU of NFSv4 (RFC 8881 sections 18.10 to 18.12), LOCK, TEST
and UNLOCK of NLM; and those by which a client gives back what the server keeps of a lock, once all
of it is unlocked: FREE_STATEID (section 18.38) and RELEASE_LOCKOWNER (RFC 7530 section 16.37).
Those that met the lock of somebody else are those of `lock_waits`. Besides, the GETATTRs that a
client sends since it got a lock.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.locks import asked_after_locks
from pcapnfs.analyses.locks.lock_waits import GRANTED, LOCK, REFUSED
from pcapnfs.analyses.servers.same_calls import NOT_READY
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS, NLM
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    asked_after_locks.READS,
    columns.of(
        calls="call mount callback op program call_frame reply_time",
        operations="call op status_name file offset",
        files="file path",
        names="file name",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(LOCK, names=GRANTED)
"""Without a lock that was granted nobody works with locks."""

OPS = (
    *LOCK, "LOCKT", "LOCKU", "TEST", "TEST_MSG", "UNLOCK", "UNLOCK_MSG", "FREE_STATEID",
    "RELEASE_LOCKOWNER",
)  # fmt: skip
"""What NFSv4 and NLM call them. A FREE_STATEID may also free what a server revoked: where a client
sends more of them than LOCKUs, none of them counts."""

PLACES_SHOWN = 3
"""Files that are told."""

SQLITE = (0x4000_0000, 0x4000_0200)
"""From which byte on, and up to which one, lie those that SQLite locks in a database of any size:
one for PENDING, one for RESERVED, 510 for SHARED (sqlite.org/lockingv3.html; os.h)."""

SHARED_MEMORY = (120, 129)
"""The same of the file that a database with a write-ahead log has beside it: eight for writers,
checkpoints, recovery and readers (sqlite.org/walformat.html), and one for who has the file open
(unixShmSystemLock in os_unix.c). The first bytes of any file are also locked by other programs: so
a file counts if none but these were locked in it, and it is known by its name, or the client locks
databases as well."""

SHARED_MEMORY_NAME = "%-shm"
"""SQL: what it is called, until the last program removes it while it still has it open."""


class LockCalls(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS and of NLM."""
    locking: Spared
    """Those that lock, unlock or test a range of a file, or free what was kept of a lock; without
    LOCKs that were refused, and what the server was not ready for."""
    nlm: int
    """Part of locking: calls of NLM."""
    locks: int
    """Part of locking: LOCKs that were granted."""
    sqlite: int
    """Those of these that lock bytes which SQLite locks."""
    files: int
    """Files that are locked, unlocked and tested."""
    places: tuple[str, ...]
    """Those that it is about most; paths, not escaped."""
    asking: Spared = spared.NONE
    """GETATTRs beside these, by which it asked of a file that it had got a lock of."""


def lock_calls(trace: Trace) -> tuple[LockCalls, ...]:
    """Count, for each client and server where a lock was granted, most calls first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    asked_after_locks.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_LOCKING)
        rows = cursor.execute(_BY_MOUNT).fetchall()
        places = paths.most_in(cursor, "locking", PLACES_SHOWN, file="file")
    calls, mounts = traffic.answered(trace, (*NFS_PROGRAMS, NLM)), traffic.mounts(trace)
    return tuple(
        LockCalls(
            *mounts[mount],
            calls=calls[mount],
            locking=spared.of_row(values[:4]),
            nlm=integer(nlm),
            locks=integer(locks),
            sqlite=integer(sqlite),
            files=integer(files),
            places=tuple(places.get(mount, ())),
            asking=spared.of_row(values[4:]),
        )
        for mount, nlm, locks, sqlite, files, *values in rows
    )


_LOCKING = f"""
    create temp table locking as
    with asked as (
        select call, mount, call_frame, program from calls
        where {among("op", OPS)} and not callback and reply_time is not null
    ),
    by_call as materialized (
        select call, min(mount) as mount, min(call_frame) as call_frame,
               bool_or(program = {NLM}) as nlm, min(file) as file,
               bool_or({among("operations.op", LOCK)} and {among("status_name", GRANTED)})
                   as granted,
               bool_or("offset" >= {SQLITE[0]} and "offset" < {SQLITE[1]}) as in_database,
               bool_and(coalesce(
                   "offset" >= {SHARED_MEMORY[0]} and "offset" < {SHARED_MEMORY[1]}, false
               )) filter ({among("operations.op", LOCK)}) as in_memory,
               bool_or(operations.op = 'FREE_STATEID') as frees,
               bool_or(operations.op = 'LOCKU') as unlocks
        from operations join asked using (call)
        where {among("operations.op", OPS)}
        group by call
        having not coalesce(
            bool_or({among("operations.op", LOCK)} and {among("status_name", REFUSED)}
                    or {among("status_name", NOT_READY)}), false)
    ),
    in_memory as (
        select mount, file from by_call where file is not null
        group by mount, file having bool_and(in_memory)
    ),
    shared_memory as (
        select mount, file from in_memory
        where file in (
                  select names.file from names where names.name like '{SHARED_MEMORY_NAME}'
              )
              or mount in (select mount from by_call where in_database and granted)
    )
    select call, mount, call_frame, nlm, file, granted,
           in_database or (mount, file) in (from shared_memory) as sqlite
    from by_call
    where not frees or mount not in (
              select mount from by_call group by mount
              having count(*) filter (frees) > count(*) filter (unlocks)
          )
"""

_BY_MOUNT = f"""
    with locks as (
        select mount, count(*) filter (nlm) as nlm, count(*) filter (granted) as granted,
               count(*) filter (granted and sqlite) as sqlite, count(distinct file) as files,
               {spared.columns("true", "locking")}
        from locking join shares using (call) group by mount
    ),
    questions as (
        select mount, {spared.columns("true", "asking")}
        from asked_after_locks join shares using (call) group by mount
    )
    select mount, nlm, granted, sqlite, files, {spared.names("locking")}, {spared.names("asking")}
    from locks left join questions using (mount)
    where granted > 0 order by locking_calls desc, mount
"""
