"""Breaks capture files, and says which pairs can still be seen in what is left.

Takes capture files (classic pcap) as lists of frames; gives damaged copies whose frames know their
number in the original. What is visible is judged from the undamaged decode and from the packets
alone: the parser of packets here is small, complete enough for the corpus, and shares nothing with
the decoder's.

A pair is *visible* when the bytes from the record mark to the procedure of the call, and from the
mark to the status of the reply (RFC 5531 sections 9 and 11), are in frames that were kept, within
their snaplen. That is less than docs/definitions.md asks for, which wants the leading arguments
too, so more pairs count as visible here.
"""

from __future__ import annotations

import functools
import json
import random
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from pcapnfs import _core

NFS_PROGRAM = 100003

CALL_HEADER = 24
"""Bytes from xid to procedure."""

REPLY_HEADER = 24
"""Bytes from xid to accept_stat, with an empty verifier."""

_LITTLE = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
_BIG = (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d")


@dataclass(frozen=True, slots=True)
class Frame:
    """One packet record of a file."""

    number: int
    """In the original file, from 1."""
    seconds: int
    fraction: int
    wire_length: int
    data: bytes


@dataclass(frozen=True, slots=True)
class File:
    """A pcap file: its header and frames."""

    header: bytes
    order: str
    link: int
    frames: tuple[Frame, ...]

    @classmethod
    def read(cls, path: Path) -> File | None:
        """The file, or `None` where it is no classic pcap or ends within a packet."""
        data = path.read_bytes()
        if data[:4] not in _LITTLE + _BIG:
            return None
        order = "<" if data[:4] in _LITTLE else ">"
        frames: list[Frame] = []
        at = 24
        while at < len(data):
            if at + 16 > len(data):
                return None
            seconds, fraction, kept, wire = struct.unpack_from(order + "4I", data, at)
            at += 16
            frames.append(Frame(len(frames) + 1, seconds, fraction, wire, data[at : at + kept]))
            at += kept
        (link,) = struct.unpack_from(order + "I", data, 20)
        return cls(data[:24], order, link & 0xFFFF, tuple(frames))

    def write(self, path: Path) -> None:
        """Writes it; the frames get new numbers."""
        parts = [self.header]
        for frame in self.frames:
            head = (frame.seconds, frame.fraction, len(frame.data), frame.wire_length)
            parts += [struct.pack(self.order + "4I", *head), frame.data]
        path.write_bytes(b"".join(parts))


# Damage: file in, file out ------------------------------------------------------------------------

Damage = Callable[[File], File]


def lose(share: float, seed: int) -> Damage:
    """Each frame is lost with this probability."""

    def damage(file: File) -> File:
        chance = random.Random(seed)
        return replace(file, frames=tuple(f for f in file.frames if chance.random() >= share))

    return damage


def cut_first_third(file: File) -> File:
    return replace(file, frames=file.frames[len(file.frames) // 3 :])


def one_way(source: bytes) -> Damage:
    """Only the frames that this IPv4 address sent, without options of link or network."""
    return lambda file: replace(
        file, frames=tuple(f for f in file.frames if f.data[26:30] == source)
    )


def snap(length: int) -> Damage:
    """At most this many bytes of each frame."""
    return lambda file: replace(
        file, frames=tuple(replace(f, data=f.data[:length]) for f in file.frames)
    )


def duplicate(share: float, seed: int) -> Damage:
    """Frames seen twice, as by a mirror port."""

    def damage(file: File) -> File:
        chance = random.Random(seed)
        frames = ([f, f] if chance.random() < share else [f] for f in file.frames)
        return replace(file, frames=tuple(f for pair in frames for f in pair))

    return damage


def shuffle(size: int, seed: int) -> Damage:
    """Blocks of so many in any order, each packet with its own time."""

    def damage(file: File) -> File:
        chance, frames = random.Random(seed), file.frames
        blocks = (frames[at : at + size] for at in range(0, len(frames), size))
        mixed = (frame for block in blocks for frame in chance.sample(block, len(block)))
        return replace(file, frames=tuple(mixed))

    return damage


def swap(share: float, seed: int) -> Damage:
    """Neighbours exchanged, each with its own time."""

    def damage(file: File) -> File:
        chance, frames, at = random.Random(seed), list(file.frames), 0
        while at + 1 < len(frames):
            if chance.random() < share:
                frames[at], frames[at + 1] = frames[at + 1], frames[at]
                at += 1
            at += 1
        return replace(file, frames=tuple(frames))

    return damage


def flip(count: int, seed: int) -> Damage:
    """Bytes changed behind the link and IP headers; such frames no longer count as kept."""

    def damage(file: File) -> File:
        chance, frames = random.Random(seed), list(file.frames)
        long_enough = [i for i, frame in enumerate(frames) if len(frame.data) > 40]
        for at in chance.sample(long_enough, min(count, len(long_enough))):
            data = bytearray(frames[at].data)
            data[chance.randrange(34, len(data))] ^= chance.randrange(1, 256)
            frames[at] = replace(frames[at], number=-frames[at].number, data=bytes(data))
        return replace(file, frames=tuple(frames))

    return damage


# Packets ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """TCP or UDP payload of one frame."""

    flow: tuple[bytes, int, bytes, int, int]
    """Source, its port, destination, its port, IP protocol."""
    sequence: int
    payload: bytes
    """As captured."""
    length: int
    """On the wire."""


def segment(frame: Frame, link: int) -> Segment | None:
    """The payload that a frame carries; `None` for what is neither TCP nor UDP, or a later
    fragment.
    """
    data = frame.data
    at, kind = _network(data, link)
    if kind == 0x0800 and len(data) >= at + 20:
        total = int.from_bytes(data[at + 2 : at + 4]) or len(data) - at
        if int.from_bytes(data[at + 6 : at + 8]) & 0x1FFF:
            return None
        end, protocol = at + total, data[at + 9]
        hosts = data[at + 12 : at + 16], data[at + 16 : at + 20]
        at += (data[at] & 15) * 4
    elif kind == 0x86DD and len(data) >= at + 40:
        end, protocol = at + 40 + int.from_bytes(data[at + 4 : at + 6]), data[at + 6]
        hosts = data[at + 8 : at + 24], data[at + 24 : at + 40]
        if end == at + 40:  # A super-segment: its length does not fit the field.
            end = frame.wire_length
        at += 40
    else:
        return None
    ports = int.from_bytes(data[at : at + 2]), int.from_bytes(data[at + 2 : at + 4])
    if protocol == 6 and len(data) >= at + 14:
        sequence, start = int.from_bytes(data[at + 4 : at + 8]), at + (data[at + 12] >> 4) * 4
    elif protocol == 17:
        sequence, start = 0, at + 8
    else:
        return None
    flow = (hosts[0], ports[0], hosts[1], ports[1], protocol)
    return Segment(flow, sequence, data[start:end], max(0, end - start))


def _network(data: bytes, link: int) -> tuple[int, int]:
    """Where the IP header begins, and its EtherType."""
    if link == 1:
        at = 12
        while data[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
            at += 4
        return at + 2, int.from_bytes(data[at : at + 2])
    if link == 113:
        return 16, int.from_bytes(data[14:16])
    if link == 276:
        return 20, int.from_bytes(data[:2])
    at = 4 if link in (0, 108) else 0
    version = data[at] >> 4 if len(data) > at else 0
    return at, {4: 0x0800, 6: 0x86DD}.get(version, 0)


# Pairs --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """A call of NFS with its reply, as decoded. Frames are those of the messages' first bytes."""

    client: str
    xid: int
    version: int
    procedure: int
    call_frame: int
    call_time_ns: int
    reply_frame: int
    reply_time_ns: int

    @property
    def name(self) -> tuple[str, int, int, int]:
        """What a message says of itself."""
        return self.client, self.xid, self.version, self.procedure


def pairs(path: Path, *, every_table: bool = False) -> list[Pair]:
    """The NFS pairs that the decoder finds in a file.

    All tables are decoded. ``every_table``: as with `rows`; otherwise pairs are taken from the
    calls as they come.
    """
    if every_table:
        return [Pair(*row) for row in rows(path, _PAIRS.format(table="calls"))]
    found: list[tuple[Any, ...]] = []
    for batch in _batches(path):
        if batch.table == "calls":
            found += _database().execute(_PAIRS.format(table="batch")).fetchall()
    return [Pair(*row) for row in found]


def rows(path: Path, query: str, *, every_table: bool = True) -> list[tuple[Any, ...]]:
    """What a query gives over the tables of a file.

    All tables are decoded. ``every_table``: all are taken into the database as well, which refuses
    what their types do not allow; otherwise only `calls` is. Afterwards they are empty again.
    """
    database = _filled()
    database.execute("BEGIN")
    try:
        for batch in _batches(path):
            if every_table or batch.table == "calls":
                database.execute(f"INSERT INTO {batch.table} SELECT * FROM batch")
        return database.execute(query).fetchall()
    finally:
        database.execute("ROLLBACK")


def tables(path: Path, *names: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of these tables as the decoder gives them, which itself refuses what their types do
    not allow. No database is made for them, which takes ten times as long as a few calls.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for batch in _batches(path):
        if batch.table in found:
            given = _database().execute("FROM batch")
            columns = [name for name, *_ in given.description]
            found[batch.table] += [dict(zip(columns, row, strict=True)) for row in given.fetchall()]
    return found


def _batches(path: Path) -> Iterator[_core.Batch]:
    """What the decoder makes of a file, table by table and in order."""
    decoder = _core.Decoder([str(path)])
    while (batches := decoder.next()) is not None:
        yield from batches


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    """One without tables, to look at batches with: making it takes longer than that."""
    return duckdb.connect(config={"threads": 1})


@functools.cache
def _filled() -> duckdb.DuckDBPyConnection:
    """One with all tables, which are filled for a query: making them takes longer than that."""
    database = duckdb.connect(config={"threads": 1})
    for name, columns in _columns().items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    return database


@functools.cache
def _columns() -> dict[str, str]:
    """The columns of each table in SQL."""
    return {
        table["name"]: ", ".join(f'"{c["name"]}" {c["sql"]}' for c in table["columns"])
        for table in json.loads(_core.schema())
    }


_PAIRS = f"""
SELECT client, xid, version, procedure,
       call_first_frame, call_first_time, reply_first_frame, reply_first_time
FROM {{table}} WHERE program = {NFS_PROGRAM} AND reply_frame IS NOT NULL
ORDER BY call
"""


class Original:
    """An undamaged capture: its pairs, and where their headers lie in its packets."""

    def __init__(self, path: Path, file: File) -> None:
        self.file = file
        self.pairs = pairs(path)
        self.segments = {f.number: segment(f, file.link) for f in file.frames}
        self._flows: dict[tuple[bytes, int, bytes, int, int], list[tuple[int, int]]] = {}
        for number, found in self.segments.items():
            if found is not None and found.payload:
                self._flows.setdefault(found.flow, []).append((found.sequence, number))
        for places in self._flows.values():
            places.sort()
        self._headers = [self._header_places(pair) for pair in self.pairs]

    def visible(self, damaged: File) -> list[Pair]:
        """The pairs whose headers are in frames that the damage left whole."""
        kept: dict[int, int] = {}
        for frame in damaged.frames:
            kept[frame.number] = max(kept.get(frame.number, 0), len(frame.data))
        cut = {
            frame.number: len(frame.data) - kept.get(frame.number, 0) for frame in self.file.frames
        }
        return [
            pair
            for pair, places in zip(self.pairs, self._headers, strict=True)
            if places is not None and all(self._seen(*place, kept, cut) for place in places)
        ]

    def invented(self, found: Iterable[Pair], damaged: File, slack: int = 0) -> list[Pair]:
        """Pairs that no such messages explain: name unknown, or its xid not in the frames named.

        Frames with wrong bytes (negative numbers) say what they say: pairs of them do not count.
        """
        frames: dict[tuple[str, int, int, int], set[tuple[int, int]]] = {}
        for pair in self.pairs:
            frames.setdefault(pair.name, set()).add((pair.call_frame, pair.reply_frame))

        def explained(pair: Pair) -> bool:
            numbers = (pair.call_frame, pair.reply_frame)
            call, reply = (damaged.frames[number - 1].number for number in numbers)
            if call < 0 or reply < 0:
                return True
            known = frames.get(pair.name, set())
            # Where the call's first segment was lost, a later one is the first; the lost one may
            # have come again.
            near = any(c - slack <= call <= r + slack and abs(r - reply) <= slack for c, r in known)
            again = self._carries(call, pair.xid, 0) and self._carries(reply, pair.xid, 1)
            return near or (pair.name in frames and again)

        return [pair for pair in found if not explained(pair)]

    def _carries(self, number: int, xid: int, kind: int) -> bool:
        found = self.segments.get(number)
        return found is not None and struct.pack(">2I", xid, kind) in found.payload

    def _header_places(self, pair: Pair) -> list[tuple[int, int, int]] | None:
        """The frames, offsets and lengths of both headers; `None` where they cannot be located."""
        call = self._places(pair.call_frame, pair.xid, 0, CALL_HEADER)
        reply = self._places(pair.reply_frame, pair.xid, 1, REPLY_HEADER)
        return None if call is None or reply is None else [*call, *reply]

    def _places(
        self, number: int, xid: int, kind: int, length: int
    ) -> list[tuple[int, int, int]] | None:
        found = self.segments.get(number)
        if found is None:
            return None
        at = found.payload.find(struct.pack(">2I", xid, kind))
        if at < 0:
            return None
        if found.flow[4] == 17:
            return [(number, at, length)]
        wanted, end = found.sequence + at - 4, found.sequence + at + length
        places = []
        while wanted < end:
            place = self._covering(found, number, wanted)
            if place is None:
                return None
            holder, offset, available = place
            places.append((holder, offset, min(available, end - wanted)))
            wanted += available
        return places

    def _covering(self, like: Segment, number: int, sequence: int) -> tuple[int, int, int] | None:
        """A frame of the flow with this byte: its number, the byte's offset, bytes from there."""
        own = like.sequence <= sequence < like.sequence + len(like.payload)
        places = self._flows[like.flow]
        after = bisect_right(places, (sequence, len(self.file.frames)))
        candidates = (
            [number] if own else [holder for _, holder in places[max(0, after - 8) : after]]
        )
        for holder in reversed(candidates):
            found = self.segments[holder]
            assert found is not None
            offset = sequence - found.sequence
            if 0 <= offset < len(found.payload):
                return holder, offset, len(found.payload) - offset
        return None

    def _seen(
        self, number: int, offset: int, length: int, kept: dict[int, int], cut: dict[int, int]
    ) -> bool:
        found = self.segments[number]
        assert found is not None
        return number in kept and offset + length <= len(found.payload) - cut[number]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the decoder made of a damaged capture."""

    visible: int
    found: int
    missed: tuple[Pair, ...]
    invented: tuple[Pair, ...]

    @property
    def share(self) -> float:
        """Of the visible pairs found, 0…1."""
        return self.found / self.visible if self.visible else 1.0


def outcome(
    original: Original,
    damage: Damage,
    scratch: Path,
    slack: int = 0,
    *,
    every_table: bool = False,
) -> Outcome:
    """Damages a capture, decodes it and compares.

    ``slack``: how far the first frame of a message may lie from where it was, in frames: neighbours
    that changed places may belong to one message.
    """
    damaged = damage(original.file)
    damaged.write(scratch)
    got = pairs(scratch, every_table=every_table)
    visible = original.visible(damaged)
    found: dict[tuple[str, int, int, int], list[tuple[int, int]]] = {}
    for pair in got:
        call, reply = (damaged.frames[n - 1].number for n in (pair.call_frame, pair.reply_frame))
        found.setdefault(pair.name, []).append((call, reply))
    missed = tuple(
        pair
        for pair in visible
        if not any(
            abs(call - pair.call_frame) <= slack and abs(reply - pair.reply_frame) <= slack
            for call, reply in found.get(pair.name, ())
        )
    )
    invented = tuple(original.invented(got, damaged, slack))
    return Outcome(len(visible), len(visible) - len(missed), missed, invented)


def usable(paths: Sequence[Path], calls: int) -> Iterator[tuple[Path, Original]]:
    """The classic captures among files that hold at least so many pairs."""
    for path in paths:
        file = File.read(path)
        if file is not None and len(file.frames) >= 2 * calls:
            original = Original(path, file)
            if len(original.pairs) >= calls:
                yield path, original
