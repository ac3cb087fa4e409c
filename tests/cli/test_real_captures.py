"""Commands with the real decoder: sums that must hold for any capture, and files that are none."""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pytest

import pcapnfs
from pcapnfs import temporary
from pcapnfs.cli.app import run
from pcapnfs.record import replace
from pcapnfs.views.document import to_json
from tests.cli.reader import assert_left_silently
from tests.oracles.corpus import Capture, lab_captures, other_captures
from tests.oracles.opened import opened

pytest.importorskip("pcapnfs._core")

_CAPTURES: list[Capture | None] = [*lab_captures(), *other_captures()] or [None]

ROOT = Path(__file__).resolve().parents[2]

SAMPLE = ROOT / "samples" / "cachedread-v3-snap96.pcap"
OTHER = ROOT / "samples" / "k61-walk-v3.pcap"

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
"""A capture without packets, link type Ethernet."""

Printed = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "capture", _CAPTURES, ids=lambda capture: capture.name if capture else "none"
)
def test_sums_hold_for_every_capture(capture: Capture | None) -> None:
    asked = opened(capture)
    summary, perfile = asked.summary, asked.costs
    assert json.loads(to_json(summary))
    assert json.loads(to_json(perfile))
    trust, split = summary.trust, summary.stability
    assert trust.rpc_calls == trust.matched + trust.unanswered
    assert trust.rpc_calls == sum(row.calls for row in summary.operations)
    assert trust.matched == sum(row.srt.count for row in summary.operations)
    assert sum(summary.capture.packet_kinds.values()) == summary.capture.packets
    kinds = [split.stable, split.unstable, split.unstable_write]
    kinds += [split.read, split.state, split.unknown]
    assert sum(row.calls for row in kinds) == split.total.calls
    assert sum(row.sum_s for row in kinds) == pytest.approx(split.total.sum_s)
    assert sum(file.calls for file in perfile.files) == perfile.listed.calls
    assert len(perfile.files) == (perfile.listed.files or 0)
    parts = (perfile.listed, perfile.left_out, perfile.without_file)
    assert perfile.total == replace(
        perfile.total,
        files=sum(part.files or 0 for part in parts) or perfile.total.files,
        calls=sum(part.calls for part in parts),
    )
    assert perfile.total.calls >= split.total.calls
    for file in perfile.files:
        assert sum(file.ops.values()) == file.calls
        assert file.stable_s + file.unstable_s == pytest.approx(file.time_s)


LATIN_1 = os.fsdecode(b"caf\xe9")
"""What a terminal that is not UTF-8 hands over."""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["sequence", str(SAMPLE), "--file", LATIN_1], 2),
        (["sequence", str(SAMPLE), "--name", LATIN_1], 2),
        (["perfile", str(SAMPLE), "--match", LATIN_1], 0),
        (["sql", str(SAMPLE), f"select '{LATIN_1}'"], 0),
    ],
)
def test_bytes_that_are_not_utf_8_are_written_as_in_tables(
    words: list[str], status: int, capsys: Printed
) -> None:
    assert run(words) == status
    told = capsys.readouterr()
    assert words[0] == "perfile" or "xe9" in told.out + told.err


