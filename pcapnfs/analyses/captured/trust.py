"""How far the numbers can be trusted: what was matched, what is missing, and why.

Two sums hold by definition: calls are matched or unanswered, replies are matched or orphans.
Nothing is dropped silently: each message that was not decoded to its end is in `undecoded_reasons`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import clock_ticks as _clock_ticks
from pcapnfs.analyses.captured import clocks_apart as _clocks_apart
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import earlier_replies as _earlier_replies
from pcapnfs.analyses.captured import ends as _ends
from pcapnfs.analyses.captured import put_behind as _put_behind
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.clocks_apart import clocks_apart
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY, directions
from pcapnfs.analyses.captured.earlier_replies import earlier_replies
from pcapnfs.analyses.captured.ends import cut_at_the_ends
from pcapnfs.analyses.captured.put_behind import put_behind
from pcapnfs.analyses.captured.rotation import not_given
from pcapnfs.analyses.captured.sealing import Sealing, sealing
from pcapnfs.analyses.captured.times_untold import times_untold
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.meta import CaptureFile
    from pcapnfs.trace import Trace

READS = columns.together(
    _clock_ticks.READS,
    _clocks_apart.READS,
    _directions.READS,
    _earlier_replies.READS,
    _ends.READS,
    _put_behind.READS,
    _sealing.READS,
    columns.of(
        calls="call connection reply_frame call_first_time call_time reply_time srt transmissions "
        "assumed",
        connections="client_segments server_segments client_bytes server_bytes missing_bytes "
        "truncated_bytes",
        notes="reason frame time connection call",
    ),
)
"""The columns that the queries here read."""

DUPLICATE_REPLY = "duplicate_reply"
"""Reason of a reply that came again."""

LATE_RETRANSMISSION = "retransmitted_call"
"""Reason of a call that came again after its reply."""

COUNTED_APART = (ORPHAN_REPLY, DUPLICATE_REPLY, LATE_RETRANSMISSION)
"""Reasons with a field of their own; all others are messages that were not decoded to their end."""

FRAMES = 3
"""Frames of messages that were not decoded, of each reason: enough to look at."""

MOST = 0.5
"""A pause that takes so much of the capture is told: what the time went into rests on it. So is it
if of so many messages only the beginning is there."""

LEAST_PAUSE_S = 10
"""Shorter ones are usual in captures that are short themselves."""

SILENCE_S = 1
"""A pause that is shorter is no doubt about calls that took as long: many take it, and clocks are
seldom set by so little."""

NEARLY = 0.95
"""What takes so much of that pause, or more, holds it: of a call that stood still for as long, what
such calls usually take is not counted, a twentieth at most."""

MUCH = 0.05
"""From so large a share that the capture lacks, a time without a call says nothing: what is lost by
chance is below a hundredth, as a rule, and a file that is missing of a rotation of ten above."""


class Trust(Record):
    """What the capture holds and what it does not."""

    rpc_calls: int
    """Distinct RPC calls; one that was retransmitted counts once."""
    rpc_replies: int
    """Distinct RPC replies: matched and orphan_replies together."""
    matched: int
    """Calls whose reply was found."""
    matched_share: float | None
    """matched divided by rpc_calls, 0…1; None without calls."""
    unanswered: int
    """Calls without a reply."""
    unanswered_at_end: int
    """Part of unanswered: sent so close to the end of the capture that the reply may have come
    after it: less than twice the 99th percentile of the service times on their connection, or of
    their operation at that server, whichever is longer."""
    orphan_replies: int
    """Replies whose call is not in the capture."""
    orphan_replies_at_start: int
    """Part of orphan_replies: so close to the start of the capture that the call may have begun
    before it (less than twice the 99th percentile of what calls of their connection take, with
    their own transfer), or on a TCP connection that was there before and of which nothing lacks, so
    that it must have."""
    calls_alone: int
    """Part of unanswered: on connections of which only what the client sent is in the capture, and
    where the client had no reason to send it again, or acknowledged as much as their replies take.
    0 where they are fewer than five."""
    replies_alone: int
    """Part of orphan_replies: on connections without any call. 0 where they are fewer than five, or
    where packets were cut, since a call takes more of a packet than a reply to be known."""
    callbacks_alone: int
    """Part of unanswered: what servers asked clients on the connections of replies_alone."""
    answers_alone: int
    """Part of orphan_replies: what clients answered to servers on the connections of
    calls_alone."""
    retransmitted_calls: int
    """Calls that were sent more than once, before or after their reply."""
    duplicate_replies: int
    """Replies that came again for a call that had its reply; not in rpc_replies."""
    assumed_outcomes: int
    """Calls whose status is not in the capture (cut, lost or encrypted); for the stable split they
    are taken for successes."""
    negative_times: int
    """Calls whose reply the capture holds before the call; their service times are kept as they
    are."""
    clocks_apart_s: float | None
    """By how much at least the clocks behind the two directions are apart, seconds: replies are in
    the capture before their calls again and again, or segments of the server behind their
    acknowledgements. None where nothing tells that they are."""
    times_untold: bool
    """That is so much, or the clock so coarse, that what calls took is not known, or a matter of
    chance: there is no verdict, no model and no finding on times."""
    clock_tick_s: float | None
    """What all times of the capture are multiples of, seconds: shorter times cannot be told. None
    where that is less than a millisecond, or there are too few times."""
    clock_stands: bool
    """No call took any time by the capture's clock: its tick is longer than all of them, or packets
    were written without their times."""
    undecoded: int
    """Messages that were not decoded to their end: the sum of undecoded_reasons."""
    undecoded_reasons: Mapping[str, int]
    """Messages that were not decoded to their end, by the code of the reason (docs/reasons.md)."""
    sealed: Sealing
    """What is encrypted, by TLS as a whole or call by call."""
    missing_bytes: int
    """Bytes that were sent but are not in the capture, without those past the snaplen."""
    bytes_alone: int
    """Part of missing_bytes: on the connections of calls_alone and replies_alone, or in the capture
    by another clock."""
    truncated_bytes: int
    """Payload bytes past the snaplen."""
    kept_bytes: float | None
    """Payload kept of a segment or datagram, mean over those with data on connections where any was
    cut, bytes; None without any."""
    truncated_packets: int
    """Packets that were cut at the snaplen."""
    dropped_packets: int | None
    """Packets that the capturing host says it lost; None when the capture does not tell."""
    untimed_packets: int
    """Packets that have no time, as those of pcapng's simple packet blocks, or one before 1970 or
    after 2116: that of the packet before stands for it, so that what lasted in between is not
    known."""
    mistimed_packets: int
    """Packets that state a time that cannot be, before or after all around them: that of the packet
    before stands for it, so that what lasted in between is not known."""
    late_packets: int
    """Packets that stand behind others that came later, and were taken in order of time: Wireshark
    sees the same once reordercap put them in order. Frame numbers are those of the file."""
    forgotten_files: int
    """Files and names that were forgotten to keep within memory (docs/robustness.md): those that
    came again count as others, and their paths may not be known."""
    lacking_share: float | None
    """The share of the bytes of captured directions that are missing, or that of calls (by replies
    without one, but as the capture began), whichever is larger, 0…1; None without calls.
    Calls without a reply do not count: the server may not have answered."""
    set_back: int
    """How often the clock of the capturing host was set back by more than a second. Times are
    counted on from there: they are later than those that Wireshark shows, by `set_back_s`."""
    set_back_s: float
    """By how much, in all, seconds."""
    set_back_frame: int | None
    """The frame before which it was for the first time; None for never, and where that file's
    frames are among those of others."""
    set_forward: int
    """How often it was set forward by more than a second, as the TCP timestamps of both ends tell.
    Times are counted on from there: they are earlier than those that Wireshark shows, by
    `set_forward_s`."""
    set_forward_s: float
    """By how much, in all, seconds."""
    set_forward_frame: int | None
    """The frame before which it was for the first time; None for never, and where that file's
    frames are among those of others."""
    untold_pause_s: float | None
    """How long nothing was captured at once, seconds, where nothing tells whether the clock of the
    capturing host was set forward meanwhile, and that is half of the capture or more, and 10 s.
    None otherwise."""
    untold_pause_frame: int | None
    """The frame behind that pause; None as of `set_back_frame`, and without such a pause."""
    damaged_files: int
    """Files that are empty, break off or contradict themselves."""
    complete: bool
    """Every call has its reply and every reply its call, all were decoded, nothing is missing or
    damaged, no file of a rotation was left out, every packet has a time that can be, and both
    directions have one clock, which tells what calls took."""
    files_not_given: tuple[str, ...] = ()
    """Numbers of a rotation's files that were not given, between others that were, as the names
    tell: `1`, or `2 to 3`. What they hold counts as neither missing nor damaged."""
    undecoded_frames: Mapping[str, tuple[int, ...]] = {}
    """For each of undecoded_reasons the first frames, three at most, with such a message."""
    put_behind: str | None = None
    """`calls` or `replies`: what stands first, where times go back once and all of one direction
    stand before that place, and all of the other behind it, as `cat` and `mergecap -a` put two
    files together. No clock was set back then, and what calls took is not known. None
    otherwise."""
    earlier_replies: int = 0
    """Replies without call that stand behind a call without reply of the same xid and bear an
    earlier time: the clock of the capturing host was set back between the two, by less than a
    second, and nothing is missing. 0 where the two directions are apart altogether."""
    silence_s: float | None = None
    """The longest time for which nothing was captured, and nothing tells whether the clock of the
    capturing host was set forward meanwhile, seconds: what a call took that waited for as long may
    be that. None below a second, and of several files, which may have shown something."""

    @property
    def one_way(self) -> str | None:
        """What all connections lack: `replies` or `calls`; None where any has both."""
        if self.matched:
            return None
        if self.calls_alone and self.calls_alone == self.unanswered:
            return "replies"
        if self.replies_alone and self.rpc_calls == self.callbacks_alone:
            return "calls"
        return None

    @property
    def clock_untold(self) -> bool:
        """Whether what calls took is not known since the capture's clock is too coarse."""
        return self.times_untold and (self.clock_stands or not self.out_of_step)

    @property
    def out_of_step(self) -> bool:
        """Whether both directions are there, but not at the same time."""
        return self.clocks_apart_s is not None or self.put_behind is not None

    @property
    def mostly_unread(self) -> bool:
        """Whether what can be read stands for nothing else.

        Most of the traffic is encrypted, or most calls lack their replies for lack of a direction.
        """
        return self.sealed.mostly or _directions.mostly(self.calls_alone, self.rpc_calls)

    @property
    def cut_short(self) -> int:
        """Messages that were cut at the snaplen, so that they could not be read to their end."""
        return self.undecoded_reasons.get("truncated", 0)

    @property
    def mostly_cut_short(self) -> bool:
        """Whether most messages were: names, sizes and outcomes may be missing anywhere."""
        return self.cut_short > 0 and self.cut_short >= MOST * (self.rpc_calls + self.rpc_replies)

    @property
    def mostly_unseen(self) -> bool:
        """Whether most calls or their replies cannot even be seen, as under TLS, or cut off.

        Then nothing tells how long they took in all. Under Kerberos they can be seen.
        """
        hidden = self.sealed.hidden_share >= _sealing.MOST
        return hidden or _directions.mostly(self.calls_alone, self.rpc_calls)

    @property
    def lacks_much(self) -> bool:
        """Whether so much is not in the capture that calls may be under way where none is."""
        return (self.lacking_share or 0.0) >= MUCH

    @property
    def lost_bytes(self) -> int:
        """Bytes that are missing of directions that were captured."""
        return self.missing_bytes - self.bytes_alone

    @property
    def unanswered_within(self) -> int:
        """Calls without a reply, but for those sent as the capture ended."""
        return self.unanswered - self.unanswered_at_end

    @property
    def orphans_within(self) -> int:
        """Replies without a call, but for those that came as the capture began."""
        return self.orphan_replies - self.orphan_replies_at_start


