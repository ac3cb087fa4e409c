"""RDMA made to hurt: queue pairs, holes and memory without end."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from pcapnfs.synth.builder import nfs3, rpc
from tests.decoded import MEMORY_LIMIT, T, measure, write

pytest.importorskip("pcapnfs._core")

CLIENT, SERVER = 0x0A000002, 0x0A000001

SEND_ONLY, SEND_FIRST, WRITE_ONLY = 0x04, 0x00, 0x0A

FH = bytes(range(32))


def packet(
    source: int, destination: int, queue_pair: int, psn: int, opcode: int, data: bytes
) -> bytes:
    """RoCE version 2 in Ethernet: InfiniBand's header, the data, and room for a checksum."""
    data += bytes(-len(data) % 4)
    roce = (
        struct.pack(">BBHII", opcode, 0x40, 0xFFFF, queue_pair, psn % (1 << 24)) + data + bytes(4)
    )
    udp = struct.pack(">HHHH", 0xC123, 4791, 8 + len(roce), 0) + roce
    ip = struct.pack(
        ">BBHHHBBHII", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, source, destination
    )
    return bytes(12) + b"\x08\x00" + ip + udp


def header(xid: int, reply: Iterable[tuple[int, int]] = ()) -> bytes:
    """RPC over RDMA before a message, with a chunk of segments (key, length) for the reply."""
    words = [xid, 1, 64, 0, 0, 0]
    segments = list(reply)
    words += [1, len(segments)] if segments else [0]
    for key, length in segments:
        words += [key, length, 0, key]
    return struct.pack(f">{len(words)}I", *words)


def call(xid: int) -> bytes:
    return rpc.call(xid, *nfs3.access(FH), rpc.auth_sys())


def test_100000_queue_pairs(tmp_path: Path, idle_bytes: int) -> None:
    """So many are told apart; what goes to others is passed over, and counted."""
    count, apart = 100_000, 1 << 16

    def frames() -> Iterable[tuple[int, bytes]]:
        for xid in range(count):
            data = header(xid) + call(xid)
            yield T + xid * 1000, packet(CLIENT, SERVER, xid + 2, xid, SEND_ONLY, data)

    peak, meta = measure(write(tmp_path / "pairs.pcap", frames()))
    assert meta["calls"] == apart
    assert meta["limits_hit"]["rdma_limit"] >= count - apart
    assert peak - idle_bytes < MEMORY_LIMIT


def test_holes_of_5000_queue_pairs(tmp_path: Path, idle_bytes: int) -> None:
    """120 MB of messages that do not begin, or do not end; all calls behind them come out."""
    count, each = 5_000, 12

    def frames() -> Iterable[tuple[int, bytes]]:
        for turn in range(each):
            for pair in range(count):
                xid = turn * count + pair
                begins = turn == 0
                data = bytes(2000) if begins or turn % 2 else header(xid) + call(xid)
                opcode = SEND_ONLY if not begins and turn % 2 == 0 else SEND_FIRST
                # Behind the first of each, one is missing.
                psn = turn if begins else turn + 1
                yield T + xid * 1000, packet(CLIENT, SERVER, pair + 2, psn, opcode, data)

    peak, meta = measure(write(tmp_path / "holes.pcap", frames()))
    assert meta["calls"] == count * ((each - 1) // 2)
    assert meta["limits_hit"]["rdma_missing"] == count
    assert peak - idle_bytes < MEMORY_LIMIT


def test_replies_of_256_megabytes_that_nobody_announces(tmp_path: Path, idle_bytes: int) -> None:
    """A call gives memory away, and it is written to; the reply that would say so never comes."""
    count, length = 32_000, 8_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for xid in range(count):
            told = header(xid, [(2 * xid, 1 << 20), (2 * xid + 1, 1 << 20)]) + call(xid)
            yield T + xid * 2000, packet(CLIENT, SERVER, 17, xid, SEND_ONLY, told)
            target = struct.pack(">QII", 2 * xid, 2 * xid, length)
            written = packet(SERVER, CLIENT, 18, xid, WRITE_ONLY, target + bytes(length))
            yield T + xid * 2000 + 1000, written

    peak, meta = measure(write(tmp_path / "memory.pcap", frames()))
    assert meta["calls"] == count
    assert meta["limits_hit"]["rdma_limit"] > 0
    assert peak - idle_bytes < MEMORY_LIMIT
