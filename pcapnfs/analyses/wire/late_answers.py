"""Ends of which for a while even the quickest answers came late, as TCP shows.

Takes what the decoder kept of each connection's slowest stretch; gives for each client, server and
half of the path how long it lasted, and how sure it is that the path was the cause.

No answer is quicker than the round trip, so one quick answer shows that the path was no longer
then. Slow answers alone do not show that it was: an end that works for longer than 40 ms delays its
ACKs as well, by up to 200 ms in practice and half a second at most (RFC 1122 section 4.2.3.2). The
path it was where no ACK would have been delayed for as long, or where many came soon after another:
an ACK is for all that has arrived, so none was delayed for longer than the one before it was ago.
(An ACK of two full-sized segments is no proof of its own: it goes at once (RFC 5681 section 4.2)
unless the receiver cannot take more, as where a server is too slow for what clients write.) ACKs
that took less than 30 ms longer are not delayed either; but that a busy end takes a while to send
them, too. Where the server's acknowledgements left out calls (`late_arrivals`) that had been on
their way for as long as the quickest of these answers took, it was the path that took so long, and
no end that was busy. Of a client that sends all its ACKs with its next calls, those calls tell that
it sends at once (`late_successions`). Between the capture point and the end that it was taken at
there is no path: that half is not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.wire import late_arrivals as _late_arrivals
from pcapnfs.analyses.wire import late_successions as _late_successions
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.late_arrivals import LateArrivals, late_arrivals
from pcapnfs.analyses.wire.late_successions import LateSuccessions, late_successions
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.confidence import Confidence
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    _late_arrivals.READS,
    _late_successions.READS,
    columns.of(
        connections="connection client server "
        "client_slow_from client_slow_until client_slow_rtt "
        "client_slow_acks client_slow_turns client_slow_full client_slow_soon "
        "server_slow_from server_slow_until server_slow_rtt "
        "server_slow_acks server_slow_turns server_slow_full server_slow_soon",
    ),
)
"""The columns that the queries here read."""

TIMES_AS_LONG = 2.0
"""A path that became longer takes at least so many times what it usually does."""

LASTED = 10
"""And stays so for as many round trips: shorter is a single stall, unless …"""

AT_ONCE = 8
"""… more ACKs than this came late that were not delayed. Of what is under way at once, no more is
timed (`UNDER_WAY` in core/src/stream/timing.rs): what was sent after one of them came late, too."""

NOT_DELAYED_S = 0.03
"""ACKs that took less than this longer than others are not delayed: Linux and BSD delay by 40 ms or
more, which a coarse timer shortens by up to 10 ms."""

DELAYED_S = 0.21
"""No ACK is delayed for longer in practice: Linux, BSD and Windows have 200 ms at most."""

ALLOWED_S = 0.5
"""No ACK may be delayed for longer (RFC 1122 section 4.2.3.2)."""

UNDELAYED = (3, 10)
"""ACKs that were not delayed from which the path is likely, and certain, the cause."""

MANY = 30
"""Answers from which it is certain where no ACK may be delayed for as long."""

LEAST_S = 0.005
"""What is less longer shows nothing where ACKs could be late because an end is busy …"""

LEAST_OF_MANY_S = 0.002
"""… nor this, however many come as late …"""

BUSY_TIMES = 3.0
"""… nor what took fewer times as long …"""

BUSY = (20, 100)
"""… nor fewer ACKs than the first; from the second on the path is likely the cause, and so it is
where it was longer by less (`LEAST_OF_MANY_S`): no end is as busy with each of so many."""

AS_LONG = (0.9, 1.5)
"""Calls that had not arrived for at least so many times the quickest of these answers, in the
median, and for no more, were on the same path as they."""

PATHS = (
    f"{given.rows('clients', 'varchar')} as client, {given.rows('servers', 'varchar')} as server, "
    f"{given.rows('more', 'bigint')} as more, {given.rows('usual', 'bigint')} as usual"
)
"""SQL: the columns of a row for each client and server of `parameters`: both, what more the path
took than usual, and what it usually takes, ns."""

Side = Literal["client", "server"]
"""An end of the path."""


class LateAnswers(Record):
    """A while in which all answers of one end to the other came late."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    side: Side
    """The end that answered: the capture was not taken there."""
    connections: int
    """Connections on which it was seen."""
    from_ns: int
    """When the first data was sent that was answered late, nanoseconds since 1970."""
    until_ns: int
    """When the last late answer came, nanoseconds since 1970."""
    rtt_s: float
    """Round trip of that half then, the shortest of the answers, seconds."""
    usual_s: float
    """Round trip of that half otherwise, seconds."""
    acks: int
    """ACKs without data that came then."""
    turns: int
    """ACKs with data that came then."""
    full: int
    """Those of the ACKs without data that were for two full-sized segments or more."""
    soon: int
    """Those of the ACKs without data that came soon after another."""
    confidence: Confidence
    """How sure it is that the path was the cause."""
    at_once: int = 0
    """Calls that a client sends as soon as it has the reply, and that came as late."""

    @property
    def known(self) -> bool:
        """Whether the path was the cause, as far as can be known."""
        return self.confidence != "possible"

    @property
    def costs(self) -> bool:
        """Whether calls took longer for it: the client's half ends before their replies go."""
        return self.known and self.side == "server"

    @property
    def more_s(self) -> float:
        """How much longer the round trip was, seconds."""
        return self.rtt_s - self.usual_s


