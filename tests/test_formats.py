"""The same traffic in different files gives the same tables.

Takes captures of the lab and of other projects that hold the same packets in another format, on
another interface, in several files, compressed or twice; compares the tables of the decoder column
by column. Frame numbers are compared where the packets are the same, times where their clock is.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import schema
from pcapnfs.errors import UsageError
from tests.oracles.corpus import require_corpus

_core = pytest.importorskip("pcapnfs._core")

Table = list[str]
Tables = dict[str, Table]

_COMPARED = ("calls", "operations", "files", "names", "entries")


def _tables(
    paths: Path | Sequence[Path],
    *,
    frames: bool = False,
    times: bool = False,
) -> Tables:
    """The compared tables of captures, a line of text for each row, in their order."""
    found: Tables = {}
    with pcapnfs.open(paths) as trace:
        for table in schema.parse(_core.schema()):
            if table.name not in _COMPARED:
                continue
            columns = [
                f'"{column.name}"'
                for column in table.columns
                if (frames or not column.name.endswith("frame"))
                and (times or not _goes_by_packet_times(column.name))
            ]
            query = f"select {', '.join(columns)} from {table.name}"
            found[table.name] = sorted(repr(row) for row in trace.sql(query).fetchall())
    return found


def _unnumbered(path: Path) -> Tables:
    """The tables without the number of the call, by which their rows begin."""
    return {
        table: [row.partition(", ")[2] for row in rows] for table, rows in _tables(path).items()
    }


def _goes_by_packet_times(column: str) -> bool:
    """Whether it is a time of packets, not one that the server reports of a file, or goes by them.

    What comes behind a call on one interface may come before its last byte on another.
    """
    return column in {
        "call_first_time",
        "call_time",
        "unreceived_time",
        "unreceived_bytes",
        "earlier_unreceived_time",
        "earlier_unreceived_bytes",
        "reply_first_time",
        "reply_time",
        "srt",
    }


def _lab(name: str) -> Path:
    return require_corpus() / "lab" / name


def _packets(paths: Path | Sequence[Path]) -> dict[str, int]:
    with pcapnfs.open(paths) as trace:
        kinds = dict(trace.meta.packets)
        assert sum(kinds.values()) == sum(file.packets for file in trace.meta.files)
    return kinds


# Formats -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ("fmt-plain-v42.pcap", "fmt-plain-v42.pcapng"),
        ("fmt-plain-v42.pcap", "fmt-plain-v42.pcap.gz"),
        ("fmt-plain-v42.pcap", "fmt-plain-v42.pcap.zst"),
        ("fmt-plain-v3.pcap", "fmt-plain-v3-bigendian.pcap"),
    ],
)
def test_another_format_of_the_same_packets(plain: str, other: str) -> None:
    expected = _tables(_lab(plain), frames=True, times=True)
    assert expected["calls"]
    assert _tables(_lab(other), frames=True, times=True) == expected


@pytest.mark.parametrize(
    ("name", "finer"),
    [
        ("fmt-plain-v3.pcap", "fmt-plain-v3-nano.pcap"),
        ("fmt-plain-v42.pcap", "fmt-plain-v42-nano.pcap"),
    ],
)
def test_nanoseconds_are_the_same_frames_with_finer_times(name: str, finer: str) -> None:
    plain, nano = _lab(name), _lab(finer)
    assert _tables(nano, frames=True) == _tables(plain, frames=True)
    with pcapnfs.open(nano) as trace:
        assert trace.meta.files[0].format == "pcap (ns)"
        assert trace.sql("select bool_or(call_time % 1000 <> 0) from calls").fetchall() == [(True,)]


def _iptrace(capture: Path) -> bytes:
    """The packets of a pcap file (Ethernet, little-endian) as AIX's iptrace 2.0 writes them.

    As Wireshark reads it; no document describes the format.
    """
    pcap = capture.read_bytes()
    parts, at = [b"iptrace 2.0"], 24
    while at < len(pcap):
        seconds, fraction, captured, wire = struct.unpack_from("<4I", pcap, at)
        assert captured == wire, "iptrace keeps no length on the wire"
        information = struct.pack(
            ">3xB4s12sBB2xII", 1, b"en", b"0x0800", 6, 1, seconds, fraction * 1000
        )
        packet = pcap[at + 16 : at + 16 + captured]
        parts.append(struct.pack(">II", len(information) + captured, seconds))
        parts += [information, packet]
        at += 16 + captured
    return b"".join(parts)


@pytest.mark.parametrize("name", ["fmt-plain-v3.pcap", "fmt-plain-v42.pcap"])
def test_snoop_and_iptrace_hold_the_same(name: str, tmp_path: Path) -> None:
    """Files as Solaris and AIX write them, and as Wireshark reads them; editcap wrote the first."""
    plain, snoop, iptrace = _lab(name), tmp_path / "it.snoop", tmp_path / "it.iptrace"
    subprocess.run(["editcap", "-F", "snoop", plain, snoop], check=True, capture_output=True)
    iptrace.write_bytes(_iptrace(plain))
    expected = _tables(plain, frames=True, times=True)
    with pcapnfs.open(plain) as trace:
        packets = trace.meta.packets
    for other, format_name in ((snoop, "snoop"), (iptrace, "iptrace")):
        assert _tables(other, frames=True, times=True) == expected, format_name
        with pcapnfs.open(other) as trace:
            (file,) = trace.meta.files
            assert (file.format, trace.meta.packets) == (format_name, packets)
            assert file.damage is None
            assert file.dropped_packets == (0 if format_name == "snoop" else None)
        fields = [f"-e{field}" for field in ("frame.time_epoch", "frame.len", "frame.cap_len")]
        read = [
            subprocess.run(
                ["tshark", "-n", "-r", capture, "-Tfields", *fields],
                check=True,
                capture_output=True,
            ).stdout
            for capture in (plain, other)
        ]
        # Times of a pcap in microseconds are told with as many digits.
        assert _digits(read[1]) == _digits(read[0]), format_name


def _digits(told: bytes) -> list[bytes]:
    return [line.replace(b"000\t", b"\t", 1) for line in told.splitlines()]


def test_a_file_that_breaks_off_has_the_calls_before_the_break() -> None:
    """Calls and operations of the whole file, up to the last packet that is there."""
    whole, cut = _lab("fmt-plain-v3.pcap"), _lab("fmt-plain-v3-cutoff.pcap")
    query = "select * exclude (call) from calls where reply_frame <= $last order by call_frame"
    with pcapnfs.open(cut) as trace:
        (file,) = trace.meta.files
        assert file.damage is not None
        found = trace.sql(query, {"last": file.last_frame}).fetchall()
        assert trace.sql("select count(*) from calls").fetchall() == [(len(found),)]
    with pcapnfs.open(whole) as trace:
        # Objects are numbered as they are met, connections likewise: in the same order.
        assert trace.sql(query, {"last": file.last_frame}).fetchall() == found
        assert len(found) > trace.meta.calls / 2


# Interfaces --------------------------------------------------------------------------------------


def test_any_interface_shows_the_same_and_the_loopback() -> None:
    """With `-i any` the client's own port mapper is seen too (its rows come before the others')."""
    plain = _tables(_lab("fmt-plain-v42.pcap"))
    assert _tables(_lab("fmt-plain-v42-any.pcap")) == plain
    with (
        pcapnfs.open(_lab("fmt-plain-v3.pcap")) as one,
        pcapnfs.open(_lab("fmt-plain-v3-any.pcap")) as every,
    ):
        query = """
            select xid, protocol, calls.op, call_bytes, reply_bytes, calls.status, name, count, size
            from calls left join operations using (call)
            where client <> '127.0.0.1' order by xid, position
        """
        assert every.sql(query).fetchall() == one.sql(query).fetchall() != []


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        ("fmt-plain-v42.pcap", "fmt-plain-v42-wire-any.pcap"),
        ("k61-fmt-vlan-v42.pcap", "k61-fmt-vlan-v42-any.pcap"),
    ],
)
def test_packets_seen_twice_count_once(once: str, twice: str) -> None:
    assert _tables(_lab(twice)) == _tables(_lab(once))
    kinds = _packets(_lab(once))
    assert "duplicate" not in kinds
    assert _packets(_lab(twice)) == kinds | {"duplicate": sum(kinds.values())}
    for name in (once, twice):
        with pcapnfs.open(_lab(name)) as trace:
            query = "select sum(retransmitted), sum(out_of_order) from connections"
            assert trace.sql(query).fetchall() == [(0, 0)], name


def test_segments_sent_again_are_no_copies() -> None:
    """3 % loss: hundreds of retransmissions, all of which stay what they are."""
    for name in ("loss-v3.pcap", "loss-v42.pcap", "reorder-v42.pcap"):
        assert "duplicate" not in _packets(_lab(name)), name


def test_fragments_are_the_datagrams_they_make() -> None:
    """Two captures of PcapPlusPlus: one in fragments, most of which it holds two or three times;
    one put together by that project, which dates a datagram by its first fragment, and leaves out a
    WRITE of which a fragment is missing: its handle, place and reply are there.
    """
    folder = require_corpus() / "public" / "pcapplusplus"
    fragments, whole = folder / "ip-frag.pcap", folder / "no-ip-frag-all.pcap"
    whole_tables = _unnumbered(whole)
    for table, rows in _unnumbered(fragments).items():
        more = sorted((Counter(rows) - Counter(whole_tables[table])).elements())
        assert not Counter(whole_tables[table]) - Counter(rows), table
        assert all("'WRITE'" in row for row in more), table
        assert len(more) == (table in {"calls", "operations"}), table
    kinds = _packets(fragments)
    assert kinds["duplicate"] > 700
    assert kinds["udp"] == _packets(whole)["udp"]


# Networks ----------------------------------------------------------------------------------------

_SAME_WORK = {
    "fmt-plain-v3.pcap": (
        "k61-fmt-ipv6-v3.pcap",
        "k61-fmt-port20049-v3.pcap",
        "fmt-udp-mount-v3.pcap",
    ),
    "fmt-plain-v42.pcap": (
        "k61-fmt-ipv6-v42.pcap",
        "k61-fmt-port20049-v42.pcap",
        "k61-fmt-vlan-v42.pcap",
    ),
}
"""The same archive unpacked over another network, by other kernels."""


@pytest.mark.parametrize(
    ("plain", "other"), [(plain, other) for plain in _SAME_WORK for other in _SAME_WORK[plain]]
)
def test_the_same_work_over_another_network(plain: str, other: str) -> None:
    """IPv6, a VLAN, another port, MOUNT over UDP: the same operations on the same paths."""
    query = """
        select path, op, status, "offset", count, committed, stability
        from operations join files using (file) where role = 'file' order by all
    """
    with pcapnfs.open(_lab(plain)) as one, pcapnfs.open(_lab(other)) as two:
        expected = one.sql(query).fetchall()
        assert two.sql(query).fetchall() == expected
    assert len(expected) >= 12 * 6  # files, and what each costs at least


_COMPARED_ELSEWHERE = {
    "fmt-midway-v3.pcap": "nothing else has its traffic; test_lab.py counts its whole steps",
    "fmt-midway-v42.pcap": "likewise",
    "k61-fmt-midway-v3.pcap": "likewise",
}


def test_every_format_of_the_lab_is_compared() -> None:
    """By its name, which stands in this file."""
    source = Path(__file__).read_text(encoding="utf-8")
    files = [
        path.name
        for path in (require_corpus() / "lab").iterdir()
        if "fmt-" in path.name and path.suffix != ".json"
    ]
    assert len(files) > 20
    assert [name for name in files if f'"{name}"' not in source and name not in _ROTATION] == []
    assert set(_COMPARED_ELSEWHERE) <= set(files)


# Several files -----------------------------------------------------------------------------------

_ROTATION = tuple(f"fmt-rotated-v3.pcap{number}" for number in range(4))


def test_a_rotation_is_one_capture(tmp_path: Path) -> None:
    """Connections run on across the cuts, in whatever order the files are named."""
    parts = [_lab(name) for name in _ROTATION]
    whole = tmp_path / "whole.pcap"
    header = 24
    whole.write_bytes(
        parts[0].read_bytes() + b"".join(part.read_bytes()[header:] for part in parts[1:])
    )
    expected = _tables(whole, frames=True, times=True)
    assert _tables(parts, frames=True, times=True) == expected
    assert _tables(parts[::-1], frames=True, times=True) == expected
    with pcapnfs.open(parts[::-1]) as trace:
        files = trace.meta.files
    assert [file.path for file in files] == [str(part) for part in parts]
    next_frame = 1
    for file in files:
        assert (file.first_frame, file.last_frame) == (next_frame, next_frame + file.packets - 1)
        next_frame += file.packets


def test_one_file_of_two_interfaces_is_two_files() -> None:
    parts = [_lab("fmt-plain-v3.pcap"), _lab("fmt-plain-v42.pcap")]
    merged = _tables(_lab("fmt-merged-2if.pcapng"), frames=True, times=True)
    assert _tables(parts, frames=True, times=True) == merged


def _split(capture: Path, folder: Path, choose: Callable[[int], int], count: int) -> list[Path]:
    """Deals the packets of a pcap file to several files."""
    content = capture.read_bytes()
    parts = [bytearray(content[:24]) for _ in range(count)]
    at, number = 24, 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at + 8)
        parts[choose(number)] += content[at : at + 16 + length]
        at, number = at + 16 + length, number + 1
    paths = [folder / f"part{index}.pcap" for index in range(count)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    return paths


@pytest.mark.parametrize("run", [1, 7, 100])
def test_captures_that_overlap_are_merged_by_time(tmp_path: Path, run: int) -> None:
    """As if each of three interfaces had seen a part of the packets."""
    capture = _lab("fmt-plain-v3.pcap")
    parts = _split(capture, tmp_path, lambda number: number // run % 3, 3)
    expected = _tables(capture, frames=True, times=True)
    assert _tables(parts[::-1], frames=True, times=True) == expected
    with pcapnfs.open(parts) as trace:
        files = trace.meta.files
    assert [file.first_frame for file in files] == [1, 1 + run, 1 + 2 * run]
    assert max(file.last_frame or 0 for file in files) == sum(file.packets for file in files)


def test_two_captures_of_the_same_packets_count_once() -> None:
    capture = _lab("fmt-plain-v42.pcap")
    assert _tables([capture, _lab("fmt-plain-v42.pcapng")]) == _tables(capture)


# Standard input and compression ------------------------------------------------------------------

_PRINT_CALLS = """
import sys, pcapnfs
with pcapnfs.open(sys.argv[1:]) as trace:
    print(trace.meta.files[0].format)
    print(trace.sql("select count(*), min(call_time), max(reply_frame) from calls").fetchall())
