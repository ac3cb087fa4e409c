"""Captures made to hurt: floods, huge counts, cycles, copies of captures, names like commands."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest

from pcapnfs import decoding
from pcapnfs.synth.builder import Conversation, damage, nfs3, nfs4, rpc
from pcapnfs.synth.builder.capture import Capture
from tests.damage import rows
from tests.decoded import MEMORY_LIMIT, MS, T, calls, decode, measure, write

FH = bytes(range(32))
OK = nfs3.results.access(0x1F)

CLIENTS_LIMIT = 100_000 * 2250
"""What so many clients may take, bytes: 2.25 KB each."""

WRITES_LIMIT = 40 << 20
"""Bytes beyond an empty decode for calls of a megabyte that wait: what is kept of one is short."""


def _one_frame(message: bytes) -> bytes:
    (frame,) = Conversation().message("client", T, message).frames
    return frame.data


# Floods -------------------------------------------------------------------------------------------


def test_300000_connections_of_one_packet(tmp_path: Path, idle_bytes: int) -> None:
    """Each connection is forgotten some time, none of its calls is."""
    call = rpc.call(7, *nfs3.access(FH), rpc.auth_sys())
    frame = bytearray(_one_frame(call))
    at = bytes(frame).index(call)
    count = 300_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            frame[26:30] = struct.pack(">I", 0x0A000000 + i // 50_000)
            frame[34:36] = struct.pack(">H", 1024 + i % 50_000)
            frame[at : at + 4] = struct.pack(">I", i)
            yield T + i * 1000, bytes(frame)

    path = write(tmp_path / "flood.pcap", frames())
    peak, meta = measure(path)
    assert meta["calls"] == count
    assert meta["limits_hit"]["connections_forgotten"] > count // 2
    assert peak - idle_bytes < MEMORY_LIMIT
    assert rows(path, "SELECT count(*) FROM connections", every_table=True) == [(count,)]


def test_300000_syns(tmp_path: Path, idle_bytes: int) -> None:
    """Each from an address of its own: the decode tells of some who asked, those longest."""
    talk = Conversation(client="10.9.9.9").open(T)
    syn = talk.frames[0].data
    frame, count = bytearray(syn), 300_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            frame[26:30] = struct.pack(">I", 0x0B000000 + i)
            yield T + i * 1000, bytes(frame)
            if i >= count - 100 and i % 10 == 0:
                yield T + i * 1000 + 500, syn

    peak, meta = measure(write(tmp_path / "syns.pcap", frames()))
    assert peak - idle_bytes < MEMORY_LIMIT
    first, *others = meta["vain"]
    assert (first["client"], first["syns"], len(others)) == ("10.9.9.9", 10, 63)
    assert meta["limits_hit"]["vain_limit"] == meta["silent_connections"] - 64
    assert meta["limits_hit"]["connections_forgotten"] > count // 2


def test_100000_clients(tmp_path: Path, idle_bytes: int) -> None:
    """So many are told apart; the others are told together, and no call is lost."""
    call = rpc.call(7, *nfs3.access(FH), rpc.auth_sys())
    frame = bytearray(_one_frame(call))
    at = bytes(frame).index(call)
    count, apart = 100_000, 1 << 15

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            frame[26:30] = struct.pack(">I", 0x0A000000 + i)
            frame[at : at + 4] = struct.pack(">I", i)
            yield T + i * 1000, bytes(frame)

    path = write(tmp_path / "clients.pcap", frames())
    peak, meta = measure(path)
    assert (meta["calls"], meta["limits_hit"]["pairs_limit"]) == (count, count - apart)
    assert peak - idle_bytes < CLIENTS_LIMIT
    clients = "count(DISTINCT client), count(*) FILTER (client = 'others')"
    told = f"""
        SELECT {clients}, count(DISTINCT mount), count(DISTINCT server) FROM calls
        UNION ALL SELECT {clients}, NULL, NULL FROM connections
    """
    found = (apart + 1, count - apart)
    assert set(rows(path, told, every_table=True)) == {(*found, apart + 1, 1), (*found, None, None)}


def test_one_pair_of_ports_opened_100000_times(tmp_path: Path, idle_bytes: int) -> None:
    talk = Conversation(timestamp_bases=None)
    syn, call = (
        bytearray(frame.data)
        for frame in (talk.open(T).frames[0], talk.call(1, T, *nfs3.access(FH)).frames[-1])
    )
    at = bytes(call).index(rpc.call(1, *nfs3.access(FH), rpc.auth_sys()))
    count = 100_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            syn[38:42] = struct.pack(">I", i * 7919 % (1 << 32))
            call[38:42] = struct.pack(">I", (i * 7919 + 1) % (1 << 32))
            call[at : at + 4] = struct.pack(">I", i)
            yield T + i * 2000, bytes(syn)
            yield T + i * 2000 + 1000, bytes(call)

    peak, meta = measure(write(tmp_path / "reopened.pcap", frames()))
    assert meta["calls"] == count
    assert meta["limits_hit"]["connections_forgotten"] > 0
    assert peak - idle_bytes < MEMORY_LIMIT


def test_400000_files(tmp_path: Path) -> None:
    """Those that were used longest ago are forgotten; the one that is used all the time is not."""
    handle, used = b"H" * 32, b"the file that is used all along."
    frames = []
    for each in (handle, used):
        call = rpc.call(7, *nfs3.getattr_(each), rpc.auth_sys())
        frame = bytearray(_one_frame(call))
        frames.append((frame, bytes(frame).index(call), bytes(frame).index(each)))
    count = 400_000

    def packets() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            frame, call, place = frames[i % 8 == 0]
            frame[26:30] = struct.pack(">I", 0x0A000000 + i // 50_000)
            frame[34:36] = struct.pack(">H", 1024 + i % 50_000)
            frame[call : call + 4] = struct.pack(">I", i)
            if i % 8:
                frame[place : place + 4] = struct.pack(">I", i)
            yield T + i * 1000, bytes(frame)

    path = write(tmp_path / "files.pcap", packets())
    whole, told = measure(path)
    peak, meta = measure(path, 8 << 20)
    assert told["calls"] == meta["calls"] == count
    assert "files_forgotten" not in told["limits_hit"]
    assert meta["limits_hit"]["files_forgotten"] > count // 2
    assert peak < whole - (40 << 20)
    target = tmp_path / "files"
    target.mkdir()
    decoding.write([str(path)], target, files_bytes=8 << 20)
    with duckdb.connect() as database:
        ask = f"select count(*), count(distinct file), max(file) from '{target}/files.parquet'"
        files = count - count // 8 + 1
        assert database.execute(ask).fetchall() == [(files, files, files - 1)]
        ask = f"""
            select handle::varchar, count(*) from '{target}/calls.parquet'
            join '{target}/files.parquet' using (file) group by file, handle having count(*) > 1
        """
        assert database.execute(ask).fetchall() == [(used.decode(), count // 8)]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_200000_calls_without_reply(
    transport: Literal["tcp", "udp"], tmp_path: Path, idle_bytes: int
) -> None:
    """All are told, though only so many are remembered; of a few long ones only the beginning."""
    talk = Conversation(timestamp_bases=None, transport=transport)
    asked = nfs3.write(FH, 0, bytes(800)) if transport == "tcp" else nfs3.access(FH)
    call = rpc.call(0, *asked, rpc.auth_sys())
    frame = bytearray(talk.message("client", T, call).frames[0].data)
    at = bytes(frame).index(call)
    count = 200_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            if transport == "tcp":
                frame[38:42] = struct.pack(">I", (1_000_001 + i * (len(call) + 4)) % (1 << 32))
            frame[18:20] = struct.pack(">H", i % (1 << 16))
            frame[at : at + 4] = struct.pack(">I", i)
            yield T + i * 1000, bytes(frame)

    path = write(tmp_path / "unanswered.pcap", frames())
    peak, meta = measure(path)
    assert meta["calls"] == count
    assert meta["limits_hit"]["pending_limit"] > 0
    assert peak - idle_bytes < MEMORY_LIMIT


def test_datagrams_that_were_answered_are_forgotten(tmp_path: Path) -> None:
    """The xid of the first of many comes again an hour later: that is another call."""
    talk = Conversation(timestamp_bases=None, transport="udp")
    sent = [(xid, T + xid * MS) for xid in range(20_000)]
    for xid, at in (*sent, (0, T + 3_600_000 * MS)):
        talk.call(xid, at, *nfs3.access(FH))
        talk.reply(xid, at + 500, nfs3.results.access(1))
    path = talk.capture().write(tmp_path / "answered.pcap")
    assert rows(path, "SELECT count(*), max(transmissions) FROM calls") == [(20_001, 1)]


@pytest.mark.parametrize("sealed", [False, True])
def test_100_megabytes_of_writes_under_way(sealed: bool, tmp_path: Path, idle_bytes: int) -> None:
    """A client sends all it has before the first reply: what is behind the data is told, too."""
    talk = Conversation(timestamp_bases=None, mss=60_000)
    credential = rpc.auth_gss(1, 2) if sealed else rpc.auth_sys()
    count = 100
    for xid in range(count):
        write_4 = nfs4.Compound(1).putfh(FH).write(xid << 20, bytes(1 << 20)).getattr(["size"])
        program, version, procedure, body = write_4.request()
        if sealed:
            body = rpc.gss_integrity(xid, body)
        at = T + xid * 1000
        talk.call(xid, at, program, version, procedure, body, credential=credential)
    for xid in range(count):
        body = nfs4.CompoundReply().putfh().write(1 << 20).getattr({"size": 5}).body()
        talk.reply(xid, T + MS + xid * 1000, rpc.gss_integrity(xid, body) if sealed else body)
    path = talk.capture().write(tmp_path / "writes.pcap")
    peak, meta = measure(path)
    assert (meta["undecoded"], meta["limits_hit"]) == (0, {})
    assert rows(
        path,
        'SELECT op, count(*), count(DISTINCT "offset"), max(requested), count(status)'
        " FROM operations GROUP BY op ORDER BY op",
        every_table=True,
    ) == [
        ("GETATTR", count, 0, None, count),
        ("PUTFH", count, 0, None, count),
        ("WRITE", count, count, 1 << 20, count),
    ]
    assert peak - idle_bytes < WRITES_LIMIT


def test_100_clients_in_the_middle_of_a_megabyte(tmp_path: Path, idle_bytes: int) -> None:
    """Data that nobody reads is not put together, so that all these messages end as they should."""
    talk = Conversation(timestamp_bases=None, mss=8_948)
    megabyte = bytes(1 << 20)
    talk.call(1, T, *nfs4.Compound(1).putfh(FH).write(0, megabyte).getattr(["size"]).request())
    talk.reply(1, T, nfs4.CompoundReply().putfh().write(1 << 20).getattr({"size": 5}).body())
    talk.call(2, T, *nfs4.Compound(1).putfh(FH).read(0, 1 << 20).getattr(["size"]).request())
    talk.reply(2, T, nfs4.CompoundReply().putfh().read(megabyte).getattr({"size": 5}).body())
    client = talk.frames[0].data[26:30]

    def frames() -> Iterable[tuple[int, bytes]]:
        for i, frame in enumerate(talk.frames):
            data = bytearray(frame.data)
            at = 26 if data[26:30] == client else 30
            for other in range(100):
                data[at : at + 4] = struct.pack(">I", 0x0A000100 + other)
                yield T + i * MS + other, bytes(data)

    path = write(tmp_path / "megabytes.pcap", frames())
    peak, meta = measure(path)
    assert (meta["calls"], meta["undecoded"], meta["limits_hit"]) == (200, 0, {})
    assert rows(
        path,
        'SELECT op, count(*), max(requested), max("count"), count(status), max(size)'
        " FROM operations GROUP BY op ORDER BY op",
        every_table=True,
    ) == [
        ("GETATTR", 200, None, None, 200, 5),
        ("PUTFH", 200, None, None, 200, None),
        ("READ", 100, 1 << 20, 1 << 20, 100, None),
        ("WRITE", 100, 1 << 20, 1 << 20, 100, None),
    ]
    assert peak - idle_bytes < WRITES_LIMIT


def test_short_calls_do_not_hold_the_memory_of_long_ones(tmp_path: Path, idle_bytes: int) -> None:
    """Long calls that are answered, each followed by a short one that never is."""
    talk = Conversation(timestamp_bases=None, mss=65_000)
    program, version, procedure, body = nfs3.write(FH, 0, bytes(60_000))
    # It has more behind its data than it should: what cannot be read to its end is kept as it is.
    long = rpc.record(rpc.call(0, program, version, procedure, body + bytes(4), rpc.auth_sys()))
    short = rpc.record(rpc.call(1, *nfs3.access(FH), rpc.auth_sys()))
    reply = rpc.record(rpc.reply(0, nfs3.results.write(60_000)))
    sides: tuple[tuple[Literal["client", "server"], bytes], ...]
    sides = (("client", long), ("server", reply), ("client", short))
    frames = [
        (side, bytearray(talk.send(side, T, message).frames[-1].data), message)
        for side, message in sides
    ]
    count = 5_000

    def packets() -> Iterable[tuple[int, bytes]]:
        sent = {"client": 1_000_001, "server": 2_000_001}
        for i in range(count):
            for xid, (side, frame, message) in zip((2 * i, 2 * i, 2 * i + 1), frames, strict=True):
                frame[38:42] = struct.pack(">I", sent[side] % (1 << 32))
                at = len(frame) - len(message) + 4
                frame[at : at + 4] = struct.pack(">I", xid)
                sent[side] += len(message)
                yield T + i * 1000, bytes(frame)

    peak, meta = measure(write(tmp_path / "short.pcap", packets()))
    assert meta["calls"] == 2 * count
    assert "pending_limit" not in meta["limits_hit"]
    assert peak - idle_bytes < WRITES_LIMIT


def test_replies_without_calls(tmp_path: Path, idle_bytes: int) -> None:
    """A capture of the server's side alone: replies are held for a moment, within limits."""
    reply = rpc.reply(0, nfs3.results.read(bytes(60_000)))
    talk = Conversation(timestamp_bases=None, mss=65_000)
    frame = bytearray(talk.message("server", T, reply).frames[0].data)
    at = bytes(frame).index(rpc.record(reply)[:40]) + 4
    count = 8_000

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(count):
            frame[38:42] = struct.pack(">I", (2_000_001 + i * (len(reply) + 4)) % (1 << 32))
            frame[at : at + 4] = struct.pack(">I", i)
            yield T + i * 1000, bytes(frame)

    path = write(tmp_path / "replies.pcap", frames())
    peak, meta = measure(path)
    assert meta["limits_hit"]["early_limit"] > 0
    assert meta["limits_hit"]["pending_limit"] > 0
    assert rows(path, "SELECT reason, count(*) FROM notes GROUP BY 1", every_table=True) == [
        ("reply_without_call", count)
    ]
    assert peak - idle_bytes < MEMORY_LIMIT