@once
def trust(trace: Trace) -> Trust:
    """Count what was matched and decoded, and what was not, by reason."""
    calls, noted, payload = _calls(trace), _noted(trace), _payload(trace)
    unanswered_at_end, orphans_at_start = cut_at_the_ends(trace)
    alone, apart, first = directions(trace), clocks_apart(trace), put_behind(trace)
    if apart.least_s is not None or first is not None:
        # Both directions are there, far from one another.
        alone = replace(alone, calls=0, replies=0, callbacks=0, answers=0)
    files, pause = trace.meta.files, _untold_pause(trace)
    dropped = [file.dropped_packets for file in files if file.dropped_packets is not None]
    untimed = sum(file.untimed_packets for file in files)
    mistimed = sum(file.mistimed_packets for file in files)
    damaged = sum(file.damage is not None for file in files)
    left_out = not_given(file.path for file in files)
    set_back = [file for file in files if file.set_back]
    set_forward = [file for file in files if file.set_forward]
    (longest, *several) = files or (None,)
    silence_s = longest.untold_pause_ns / NANOSECONDS if longest and not several else 0.0
    orphans = noted.messages.get(ORPHAN_REPLY, 0)
    lost_bytes = payload.missing_bytes - alone.missing_bytes
    earlier = 0 if apart.least_s is not None or first is not None else earlier_replies(trace)
    without_call = orphans - orphans_at_start - alone.replies - alone.answers - earlier
    return Trust(
        rpc_calls=calls.all,
        rpc_replies=calls.matched + orphans,
        matched=calls.matched,
        matched_share=calls.matched / calls.all if calls.all else None,
        unanswered=calls.all - calls.matched,
        unanswered_at_end=unanswered_at_end,
        orphan_replies=orphans,
        orphan_replies_at_start=orphans_at_start,
        calls_alone=alone.calls,
        replies_alone=alone.replies,
        callbacks_alone=alone.callbacks,
        answers_alone=alone.answers,
        retransmitted_calls=calls.retransmitted,
        duplicate_replies=noted.messages.get(DUPLICATE_REPLY, 0),
        assumed_outcomes=calls.assumed,
        negative_times=calls.negative,
        clocks_apart_s=apart.least_s if first is None else None,
        put_behind=first,
        earlier_replies=earlier,
        times_untold=times_untold(trace),
        clock_tick_s=clock(trace).tick_s,
        clock_stands=clock(trace).stands,
        undecoded=sum(noted.undecoded.values()),
        undecoded_reasons=noted.undecoded,
        undecoded_frames=noted.frames,
        sealed=sealing(trace),
        missing_bytes=payload.missing_bytes,
        bytes_alone=alone.missing_bytes,
        truncated_bytes=payload.truncated_bytes,
        kept_bytes=payload.kept_bytes,
        truncated_packets=sum(file.truncated_packets for file in files),
        dropped_packets=sum(dropped) if dropped else None,
        untimed_packets=untimed,
        mistimed_packets=mistimed,
        late_packets=sum(file.late_packets for file in files),
        forgotten_files=trace.meta.forgotten_files,
        lacking_share=max(
            _share(lost_bytes, payload.seen_bytes + lost_bytes),
            _share(without_call, calls.all + orphans),
        )
        if calls.all
        else None,
        set_back=sum(file.set_back for file in set_back),
        set_back_s=sum(file.set_back_ns for file in set_back) / NANOSECONDS,
        set_back_frame=set_back[0].set_back_frame if set_back else None,
        set_forward=sum(file.set_forward for file in set_forward),
        set_forward_s=sum(file.set_forward_ns for file in set_forward) / NANOSECONDS,
        set_forward_frame=set_forward[0].set_forward_frame if set_forward else None,
        untold_pause_s=pause.untold_pause_ns / NANOSECONDS if pause else None,
        untold_pause_frame=pause.untold_pause_frame if pause else None,
        silence_s=silence_s if silence_s >= SILENCE_S else None,
        damaged_files=damaged,
        files_not_given=left_out,
        complete=not (
            calls.all - calls.matched
            or orphans
            or noted.undecoded
            or payload.missing_bytes
            or untimed
            or mistimed
            or damaged
            or left_out
            or sum(dropped)
            or apart.least_s is not None
            or first is not None
            or clock(trace).untold
        ),
    )


