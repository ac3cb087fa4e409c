"""Commands with one question of a capture say what it lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcapnfs.cli.app import run
from tests.damage import File, lose
from tests.unit.rows import ROOT

Printed = pytest.CaptureFixture[str]

SAMPLE = ROOT / "samples" / "k61-tar-v3.pcap"

SCREENS = (
    ["estimate"],
    ["budget"],
    ["perfile"],
    ["perfile", "--by", "directory"],
    ["readdir"],
    ["cache"],
    ["patterns"],
    ["sequence", "--name", "*", "--top", "1"],
    ["sizes"],
    ["network"],
)


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    """The sample without 3 % of its packets."""
    whole = File.read(SAMPLE)
    assert whole is not None
    path = tmp_path / "lossy.pcap"
    lose(0.03, seed=7)(whole).write(path)
    return str(path)


@pytest.mark.parametrize("command", SCREENS, ids=" ".join)
def test_what_a_capture_lost_stands_above_the_screen(
    command: list[str], lossy: str, capsys: Printed
) -> None:
    assert run([command[0], lossy, *command[1:]]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("Trust: ")
    assert "The capture is incomplete, and the figures with it." in " ".join(told.out.split())
    assert run([command[0], str(SAMPLE), *command[1:]]) == 0
    assert "Trust" not in capsys.readouterr().out


@pytest.mark.parametrize("command", SCREENS, ids=" ".join)
def test_it_is_told_beside_json(command: list[str], lossy: str, capsys: Printed) -> None:
    assert run([command[0], lossy, *command[1:], "--json"]) == 0
    told = capsys.readouterr()
    json.loads(told.out)
    assert told.err.startswith("pcapnfs: Trust: ")
    assert run([command[0], str(SAMPLE), *command[1:], "--json"]) == 0
    assert capsys.readouterr().err == ""
