"""One TCP connection between client and server: when messages arrive, and what a capture sees.

``Wire`` is a direction of the link while time runs: it sends messages one after the other at its
bandwidth, delays them, loses segments and sends those again.  ``frames`` makes of all that was sent
the frames that a vantage point saw, with acknowledgements that say what had arrived by then.
"""

from __future__ import annotations

import random
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pcapnfs.synth.builder.packet import ACK, FIN, PSH, SYN, Frame, Packet

MSS = 1460
"""Payload bytes of a full segment at an MTU of 1500."""

HEADERS = 54
"""Bytes of Ethernet, IP and TCP headers."""

WINDOW = 65_000
"""What both sides announce; it never stops them."""

LATEST_ACK_NS = 40_000_000
"""How long an acknowledgement waits for data to go with."""

RESEND_NS = 200_000_000
"""The least time until a lost segment is sent again."""

WRAP = 0xFFFFFFFF

Times = tuple[int, int]
"""When a segment was sent and when it arrived."""


@dataclass(frozen=True, slots=True)
class Segment:
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


def completed(segments: Iterable[Segment], *, at_sender: bool) -> list[int]:
    """When each message was complete at one end: all its bytes were seen.

    `at_sender`: where they are sent, a segment that will be lost is seen nevertheless.  A message
    behind a lost segment of another is complete before TCP can hand it on.
    """
    seen_ns, times = 0, []
    for segment in segments:
        seen_ns = max(seen_ns, segment.sent[0] if at_sender else segment.arrived_ns)
        if segment.last:
            times.append(seen_ns)
            seen_ns = 0
    return times


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
        sent = [*self._handshake()]
        for side, wire, back in (("client", self.up, self.down), ("server", self.down, self.up)):
            sent += self._data(side, wire, back)
            sent += self._acknowledgements(side, wire, back)
        sent += self._goodbye(end_ns)
        frames: list[tuple[int, int, str, Packet]] = []
        for place, (side, left_ns, arrived_ns, packet) in enumerate(sent):
            moment = left_ns if side == vantage else arrived_ns
            if moment is not None:
                frames.append((moment, place, side, packet))
        frames.sort(key=lambda each: each[:2])
        return [self._frame(moment, side, packet) for moment, _, side, packet in frames]

    def _frame(self, moment: int, side: str, packet: Packet) -> Frame:
        # The IP identification is counted as the vantage point sees the packets.
        self._ids[side] = self._ids[side] % 0xFFFF + 1
        return Frame(moment, replace(packet, ip_id=self._ids[side]).encode())

    def _handshake(self) -> Iterator[_Sent]:
        up, down = self.up.delay_ns, self.down.delay_ns
        start, answered = self._open_ns, self._open_ns + up
        options = struct.pack(">BBHBBBBBBBB", 2, 4, MSS, 1, 3, 3, 7, 1, 1, 4, 2)
        yield "client", start, answered, self._packet("client", -1, None, SYN, options=options)
        yield (
            "server",
            answered,
            answered + down,
            self._packet("server", -1, 0, SYN | ACK, options=options),
        )
        yield "client", answered + down, answered + down + up, self._packet("client", 0, 0, ACK)

    def _data(self, side: str, wire: Wire, back: Wire) -> Iterator[_Sent]:
        arrivals = _Arrivals(back.segments)
        for segment in wire.segments:
            flags = ACK | (PSH if segment.last else 0)
            for place, sent_ns in enumerate(segment.sent):
                lost = place < len(segment.sent) - 1
                packet = self._packet(
                    side, segment.start, arrivals.before(sent_ns), flags, segment.data
                )
                yield side, sent_ns, None if lost else segment.arrived_ns, packet

    def _acknowledgements(self, side: str, wire: Wire, back: Wire) -> Iterator[_Sent]:
        """Of what came over `back` and nothing was sent in time to acknowledge."""
        arrivals = _Arrivals(back.segments)
        sending = sorted(moment for segment in wire.segments for moment in segment.sent)
        position = sum(len(segment.data) for segment in wire.segments)
        starts = [segment.sent[0] for segment in wire.segments]
        last_ns = 0
        for moment in arrivals.times:
            following = bisect_right(sending, moment - 1)
            due_ns = moment + LATEST_ACK_NS
            if following < len(sending) and sending[following] <= due_ns:
                continue
            if moment <= last_ns:
                continue
            last_ns = due_ns
            before = bisect_right(starts, due_ns)
            place = wire.segments[before].start if before < len(starts) else position
            packet = self._packet(side, place, arrivals.before(due_ns), ACK)
            yield side, due_ns, due_ns + wire.delay_ns, packet

    def _goodbye(self, end_ns: int) -> Iterator[_Sent]:
        """FIN from the client, FIN and ACK from the server, ACK."""
        up, down = self.up.delay_ns, self.down.delay_ns
        sent, answered = (
            sum(len(segment.data) for segment in wire.segments) for wire in (self.up, self.down)
        )
        there, back = end_ns + up, end_ns + up + down
        yield "client", end_ns, there, self._packet("client", sent, answered, FIN | ACK)
        yield "server", there, back, self._packet("server", answered, sent + 1, FIN | ACK)
        yield "client", back, back + up, self._packet("client", sent + 1, answered + 1, ACK)

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


_Sent = tuple[str, int, int | None, Packet]
"""Who sent a packet, when it left, when it arrived (None: never), and the packet."""


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