def undelayed(more_s: float, full: int, soon: int) -> int:
    """How many ACKs no end delays for so much longer.

    One that cannot take more delays those of full-sized segments, too, but not for as long.
    """
    return max(full, soon) if more_s > DELAYED_S else soon


@once
def late_answers(trace: Trace) -> tuple[LateAnswers, ...]:
    """Tell each client, server and half of the path of which this is known or possible."""
    usual = {(pair.client, pair.server): pair for pair in round_trips(trace).pairs}
    found: defaultdict[tuple[str, str, Side], list[tuple[int, ...]]] = defaultdict(list)
    for client, server, side, *values in trace.rows(_SLOW):
        found[client, server, side].append(tuple(values))
    late = (
        _late(
            client, server, side, rows, pair.client_side if side == "client" else pair.server_side
        )
        for (client, server, side), rows in found.items()
        if (pair := usual.get((client, server))) is not None and pair.vantage != side
    )
    arrived = {(each.client, each.server): each for each in late_arrivals(trace)}
    told = [
        _borne_out(each, arrived.get((each.client, each.server)))
        for each in late
        if each is not None
    ]
    for calls in late_successions(trace):
        of_pair = usual[calls.client, calls.server].client_side
        _add_successions(told, calls, of_pair.rtt_s or 0.0)
    return tuple(told)


def parameters(late: Sequence[LateAnswers]) -> dict[str, str]:
    """What queries with `PATHS` are given."""
    return {
        "clients": given.text(each.client for each in late),
        "servers": given.text(each.server for each in late),
        "more": given.text(round(each.more_s * NANOSECONDS) for each in late),
        "usual": given.text(round(each.usual_s * NANOSECONDS) for each in late),
    }


def _borne_out(late: LateAnswers, calls: LateArrivals | None) -> LateAnswers:
    """The same, likely instead of possible where calls show that the path took so long."""
    if late.known or late.side != "server" or calls is None:
        return late
    least, most = AS_LONG
    if (
        late.from_ns <= calls.from_ns
        and calls.until_ns <= late.until_ns
        and least * late.rtt_s <= calls.median_s <= most * late.rtt_s
    ):
        return replace(late, confidence="likely")
    return late


