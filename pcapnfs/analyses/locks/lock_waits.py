"""Locks that had to wait: from the first refusal to the lock.

Takes a trace; gives for each client and server the LOCKs (NFSv4, NLM) that were to wait for a lock
of somebody else, how they were granted, and how long that took. A wait is of one owner (a process
of a client, or its open file) for one range of one file; it ends with a LOCK of this owner that
succeeds, or with NLM's GRANTED callback. Of NFSv4, CB_NOTIFY_LOCK only tells the client to ask
again (RFC 8881 section 20.11). NLM's CANCEL ends it without the lock, when it is sent and whatever
it is answered: nobody waits for what it withdraws (X/Open C702 chapter 10).

Who only tries (flock -n, F_SETLK) has an answer when it is refused, and waits for nothing: the lock
type tells (RFC 8881 section 18.10.3; NLM: `block`). Where it was cut off, LOCKs within a minute are
taken to be of one wait, and where the range was, those of one file. Of a LOCK whose file was cut
off only NLM's BLOCKED says that it is waited for; a GRANTED without a file is that of the LOCK
refused last. Where the owner of any LOCK of a range was cut off, all of a client are taken to be of
one.

Who is refused once more asks once more. So where the last LOCK of a wait has no reply in the
capture, though the client went on, or is not there itself, but its reply is (lonely_replies.py), it
ended the wait.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import lonely_replies
from pcapnfs.analyses.captured.directions import any_orphan
from pcapnfs.programs import PORTMAPPER
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

WAITS_READS = columns.together(
    population.OPERATIONS_READS,
    lonely_replies.READS,
    columns.of(
        calls="call mount client server callback call_frame call_time reply_time undecoded",
        operations="call op status_name file offset requested lock_type lock_owner stateid",
    ),
)
"""The columns that tell when clients waited."""

READS = columns.together(
    WAITS_READS,
    columns.of(calls="program protocol", operations="may_notify_lock", files="file path"),
)
"""The columns that the queries here read."""

REFUSED = (
    "NFS4ERR_DENIED",
    "NLM4_DENIED",
    "NLM4_BLOCKED",
    "NLM_DENIED",
    "NLM_BLOCKED",
    "LCK_DENIED",
    "LCK_BLOCKED",
)
"""Answers to a LOCK that somebody else's lock stands in the way of."""

LOCK = ("LOCK", "LOCK_MSG")
"""What asks for a lock: of NFSv4 and of NLM, of NLM also in the form that a call of the server
answers, LOCK_RES (X/Open C702 chapter 10); its status and time are those of its call's reply."""

NEEDS = population.Operations(LOCK, names=REFUSED)
"""Without a LOCK that was refused nobody waited."""

GRANTED = ("NFS4_OK", "NLM4_GRANTED", "NLM_GRANTED", "LCK_GRANTED")
"""Answers to one that took effect."""

BLOCKED = ("NLM4_BLOCKED", "NLM_BLOCKED", "LCK_BLOCKED")
"""Refusals that only a LOCK meets that is to wait."""

WAITING = (3, 4)
"""Types of LOCKs that are to wait: READW_LT and WRITEW_LT."""

POLLED_NS = 60_000_000_000
"""Clients that wait ask again sooner: Linux after 1 to 30 s, as long as nobody tells it to."""

NEVER = 2**62
"""When a lock ends whose end is not in the capture, ns since 1970: after all others."""


