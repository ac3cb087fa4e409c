"""A trace is there whole or not at all, and what is none is refused by name."""

from __future__ import annotations

import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import pcapnfs
from pcapnfs import export, holding, placement, query, store, summary, temporary
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.times.operations import operation_times
from pcapnfs.columns import Columns
from pcapnfs.errors import CaptureError, PcapnfsError, UsageError, WriteError
from tests.traces import SAMPLES, written
from tests.unit.rows import ROOT

CAPTURE = next(path for path in SAMPLES if path.name == "k61-tar-v3.pcap")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return written([CAPTURE], tmp_path / "a.nfstrace")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace whose tables are not recognised by all of their bytes."""
    monkeypatch.setattr(store, "WHOLE_BYTES", 0)
    return written([CAPTURE], tmp_path / "a.nfstrace")


def calls(path: Path) -> int:
    with pcapnfs.open(path) as trace:
        ((count,),) = trace.sql("select count(*) from calls").fetchall()
        assert isinstance(count, int)
        return count


# Writing


def test_a_trace_is_not_replaced_unless_asked(stored: Path) -> None:
    before = calls(stored)
    with pytest.raises(UsageError, match="force=True replaces it") as failure:
        pcapnfs.decode(SAMPLES[0], stored)
    assert failure.value.shell.endswith("; --force replaces it")
    assert calls(stored) == before
    pcapnfs.decode(SAMPLES[0], stored, force=True)
    assert calls(stored) != before
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]
    assert not (stored / temporary.LOCK).exists()


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_trace_is_never_replaced(tmp_path: Path, force: bool) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years")
    (tmp_path / "file.nfstrace").write_text("mine")
    (tmp_path / "link.nfstrace").symlink_to(tmp_path / "home")
    for name in ("home", "file.nfstrace", "link.nfstrace"):
        said = "symbolic link" if name.startswith("link") else "no trace"
        with pytest.raises(UsageError, match=said):
            pcapnfs.decode(CAPTURE, tmp_path / name, force=force)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years"


def lay(directory: Path, **files: str) -> Path:
    """A directory of texts; two underscores of a name are a dot."""
    directory.mkdir()
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text)
    return directory


def test_a_directory_that_only_looks_like_a_trace_is_never_replaced(stored: Path) -> None:
    place = stored.parent
    results = lay(place / "results.nfstrace", thesis__txt="years")
    tables = lay(place / "tables.nfstrace", other__parquet="PAR1")
    site = lay(place / "site", meta__json='{"title": "home"}')
    number = lay(place / "number", meta__json="7")
    unread = lay(place / "unread", meta__json="{", index__html="<p>")
    within = place / "within.nfstrace"
    shutil.copytree(stored, within)
    lay(within / "0", thesis__txt="years")
    deeper = place / "deeper.nfstrace"
    shutil.copytree(stored, deeper)
    shutil.copytree(stored, deeper / "0" / "0")
    noted = place / "noted.nfstrace"
    shutil.copytree(stored, noted)
    (noted / "notes.txt").write_text("of the case")
    piped = place / "piped.nfstrace"
    shutil.copytree(stored, piped)
    (piped / "meta.json").unlink()
    os.mkfifo(piped / "meta.json")
    led = place / "led.nfstrace"
    shutil.copytree(stored, led)
    (led / "files.parquet").unlink()
    (led / "files.parquet").symlink_to(stored / "files.parquet")
    for directory, name in (
        (results, "thesis.txt is of no trace"),
        (tables, "other.parquet"),
        (site, "meta.json is of no trace"),
        (number, "meta.json"),
        (unread, "index.html"),
        (within, "0 is"),
        (deeper, "0 is"),
        (noted, "notes.txt"),
        (piped, "meta.json"),
        (led, "files.parquet"),
    ):
        before = sorted(directory.rglob("*"))
        with pytest.raises(UsageError, match=name):
            pcapnfs.decode(CAPTURE, directory, force=True)
        assert sorted(directory.rglob("*")) == before


def test_a_broken_trace_and_one_of_another_version_are_replaced(
    stored: Path, tmp_path: Path
) -> None:
    of_parts = stored.with_name("parts.nfstrace")
    pcapnfs.decode(_copies(tmp_path, 2), of_parts, independent=True)
    pcapnfs.decode(CAPTURE, of_parts, force=True)
    for tables in (None, [["calls"]]):
        change(stored, tables=tables)
        pcapnfs.decode(CAPTURE, stored, force=True)
    (stored / "meta.json").write_text("{")
    (stored / "files.parquet").unlink()
    pcapnfs.decode(CAPTURE, stored, force=True)
    told = json.loads((stored / "meta.json").read_text())
    told["version"] = 99
    told["tables"]["leases"] = told["tables"]["files"]
    (stored / "meta.json").write_text(json.dumps(told))
    shutil.copy(stored / "files.parquet", stored / "leases.parquet")
    pcapnfs.decode(CAPTURE, stored, force=True)
    empty = stored.with_name("empty.nfstrace")
    empty.mkdir()
    pcapnfs.decode(CAPTURE, empty)
    assert calls(of_parts) == calls(stored) == calls(empty)


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("exchanged", [True, False])
def test_who_reads_a_trace_reads_it_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, independent: bool, exchanged: bool
) -> None:
    if not exchanged:
        monkeypatch.setattr(placement, "_swapped", lambda *_: False)
    monkeypatch.setattr("pcapnfs.opening.GATHERED_CALLS", 0)  # Each query reads the files.
    place = tmp_path / "traces"
    place.mkdir()
    stored = place / "a.nfstrace"
    pcapnfs.decode(_copies(tmp_path, 2), stored, independent=independent)
    with pcapnfs.open(stored) as trace:
        ((before,),) = trace.rows("select count(*) from calls")
        for _ in range(2):
            pcapnfs.decode(SAMPLES[0], stored, force=True)
            assert trace.rows("select count(*) from calls") == [(before,)]
            # What no query has read yet.
            assert all(len(trace.rows(f'select * from "{name}"')) >= 0 for name in export.tables())
            left = [path for path in place.iterdir() if path != stored]
            assert len(left) == 1, "the one that is read, and none that nobody reads"
        with pcapnfs.open(stored) as after:
            assert after.rows("select count(*) from calls") != [(before,)]
        assert left[0].is_dir()
    assert list(place.iterdir()) == [stored]


@pytest.mark.parametrize("exchanged", [True, False])
def test_what_was_replaced_is_removed_after_a_kill(stored: Path, exchanged: bool) -> None:
    script = (
        "import os, signal, sys, pcapnfs\n"
        "from pcapnfs import placement, temporary\n"
        "def die(held): os.kill(os.getpid(), signal.SIGKILL)\n"
        "temporary.Held.remove = die\n"
        f"if not {exchanged}: placement._swapped = lambda *_: False\n"
        "pcapnfs.decode(sys.argv[1], sys.argv[2], force=True)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script, str(SAMPLES[0]), str(stored)], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list(stored.parent.iterdir())) == 2
    # Whatever is written there next: nobody may ever write the same trace again.
    assert calls(stored) == calls(written([SAMPLES[0]], stored.with_name("b.nfstrace")))
    assert sorted(path.name for path in stored.parent.iterdir()) == ["a.nfstrace", "b.nfstrace"]


def test_without_exchange_the_old_trace_goes_last(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "_swapped", lambda *_: False)
    pcapnfs.decode(SAMPLES[0], stored, force=True)
    assert calls(stored) == calls(written([SAMPLES[0]], stored.with_name("b.nfstrace")))
    assert sorted(path.name for path in stored.parent.iterdir()) == ["a.nfstrace", "b.nfstrace"]


def test_a_trace_that_came_in_the_meantime_is_kept(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.nfstrace"

    def meanwhile(_: object) -> None:
        stored.rename(target)

    with pytest.raises(WriteError, match="in the meantime"):
        pcapnfs.decode(SAMPLES[0], target, accept=meanwhile)
    assert calls(target) > 0
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    with pytest.raises(UsageError, match="is decoded already"):
        pcapnfs.decode(target, tmp_path / "c.nfstrace")


def test_a_failure_leaves_nothing_and_keeps_the_old(stored: Path, tmp_path: Path) -> None:
    before = calls(stored)
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(b"")
    for target in (stored, tmp_path / "b.nfstrace"):
        with pytest.raises(CaptureError, match="empty"):
            pcapnfs.decode(empty, target, force=True)
    with pytest.raises(WriteError, match="No such file"):
        pcapnfs.decode(CAPTURE, tmp_path / "nowhere" / "b.nfstrace")
    assert calls(stored) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nfstrace", "empty.pcap"]


def test_a_full_disk_is_one_sentence_and_keeps_the_old(stored: Path) -> None:
    """The kernel refuses to let a file grow, as it does when the disk is full."""
    before = calls(stored)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
        with pytest.raises(WriteError, match=r"a\.nfstrace cannot be written: File too large"):
            pcapnfs.decode(CAPTURE, stored, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert calls(stored) == before
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def hear_signals() -> None:
    """As in a terminal: who starts the tests in the background may have signals ignored."""
    for each in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)


def endless(
    command: list[str], *, sent: bytes | None = None, **environment: str
) -> subprocess.Popen[bytes]:
    """A command that reads its capture from a pipe, which is never closed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pcapnfs", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=os.environ | environment,
        preexec_fn=hear_signals,
    )
    assert process.stdin is not None
    process.stdin.write(CAPTURE.read_bytes() if sent is None else sent)
    process.stdin.flush()
    return process


