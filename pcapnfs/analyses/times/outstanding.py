"""When each call of a client was outstanding, and with what: from its first byte to its answer.

Takes a trace; gives an interval for each call, and the parts of it that went into moving its bytes
and into waiting until the server was ready. Promises that parts lie within their interval one after
the other, and all of them within the span of the capture. Callbacks are the server's calls: left
out.

- A call of which the capture shows that nobody answered it (silent_calls.py) is outstanding for as
  long as it shows that.
- Any other call without reply is outstanding until a call that the same client sent to the same
  server later is answered: from then on nothing shows that the client still waits, and a reply that
  the capture has lost does not count as outstanding for ever. Of a client that never has two calls
  under way there, as far as they are answered, it is only until the next one is sent. Without such
  a reply or call it is outstanding to the capture's end.
- A call that the server was not ready for (DELAY, GRACE …) is outstanding until the client sends
  the same call again: it waits for the server although no call is on its way. Where that is not in
  the capture but its reply is (lonely_replies.py), it is until then.
- A COPY that the server carries out in the background is outstanding until CB_OFFLOAD tells its end
  (RFC 7862 section 15.2).
- A call that came again after its answer had come by the capture point on its way to the client was
  outstanding until then: that answer was lost (lost_replies.py).
- A reply that the capture holds before its call ends it at once.
- Bytes of a call move as well while its reply waits for those before it on its connection to be
  sent (queued_replies.py).
- Where the capture was not taken at the client, the client sent each call earlier, and got each
  reply later, by half the round trip that lies between. Where TCP does not tell the place, nothing
  is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.arrays import distinct, find, looked_up, pieces
from pcapnfs.analyses.asking.equal_shares import Intervals
from pcapnfs.analyses.asking.texts import place
from pcapnfs.analyses.captured import lonely_replies, traffic
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured import times_untold as _times_untold
from pcapnfs.analyses.captured.directions import any_orphan
from pcapnfs.analyses.captured.sealing import sealed_clients
from pcapnfs.analyses.captured.times_untold import times_untold
from pcapnfs.analyses.data import offloads
from pcapnfs.analyses.servers import same_calls, silent_calls
from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.wire import lost_replies
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.analyses.wire import queued_replies as _queued_replies
from pcapnfs.analyses.wire.network_path import network_path
from pcapnfs.analyses.wire.queued_replies import queued_replies
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

    Calls = NDArray[np.unsignedinteger[Any]]
    Places = NDArray[np.int64]
    Times = NDArray[np.int64]
    Rows = dict[str, NDArray[Any]]

READS = columns.together(
    _times_untold.READS,
    _network_path.READS,
    lonely_replies.READS,
    lost_replies.READS,
    _queued_replies.READS,
    same_calls.READS,
    silent_calls.READS,
    traffic.READS,
    _sealing.CLIENTS_READS,
    offloads.READS,
    columns.of(
        calls="call mount callback connection stability call_first_time call_time "
        "reply_first_time reply_time transmissions status_name",
        connections="connection first_time",
        files="listed_only",
    ),
)
"""The columns that the queries here read."""

KINDS = ("stable", "unstable", "unstable_write", "read", "state", "unknown")
"""What a call is outstanding for, by its column `stability`; without reply that is unknown."""

UNKNOWN = KINDS.index("unknown")
"""Kind of a call without a known outcome."""

TRANSFER = len(KINDS)
"""Kind of a part in which the call's own bytes were moving, or those that its reply had to wait
for."""

WAITING = len(KINDS) + 1
"""Kind of a part in which the client waited until the server was ready, or reachable, or answered
at all."""

PAUSE_LIMIT_NS = 60_000_000_000
"""Longest pause before the same call comes again. Linux waits for 5 s in NFSv3 and up to 15 s in
NFSv4, others for 10 s; what comes later is taken for a call of its own."""


SERIAL_CALLS = 30
"""Answered calls from which on a client that never had two under way makes one after the other."""

SPAN_LIMIT_NS = 2**62
"""Longest span, 146 years: a damaged capture may claim any times, and beyond this their differences
would not fit."""


class Outstanding(Record):
    """Intervals of calls in nanoseconds since the capture's start."""

    span_ns: int
    """From the capture's first packet to its last, ns; at most `SPAN_LIMIT_NS`."""
    clients: tuple[str, ...]
    """Addresses of the clients, sorted; `intervals.group` counts them from 0."""
    call: Calls
    """Number of each call (table calls), ascending."""
    kind: NDArray[np.uint8]
    """What each call was outstanding for: the place in `KINDS`, or `WAITING`."""
    intervals: Intervals
    """When each call was outstanding."""
    part_kind: NDArray[np.uint8]
    """For each part of a call, `TRANSFER` or `WAITING`."""
    added_ns: NDArray[np.float64]
    """By client, what was added to each call, mean over its calls, ns."""
    placed_share: NDArray[np.float64]
    """By client, the share of its calls, 0…1, of which it is known where they were captured."""
    sealed: NDArray[np.bool_]
    """By client, whether most of what it sent and got is under TLS: nobody knows what was
    outstanding when no call is seen."""
    untold: bool = False
    """The capture's clocks do not tell when any call was."""


