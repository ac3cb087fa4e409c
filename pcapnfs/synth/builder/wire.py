"""``Conversation``: messages with times → the frames of one TCP connection or UDP port pair.

The caller gives every time, in integer nanoseconds since 1970; nothing else decides when a frame
is.  The conversation keeps sequence numbers, acknowledgements, TCP timestamps and IP ids, each
frame's from what was sent before it: messages are therefore given in order of time, and a time
before the last one raises ValueError.  (``damage.delay`` and ``retransmit`` break the order.)
"""

import struct
from collections.abc import Sequence
from typing import Literal, Self

from pcapnfs.record import replace
from pcapnfs.synth.builder import rpc
from pcapnfs.synth.builder.capture import Capture
from pcapnfs.synth.builder.packet import ACK, FIN, PSH, RST, SYN, TCP, UDP, Frame, Link, Packet

Side = Literal["client", "server"]
WRAP = 0xFFFFFFFF
"""Sequence numbers and TCP's timestamps have 32 bits."""


class Conversation:
    """A client and a server on one pair of ports.

    ``cuts`` (here and below) are the sizes in bytes of a message's first segments; what remains is
    cut by ``mss``.  Segments of one message are ``segment_gap_ns`` apart, the first at the time
    given.  ``acknowledge_after_ns`` lets the receiver send a pure ACK that long after the last
    segment.  ``timestamp_bases`` are the TCP clocks (client, server) at time 0, counting in
    ``timestamp_unit_ns``; None leaves the option out.
    """

    def __init__(
        self,
        client: str = "10.0.2.11",
        server: str = "10.0.2.10",
        client_port: int = 1023,
        server_port: int = 2049,
        *,
        transport: Literal["tcp", "udp"] = "tcp",
        link: Link = Link.ETHERNET,
        vlans: Sequence[int] = (),
        padded: bool = False,
        interface: int = 0,
        mss: int = 1448,
        mtu: int = 1500,
        isns: tuple[int, int] = (1_000_000, 2_000_000),
        window: int = 32806,
        window_scale: int = 0,
        timestamp_bases: tuple[int, int] | None = (0, 0),
        timestamp_unit_ns: int = 1_000_000,
        segment_gap_ns: int = 1_000,
        acknowledge_after_ns: int | None = None,
        credential: rpc.Auth | None = None,
    ) -> None:
        self.frames: list[Frame] = []
        self.credential = rpc.auth_sys() if credential is None else credential
        self._ends: dict[Side, tuple[str, int]] = {
            "client": (client, client_port),
            "server": (server, server_port),
        }
        self._protocol = TCP if transport == "tcp" else UDP
        self._link = link
        self._vlans = tuple(vlans)
        self._padded = padded
        self._interface = interface
        self._mss = mss
        self._mtu = mtu
        self._window = window
        self._window_scale = window_scale
        self._bases = timestamp_bases
        self._unit_ns = timestamp_unit_ns
        self._gap_ns = segment_gap_ns
        self._acknowledge_after_ns = acknowledge_after_ns
        self._next: dict[Side, int] = {
            "client": (isns[0] + 1) & WRAP,
            "server": (isns[1] + 1) & WRAP,
        }
        self._seen_clock: dict[Side, int] = {"client": 0, "server": 0}
        self._ip_ids: dict[Side, int] = {"client": 0, "server": 0}
        self._now_ns: int | None = None

    def open(self, at_ns: int, synack_after_ns: int = 100_000, ack_after_ns: int = 100_000) -> Self:
        """The three-way handshake: SYN at ``at_ns``, then SYN+ACK, then ACK."""
        self._syn("client", at_ns, SYN)
        self._syn("server", at_ns + synack_after_ns, SYN | ACK)
        return self.ack("client", at_ns + synack_after_ns + ack_after_ns)

    def call(
        self,
        xid: int,
        at_ns: int,
        program: int,
        version: int,
        procedure: int,
        body: bytes = b"",
        *,
        credential: rpc.Auth | None = None,
        verifier: rpc.Auth = rpc.NO_AUTH,
        cuts: Sequence[int] = (),
        fragments: Sequence[int] = (),
    ) -> Self:
        """A call from the client; with a request at hand: ``call(xid, at_ns, *request)``."""
        known = self.credential if credential is None else credential
        message = rpc.call(xid, program, version, procedure, body, known, verifier)
        return self.message("client", at_ns, message, cuts=cuts, fragments=fragments)

    def reply(
        self,
        xid: int,
        at_ns: int,
        body: bytes = b"",
        *,
        verifier: rpc.Auth = rpc.NO_AUTH,
        cuts: Sequence[int] = (),
        fragments: Sequence[int] = (),
    ) -> Self:
        """A successful reply from the server; failures go through ``message``."""
        message = rpc.reply(xid, body, verifier)
        return self.message("server", at_ns, message, cuts=cuts, fragments=fragments)

    def message(
        self,
        side: Side,
        at_ns: int,
        message: bytes,
        *,
        cuts: Sequence[int] = (),
        fragments: Sequence[int] = (),
    ) -> Self:
        """Any RPC message: over TCP one record of ``fragments``, over UDP one datagram."""
        if self._protocol == UDP:
            return self.send(side, at_ns, message)
        return self.send(side, at_ns, rpc.record(message, fragments), cuts=cuts)

    def send(self, side: Side, at_ns: int, data: bytes, *, cuts: Sequence[int] = ()) -> Self:
        """Bytes of the stream as they are (several records, half a record), or a datagram."""
        self._advance(at_ns)
        if self._protocol == UDP:
            return self._datagram(side, at_ns, data)
        pieces = _cut(data, cuts, self._mss)
        for index, piece in enumerate(pieces):
            flags = ACK | (PSH if index == len(pieces) - 1 else 0)
            self._segment(side, at_ns + index * self._gap_ns, flags, piece)
            self._next[side] = (self._next[side] + len(piece)) & WRAP
        if self._acknowledge_after_ns is not None:
            last_ns = at_ns + (len(pieces) - 1) * self._gap_ns
            self.ack(_other(side), last_ns + self._acknowledge_after_ns)
        return self

    def skip(self, side: Side, count: int) -> Self:
        """``count`` bytes of the stream that the capture never saw."""
        self._next[side] = (self._next[side] + count) & WRAP
        return self

    def ack(self, side: Side, at_ns: int, window: int | None = None) -> Self:
        """A pure ACK of everything that the other side has sent so far; window 0 is allowed."""
        self._segment(side, at_ns, ACK, window=window)
        return self

    def retransmit(self, frame: Frame, at_ns: int) -> Self:
        """The same TCP segment or datagram once more."""
        self.frames.append(frame.at(at_ns))
        return self

    def keepalive(self, side: Side, at_ns: int) -> Self:
        """A keep-alive probe: no data, one byte before the next sequence number."""
        self._segment(side, at_ns, ACK, seq=(self._next[side] - 1) & WRAP)
        return self

    def close(self, at_ns: int, by: Side = "client", step_ns: int = 100_000) -> Self:
        """FIN, FIN+ACK, ACK, ``step_ns`` apart."""
        for index, side in enumerate((by, _other(by))):
            self._segment(side, at_ns + index * step_ns, FIN | ACK)
            self._next[side] = (self._next[side] + 1) & WRAP
        return self.ack(by, at_ns + 2 * step_ns)

    def reset(self, at_ns: int, by: Side = "server") -> Self:
        """RST."""
        self._segment(by, at_ns, RST | ACK)
        return self

    def capture(self) -> Capture:
        """All frames in order of time."""
        return Capture(self.frames)

    def _advance(self, at_ns: int) -> None:
        if self._now_ns is not None and at_ns < self._now_ns:
            raise ValueError(f"a message at {at_ns} ns after one at {self._now_ns} ns")
        self._now_ns = at_ns

    def _segment(
        self,
        side: Side,
        time_ns: int,
        flags: int,
        payload: bytes = b"",
        *,
        options: bytes = b"",
        seq: int | None = None,
        window: int | None = None,
    ) -> None:
        packet = replace(
            self._packet(side, payload),
            seq=self._next[side] if seq is None else seq,
            ack=self._next[_other(side)] if flags & ACK else 0,
            flags=flags,
            window=self._window if window is None else window,
            options=options + self._timestamp_option(side, time_ns, flags),
        )
        self._add(time_ns, packet.encode(self._link), packet)

    def _syn(self, side: Side, time_ns: int, flags: int) -> None:
        """A SYN takes the sequence number before the first byte; MSS, SACK and window scale."""
        words = (2, 4, self._mss, 4, 2, 3, 3, self._window_scale, 1, 1, 1)
        options = struct.pack(">BBH8B", *words)
        self._segment(side, time_ns, flags, options=options, seq=(self._next[side] - 1) & WRAP)

    def _datagram(self, side: Side, time_ns: int, data: bytes) -> Self:
        packet = self._packet(side, data)
        pieces = packet.fragments(self._link, self._mtu)
        for index, piece in enumerate(pieces):
            whole = packet if len(pieces) == 1 else None
            self._add(time_ns + index * self._gap_ns, piece, whole)
        return self

    def _packet(self, side: Side, payload: bytes) -> Packet:
        self._ip_ids[side] = (self._ip_ids[side] + 1) & 0xFFFF
        return Packet(
            *self._addresses(side),
            payload,
            self._protocol,
            ip_id=self._ip_ids[side],
            vlans=self._vlans,
            padded=self._padded,
        )

    def _addresses(self, side: Side) -> tuple[str, str, int, int]:
        source, source_port = self._ends[side]
        destination, destination_port = self._ends[_other(side)]
        return source, destination, source_port, destination_port

    def _add(self, time_ns: int, data: bytes, packet: Packet | None) -> None:
        self.frames.append(Frame(time_ns, data, self._link, self._interface, packet=packet))

    def _timestamp_option(self, side: Side, time_ns: int, flags: int) -> bytes:
        """RFC 7323: two NOPs, then the clock of this side and the last one seen of the other."""
        if self._bases is None:
            return b""
        clock = (self._bases[0 if side == "client" else 1] + time_ns // self._unit_ns) & WRAP
        echo = self._seen_clock[_other(side)] if flags & ACK else 0
        self._seen_clock[side] = clock
        return struct.pack(">BBBBII", 1, 1, 8, 10, clock, echo)


def _cut(data: bytes, cuts: Sequence[int], mss: int) -> list[bytes]:
    """Pieces of the sizes asked for, then of ``mss``; no data is no piece."""
    pieces = []
    start = 0
    for size in cuts:
        if size <= 0 or start + size > len(data):
            raise ValueError(f"cannot cut {size} bytes at {start} of {len(data)}")
        pieces.append(data[start : start + size])
        start += size
    pieces += [data[here : here + mss] for here in range(start, len(data), mss)]
    return pieces


def _other(side: Side) -> Side:
    return "server" if side == "client" else "client"