@pytest.mark.parametrize("kept", [False, True])
def test_a_capture_may_have_any_name_that_the_system_allows(
    kept: bool, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also as what a trace on disk was made of."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    named = tmp_path / LATIN_1 / f"{LATIN_1}\N{EURO SIGN}.pcap"
    named.parent.mkdir()
    named.write_bytes(SAMPLE.read_bytes())
    source = str(named)
    if kept:
        source = str(tmp_path / f"{LATIN_1}.nfstrace")
        assert run(["decode", str(named), "-o", source]) == 0
    target = str(tmp_path / f"new-{LATIN_1}")
    commands = [
        ["summarize", source],
        ["summarize", source, "--json"],
        ["report", source, "-o", f"{target}.html"],
        ["annotate", source, f"{target}.pcapng"],
        ["annotate", source, f"{target}.pcapng", "--force", "--json"],
    ]
    if not kept:
        commands += [["redact", source, f"{target}.pcap"]]
        commands += [["redact", source, f"{target}.pcap", "--force", "--json"]]
    if shutil.which("tshark"):
        commands += [["verify", source], ["verify", source, "--json"]]
        commands += [["show", source, "1"], ["show", source, "1", "--json"]]
    for words in commands:
        status, told = run(words), capsys.readouterr()
        assert status == 0, told.err
        assert not any("\ud800" <= character <= "\udfff" for character in told.out + told.err)


def test_captures_are_told_apart_whose_names_read_alike(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are replaced where names are shown, and only there."""
    late, early = (tmp_path / os.fsdecode(byte) for byte in (b"\xfe.pcap", b"\xff.pcap"))
    tar = (ROOT / "samples" / "k61-tar-v3.pcap").read_bytes()
    late.write_bytes((ROOT / "samples" / "k61-walk-v3.pcap").read_bytes())
    early.write_bytes(tar)
    for stored in (False, True):
        with pcapnfs.open([late, early], stored=stored) as trace:
            assert trace.captures() == [str(early), str(late)]
            shown = str(tmp_path / "\N{REPLACEMENT CHARACTER}.pcap")
            assert [file.path for file in trace.meta.files] == [shown, shown]


@pytest.mark.parametrize(
    "words",
    [
        ["decode", "CAPTURE", "-o", "caf\udce9.nfstrace"],
        ["annotate", "CAPTURE", "caf\udce9.pcapng"],
        ["redact", "CAPTURE", "caf\udce9.pcap"],
        ["synth", "tar", "--files", "1", "-o", "caf\udce9.pcap"],
    ],
    ids=lambda words: words[0],
)
def test_what_was_written_is_named_by_its_bytes(
    words: list[str], tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tar = str(ROOT / "samples" / "published-v3-tar.pcap")
    assert run([tar if word == "CAPTURE" else word for word in words]) == 0
    told = capsys.readouterr().out
    assert told.startswith("caf\\xe9.")
    assert "udce9" not in told


@pytest.mark.parametrize("command", ["summarize", "decode", "export", "report", "verify", "sql"])
@pytest.mark.parametrize("what", ["File name too long", "Permission denied"])
def test_a_capture_that_cannot_be_looked_at_is_a_sentence(
    command: str, what: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("a" * 300)
    if what == "Permission denied":
        if os.geteuid() == 0:
            pytest.skip("the administrator is never refused")
        (tmp_path / "secret").mkdir(mode=0o600)
        path = tmp_path / "secret" / "slow.pcap"
    more = {"decode": ["-o", str(tmp_path / "x.nfstrace")], "sql": ["select 1"]}
    monkeypatch.chdir(tmp_path)
    assert run([command, str(path), *more.get(command, [])]) in (1, 2)
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.endswith(f"{what}\n")


@pytest.mark.parametrize(
    "command", ["report", "compare", "decode", "export", "redact", "annotate", "synth"]
)
@pytest.mark.parametrize("within", ["", f"{'a' * 300}.nfstrace/"])
def test_so_is_a_target_whose_name_is_too_long(
    command: str, within: str, tmp_path: Path, capsys: Printed
) -> None:
    ending = "html" if command in {"report", "compare"} else "pcap"
    target = str(tmp_path / f"{within}{'a' * 300}.{ending}")
    words = {
        "compare": ["compare", str(SAMPLE), str(SAMPLE), "-o", target],
        "redact": ["redact", str(SAMPLE), target],
        "annotate": ["annotate", str(SAMPLE), f"{target}ng"],
        "synth": ["synth", "tar", "--files", "1", "-o", target],
    }.get(command, [command, str(SAMPLE), "-o", target])
    assert run(words) in (1, 2)
    told = capsys.readouterr()
    assert told.err.endswith(
        f"{'a' * 20}.{ending}{'ng' * (command == 'annotate')} cannot be written: "
        "File name too long\n"
    )


WRITING = ["report", "compare", "decode", "export", "redact", "annotate", "synth", "--key"]
"""What writes a file, by the command; `--key` is that of `redact`."""


def writing(command: str, target: Path) -> list[str]:
    """The arguments with which a command writes this file."""
    if command in {"report", "compare"} and target.suffix:
        target = target.with_suffix(".html")
    sample, name = str(SAMPLE), str(target)
    return {
        "compare": ["compare", sample, str(OTHER), "-o", name],
        "redact": ["redact", sample, name],
        "annotate": ["annotate", sample, name],
        "synth": ["synth", "tar", "--files", "1", "-o", name],
        "--key": ["redact", sample, str(target.parent.parent / "out.pcap"), "--key", name],
    }.get(command, [command, sample, "-o", name])


@pytest.mark.parametrize("command", WRITING)
def test_where_there_is_no_directory_it_could_not_be_written(
    command: str, tmp_path: Path, capsys: Printed
) -> None:
    assert run(writing(command, tmp_path / "absent" / "a.pcap")) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert not {path.name for path in tmp_path.iterdir()} - {"state"}


@pytest.mark.parametrize("command", WRITING)
def test_where_nobody_may_write_it_could_not_be_written(
    command: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()

    make = temporary.make

    def denied(*_: object, **__: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    def made(parent: Path | None = None, *others: str) -> temporary.Held:
        return denied() if parent == closed else make(parent, *others)

    if command == "--key":
        monkeypatch.setattr("pcapnfs.redaction.os.open", denied)
    else:
        monkeypatch.setattr("pcapnfs.placement.temporary.make", made)
    assert run(writing(command, closed / "a.pcap")) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("Permission denied\n")


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_directory_that_nobody_may_list_is_not_replaced_by_a_trace(
    force: list[str], tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "secret"
    target.mkdir()
    listed = Path.iterdir

    def denied(path: Path) -> Iterator[Path]:
        if path == target:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", denied)
    assert run(["decode", str(SAMPLE), "-o", str(target), *force]) == 1
    assert capsys.readouterr() == (
        "",
        f"pcapnfs: {target}: a directory has this name, and what is in it cannot be seen: "
        "Permission denied\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["report", "compare", "export"])
def test_a_full_disk_is_told_in_a_sentence(command: str, capsys: Printed) -> None:
    assert run(writing(command, Path("/dev/full"))) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("No space left on device\n")
    assert told.err.count("\n") == 1


def test_a_reader_who_leaves_between_two_files_ends_the_command_as_any_other() -> None:
    words = ["sequence", str(ROOT / "samples" / "k61-tar-v3.pcap"), "--name", "*", "--top", "0"]
    assert_left_silently([sys.executable, "-m", "pcapnfs", *words])


def _in_locale(encoding: str, *words: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "pcapnfs", *words],
        cwd=ROOT,
        env=dict(os.environ, PYTHONIOENCODING=encoding, COLUMNS="80"),
        capture_output=True,
        check=True,
    )
    return done.stdout


def test_a_locale_without_the_characters_of_screens_gets_some_that_it_has() -> None:
    sample = str(ROOT / "samples" / "k61-two-clients-v42-server.pcap")
    for command in (["summarize"], ["network"], ["sequence", "--name", "*"]):
        plain = _in_locale("ascii", command[0], sample, *command[1:]).decode("ascii")
        whole = _in_locale("utf-8", command[0], sample, *command[1:]).decode()
        assert plain.count("?") == whole.count("?")
        assert list(map(len, plain.split("\n"))) == list(map(len, whole.split("\n")))


def test_documents_are_utf_8_in_any_locale() -> None:
    for words in (
        ["report", str(ROOT / "samples" / "k61-tar-v3.pcap"), "-o", "-"],
        ["sql", str(SAMPLE), "select 'µ→' as name", "--format", "csv"],
    ):
        assert _in_locale("latin-1", *words) == _in_locale("utf-8", *words)


@pytest.mark.parametrize(
    "command", ["summarize", "compare", "decode", "export", "redact", "annotate", "report"]
)
def test_whether_a_file_can_be_read_is_left_to_who_reads_it(
    command: str, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """typer would ask first, and call it wrong usage."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    words = writing(command, tmp_path / "a.pcapng")
    assert run(words[:2] if command == "summarize" else words) == 0
    assert capsys.readouterr().err == ""


def test_an_empty_capture_holds_no_nfs(tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(PCAP_HEADER)
    assert run(["summarize", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "no NFS call in it, as no packet was captured; see which" in told.err


def segment(client: bool, port: int, flags: int) -> bytes:
    """A segment without data between a client's port and that of NFS."""
    hosts = [bytes([10, 0, 0, 2]), bytes([10, 0, 0, 1])]
    ports = [struct.pack(">H", port), struct.pack(">H", 2049)]
    if not client:
        hosts.reverse()
        ports.reverse()
    tcp = b"".join(ports) + struct.pack(">IIBBHHH", 7 if client else 0, 8, 0x50, flags, 1000, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + b"".join(hosts)
    return bytes(12) + b"\x08\x00" + ip + tcp


SYN, RST_ACK = 0x02, 0x14


@pytest.mark.parametrize("kept", ["capture", "trace"])
@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (False, "3 connections to NFS or its portmapper got no answer"),
        # One that is asked for again from another port, once it was refused.
        (True, "1 connection to NFS or its portmapper was refused"),
    ],
)
def test_connections_that_never_came_about_are_told(
    answered: bool, told: str, kept: str, tmp_path: Path, capsys: Printed
) -> None:
    path = tmp_path / "mount.pcap"
    frames = []
    for port in (700, 701, 702):
        frames += [segment(True, port, SYN)] * (1 if answered else 3)
        frames += [segment(False, port, RST_ACK)] if answered else []
    records = [
        struct.pack("<IIII", 1_700_000_000 + second, 0, len(frame), len(frame)) + frame
        for second, frame in enumerate(frames)
    ]
    path.write_bytes(PCAP_HEADER + b"".join(records))
    if kept == "trace":
        path, capture = tmp_path / "mount.nfstrace", path
        pcapnfs.decode(capture, path)
    assert run(["summarize", str(path)]) == 1
    assert told in capsys.readouterr().err


def test_the_library_opens_an_empty_capture(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(PCAP_HEADER)
    with pcapnfs.open(path) as trace:
        summary = pcapnfs.summarize(trace)
    assert (summary.capture.packets, summary.capture.start) == (0, None)
    assert json.loads(to_json(summary))["trust"]["matched_share"] is None


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\xa1\xb2\xc3\xd4", bytes(range(256))])
def test_what_is_no_capture_exits_with_1_and_one_sentence(
    tmp_path: Path, capsys: Printed, content: bytes
) -> None:
    path = tmp_path / "no.pcap"
    path.write_bytes(content)
    assert run(["summarize", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"pcapnfs: {path}")
    assert told.err.count("\n") == 1


def test_a_capture_that_does_not_exist_exits_with_1(tmp_path: Path, capsys: Printed) -> None:
    assert run(["perfile", str(tmp_path / "none.pcap")]) == 1
    assert "none.pcap" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_streams_that_are_closed_from_the_start_hinder_no_file_that_is_written(
    closed: tuple[int, ...], tmp_path: Path
) -> None:
    trace = tmp_path / "sample.nfstrace"
    done = closing(closed, ["decode", str(SAMPLE), "-o", str(trace)])
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((trace / "meta.json").read_text())


def closing(streams: tuple[int, ...], command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command without some of the standard streams."""
    without = " ".join(f"{number}>&-" for number in streams)
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {without}', sys.executable, "-m", "pcapnfs", *command],
        capture_output=True,
        check=False,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    "command",
    [
        ["summarize", str(SAMPLE)],
        ["summarize", str(SAMPLE), "--json"],
        ["perfile", str(SAMPLE), "--csv"],
        ["export", str(SAMPLE), "--table", "files", "--format", "csv"],
        ["--version"],
        ["--help"],
    ],
)
def test_a_result_for_a_stream_that_is_closed_is_not_written(command: list[str]) -> None:
    done = closing((1,), command)
    assert done.returncode == 1
    told = b"pcapnfs: the output cannot be written: standard output is closed\n"
    assert done.stderr.endswith(told)


@pytest.mark.parametrize("command", [["summarize", str(SAMPLE), "--json"], ["--help"]])
def test_where_all_streams_are_closed_nobody_can_be_told_but_that_it_failed(
    command: list[str],
) -> None:
    assert closing((0, 1, 2), command).returncode == 1


def test_a_result_goes_out_where_other_streams_are_closed() -> None:
    done = closing((0, 2), ["sql", str(SAMPLE), "select 7", "--format", "csv"])
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [b"7"])


def test_what_the_core_cannot_write_says_why_as_python_does(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        pcapnfs._core.Writer(str(tmp_path / "none"))
    assert caught.value.errno == errno.ENOENT
    assert caught.value.strerror == os.strerror(errno.ENOENT)


def test_a_temporary_place_without_room_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    monkeypatch.setattr("pcapnfs.decoding.write", full)
    # How much a compressed capture holds is not known before: it gets tables on disk.
    assert run(["summarize", str(ROOT / "samples" / "fmt-plain-v42.pcap.gz")]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "No space left on device; TMPDIR names another place" in told