Added = Mapping[tuple[str, str], int]
"""By client and server, how much longer than the capture shows the client waited for a call, ns."""


def outstanding(trace: Trace, *, added_ns: Added | None = None) -> Outstanding:
    """Find out when each call of a client was outstanding.

    Args:
        trace: The trace.
        added_ns: The round trip between client and capture point, where it is known; None: ask
            TCP (round_trip.py).
    """
    trace.make_room()
    span = _Span.of(trace)
    pairs, rows = _rows(trace, span)
    clients = sorted({client for client, _ in pairs})
    number = {client: place for place, client in enumerate(clients)}
    sealed = sealed_clients(trace)
    known = network_path(trace).added_ns if added_ns is None else added_ns
    added = np.array([known.get(pair, 0) for pair in pairs], np.int64)
    placed = np.array([pair in known for pair in pairs], np.bool_)
    # Captures hold millions of calls: a column takes the place of what it is worked out from.
    pair, sent, refused = rows.pop("pair"), rows["sent"], rows.pop("refused")
    refused[find(rows["call"], same_calls.referrals(trace))] = False
    of_pair = np.array([number[client] for client, _ in pairs], np.int32)
    counts = np.bincount(pair, minlength=len(pairs))
    of_clients = np.maximum(1, np.bincount(of_pair, counts, len(clients)))
    first = np.minimum(rows["first"], sent, out=rows.pop("first"))
    answered = _answered(rows, pair, first, span.length_ns)
    hung, until = _hung(trace, span, rows)
    answered[hung] = until
    # Nothing but waiting, as with a refusal.
    refused[hung] = True
    del rows["sent"]
    np.maximum(answered, sent, out=answered)
    answering, unanswered = rows.pop("answering"), rows.pop("unanswered")
    np.copyto(answering, answered, where=unanswered)
    queued = queued_replies(trace)
    answering[find(rows["call"], queued.call)] = span.since_start(queued.since_ns.copy())
    np.clip(answering, sent, answered, out=answering)
    resent, again = _again(trace, span, rows["call"], answered)
    copied, done = _offloaded(trace, span, rows["call"])
    moved, reached = _reached(trace, span, rows["call"], rows.pop("resent"))
    reached = np.clip(reached, sent[moved], answering[moved])
    # The client sent each call earlier than it came by here, and got each reply later.
    before, after = added // 2, added - added // 2
    lost, came = _lost(trace, span, rows["call"])
    beyond = after[pair[lost]] > 0
    lost, came = lost[beyond], came[beyond]
    sending, replying = np.flatnonzero(first < sent), np.flatnonzero(answering < answered)
    parts = (
        _Parts(TRANSFER, sending, first[sending], sent[sending], before),
        _Parts(WAITING, moved, sent[moved], reached, before),
        _Parts(TRANSFER, replying, answering[replying], answered[replying], -after),
        _Parts(WAITING, lost, answered[lost], np.maximum(answered[lost], came), -after),
    )
    del sent, answering
    part_of = np.concatenate([part.of for part in parts]).astype(np.int32)
    kinds = np.concatenate([np.full(len(part.of), part.kind, np.uint8) for part in parts])

    def seen(part: _Parts, times: Times) -> Times:
        return span.within(times - part.earlier[pair[part.of]])

    begins = np.concatenate([seen(part, part.begin) for part in parts])
    ends = np.concatenate([seen(part, part.end) for part in parts])
    # A call that was refused, or never answered, waited all along.
    kept = ~refused[part_of]
    for piece in pieces(len(pair)):
        first[piece] -= before[pair[piece]]
        answered[piece] += after[pair[piece]]
    end = span.within(answered)
    end[resent] = np.maximum(end[resent], again - before[pair[resent]])
    end[copied] = np.maximum(end[copied], span.within(done + after[pair[copied]]))
    end[lost] = np.maximum(end[lost], span.within(came + after[pair[lost]]))
    return Outstanding(
        span_ns=span.length_ns,
        clients=tuple(clients),
        call=rows["call"],
        kind=np.where(refused, np.uint8(WAITING), rows["kind"]),
        intervals=Intervals(
            begin=span.within(first),
            end=end,
            group=of_pair[pair],
            groups=len(clients),
            part_of=part_of[kept],
            part_begin=begins[kept],
            part_end=ends[kept],
        ),
        part_kind=kinds[kept],
        added_ns=np.bincount(of_pair, counts * added, len(clients)) / of_clients,
        placed_share=np.bincount(of_pair, counts * placed, len(clients)) / of_clients,
        sealed=np.array([client in sealed for client in clients], np.bool_),
        untold=times_untold(trace),
    )


