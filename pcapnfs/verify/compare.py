"""Holds the calls of a trace against the messages of tshark, pair by pair, while both stream by.

Takes both in order of frames; gives `Tally`: what was compared, and every difference with the
reason that its own circumstances prove (`reasons.py`), or none. Promises that nothing is left out:
what only one side has is a difference too. Held at a time are the calls that wait for their reply,
and what differed; of those that wait in vain, up to `WAITING_LIMIT`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from pcapnfs.record import replace
from pcapnfs.verify import reasons
from pcapnfs.verify.messages import Message, Silence
from pcapnfs.verify.ours import Call
from pcapnfs.verify.reasons import Pair, Situation

WAITING_LIMIT = 100_000
"""Calls without counterpart that are kept in case it comes late, and replies without a call; as
many frames in which only pcapnfs sees a message."""

EXAMPLES = 5
"""Frames kept of each kind of difference."""

Key = tuple[int, int]
"""Frame that completes a message, and its xid."""


@dataclass(slots=True)
class Found:
    """Differences of one kind with one reason."""

    count: int = 0
    frames: list[int] = field(default_factory=list)

    def add(self, frame: int) -> None:
        """Count one."""
        self.count += 1
        if len(self.frames) < EXAMPLES:
            self.frames.append(frame)


@dataclass(slots=True)
class Tally:
    """What came of a comparison."""

    ours: int = 0
    theirs: int = 0
    pairs: int = 0
    """Calls that both have."""
    compared: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Values that were held against each other, by aspect."""
    agreed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Those of them that were the same."""
    differences: dict[tuple[str, str | None], Found] = field(
        default_factory=lambda: defaultdict(Found)
    )
    """By kind and reason."""
    repeated: int = 0
    """Messages that both take for repetitions."""
    resent: int = 0
    """Calls sent again on another connection: one to pcapnfs, several to tshark."""


def compare(
    ours: Iterable[Call],
    theirs: Iterable[Message | Silence],
    *,
    repeated: Collection[Key] = frozenset(),
    situation: Situation | None = None,
) -> Tally:
    """Compare; both must come in order of frames, ours of their first.

    `repeated` are the messages that pcapnfs takes for repetitions.
    """
    return _Comparison(iter(ours), repeated, situation or Situation()).run(theirs)


class _Comparison:
    """The state while both stream by."""

    def __init__(
        self, ours: Iterator[Call], repeated: Collection[Key], situation: Situation
    ) -> None:
        self.tally = Tally()
        self._ours = ours
        self._next = next(ours, None)
        self._repeated = repeated
        self._ends: list[int] = []
        """Frames, to come yet, in which messages of ours end: a heap."""
        self._silent: set[int] = set()
        """Those of them in which it sees none."""
        self._situation = replace(situation, silent=self._silent)
        self._waiting: OrderedDict[Key, Call] = OrderedDict()
        """Calls of ours that tshark has not shown, by completing frame and xid."""
        self._by_xid: dict[int, list[Key]] = defaultdict(list)
        self._open: dict[Key, Pair] = {}
        """Calls that both have, by the frames that tshark may name in the reply."""
        self._open_by_xid: dict[int, list[Pair]] = defaultdict(list)
        self._streams: dict[int, str] = {}
        """tshark's conversation by our connection."""
        self._orphans: OrderedDict[Key, Message] = OrderedDict()
        """Replies for which tshark has no call."""
        self._unknown: OrderedDict[Key, None] = OrderedDict()
        """Calls that only tshark shows; their replies are no difference of their own."""
        self._answers: set[Key] = set()
        """Replies to calls that tshark takes for others sent again; to it they are repetitions."""

    def run(self, theirs: Iterable[Message | Silence]) -> Tally:
        for message in theirs:
            self._take_ours(message.frame)
            while self._ends and self._ends[0] < message.frame:
                heappop(self._ends)
            if isinstance(message, Silence):
                self._silence(message.frame)
            elif message.duplicate:
                self._duplicate(message)
            elif message.is_reply:
                self._reply(message)
            else:
                self._call(message)
        self._take_ours(None)
        for pairs in self._open_by_xid.values():
            for pair in pairs:
                self._finish(pair)
        for call in self._waiting.values():
            self._only_ours(call)
        for message in self._orphans.values():
            self._orphan(message)
        return self.tally

    def _take_ours(self, frame: int | None) -> None:
        """Take those of ours that began up to this frame; None: all that are left."""
        while self._next is not None and (frame is None or self._next.call_first_frame <= frame):
            call = self._next
            self.tally.ours += 1
            for end in (call.call_frame, call.reply_frame):
                if end is not None:
                    heappush(self._ends, end)
            key = call.call_frame, call.xid
            if key in self._waiting:
                self._only_ours(call)
            else:
                self._waiting[key] = call
                self._by_xid[call.xid].append(key)
                if len(self._waiting) > WAITING_LIMIT:
                    self._only_ours(self._take(next(iter(self._waiting))))
            self._next = next(self._ours, None)

    def _silence(self, frame: int) -> None:
        """Remember that tshark sees no message here, if one of ours ends here."""
        if self._ends and self._ends[0] == frame and len(self._silent) < WAITING_LIMIT:
            self._silent.add(frame)

    def _take(self, key: Key) -> Call:
        keys = self._by_xid[key[1]]
        keys.remove(key)
        if not keys:
            del self._by_xid[key[1]]
        return self._waiting.pop(key)

    def _duplicate(self, message: Message) -> None:
        key = message.frame, message.xid
        if not message.is_reply and key in self._situation.used_again and key in self._waiting:
            call = self._take(key)
            if call.reply_frame is not None:
                self._answers.add((call.reply_frame, call.xid))
            self._differ("only pcapnfs", call.call_frame, "xid_again")
        elif message.is_reply and key in self._answers:
            self._answers.remove(key)
        else:
            self.tally.repeated += 1

    def _call(self, message: Message) -> None:
        key = message.frame, message.xid
        if key in self._repeated:
            self.tally.repeated += 1
            return
        call = self._counterpart(message)
        if call is not None:
            self.tally.theirs += 1
            self.tally.pairs += 1
            before = self._streams.setdefault(call.connection, message.stream)
            self._streams[call.connection] = message.stream
            self._keep(Pair(call, message, moved=before != message.stream), message)
            return
        pair = self._open.get(key)
        if pair is not None and pair.call.transmissions > len(pair.sent):
            # Within one packet tshark takes each call for a new one.
            self.tally.repeated += 1
            return
        pair = self._transmitted_before(message)
        if pair is not None:
            self.tally.resent += 1
            self._keep(pair, message)
            return
        self.tally.theirs += 1
        self._unknown[key] = None
        if len(self._unknown) > WAITING_LIMIT:
            self._unknown.popitem(last=False)
        self._differ("only tshark", message.frame, reasons.only_theirs(message, self._situation))

    def _counterpart(self, message: Message) -> Call | None:
        """Our call that ends where tshark's does, else one that it is in the middle of."""
        if (message.frame, message.xid) in self._waiting:
            return self._take((message.frame, message.xid))
        for key in self._by_xid.get(message.xid, ()):
            call = self._waiting[key]
            if _identity(call) != _identity(message):
                continue
            if call.call_first_frame <= message.frame <= call.call_frame:
                return self._take(key)
        return None

    def _transmitted_before(self, message: Message) -> Pair | None:
        """The pair whose call this is, sent again on another connection."""
        for pair in self._open_by_xid.get(message.xid, ()):
            if (
                pair.call.transmissions > len(pair.sent)
                and pair.sent[-1].stream != message.stream
                and pair.message.operations == message.operations
                and pair.message.procedure == message.procedure
            ):
                return pair
        return None

    def _keep(self, pair: Pair, message: Message) -> None:
        """Remember a transmission of a call until its reply comes."""
        if not pair.sent:
            self._open_by_xid[message.xid].append(pair)
        pair.sent.append(message)
        self._open[message.frame, message.xid] = pair

    def _reply(self, message: Message) -> None:
        key = message.frame, message.xid
        if key in self._repeated:
            self.tally.repeated += 1
            return
        pair = None
        if message.call_frame is not None:
            call_key = message.call_frame, message.xid
            if call_key in self._unknown:
                del self._unknown[call_key]
                return
            pair = self._open.get(call_key)
        if pair is not None:
            for sent in pair.sent:
                del self._open[sent.frame, sent.xid]
            pairs = self._open_by_xid[message.xid]
            pairs.remove(pair)
            if not pairs:
                del self._open_by_xid[message.xid]
            pair.reply = message
            self._finish(pair)
            return
        self._orphans[key] = message
        if len(self._orphans) > WAITING_LIMIT:
            self._orphan(self._orphans.popitem(last=False)[1])

    def _finish(self, pair: Pair) -> None:
        """Compare what the two say of a call; `pair` is complete, or will stay without reply."""
        call, reply = pair.call, pair.reply
        orphan = None
        if reply is None and call.reply_frame is not None:
            orphan = self._orphans.pop((call.reply_frame, call.xid), None)
        aspects: dict[str, tuple[object, object]] = {
            "call": (_identity(call), _identity(pair.message)),
            "call frame": (call.call_frame, pair.message.frame),
            "operations": (call.operations, pair.message.operations),
            "reply": (call.reply_frame, reply.frame if reply else None),
        }
        if reply is not None and call.reply_frame is not None:
            aspects["results"] = call.executed, reply.operations
            aspects["service time"] = call.srt_ns, pair.service_time_ns
            if reply.status is not None:
                aspects["status"] = call.status, reply.status
        for aspect, (mine, other) in aspects.items():
            self.tally.compared[aspect] += 1
            if mine == other:
                self.tally.agreed[aspect] += 1
            else:
                why = reasons.differing(aspect, pair, orphan, self._situation)
                self._differ(aspect, call.call_frame, why)

    def _only_ours(self, call: Call) -> None:
        self._differ("only pcapnfs", call.call_frame, reasons.only_ours(call, self._situation))

    def _orphan(self, message: Message) -> None:
        """A reply for which tshark has no call: a difference unless we have none either."""
        if (message.frame, message.xid) not in self._situation.orphans:
            why = reasons.orphan(message, self._situation)
            self._differ("reply without call", message.frame, why)

    def _differ(self, kind: str, frame: int, reason: str | None) -> None:
        reason = reason or self._situation.otherwise
        self.tally.differences[kind, reason].add(frame)


def _identity(item: Call | Message) -> tuple[int | None, int | None, int | None]:
    return item.program, item.version, item.procedure