def waits(process: subprocess.Popen[bytes]) -> Callable[[], bool]:
    """Whether a process waits for more, as a rule: it did nothing since it was last looked at.

    Where it does not yet, the outcome is the same.
    """
    taken: list[int] = []

    def waiting() -> bool:
        if sys.platform != "linux":
            time.sleep(1)
            return True
        time.sleep(0.1)
        # Fields 14 and 15 of proc_pid_stat(5): clock ticks in user mode and in the kernel.
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        taken.append(int(stat[11]) + int(stat[12]))
        return len(taken) > 2 and taken[-1] == taken[-2] == taken[-3]

    return waiting


def wait_for(something: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not something():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "cleaned"),
    [(signal.SIGKILL, False), (signal.SIGTERM, True), (signal.SIGHUP, True), (signal.SIGINT, True)],
)
def test_a_signal_leaves_no_trace_and_keeps_the_old(
    stored: Path, number: signal.Signals, cleaned: bool
) -> None:
    before = calls(stored)
    process = endless(["decode", "-", "-o", str(stored), "--force"])
    unfinished = f".{stored.name}{placement.UNFINISHED}"

    def left() -> list[Path]:
        return [path for path in stored.parent.iterdir() if path.name.startswith(unfinished)]

    wait_for(lambda: any((path / "calls.parquet").is_file() for path in left()))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (128 + number if cleaned else -number)
    assert calls(stored) == before
    assert bool(left()) != cleaned
    for path in left():
        with pytest.raises(CaptureError, match="written to its end"):
            pcapnfs.open([path.rename(stored.parent / "taken.nfstrace")])
        shutil.rmtree(stored.parent / "taken.nfstrace")