class LockWaits(Record):
    """What one client waited for locks on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    protocols: tuple[str, ...]
    """Protocols of its LOCKs: `nlm4`, `4.0` …"""
    locks: int
    """Its LOCKs, each try counted: a client that waits may ask for one lock many times."""
    refused: int
    """Those of them that were to wait, and met a lock of somebody else."""
    untyped: int
    """Those of them of which nothing tells that they were to wait: their type was cut off."""
    waits: int
    """Waits that they make up."""
    granted: int
    """Those of them that ended with the lock."""
    withdrawn: int
    """Those of them that the client ended without the lock (NLM CANCEL), as when a signal
    interrupts its program."""
    told: int
    """Those of them that a callback of the server ended, or that it told to ask again."""
    sought: bool
    """The server asked the client's portmapper since the first of them began, as it does before it
    calls the client's lock manager."""
    polled: int
    """LOCKs beyond the first of a wait that were refused again: the client asked in vain."""
    interval_s: float | None
    """Median time from one refused LOCK of a wait to the next LOCK, seconds; None without any."""
    waited_s: float
    """What the waits took of time, seconds; where several ran at once, counted once."""
    longest_s: float | None
    """The longest wait that ended with the lock, seconds; None when none did."""
    late_s: float
    """From the unlocking that was seen last before each lock, by another client or owner, to the
    lock, and before that from each unlocking to the next lock of anybody, where all of the file are
    of one range, seconds; the time for which the lock was free and nobody had it. Where several
    were at once, counted once."""
    holders: tuple[str, ...]
    """Addresses of the clients that unlocked these files meanwhile; of its own where another of its
    owners did."""
    paths: tuple[str, ...]
    """The files, the longest wait first; not escaped."""
    frames: tuple[int, ...]
    """Example frames: of the first LOCK of each wait, the longest first."""
    may_notify: bool | None = None
    """The server said, in its answer to any OPEN of this client, that it may tell when a lock is
    free (OPEN4_RESULT_MAY_NOTIFY_LOCK of NFSv4.1 and later, RFC 8881 section 18.16.2): who is not
    told so asks again from time to time. None where no answer tells, and for other protocols."""


class Waits(Record):
    """Each wait for a lock, as columns."""

    mount: NDArray[np.unsignedinteger[Any]]
    """Number of its client and server (table calls)."""
    begin_ns: NDArray[np.int64]
    """When the first LOCK was sent that was refused, nanoseconds since 1970."""
    end_ns: NDArray[np.int64]
    """When the lock was there, the request withdrawn, or the last LOCK refused, nanoseconds since
    1970."""
    locks: NDArray[np.unsignedinteger[Any]]
    """The LOCKs of all of them (table calls), ascending."""


def waits(trace: Trace) -> Waits | None:
    """Each wait of each client; None where nobody waited."""
    if not NEEDS.met(trace):
        return None
    _register(trace)
    each, locks = trace.arrays(_EACH), trace.arrays(_LOCKS)
    return Waits(each["mount"], each["begun"], each["ended"], locks["call"])


def lock_waits(trace: Trace) -> tuple[LockWaits, ...]:
    """Put together, for each client and server that waited, the longest first."""
    if not NEEDS.met(trace):
        return ()
    _register(trace)
    with closing(trace.cursor()) as cursor:
        asked = {"files": FILES_SHOWN, "examples": EXAMPLES}
        rows = list(by_name(cursor.execute(_WAITS, asked)))
        offered = {
            (client, server): told
            for client, server, told in (cursor.execute(_OFFERED).fetchall() if rows else ())
        }
        told = paths.told(cursor, (row["files"] for row in rows), FILES_SHOWN)
    return tuple(
        LockWaits(
            client=row["client"],
            server=row["server"],
            protocols=tuple(sorted(row["protocols"])),
            locks=integer(row["locks"]),
            refused=integer(row["refused"]),
            untyped=integer(row["untyped"]),
            waits=integer(row["waits"]),
            granted=integer(row["granted"]),
            withdrawn=integer(row["withdrawn"]),
            told=integer(row["told"]),
            sought=bool(row["sought"]),
            polled=integer(row["polled"]),
            interval_s=seconds(row["interval"]),
            waited_s=seconds(row["waited"]) or 0.0,
            longest_s=seconds(row["longest"]),
            late_s=seconds(row["late"]) or 0.0,
            holders=tuple(sorted(set(row["holders"]))),
            paths=of_row,
            frames=tuple(row["frames"]),
            may_notify=offered.get((row["client"], row["server"])),
        )
        for row, of_row in zip(rows, told, strict=True)
    )


