"""Exported tables hold what the tables hold, in every form."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

import pcapnfs
from pcapnfs import export
from pcapnfs.errors import CaptureError, UsageError, WriteError
from tests.traces import SAMPLES, written
from tests.unit.rows import ROOT, call, file, tables, trace_of

CAPTURE = next(path for path in SAMPLES if path.name == "k61-two-clients-v42-server.pcap")

HOSTILE = 'a,"b"\r\n=1+1\x1b[2J\x00\u202e'
"""A file name that means harm."""


@pytest.fixture(scope="module", params=["capture", "trace"])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "capture":
        return CAPTURE
    return written([CAPTURE], tmp_path_factory.mktemp("stored") / "a.nfstrace")


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    with pcapnfs.open(path) as opened:
        return opened.sql(f"from {table}").fetchall()


@pytest.mark.parametrize("table", [table.name for table in tables()])
def test_every_form_holds_every_value(trace: Path, table: str, tmp_path: Path) -> None:
    expected = rows(trace, table)
    declared = next(each for each in tables() if each.name == table)
    with pcapnfs.open(trace, columns=export.reads(table), stored=True) as opened:
        for form in ("parquet", "csv", "jsonl"):
            export.to_file(opened, table, form, tmp_path / f"t.{form}")
    assert duckdb.sql(f"from '{tmp_path}/t.parquet'").fetchall() == expected
    for form, texts in (("csv", True), ("jsonl", False)):
        found = _plain(tmp_path / f"t.{form}", form)
        assert len(found) == len(expected)
        for mine, its in zip(found, expected, strict=True):
            assert list(mine) == [column.name for column in declared.columns]
            assert list(mine.values()) == [_value(value, as_text=texts) for value in its]


def _plain(path: Path, form: str) -> list[dict[str, object]]:
    with path.open(encoding="utf-8", newline="") as stream:
        if form == "csv":
            return [dict(row) for row in csv.DictReader(stream)]
        return [json.loads(line) for line in stream]


def _value(value: object, *, as_text: bool) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if not as_text:
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def test_names_keep_every_character_and_stay_in_their_cell(tmp_path: Path) -> None:
    with trace_of(files=[file(1, HOSTILE, name=HOSTILE), file(2, "plain", name="")]) as opened:
        export.to_file(opened, "files", "csv", tmp_path / "t.csv")
        export.to_file(opened, "files", "jsonl", tmp_path / "t.jsonl")
        export.to_file(opened, "files", "csv", tmp_path / "s.csv", spreadsheet=True)
        for form in ("csv", "jsonl"):
            assert [row["name"] for row in _plain(tmp_path / f"t.{form}", form)] == [HOSTILE, ""]
    assert '"",' in (tmp_path / "t.csv").read_text(), "an empty text is not NULL"


@pytest.mark.parametrize("first", list("=+-@\t\r"))
def test_a_spreadsheet_gets_no_formula(tmp_path: Path, first: str) -> None:
    with trace_of(files=[file(1, f"{first}1+1"), file(2, "1=1")]) as opened:
        export.to_file(opened, "files", "csv", tmp_path / "s.csv", spreadsheet=True)
        found = [row["path"] for row in _plain(tmp_path / "s.csv", "csv")]
    assert found == [f"'{first}1+1", "1=1"]


def test_pieces_are_the_file(tmp_path: Path) -> None:
    with trace_of(calls=[call(number, "READ", 1) for number in range(1, 50)]) as opened:
        for form in ("csv", "jsonl"):
            export.to_file(opened, "calls", form, tmp_path / "t")
            with export.pieces(opened, "calls", form) as pieces:
                assert b"".join(pieces) == (tmp_path / "t").read_bytes()
        with (
            pytest.raises(UsageError, match="no stream"),
            export.pieces(opened, "calls", "parquet"),
        ):
            pass


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture whose operations are megabytes of text, which no pipe holds."""
    capture = tmp_path_factory.mktemp("large") / "tar.pcap"
    simulated = ["synth", "tar", "--files", "2000", "-o", str(capture)]
    subprocess.run([sys.executable, "-m", "pcapnfs", *simulated], check=True, capture_output=True)
    return capture