def test_what_a_killed_decode_left_is_removed_by_one_of_another_name(tmp_path: Path) -> None:
    left, alive = (
        temporary.make(tmp_path, f".{name}.nfstrace{placement.UNFINISHED}") for name in "bc"
    )
    os.close(left.descriptor)  # As the system does when the process ends.
    kept = tmp_path / ".d.nfstrace.unfinished"
    kept.mkdir()
    pcapnfs.decode(SAMPLES[0], tmp_path / "a.nfstrace")
    assert not left.path.exists()
    assert alive.path.is_dir()
    assert kept.is_dir()
    alive.remove()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["decode", "summarize"])
def test_a_signal_ends_a_command_whose_pipe_is_silent(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    """Who captures writes nothing where nothing happens, and need not end with the command."""
    output = ["-o", str(tmp_path / "a.nfstrace")] if command == "decode" else []
    process = endless([command, "-", *output], TMPDIR=str(tmp_path))
    wait_for(lambda: list(tmp_path.glob(f"**/{temporary.LOCK}")))
    wait_for(waits(process))
    process.send_signal(number)
    # Not `communicate`, which would close the pipe.
    assert process.wait(timeout=30) == 128 + number
    process.communicate()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sent", [b"", b"\xd4\xc3"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_command_that_has_no_capture_yet(
    tmp_path: Path, number: signal.Signals, sent: bytes
) -> None:
    """tcpdump writes nothing before its buffer is full, unless it is told to (-U)."""
    process = endless(["summarize", "-"], sent=sent, TMPDIR=str(tmp_path))
    wait_for(lambda: list(tmp_path.glob(f"**/{temporary.LOCK}")))
    wait_for(waits(process))
    process.send_signal(number)
    assert process.wait(timeout=30) == 128 + number
    process.communicate()
    assert list(tmp_path.iterdir()) == []