def test_a_hole_with_100_megabytes_behind_it(tmp_path: Path, idle_bytes: int) -> None:
    """The hole is never acknowledged, so that it could still be filled."""
    talk = Conversation(timestamp_bases=None, mss=60_000)
    talk.call(1, T, *nfs3.access(FH)).skip("client", 500)
    (frame,) = talk.send("client", T + 1, bytes(60_000)).frames[-1:]
    data = bytearray(frame.data)
    (start,) = struct.unpack_from(">I", data, 38)

    def frames() -> Iterable[tuple[int, bytes]]:
        yield T, talk.frames[0].data
        for i in range(1_700):
            data[38:42] = struct.pack(">I", start + i * 60_000)
            yield T + i * 1000, bytes(data)

    peak, meta = measure(write(tmp_path / "hole.pcap", frames()))
    assert meta["calls"] == 1
    assert meta["limits_hit"]["held_limit"] > 0
    assert peak - idle_bytes < MEMORY_LIMIT


def test_holes_on_50_connections_at_once(tmp_path: Path, idle_bytes: int) -> None:
    """Each within its own limit, together far beyond what may be held."""
    talk = Conversation(timestamp_bases=None, mss=60_000)
    talk.call(1, T, *nfs3.access(FH)).skip("client", 500)
    (frame,) = talk.send("client", T + 1, bytes(60_000)).frames[-1:]
    first, data = bytearray(talk.frames[0].data), bytearray(frame.data)
    (start,) = struct.unpack_from(">I", data, 38)

    def frames() -> Iterable[tuple[int, bytes]]:
        for client in range(50):
            first[26:30] = data[26:30] = struct.pack(">I", 0x0A000100 + client)
            yield T + client, bytes(first)
            for i in range(130):
                data[38:42] = struct.pack(">I", start + i * 60_000)
                yield T + client, bytes(data)

    peak, meta = measure(write(tmp_path / "holes.pcap", frames()))
    assert meta["calls"] == 50
    assert meta["limits_hit"]["held_limit"] > 0
    assert peak - idle_bytes < MEMORY_LIMIT


