"""What is behind damage in a file is read, as though what was damaged had not been captured."""

from __future__ import annotations

import gzip
import json
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import summarize
from pcapnfs.analyses.captured.capture import Capture, capture
from pcapnfs.analyses.captured.trust import Trust, trust
from pcapnfs.cli.app import run
from pcapnfs.synth.builder import Conversation, nfs3, rpc
from pcapnfs.synth.builder.damage import snap as cut_short
from pcapnfs.verify.verification import verify
from tests.damage import File, snap
from tests.oracles.corpus import require_corpus
from tests.oracles.tshark import require_tshark
from tests.traces import assert_same_tables
from tests.unit.rows import ROOT, tables

pytest.importorskip("pcapnfs._core")

SAMPLES = ROOT / "samples"
PCAP, PCAPNG = SAMPLES / "k61-tar-v3.pcap", SAMPLES / "fmt-plain-v42.pcapng"
HEADERS = 24, 16
"""Bytes of the file's header and of a packet's in pcap."""


def cut_up(capture: Path) -> list[bytes]:
    """A capture's header, and then each packet with what stands before it; of pcapng each block."""
    file = capture.read_bytes()
    pieces, at = [], 0
    if capture.suffix == ".pcap":
        at, header = HEADERS
        pieces.append(file[:at])
    while at < len(file):
        if capture.suffix == ".pcap":
            length = header + struct.unpack_from("<I", file, at + 8)[0]
        else:
            length = struct.unpack_from("<I", file, at + 4)[0]
        pieces.append(file[at : at + length])
        at += length
    return pieces


def damaged(capture: Path, places: Sequence[int], target: Path) -> tuple[Path, Path]:
    """The capture with headers that say nothing, and without what they stand before."""
    pieces = cut_up(capture)
    broken, without = target / f"broken{capture.suffix}", target / f"without{capture.suffix}"
    without.write_bytes(b"".join(each for at, each in enumerate(pieces) if at not in places))
    for place in places:
        # pcap: times and lengths; pcapng: the block's length and what follows it.
        pieces[place] = pieces[place][:4] + b"\xff" * 12 + pieces[place][16:]
    broken.write_bytes(b"".join(pieces))
    return broken, without


@pytest.fixture(scope="module", params=[None, 96])
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[bytes], tuple[Capture, Trust]]:
    """A capture without damage in pieces, and what is said of it; also as cut by a snaplen."""
    path = PCAP
    if request.param is not None:
        file = File.read(PCAP)
        assert file is not None
        path = tmp_path_factory.mktemp("whole") / "snapped.pcap"
        snap(request.param)(file).write(path)
    with pcapnfs.open(path) as trace:
        return cut_up(path), told(trace)


def told(trace: pcapnfs.Trace) -> tuple[Capture, Trust]:
    """What a summary says of the capture itself, without all else that it says."""
    return capture(trace), trust(trace)


@pytest.mark.parametrize("bit", range(18))
def test_a_wrong_bit_in_the_length_of_a_packet_costs_no_others(
    bit: int, whole: tuple[list[bytes], tuple[Capture, Trust]], tmp_path: Path
) -> None:
    """Every sixth is summarized: what that says of the capture is what is asked of all."""
    pieces, (before, trusted) = list(whole[0]), whole[1]
    place = 901 + bit
    (length,) = struct.unpack_from("<I", pieces[place], 8)
    pieces[place] = pieces[place][:8] + struct.pack("<I", length ^ 1 << bit) + pieces[place][12:]
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"".join(pieces))
    with pcapnfs.open(broken) as trace:
        after, trusted_after = told(trace)
        if bit % 6 == 0:
            summary = summarize(trace)
            assert (summary.capture, summary.trust) == (after, trusted_after)
    assert before.packets - after.packets in (-1, 0, 1, 2)
    assert trusted.matched - trusted_after.matched in (0, 1, 2)
    assert after.duration_s == before.duration_s


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=lambda path: path.name)
@pytest.mark.parametrize("seed", range(5))
def test_the_rest_is_what_it_is_without_the_damaged_packets(
    capture: Path, seed: int, tmp_path: Path
) -> None:
    pieces = range(20, len(cut_up(capture)) - 1)
    places = random.Random(seed).sample(pieces, (1, 1, 2, 3, 10)[seed] if capture == PCAP else 1)
    broken, without = damaged(capture, places, tmp_path)
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(broken.read_bytes(), 1))
    with pcapnfs.open(without) as expected:
        (file,) = expected.meta.files
        for path in (broken, packed):
            with pcapnfs.open(path) as trace:
                (told,) = trace.meta.files
                assert told.damage is not None
                assert "passed over there" in told.damage
                assert told.damage.endswith("everything else was read")
                lengths = [len(cut_up(capture)[place]) for place in places]
                assert told.passed_bytes == sum(lengths)
                assert told.packets == file.packets
                for table in tables():
                    query = f"from {table.name}"
                    rows = trace.sql(query).fetchall()
                    assert rows == expected.sql(query).fetchall(), table.name


