"""Commands from end to end: results on stdout, sentences on stderr, and the exit status."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import pcapnfs
from pcapnfs import __main__, _core
from pcapnfs.cli import app as app_module
from pcapnfs.cli import failures, without_nfs
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.record import replace
from tests.cli import fake_core
from tests.cli.reader import assert_left_silently
from tests.unit.rows import ROOT, call, meta

SCRIPT = (
    "from tests.cli import fake_core; fake_core.install(); "
    "from pcapnfs.__main__ import main; main()"
)
"""A process of its own with the stand-in decoder."""

SAMPLE = "samples/k61-tar-v3.pcap"

Printed = pytest.CaptureFixture[str]


def test_summarize_shows_a_screen(capture: Path, capsys: Printed) -> None:
    assert run(["summarize", str(capture)]) == 0
    told = capsys.readouterr()
    assert "Every call has its reply" in told.out
    assert "CREATE" in told.out
    assert told.err == ""


def test_summarize_writes_json(capture: Path, capsys: Printed) -> None:
    assert run(["summarize", "--json", str(capture)]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["trust"]["matched"] == 3
    assert told.err == ""


def test_perfile_uses_the_capture_of_the_command_before_and_says_so(
    capture: Path, capsys: Printed
) -> None:
    assert run(["summarize", str(capture), "--port", "20490"]) == 0
    capsys.readouterr()
    assert run(["perfile", "--json", "--sort", "name"]) == 0
    told = capsys.readouterr()
    assert [row["path"] for row in json.loads(told.out)["files"]] == ["new", "old\x1b[2J"]
    assert told.err == f"pcapnfs: using {capture} of the previous command\n"
    assert fake_core.Decoder.seen == [([str(capture)], [20490])]


@pytest.mark.parametrize(
    "arguments",
    [
        ["patterns"],
        ["sizes"],
        ["sequence", "--file", "new"],
        ["sequence", "--name", "*"],
        ["perfile", "--by", "directory"],
        ["perfile", "--match", "n*"],
    ],
)
def test_commands_on_files_show_screens_and_write_json(
    arguments: list[str], capture: Path, capsys: Printed
) -> None:
    assert run([*arguments, str(capture)]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out
    assert shown.err == ""
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_json_is_written_file_by_file_and_the_same(capsys: Printed) -> None:
    sample = str(ROOT / "samples" / "k61-tar-v42.pcap")
    for pattern, top in (("*", "0"), ("*", "2")):
        arguments = ["sequence", sample, "--name", pattern, "--top", top, "--json"]
        assert run(arguments) == 0
        with pcapnfs.open(sample) as trace:
            found = pcapnfs.sequence(trace, name=pattern, top=int(top))
        assert capsys.readouterr().out == pcapnfs.to_json(found)


def test_sequence_prints_a_display_filter(capture: Path, capsys: Printed) -> None:
    assert run(["sequence", str(capture), "--file", "new", "--wireshark"]) == 0
    assert capsys.readouterr().out == "frame.number in {1..2}\n"
    assert run(["sequence", "--file", "gone"]) == 2
    assert "no file 'gone' in the capture" in capsys.readouterr().err


@pytest.mark.parametrize("by", [[], ["--by", "client"]])
def test_perfile_writes_csv_with_the_keys_of_json(
    by: list[str], capture: Path, capsys: Printed
) -> None:
    assert run(["perfile", str(capture), *by, "--json", "--top", "0"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert run(["perfile", *by, "--csv", "--top", "0"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    listed = told["groups" if by else "files"]
    assert [list(row) for row in rows] == [list(row) for row in listed]
    assert [int(row["calls"]) for row in rows] == [row["calls"] for row in listed]
    assert told["listed"]["calls"] == sum(row["calls"] for row in listed)
    if not by:
        assert told["shown"] == told["listed"]


def test_perfile_shows_a_screen_without_anything_hostile(capture: Path, capsys: Printed) -> None:
    assert run(["perfile", str(capture)]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "old\\x1b[2J" in told
    assert "calls on no file" in told


def test_sql_answers_on_the_screen_as_csv_and_as_json(capture: Path, capsys: Printed) -> None:
    query = "select op, count(*) as n from calls where op <> 'NULL' group by op order by op"
    assert run(["sql", str(capture), query]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["op", "n"],
        ["CREATE", "1"],
        ["GETATTR", "1"],
    ]
    assert run(["sql", str(capture), query, "--format", "csv"]) == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["op", "n"],
        ["CREATE", "1"],
        ["GETATTR", "1"],
    ]
    assert run(["sql", query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"op": "CREATE", "n": 1},
        {"op": "GETATTR", "n": 1},
    ]


def test_sql_shows_a_limited_number_of_rows_on_the_screen_only(
    capture: Path, capsys: Printed
) -> None:
    query = "select range as n from range(1500)"
    assert run(["sql", str(capture), query]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1001
    assert "first 1000 rows" in told.err
    assert run(["sql", str(capture), query, "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1501


def test_sql_draws_plans(capture: Path, capsys: Printed) -> None:
    assert run(["sql", str(capture), "explain select op from calls"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 3


def test_a_damaged_capture_is_read_and_the_damage_told(
    core: object, tmp_path: Path, capsys: Printed
) -> None:
    del core
    path = fake_core.write_capture(
        tmp_path / "c", meta(damage="breaks off at byte 9"), calls=[call(1, "NULL", 1)]
    )
    assert run(["summarize", "--json", str(path)]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["capture"]["damage"] == ["hand.pcap: breaks off at byte 9"]
    assert "hand.pcap: breaks off at byte 9\n" in told.err


def test_a_rotation_of_hundreds_is_named_in_a_line(
    core: object, tmp_path: Path, capsys: Printed
) -> None:
    del core
    broken = replace(meta(), files=meta(path="x.pcap", damage="breaks off").files * 300)
    first = fake_core.write_capture(tmp_path / "c", broken, calls=[call(1, "NULL", 1)])
    rest = [fake_core.write_capture(tmp_path / f"c{n}", broken, calls=[]) for n in range(299)]
    assert run(["sizes", "--json", *map(str, [first, *rest])]) == 0
    *told, trust = capsys.readouterr().err.splitlines()
    assert trust.startswith("pcapnfs: Trust: ")
    assert len(told) < 10
    assert set(told[:-1]) == {"pcapnfs: x.pcap: breaks off"}
    assert told[-1] == f"pcapnfs: {300 - len(told) + 1} more captures are damaged"
    assert run(["sizes", "--json"]) == 0
    using = capsys.readouterr().err.splitlines()[0]
    assert using.startswith(f"pcapnfs: using {first}, ")
    assert using.endswith("296 more of the previous command")
    empty = fake_core.write_capture(tmp_path / "d", broken, calls=[])
    assert run(["sizes", str(empty)]) == 1
    assert "x.pcap and 296 more: no NFS call in it" in capsys.readouterr().err


def test_no_capture_is_waited_for_at_a_terminal() -> None:
    """Nobody types one: without a word it looked like a hang."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pcapnfs", "summarize", "-"],
            stdin=theirs, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pcapnfs: -: standard input is the terminal; pipe a capture in")