def _add_successions(told: list[LateAnswers], calls: LateSuccessions, usual_s: float) -> None:
    """Take what calls show of the way to a client.

    Alone they make it likely. Where ACKs without data came as late, too little for delayed ones, a
    busy end would have to be late with both alike, and with each of them: certain.
    """
    least, most = AS_LONG
    for place, late in enumerate(told):
        if (late.client, late.server, late.side) != (calls.client, calls.server, "client"):
            continue
        if (
            late.confidence != "certain"
            and late.acks >= BUSY[0]
            and late.more_s < NOT_DELAYED_S
            and calls.from_ns <= late.until_ns
            and late.from_ns <= calls.until_ns
            and least * late.rtt_s <= calls.least_s <= most * late.rtt_s
        ):
            told[place] = replace(late, confidence="certain", at_once=calls.at_once)
            return
        if late.known:
            return
        del told[place]
        break
    told.append(
        LateAnswers(
            client=calls.client,
            server=calls.server,
            side="client",
            connections=calls.connections,
            from_ns=calls.from_ns,
            until_ns=calls.until_ns,
            rtt_s=calls.least_s,
            usual_s=usual_s,
            acks=0,
            turns=calls.calls,
            full=0,
            soon=0,
            confidence="likely",
            at_once=calls.at_once,
        )
    )


def _late(
    client: str,
    server: str,
    side: Side,
    rows: list[tuple[int, ...]],
    half: Half,
) -> LateAnswers | None:
    """What the connections of a client and a server show of one half; None if it is nothing."""
    usual_s = half.rtt_s
    if usual_s is None:
        return None
    rows = [row for row in rows if _lasted(row, usual_s)]
    if not rows:
        return None
    begins, ends, least, acks, turns, full, soon = zip(*rows, strict=True)
    rtt_s = min(least) / NANOSECONDS
    not_delayed = undelayed(rtt_s - usual_s, sum(full), sum(soon))
    confidence = _confidence(rtt_s, usual_s, sum(acks), sum(turns), not_delayed)
    if confidence is None:
        return None
    return LateAnswers(
        client=client,
        server=server,
        side=side,
        connections=len(rows),
        from_ns=min(begins),
        until_ns=max(ends),
        rtt_s=rtt_s,
        usual_s=usual_s,
        acks=sum(acks),
        turns=sum(turns),
        full=sum(full),
        soon=sum(soon),
        confidence=confidence,
    )


def _lasted(row: tuple[int, ...], usual_s: float) -> bool:
    """Whether a connection's answers took much longer, and not only once."""
    begin, end, least, _, _, full, soon = row
    if least < TIMES_AS_LONG * usual_s * NANOSECONDS:
        return False
    more_s = least / NANOSECONDS - usual_s
    again = more_s >= NOT_DELAYED_S and undelayed(more_s, full, soon) > AT_ONCE
    return again or end - begin >= LASTED * least


def _confidence(
    rtt_s: float, usual_s: float, acks: int, turns: int, not_delayed: int
) -> Confidence | None:
    """How sure the path is the cause; None where that an ACK was delayed is as good a reason."""
    more_s = rtt_s - usual_s
    if more_s < NOT_DELAYED_S:
        if more_s < LEAST_OF_MANY_S or rtt_s < BUSY_TIMES * usual_s or acks < BUSY[0]:
            return None
        if acks >= BUSY[1]:
            return "likely"
        return "possible" if more_s >= LEAST_S else None
    if not_delayed >= UNDELAYED[1] or (more_s > ALLOWED_S and acks + turns >= MANY):
        return "certain"
    return "likely" if not_delayed >= UNDELAYED[0] or more_s > DELAYED_S else None


def _slow(side: str) -> str:
    return f"""
        select client, server, '{side}', {side}_slow_from, {side}_slow_until, {side}_slow_rtt,
               {side}_slow_acks, {side}_slow_turns, {side}_slow_full, {side}_slow_soon,
               connection
        from connections where {side}_slow_rtt is not null
    """


_SLOW = f"""
    select * exclude connection from ({_slow("client")} union all {_slow("server")})
    order by connection
"""
