"""Why pcapnfs and tshark differ about a call, as far as the call itself proves it.

Takes a difference with its circumstances; gives the code of a reason, or None: then somebody is
wrong, and it may be pcapnfs. Each reason rests on evidence in this call or connection, never on the
name of a capture, so that a fault of the decoder is not excused by company.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from pcapnfs.operations import operation_numbers
from pcapnfs.programs import MOUNT, NFS, NFSACL, NLM, NSM, PORTMAPPER, RQUOTA
from pcapnfs.record import Record
from pcapnfs.verify.messages import Message
from pcapnfs.verify.ours import TRANSIENT, Call

TEXTS = {
    "snaplen": "the capture keeps only the beginning of packets: tshark stops at the cut, or takes "
    "the operation at the cut for whole",
    "first_segment": "tshark takes the first segment of a message that the snaplen cut for the "
    "whole of it",
    "hole_filled": "the message came behind a segment that was lost and sent again: pcapnfs counts "
    "it as complete when the hole is filled, tshark with its own last byte, since it cannot wait "
    "where packets were cut or are missing",
    "behind_gap": "tshark loses the boundaries of messages where bytes are missing in the capture, "
    "for the rest of the connection",
    "beginning_only": "the capture holds only the beginning of the message, which tshark does not "
    "dissect",
    "other_connection": "tshark takes the packets for those of a new connection (a SYN flag, or "
    "ports used again), and does not pair across",
    "unknown_operation": "tshark stops at an operation that it does not know",
    "flag_unread": "tshark does not read the flag behind the reason for which an OPEN brought no "
    "delegation, and stops there",
    "malformed": "bytes of the message contradict the protocol: both stop there, and pcapnfs takes "
    "the rest of the operations from the reply",
    "wrong_offset": "tshark reads arguments that it does not know, and goes on at a wrong place: "
    "it shows operations that do not exist",
    "illegal": "the server answered an operation that it does not support as ILLEGAL, by which "
    "tshark names it: pcapnfs names it by the call",
    "long_compound": "tshark shows no more than 128 operations of a compound",
    "long_record": "the message is longer than 4 MiB, which tshark does not put together unless "
    "told (rpc.max_tcp_pdu_size)",
    "not_recognized": "tshark sees no message at all in the frame, and takes its data for part of "
    "another: it loses the boundaries of messages where a record's mark stands across two segments",
    "other_program": "an RPC program that has nothing to do with NFS: pcapnfs does not decode it",
    "header_cut": "the capture ends within the message's header, before the procedure: nothing "
    "says what was called",
    "early_reply": "the reply comes before its call in the capture: tshark pairs it with calls "
    "before it only",
    "odd_time": "a packet states a time that cannot be, or the clock of the capture was set: "
    "pcapnfs goes by the packets around it, or by their timestamps",
    "mixed_up": "packets stand behind others that came later: pcapnfs takes them in order of time, "
    "tshark as they stand (reordercap puts them in order for both)",
    "xid_again": "the call has the xid of another one on its connection that was answered before: "
    "tshark takes it for that one, sent again",
    "rdma_apart": "over RDMA tshark pairs messages, and puts together what is read, only where the "
    "capture holds the beginning of the connection, and nothing was sent again",
    "answered_by_call": "a call of the lock manager in the form that another call answers "
    "(LOCK_MSG, LOCK_RES): to pcapnfs that is its reply, to tshark the empty one, if any",
    "call_lost": "tshark did not find the call, hence does not know what the reply answers",
}
"""Codes and what they mean, as a clause."""

_PROGRAMS = {PORTMAPPER, NFS, MOUNT, RQUOTA, NLM, NSM, NFSACL}
"""What pcapnfs looks for: portmapper, NFS, MOUNT, remote quotas, NLM, NSM, NFSACL."""

_ASYNCHRONOUS = range(6, 11)
"""Procedures of NLM that other calls answer: TEST_MSG to GRANTED_MSG (X/Open C702 chapter 10)."""

_ILLEGAL = 10044
"""What answers an operation that the server does not support (RFC 8881 section 18.52)."""

_OPEN = 18

_WITH_FLAG = (1, 2)
"""WND4_CONTENTION and WND4_RESOURCE: whether the server will tell when that is over stands behind
them (RFC 8881 section 18.16.2)."""

_MOST_OPERATIONS = 128
"""Of a compound, so many are shown by tshark."""

_LONGEST_RECORD_BYTES = 4 << 20
"""tshark's default for rpc.max_tcp_pdu_size."""