@pytest.mark.parametrize("command", ["summarize", "perfile"])
def test_a_capture_that_cannot_be_read_exits_with_1(
    core: object, tmp_path: Path, capsys: Printed, command: str
) -> None:
    del core
    assert run([command, str(tmp_path / "no\x1bne")]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"pcapnfs: {tmp_path}/no\\x1bne: No such file or directory\n"
    (tmp_path / "text").write_text("hello")
    assert run([command, str(tmp_path / "text")]) == 1
    assert "not a capture" in capsys.readouterr().err


def test_a_capture_without_nfs_exits_with_1_and_says_what_is_in_it(
    core: object, tmp_path: Path, capsys: Printed
) -> None:
    del core
    notes = [{"reason": "encrypted", "layer": "rpc"}]
    path = fake_core.write_capture(
        tmp_path / "c",
        calls=[call(1, "GETPORT", 1, program=100000, protocol="portmap2")],
        notes=notes,
    )
    assert run(["summarize", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert (
        "no NFS call in it (packets: 18 RPC, 2 TCP; calls: 1 portmap2; not decoded: 1 encrypted); "
        "what TLS seals cannot be read" in told.err
    )
    assert "see whose packets these are (tcpdump -nr FILE)" in told.err
    assert "--port" in told.err


def test_a_capture_that_a_transfer_garbled_is_to_be_fetched_again(
    tmp_path: Path, capsys: Printed
) -> None:
    """Each address of 10.0.0.0/8 holds an end of line, so that no header is left whole."""
    garbled = (ROOT / SAMPLE).read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "garbled.pcap").write_bytes(garbled)
    assert run(["summarize", str(tmp_path / "garbled.pcap")]) == 1
    told = capsys.readouterr().err
    assert "damage: a packet" in told
    assert "fetch the file again, in binary" in told
    assert "--port" not in told


@pytest.mark.parametrize(("number", "name"), [(220, "220"), (105, "IEEE802_11")])
def test_a_link_type_that_is_not_read_is_named(
    tmp_path: Path, capsys: Printed, number: int, name: str
) -> None:
    """No port would help."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, number)
    packet = struct.pack("<IIII", 1_000_000_000, 0, 60, 60) + bytes(60)
    (tmp_path / "link.pcap").write_bytes(header + packet)
    assert run(["summarize", str(tmp_path / "link.pcap")]) == 1
    assert capsys.readouterr().err.endswith(
        "no NFS call in it (packets: 1 of a link type that is not read); link type "
        f"{name} (tcpdump.org/linktypes) is not read: capture on an Ethernet interface, or on all "
        "with -i any\n"
    )


def test_whatever_is_in_it_is_told_in_words() -> None:
    codes = {row["code"] for row in json.loads(_core.reasons())}
    assert set(without_nfs.UNDECODED) == codes
    assert all("_" not in words for words in without_nfs.KINDS.values())
    source = (ROOT / "core" / "src" / "packet" / "mod.rs").read_text(encoding="utf-8")
    others = source[source.rindex("others! {") :].partition("\n}")[0]
    kinds = set(re.findall(r'^    \w+ = "(\w+)",$', others, re.M))
    assert len(kinds) > 5
    assert kinds | {"rpc", "tcp", "udp"} == set(without_nfs.KINDS)


def test_where_the_snaplen_hides_the_calls_it_is_named_and_no_port(
    core: object, tmp_path: Path, capsys: Printed
) -> None:
    del core
    for snaplen, cut, named in [(80, 5, True), (80, 0, False), (1500, 5, False), (None, 5, False)]:
        told = meta(snaplen=snaplen, truncated_packets=cut)
        path = fake_core.write_capture(tmp_path / "c", told)
        assert run(["summarize", str(path)]) == 1
        said = capsys.readouterr().err
        assert ("of each packet only 80 bytes were captured" in said) is named
        assert ("--port" in said) is not named
    # A tunnel takes its part; or the capture was cut later, and says nothing of it.
    told = meta(snaplen=262144, truncated_packets=10)
    assert run(["summarize", str(fake_core.write_capture(tmp_path / "c", told))]) == 1
    said = capsys.readouterr().err
    assert "10 of 20 packets were cut" in said
    assert "--port" not in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["summarize"], "Missing argument"),
        (["summarize", "--wrong", "c"], "No such option"),
        (["perfile", "--sort", "colour", "c"], "colour"),
        (["perfile", "--by", "client", "--sort", "calls", "c"], "groups are sorted by time"),
        (["perfile", "--json", "--csv", "c"], "either --json or --csv"),
        (["perfile", "--spreadsheet", "c"], "only CSV is for spreadsheets"),
        (["sql", "--spreadsheet", "--json", "c", "select 1"], "only CSV is for spreadsheets"),
        (["report", "--json", "--format", "md", "c"], "--json is --format json, and --format md"),
        (["export", "--json", "--format", "csv", "c"], "--json is --format jsonl, and --format"),
        (["sql", "--json", "--format", "screen", "c", "select 1"], "and --format screen was given"),
        (["sequence", "--file", "a", "--json", "--wireshark", "c"], "either --json or --wireshark"),
        (["perfile", "--top", "-1", "c"], "--top"),
        (["summarize", "--port", "70000", "c"], "--port"),
        (["summarize", "--memory", "lots", "c"], "is no size"),
        (["summarize", "--memory", "5", "c"], "too few for any work"),
        (["summarize", "--memory", "127M", "c"], "--memory 127M is less than a command needs"),
        (["export", "--memory", "64M", "c"], "128M is the least"),
        (["nothing"], "No such command"),
        (["perfile"], "name a capture"),
        (["sql", "select 1"], "name a capture"),
    ],
)
def test_wrong_usage_exits_with_2(
    core: object, capsys: Printed, arguments: list[str], sentence: str
) -> None:
    del core
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert told.out == ""


def test_a_capture_without_a_command_is_told_which_to_begin_with(
    capture: Path, capsys: Printed
) -> None:
    assert run([str(capture)]) == 2
    assert capsys.readouterr().err.endswith(
        f"the command is missing: pcapnfs summarize {capture}\n"
    )
    assert run(["no such file"]) == 2
    assert "No such command" in capsys.readouterr().err


def test_a_capture_whose_name_begins_with_a_dash_is_told_how_to_name_it(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-dash.pcap", "--long.pcap", "--json"):
        Path(name).write_bytes(capture.read_bytes())
    for arguments in (["-dash.pcap"], ["summarize", "-dash.pcap"], ["redact", "-dash.pcap"]):
        assert run(arguments) == 2
        assert " ./-dash.pcap" in capsys.readouterr().err
    assert run(["summarize", "--long.pcap"]) == 2
    assert capsys.readouterr().err.endswith(
        "pcapnfs: --long.pcap was taken for an option; write ./--long.pcap\n"
    )
    # An option that there is, and one that is no file.
    for wrong in ("--json", "-none.pcap"):
        assert run(["summarize", wrong]) == 2
        assert "./" not in capsys.readouterr().err


def test_standard_input_that_cannot_be_read_is_called_that() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pcapnfs", "summarize", "-"],
        input=b"",
        capture_output=True,
        cwd=ROOT,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"pcapnfs: standard input: an empty file")


@pytest.mark.parametrize("command", ["redact", "annotate"])
def test_a_capture_without_a_file_to_write_is_told_so(
    capture: Path, capsys: Printed, command: str
) -> None:
    assert run([command, str(capture)]) == 2
    told = capsys.readouterr().err
    assert f"the file to write is missing: pcapnfs {command} {capture} OUT.pcap" in told
    assert run([command, "no such file"]) == 2
    assert "Missing argument" in capsys.readouterr().err


def test_a_query_that_is_missing_or_wrong_exits_with_2(capture: Path, capsys: Printed) -> None:
    assert run(["sql", str(capture)]) == 2
    assert "the query is missing" in capsys.readouterr().err
    assert run(["sql", str(capture), "selekt 1"]) == 2
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_an_interrupt_exits_with_130(
    capture: Path, core: type[fake_core.Decoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "interrupt", True)
    assert run(["summarize", str(capture)]) == 130


@pytest.mark.parametrize("more", [KeyboardInterrupt, SystemExit(143)])
def test_one_signal_more_on_the_way_out_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, more: BaseException
) -> None:
    """Whoever hits Ctrl-C twice, and `timeout`, which sends each signal twice."""
    left: list[int] = []

    def leave(status: int) -> None:
        left.append(status)
        if len(left) == 1:
            raise more

    # What it does to the process that runs the tests.
    monkeypatch.setattr(signal, "getsignal", lambda _number: signal.SIG_DFL)
    monkeypatch.setattr(gc, "set_threshold", lambda _objects: None)
    monkeypatch.setattr(app_module, "main", lambda: 0)
    monkeypatch.setattr(app_module, "leave", leave)
    monkeypatch.setattr(app_module, "_ended_by", [signal.SIGINT, signal.SIGTERM])
    __main__.main()
    assert left == [0, 130]


def test_no_argument_shows_the_help_and_version_the_version(capsys: Printed) -> None:
    assert run([]) in (0, 2)
    told = capsys.readouterr()
    assert "summarize" in told.out + told.err
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"pcapnfs {pcapnfs.__version__}\n"


def test_a_reader_who_goes_away_ends_the_command_silently(capture: Path) -> None:
    query = "select range from range(1000000)"
    words = ["sql", str(capture), query, "--format", "csv"]
    assert_left_silently([sys.executable, "-c", SCRIPT, *words])


def test_also_one_who_goes_away_before_the_help(capture: Path) -> None:
    """Typer writes it, and would end with the status of a capture that cannot be read."""
    del capture
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["--help"], ["summarize", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *arguments],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(writing)


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["--help"], ""),
        (["--help"], "1"),
        (["--version"], ""),
        (["summarize"], ""),
        (["summarize"], "1"),
        (["summarize", "--json"], ""),
        (["sql", "select range from range(100000)", "--format", "csv"], ""),
        (["sql", "select range from range(100000)", "--format", "csv"], "1"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given[:2]),
)
def test_output_that_a_full_disk_does_not_take_is_one_sentence(
    capture: Path, arguments: list[str], unbuffered: str
) -> None:
    """Whether Python gathers it first: once each for typer, a screen, and rows one by one."""
    named = [] if arguments[0].startswith("--") else [str(capture)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, arguments[0], *named, *arguments[1:]],
            cwd=ROOT,
            env=dict(os.environ, PYTHONUNBUFFERED=unbuffered),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "pcapnfs: the output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize(
    "arguments", [["summarize", ""], ["sql", "", "from calls"], ["decode", SAMPLE, "-o", ""]]
)
def test_an_empty_name_is_no_directory(arguments: list[str], capsys: Printed) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "pcapnfs: a name is empty; is a variable of the shell not set?\n"
    with pytest.raises(UsageError, match="name of a capture is empty"):
        pcapnfs.open("")


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["sql", "--help"], ""),
        (["sql", "--help"], "1"),
        (["summarize", "SAMPLE"], ""),
        (["summarize", "SAMPLE"], "1"),
        (["summarize", "SAMPLE", "--json"], ""),
        (["export", "SAMPLE"], ""),
        (["export", "SAMPLE"], "1"),
        (["export", "SAMPLE", "-o", "/dev/stdout"], ""),
        (["report", "SAMPLE", "-o", "-"], ""),
        (["report", "SAMPLE", "-o", "-"], "1"),
        (["sequence", "SAMPLE", "--name", "*"], ""),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_output_that_is_taken_in_part_is_one_sentence(
    arguments: list[str], unbuffered: str, tmp_path: Path
) -> None:
    pytest.importorskip("pcapnfs._core")
    most, left = 1 << 30, 500
    words = [SAMPLE if word == "SAMPLE" else word for word in arguments]
    full = tmp_path / "full"
    full.touch()
    os.truncate(full, most - left)
    with full.open("ab") as taken:
        done = subprocess.run(
            [sys.executable, "-m", "pcapnfs", *words],
            cwd=ROOT,
            env=dict(os.environ, PYTHONUNBUFFERED=unbuffered),
            stdout=taken,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
            text=True,
            check=False,
        )
    assert full.stat().st_size == most
    assert done.returncode == 1
    assert done.stderr.endswith("File too large\n")
    assert done.stderr.count("\n") == 1


NONE_MAPPED = "libduckdb.so: failed to map segment from shared object"
NONE_ALLOCATED = "Out of Memory Error: ArrowBuffer: failed to allocate 8388608 bytes"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "there is not enough memory"),
        (ImportError(NONE_MAPPED), "there is not enough memory"),
        (RuntimeError("can't start new thread"), "there is not enough memory"),
        (
            duckdb.InvalidInputException(f"C Data error: -1. Producer error: {NONE_ALLOCATED}"),
            f"the database gave up: {NONE_ALLOCATED}",
        ),
        (
            duckdb.Error("bad allocation"),
            "the database gave up: there is not enough memory",
        ),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)
def test_where_addresses_are_few_that_is_what_limits(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(app_module, "_for", fail)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (300 << 20, 300 << 20))
    assert run(["summarize", "a.pcap"]) == 1
    assert capsys.readouterr().err == (
        f"pcapnfs: {said}; ulimit -v leaves this process 300 MiB of addresses, more may do\n"
    )


def test_without_that_limit_memory_is_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    errors: list[Exception] = [
        duckdb.OutOfMemoryException(NONE_ALLOCATED),
        MemoryError(),
        ImportError(NONE_MAPPED),  # As on a file system from which nothing is executed.
    ]

    def fail(*_: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(app_module, "_for", fail)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    for said in (f"the database gave up: {NONE_ALLOCATED}", "there is not enough memory"):
        assert run(["summarize", "a.pcap"]) == 1
        assert capsys.readouterr().err == f"pcapnfs: {said}; --memory limits what is taken\n"
    with pytest.raises(ImportError):
        run(["summarize", "a.pcap"])


def test_the_databases_own_limit_is_its_part_of_memory() -> None:
    said = "TransactionContext Error: Failed to commit: failed to pin block"
    assert failures.of_database(f"{said} (63.8 MiB/64 MiB used)") == (
        f"{said} (63.8 MiB used of 64 MiB, its part of --memory); a larger --memory may do"
    )


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ("set max_temp_directory_size = '1MB'", "TMPDIR names another place"),
        ("set temp_directory = ''", "a larger --memory may do"),
    ],
)
def test_where_the_database_gives_up_the_advice_is_of_this_tool(
    settings: str, advice: str, tmp_path: Path
) -> None:
    with duckdb.connect() as database:
        database.execute(f"set temp_directory = '{tmp_path}'; set memory_limit = '20MB'")
        database.execute(settings)
        with pytest.raises(duckdb.Error) as caught:
            database.execute(
                "create table t as select range, random() as r from range(10000000) order by r"
            )
    told = failures.of_database(str(caught.value))
    assert advice in told
    assert told.startswith("Out of Memory Error: ")
    assert "PRAGMA" not in told
    assert len(told) < 160


def test_a_directory_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    script = "import os, sys; os.chdir(sys.argv.pop(1)); os.rmdir(os.getcwd()); " + SCRIPT
    for arguments in (["decode", "a.pcap", "-o", "b.nfstrace"], ["report", "-o", "c.html", "-"]):
        (tmp_path / "gone").mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "gone"), *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 1
        assert done.stderr == (
            "pcapnfs: the directory in which pcapnfs runs is gone; change to another one\n"
        )


def test_a_terminal_without_unicode_gets_replacements(capture: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "summarize", str(capture)],
        cwd=ROOT,
        env={"PYTHONIOENCODING": "ascii", "PATH": "", "HOME": "/nonexistent"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_python_m_runs_and_help_is_fast_and_light() -> None:
    start = _of_children_s()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pcapnfs", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert _of_children_s() - start < 2  # It takes 0.2 s.
    assert "perfile" in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {
        "duckdb",
        "numpy",
        "rich.console",
        "pyshark",
        "scapy",
        "jinja2",
        "pcapnfs._core",
    }


def _of_children_s() -> float:
    """What finished processes took of the processor: the same on a busy machine, unlike a clock."""
    times = os.times()
    return times.children_user + times.children_system


def test_a_command_that_is_named_is_all_that_typer_looks_at() -> None:
    for command, _ in app_module.COMMANDS:
        (known,) = app_module._for([command.__name__, "x.pcap"]).registered_commands
        assert known.callback is command
    for others in ([], ["-h"], ["--version"], ["sumarize"], ["-h", "sizes"]):
        assert app_module._for(others) is app_module.app


def test_more_memory_than_there_are_addresses_is_not_taken(
    capture: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = 4 << 40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed, allowed))
    assert run(["summarize", str(capture), "--memory", "3T"]) == 0
    told = capsys.readouterr()
    assert "Every call has its reply" in told.out
    assert told.err.startswith("pcapnfs: --memory 3T is more than ulimit -v or the control group")
    assert told.err.count("\n") == 1
    assert run(["summarize", str(capture), "--memory", "1T"]) == 0
    assert capsys.readouterr().err == ""