def test_300_messages_that_never_end(tmp_path: Path, idle_bytes: int) -> None:
    """A megabyte of a WRITE on each of many connections; what tells its kind is kept."""
    talk = Conversation(timestamp_bases=None, mss=60_000)
    talk.call(1, T, *nfs3.write(FH, 7, bytes(1_000_000)))
    parts = [bytearray(frame.data) for frame in talk.frames[:-1]]

    def frames() -> Iterable[tuple[int, bytes]]:
        for i in range(len(parts)):
            for client in range(300):
                parts[i][26:30] = struct.pack(">I", 0x0A000100 + client)
                yield T + i, bytes(parts[i])

    path = write(tmp_path / "endless.pcap", frames())
    peak, meta = measure(path)
    assert meta["calls"] == 300
    assert rows(path, 'SELECT count(*) FROM operations WHERE "offset" = 7', every_table=True) == [
        (300,)
    ]
    assert peak - idle_bytes < MEMORY_LIMIT


# Wrong numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark", [0x7FFFFFFF, 0xFFFFFFFF, 0x83FFFFFF, 0x80100000, 0x80000000, 0x00000000]
)
def test_a_record_mark_that_cannot_be_does_not_hide_what_follows(mark: int, tmp_path: Path) -> None:
    talk = Conversation()
    message = rpc.record(rpc.call(1, *nfs3.access(FH), rpc.auth_sys()))
    talk.send("client", T, struct.pack(">I", mark) + message[4:])
    talk.reply(1, T + MS, OK)
    for xid in range(2, 12):
        talk.call(xid, T + xid * 10 * MS, *nfs3.access(FH))
        talk.reply(xid, T + xid * 10 * MS + MS, OK)
    found = calls(talk.capture().write(tmp_path / "mark.pcap"))
    assert [call for call in found if call[0] != 1] == [(xid, True) for xid in range(2, 12)]