@once
def _register(trace: Trace) -> None:
    """Make the tables `lock_operations` and `lock_steps` of a trace, unless they are there."""
    with closing(trace.cursor()) as cursor:
        granted, refused = list(GRANTED), list(REFUSED)
        cursor.execute(_OWNED, {"granted": granted})
        cursor.execute("create temp table lock_replies (call ubigint, later bigint)")
        if any_orphan(trace):
            later = lonely_replies.next_of(_REFUSALS)
            cursor.execute(f"insert into lock_replies {later}", {"refused": refused})
        cursor.execute(_STEPS, {"refused": refused, "granted": granted})


# Whose they are: a LOCK of an owner that is new to the server names it, others and LOCKU name the
# stateid that its LOCK got. Where that LOCK came before the capture, the stateid stands for it: of
# a LOCK that was decoded to its end and names no owner it is the lock's, else it may be the open's.
_OWNED = """
    create table lock_operations as
    with asked as (
        select mount, client, server, callback, call,
               replace(operations.op, '_MSG', '') as op, operations.status_name,
               operations.file, "offset", requested, lock_type, lock_owner, stateid, undecoded,
               call_frame, call_time, reply_time
        from operations join calls using (call)
        where operations.op in ('LOCK', 'LOCK_MSG', 'LOCKU', 'UNLOCK', 'UNLOCK_MSG', 'FREE_ALL',
                                'CANCEL', 'CANCEL_MSG') and not callback
              or operations.op in ('GRANTED', 'GRANTED_MSG') and callback
    ),
    known as (
        select mount, stateid, min(lock_owner) as known_owner from asked
        where op = 'LOCK' and status_name in $granted and lock_owner is not null
              and stateid is not null
        group by mount, stateid
    )
    select asked.*, coalesce(lock_owner, known_owner,
                             case when undecoded is null then stateid end) as owner
    from asked left join known using (mount, stateid)
"""

_OFFERED = """
    select client, server, bool_or(may_notify_lock)
    from operations join calls using (call) semi join lock_steps using (client, server)
    where operations.op = 'OPEN' and may_notify_lock is not null
          and protocol in ('4.1', '4.2') and not callback
    group by client, server
"""
"""Whether the server offers to tell those who wait; NFSv4.0 has no callback for it."""

_REFUSALS = """
    select call, client, server, greatest(reply_time, call_time + 1) as came
    from lock_operations where op = 'LOCK' and status_name in $refused
"""