@pytest.mark.parametrize("capture", [PCAP, PCAPNG], ids=lambda path: path.name)
def test_so_is_what_is_behind_bytes_that_are_too_many_or_too_few(
    capture: Path, tmp_path: Path
) -> None:
    """As where a transfer turned ends of lines, or a disk was full for a while."""
    pieces = cut_up(capture)
    whole = pcapnfs.open(capture)
    middle = len(pieces) // 2
    inserted = tmp_path / f"more{capture.suffix}"
    inserted.write_bytes(b"".join([*pieces[:middle], b"\xa5" * 4_097, *pieces[middle:]]))
    with pcapnfs.open(inserted) as trace, whole:
        for table in tables():
            query = f"from {table.name}"
            assert trace.sql(query).fetchall() == whole.sql(query).fetchall(), table.name
    lacking = tmp_path / f"less{capture.suffix}"
    torn = [pieces[middle][:60], pieces[middle + 9][-30:]]
    lacking.write_bytes(b"".join([*pieces[:middle], *torn, *pieces[middle + 10 :]]))
    with pcapnfs.open(lacking) as trace:
        (file,) = trace.meta.files
        assert len(pieces) - 13 <= file.packets <= len(pieces) - 9


def test_captures_one_after_the_other_in_a_file_are_those_of_a_rotation(tmp_path: Path) -> None:
    header, *packets = cut_up(PCAP)
    parts = [packets[:700], packets[700:2_000], packets[2_000:]]
    paths = [tmp_path / f"{place}.pcap" for place in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(header + b"".join(part))
    together = tmp_path / "all.pcap"
    together.write_bytes(b"".join(path.read_bytes() for path in paths))
    with pcapnfs.open(together) as one, pcapnfs.open(PCAP) as whole:
        (file,) = one.meta.files
        assert (file.followers, file.damage) == (2, None)
        for table in tables():
            query = f"from {table.name}"
            assert one.sql(query).fetchall() == whole.sql(query).fetchall(), table.name
    stored = tmp_path / "all.nfstrace"
    pcapnfs.decode(together, stored)
    with pcapnfs.open(together) as one, pcapnfs.open(stored) as other:
        assert_same_tables(one, other)
    asked = [sys.executable, "-m", "pcapnfs", "summarize", str(together)]
    told = subprocess.run(asked, capture_output=True, check=True, text=True)
    assert "2 captures follow another in the same file" in told.stdout
    assert told.stderr == ""
    document = subprocess.run([*asked, "--json"], capture_output=True, check=True)
    assert json.loads(document.stdout)["capture"]["followers"] == 2


def test_what_stands_behind_compressed_data_is_told_and_is_no_damage(tmp_path: Path) -> None:
    path, stored = tmp_path / "a.pcap.gz", tmp_path / "a.nfstrace"
    path.write_bytes(gzip.compress(PCAP.read_bytes()) + bytes(5) + b"appended\n")
    pcapnfs.decode(path, stored)
    for source in (path, stored):
        with pcapnfs.open(source) as one, pcapnfs.open(PCAP) as whole:
            (file,) = one.meta.files
            assert (file.trailing_bytes, file.damage, file.compressed) == (14, None, True)
            for table in tables():
                query = f"from {table.name}"
                assert one.sql(query).fetchall() == whole.sql(query).fetchall(), table.name
    asked = [sys.executable, "-m", "pcapnfs", "summarize", str(path)]
    told = subprocess.run(asked, capture_output=True, check=True, text=True)
    assert "14 bytes behind compressed data were passed over: no more of it begins" in told.stdout
    assert "damaged" not in told.stdout
    assert told.stderr == ""


@pytest.mark.parametrize("length", [97, 110, 150, 200])
def test_calls_in_several_fragments_are_found_though_marks_were_cut_off(
    length: int, tmp_path: Path
) -> None:
    """The first two calls of a connection may be needed to know it."""
    capture = require_corpus() / "other" / "ganesha-frag-v3.pcap"
    whole, cut = File.read(capture), tmp_path / "cut.pcap"
    assert whole is not None
    snap(length)(whole).write(cut)
    with pcapnfs.open(capture) as expected, pcapnfs.open(cut) as trace:
        assert expected.meta.calls - 2 <= trace.meta.calls <= expected.meta.calls
        ask = "select call_frame, reply_frame, op from calls where reply_frame is not null"
        found = set(trace.sql(ask).fetchall())
        assert len(found) == trace.meta.calls
        assert found <= set(expected.sql(ask).fetchall())


@pytest.mark.parametrize("data", [900, 8_000])
@pytest.mark.parametrize("kept", [180, 260, 400])
def test_a_write_whose_fragments_were_cut_is_neither_too_long_nor_too_short(
    data: int, kept: int, tmp_path: Path
) -> None:
    """Its end is not known: marks may count as its bytes, or its data lie in later segments."""
    talk = Conversation().open(0)
    for xid in range(1, 8):
        call = rpc.call(xid, *nfs3.write(bytes(32), 0, bytes(data)))
        fragments = [100] * (len(call) // 100)
        talk.send("client", 2 * xid * 1_000_000, rpc.record(call, fragments))
        talk.reply(xid, (2 * xid + 1) * 1_000_000, nfs3.results.write(data))
    cut = tmp_path / "cut.pcap"
    cut_short(talk.capture(), kept).write(cut)
    with pcapnfs.open(cut) as trace:
        found = trace.sql(
            "select op, undecoded, reply_frame is null, count(*) from calls group by all"
        )
        assert found.fetchall() == [("WRITE", None, False, 7)]
        assert trace.sql("select count(*) from notes").fetchall() == [(0,)]


def test_tshark_gets_what_was_found(tmp_path: Path) -> None:
    """By itself it would stop at the damage, and at the second capture."""
    require_tshark()
    broken, _ = damaged(PCAP, [300], tmp_path)
    twice = tmp_path / "twice.pcap"
    twice.write_bytes(PCAP.read_bytes() + (SAMPLES / "k61-walk-v3.pcap").read_bytes())
    for path in (broken, twice):
        with pcapnfs.open(path) as trace:
            result = verify(trace, [str(path)])
            assert (result.unexplained, result.stopped) == (0, None)
            assert result.tshark_calls == result.calls == trace.meta.calls


def test_an_empty_file_of_a_rotation_is_told_and_the_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "run.pcap1"
    empty.touch()
    with pcapnfs.open([PCAP, empty]) as with_it, pcapnfs.open(PCAP) as without:
        beside, alone = summarize(with_it), summarize(without)
    told = f"{empty}: an empty file, as a full disk leaves it; everything else was read"
    assert beside.capture.damage == (told,)
    assert beside.capture.format == alone.capture.format
    assert (beside.trust.damaged_files, beside.trust.complete) == (1, False)
    assert beside.operations == alone.operations
    assert run(["summarize", str(empty)]) == 1
    assert "did the capture run, and with the rights to capture?" in capsys.readouterr().err
