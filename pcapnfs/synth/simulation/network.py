"""One TCP connection between client and server: when messages arrive, and what a capture sees.

``Wire`` is a direction of the link while time runs: it sends messages one after the other at its
bandwidth, delays them, loses segments and sends those again.  ``frames`` makes of all that was sent
the frames that a vantage point saw, with acknowledgements that say what had arrived by then: some
at once, some late, most with data.
"""

from __future__ import annotations

import random
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from pcapnfs.record import Record, replace
from pcapnfs.synth.builder.packet import ACK, FIN, PSH, SYN, Frame, Packet
from pcapnfs.synth.builder.wire import WRAP

MSS = 1460
"""Payload bytes of a full segment at an MTU of 1500."""

HEADERS = 54
"""Bytes of Ethernet, IP and TCP headers."""

WINDOW = 65_000
"""What both sides announce; it never stops them."""

LATEST_ACK_NS = 40_000_000
"""How long an acknowledgement waits for data to go with."""

PROMPT_SEGMENTS = 3
"""First segments of a direction, each of which is acknowledged at once: then the receiver has seen
that its answers carry the acknowledgements."""

PROMPT_NS = 2_000
"""How long an acknowledgement takes that is sent at once."""

PROMPT_FULL = 2
"""Full segments that are acknowledged at once when so many have come (RFC 9293 section 3.8.6.3)."""

HALVES = {"client": 0, "between": 1, "server": 2}
"""How many halves of the way from the client lie before a vantage point."""

RESEND_NS = 200_000_000
"""The least time until a lost segment is sent again."""


class Segment(Record):
    """A segment on its way, once or several times."""

    start: int
    """Place of its first byte in the stream."""
    data: bytes
    sent: tuple[int, ...]
    """When it was sent, and sent again; all but the last were lost."""
    arrived_ns: int
    last: bool
    """It ends a message."""

    @property
    def end(self) -> int:
        """Place behind its last byte."""
        return self.start + len(self.data)


