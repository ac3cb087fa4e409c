"""`pcapnfs report`: where it writes, what it refuses, and that every form holds the same."""

from __future__ import annotations

import bz2
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pcapnfs.cli.app import run
from tests.unit.rows import ROOT


def test_a_page_is_written_where_it_was_asked_for(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "case.html"
    assert run(["report", str(capture), "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "small.pcap" in text
    assert "old\\x1b[2J" in text
    assert stat.S_IMODE(target.stat().st_mode) & 0o400
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".case")] == []
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")


def test_a_file_is_not_overwritten_unasked(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "case.html"
    target.write_text("mine", encoding="utf-8")
    assert run(["report", str(capture), "-o", str(target)]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == "mine"
    assert run(["report", str(capture), "-o", str(target), "--force"]) == 0
    assert target.read_text(encoding="utf-8") != "mine"


def test_a_capture_is_never_written_over(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = tmp_path / "named.pcap"
    named.write_bytes(capture.read_bytes())
    assert run(["report", str(named), "-o", str(named), "--force"]) == 2
    assert "named.pcap is a capture, and is not written over" in capsys.readouterr().err
    # Also where it is that of the previous command.
    assert run(["summarize", str(named), "--json"]) == 0
    assert run(["report", "-o", str(named), "--force"]) == 2
    assert "named.pcap is a capture, and is not written over" in capsys.readouterr().err
    assert named.read_bytes() == capture.read_bytes()


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_another_capture_is_not_written_over_either(
    capture: Path, tmp_path: Path, force: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.write_bytes(bz2.compress((ROOT / "samples" / "published-v3-tar.pcap").read_bytes()))
    before = other.read_bytes()
    assert run(["report", str(capture), "-o", str(other), *force]) == 2
    assert f"{other} is a capture, and is not written over" in capsys.readouterr().err
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    ("target", "why", "status"),
    [("missing/case.html", "no directory", 1), (".", "is a directory", 2)],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, target: str, why: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    # The capture does not exist either: that it is not read shows what is looked at first.
    assert run(["report", str(tmp_path / "none.pcap"), "-o", str(tmp_path / target)]) == status
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["-o", "-"], "<!doctype html>"),
        (["-o", "-", "--format", "md"], "# pcapnfs report: small.pcap"),
        (["-o", "-", "--format", "json"], "{"),
    ],
)
def test_standard_output_takes_every_form(
    capture: Path, arguments: list[str], start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(capture), *arguments]) == 0
    assert capsys.readouterr().out.startswith(start)


def test_the_ending_chooses_the_form(capture: Path, tmp_path: Path) -> None:
    for name, start in (("case.md", "# "), ("case.json", "{"), ("case.htm", "<!doctype")):
        assert run(["report", str(capture), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_a_name_of_another_kind_of_file_is_refused_before_the_work(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "case.pdf"
    assert run(["report", str(tmp_path / "none.pcap"), "-o", str(target)]) == 2
    assert "a report is no .pdf file; name it .html, .md or .json" in capsys.readouterr().err
    assert run(["report", str(capture), "-o", str(target), "--format", "html"]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!doctype")
    assert run(["report", str(capture), "-o", str(tmp_path / "case")]) == 0


def test_where_it_is_written_is_told_unless_it_was_asked_for(
    capture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", str(capture)]) == 0
    assert "written to report.html" in capsys.readouterr().err
    assert (tmp_path / "report.html").exists()
    for option, name in (("--json", "report.json"), ("--format=md", "report.md")):
        assert run(["report", str(capture), option]) == 0
        assert f"written to {name}" in capsys.readouterr().err
        assert not (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype")


def test_figures_are_those_of_summarize(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(capture), "-o", "-", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert run(["summarize", str(capture), "--json"]) == 0
    assert report["summary"] == json.loads(capsys.readouterr().out)
    assert report["course"]["parts"]
    assert {each["path"] for each in report["sequences"]} == {"new", "old\x1b[2J"}


def test_templates_are_loaded_by_the_report_alone() -> None:
    code = (
        "import sys, pcapnfs.cli.app, pcapnfs.report, pcapnfs.views.screen;"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