def test_counts_of_four_billion(tmp_path: Path) -> None:
    """Every length and count of a message in turn becomes 2^32-1."""
    huge = b"\xff\xff\xff\xff"
    talk = Conversation()
    xid = 0
    request = nfs3.readdirplus(FH)
    answer = nfs3.results.readdirplus(
        [nfs3.results.Entry(1, "a", 6, nfs3.Fattr3(), FH), nfs3.results.Entry(2, "b", 7)]
    )
    program, version, procedure, body = request
    for at in range(0, len(body), 4):
        xid += 1
        talk.call(xid, T + xid * MS, program, version, procedure, body[:at] + huge + body[at + 4 :])
        talk.reply(xid, T + xid * MS + 1000, answer)
    for at in range(0, len(answer), 4):
        xid += 1
        talk.call(xid, T + xid * MS, *request)
        talk.reply(xid, T + xid * MS + 1000, answer[:at] + huge + answer[at + 4 :])
    path = talk.capture().write(tmp_path / "counts.pcap")
    assert calls(path) == [(n, True) for n in range(1, xid + 1)]
    ((malformed,),) = rows(
        path, "SELECT count(*) FROM notes WHERE reason = 'malformed'", every_table=True
    )
    assert isinstance(malformed, int)
    assert 0 < malformed < 2 * xid