class _Parts(Record):
    """Parts of calls, all of one kind, as the capture shows them."""

    kind: int
    """`TRANSFER` or `WAITING`."""
    of: Places
    """The call of each."""
    begin: Times
    """Begin of each, ns since the start."""
    end: Times
    """End of each, likewise."""
    earlier: Times
    """By pair of client and server, how much earlier this was for the client, ns."""


class _Span(Record):
    """The time from the capture's first packet to its last."""

    start_ns: int
    """Since 1970."""
    length_ns: int
    """At most `SPAN_LIMIT_NS`."""

    @classmethod
    def of(cls, trace: Trace) -> _Span:
        """What the files say; nothing without packets."""
        start, end = trace.meta.start_ns or 0, trace.meta.end_ns or 0
        return cls(start, min(max(0, end - start), SPAN_LIMIT_NS))

    def within(self, times: Times) -> Times:
        """Make times since the start lie within the span."""
        return np.clip(times, 0, self.length_ns, out=times)

    def since_start(self, times: Times) -> Times:
        """Make times since 1970 such since the start, within the span."""
        np.clip(times, self.start_ns, self.start_ns + self.length_ns, out=times)
        times -= self.start_ns
        return times


def _rows(trace: Trace, span: _Span) -> tuple[list[tuple[str, str]], Rows]:
    """The pairs of client and server, and the calls in order of number."""
    beside = traffic.beside(trace)
    mounts = {mount: pair for mount, pair in traffic.mounts(trace).items() if mount not in beside}
    pairs = sorted(set(mounts.values()))
    # Without parameters: with them, DuckDB takes fifty times as long to hand over many rows.
    rows = parts.by_call(
        trace,
        f"""
        select call, {"mount" if len(pairs) > 1 else "0::integer"} as pair,
               call_first_time as first, call_time as sent,
               coalesce(reply_first_time, call_time) as answering,
               coalesce(reply_time, call_time) as answered, reply_time is null as unanswered,
               (case when reply_time is null then {UNKNOWN}
                     else coalesce({place("stability", KINDS)}, {UNKNOWN}) end)::utinyint as kind,
               {_REFUSED} as refused,
               transmissions > 1 as resent
        from calls where {traffic.asked(trace)}
        """,
    )
    if len(pairs) > 1:
        places = {pair: place for place, pair in enumerate(pairs)}
        known = {mount: places[pair] for mount, pair in mounts.items()}
        rows["pair"] = looked_up(rows["pair"], known)
    moments = ("first", "sent", "answering", "answered")
    for name in moments:
        span.since_start(rows[name])
    return pairs, rows


def _answered(rows: Rows, pair: NDArray[np.int32], first: Times, end: int) -> Times:
    """When each call was answered; without reply, when nothing shows any more that it was not."""
    answered: Times = rows.pop("answered")
    unanswered = np.flatnonzero(rows["unanswered"])
    if not len(unanswered):
        return answered
    order = np.lexsort((rows["sent"], pair))
    ordered, sent = pair[order], rows["sent"][order]
    # A capture may put a reply before its call.
    replied = np.where(rows["unanswered"], end, np.maximum(answered, rows["sent"]))[order]
    found = answered.copy()
    for each in distinct(pair[unanswered]):
        members = slice(*np.searchsorted(ordered, (each, each + 1)))
        # The first reply to any call from each place on, in the order of sending.
        earliest = np.minimum.accumulate(replied[members][::-1])[::-1]
        earliest = np.append(earliest, end)
        asked = unanswered[pair[unanswered] == each]
        place = np.searchsorted(sent[members], rows["sent"][asked], "right")
        found[asked] = earliest[place]
        begun, untold = first[order[members]], rows["unanswered"][order[members]]
        if _one_at_a_time(begun, replied[members], untold):
            found[asked] = np.minimum(found[asked], np.append(begun, end)[place])
    return found


