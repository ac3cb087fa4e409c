"""The progress bar: on terminals alone, late, and never on stdout."""

from __future__ import annotations

import sys

import pytest

from pcapnfs.cli import progress as progress_module
from pcapnfs.cli.progress import progress

Printed = pytest.CaptureFixture[str]


def test_there_is_none_without_a_terminal(capsys: Printed) -> None:
    with progress() as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_what_is_over_soon_shows_nothing(capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress() as report:
        assert report is not None
        report(1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("total", [2 << 20, 0])
def test_a_long_one_shows_a_bar_on_stderr(
    capsys: Printed, monkeypatch: pytest.MonkeyPatch, total: int
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress_module, "PATIENCE_S", 0)
    with progress() as report:
        assert report is not None
        report(1 << 20, total)
        report(2 << 20, total)
    told = capsys.readouterr()
    assert told.out == ""
    assert "MiB" in told.err
