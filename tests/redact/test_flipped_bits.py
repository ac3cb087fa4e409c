"""Whatever bit of a message is wrong, no part of a name is taken for a number and told.

Each message below is written once for each of its bits, with that bit the other way round. A wrong
count or length makes numbers of what follows; what contradicts itself then is not told.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcapnfs import redaction
from tests.redact.test_hostile import call, handle, marked, padded, pcap, reply, tcp
from tests.redact.test_samples import KEY

NAME = b"Salaries-Of-Board-Members-2026.xls-And-Their-Children-Of-1987"
"""No five bytes of it stand in it twice."""

TOLD = 4
"""Bytes of it that may be told: one word."""

A_SECOND = 1000
"""Packets of a capture; its packets are a millisecond apart."""

LISTED = 16
"""Words of a list that may be told, however long it claims to be."""

FIRST_BIT = 32
"""Behind the xid, by which a reply belongs to its call."""


def words(*numbers: int) -> bytes:
    """Unsigned integers of XDR."""
    return struct.pack(f">{len(numbers)}I", *numbers)


def compound(*operations: bytes) -> bytes:
    """The arguments of an NFSv4.1 COMPOUND without a tag."""
    return padded(b"") + words(1, len(operations)) + b"".join(operations)


def done(*results: bytes) -> bytes:
    """The results of one that succeeded."""
    return words(0) + padded(b"") + words(len(results)) + b"".join(results)


_SESSION = bytes(range(16)) + words(1, 0, 0, 0)
_SEQUENCE, _SEQUENCE_DONE = words(53) + _SESSION, words(53, 0) + _SESSION + words(0)
_PUTFH, _PUTFH_DONE = words(22) + padded(b"h" * 28), words(22, 0)
_LOOKUP = words(15) + padded(NAME)
_BITMAP = words(2, 0x18, 0x300000)  # change, size, metadata and modification times
_GETATTR, _GETATTR_OWNERS = words(9) + _BITMAP, words(9, 2, 0, 0x30)
_SETATTR = words(34) + bytes(16) + words(2, 0, 2) + padded(words(0o644))
_READDIR = words(26) + bytes(16) + words(8192, 8192) + _BITMAP
_OPEN = words(18, 0, 1, 0) + bytes(8) + padded(b"o" * 24) + words(0, 0) + padded(NAME)
_TEST_STATEID, _TEST_STATEID_DONE = words(55, 1) + bytes(range(16)), words(55, 0, 1, 0)
_SECINFO = words(33) + padded(NAME)

V4_CALLS = {
    "GETATTR, LOOKUP": compound(_SEQUENCE, _PUTFH, _GETATTR, _LOOKUP, _GETATTR),
    "SETATTR, LOOKUP": compound(_SEQUENCE, _PUTFH, _SETATTR, _LOOKUP),
    "READDIR, LOOKUP": compound(_SEQUENCE, _PUTFH, _READDIR, _LOOKUP),
    "TEST_STATEID, LOOKUP": compound(_SEQUENCE, _TEST_STATEID, _PUTFH, _LOOKUP),
    "OPEN": compound(_SEQUENCE, _PUTFH, _OPEN, _GETATTR),
    "SECINFO": compound(_SEQUENCE, _PUTFH, _SECINFO),
}

V3_CALLS = {
    "LOOKUP": (3, handle() + padded(NAME)),
    "CREATE": (8, handle() + padded(NAME) + bytes(28)),
    "SYMLINK": (10, handle() + padded(b"link") + bytes(24) + padded(NAME)),
    "RENAME": (14, handle() + padded(NAME) + handle() + padded(NAME)),
}

_V4_ENTRY = words(1) + bytes(8) + padded(NAME) + _BITMAP + padded(bytes(40))
_V3_ENTRY = words(1) + bytes(8) + padded(NAME) + bytes(8) + words(1) + bytes(84)
_V3_ENTRY += words(1) + padded(b"h" * 28)

REPLIES = {
    "READDIR": (
        call(1, compound(_SEQUENCE, _PUTFH, _READDIR), version=4),
        done(_SEQUENCE_DONE, _PUTFH_DONE, words(26, 0) + bytes(8) + _V4_ENTRY * 2 + words(0, 1)),
    ),
    "GETATTR": (
        call(1, compound(_SEQUENCE, _PUTFH, _GETATTR_OWNERS), version=4),
        done(
            _SEQUENCE_DONE,
            _PUTFH_DONE,
            words(9, 0, 2, 0, 0x30) + padded(padded(NAME) + padded(NAME)),
        ),
    ),
    "TEST_STATEID, GETATTR": (
        call(1, compound(_SEQUENCE, _TEST_STATEID, _PUTFH, _GETATTR_OWNERS), version=4),
        done(
            _SEQUENCE_DONE,
            _TEST_STATEID_DONE,
            _PUTFH_DONE,
            words(9, 0, 2, 0, 0x30) + padded(padded(NAME) + padded(NAME)),
        ),
    ),
    "READDIRPLUS": (
        call(17, handle() + bytes(16) + words(4096, 8192)),
        words(0, 1) + bytes(92) + _V3_ENTRY * 2 + words(0, 1),
    ),
}


def flipped(message: bytes, first_bit: int = 0) -> Iterator[bytes]:
    """The message with each of its bits the other way round."""
    for bit in range(first_bit, 8 * len(message)):
        changed = bytearray(message)
        changed[bit // 8] ^= 0x80 >> bit % 8
        yield bytes(changed)


def sent(messages: Iterator[bytes], back: bool = False) -> Iterator[bytes]:
    """Segments with a message each, one behind the other."""
    sequence = 1
    for message in messages:
        yield tcp(marked(message), sequence, back=back)
        sequence += len(marked(message))


def numbered(messages: Iterator[bytes]) -> Iterator[bytes]:
    """Messages with transaction identifiers that count up."""
    for xid, message in enumerate(messages, 1000):
        yield words(xid) + message[4:]


def assert_not_told(frames: list[bytes], tmp_path: Path) -> None:
    """Redacted, no packet has more than a word of the name; a second of them at a time."""
    parts = [NAME[at : at + TOLD + 1] for at in range(len(NAME) - TOLD)]
    for number, start in enumerate(range(0, len(frames), A_SECOND)):
        source, out = tmp_path / f"{number}.pcap", tmp_path / f"{number}-out.pcap"
        source.write_bytes(pcap(frames[start : start + A_SECOND]))
        redaction.redact(source, out, key=KEY)
        left = out.read_bytes()
        assert all(part in source.read_bytes() for part in parts)
        assert [part for part in parts if part in left] == []
        assert len(left) == len(source.read_bytes())


@pytest.mark.parametrize("operations", V4_CALLS)
def test_no_bit_of_a_compound_tells_a_name(operations: str, tmp_path: Path) -> None:
    message = call(1, V4_CALLS[operations], version=4)
    assert_not_told([*sent(flipped(message))], tmp_path)


@pytest.mark.parametrize("procedure", V3_CALLS)
def test_no_bit_of_a_call_of_version_3_tells_a_name(procedure: str, tmp_path: Path) -> None:
    assert_not_told([*sent(flipped(call(*V3_CALLS[procedure])))], tmp_path)


@pytest.mark.parametrize("operations", REPLIES)
def test_no_bit_of_a_reply_tells_a_name(operations: str, tmp_path: Path) -> None:
    asked, results = REPLIES[operations]
    answers = [*numbered(flipped(reply(results), FIRST_BIT))]
    calls = sent(numbered(asked for _ in answers))
    turns = zip(calls, sent(iter(answers), back=True), strict=True)
    assert_not_told([frame for turn in turns for frame in turn], tmp_path)


def counted(count: int, argument: bytes = b"") -> bytes:
    """So many words behind their number: parts of the name over and over."""
    return words(count) + argument + (NAME * (4 * count // len(NAME) + 1))[: 4 * count]


LISTS = {
    "a bitmap": (compound(_SEQUENCE, _PUTFH, words(9) + counted(250)), done(_SEQUENCE_DONE)),
    "stateids": (
        compound(_SEQUENCE, words(55) + words(250) + (NAME * 70)[: 16 * 250]),
        done(_SEQUENCE_DONE, words(55, 0) + counted(250)),
    ),
    "flavors": (
        compound(_SEQUENCE, _PUTFH, _SECINFO),
        done(_SEQUENCE_DONE, _PUTFH_DONE, words(33, 0) + counted(250)),
    ),
}


@pytest.mark.parametrize("place", LISTS)
def test_a_list_that_is_much_too_long_is_not_told(place: str, tmp_path: Path) -> None:
    """That is no damage, since all of it can be read."""
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    arguments, results = LISTS[place]
    frames = [tcp(marked(call(1, arguments, version=4)), 1), tcp(marked(reply(results)), 1, True)]
    source.write_bytes(pcap(frames))
    redaction.redact(source, out, key=KEY)
    start = NAME[:TOLD]
    assert out.read_bytes().count(start) <= -(-4 * LISTED // len(NAME))
    assert source.read_bytes().count(start) > 10


def test_a_credential_that_only_claims_to_be_of_kerberos_is_not_told(tmp_path: Path) -> None:
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    credential = words(6) + padded(NAME[:14])
    source.write_bytes(pcap([tcp(marked(call(1, handle(), credential=credential)), 1)]))
    redaction.redact(source, out, key=KEY)
    assert NAME[:5] in source.read_bytes()
    assert NAME[:5] not in out.read_bytes()