class Wire:
    """One direction."""

    def __init__(
        self,
        delay_ns: int,
        jitter_ns: int,
        loss: float,
        bandwidth: int,
        generator: random.Random,
    ) -> None:
        self.segments: list[Segment] = []
        self.delay_ns = delay_ns
        self._jitter_ns = jitter_ns
        self._loss = loss
        self._bandwidth = bandwidth
        self._random = generator
        self._free_ns = 0
        self._arrived_ns = 0
        self._delivered_ns = 0
        self._position = 0

    def send(self, at_ns: int, stream: bytes) -> int:
        """Send bytes, of which a message is made, at this moment or once the wire is free.

        Gives the moment when all of them, and all before them, have arrived.
        """
        moment = max(at_ns, self._free_ns)
        extra = self._random.randrange(self._jitter_ns + 1) if self._jitter_ns else 0
        for start in range(0, len(stream), MSS):
            data = stream[start : start + MSS]
            sent = [moment]
            while self._loss and len(sent) < 6 and self._random.random() < self._loss:
                sent.append(sent[-1] + self._resend_after(len(sent)))
            arrives = sent[-1] + self.delay_ns + extra
            if len(sent) == 1:
                # Packets do not overtake one another.
                arrives = self._arrived_ns = max(arrives, self._arrived_ns + 1)
            last = start + MSS >= len(stream)
            self.segments.append(Segment(self._position, data, tuple(sent), arrives, last))
            self._position += len(data)
            self._delivered_ns = max(self._delivered_ns, arrives)
            moment += self.takes(len(data))
        self._free_ns = moment
        return self._delivered_ns

    def takes(self, size: int) -> int:
        """How long a segment occupies the wire, nanoseconds."""
        return max(1, (size + HEADERS) * 8 * 1_000_000_000 // self._bandwidth)

    def _resend_after(self, attempt: int) -> int:
        return int(max(RESEND_NS, 4 * self.delay_ns) << (attempt - 1))

    def completed(self, halves: int) -> list[int]:
        """When each message was complete after so many halves of the way.

        That is when all its bytes, and all before them, had been seen.
        """
        complete_ns, times = 0, []
        for segment in self.segments:
            first = next(moment for moment in self.seen(segment, halves) if moment is not None)
            complete_ns = max(complete_ns, first)
            if segment.last:
                times.append(complete_ns)
        return times

    def seen(self, segment: Segment, halves: int) -> Iterator[int | None]:
        """When each transmission of a segment passed there; None for one that did not.

        What is lost is lost in the second half of the way.
        """
        *lost, last = segment.sent
        for sent_ns in lost:
            yield None if halves == 2 else sent_ns + self.delay_ns * halves // 2
        yield last + (segment.arrived_ns - last) * halves // 2


class Connection:
    """Two wires and the ports that they join."""

    def __init__(
        self, client: tuple[str, int], server: tuple[str, int], up: Wire, down: Wire, open_ns: int
    ) -> None:
        self._ends = {"client": client, "server": server}
        self.up, self.down = up, down
        """From the client, and to it."""
        self._open_ns = open_ns
        self._isn = {"client": up_number(client[1]), "server": up_number(client[1] + 7919)}
        self._ids = {"client": 0, "server": 0}

    @property
    def ready_ns(self) -> int:
        """When the handshake is over, at the client."""
        return self._open_ns + self.up.delay_ns + self.down.delay_ns

    def frames(self, vantage: str, end_ns: int) -> list[Frame]:
        """What a capture at the vantage point holds, in order of time."""
        halves = HALVES[vantage]
        sent = [*self._handshake(halves)]
        for side, wire, back in (("client", self.up, self.down), ("server", self.down, self.up)):
            sent += self._data(side, wire, back, _travelled(side, halves))
            sent += self._acknowledgements(side, wire, back, _travelled(side, halves))
        sent += self._goodbye(end_ns, halves)
        # Of one moment, what arrives here comes before what is sent for it; else as they were made.
        sent.sort(key=lambda each: (each[0], each[1] == vantage))
        return [self._frame(moment, side, packet) for moment, side, packet in sent]

    def _frame(self, moment: int, side: str, packet: Packet) -> Frame:
        # The IP identification is counted as the vantage point sees the packets.
        self._ids[side] = self._ids[side] % 0xFFFF + 1
        return Frame(moment, replace(packet, ip_id=self._ids[side]).encode())

    def _handshake(self, halves: int) -> Iterator[_Seen]:
        start, answered = self._open_ns, self._open_ns + self.up.delay_ns
        options = struct.pack(">BBHBBBBBBBB", 2, 4, MSS, 1, 3, 3, 7, 1, 1, 4, 2)
        yield self._empty("client", start, halves, -1, None, SYN, options)
        yield self._empty("server", answered, halves, -1, 0, SYN | ACK, options)
        yield self._empty("client", answered + self.down.delay_ns, halves, 0, 0, ACK)

    def _data(self, side: str, wire: Wire, back: Wire, travelled: int) -> Iterator[_Seen]:
        arrivals = _Arrivals(back.segments)
        for segment in wire.segments:
            flags = ACK | (PSH if segment.last else 0)
            for sent_ns, moment in zip(segment.sent, wire.seen(segment, travelled), strict=True):
                if moment is not None:
                    acknowledged = arrivals.before(sent_ns)
                    yield (
                        moment,
                        side,
                        self._packet(side, segment.start, acknowledged, flags, segment.data),
                    )

    def _acknowledgements(
        self, side: str, wire: Wire, back: Wire, travelled: int
    ) -> Iterator[_Seen]:
        """Of what came over `back` and nothing was sent in time to acknowledge."""
        arrivals = _Arrivals(back.segments)
        sending = sorted(moment for segment in wire.segments for moment in segment.sent)
        position = sum(len(segment.data) for segment in wire.segments)
        starts = [segment.sent[0] for segment in wire.segments]
        # Packets do not overtake one another, but for those that are sent again.
        arrived = (0 if len(each.sent) > 1 else each.arrived_ns for each in wire.segments)
        latest = [0, *accumulate(arrived, max)]
        sizes = [len(segment.data) for segment in back.segments]
        for due_ns in _due(arrivals.times, sizes, sending):
            before = bisect_right(starts, due_ns)
            place = wire.segments[before].start if before < len(starts) else position
            packet = self._packet(side, place, arrivals.before(due_ns - 1), ACK)
            arrives = max(due_ns + wire.delay_ns, latest[before] + 1)
            yield due_ns + (arrives - due_ns) * travelled // 2, side, packet

    def _goodbye(self, end_ns: int, halves: int) -> Iterator[_Seen]:
        """FIN from the client, FIN and ACK from the server, ACK."""
        sent, answered = (
            sum(len(segment.data) for segment in wire.segments) for wire in (self.up, self.down)
        )
        there = end_ns + self.up.delay_ns
        back = there + self.down.delay_ns
        yield self._empty("client", end_ns, halves, sent, answered, FIN | ACK)
        yield self._empty("server", there, halves, answered, sent + 1, FIN | ACK)
        yield self._empty("client", back, halves, sent + 1, answered + 1, ACK)

    def _empty(
        self,
        side: str,
        sent_ns: int,
        halves: int,
        position: int,
        acknowledged: int | None,
        flags: int,
        options: bytes = b"",
    ) -> _Seen:
        """A packet without data, as the vantage point sees it."""
        wire = self.up if side == "client" else self.down
        packet = self._packet(side, position, acknowledged, flags, options=options)
        return sent_ns + wire.delay_ns * _travelled(side, halves) // 2, side, packet

    def _packet(
        self,
        side: str,
        position: int,
        acknowledged: int | None,
        flags: int,
        payload: bytes = b"",
        options: bytes = b"",
    ) -> Packet:
        other = "server" if side == "client" else "client"
        (source, port), (target, target_port) = self._ends[side], self._ends[other]
        ack = 0 if acknowledged is None else self._isn[other] + 1 + acknowledged & WRAP
        return Packet(
            source, target, port, target_port, payload,
            seq=self._isn[side] + 1 + position & WRAP, ack=ack, flags=flags, window=WINDOW,
            options=options,
        )  # fmt: skip


_Seen = tuple[int, str, Packet]
"""When a packet passed the vantage point, who had sent it, and the packet."""


def _travelled(side: str, halves: int) -> int:
    """How many halves of their way the packets of a side have behind them at a vantage point."""
    return halves if side == "client" else 2 - halves


def _due(times: Sequence[int], sizes: Sequence[int], sending: Sequence[int]) -> Iterator[int]:
    """When segments that came at `times` are acknowledged by packets without data.

    At once for the first segments of a connection and for every second full one; else as late as
    is allowed, unless data is sent before (RFC 9293 section 3.8.6.3).
    """
    since_ns: int | None = None
    full = 0
    for number, (moment, size) in enumerate(zip(times, sizes, strict=True)):
        if since_ns is not None:
            due_ns = since_ns + LATEST_ACK_NS
            if _sends(sending, since_ns, min(due_ns, moment)):
                since_ns, full = None, 0
            elif due_ns < moment:
                yield due_ns
                since_ns, full = None, 0
        full += size == MSS
        if number >= PROMPT_SEGMENTS and full < PROMPT_FULL:
            since_ns = moment if since_ns is None else since_ns
            continue
        if not _sends(sending, moment, moment + PROMPT_NS):
            yield moment + PROMPT_NS
        since_ns, full = None, 0
    if since_ns is not None and not _sends(sending, since_ns, since_ns + LATEST_ACK_NS):
        yield since_ns + LATEST_ACK_NS


def _sends(sending: Sequence[int], first: int, last: int) -> bool:
    """Whether anything is sent from one moment to another, both included."""
    following = bisect_left(sending, first)
    return following < len(sending) and sending[following] <= last


class _Arrivals:
    """How much of a stream had arrived without a hole at any moment."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.times: list[int] = []
        """When that grew."""
        self._ends: list[int] = []
        moment = 0
        for segment in segments:
            # In order of the stream: what arrived early counts once all before it is there.
            moment = max(moment, segment.arrived_ns)
            self.times.append(moment)
            self._ends.append(segment.end)

    def before(self, moment: int) -> int:
        """Bytes that had arrived by then."""
        place = bisect_right(self.times, moment)
        return self._ends[place - 1] if place else 0


def up_number(port: int) -> int:
    """An initial sequence number that differs from port to port."""
    return port * 2_654_435_761 & WRAP