def test_the_next_decode_removes_what_a_killed_one_left(stored: Path) -> None:
    process = endless(["decode", "-", "-o", str(stored), "--force"])
    wait_for(lambda: len(list(stored.parent.iterdir())) == 2)
    wait_for(lambda: list(stored.parent.glob(f".*/{temporary.LOCK}")))
    pcapnfs.decode(CAPTURE, stored, force=True)
    assert len(list(stored.parent.iterdir())) == 2, "one that lives is left alone"
    process.kill()
    process.communicate(timeout=60)
    pcapnfs.decode(CAPTURE, stored, force=True)
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_temporary_directories_do_not_outlive_their_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = endless(["summarize", "-"], TMPDIR=str(tmp_path))
    wait_for(lambda: list(tmp_path.glob(f"pcapnfs-*/{temporary.LOCK}")))
    foreign = tmp_path / "pcapnfs-1-mine"
    foreign.mkdir()
    (foreign / "kept.txt").write_text("not locked, not ours")
    process.send_signal(number)
    process.communicate(timeout=60)
    run = [sys.executable, "-m", "pcapnfs", "summarize", "--json", str(CAPTURE)]
    subprocess.run(
        run, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, check=True, capture_output=True
    )
    assert [path.name for path in tmp_path.iterdir()] == ["pcapnfs-1-mine"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query_that_runs(
    stored: Path, tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    query = "select count(*) from range(10000000000000)"
    process = subprocess.Popen(
        [sys.executable, "-m", "pcapnfs", "sql", str(stored), query],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(place)},
        preexec_fn=hear_signals,
    )
    wait_for(lambda: list(place.glob(f"pcapnfs-*/{temporary.LOCK}")))
    time.sleep(1)  # By now the query runs, as a rule; before it, the outcome is the same.
    process.send_signal(number)
    told = process.communicate(timeout=60)
    assert (process.returncode, told) == (128 + number, (b"", b""))
    assert list(place.iterdir()) == []


def test_links_are_not_followed_when_cleaning(tmp_path: Path) -> None:
    held = temporary.make(tmp_path)
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / temporary.LOCK).write_text("1\n")
    (tmp_path / "pcapnfs-9-link").symlink_to(target)
    temporary.sweep(tmp_path)
    assert held.path.is_dir()
    assert (target / temporary.LOCK).is_file()
    held.remove()
    held.remove()
    assert not held.path.exists()


# Reading


def change(path: Path, **values: object) -> None:
    write(path, json.loads((path / "meta.json").read_text()) | values)


def write(path: Path, told: dict[str, Any]) -> None:
    """Have a meta.json say something else, as if it had been written before it had a digest."""
    told.pop("digest", None)
    (path / "meta.json").write_text(json.dumps(told))


