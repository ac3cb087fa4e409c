"""Redacted samples: the same analysis, none of the secrets, valid files."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pcapnfs import memory, redaction
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from tests import damage
from tests.golden.regenerate import SAMPLES, samples
from tests.oracles.tshark import require_tshark
from tests.redact import leaks
from tests.redact.compare import differences

KEY = bytes(range(32))
"""The same in every run, so that what turns up by chance does so always or never."""

TAR = SAMPLES / "k61-tar-v3.pcap"
_EACH = pytest.mark.parametrize("sample", samples(), ids=lambda path: path.name)

Printed = pytest.CaptureFixture[str]


@_EACH
def test_the_analysis_is_the_same_but_for_names(sample: Path, tmp_path: Path) -> None:
    redacted = tmp_path / sample.name
    told = redaction.redact(sample, redacted, key=KEY)
    assert differences(sample, redacted) == []
    assert told.messages > 0
    assert told.removed_bytes > 0
    assert told.damage is None


def test_what_stands_behind_data_that_was_cut_is_told(tmp_path: Path) -> None:
    """Of each packet of a WRITE only its beginning is there, of the last one perhaps all."""
    whole, cut, redacted = (tmp_path / name for name in ("whole.pcap", "cut.pcap", "redacted.pcap"))
    sizes = tuple(range(20_000, 21_400, 200))
    Simulation(Options(files=len(sizes), sizes=sizes, version="4.2")).run()[0].write(whole)
    file = damage.File.read(whole)
    assert file is not None
    damage.snap(400)(file).write(cut)
    read_to_the_end = "select count(*) from calls where op = 'WRITE' and undecoded is null"
    ((before,),) = rows(cut, read_to_the_end)
    assert 0 < before < len(sizes)
    redaction.redact(cut, redacted, key=KEY)
    assert rows(redacted, read_to_the_end) == [(before,)]
    assert differences(cut, redacted) == []


def test_who_and_where_counts_once_and_not_as_often_as_it_is_told(tmp_path: Path) -> None:
    """One client machine, whose user 100 of group 10 made a thousand calls; nobody's stay."""
    told = redaction.redact(SAMPLES / "published-v3-tar.pcap", tmp_path / "a.pcap", key=KEY)
    assert {what: told.replaced[what] for what in ("addresses", "hosts", "users")} == {
        "addresses": 2,
        "hosts": 1,
        "users": 2,
    }
    root = redaction.redact(TAR, tmp_path / "b.pcap", key=KEY)
    assert "users" not in root.replaced


@_EACH
def test_no_secret_is_left(sample: Path, tmp_path: Path) -> None:
    require_tshark()
    redacted = tmp_path / sample.name.removesuffix(".gz")
    redaction.redact(sample, redacted, key=KEY, strict=True)
    wanted = list(leaks.secrets([sample]))
    original = (
        gzip.decompress(sample.read_bytes()) if sample.suffix == ".gz" else sample.read_bytes()
    )
    there = leaks.found(wanted, original)
    assert there or "snap" in sample.name, "the search finds what is there"
    assert leaks.found(wanted, redacted.read_bytes()) == []
    assert leaks.addresses(sample) & leaks.addresses(redacted) == set()


@_EACH
def test_wireshark_finds_nothing_malformed_that_was_not(sample: Path, tmp_path: Path) -> None:
    require_tshark()
    redacted = tmp_path / sample.name
    redaction.redact(sample, redacted, key=KEY)
    wrong = _malformed(redacted)
    assert not wrong or wrong <= _malformed(sample)


def _malformed(path: Path) -> set[int]:
    command = ["tshark", "-n", "-r", str(path), "-d", "tcp.port==2049,rpc"]
    command += ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command += ["-Y", "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0"]
    done = subprocess.run(
        [*command, "-T", "fields", "-e", "frame.number"], capture_output=True, text=True, check=True
    )
    return {int(line) for line in done.stdout.split()}


