"""Files made to hurt, and those that others found to: bombs, endless options, nested headers.

Time is that of the processor, for each megabyte that the decoder has to look at; it is measured,
like memory, in a process of its own, which decodes the file once.
"""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pcapnfs import _core
from pcapnfs.synth.builder import Conversation, nfs3
from tests.decoded import MEMORY_LIMIT, MS, T, calls, cost, decode, write
from tests.oracles.corpus import corpus_path, require_corpus
from tests.processor import in_time, seconds

FH = bytes(range(32))
OK = nfs3.results.access(0x1F)

_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)


def _bomb(parts: list[bytes], times: int) -> bytes:
    """Gzip of the first part and of the others so many times."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
        file.write(parts[0])
        for _ in range(times):
            for part in parts[1:]:
                file.write(part)
    return packed.getvalue()


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def _decoded_in(limit_s: float, path: Path) -> tuple[int, dict[str, Any]]:
    """Peak resident bytes of a process that decodes the file in time, and what it was told."""
    found = []

    def taken_s() -> float:
        found.append(cost(path))
        return found[-1][0]

    assert in_time(limit_s, taken_s)
    _, peak, meta = found[-1]
    return peak, meta


_SECTION = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
_INTERFACE = _block(1, struct.pack("<HHI", 1, 0, 262144))


def test_a_bomb_of_empty_packets(tmp_path: Path, idle_bytes: int) -> None:
    """A hundred megabytes of headers behind that of a file: six million packets of no bytes."""
    path = tmp_path / "bomb.pcap.gz"
    empty = struct.pack("<IIII", 1, 0, 0, 0)  # A second after 1970.
    path.write_bytes(_bomb([_HEADER, empty * (1 << 16)], 100))
    assert path.stat().st_size < 1 << 20
    peak, meta = _decoded_in(10, path)
    assert peak - idle_bytes < MEMORY_LIMIT
    assert sum(meta["packets"].values()) == 100 * (1 << 16)


def test_a_bomb_of_calls(tmp_path: Path, idle_bytes: int) -> None:
    """One frame over and over: each time but the first its bytes are known already."""
    frame = Conversation().call(1, T, *nfs3.access(FH)).capture().pcap()[24:]
    path = tmp_path / "calls.pcap.gz"
    path.write_bytes(_bomb([_HEADER, frame * 1000], 400))
    peak, meta = _decoded_in(400 * 1000 * len(frame) / 1e6, path)
    assert peak - idle_bytes < MEMORY_LIMIT
    assert meta["calls"] == 1


@pytest.mark.parametrize(
    "nested", [gzip.compress(bytes(1000)), bytes(100_000)], ids=["gzip", "zeros"]
)
def test_a_bomb_of_nothing_is_refused(nested: bytes, tmp_path: Path) -> None:
    path = tmp_path / "nothing.gz"
    path.write_bytes(gzip.compress(nested))
    with pytest.raises(_core.ReadError, match=r"nothing\.gz"):
        decode(path)


@pytest.mark.parametrize(
    ("captured", "wire", "packets"),
    [(0xFFFFFFFF, 0xFFFFFFFF, 0), (0x7FFFFFFF, 60, 0), (100, 0xFFFFFFFF, 1)],
)
def test_a_packet_that_claims_gigabytes(
    captured: int, wire: int, packets: int, tmp_path: Path
) -> None:
    path = tmp_path / "long.pcap"
    path.write_bytes(_HEADER + struct.pack("<IIII", 1, 0, captured, wire) + bytes(100))
    meta = decode(path)
    assert sum(meta["packets"].values()) == packets
    assert (meta["files"][0]["damage"] is None) == bool(packets)


@pytest.mark.parametrize(
    "end",
    [
        _block(6, struct.pack("<IIIII", 0, 0, 0, 0, 0) + struct.pack("<HH", 1, 0) * 250_000),
        _INTERFACE * 70_000,
        _SECTION * 30_000,
        _block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 2, 60_000) + bytes(900_000)),
        struct.pack("<III", 6, 0xFFFFFFFC, 0) + bytes(1000),
        struct.pack("<III", 6, 12, 12) * 80_000,
        struct.pack("<III", 0xBAD, 0, 0) * 80_000,
    ],
    ids=["options", "interfaces", "sections", "description", "length", "empty", "zero"],
)
def test_blocks_without_end(end: bytes, tmp_path: Path, idle_bytes: int) -> None:
    """What came before is read, whatever follows."""
    talk = Conversation().call(1, T, *nfs3.access(FH)).reply(1, T + MS, OK)
    path = tmp_path / "blocks.pcapng"
    path.write_bytes(talk.capture().pcapng() + end)
    peak, _ = _decoded_in(1 + path.stat().st_size / 1e6, path)
    assert calls(path) == [(1, True)]
    assert peak - idle_bytes < MEMORY_LIMIT


def _ethernet(kind: int, body: bytes) -> bytes:
    return bytes(12) + struct.pack(">H", kind) + body


def _ipv4(protocol: int, body: bytes) -> bytes:
    length = min(20 + len(body), 65535)
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, 1, 0, 64, protocol, 0)
    return head + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + body


def _in_ip(times: int) -> bytes:
    body = b""
    for _ in range(times):
        body = _ipv4(4, body)
    return _ethernet(0x0800, body)


def test_headers_within_headers(tmp_path: Path) -> None:
    """A thousand tunnels, tags, extensions and fragments: each is one packet of some kind."""
    tags = bytes(12) + struct.pack(">HH", 0x8100, 1) * 1000 + b"\x08\x00"
    extensions = struct.pack(">IHBB", 0x60000000, 8000, 0, 64) + bytes(32) + bytes(8000)
    labels = _ethernet(0x8847, struct.pack(">I", 0x00001040) * 1000)
    fragments = [
        _ethernet(0x0800, head + bytes(8))
        for offset in range(2000)
        for head in [
            struct.pack(">BBHHHBBH", 0x45, 0, 28, 7, 0x2000 | offset * 5 % 8192, 64, 17, 0)
            + bytes([10, 0, 0, 1, 10, 0, 0, 2])
        ]
    ]
    frames = [_in_ip(1000), tags, _ethernet(0x86DD, extensions), labels, *fragments]
    path = write(tmp_path / "nested.pcap", [(T + n, frame) for n, frame in enumerate(frames)])
    meta = decode(path)
    assert sum(meta["packets"].values()) == len(frames)
    assert meta["limits_hit"]["fragments_unfinished"] == len(fragments)


def _public() -> list[Path]:
    root = corpus_path()
    if root is None:
        return []
    return sorted(path for path in (root / "public").rglob("*") if path.is_file())


def test_the_public_captures_are_there() -> None:
    require_corpus()
    assert len(_public()) > 30


_EACH = """
import pathlib, re, sys
from pcapnfs import _core
for name in sys.argv[1:]:
    try:
        decoder = _core.Decoder([name])
        while decoder.next() is not None:
            pass
        decoder.finish()
    except _core.ReadError:
        pass
    status = pathlib.Path("/proc/self/status").read_text()
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024)
"""


@pytest.fixture(scope="module")
def peaks() -> Mapping[Path, int]:
    """The resident bytes that one process had at most once it had decoded each of them in turn."""
    paths = _public()
    done = subprocess.run(
        [sys.executable, "-c", _EACH, *map(str, paths)], capture_output=True, text=True, check=True
    )
    return dict(zip(paths, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize("path", _public(), ids=lambda path: path.name)
def test_a_public_capture_costs_no_more_than_it_may(
    path: Path, idle_bytes: int, peaks: Mapping[Path, int]
) -> None:
    """Also those that fuzzers wrote. A file that is no capture is refused in a sentence."""
    found: list[dict[str, Any]] = []
    refusal = ""
    try:
        taken_s = seconds(lambda: found.append(decode(path)))
    except _core.ReadError as error:
        refusal = str(error)
    if not found:
        assert str(path) in refusal
        return
    meta = found[0]
    size = sum(file["bytes"] for file in meta["files"]) + path.stat().st_size
    limit_s = 1 + size / 1e6
    assert taken_s < limit_s or in_time(limit_s, lambda: seconds(lambda: decode(path)))
    assert sum(meta["packets"].values()) == sum(file["packets"] for file in meta["files"])
    assert peaks[path] - idle_bytes < MEMORY_LIMIT
