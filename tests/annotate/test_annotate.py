"""Annotated captures as tshark reads them: comments at their frames, and nothing else changed."""

from __future__ import annotations

import functools
import gzip
import json
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import annotation
from pcapnfs.cli.app import run
from pcapnfs.diagnosis.thresholds import Values
from pcapnfs.errors import CaptureError, UsageError
from pcapnfs.views.comments import by_frame
from tests.golden.regenerate import SAMPLES, samples
from tests.oracles.tshark import require_tshark

TAR = SAMPLES / "k61-tar-v3.pcap"
WALK = SAMPLES / "k61-walk-v3.pcap"

PACKET = (
    "frame.number frame.time_epoch frame.len frame.cap_len frame.encap_type frame.interface_id "
    "frame.md5_hash"
).split()
"""Fields of tshark that together are a packet."""

BETWEEN = "\x1f"
"""Between the comments of one frame: no comment holds it."""

Printed = pytest.CaptureFixture[str]


def tshark(path: Path, *fields: str, wanted: str = "frame") -> list[list[str]]:
    """The fields of each frame that a filter wants."""
    command = ["tshark", "-n", "-r", str(path), "-o", "frame.generate_md5_hash:TRUE", "-Y", wanted]
    command += ["-T", "fields", "-E", f"aggregator={BETWEEN}"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


def packets(path: Path) -> list[list[str]]:
    """All that tshark tells of each packet; pcap has one interface, which has no number."""
    return [[value or "0" for value in row] for row in tshark(path, *PACKET)]


def comments(path: Path) -> dict[int, list[str]]:
    """The comments that tshark shows, by frame."""
    return packets_and_comments(path)[1]


def packets_and_comments(path: Path) -> tuple[list[list[str]], dict[int, list[str]]]:
    """Both, of one run of tshark."""
    rows = tshark(path, *PACKET, "frame.comment")
    found = {int(row[0]): row[-1].split(BETWEEN) for row in rows if row[-1]}
    return [[value or "0" for value in row[:-1]] for row in rows], found


@functools.cache
def of_tar() -> dict[int, list[str]]:
    """What there is to say of the sample, which stays as it is."""
    with pcapnfs.open(TAR, columns=annotation.READS) as trace:
        return by_frame(annotation.remarks(trace))


def annotated(out: Path, *paths: Path) -> annotation.Annotation:
    """The captures with comments at `out`."""
    with pcapnfs.open(list(paths), columns=annotation.READS) as trace:
        return annotation.annotate(trace, out)


def annotated_as_told(out: Path, path: Path) -> tuple[annotation.Annotation, dict[int, list[str]]]:
    """The same of one capture, and what there is to say of it: what the annotation found out."""
    with pcapnfs.open(path, columns=annotation.READS) as trace, asked_once() as found:
        told = annotation.annotate(trace, out)
    return told, by_frame(*found)


@contextmanager
def asked_once() -> Iterator[list[annotation.Remarks]]:
    """What there is to say of a trace, as whoever annotates it meanwhile finds it out."""
    found: list[annotation.Remarks] = []
    ask = annotation.remarks

    def remarks(trace: pcapnfs.Trace, *, top: int, values: Values | None) -> annotation.Remarks:
        found.append(ask(trace, top=top, values=values))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotation, "remarks", remarks)
        yield found


def tool(*command: str | Path) -> None:
    """A program that comes with tshark."""
    require_tshark()
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


def plain(path: Path, _folder: Path) -> Path:
    return path


def nanoseconds(path: Path, folder: Path) -> Path:
    tool("editcap", "-F", "nsecpcap", "-t", "0.000000123", path, folder / "ns.pcap")
    return folder / "ns.pcap"


def compressed(path: Path, folder: Path) -> Path:
    packed = folder / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def cut(path: Path, folder: Path) -> Path:
    tool("editcap", "-s", "128", path, folder / "cut.pcap")
    return folder / "cut.pcap"


def pcapng(path: Path, folder: Path) -> Path:
    tool("editcap", "-F", "pcapng", path, folder / "other.pcapng")
    return folder / "other.pcapng"


