"""What happens to captures in the field, done on purpose: capture in, broken capture out.

Frame numbers count from 1, as in Wireshark.  A ``Choice`` says which frames are meant; what is
random takes a seed, and the same seed does the same damage.
"""

import random
from collections.abc import Callable

from pcapnfs.record import replace
from pcapnfs.synth.builder.capture import Capture
from pcapnfs.synth.builder.packet import PSH, TCP, Frame, Packet

Choice = Callable[[int, Frame], bool]


def frames(*numbers: int) -> Choice:
    """The frames with these numbers."""
    return lambda number, _frame: number in numbers


def at_random(share: float, seed: int) -> Choice:
    """Each frame with this probability (0…1); the choice is used up by one pass over a capture."""
    generator = random.Random(seed)
    return lambda _number, _frame: generator.random() < share


def drop(capture: Capture, choice: Choice) -> Capture:
    """Without the chosen frames: lost before the capture saw them."""
    return Capture(frame for number, frame in _numbered(capture) if not choice(number, frame))


def cut_start(capture: Capture, count: int) -> Capture:
    """Without the first ``count`` frames: the capture began midway."""
    return Capture(capture.frames[count:])


def cut_end(capture: Capture, count: int) -> Capture:
    """Without the last ``count`` frames."""
    return Capture(capture.frames[: max(0, len(capture) - count)])


def snap(capture: Capture, snaplen: int) -> Capture:
    """With ``snaplen`` bytes of each frame; the length on the wire is kept."""
    return Capture(
        frame
        if len(frame.data) <= snaplen
        else replace(
            frame,
            data=frame.data[:snaplen],
            original_length=frame.wire_length,
            packet=None,
        )
        for frame in capture.frames
    )


def duplicate(capture: Capture, choice: Choice, after_ns: int = 0) -> Capture:
    """With the chosen frames once more: a mirror port (0 ns) or a retransmission (later)."""
    twice = list(capture.frames)
    twice += [
        frame.at(frame.time_ns + after_ns)
        for number, frame in _numbered(capture)
        if choice(number, frame)
    ]
    return Capture(twice)


def delay(capture: Capture, choice: Choice, by_ns: int) -> Capture:
    """With the chosen frames later by so much, after others if need be."""
    return Capture(
        frame.at(frame.time_ns + by_ns) if choice(number, frame) else frame
        for number, frame in _numbered(capture)
    )


def swap(capture: Capture, number: int) -> Capture:
    """With frame ``number`` and its successor exchanged; the times stay where they were."""
    index = _index(capture, number, last=len(capture) - 1)
    first, second = capture.frames[index], capture.frames[index + 1]
    exchanged = [second.at(first.time_ns), first.at(second.time_ns)]
    return Capture([*capture.frames[:index], *exchanged, *capture.frames[index + 2 :]])


def split(capture: Capture, number: int, at: int, gap_ns: int = 0) -> Capture:
    """With frame ``number``'s TCP payload in two segments, the first of ``at`` bytes.

    Raises ValueError when the frame is not a TCP segment longer than that.
    """
    index = _index(capture, number, last=len(capture))
    frame = capture.frames[index]
    packet = _segment(frame, number)
    if not 0 < at < len(packet.payload):
        raise ValueError(f"frame {number} has {len(packet.payload)} bytes of payload, not > {at}")
    head = replace(packet, payload=packet.payload[:at], flags=packet.flags & ~PSH)
    tail = replace(packet, payload=packet.payload[at:], seq=(packet.seq + at) & 0xFFFFFFFF)
    pieces = [_encoded(frame, head), _encoded(frame, tail).at(frame.time_ns + gap_ns)]
    return Capture([*capture.frames[:index], *pieces, *capture.frames[index + 1 :]])


def merge(capture: Capture, number: int) -> Capture:
    """With frame ``number`` and the next one as one segment at the later time, as GRO makes it.

    Raises ValueError unless the second continues the first.
    """
    index = _index(capture, number, last=len(capture) - 1)
    first = _segment(capture.frames[index], number)
    second = _segment(capture.frames[index + 1], number + 1)
    continues = (first.seq + len(first.payload)) & 0xFFFFFFFF == second.seq
    if _flow(first) != _flow(second) or not continues:
        raise ValueError(f"frame {number + 1} does not continue frame {number}")
    whole = replace(second, seq=first.seq, payload=first.payload + second.payload)
    merged = _encoded(capture.frames[index + 1], whole)
    return Capture([*capture.frames[:index], merged, *capture.frames[index + 2 :]])


def flip(capture: Capture, number: int, offset: int, mask: int = 0xFF) -> Capture:
    """With the bits of ``mask`` inverted in one byte of frame ``number``.

    Raises IndexError when the frame has no such byte.
    """
    index = _index(capture, number, last=len(capture))
    frame = capture.frames[index]
    data = bytearray(frame.data)
    data[offset] ^= mask
    broken = replace(frame, data=bytes(data), packet=None)
    return Capture([*capture.frames[:index], broken, *capture.frames[index + 1 :]])


def flip_at_random(capture: Capture, count: int, seed: int, skip: int = 0) -> Capture:
    """With ``count`` bytes changed anywhere past the first ``skip`` bytes of a frame."""
    generator = random.Random(seed)
    fitting = [number for number, frame in _numbered(capture) if len(frame.data) > skip]
    if not fitting:
        raise ValueError(f"no frame is longer than {skip} bytes")
    for _ in range(count):
        number = generator.choice(fitting)
        offset = generator.randrange(skip, len(capture.frames[number - 1].data))
        capture = flip(capture, number, offset, generator.randrange(1, 256))
    return capture


def _numbered(capture: Capture) -> list[tuple[int, Frame]]:
    return list(enumerate(capture.frames, start=1))


def _index(capture: Capture, number: int, last: int) -> int:
    if not 1 <= number <= last:
        raise ValueError(f"no frame {number} for this in a capture of {len(capture)} frames")
    return number - 1


def _segment(frame: Frame, number: int) -> Packet:
    if frame.packet is None or frame.packet.protocol != TCP:
        raise ValueError(f"frame {number} is not a whole TCP segment")
    return frame.packet


def _flow(packet: Packet) -> tuple[str, int, str, int]:
    return packet.source, packet.source_port, packet.destination, packet.destination_port


def _encoded(frame: Frame, packet: Packet) -> Frame:
    return replace(frame, data=packet.encode(frame.link), packet=packet)