_UNKNOWN_TO_TSHARK = {46, 54, 56}
"""Operations that tshark 4.0 does not dissect: GET_DIR_DELEGATION, SET_SSV, WANT_DELEGATION."""


@dataclass(slots=True, eq=False)
class Pair:
    """A call that both sides have."""

    call: Call
    """Ours."""
    message: Message
    """tshark's."""
    sent: list[Message] = field(default_factory=list)
    """Its transmissions on different connections: to tshark, different calls."""
    moved: bool = False
    """tshark shows it in another conversation than the call before on the same connection."""
    reply: Message | None = None
    """tshark's reply; None as long as there is none."""

    @property
    def service_time_ns(self) -> int | None:
        """tshark's, but from our frame of the first transmission on; None without reply."""
        if self.reply is None or self.reply.srt_ns is None:
            return None
        answered = next(sent for sent in self.sent if sent.frame == self.reply.call_frame)
        return self.reply.srt_ns + answered.time_ns - self.call.call_time_ns


class Situation(Record):
    """What is known of the capture as a whole."""

    truncated: bool = False
    """Packets were cut at a snaplen."""
    missing: bool = False
    """Bytes of some connection are missing."""
    odd_times: bool = False
    """Packets state times that cannot be, or the clock was set back or forward."""
    mixed_up: bool = False
    """Packets were taken in order of time, which is not that of the file."""
    orphans: Collection[tuple[int, int]] = frozenset()
    """Frame and xid of replies without a call, as pcapnfs found them."""
    unsure: bool = False
    """Some connections of RDMA have no beginning, or packets that were sent again."""
    used_again: Collection[tuple[int, int]] = frozenset()
    """Frame and xid of calls whose xid was that of another call, which was answered before."""
    silent: AbstractSet[int] = frozenset()
    """Frames in which a message of ours ends, and in which tshark sees no message."""

    @property
    def otherwise(self) -> str | None:
        """Why they differ about any call of this capture, where it has no reason of its own."""
        return "mixed_up" if self.mixed_up else None

    @property
    def impatient(self) -> bool:
        """Segments out of order are not waited for: tshark would wait for ever."""
        return self.truncated or self.missing


def only_ours(call: Call, situation: Situation) -> str | None:
    """Why tshark does not show a call."""
    if call.beginning:
        return "beginning_only"
    if call.missing:
        return "behind_gap"
    if situation.truncated and call.undecoded == "truncated":
        return "snaplen"
    if call.call_bytes > _LONGEST_RECORD_BYTES:
        return "long_record"
    if call.unsure:
        return "rdma_apart"
    if call.call_frame not in situation.silent:
        return None
    # tshark waits for what is missing.
    return "beginning_only" if call.undecoded == "missing" else "not_recognized"


def only_theirs(message: Message, situation: Situation) -> str | None:
    """Why pcapnfs does not show a call."""
    if message.program is not None and not _looked_for(message.program):
        return "other_program"
    if situation.truncated and message.procedure is None:
        return "header_cut"
    return "rdma_apart" if message.carried and situation.unsure else None


def orphan(message: Message, situation: Situation) -> str | None:
    """Why tshark has no call for a reply that pcapnfs pairs or does not show."""
    if situation.missing:
        return "behind_gap"
    if situation.truncated:
        return "snaplen"
    return "rdma_apart" if message.carried and situation.unsure else None


def differing(aspect: str, pair: Pair, orphan: Message | None, situation: Situation) -> str | None:
    """Why an aspect of a call differs.

    `orphan` is the message in our reply's place for which tshark has no call.
    """
    call, reply = pair.call, pair.reply
    if aspect == "call":
        # tshark looks into a credential of RPCSEC_GSS before it shows the procedure.
        same = (call.program, call.version) == (pair.message.program, pair.message.version)
        stopped = same and pair.message.procedure is None
        cut = situation.truncated and call.undecoded == "truncated"
        return "snaplen" if stopped and cut else None
    if aspect in ("operations", "results"):
        asked = aspect == "operations"
        mine = call.operations if asked else call.executed
        shown = pair.message if asked else reply
        found = _operations(mine, shown.operations if shown else (), call, situation)
        if found is None and shown is not None and situation.truncated:
            first = call.call_first_frame if asked else call.reply_first_frame
            last = call.call_frame if asked else call.reply_frame
            found = _stopped_at_cut(mine, shown, first, last)
        return found or (_stopped_at_flag(mine, shown) if shown else None)
    if aspect == "call frame":
        if situation.truncated and pair.message.frame == call.call_first_frame:
            return "first_segment"
        before = call.call_first_frame <= pair.message.frame < call.call_frame
        if before and call.disordered and situation.impatient:
            return "hole_filled"
        return "rdma_apart" if call.unsure else None
    if aspect in ("reply", "service time", "status"):
        return _reply(pair, orphan, situation)
    return None