def test_cyclic_and_deep_directories(tmp_path: Path) -> None:
    """A handle that is its own ancestor, and a path of 5,000 names, cost neither time nor crash."""
    talk = Conversation()
    handles = [bytes([n % 256, n // 256]) * 16 for n in range(5_000)]
    steps = [(handles[n], f"d{n}", handles[n + 1]) for n in range(len(handles) - 1)]
    steps += [(handles[-1], "top", handles[0]), (handles[1], "up", handles[0])]
    for xid, (directory, name, child) in enumerate(steps):
        talk.call(xid, T + xid * MS, *nfs3.lookup(directory, name))
        talk.reply(xid, T + xid * MS + 1000, nfs3.results.lookup(child, nfs3.Fattr3(type=2)))
    path = talk.capture().write(tmp_path / "deep.pcap")
    assert decode(path)["calls"] == len(steps)
    ((files, longest),) = rows(
        path, "SELECT count(*), max(length(path)) FROM files", every_table=True
    )
    assert isinstance(files, int)
    assert files >= len(handles)
    assert longest is None or (isinstance(longest, int) and longest < 10_000)


def test_paths_take_room_in_proportion_to_the_capture(tmp_path: Path) -> None:
    """Two directories that contain each other, with long names, and many files in them."""
    talk = Conversation()
    handles = [bytes([number] * 32) for number in (1, 2)]
    long = ["a" * 250, "b" * 250]
    steps = [(0, long[0], handles[1], 2), (1, long[1], handles[0], 2)]
    for number in range(2000):
        steps.append((number % 2, f"f{number}", struct.pack(">32xI", number), 1))
    for xid, (directory, name, child, kind) in enumerate(steps):
        talk.call(xid, T + xid * MS, *nfs3.lookup(handles[directory], name))
        reply = nfs3.results.lookup(child, nfs3.Fattr3(type=kind, fileid=xid))
        talk.reply(xid, T + xid * MS + 1000, reply)
    path = talk.capture().write(tmp_path / "cycle.pcap")
    assert decode(path)["calls"] == len(steps)
    ((files, told),) = rows(path, "SELECT count(*), sum(length(path)) FROM files", every_table=True)
    assert files == len(steps)
    assert isinstance(told, int)
    assert told < 20 * path.stat().st_size


# What is no message -------------------------------------------------------------------------------


def _random_stream(port: int, seed: int) -> Capture:
    chance = random.Random(seed)
    talk = Conversation(server_port=port)
    for n in range(300):
        side: Any = chance.choice(["client", "server"])
        talk.send(side, T + n * MS, chance.randbytes(chance.randrange(1, 4000)))
        if chance.random() < 0.1:
            talk.skip(side, chance.randrange(1, 3000))
    return talk.capture()


@pytest.mark.parametrize("port", [2049, 8080])
def test_random_bytes_are_no_calls(port: int, tmp_path: Path) -> None:
    for seed in range(5):
        path = _random_stream(port, seed).write(tmp_path / f"{seed}.pcap")
        assert calls(path) == []


def test_small_numbers_are_no_calls(tmp_path: Path) -> None:
    """Words such as headers are made of, in any order but theirs."""
    chance = random.Random(3)
    words = [0, 0, 0, 1, 2, 3, 4, 6, 40, 0x80000028, 0x80000064, 100003, 100005]
    talk = Conversation()
    sent = b"".join(struct.pack(">I", chance.choice(words)) for _ in range(200_000))
    sent = sent.replace(struct.pack(">II", 2, 100003), struct.pack(">II", 2, 100004))
    sent = sent.replace(struct.pack(">II", 2, 100005), struct.pack(">II", 2, 100004))
    for n in range(0, len(sent), 1448):
        talk.send("client", T + n * 1000, sent[n : n + 1448])
        if n % 7 == 0:
            talk.skip("client", 100)
    assert calls(talk.capture().write(tmp_path / "words.pcap")) == []


def test_rpc_on_another_port_is_found(tmp_path: Path) -> None:
    talk = Conversation(server_port=12049)
    for xid in range(20):
        talk.call(xid, T + xid * MS, *nfs3.access(FH))
        talk.reply(xid, T + xid * MS + 1000, OK)
    path = talk.capture().write(tmp_path / "port.pcap")
    assert calls(path) == [(xid, True) for xid in range(20)]


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_so_it_is_where_the_capture_begins_amid_much_data(share: float, tmp_path: Path) -> None:
    """The first header comes after megabytes, and the other side's after as many."""
    talk = Conversation(server_port=12049, mss=32_000, mtu=65_535)
    data, count = bytes(range(256)) * (8 << 10), 12
    for n in range(count):
        talk.call(n, T + 10 * n * MS, *nfs3.write(FH, 0, data))
        talk.reply(n, T + (10 * n + 4) * MS, nfs3.results.write(len(data)))
        talk.call(100 + n, T + (10 * n + 5) * MS, *nfs3.read(FH, 0, len(data)))
        talk.reply(100 + n, T + (10 * n + 8) * MS, nfs3.results.read(data))
    capture = talk.capture()
    cut = Capture(capture.frames[round(len(capture.frames) * share) :])
    found = calls(cut.write(tmp_path / "midway.pcap"))
    # Those under way as it begins, and the WRITE with which a connection is not yet known.
    assert len(found) >= 2 * count * (1 - share) - 3
    assert {xid for xid, _ in found} <= {*range(count), *range(100, 100 + count)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mss", [1448, 32_000])
@pytest.mark.parametrize("written", [True, False])
def test_calls_one_after_the_other_in_a_file_are_none(
    written: bool, mss: int, seed: int, tmp_path: Path
) -> None:
    """One side of a stream, as some programs keep it: each call is followed by another."""
    inner = [rpc.record(rpc.call(0x50000000 + n, *nfs3.access(FH))) for n in range(12_000)]
    data = b"".join(inner)
    talk = Conversation(acknowledge_after_ns=1000, mss=mss, mtu=65_535)
    for n in range(8):
        talk.call(n, T + n * MS, *nfs3.access(FH))
        talk.reply(n, T + n * MS + 1000, OK)
    size = 65_536
    for n, at in enumerate(range(0, len(data), size), 10):
        part, now = data[at : at + size], T + 2 * n * MS
        asked = nfs3.write(FH, at, part) if written else nfs3.read(FH, at, len(part))
        talk.call(n, now, *asked)
        told = nfs3.results.write(len(part)) if written else nfs3.results.read(part)
        talk.reply(n, now + MS, told)
    lossy = damage.drop(talk.capture(), damage.at_random(0.05, seed))
    found = calls(lossy.write(tmp_path / "lossy.pcap"))
    assert [xid for xid, _ in found if xid >= 0x50000000] == []
    assert len(found) > 12


@pytest.mark.parametrize("swapped", [False, True])
def test_calls_behind_a_long_gap_in_the_capture_are_found(swapped: bool, tmp_path: Path) -> None:
    """A count that has gone on farther than is believed is believed with its first replies."""
    talk = Conversation(acknowledge_after_ns=1000)
    for n in range(200):
        number = n if n < 100 else 50_000_000 + n
        xid = int.from_bytes(number.to_bytes(4, "little")) if swapped else number
        if n == 100:
            talk.skip("client", 1 << 20).skip("server", 1 << 20)
        talk.call(xid, T + n * MS, *nfs3.access(FH))
        talk.reply(xid, T + n * MS + 1000, OK)
    found = calls(talk.capture().write(tmp_path / "gap.pcap"))
    # Those of the 20 ms for which the gap was waited for came at once.
    assert len([xid for xid, answered in found if answered]) >= 180


@pytest.mark.parametrize("seed", range(6))
def test_the_copy_of_a_capture_invents_nothing_when_packets_are_lost(
    seed: int, tmp_path: Path
) -> None:
    """The data written are themselves a capture of NFS, full of believable calls."""
    inner = Conversation()
    for xid in range(3000):
        inner.call(0x50000000 + xid, T + xid * MS, *nfs3.access(FH))
        inner.reply(0x50000000 + xid, T + xid * MS + 1000, OK)
    data = inner.capture().pcap()
    talk = Conversation(acknowledge_after_ns=1000)
    size = 65_536
    for n, at in enumerate(range(0, len(data), size)):
        part = data[at : at + size]
        talk.call(n, T + 2 * n * MS, *nfs3.write(FH, at, part))
        talk.reply(n, T + (2 * n + 1) * MS, nfs3.results.write(len(part)))
    capture = talk.capture()
    whole = calls(capture.write(tmp_path / "whole.pcap"))
    assert whole == [(n, True) for n in range(len(whole))]
    lossy = damage.drop(capture, damage.at_random(0.05, seed))
    found = calls(lossy.write(tmp_path / "lossy.pcap"))
    assert {xid for xid, answered in found if answered} <= {xid for xid, _ in whole}
    assert [xid for xid, _ in found if xid >= 0x50000000] == []


# Names --------------------------------------------------------------------------------------------

NAUGHTY = [
    "\x1b]0;owned\x07red\x1b[31m",
    "<script>alert(1)</script>",
    "line\nbreak\r\ttab",
    '"quoted", and\\backslash',
    "=cmd|' /C calc'!A0",
    "[bold]markup[/bold]",
    "‮right to left",
    "\x9bC1",
]


@pytest.fixture
def naughty(tmp_path: Path) -> Path:
    talk = Conversation()
    root = b"r" * 32
    names: list[str | bytes] = [*NAUGHTY, b"\xff\xfe not UTF-8", b"nul\x00byte"]
    for n, name in enumerate(names):
        handle = bytes([n]) * 32
        talk.call(2 * n, T + 2 * n * MS, *nfs3.create(root, name))
        talk.reply(
            2 * n, T + 2 * n * MS + 1000, nfs3.results.create(handle, nfs3.Fattr3(fileid=100 + n))
        )
        talk.call(2 * n + 1, T + (2 * n + 1) * MS, *nfs3.access(handle))
        talk.reply(2 * n + 1, T + (2 * n + 1) * MS + 1000, OK)
    return talk.capture().write(tmp_path / "names.pcap")


def _pcapnfs(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pcapnfs", *words], capture_output=True, check=True, timeout=120
    )
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize("command", ["perfile", "summarize"])
def test_names_do_not_reach_the_terminal_raw(naughty: Path, command: str) -> None:
    shown = _pcapnfs(command, str(naughty))
    bad = [
        c for c in shown if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e"
    ]
    assert bad == []


def test_names_are_whole_in_json(naughty: Path) -> None:
    shown = _pcapnfs("perfile", str(naughty), "--json")
    assert all(ord(c) >= 32 or c == "\n" for c in shown)
    text = json.dumps(json.loads(shown), ensure_ascii=False)
    for name in ("<script>alert(1)</script>", "[bold]markup[/bold]"):
        assert name in text
