"""The capture used last is a convenience, and never a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pcapnfs.cli.last import LIMIT, Captures, recall, remember


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where the conftest's state directory keeps it."""
    return tmp_path / "state" / "pcapnfs" / "last.json"


def test_remembers_absolute_paths(
    kept: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    remember(Captures(("a.pcap", "/b.pcap"), (111,)))
    assert recall() == Captures((str(tmp_path / "a.pcap"), "/b.pcap"), (111,))
    assert [file.name for file in kept.parent.iterdir()] == ["last.json"]


def test_standard_input_is_not_remembered(kept: Path) -> None:
    remember(Captures(("-",), ()))
    assert recall() is None
    assert not kept.exists()


def test_what_was_before_standard_input_does_not_pass_for_it(kept: Path) -> None:
    remember(Captures(("/a.pcap",), ()))
    remember(Captures(("-",), ()))
    assert recall() is None
    assert not kept.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"captures": []}',
        '{"captures": [], "ports": []}',
        '{"captures": [1], "ports": []}',
        '{"captures": ["a"], "ports": ["x"]}',
        "\x00",
    ],
)
def test_what_makes_no_sense_is_as_good_as_nothing(kept: Path, text: str) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text(text)
    assert recall() is None


def test_a_pipe_or_what_is_far_too_large_is_as_good_as_nothing(kept: Path) -> None:
    remember(Captures(("/a.pcap",), ()))
    assert recall() is not None
    with kept.open("a") as file:
        file.write(" " * LIMIT)
    assert recall() is None
    kept.unlink()
    os.mkfifo(kept)
    assert recall() is None


def test_a_directory_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "taken"))
    remember(Captures(("a",), ()))
    assert recall() is None


def test_a_relative_state_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    remember(Captures(("/a",), ()))
    assert (tmp_path / ".local/state/pcapnfs/last.json").is_file()