# A step is a LOCK, a CANCEL that withdraws it, or a callback that grants it or tells that it may be
# asked for again. A callback names the file, of NLM the range as well; one that names no range is
# of all waits for the file.
_STEPS = f"""
    create table lock_steps as
    with latest as (
        select client, server, max(call_time) as latest_time
        from calls where not callback and reply_time is not null group by client, server
    ),
    asked as (
        select mount, client, server, op, file, "offset", requested, owner,
               call_frame as frame, call_time as asked,
               case when op = 'CANCEL' then call_time
                    else coalesce(reply_time, call_time) end as answered,
               op <> 'CANCEL' and coalesce(status_name in $refused, false) as refused,
               op <> 'CANCEL' and coalesce(status_name in $refused, false) and lock_type is null
                   and status_name not in {BLOCKED} as untyped,
               callback, call, lock_type, op = 'LOCK' and reply_time is null as unheard
        from lock_operations left join latest using (client, server)
        where op = 'LOCK'
              and (status_name in $granted
                   or reply_time is null and lock_type in {WAITING} and call_time < latest_time
                   or status_name in $refused
                      and coalesce(lock_type in {WAITING}, true)
                      and (file is not null or status_name in {BLOCKED}))
              or op = 'CANCEL' or callback
    ),
    refusals as (
        select client, server, file, "offset", requested, owner, asked as since
        from asked where refused
    ),
    placed as (
        select * from asked where not callback or file is not null
        union all by name
        select asked.* replace (refusals.file as file, refusals."offset" as "offset",
                                refusals.requested as requested, refusals.owner as owner)
        from asked asof join refusals
             on asked.client = refusals.client and asked.server = refusals.server
                and asked.asked >= since
        where asked.callback and asked.file is null
    ),
    contended as (
        select placed.* replace (
                   case when bool_and(owner is not null) over (
                            partition by client, server, file, "offset", requested
                        ) then owner end as owner
               )
        from placed semi join refusals
             on placed.client = refusals.client and placed.server = refusals.server
                and placed.file is not distinct from refusals.file
                and placed."offset" is not distinct from refusals."offset"
                and placed.requested is not distinct from refusals.requested
    ),
    ordered as (
        select contended.*, later,
               row_number() over (
                   partition by client, server, file, "offset", requested, owner
                   order by asked desc, call desc
               ) = 1 as final
        from contended left join lock_replies using (call)
    ),
    known as (
        select * exclude (later, final) from ordered where final or not unheard
        union all by name
        select * exclude (later, final)
                 replace (null as call, later as asked, later as answered,
                          false as refused, false as untyped)
        from ordered where final and refused and later - asked < {POLLED_NS}
    ),
    steps as (
        select *,
               lag(refused, 1, false) over earlier
                   and (callback or lock_type is not null
                        or asked - lag(asked) over earlier < {POLLED_NS}) as refused_before,
               asked - lag(asked) over earlier as since
        from known
        window earlier as (
            partition by client, server, file, "offset", requested, owner order by asked, call
        )
    )
    select *, sum((refused and not refused_before)::integer) over (
               partition by client, server, file, "offset", requested, owner order by asked, call
               rows unbounded preceding
           ) as wait
    from steps where refused or refused_before
"""

_EACH = """
    select min(mount) filter (not callback) as mount, min(asked) as begun, max(answered) as ended
    from lock_steps group by client, server, file, "offset", requested, owner, wait
"""

_LOCKS = """
    select call from lock_steps where op = 'LOCK' and call is not null order by call
"""


def alone(last: str) -> str:
    """SQL: from when on a wait of a client and server is the only one of those that have begun."""
    return f"""
        greatest(begun, max({last}) over (
            partition by client, server order by begun, frame
            rows between unbounded preceding and 1 preceding
        ))
    """


def waited(last: str) -> str:
    """SQL: the sum of what waits took of time: where several ran at once, counted once."""
    return f"sum(greatest({last} - alone, 0))"


