"""`pcapnfs compare` from end to end: two captures, several of each, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.cli.app import run
from pcapnfs.views.document import document
from tests.unit.rows import ROOT

BEFORE = str(ROOT / "samples" / "k61-tar-v3.pcap")
AFTER = str(ROOT / "samples" / "k61-tar-v42.pcap")

Printed = pytest.CaptureFixture[str]


def test_two_captures_on_the_screen(capsys: Printed) -> None:
    assert run(["compare", BEFORE, AFTER]) == 0
    text = capsys.readouterr().out
    assert "NFS version: 3 → 4.2 (certain)" in text
    assert "together" in text


def test_json_is_what_python_gives(capsys: Printed) -> None:
    assert run(["compare", BEFORE, AFTER, "--top", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with pcapnfs.open([BEFORE]) as before, pcapnfs.open([AFTER]) as after:
        result = pcapnfs.compare(before, after, top=3)
    assert told == json.loads(json.dumps(document(result)))
    assert [cause["subject"] for cause in told["causes"]] == ["version"]
    assert sum(step["change_s"] for step in told["steps"]) == pytest.approx(told["change_s"])
    assert len(told["files"]["files"]) == 3


def test_several_captures_and_a_trace_of_them(tmp_path: Path, capsys: Printed) -> None:
    trace = tmp_path / "after.nfstrace"
    pcapnfs.decode([BEFORE], trace)
    assert run(["compare", "--before", BEFORE, "--after", str(trace), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["causes"] == []
    assert {step["change_s"] for step in told["steps"]} == {0}
    assert run(["compare", "--before", BEFORE, "--before", AFTER, "--after", AFTER, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["before"]["captures"]) == 2


def test_a_page_is_written_once(tmp_path: Path, capsys: Printed) -> None:
    written = tmp_path / "comparison.html"
    assert run(["compare", BEFORE, BEFORE, "-o", str(written)]) == 0
    assert written.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run(["compare", BEFORE, BEFORE, "-o", str(written)]) == 2
    assert "--force" in capsys.readouterr().err
    assert run(["compare", BEFORE, BEFORE, "-o", str(tmp_path / "c.html"), "--json"]) == 2
    assert run(["compare", BEFORE, BEFORE, "-o", str(tmp_path / "c.json")]) == 2
    capsys.readouterr()
    assert run(["compare", BEFORE, BEFORE, "-o", "-"]) == 0
    assert capsys.readouterr().out == written.read_text(encoding="utf-8")


def test_a_capture_is_never_written_over(tmp_path: Path, capsys: Printed) -> None:
    after = tmp_path / "after.pcap"
    after.write_bytes(Path(AFTER).read_bytes())
    assert run(["compare", BEFORE, str(after), "-o", str(after), "--force"]) == 2
    assert "after.pcap is a capture, and is not written over" in capsys.readouterr().err
    assert run(["compare", BEFORE, BEFORE, "-o", str(after), "--force"]) == 2
    assert "after.pcap is a capture, and is not written over" in capsys.readouterr().err
    assert after.read_bytes() == Path(AFTER).read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [BEFORE],
        [BEFORE, AFTER, AFTER],
        ["--before", BEFORE],
        ["--before", BEFORE, AFTER],
        ["--before", BEFORE, "--after", AFTER, AFTER],
    ],
)
def test_it_must_be_said_which_are_which(wrong: list[str], capsys: Printed) -> None:
    assert run(["compare", *wrong]) == 2
    assert "--before and --after" in capsys.readouterr().err


def test_standard_input_is_one_of_both(capsys: Printed) -> None:
    assert run(["compare", "-", "-"]) == 2
    assert "can be read once" in capsys.readouterr().err


def test_a_negative_number_of_files_is_refused() -> None:
    with pcapnfs.open([BEFORE]) as trace, pytest.raises(pcapnfs.UsageError):
        pcapnfs.compare(trace, trace, top=-1)


def test_that_both_sides_are_one_capture_is_told(tmp_path: Path, capsys: Printed) -> None:
    copy, trace = tmp_path / "copy.pcap", tmp_path / "before.nfstrace"
    copy.write_bytes(Path(BEFORE).read_bytes())
    pcapnfs.decode(BEFORE, trace)
    for after, told in [
        (BEFORE, f"{BEFORE} is on both sides"),
        (str(copy), f"{BEFORE} and {copy} are one capture"),
        (str(trace), f"{BEFORE} and {trace} are one capture"),
    ]:
        assert run(["compare", BEFORE, after]) == 0
        assert f"{told}: of what it holds nothing can have changed" in capsys.readouterr().err
    # Of a rotation the last file may hold no packets yet: all such files are alike.
    empty = [tmp_path / name for name in ("first.pcap", "second.pcap")]
    for path in empty:
        path.write_bytes(Path(BEFORE).read_bytes()[:24])
    first, second = map(str, empty)
    assert run(["compare", *(f"--{side}={path}" for side, path in (
        ("before", BEFORE), ("before", first), ("after", AFTER), ("after", second),
    ))]) == 0  # fmt: skip
    assert "nothing can have changed" not in capsys.readouterr().err