def test_equal_keys_give_equal_pseudonyms_in_two_captures(tmp_path: Path) -> None:
    other = SAMPLES / "k61-tar-v42.pcap"
    both = _named(TAR) & _named(other)
    assert len(both) > 100
    for name, source, key in [("one", TAR, KEY), ("two", other, KEY), ("else", other, bytes(32))]:
        redaction.redact(source, tmp_path / name, key=key)
    one, two = _named(tmp_path / "one"), _named(tmp_path / "two")
    assert len(one & two) == len(both)
    assert not one & both
    assert not one & _named(tmp_path / "else")


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query gives over all tables of a file."""
    return damage.rows(path, query, every_table=True)


def _named(path: Path) -> set[object]:
    """Names of files, the server, and the client's machine."""
    query = (
        "SELECT name FROM operations WHERE length(name) > 3 UNION SELECT server FROM calls"
        " UNION SELECT machine FROM calls WHERE machine IS NOT NULL"
    )
    return {value for (value,) in rows(path, query)}


def test_strict_keeps_no_endings(tmp_path: Path) -> None:
    source = SAMPLES / "k61-walk-v3.pcap"
    query = "SELECT count(*) FROM names WHERE name LIKE '%.txt'"

    def with_ending(*, strict: bool) -> int:
        redaction.redact(source, tmp_path / str(strict), key=KEY, strict=strict)
        return int(rows(tmp_path / str(strict), query)[0][0])

    assert with_ending(strict=False) == rows(source, query)[0][0] > 0
    assert with_ending(strict=True) == 0


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_the_name_says_how_it_is_compressed(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.pcap{ending}"
    redaction.redact(TAR, out, key=KEY)
    starts = {"": b"\xd4\xc3\xb2\xa1", ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
    assert out.read_bytes().startswith(starts[ending])
    assert rows(out, "SELECT count(*) FROM calls") == rows(TAR, "SELECT count(*) FROM calls")


def test_the_command_says_what_it_did(tmp_path: Path, capsys: Printed) -> None:
    out, key = tmp_path / "out.pcap", tmp_path / "key"
    assert run(["redact", str(TAR), str(out), "--key", str(key)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 537 packets" in told
    assert "205 names" in told
    assert "keep the key to yourself" in told
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert run(["redact", str(TAR), str(tmp_path / "again.pcap"), "--key", str(key)]) == 0
    assert (tmp_path / "again.pcap").read_bytes() == out.read_bytes()
    capsys.readouterr()
    assert run(["redact", str(TAR), str(out), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["packets"] == 2537
    assert (tmp_path / "again.pcap").read_bytes() != out.read_bytes(), (
        "without a key each time another"
    )


def test_what_cannot_be_done_is_told_and_leaves_nothing_behind(
    tmp_path: Path, capsys: Printed
) -> None:
    out, text = tmp_path / "out.pcap", tmp_path / "text"
    text.write_text("no capture, and no key either", encoding="ascii")
    out.write_bytes(b"here before")
    (tmp_path / "a.nfstrace").mkdir()
    for arguments, status, sentence in [
        ([str(TAR), str(out)], 2, "is there already; --force overwrites it"),
        ([str(TAR), str(TAR), "--force"], 2, "is the capture itself"),
        ([str(TAR), str(tmp_path)], 2, "is a directory"),
        (["-", str(tmp_path / "new.pcap")], 2, "read twice"),
        ([str(TAR), "-"], 2, "a capture is written into a file; name one"),
        ([str(tmp_path / "a.nfstrace"), str(out)], 2, "is a trace; name its captures"),
        ([str(TAR), str(tmp_path / "new.pcap.xz")], 2, ".xz is not written"),
        ([str(TAR), str(tmp_path / "new.pcap"), "--key", str(text)], 2, "not a key"),
        ([str(TAR), str(tmp_path / "new.pcap"), "--key", "/dev/zero"], 2, "larger than 1.00 KiB"),
        ([str(text), str(tmp_path / "new.pcap")], 1, "a text file, not a capture"),
        ([str(text), str(out), "--force"], 1, "a text file, not a capture"),
        ([str(tmp_path / "none"), str(tmp_path / "new.pcap")], 1, "No such file"),
        ([str(TAR), str(tmp_path / "none" / "new.pcap")], 1, "No such file"),
    ]:
        assert run(["redact", *arguments]) == status, arguments
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert out.read_bytes() == b"here before"
    assert _names(tmp_path) == ["a.nfstrace", "out.pcap", "text"]


@pytest.mark.parametrize(
    ("other", "known"),
    [
        *itertools.product(["same", "./same", "link", "linked/same"], [False, True]),
        ("hard", True),  # What is not there has no other name.
    ],
)
@pytest.mark.parametrize("command", ["redact", "report"])
def test_a_key_is_never_where_the_output_is_to_be(
    command: str,
    other: str,
    known: bool,
    tmp_path: Path,
    capsys: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Given away with what it hides, or written over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "linked").symlink_to(".")
    (tmp_path / "link").symlink_to("same")
    if known:
        (tmp_path / "same").write_text(KEY.hex(), encoding="ascii")
        (tmp_path / "hard").hardlink_to("same")
    words = {"redact": [other], "report": ["-o", other, "--redact", "--format", "md"]}[command]
    before = _names(tmp_path)
    assert run([command, str(TAR), *words, "--key", str(tmp_path / "same"), "--force"]) == 2
    assert f"{Path(other)} is the file of the key, too; name another" in capsys.readouterr().err
    assert _names(tmp_path) == before
    assert not known or (tmp_path / "same").read_text(encoding="ascii") == KEY.hex()


@pytest.mark.parametrize("command", ["redact", "report"])
def test_nor_is_it_made_for_what_is_not_there_or_no_capture(
    command: str, tmp_path: Path, capsys: Printed
) -> None:
    out, key = str(tmp_path / "out"), ["--key", str(tmp_path / "key")]
    (tmp_path / "a.nfstrace").mkdir()
    (tmp_path / "text.pcap").write_text("a list of captures", encoding="ascii")
    (tmp_path / "text.pcap.gz").write_bytes(gzip.compress(b"a list of captures"))
    # A capture, and not of those that are read.
    (tmp_path / "other.cap").write_bytes(b"RTSS".ljust(100, b"\0"))
    before = _names(tmp_path)
    words = {"redact": [out], "report": ["-o", out, "--redact"]}[command]
    for name, status, sentence in [
        ("none.pcap", 1, "No such file"),
        ("text.pcap", 1, "a text file, not a capture"),
        ("text.pcap.gz", 1, "a text file, not a capture"),
        ("other.cap", 1, "convert it first"),
        ("a.nfstrace", 2, "is a trace; name its captures"),
    ]:
        assert run([command, str(TAR), str(tmp_path / name), *words, *key]) == status
        assert f"{tmp_path / name}" in (told := capsys.readouterr().err)
        assert sentence in told
        assert _names(tmp_path) == before


def test_nor_before_the_output_can_be_written(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "there.pcap").write_bytes(b"here before")
    key = ["--key", str(tmp_path / "key")]
    for capture, out in [
        (TAR, "there.pcap"),
        (TAR, "new.pcap.xz"),
        (TAR, "none/new.pcap"),
        (TAR, ""),
        (tmp_path / "key", "new.pcap"),
    ]:
        assert run(["redact", str(capture), str(tmp_path / out), *key]) > 0
        assert not capsys.readouterr().out
        assert _names(tmp_path) == ["there.pcap"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_key_is_read_whatever_blanks_are_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(" ".join(f"{each:02x}" for each in KEY) + "\n" * 100, encoding="ascii")
    assert redaction.read_key(file, []) == KEY
    file.write_text(KEY.hex() + " " * redaction.KEY_FILE_LIMIT, encoding="ascii")
    with pytest.raises(UsageError, match="not a key"):
        redaction.read_key(file, [])


def test_a_key_has_its_length(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="32 bytes"):
        redaction.redact(TAR, tmp_path / "out.pcap", key=b"short")


def test_a_capture_that_breaks_off_is_redacted_up_to_there(tmp_path: Path) -> None:
    broken, out = tmp_path / "broken.pcap", tmp_path / "out.pcap"
    broken.write_bytes(TAR.read_bytes()[:100_000])
    told = redaction.redact(broken, out, key=KEY)
    assert told.damage is not None
    assert differences(broken, out) == []


def test_files_of_one_stream_become_one(tmp_path: Path) -> None:
    """Also the messages that begin in one file and end in the next."""
    require_tshark()
    subprocess.run(["editcap", "-c", "500", TAR, tmp_path / "part.pcap"], check=True)
    parts = sorted(tmp_path.glob("part_*.pcap"))
    assert len(parts) == 6
    out = tmp_path / "out.pcap"
    told = redaction.redact(parts[::-1], out, key=KEY)
    assert told.packets == 2537
    assert differences(parts, out) == []
    alone = tmp_path / "alone.pcap"
    redaction.redact(TAR, alone, key=KEY)
    assert rows(out, "SELECT * FROM calls ORDER BY call") == rows(
        alone, "SELECT * FROM calls ORDER BY call"
    )


def test_files_of_different_kinds_become_pcapng(tmp_path: Path) -> None:
    require_tshark()
    nanoseconds, out = tmp_path / "ns.pcap", tmp_path / "out.pcap"
    other = SAMPLES / "k61-walk-v3.pcap"
    subprocess.run(["editcap", "-F", "nsecpcap", other, nanoseconds], check=True)
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(TAR.read_bytes()[:100_000])
    told = redaction.redact([broken, nanoseconds], out, key=KEY)
    assert told.damage is not None
    assert told.damage.startswith(f"{broken}: ")
    assert out.read_bytes().startswith(b"\x0a\x0d\x0d\x0a")
    assert differences([broken, nanoseconds], out) == []


def test_progress_is_told_and_may_stop_it(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    redaction.redact(TAR, tmp_path / "out.pcap", key=KEY, progress=lambda *at: seen.append(at))
    assert seen
    assert all(0 <= done <= total for done, total in seen)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redaction.redact(TAR, tmp_path / "other.pcap", key=KEY, progress=stop)
    assert _names(tmp_path) == ["out.pcap"]


_KILLED = """
import os, signal, sys
from pcapnfs import redaction

def kill(done, total):
    os.kill(os.getpid(), signal.SIGKILL)

redaction.redact(sys.argv[1], sys.argv[2], progress=kill)
"""


def test_what_a_killed_one_left_is_removed_by_the_next(tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    subprocess.run([sys.executable, "-c", _KILLED, str(TAR), str(out)], check=False)
    assert _names(tmp_path) != []
    redaction.redact(TAR, out, key=KEY)
    assert _names(tmp_path) == ["out.pcap"]


def test_nothing_is_made_beside_what_is_only_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    pipe = tmp_path / "devices" / "pipe"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    # Nobody else can make anything there, so that what stays as it was was never touched.
    before = pipe.parent.stat().st_mtime_ns
    with (tmp_path / "taken").open("wb") as taken, subprocess.Popen(["cat", pipe], stdout=taken):
        redaction.redact(TAR, pipe, key=KEY)
    assert (tmp_path / "taken").stat().st_size == TAR.stat().st_size
    assert pipe.parent.stat().st_mtime_ns == before
    assert _names(tmp_path / "temporary") == []


def test_a_short_name_that_another_got_is_no_leak_and_a_kept_one_is() -> None:
    wanted = list(leaks.as_told(b"m1.js"))
    kept, other = b"\0\0\0\5m1.js\0\0\0", b"\0\0\0\5m6.js\0\0\0"
    assert leaks.found(wanted, kept, other) == []
    assert leaks.found(wanted, kept, kept) == ["name b'm1.js'"]
    assert leaks.found(wanted, kept, bytes(12)) == ["name b'm1.js'"]
    assert leaks.found(wanted, kept) == ["name b'm1.js'"]
    long = list(leaks.as_told(b"a long name"))
    assert leaks.found(long, b"\0\0\0\x0ba long name\0", b"\0\0\0\x0bb long name\0") != []


def test_what_is_forgotten_of_files_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redaction.redact(TAR, tmp_path / "known", key=KEY)
    monkeypatch.setattr(memory, "of_files", lambda _: 1)
    redaction.redact(TAR, tmp_path / "forgotten", key=KEY, memory=1)
    assert (tmp_path / "known").read_bytes() == (tmp_path / "forgotten").read_bytes()