_WAITS = f"""
    with waits as (
        select client, server, file, "offset", requested, owner, wait, min(asked) as begun,
               max(answered) filter (not refused and op <> 'CANCEL') as ended,
               max(answered) as last, bool_or(op = 'CANCEL') as withdrawn,
               count(*) filter (refused) as refused, count(*) filter (untyped) as untyped,
               min(frame) as frame,
               count(*) filter (refused) - 1 as polled,
               count(*) filter (callback) > 0 as told
        from lock_steps group by client, server, file, "offset", requested, owner, wait
    ),
    notices as (
        select client, server, operations.file, call_time as notified
        from operations join calls using (call)
        where operations.op = 'CB_NOTIFY_LOCK' and operations.file is not null
    ),
    unlocks as (
        select min(client) as holder, min(owner) as held_by, server, file, call_time as unlocked
        from lock_operations
        where op in ('LOCKU', 'UNLOCK', 'FREE_ALL') and file is not null
        group by server, file, call_time
    ),
    noticed as (
        select waits.*, notified
        from waits asof left join notices
             on waits.client = notices.client and waits.server = notices.server
                and waits.file = notices.file and waits.last >= notices.notified
    ),
    released as (
        select noticed.*, holder, held_by, unlocked
        from noticed asof left join unlocks
             on noticed.server = unlocks.server and noticed.file = unlocks.file
                and coalesce(noticed.ended, noticed.last) >= unlocks.unlocked
    ),
    freed as (
        select *, unlocked >= begun and ended is not null
                   and (holder <> client or coalesce(held_by <> owner, false)) as freed
        from released
    ),
    judged as (
        select *, told or coalesce(notified >= begun, false) as notice, {alone("last")} as alone
        from freed
    ),
    -- Since when nobody had it before each hold, where all are of one range. One that is not seen
    -- to end lasts.
    holds as (
        select server, file, taken, max(unlocked) over (
                   partition by server, file order by taken, unlocked
                   rows between unbounded preceding and 1 preceding
               ) as free
        from (
            select taken.*, coalesce(unlocked, {NEVER}) as unlocked
            from (
                select server, file, client, owner, call_time as taken
                from lock_operations
                where op = 'LOCK' and status_name in {GRANTED} or callback
                window of_file as (partition by server, file)
                qualify min(hash("offset", requested)) over of_file
                        = max(hash("offset", requested)) over of_file
            ) as taken asof left join (
                select server, file, client, owner, call_time as unlocked
                from lock_operations where op in ('LOCKU', 'UNLOCK')
            ) as given_up
                on taken.server = given_up.server and taken.file = given_up.file
                   and taken.client = given_up.client and taken.owner = given_up.owner
                   and taken.taken <= given_up.unlocked
        )
    ),
    -- A client's waits for one file, where several are at once cut to be one after the other.
    stretches as (
        select * from (
            select client, server, file, ended, greatest(begun, max(ended) over (
                       partition by client, server, file order by begun, frame
                       rows between unbounded preceding and 1 preceding
                   )) as since
            from judged where freed
        ) where since < ended
    ),
    gaps as (
        select client, server, file, free, taken
        from holds join (select distinct client, server, file from stretches) using (server, file)
        where free < taken
    ),
    -- When a client waited for what nobody had: a gap begins within a stretch, or the other way
    -- round; or it is seen to last until the lock.
    idle as (
        select gaps.client, gaps.server, free as since, least(taken, ended) as till
        from gaps asof join stretches
             on gaps.client = stretches.client and gaps.server = stretches.server
                and gaps.file = stretches.file and gaps.free >= stretches.since
        where free < ended
        union all
        select gaps.client, gaps.server, since, least(taken, ended)
        from stretches asof join gaps
             on gaps.client = stretches.client and gaps.server = stretches.server
                and gaps.file = stretches.file and stretches.since >= gaps.free
        where since < taken
        union all
        select client, server, unlocked, ended from judged where freed
    ),
    lates as (
        select client, server, sum(greatest(till - since, 0)) as late
        from (
            select client, server, till, greatest(since, max(till) over (
                       partition by client, server order by since, till
                       rows between unbounded preceding and 1 preceding
                   )) as since
            from idle
        ) group by client, server
    ),
    asking as (
        select client, server, median(since) filter (refused_before and op = 'LOCK') as interval
        from lock_steps group by client, server
    ),
    lookups as (
        select client as server, server as client, max(call_time) as sought_time
        from calls where program = {PORTMAPPER} group by client, server
    ),
    locks as (
        select client, server, count(*) as locks, list(distinct protocol) as protocols
        from operations join (
            select call, client, server, protocol from calls where not callback
        ) using (call)
        where {among("operations.op", LOCK)} group by client, server
    )
    select client, server, any_value(protocols) as protocols, any_value(locks) as locks,
           sum(refused) as refused, sum(untyped) as untyped, count(*) as waits,
           count(ended) as granted, count(*) filter (withdrawn) as withdrawn,
           count(*) filter (notice) as told, sum(polled) as polled,
           coalesce(any_value(sought_time) >= min(begun), false) as sought,
           any_value("interval") as "interval",
           {waited("last")} as waited,
           max(ended - begun) as longest,
           any_value(late) as late,
           list_sort(coalesce(list(distinct holder) filter (freed), [])) as holders,
           coalesce((list(file order by last - begun desc, frame, file)
                         filter (file is not null))[:10 * $files], []) as files,
           (list(frame order by last - begun desc, frame))[:$examples] as frames
    from judged join locks using (client, server) left join asking using (client, server)
         left join lookups using (client, server) left join lates using (client, server)
    group by client, server order by waited desc, client, server
"""