"""


def _from_pipe(content: bytes, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_CALLS, *arguments],
        input=content,
        stdout=subprocess.PIPE,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stdout.decode().splitlines()


def test_standard_input_is_read_as_it_comes() -> None:
    plain = _lab("fmt-plain-v42.pcap").read_bytes()
    _, calls = _from_pipe(b"", str(_lab("fmt-plain-v42.pcap")))
    assert _from_pipe(plain, "-") == ["pcap", calls]
    assert _from_pipe(gzip.compress(plain), "-") == ["pcap, gzip", calls]
    zstd = _lab("fmt-plain-v42.pcap.zst").read_bytes()
    assert _from_pipe(zstd, "-") == ["pcap, zstd", calls]


def test_standard_input_is_one_of_several_captures(tmp_path: Path) -> None:
    capture = _lab("fmt-plain-v3.pcap")
    parts = _split(capture, tmp_path, lambda number: number % 2, 2)
    _, calls = _from_pipe(b"", str(capture))
    assert _from_pipe(parts[1].read_bytes(), "-", str(parts[0])) == ["pcap", calls]


def test_standard_input_is_not_read_twice() -> None:
    for ask in (pcapnfs.open, lambda named: pcapnfs.decode(named, "never.nfstrace")):
        with pytest.raises(UsageError, match="read once"):
            ask(["-", "x.pcap", "-"])


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("name", _PACKERS)
def test_a_packed_capture_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    capture = _lab("fmt-plain-v42.pcap")
    packed = tmp_path / "packed"
    packed.write_bytes(_PACKERS[name](capture.read_bytes()))
    assert _tables(packed, frames=True, times=True) == _tables(capture, frames=True, times=True)
    with pcapnfs.open(packed) as trace:
        assert trace.meta.files[0].format == f"pcap, {name}"


_MEMORY = """
import resource, sys
from pcapnfs import _core
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
decoder = _core.Decoder(sys.argv[1:])
while decoder.next() is not None: pass
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in kB as Linux does")
@pytest.mark.parametrize("name", _PACKERS)
def test_a_small_file_that_unpacks_to_a_huge_one_is_harmless(tmp_path: Path, name: str) -> None:
    """A pcapng block of 256 MB of zeros in a few kB: it streams through a buffer of fixed size."""
    length = 256 << 20
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    block = struct.pack("<II", 0x0BAD, length) + bytes(length - 12) + struct.pack("<I", length)
    bomb = tmp_path / "bomb"
    if name == "xz":
        bomb.write_bytes(lzma.compress(section + block, preset=0))
    elif name == "bzip2":
        bomb.write_bytes(bz2.compress(section + block, 1))
    else:
        bomb.write_bytes(gzip.compress(section + block, 1))
    assert bomb.stat().st_size < length // 200
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(bomb)],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(done.stdout) < 24 << 10