def damages() -> dict[str, tuple[Callable[[Path], object], str]]:
    """Ways to break a trace, each with what is said of it."""

    def less(path: Path) -> None:
        told = json.loads((path / "meta.json").read_text())
        del told["tables"]["calls"]["columns"][3]
        write(path, told)

    def miscounted(path: Path) -> None:
        told = json.loads((path / "meta.json").read_text())
        told["decoder"]["files"][0]["packets"] = "many"
        write(path, told)

    def in_file(**values: object) -> Callable[[Path], object]:
        def told(path: Path) -> None:
            document = json.loads((path / "meta.json").read_text())
            document["decoder"]["files"][0] |= values
            write(path, document)

        return told

    parts = {"format": "nfstrace", "version": 1, "tool": "pcapnfs"}

    def sizeless(path: Path) -> None:
        told = json.loads((path / "meta.json").read_text())
        told["tables"]["calls"]["bytes"] = math.inf
        write(path, told)

    def undigested(path: Path) -> None:
        told = json.loads((path / "meta.json").read_text())
        told["captures"][0]["digest"]["sha256"] = ["0"]
        write(path, told)

    def asked_in_vain(path: Path, port: int) -> None:
        told = json.loads((path / "meta.json").read_text())
        told["decoder"]["vain"] = [
            {"client": "10.0.0.2", "server": "10.0.0.1", "port": port, "attempts": 1, "syns": 1,
             "refusals": 0, "first_ns": 0, "last_ns": 0, "frame": 1}
        ]  # fmt: skip
        write(path, told)

    def nested(path: Path) -> None:
        # Read without a fault, and too deep to take the digest of.
        told = json.loads((path / "meta.json").read_text())
        depth = sys.getrecursionlimit() - 10
        text = json.dumps({**told, "options": "here"})
        (path / "meta.json").write_text(text.replace('"here"', "[" * depth + "]" * depth))

    def shorter(path: Path) -> None:
        text = (path / "meta.json").read_text()
        number = json.loads(text)["highest"]["call"]
        less = text.replace(f'"call": {number},', f'"call": {number // 10},')
        assert json.loads(less)["highest"]["call"] < number
        (path / "meta.json").write_text(less)

    def flipped(path: Path) -> None:
        # Some bit of the footer, of which the database does not say a word.
        table = path / "files.parquet"
        whole = bytearray(table.read_bytes())
        whole[-40] ^= 16
        table.write_bytes(whole)

    def another(path: Path) -> None:
        # Of the same size, but not of this trace.
        table = path / "files.parquet"
        size = table.stat().st_size
        table.write_bytes((path / "calls.parquet").read_bytes()[-size:])

    def garbled(path: Path) -> None:
        table = path / "calls.parquet"
        table.write_bytes(b"x" * table.stat().st_size)

    def pipe(path: Path, name: str) -> None:
        (path / name).unlink()
        os.mkfifo(path / name)

    def empty_pipe(path: Path) -> None:
        # Of the size that is told, and with a digest that asks for its bytes.
        told = json.loads((path / "meta.json").read_text())
        told["tables"]["calls"]["bytes"] = 0
        write(path, told)
        pipe(path, "calls.parquet")

    def device(path: Path) -> None:
        (path / "meta.json").unlink()
        (path / "meta.json").symlink_to("/dev/zero")

    return {
        "newer": (lambda path: change(path, version=99, tool="pcapnfs 9.9"), "newer .*install"),
        "older": (lambda path: change(path, version=0), "older; decode the capture again"),
        "other columns": (less, r"other columns \(calls\)"),
        "foreign": (lambda path: change(path, format="parquet"), "belongs to something else"),
        "no meta": (lambda path: (path / "meta.json").unlink(), "meta.json is missing"),
        "half a meta": (
            lambda path: (path / "meta.json").write_text('{"format": "nfstrace"'),
            "meta.json is damaged",
        ),
        "a digit less": (shorter, "meta.json is damaged"),
        "no list": (lambda path: change(path, captures=7), "meta.json is damaged"),
        "no decoder": (lambda path: change(path, decoder={}), "meta.json is damaged"),
        "miscounted": (miscounted, "meta.json is damaged"),
        "of no time": (in_file(start_ns=2**63), "meta.json is damaged"),
        "beyond all times": (in_file(end_ns=10**400), "meta.json is damaged"),
        "less than none": (in_file(packets=-1), "meta.json is damaged"),
        "more than can be counted on": (in_file(packets=2**62), "meta.json is damaged"),
        "no tables": (lambda path: change(path, tables=None), "meta.json is damaged"),
        "tables in a list": (lambda path: change(path, tables=[["calls"]]), "meta.json is damaged"),
        "no version": (lambda path: change(path, version=math.inf), "meta.json is damaged"),
        "no number": (
            lambda path: change(path, highest={"call": math.inf}),
            "meta.json is damaged",
        ),
        "no such number": (lambda path: change(path, highest={"call": 2**63}), "meta.json is dam"),
        "a number below 0": (
            lambda path: change(path, highest={"call": -5}),
            "meta.json is damaged",
        ),
        "no size": (sizeless, "meta.json is damaged"),
        "no digest": (undigested, "meta.json is damaged"),
        "no port": (lambda path: asked_in_vain(path, 1 << 16), "meta.json is damaged"),
        "no parts": (lambda path: write(path, {**parts, "parts": []}), "meta.json is damaged"),
        "a part twice": (
            lambda path: write(path, {**parts, "parts": ["0", "0"]}),
            "meta.json is damaged",
        ),
        "lists in lists": (nested, "meta.json is damaged"),
        "no list of links": (in_file(link_types="5"), "meta.json is damaged"),
        "flipped bit": (flipped, "files.parquet: the table is damaged"),
        "another table": (another, "files.parquet: the table is damaged"),
        "outside": (lambda path: change(path, parts=["../b"]), "meta.json is damaged"),
        "deep": (lambda path: (path / "meta.json").write_text("[" * 100_000), "meta.json"),
        "large": (
            lambda path: os.truncate(path / "meta.json", store.META_LIMIT + 1),
            r"meta\.json is larger than 64\.0 MiB; decode the capture again",
        ),
        "a pipe": (lambda path: pipe(path, "meta.json"), r"meta\.json is no regular file; decode"),
        "a device": (device, r"meta\.json is no regular file"),
        "a pipe for a table": (empty_pipe, r"calls\.parquet is no regular file; decode"),
        "missing table": (lambda path: (path / "files.parquet").unlink(), "files.parquet is miss"),
        "short table": (
            lambda path: os.truncate(path / "calls.parquet", 100),
            "calls.parquet is damaged, it has 100 bytes",
        ),
        "garbled table": (garbled, "calls.parquet: the table is damaged"),
    }