class _Calls(Record):
    """Calls, counted."""

    all: int
    """All of them."""
    matched: int
    """Those whose reply was found."""
    retransmitted: int
    """Those that were sent more than once, before or after their reply."""
    assumed: int
    """Those whose status is not in the capture."""
    negative: int
    """Those whose reply stands before them."""


def _calls(trace: Trace) -> _Calls:
    ((everything, matched, retransmitted, assumed, negative),) = trace.rows(
        """
        select count(*), count(reply_frame),
               count(*) filter (
                   transmissions > 1 or call in (select call from notes where reason = $late)
               ),
               count(*) filter (assumed),
               count(*) filter (srt < 0)
        from calls
        """,
        {"late": LATE_RETRANSMISSION},
    )
    return _Calls(everything, matched, retransmitted, assumed, negative)


class _Noted(Record):
    """Messages that were noted, by the code of the reason."""

    messages: Mapping[str, int]
    """All of them, the most frequent reasons first."""
    frames: Mapping[str, tuple[int, ...]]
    """Of those that were not decoded to their end, the first frames."""

    @property
    def undecoded(self) -> dict[str, int]:
        """Those that were not decoded to their end, in that order."""
        return {reason: self.messages[reason] for reason in self.frames}


def _noted(trace: Trace) -> _Noted:
    rows = trace.rows(
        f"""
        select reason, count(*), min(frame::bigint, {FRAMES})
        from notes group by reason order by count(*) desc, reason
        """
    )
    return _Noted(
        messages={reason: messages for reason, messages, _ in rows},
        frames={
            reason: tuple(dict.fromkeys(frames))
            for reason, _, frames in rows
            if reason not in COUNTED_APART
        },
    )