def test_a_dictionary_of_gigabytes_is_refused(tmp_path: Path) -> None:
    """An xz block header may ask for 4 GB of memory, which is then not allocated."""
    packed = bytearray(lzma.compress(b"anything", preset=0))
    header = slice(12, 12 + (packed[12] + 1) * 4)
    packed[16] = 40  # of the filter LZMA2: 4 GiB less one byte
    packed[header.stop - 4 : header.stop] = struct.pack(
        "<I", zlib.crc32(packed[header.start : header.stop - 4])
    )
    path = tmp_path / "greedy.pcap.xz"
    path.write_bytes(packed)
    with pytest.raises(pcapnfs.CaptureError, match="the compressed data is damaged"):
        pcapnfs.open(path)


@pytest.mark.parametrize(
    ("filters", "read"),
    [
        ([{"id": lzma.FILTER_X86}], True),
        ([{"id": lzma.FILTER_DELTA, "dist": 4}], True),
        ([{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_X86}], False),
    ],
)
def test_xz_with_more_than_one_filter_before_lzma2_is_to_be_unpacked_first(
    filters: list[dict[str, int]], read: bool, tmp_path: Path
) -> None:
    plain = Path(__file__).parents[1] / "samples" / "k61-walk-v3.pcap"
    path = tmp_path / "filtered.pcap.xz"
    path.write_bytes(
        lzma.compress(plain.read_bytes(), filters=[*filters, {"id": lzma.FILTER_LZMA2}])
    )
    if read:
        with pcapnfs.open(path) as trace, pcapnfs.open(plain) as whole:
            assert trace.meta.calls == whole.meta.calls
    else:
        with pytest.raises(pcapnfs.CaptureError, match=r"several filters .* unxz"):
            pcapnfs.open(path)