@pytest.mark.parametrize("taken", [0, 1])
def test_what_nobody_takes_does_not_keep_the_trace_open(large: Path, taken: int) -> None:
    with pcapnfs.open(large) as opened, export.pieces(opened, "operations", "csv") as pieces:
        for _ in range(taken):
            assert len(next(pieces)) > 0


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("reader", ["gone", "full"])
def test_a_large_table_ends_with_its_output(large: Path, form: str, reader: str) -> None:
    """The database is far ahead of what is written, in a pipe that nobody else reads."""
    command = [sys.executable, "-m", "pcapnfs", "export", str(large), "--table", "operations"]
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(
            [*command, "--format", form],
            stdout=full if reader == "full" else subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    try:
        if process.stdout is not None:
            process.stdout.readline()
            process.stdout.close()
        status = process.wait(timeout=60)
    finally:
        process.kill()
    assert process.stderr is not None
    with process.stderr:
        told = process.stderr.read().decode()
    no_room = "pcapnfs: the output cannot be written: No space left on device\n"
    assert (status, told) == ((1, no_room) if reader == "full" else (141, ""))


def test_what_the_database_could_not_write_is_told_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given a descriptor, and names it."""

    def full(*_: object) -> None:
        raise duckdb.IOException(
            'IO Error: Could not write file "/dev/fd/7": No space left on device'
        )

    monkeypatch.setattr(export, "_copy", full)
    target = tmp_path / "t.csv"
    with trace_of() as opened, pytest.raises(WriteError) as failed:
        export.to_file(opened, "calls", "csv", target)
    assert str(failed.value) == f"{target} cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_what_makes_no_sense_is_wrong_usage(tmp_path: Path) -> None:
    with trace_of() as opened:
        with pytest.raises(UsageError, match="no table 'users'; there are calls, operations"):
            export.to_file(opened, "users", "csv", tmp_path / "t")
        with pytest.raises(UsageError, match="only CSV"):
            export.to_file(opened, "calls", "jsonl", tmp_path / "t", spreadsheet=True)
        with pytest.raises(UsageError, match="directory"):
            export.to_file(opened, "calls", "csv", tmp_path)


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with trace_of(calls=[call(number, "READ", 1) for number in range(1, 200)]) as opened:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
            with pytest.raises(WriteError, match=r"t\.csv"):
                export.to_file(opened, "calls", "csv", target)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        with pytest.raises(WriteError, match="No such file"):
            export.to_file(opened, "calls", "csv", tmp_path / "nowhere" / "t.csv")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("table", [table.name for table in tables()])
def test_captures_are_written_without_a_database_alike(table: str, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("old")
    told = export.decode_to_file([str(CAPTURE)], table, tmp_path / "t.parquet")
    assert told.nfs_calls > 0
    assert duckdb.sql(f"from '{tmp_path}/t.parquet'").fetchall() == rows(CAPTURE, table)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_failure_while_decoding_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    target.write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, limit[1]))
        with pytest.raises(WriteError, match=r"t\.parquet"):
            export.decode_to_file([str(CAPTURE)], "calls", target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    with pytest.raises(CaptureError, match="No such"):
        export.decode_to_file([str(tmp_path / "no.pcap")], "calls", target)
    with pytest.raises(UsageError, match="no table 'users'"):
        export.decode_to_file([str(CAPTURE)], "users", target)
    with pytest.raises(UsageError, match="directory"):
        export.decode_to_file([str(CAPTURE)], "calls", tmp_path)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_capture_without_nfs_leaves_no_file(tmp_path: Path) -> None:
    capture = tmp_path / "other.pcap"
    capture.write_bytes(CAPTURE.read_bytes()[:24])
    done = run("export", str(capture), "-o", str(tmp_path / "t.parquet"), stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"no NFS call in it, as no packet was captured" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other.pcap"]


def test_the_capture_itself_is_never_written_over(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(CAPTURE.read_bytes())
    for form in ("parquet", "csv"):
        command = ("export", str(capture), "--format", form, "-o", str(capture))
        done = run(*command, stderr=subprocess.PIPE)
        assert (done.returncode, b"is the capture itself" in done.stderr) == (2, True)
    assert capture.read_bytes() == CAPTURE.read_bytes()


def test_a_trace_is_never_written_over(tmp_path: Path) -> None:
    trace = tmp_path / "a.nfstrace"
    run("decode", str(CAPTURE), "-o", str(trace))
    table = trace / "calls.parquet"
    before = table.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(table)
    for command in (["export"], ["report", "--force"]):
        for target in (table, link):
            done = run(*command, str(trace), "-o", str(target), stderr=subprocess.PIPE)
            assert done.returncode == 2
            assert f"{target} is a part of the trace itself" in done.stderr.decode()
    assert table.read_bytes() == before


def test_nothing_is_added_to_the_trace_itself(tmp_path: Path) -> None:
    trace = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    for name in ("new.csv", "new.parquet", "none/new.csv"):
        done = run("export", str(trace), "-o", str(trace / name), stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert f"{trace / name} is in the trace itself" in done.stderr.decode()
    pcapnfs.decode(SAMPLES[0], trace, force=True)


def test_nothing_is_written_into_another_trace(tmp_path: Path) -> None:
    """When it is decoded anew, its directory is replaced as one."""
    trace = written([SAMPLES[0]], tmp_path / "a.nfstrace")
    other = written([SAMPLES[0]], tmp_path / "b.nfstrace")
    renamed = (tmp_path / "b.nfstrace").rename(tmp_path / "b")
    before = sorted(renamed.iterdir())
    capture, names = str(CAPTURE), [str(trace)]
    for command in (
        ["export", *names, "-o", "new.csv"],
        ["export", capture, "-o", "new.parquet"],
        ["report", *names, "-o", "new.html"],
        ["compare", *names, *names, "-o", "new.html"],
        ["annotate", capture, "new.pcapng"],
        ["redact", capture, "new.pcap"],
        ["decode", capture, "-o", "0"],
        ["synth", "tar", "-o", "new.pcap"],
        ["redact", capture, str(tmp_path / "new.pcap"), "--key", "new.key"],
    ):
        *words, name = command
        done = run(*words, str(renamed / name), stderr=subprocess.PIPE)
        assert done.returncode == 2, command
        assert f"{renamed / name} is in the trace {renamed}" in done.stderr.decode(), command
    assert sorted(renamed.iterdir()) == before
    assert not other.exists()
    # Others have a file of that name, too.
    (tmp_path / "meta.json").write_text('{"format": "something else"}')
    assert run("export", *names, "-o", str(tmp_path / "new.csv")).returncode == 0


def test_a_part_of_a_trace_is_never_written_over(tmp_path: Path) -> None:
    trace = tmp_path / "a.nfstrace"
    other = next(path for path in SAMPLES if path != CAPTURE)
    run("decode", str(CAPTURE), str(other), "--independent", "-o", str(trace))
    table = trace / "1" / "calls.parquet"
    before = table.read_bytes()
    done = run("export", str(trace), "-o", str(table), stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert f"{table} is a part of the trace itself" in done.stderr.decode()
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("other.pcap", b""),
        ("other.pcapng.gz", b"\x1f\x8b"),
        ("other.pcap0.bz2", b""),
        ("other.dmp", b""),
        ("other.trc", b""),
        ("gz", gzip.compress(CAPTURE.read_bytes())),
        ("bz2", bz2.compress(CAPTURE.read_bytes())),
        ("xz", lzma.compress(CAPTURE.read_bytes())),
        ("netmon", b"GMBU" + bytes(12)),
        ("calls.csv", CAPTURE.read_bytes()),
        ("calls.parquet", b"\x0a\x0d\x0d\x0a"),
    ],
)
def test_another_capture_is_never_written_over(tmp_path: Path, name: str, content: bytes) -> None:
    target = tmp_path / name
    target.write_bytes(content)
    done = run("export", str(CAPTURE), "-o", str(target), stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert f"{target} is a capture, and is not written over" in done.stderr.decode()
    assert target.read_bytes() == content


def test_what_may_be_a_capture_is_not_written_over(tmp_path: Path) -> None:
    target = tmp_path / "broken"
    target.write_bytes(bz2.compress(CAPTURE.read_bytes())[:100])
    done = run("export", str(CAPTURE), "-o", str(target), stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert f"{target} may be a compressed capture, and is not" in done.stderr.decode()
    assert target.stat().st_size == 100


@pytest.mark.parametrize("name", ["calls.csv", "slow.pcap.csv"])
def test_what_an_export_wrote_is_written_again(name: str, tmp_path: Path) -> None:
    target = tmp_path / name
    target.write_text("old")
    for _ in range(2):
        assert run("export", str(CAPTURE), "-o", str(target)).returncode == 0
    assert target.read_text().startswith("call,")


def test_a_damaged_capture_is_written_as_far_as_it_goes(tmp_path: Path) -> None:
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(CAPTURE.read_bytes()[:-7])
    done = run("export", str(capture), "-o", str(tmp_path / "t.parquet"), stderr=subprocess.PIPE)
    assert done.returncode == 0
    assert b"everything before that was read" in done.stderr
    ((calls,),) = duckdb.sql(f"select count(*) from '{tmp_path}/t.parquet'").fetchall()
    assert calls == len(rows(capture, "calls"))


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "pcapnfs", *arguments], cwd=ROOT, check=False, **options
    )


def test_standard_output_is_appended_to_like_any_other(tmp_path: Path) -> None:
    """A shell's `>>` stays what it is."""
    target = tmp_path / "t.csv"
    target.write_text("before\n")
    with target.open("ab") as stream:
        assert run("export", str(CAPTURE), "--table", "names", stdout=stream).returncode == 0
    lines = target.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[1].startswith("call,position")
    assert len(lines) == 2 + len(rows(CAPTURE, "names"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_pipe_gets_the_table_and_stays(form: str, tmp_path: Path) -> None:
    pipe, target = tmp_path / "pipe", tmp_path / f"table.{form}"
    os.mkfifo(pipe)
    arguments = ("export", str(CAPTURE), "--table", "names", "--format", form, "-o")
    assert run(*arguments, str(target)).returncode == 0
    with ThreadPoolExecutor(1) as readers:
        got = readers.submit(pipe.read_bytes)
        assert run(*arguments, str(pipe)).returncode == 0
        assert got.result() == target.read_bytes()
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [pipe, target]


@pytest.mark.parametrize("named", [(), ("-o", "/dev/stdout")], ids=["unnamed", "named"])
def test_a_reader_that_goes_away_ends_it_silently(named: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ("export", str(CAPTURE), *named)
    try:
        done = run(*arguments, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_name_tells_the_form(tmp_path: Path) -> None:
    for name, begin in (("t.parquet", b"PAR1"), ("t.jsonl", b'{"call":'), ("t.csv", b"call,")):
        assert run("export", str(CAPTURE), "-o", str(tmp_path / name)).returncode == 0
        assert (tmp_path / name).read_bytes().startswith(begin)
    refused = run("export", str(CAPTURE), "--format", "parquet", stderr=subprocess.PIPE)
    assert refused.returncode == 2
    packed = ("export", str(CAPTURE), "-o", str(tmp_path / "t.csv.gz"))
    told = run(*packed, stderr=subprocess.PIPE)
    assert (told.returncode, b"a table is no .gz file" in told.stderr) == (2, True)
    assert run(*packed, "--format", "csv").returncode == 0
