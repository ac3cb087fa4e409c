"""Messages held back for about as long as a delayed ACK takes.

Takes calls; gives for each client and server how many messages took 40 ms or 200 ms more than
others, against how many took a little less or more than that. A sender that waits for an ACK before
it sends a small segment (Nagle's algorithm, RFC 1122 section 4.2.3.4), and a receiver that waits
with the ACK for data to send (section 4.2.3.2), wait for each other until the receiver's timer runs
out: 40 ms on Linux, 200 ms on Windows and BSD. Calls that wait for data may take as long at a disk:
they count where segments show that the server went on when the client's late ACK had come. A large
message may take as long on a link: it counts where others as large are much quicker. Gaps inside
messages do not count at the receiver if its ACKs are in the capture, and the sender was not seen to
wait for them: then the end of the message was lost (`lost_tails`).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import placed
from pcapnfs.analyses.wire.lost_tails import WAITING
from pcapnfs.analyses.wire.placed import PLACED
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    placed.READS,
    columns.of(
        calls="call client server connection callback stability call_frame call_first_time "
        "call_time reply_first_time reply_time srt call_bytes reply_bytes",
        connections="connection transport client_acks server_acks client_ack_waits "
        "server_ack_waits server_segments missing_bytes",
    ),
)
"""The columns that the queries here read."""

TIMERS_NS = (40_000_000, 200_000_000)
"""How long ACKs are delayed: Linux; Windows and BSD."""

EARLY_NS = 2_000_000
LATE_NS = 6_000_000
"""How much sooner or later a message may come for its delay to be taken for that of the timer,
whose ticks are coarse."""


SEEN_WAITING = 10
"""Times that a server must have been seen to wait for a late ACK on a connection, for what READs
and WRITEs took there to be told from what a disk takes. Where the capture lacks a segment, what is
acknowledged next is not timed: of a connection with holes, as many as there would be if all ACKs
had been …"""

FEWEST_SEEN = 4
"""… of which so many must have been seen."""

SEGMENTS_ACKED = 2
"""Full segments for which a receiver sends an ACK at least (RFC 5681 section 4.2)."""

SEES_WAITING = f"""(
    server_ack_waits >= {FEWEST_SEEN}
    and server_ack_waits
        * (case when missing_bytes > 0
                then greatest(1, server_segments / ({SEGMENTS_ACKED} * greatest(1, client_acks)))
                else 1 end) >= {SEEN_WAITING}
)"""
"""SQL: whether a server was seen to wait so on a connection."""


LARGE_BYTES = 16384
"""A message of so many bytes may take as long as a timer because a link is no faster: 40 ms are
3 Mbit/s."""

QUICK = (0.9, 2)
"""Large messages wait for a timer where the quickest of like size, beyond this quantile, move so
many times as fast."""

SPIKE = 5
"""So many times as many as came a little sooner or later make a mode, and no tail."""

NEAR_S = 0.02
"""Where calls usually take longer than this, the round trip itself may have the timer's length."""


