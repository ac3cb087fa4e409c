"""Commands with one question of a capture say what it lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pcapnfs.cli.app import run
from tests.damage import File, lose, one_way
from tests.unit.rows import ROOT

Printed = pytest.CaptureFixture[str]

SAMPLE = ROOT / "samples" / "k61-tar-v3.pcap"

SCREENS = (
    ["findings"],
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


def sent_by(source: bytes, path: Path) -> str:
    """The sample with what one address sent alone."""
    whole = File.read(SAMPLE)
    assert whole is not None
    one_way(source)(whole).write(path)
    return str(path)


def test_a_capture_of_clients_alone_lost_nothing(tmp_path: Path, capsys: Printed) -> None:
    path = sent_by(bytes([10, 0, 0, 11]), tmp_path / "calls.pcap")
    assert run(["summarize", path, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["trust"]["calls_alone"] == told["trust"]["rpc_calls"] > 1000
    found = {each["id"]: each for each in told["findings"]}
    assert found["capture_lossy"]["title"] == "Only what clients sent was captured"
    assert set(found) == {"capture_lossy"}, "SYN shows that the capture did not begin late"
    assert run(["budget", path]) == 0
    assert capsys.readouterr().out.startswith("Trust: only what clients sent was captured")


def test_a_capture_of_servers_alone_says_what_it_lacks(tmp_path: Path, capsys: Printed) -> None:
    path = sent_by(bytes([10, 0, 0, 1]), tmp_path / "replies.pcap")
    assert run(["summarize", path]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "only what servers sent was captured, and no call of a client" in told.err
    assert "--port" not in told.err


def test_a_single_reply_does_not_tell_of_a_direction(tmp_path: Path, capsys: Printed) -> None:
    whole = File.read(SAMPLE)
    assert whole is not None
    replies = one_way(bytes([10, 0, 0, 1]))(whole)
    path = tmp_path / "one.pcap"
    # The last frames: what ends the last connection, with its last replies.
    replace(replies, frames=replies.frames[-5:]).write(path)
    assert run(["summarize", str(path)]) == 1
    told = capsys.readouterr().err
    assert "whose call is not in the capture" in told
    assert "only what servers sent" not in told