def test_the_unwritten_end_of_a_file_is_told_and_no_part_of_the_run(tmp_path: Path) -> None:
    samples = Path(__file__).parents[1] / "samples"
    for name, kind in (("k61-walk-v3.pcap", "packet"), ("fmt-plain-v42.pcapng", "block")):
        whole = samples / name
        padded = tmp_path / name
        padded.write_bytes(whole.read_bytes() + bytes(1 << 16))
        with pcapnfs.open(whole) as written, pcapnfs.open(padded) as read:
            (file,), (expected,) = read.meta.files, written.meta.files
            assert file.damage == (
                f"zeros where a {kind} should begin at byte {whole.stat().st_size}, "
                f"after packet {expected.packets}; everything before that was read"
            )
            assert (file.start_ns, file.end_ns) == (expected.start_ns, expected.end_ns)
            assert (file.packets, read.meta.calls) == (expected.packets, written.meta.calls)


def test_a_capture_without_times_has_no_verdict_on_them(tmp_path: Path) -> None:
    """Simple packet blocks hold packets and nothing else."""
    source = (Path(__file__).parents[1] / "samples" / "k61-tar-v3.pcap").read_bytes()
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    blocks = [section, struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)]
    place, packets = 24, 0
    while place < len(source):
        captured, length = struct.unpack_from("<II", source, place + 8)
        packet = source[place + 16 : place + 16 + captured]
        packet += bytes(-captured % 4)
        size = 16 + len(packet)
        blocks.append(struct.pack("<III", 3, size, length) + packet + struct.pack("<I", size))
        place, packets = place + 16 + captured, packets + 1
    path = tmp_path / "simple.pcapng"
    path.write_bytes(b"".join(blocks))
    with pcapnfs.open(path) as trace:
        (file,) = trace.meta.files
        assert (file.packets, file.untimed_packets) == (packets, packets)
        assert (file.start_ns, file.end_ns) == (None, None)
        told = pcapnfs.summarize(trace)
    assert (told.capture.start, told.capture.duration_s) == (None, None)
    assert (told.trust.untimed_packets, told.trust.complete) == (packets, False)
    assert (told.trust.matched, told.trust.rpc_calls) == (1249, 1249)
    assert (told.model.verdict, told.model.rtt_s, told.model.persist_s) == (None, None, None)
    assert told.model.forecast_s is None