def _one_at_a_time(first: Times, replied: Times, unanswered: NDArray[np.bool_]) -> bool:
    """Whether calls, in the order of sending, were each answered before the next one was begun.

    Of those without a reply nobody knows; the others must be many.
    """
    begun, ended = first[~unanswered], replied[~unanswered]
    return len(begun) >= SERIAL_CALLS and bool((begun[1:] >= ended[:-1]).all())


def _hung(trace: Trace, span: _Span, rows: Rows) -> tuple[Places, Times]:
    """Places of calls that waited for an answer that never came, and until when."""
    if not silent_calls.any_waited(trace):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    silent = silent_calls.certain(trace)
    # Those beside NFS are none of these.
    known = np.isin(silent["call"], rows["call"])
    until = span.since_start(silent["until"][known])
    return find(rows["call"], silent["call"][known]), until


def _reached(
    trace: Trace, span: _Span, call: Calls, resent: NDArray[np.bool_]
) -> tuple[Places, Times]:
    """Places of calls that were answered on a connection begun later than them; when it began."""
    if not resent.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    moved = trace.arrays(
        f"""
        select call, first_time as reached
        from calls join connections using (connection)
        where {traffic.asked(trace)} and transmissions > 1 and first_time > call_time
        """
    )
    return find(call, moved["call"]), span.since_start(moved["reached"])


def _again(trace: Trace, span: _Span, call: Calls, answered: Times) -> tuple[Places, Times]:
    """Places of calls that the server was not ready for and that came again soon, and when."""
    if not same_calls.NEEDS.met(trace):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    same_calls.register(trace)
    sent = trace.arrays(
        f"""
        with same as (from {same_calls.TABLE}), refused as ({_CAME})
        select refused.call, same.call_first_time as again
        from refused asof join same
             on refused.kind = same.kind and same.call_first_time >= refused.came
        """
    )
    places, again = find(call, sent["call"]), span.since_start(sent["again"])
    soon = again - answered[places] <= PAUSE_LIMIT_NS
    places, again = places[soon], again[soon]
    if not any_orphan(trace):
        return places, again
    told = trace.arrays(lonely_replies.next_of(_CAME))
    answers, came = find(call, told["call"]), span.since_start(told["later"])
    soon = (came - answered[answers] <= PAUSE_LIMIT_NS) & ~np.isin(answers, places)
    return np.concatenate([places, answers[soon]]), np.concatenate([again, came[soon]])


def _lost(trace: Trace, span: _Span, call: Calls) -> tuple[Places, Times]:
    """Places of calls whose answer was lost on the way to the client, and when they came again."""
    if not lost_replies.any_again(trace):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return _later(trace, span, call, f"select call, again as later from ({lost_replies.ROWS})")


def _offloaded(trace: Trace, span: _Span, call: Calls) -> tuple[Places, Times]:
    """Places of COPYs that went on once they were answered, and when the server told their end."""
    if not offloads.register(trace):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return _later(trace, span, call, f"select call, done as later from {offloads.TABLE}")


def _later(trace: Trace, span: _Span, call: Calls, rows: str) -> tuple[Places, Times]:
    """Places of those calls of clients that a query tells, with `later`, and that moment."""
    found = trace.arrays(
        f"""
        select call, later
        from ({rows}) semi join (
            select call from calls where {traffic.asked(trace)}
        ) using (call)
        """
    )
    return find(call, found["call"]), span.since_start(found["later"])


_REFUSED = f"(reply_time is not null and {TOLD_LATER})"

# A clock that ticks slowly has both times alike: no call is its own successor.
_CAME = f"""
    select *, greatest(reply_time, call_first_time + 1) as came
    from {same_calls.TABLE} where {_REFUSED}
"""
"""Calls that the server was not ready for, and from when on they may come again."""