def big_endian(path: Path, folder: Path) -> Path:
    """The file with the bytes of its numbers turned."""
    data, at = path.read_bytes(), 24
    turned = bytearray(struct.pack(">IHHIIII", *struct.unpack("<IHHIIII", data[:24])))
    while at < len(data):
        header = struct.unpack("<IIII", data[at : at + 16])
        turned += struct.pack(">IIII", *header) + data[at + 16 : at + 16 + header[2]]
        at += 16 + header[2]
    (folder / "big.pcap").write_bytes(turned)
    return folder / "big.pcap"


def two_interfaces(path: Path, folder: Path) -> Path:
    """Two interfaces, one of them with another resolution."""
    other = nanoseconds(WALK, folder)
    tool("mergecap", "-I", "none", "-w", folder / "two.pcapng", path, other)
    return folder / "two.pcapng"


@pytest.mark.parametrize(
    "form", [plain, nanoseconds, compressed, cut, pcapng, big_endian, two_interfaces]
)
def test_comments_stand_at_their_frames_and_packets_stay(
    form: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    require_tshark()
    capture, out = form(TAR, tmp_path), tmp_path / "out.pcapng"
    told, expected = annotated_as_told(out, capture)
    assert expected
    written, shown = packets_and_comments(out)
    assert shown == expected
    assert told.comments == sum(map(len, expected.values()))
    assert told.frames == len(expected)
    there = packets(capture)
    assert written == there
    assert told.packets == len(there)
    assert told.damage == ()


def test_interfaces_keep_their_names_and_resolution(tmp_path: Path) -> None:
    capture, out = two_interfaces(TAR, tmp_path), tmp_path / "out.pcapng"
    annotated(out, capture)
    fields = ("frame.interface_id", "frame.interface_name", "frame.interface_description")
    assert tshark(out, *fields) == tshark(capture, *fields)
    shown = [
        subprocess.run(["capinfos", path], capture_output=True, text=True, check=True).stdout
        for path in (capture, out)
    ]
    described = [
        [
            line.strip()
            for line in text.splitlines()
            if "ticks per second" in line or "Capture len" in line
        ]
        for text in shown
    ]
    assert described[0] == described[1]
    assert len(set(described[0])) > 2


def test_comments_that_are_there_stay_before_ours_which_replace_those_of_the_last_time(
    tmp_path: Path,
) -> None:
    expected = of_tar()
    first = min(expected)
    capture, out, again = (tmp_path / f"{name}.pcapng" for name in ("had", "out", "again"))
    tool("editcap", "-F", "pcapng", "-a", f"{first}:mine", "-a", "2:ours", TAR, capture)
    annotated(out, capture)
    assert comments(out) == expected | {first: ["mine", *expected[first]], 2: ["ours"]}
    annotated(again, out)
    assert comments(again)[first] == ["mine", *expected[first]]
    assert comments(again) == comments(out)


def test_a_damaged_file_is_annotated_up_to_there(tmp_path: Path) -> None:
    require_tshark()
    broken, out = tmp_path / "broken.pcap", tmp_path / "out.pcapng"
    broken.write_bytes(TAR.read_bytes()[:100_000])
    told, expected = annotated_as_told(out, broken)
    assert len(told.damage) == 1
    assert str(broken) in told.damage[0]
    assert "ends within a packet" in told.damage[0]
    written, shown = packets_and_comments(out)
    assert shown == expected
    assert written == packets(broken)[: told.packets]


def test_files_of_a_rotation_become_one_with_the_frames_of_reports(tmp_path: Path) -> None:
    tool("editcap", "-c", "500", TAR, tmp_path / "part.pcap")
    parts = sorted(tmp_path.glob("part_*.pcap"))
    assert len(parts) > 3
    out = tmp_path / "out.pcapng"
    annotated(out, *parts[::-1])
    assert packets_and_comments(out) == (packets(TAR), of_tar())


def test_a_trace_leads_to_its_captures(tmp_path: Path, capsys: Printed) -> None:
    require_tshark()
    trace, out = tmp_path / "one.nfstrace", tmp_path / "out.pcapng"
    assert run(["decode", str(TAR), "-o", str(trace)]) == 0
    assert run(["annotate", str(trace), str(out)]) == 0
    assert comments(out) == of_tar()
    capsys.readouterr()


@pytest.mark.parametrize(
    "sample",
    [path for path in samples() if "two-clients" in path.name or path.suffix in (".gz", ".pcapng")],
    ids=lambda path: path.name,
)
def test_an_annotated_sample_is_analysed_alike(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    with pcapnfs.open(sample) as trace:
        with asked_once() as found:
            annotation.annotate(trace, out)
        before = trace.sql("from calls order by call").fetchall()
    remarks = by_frame(*found)
    with pcapnfs.open(out) as trace:
        assert trace.sql("from calls order by call").fetchall() == before
        assert by_frame(annotation.remarks(trace)) == remarks


def test_what_is_marked_can_be_chosen(tmp_path: Path) -> None:
    def marked(trace: pcapnfs.Trace, top: int) -> int:
        return annotation.annotate(trace, tmp_path / f"{top}.pcapng", top=top).slowest

    with pcapnfs.open(TAR, columns=annotation.READS) as trace:
        ((answered,),) = trace.sql("select count(srt) from calls where not callback").fetchall()
        assert [marked(trace, top) for top in (0, 1, 20, 100_000)] == [0, 1, 20, answered]
        with pytest.raises(UsageError, match="negative"):
            marked(trace, -1)


def test_the_command_says_what_it_did(tmp_path: Path, capsys: Printed) -> None:
    out = tmp_path / "out.pcapng.gz"
    assert run(["annotate", str(TAR), str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 537 packets" in said
    assert "20 slow calls" in said
    assert gzip.decompress(out.read_bytes())[:4] == b"\x0a\x0d\x0d\x0a"
    assert run(["annotate", str(TAR), str(out), "--force", "--json", "--top", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["packets"], told["slowest"]) == (2537, 3)


def test_what_cannot_be_done_is_told_and_leaves_nothing_behind(
    tmp_path: Path, capsys: Printed
) -> None:
    out, text = tmp_path / "out.pcapng", tmp_path / "text"
    text.write_text("no capture", encoding="ascii")
    out.write_bytes(b"here before")
    for arguments, status, sentence in [
        ([str(TAR), str(out)], 2, "is there already; --force overwrites it"),
        ([str(TAR), str(TAR), "--force"], 2, "is the capture itself"),
        ([str(TAR), str(tmp_path)], 2, "is a directory"),
        (["-", str(tmp_path / "new.pcapng")], 2, "read twice"),
        ([str(TAR), str(tmp_path / "new.pcapng.xz")], 2, ".xz is not written"),
        ([str(text), str(tmp_path / "new.pcapng")], 1, "a text file, not a capture"),
        ([str(text), str(out), "--force"], 1, "a text file, not a capture"),
        ([str(TAR), str(tmp_path / "none" / "new.pcapng")], 1, "No such file"),
        ([str(TAR)], 2, "OUT.pcapng"),
    ]:
        assert run(["annotate", *arguments]) == status, arguments
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert out.read_bytes() == b"here before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.pcapng", "text"]


def test_a_capture_that_has_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    capture, out = tmp_path / "one.pcap", tmp_path / "out.pcapng"
    capture.write_bytes(TAR.read_bytes())
    with pcapnfs.open(capture, columns=annotation.READS) as trace:
        capture.write_bytes(TAR.read_bytes()[:1000])
        with pytest.raises(CaptureError, match="not what it was"):
            annotation.annotate(trace, out)
    assert not out.exists()


def test_progress_is_told_and_may_stop_it(tmp_path: Path) -> None:
    """A capture has to be long enough to be asked about: 65,536 packets."""
    many, out = tmp_path / "many.pcap", tmp_path / "out.pcapng"
    data = TAR.read_bytes()
    many.write_bytes(data[:24] + data[24:] * 27)

    def stop(done: int, total: int) -> None:
        assert 0 < done <= total
        raise KeyboardInterrupt

    with (
        pcapnfs.open(many, columns=annotation.READS) as trace,
        pytest.raises(KeyboardInterrupt),
    ):
        annotation.annotate(trace, out, progress=stop)
    assert not out.exists()
