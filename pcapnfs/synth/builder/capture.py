"""``Capture``: timed frames → the bytes of a pcap or pcapng file.

Formats: pcap as in draft-ietf-opsawg-pcap, pcapng as in draft-ietf-opsawg-pcapng.  Both byte
orders, micro- and nanoseconds (pcapng: any if_tsresol), a snaplen, gzip.
"""

import gzip
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from pcapnfs.record import Record, replace
from pcapnfs.synth.builder.packet import Frame, Link

WHOLE_FRAMES = 262_144

SECTION_HEADER = 0x0A0D0D0A
INTERFACE_DESCRIPTION = 1
ENHANCED_PACKET = 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
OPTION_END = 0
OPTION_NAME = 2
OPTION_TSRESOL = 9


class Interface(Record):
    """A pcapng interface.

    ``tsresol`` is the option's byte: n for units of 10^-n seconds, 0x80 | n for 2^-n; None leaves
    the option out, which means microseconds.  Snaplen 0 is no limit.
    """

    link: Link = Link.ETHERNET
    name: str = ""
    tsresol: int | None = 9
    snaplen: int = 0

    def ticks(self, time_ns: int) -> int:
        """The time in this interface's units, rounded down."""
        resolution = 6 if self.tsresol is None else self.tsresol
        units = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        return time_ns * units // 1_000_000_000


class Capture:
    """Frames in order of time; frames of the same instant stay in the order given."""

    __slots__ = ("frames",)

    def __init__(self, frames: Iterable[Frame] = ()) -> None:
        self.frames: tuple[Frame, ...] = tuple(sorted(frames, key=lambda frame: frame.time_ns))

    def __len__(self) -> int:
        return len(self.frames)

    def __add__(self, other: "Capture") -> "Capture":
        """Both captures' frames, in order of time."""
        return Capture(self.frames + other.frames)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Capture) and self.frames == other.frames

    def __hash__(self) -> int:
        return hash(self.frames)

    def pcap(
        self,
        *,
        nanoseconds: bool = True,
        big_endian: bool = False,
        snaplen: int = WHOLE_FRAMES,
    ) -> bytes:
        """A pcap file.  Raises ValueError when the frames have several link types."""
        links = {frame.link for frame in self.frames} or {Link.ETHERNET}
        if len(links) > 1:
            raise ValueError("a pcap file has one link type; write pcapng")
        order = ">" if big_endian else "<"
        magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
        parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, links.pop())]
        for frame in self.frames:
            seconds, rest = divmod(frame.time_ns, 1_000_000_000)
            data = frame.data[:snaplen]
            fraction = rest if nanoseconds else rest // 1000
            parts.append(
                struct.pack(order + "IIII", seconds, fraction, len(data), frame.wire_length)
            )
            parts.append(data)
        return b"".join(parts)

    def pcapng(
        self, *, interfaces: Sequence[Interface] | None = None, big_endian: bool = False
    ) -> bytes:
        """A pcapng file of one section with enhanced packet blocks.

        Without ``interfaces`` there is one for each of the frames' interface numbers, in
        nanoseconds.  Raises ValueError when a frame names an interface that is not there, or one
        with another link type.
        """
        known = self._interfaces() if interfaces is None else list(interfaces)
        order = ">" if big_endian else "<"
        section = struct.pack(order + "IHHq", BYTE_ORDER_MAGIC, 1, 0, -1)
        parts = [_block(order, SECTION_HEADER, section)]
        parts += [_interface_block(order, interface) for interface in known]
        for frame in self.frames:
            if frame.interface >= len(known) or known[frame.interface].link != frame.link:
                raise ValueError(f"no interface {frame.interface} of link type {frame.link.name}")
            parts.append(_packet_block(order, known[frame.interface], frame))
        return b"".join(parts)

    def write(self, path: str | Path) -> Path:
        """Write the file that the name asks for: ``.pcap`` or ``.pcapng``, and ``.gz`` after it.

        Raises ValueError for another name, OSError when the file cannot be written.
        """
        target = Path(path)
        target.write_bytes(self.named(target.name))
        return target

    def named(self, name: str) -> bytes:
        """The bytes of a file of this name; raises ValueError as `write` does."""
        suffixes = Path(name).suffixes
        packed = suffixes[-1:] == [".gz"]
        kind = suffixes[-2:-1] if packed else suffixes[-1:]
        if kind == [".pcap"]:
            data = self.pcap()
        elif kind == [".pcapng"]:
            data = self.pcapng()
        else:
            raise ValueError(f"{name}: name it .pcap, .pcapng, .pcap.gz or .pcapng.gz")
        return compressed(data) if packed else data

    def on_interface(self, interface: int) -> "Capture":
        """The same frames on another pcapng interface."""
        return Capture(replace(frame, interface=interface) for frame in self.frames)

    def _interfaces(self) -> list[Interface]:
        count = max((frame.interface for frame in self.frames), default=0) + 1
        links = {frame.interface: frame.link for frame in self.frames}
        return [
            Interface(links.get(number, Link.ETHERNET), f"if{number}") for number in range(count)
        ]


def compressed(data: bytes) -> bytes:
    """Compress with gzip, without a time stamp, so that the same bytes give the same file."""
    return gzip.compress(data, mtime=0)


def _interface_block(order: str, interface: Interface) -> bytes:
    body = struct.pack(order + "HHI", interface.link, 0, interface.snaplen)
    if interface.name:
        body += _option(order, OPTION_NAME, interface.name.encode())
    if interface.tsresol is not None:
        body += _option(order, OPTION_TSRESOL, bytes([interface.tsresol]))
    return _block(order, INTERFACE_DESCRIPTION, body + _option(order, OPTION_END, b""))


def _packet_block(order: str, interface: Interface, frame: Frame) -> bytes:
    data = frame.data[: interface.snaplen] if interface.snaplen else frame.data
    high, low = divmod(interface.ticks(frame.time_ns), 1 << 32)
    head = struct.pack(order + "IIIII", frame.interface, high, low, len(data), frame.wire_length)
    return _block(order, ENHANCED_PACKET, head + data)


def _block(order: str, kind: int, body: bytes) -> bytes:
    padded = body + bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(padded) + 12)
    return struct.pack(order + "I", kind) + length + padded + length


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)