def _operations(
    mine: tuple[int, ...], other: tuple[int, ...], call: Call, situation: Situation
) -> str | None:
    shorter = min(len(mine), len(other))
    same_beginning = mine[:shorter] == other[:shorter]
    if same_beginning and situation.truncated and call.undecoded == "truncated":
        return "snaplen"
    if same_beginning and call.undecoded == "missing":
        return "behind_gap"
    if same_beginning and call.undecoded == "malformed" and len(other) < len(mine):
        return "malformed"
    if len(other) < len(mine) and same_beginning and other and other[-1] in _UNKNOWN_TO_TSHARK:
        return "unknown_operation"
    if same_beginning and len(other) == _MOST_OPERATIONS < len(mine):
        return "long_compound"
    if other and len(other) == len(mine) and (*mine[:-1], _ILLEGAL) == other:
        return "illegal"
    if not operation_numbers("nfs4").issuperset(other):
        return "wrong_offset"
    return None


def _stopped_at_cut(
    mine: tuple[int, ...], shown: Message, first: int | None, last: int | None
) -> str | None:
    """Whether tshark takes the first of a message's segments for all of it, and stops at its cut.

    pcapnfs passes over data of files that were cut, and reads what stands behind them in the last
    segment: to it the message is whole.
    """
    other = shown.operations
    stopped = len(other) < len(mine) and mine[: len(other)] == other
    return "snaplen" if stopped and shown.frame == first != last else None


def _stopped_at_flag(mine: tuple[int, ...], shown: Message) -> str | None:
    """Whether tshark shows nothing behind an OPEN whose reason for no delegation has a flag."""
    other = shown.operations
    stopped = other and len(other) < len(mine) and mine[: len(other)] == other
    flagged = stopped and other[-1] == _OPEN and shown.no_delegation in _WITH_FLAG
    return "flag_unread" if flagged else None


def _reply(pair: Pair, orphan: Message | None, situation: Situation) -> str | None:
    call, reply = pair.call, pair.reply
    if call.unsure:
        return "rdma_apart"
    if call.program == NLM and call.procedure in _ASYNCHRONOUS:
        return "answered_by_call"
    if reply is not None and reply.frame != call.reply_frame:
        if situation.truncated and reply.frame == call.reply_first_frame:
            return "first_segment"
        if call.disordered and situation.impatient and _within_reply(call, reply.frame):
            return "hole_filled"
        return "behind_gap" if call.missing else None
    if reply is not None:
        if situation.truncated and pair.message.frame != call.call_frame:
            return "first_segment"
        odd = situation.odd_times and _believed_otherwise(call, pair.message, reply)
        return "odd_time" if odd else None
    if call.reply_frame is not None and call.reply_frame < call.call_frame:
        return "early_reply"
    if pair.moved or (orphan is not None and orphan.stream != pair.message.stream):
        return "other_connection"
    if call.missing:
        return "behind_gap"
    if situation.truncated and call.undecoded == "truncated":
        return "snaplen"
    if call.ending and orphan is None:
        return "beginning_only"
    return "not_recognized" if call.reply_frame in situation.silent else None


def _believed_otherwise(call: Call, message: Message, reply: Message) -> bool:
    """Whether the times of a call's frames are not those that the capture states."""
    if call.srt_ns is None:
        return False
    ours = call.call_time_ns, call.call_time_ns + call.srt_ns
    return message.frame == call.call_frame and ours != (message.time_ns, reply.time_ns)


def _within_reply(call: Call, frame: int) -> bool:
    """Whether a frame holds some of our reply, but does not complete it."""
    if call.reply_first_frame is None or call.reply_frame is None:
        return False
    return call.reply_first_frame <= frame < call.reply_frame


def _looked_for(program: int) -> bool:
    return program in _PROGRAMS or TRANSIENT <= program < TRANSIENT + 0x20000000