@pytest.mark.parametrize("how", damages())
def test_what_is_no_whole_trace_is_refused_in_a_sentence(stored: Path, how: str) -> None:
    damage, said = damages()[how]
    damage(stored)
    with pytest.raises(CaptureError, match=said) as failure:
        pcapnfs.open(stored)
    assert str(stored) in str(failure.value)
    assert "\n" not in str(failure.value)


def test_nothing_waits_for_a_pipe_beside_what_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "meta.json")
    assert store.around(tmp_path / "out.csv") is None
    os.unlink(tmp_path / "meta.json")
    (tmp_path / "meta.json").write_text('{"format": "nfstrace"}')
    assert store.around(tmp_path / "out.csv") == Path(os.path.realpath(tmp_path))


def test_what_would_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "META_LIMIT", 1000)
    with pytest.raises(UsageError, match="decode them into several traces"):
        pcapnfs.decode(CAPTURE, tmp_path / "a.nfstrace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["flipped bit", "another table"])
def test_a_footer_that_is_another_is_seen_in_a_table_of_any_size(large: Path, how: str) -> None:
    damage, _ = damages()[how]
    damage(large)
    with pytest.raises(CaptureError, match=r"files\.parquet: the table is damaged, its footer"):
        pcapnfs.open(large)


def test_a_bit_of_a_small_table_is_seen_wherever_it_is(stored: Path) -> None:
    """Before each page stand some bytes that no checksum covers, the number of its values among
    them: the database may give other rows without a word."""
    for name in export.tables():
        table = stored / f"{name}.parquet"
        content = table.read_bytes()
        for place in range(4, len(content), max(1, len(content) // 50)):
            changed = bytearray(content)
            changed[place] ^= 1
            table.write_bytes(changed)
            with pytest.raises(CaptureError, match=rf"{name}\.parquet: the table is damaged"):
                pcapnfs.open(stored)
        table.write_bytes(content)
    assert calls(stored) > 0


def test_a_trace_of_which_no_digests_were_told_is_still_read(stored: Path) -> None:
    told = json.loads((stored / "meta.json").read_text())
    for table in told["tables"].values():
        del table["digest"]
    write(stored, told)
    with pcapnfs.open(stored) as trace:
        assert trace.rows("select count(*) from calls") != [(0,)]


def _copies(directory: Path, number: int) -> list[Path]:
    """Captures with the same packets, alike but for a number that nobody reads (sigfigs).

    As what has nothing to do with one another, one file would be refused, and so would a copy.
    """
    (directory / "captures").mkdir()
    copies = [directory / "captures" / f"{place}.pcap" for place in range(number)]
    whole = CAPTURE.read_bytes()
    for place, copy in enumerate(copies):
        copy.write_bytes(whole[:12] + place.to_bytes(4, "little") + whole[16:])
    return copies


@pytest.mark.parametrize("columns", [None, summary.READS], ids=["lazily", "at once"])
def test_of_several_parts_the_damaged_one_is_named(tmp_path: Path, columns: Columns | None) -> None:
    target = tmp_path / "many.nfstrace"
    pcapnfs.decode(_copies(tmp_path, 3), target, independent=True)
    table = target / "1" / "calls.parquet"
    table.write_bytes(b"x" * table.stat().st_size)
    with pytest.raises(CaptureError, match="the table is damaged") as failure:
        pcapnfs.open(target, columns=columns)
    assert str(failure.value).startswith(f"{table}: ")


def test_too_many_parts_for_the_process_are_not_called_damaged(tmp_path: Path) -> None:
    target = tmp_path / "many.nfstrace"
    pcapnfs.decode(_copies(tmp_path, 80), target, independent=True)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    def asked(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pcapnfs", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=few)

    # One after the other they can be read.
    assert asked("sizes", "--json", str(target)).returncode == 0
    lazily = asked("sql", str(target), "select count(*) from calls")
    assert lazily.returncode == 1
    assert "raise the limit (ulimit -n)" in lazily.stderr
    assert "damaged" not in lazily.stderr
    assert lazily.stderr.count("\n") == 1


@pytest.mark.parametrize("how", ["by views", "by the user", "at once"])
def test_changed_bytes_inside_a_table_are_noticed(large: Path, how: str) -> None:
    table = large / "operations.parquet"
    content = table.read_bytes()
    with duckdb.connect() as database:
        columns = database.execute(
            "select path_in_schema, total_compressed_size "
            "+ coalesce(dictionary_page_offset, data_page_offset) from parquet_metadata($file) "
            "where path_in_schema in ('call', 'file', 'op', 'mtime', 'executed')",
            {"file": str(table)},
        ).fetchall()
    assert len(columns) == 5
    for column, end in columns:
        changed = bytearray(content)
        changed[end - 7] ^= 0xFF  # Behind it is the checksum.
        table.write_bytes(changed)
        asked = f"select {column} from operations"
        named = {"operations": frozenset({column})} if how == "at once" else None
        with pytest.raises(CaptureError) as failure, pcapnfs.open(large, columns=named) as trace:
            list(query.select(trace, asked).rows if how == "by the user" else trace.rows(asked))
        assert str(failure.value) == f"{table}: the table is damaged; decode the capture again"
        assert failure.value.__cause__ is not None


def test_a_wrong_query_is_not_taken_for_damage(stored: Path) -> None:
    with pytest.raises(UsageError, match="nothing"), pcapnfs.open(stored) as trace:
        query.select(trace, "select nothing from calls where op = 'Failed to read file'")
    with pytest.raises(UsageError, match="convert"), pcapnfs.open(stored) as trace:
        list(query.select(trace, "select 'Out of buffer'::integer").rows)


def test_failures_that_are_not_of_the_table_stay_the_databases(stored: Path) -> None:
    with pytest.raises(duckdb.Error, match="nothing"), pcapnfs.open(stored) as trace:
        trace.rows("select nothing from calls")


def test_a_strange_name_is_a_name(tmp_path: Path) -> None:
    place = tmp_path / "o'clock [1] *?{a,b}"
    place.mkdir()
    stored = written([CAPTURE], place / "a.nfstrace")
    assert calls(stored) > 0
    with pcapnfs.open(stored) as trace:
        trace.lock()
        assert len(list(query.select(trace, "from calls").rows)) == trace.meta.calls


@pytest.fixture
def unspeakable(tmp_path: Path) -> Path:
    """A directory as an older system names it: its name is Latin-1."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        path.mkdir()
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    return path


@pytest.mark.parametrize("open_files", [True, False], ids=["by open files", "by links"])
def test_a_name_that_is_not_utf_8_is_a_name(
    unspeakable: Path, monkeypatch: pytest.MonkeyPatch, open_files: bool
) -> None:
    if not open_files:  # As where they have no names.
        monkeypatch.setattr(holding, "OPEN_FILES", unspeakable / "none")
    trace = written([CAPTURE], unspeakable / "a.nfstrace")
    with pcapnfs.open(CAPTURE) as opened:
        told, asked = trust(opened), operation_times(opened)
    for columns in (None, summary.READS):  # Views, and tables that are read at once.
        with pcapnfs.open(trace, columns=columns) as opened:
            assert operation_times(opened) == asked
            opened.lock()
            assert len(list(query.select(opened, "from calls").rows)) == told.rpc_calls
    monkeypatch.setattr("pcapnfs.opening.IN_MEMORY_BYTES", 0)
    with pcapnfs.open(SAMPLES[0]) as opened:
        others = opened.meta.calls
    both = [trace, SAMPLES[0]]
    with pcapnfs.open(both, columns=summary.READS) as opened:  # Files that are merged.
        assert trust(opened).rpc_calls == told.rpc_calls + others
    (trace / "calls.parquet").write_bytes(bytes((trace / "calls.parquet").stat().st_size))
    with pytest.raises(CaptureError, match="the table is damaged") as failure:
        pcapnfs.open(trace)
    assert str(failure.value).startswith(str(trace))


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_tables_are_exported_to_a_name_that_is_not_utf_8(
    unspeakable: Path, tmp_path: Path, form: export.Form
) -> None:
    with pcapnfs.open(CAPTURE) as opened:
        for directory in (unspeakable, tmp_path):
            export.to_file(opened, "calls", form, directory / "calls")
    assert (unspeakable / "calls").read_bytes() == (tmp_path / "calls").read_bytes()


def test_a_place_for_temporary_tables_that_is_not_utf_8_is_refused(
    unspeakable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(unspeakable))
    with pytest.raises(UsageError, match="TMPDIR names another place"):
        pcapnfs.open(CAPTURE)
    assert list(unspeakable.iterdir()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from read_text('/etc/hostname')",
        "select * from glob('/*')",
        "from '{trace}/../other.parquet'",
        "copy calls to '{trace}/calls.parquet'",
        "explain analyze copy calls to '{trace}/calls.parquet' (use_tmp_file false)",
        "/**/ explain (analyze) copy calls to '{trace}/calls.parquet' (use_tmp_file false)",
        "explain analyze copy calls to '{trace}/x.parquet' (use_tmp_file false)",
        "set allowed_paths = ['/etc/hostname']",
    ],
)
def test_a_users_sql_reads_nothing_but_the_trace(stored: Path, statement: str) -> None:
    before = {path.name: path.read_bytes() for path in stored.iterdir()}
    shutil.copy(stored / "calls.parquet", stored.parent / "other.parquet")
    with pcapnfs.open(stored) as trace, pytest.raises(UsageError):
        list(query.select(trace, statement.format(trace=stored)).rows)
    assert {path.name: path.read_bytes() for path in stored.iterdir()} == before


def test_what_would_change_something_is_named(stored: Path) -> None:
    with pcapnfs.open(stored) as trace:
        for text, said in (("attach 'x'", "an ATTACH"), ("drop table calls", "a DROP")):
            with pytest.raises(UsageError, match=f"this is {said} statement"):
                query.select(trace, text)


def test_explain_still_explains(stored: Path) -> None:
    with pcapnfs.open(stored) as trace:
        for text in ("explain from calls", "EXPLAIN ANALYZE with c as (from calls) from c"):
            assert list(query.select(trace, text).rows)


# What a trace was made of


def test_captures_are_known_again(tmp_path: Path) -> None:
    capture = Path(shutil.copy(CAPTURE, tmp_path))
    stored = written([capture], tmp_path / "a.nfstrace")
    with pcapnfs.open(stored) as trace:
        assert trace.captures() == [str(capture)]
        with capture.open("r+b") as stream:
            stream.seek(1000)
            stream.write(b"other")
        with pytest.raises(CaptureError, match="not what it was"):
            trace.captures()
        capture.unlink()
        with pytest.raises(PcapnfsError, match="not there any more"):
            trace.captures()


@pytest.mark.parametrize("how", ["removed", "replaced", "written anew"])
def test_a_capture_that_goes_while_it_is_decoded_is_called_gone(tmp_path: Path, how: str) -> None:
    capture = Path(shutil.copy(CAPTURE, tmp_path))

    def goes(_done: int, _total: int) -> None:
        if how == "removed":
            capture.unlink(missing_ok=True)
        elif how == "replaced":
            other = Path(shutil.copy(SAMPLES[0], tmp_path / "other"))
            os.replace(other, capture)
        else:
            os.truncate(capture, 24)

    target = tmp_path / "a.nfstrace"
    told = pcapnfs.decode(capture, target, progress=goes)
    assert told.damage[-1] == (
        f"{capture}: it was gone when the trace was written; verify and show need it"
    )
    said = f"{capture}, which {target} was made of, was gone when that was written"
    with pcapnfs.open(target) as trace, pytest.raises(CaptureError, match=re.escape(said)):
        trace.captures()


def test_a_missing_table_is_told_by_the_path_that_was_named(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stored / "notes.parquet").unlink()
    monkeypatch.chdir(stored.parent)
    with pytest.raises(CaptureError, match=f"^{stored.name}: notes.parquet is missing"):
        pcapnfs.open(stored.name)