class HeldSegments(Record):
    """Messages between one client and one server that came as late as one timer has it."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    timer_s: float
    """The timer, seconds: one of `TIMERS_NS`."""
    messages: int
    """Calls and replies that could have been held back: all over TCP that are answered."""
    held: int
    """Those that took as much longer than usual: between their first and last segment, or from
    call to reply where nothing had to be stored or read, or the server was seen to wait for ACKs on
    that connection (`SEEN_WAITING`) and nothing had to be on stable storage."""
    beside: int
    """Those that took as much less or more than the timer, in two windows of half the width: how
    many would be expected by chance."""
    usual_s: float
    """Median service time of calls for which nothing had to be stored or read, seconds."""
    transfer_s: float
    """What those held between their segments took of the clock, seconds."""
    unstable_s: float
    """What those held between call and reply took of it, of calls for which nothing had to be
    stored or read, seconds."""
    read_s: float
    """The same of READs."""
    unstable_write_s: float
    """The same of WRITEs answered UNSTABLE."""
    ack_waits: int
    """How often the server was seen to send nothing more until the client acknowledged, late, what
    it had sent, and then to go on at once; on connections with `SEEN_WAITING` of these."""
    frames: tuple[int, ...]
    """Example frames: of calls."""

    @property
    def seen(self) -> bool:
        """Whether the server was seen to wait, and what it made late stands out from the rest."""
        stands_out = self.held >= SPIKE * max(self.beside, 1) and self.usual_s <= NEAR_S
        return self.ack_waits > 0 and stands_out

    @property
    def serving_s(self) -> float:
        """What those held between call and reply took of the clock, seconds."""
        return self.unstable_s + self.read_s + self.unstable_write_s


class AckWaits(Record):
    """Calls that were answered late since the server waited for ACKs, where it was seen to."""

    calls: int = 0
    """How many these are."""
    timer_s: float = 0.0
    """How long each waited, about, seconds."""
    time_s: float = 0.0
    """What they waited of the clock between call and reply, seconds."""


@once
def held_segments(trace: Trace) -> tuple[HeldSegments, ...]:
    """Count, for each client, server and timer with any such message."""
    shares.register(trace)
    width = EARLY_NS + LATE_NS
    found = []
    with closing(trace.cursor()) as cursor:
        least = TIMERS_NS[0] - EARLY_NS - width
        cursor.execute(_USUAL)
        ((quickest,),) = cursor.execute("select min(usual) from usual").fetchall()
        if quickest is None:
            return ()
        bounds = {
            "least": least,
            "most": TIMERS_NS[-1] * 2,
            "slow": least + min(0, int(quickest)),
        }
        ((late,),) = cursor.execute(_LATE, bounds).fetchall()
        if not late:
            return ()
        ((any_held, any_large),) = cursor.execute(_WORTH_A_LOOK).fetchall()
        if not any_held:
            return ()
        if any_large:
            cursor.execute(_AT_LINK_SPEED)
        cursor.execute(_NOT_WAITING, placed.values(trace))
        for timer in TIMERS_NS:
            window = {"early": timer - EARLY_NS, "late": timer + LATE_NS}
            if cursor.execute(_ANY_HELD, window).fetchone() is None:
                continue
            told = {**window, "half": width // 2, "timer": timer, "examples": EXAMPLES}
            found += [(timer, *row) for row in cursor.execute(_HELD, told).fetchall()]
    return tuple(
        HeldSegments(
            client=client,
            server=server,
            timer_s=seconds(timer) or 0.0,
            messages=integer(messages),
            held=integer(held),
            beside=integer(beside),
            usual_s=seconds(usual) or 0.0,
            transfer_s=seconds(transfer) or 0.0,
            unstable_s=seconds(unstable) or 0.0,
            read_s=seconds(read) or 0.0,
            unstable_write_s=seconds(write) or 0.0,
            ack_waits=integer(waits),
            frames=tuple(frames),
        )
        for (
            timer,
            client,
            server,
            messages,
            held,
            beside,
            usual,
            transfer,
            unstable,
            read,
            write,
            waits,
            frames,
        ) in found
    )


def ack_waits_by_client(trace: Trace) -> dict[str, AckWaits]:
    """Those of each client with the server and the timer that cost it most."""
    if not trace.rows(_SEEN):
        return {}
    seen = sorted((pair for pair in held_segments(trace) if pair.seen), key=_serving)
    return {pair.client: AckWaits(pair.held, pair.timer_s, pair.serving_s) for pair in seen}


def _serving(pair: HeldSegments) -> tuple[float, str]:
    return pair.serving_s, pair.server


_SEEN = f"select 1 from connections where {SEES_WAITING} limit 1"

_USUAL = """
    create temp table usual as
    select client, server, 2 * count(*) as messages,
           coalesce(median(srt) filter (stability = 'unstable'), 0) as usual
    from calls anti join (from connections where transport <> 'TCP') using (connection)
    where not callback and reply_time is not null
    group by client, server
