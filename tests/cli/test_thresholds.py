"""Thresholds of a site: every command that tells findings judges by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcapnfs.cli import app
from pcapnfs.diagnosis.rules.exclusive_create import LEAST, RULE
from tests.traces import SAMPLES

CAPTURE, OTHER = (
    next(str(path) for path in SAMPLES if path.name == name)
    for name in ("k61-tar-v3.pcap", "k61-walk-v3.pcap")
)

SILENT = f"{LEAST.name}=1e9"
"""Nothing is as much as that."""


def rules_told(command: list[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The rules whose findings a command tells."""
    assert app.run(command) == 0
    said = json.loads(capsys.readouterr().out)
    findings = said.get("summary", said)["findings"]
    return {each["id"] for each in findings}


@pytest.mark.parametrize(
    "command",
    [
        ["findings", CAPTURE, "--json"],
        ["summarize", CAPTURE, "--json"],
        ["report", CAPTURE, "--json", "-o", "-"],
        ["compare", CAPTURE, OTHER, "--json"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_tells_findings_judges_by_them(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert RULE.id in rules_told(command, capsys)
    assert RULE.id not in rules_told([*command, "--threshold", SILENT], capsys)
    site = tmp_path / "site.toml"
    site.write_text(f"[thresholds]\n{SILENT}\n")
    assert RULE.id not in rules_told([*command, "--config", str(site)], capsys)


def test_comments_for_wireshark_are_judged_by_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = []
    for number, options in enumerate(([], ["--threshold", SILENT])):
        target = str(tmp_path / f"{number}.pcapng")
        assert app.run(["annotate", CAPTURE, target, "--json", *options]) == 0
        told.append(json.loads(capsys.readouterr().out)["findings"])
    assert told[1] == told[0] - 1


@pytest.mark.parametrize("command", ["summarize", "findings", "report"])
def test_a_wrong_one_is_refused_before_anything_is_read(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run([command, "none.pcap", "--threshold", "none.such=1"]) == 2
    assert "none.such" in capsys.readouterr().err