class _Payload(Record):
    """Payload bytes of all connections."""

    missing_bytes: int
    """Sent, and not in the capture."""
    seen_bytes: int
    """In the capture, with those past the snaplen."""
    truncated_bytes: int
    """Past the snaplen."""
    kept_bytes: float | None
    """Kept of a segment or datagram where any was cut, mean; None where none was."""


def _payload(trace: Trace) -> _Payload:
    ((missing, seen, truncated, kept, segments),) = trace.rows(
        """
        select sum(missing_bytes), sum(client_bytes::hugeint + server_bytes), sum(truncated_bytes),
               sum(client_bytes::bigint + server_bytes::bigint - truncated_bytes::bigint)
                   filter (truncated_bytes > 0),
               sum(client_segments + server_segments) filter (truncated_bytes > 0)
        from connections
        """
    )
    return _Payload(
        missing_bytes=integer(missing),
        seen_bytes=integer(seen),
        truncated_bytes=integer(truncated),
        kept_bytes=max(0, integer(kept)) / integer(segments) if segments else None,
    )


def _untold_pause(trace: Trace) -> CaptureFile | None:
    """The file with the longest pause of which nothing tells, if that is most of the capture.

    Between frames of other files it is no pause of the capture.
    """
    begin_ns, end_ns = trace.meta.start_ns, trace.meta.end_ns
    told = [file for file in trace.meta.files if file.untold_pause_frame is not None]
    longest = max(told, key=lambda file: file.untold_pause_ns, default=None)
    if longest is None or begin_ns is None or end_ns is None:
        return None
    least_ns = max(MOST * (end_ns - begin_ns), LEAST_PAUSE_S * NANOSECONDS)
    return longest if longest.untold_pause_ns >= least_ns else None


def _share(part: int, whole: int) -> float:
    return max(0.0, part / whole) if whole else 0.0