"""

# Nearly all messages are sorted out before it is looked up what is usual for theirs.
_LATE = f"""
    create temp table late as
    with waiting as (
        select connection, server_ack_waits as waits
        from connections where {SEES_WAITING}
    ),
    parts as (
        select call, client, server, connection, call_frame, stability, waits,
               call_time - call_first_time as sending, reply_time - reply_first_time as replying,
               call_bytes, reply_bytes,
               case when stability = 'unstable'
                         or waits is not null and {among("stability", ("read", "unstable_write"))}
                    then srt else 0 end as serving
        from calls left join waiting using (connection)
             anti join (from connections where transport <> 'TCP') using (connection)
        where not callback and reply_time is not null
              and greatest(sending, replying, serving) >= $slow
    )
    select parts.*, messages, usual,
           greatest(sending, replying, serving - usual) as extra,
           greatest(sending, replying) >= serving - usual as moving,
           replying > sending as coming, if(coming, reply_bytes, call_bytes) as moved
    from parts join usual using (client, server)
    where greatest(sending, replying, serving - usual) between $least and $most
"""

# Most captures have none: it takes less to see that than to look at them.
_OF_ANY_TIMER = " or ".join(
    f"extra between {timer - EARLY_NS} and {timer + LATE_NS}" for timer in TIMERS_NS
)
_WORTH_A_LOOK = f"""
    select bool_or({_OF_ANY_TIMER}), bool_or(moving and moved >= {LARGE_BYTES}) from late
"""

# Sizes are alike whose binary logarithms have the same whole part.
_AT_LINK_SPEED = f"""
    with messages as (
        select client, server, false as coming, call_bytes as bytes,
               call_bytes / greatest(call_time - call_first_time, 1) as rate
        from calls where not callback and reply_time is not null and call_bytes >= {LARGE_BYTES}
        union all
        select client, server, true, reply_bytes,
               reply_bytes / greatest(reply_time - reply_first_time, 1)
        from calls where not callback and reply_time is not null and reply_bytes >= {LARGE_BYTES}
    ),
    quickest as (
        select client, server, coming, floor(log2(bytes)) as size,
               quantile_cont(rate, {QUICK[0]}) as rate
        from messages group by client, server, coming, size
    )
    delete from late
    where call in (
        select call from late join quickest using (client, server, coming)
        where moving and moved >= {LARGE_BYTES} and size = floor(log2(moved))
              and quickest.rate < {QUICK[1]} * moved / extra
    )
"""

# At the receiver alone each wait is sure to be seen, and not where there are fewer ACKs without
# data than gaps.
_NOT_WAITING = f"""
    with {PLACED},
    gaps as (
        select connection, coming, count(*) as gaps
        from late join placed using (client, server)
        where moving and vantage = if(coming, 'client', 'server') and ({_OF_ANY_TIMER})
        group by connection, coming
    ),
    prompt as (
        select connection, coming from gaps join connections using (connection)
        where if(coming, client_acks, server_acks) >= gaps
              and if(coming, server_ack_waits, client_ack_waits) < {WAITING} * gaps
    )
    delete from late
    where moving and (connection, coming) in (select (connection, coming) from prompt)
"""

_ANY_HELD = "select 1 from late where extra between $early and $late limit 1"

_HELD = """
    with seen as (
        select client, server, sum(waits) as seen_waits
        from (select distinct client, server, connection, waits from late)
        group by client, server
    )
    select client, server, any_value(messages), count(*) filter (extra between $early and $late),
           count(*) filter (extra between $early - $half and $early - 1
                            or extra between $late + 1 and $late + $half),
           any_value(usual),
           sum(least(share, $timer)) filter (moving and extra between $early and $late),
           sum(least(share, $timer)) filter (not moving and stability = 'unstable'
                                             and extra between $early and $late),
           sum(least(share, $timer)) filter (not moving and stability = 'read'
                                             and extra between $early and $late),
           sum(least(share, $timer)) filter (not moving and stability = 'unstable_write'
                                             and extra between $early and $late),
           coalesce(any_value(seen_waits), 0),
           (list(call_frame order by call_frame)
                filter (extra between $early and $late))[:$examples]
    from late left join shares using (call) left join seen using (client, server)
    group by client, server having count(*) filter (extra between $early and $late) > 0
    order by client, server
"""
