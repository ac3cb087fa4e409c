"""A decoder without captures, a state directory of one's own, and a capture with three calls."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pcapnfs
from tests.cli import fake_core
from tests.unit.rows import call, file, operation


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> type[fake_core.Decoder]:
    """The stand-in decoder, in place for this test."""
    monkeypatch.setitem(sys.modules, "pcapnfs._core", sys.modules.get("pcapnfs._core"))
    monkeypatch.setattr(pcapnfs, "_core", None, raising=False)
    fake_core.install()
    monkeypatch.setattr(fake_core.Decoder, "interrupt", False)
    return fake_core.Decoder


@pytest.fixture
def capture(core: type[fake_core.Decoder], tmp_path: Path) -> Path:
    """A capture with two files and a NULL call."""
    del core
    return fake_core.write_capture(
        tmp_path / "small.pcap",
        calls=[
            call(1, "CREATE", 5, file=1, stability="stable"),
            call(2, "GETATTR", 1, file=2),
            call(3, "NULL", 1),
        ],
        files=[
            file(1, "new", handle=None),
            file(2, "old\u001b[2J", handle=None),
        ],
        operations=[operation(1, "CREATE", file=1), operation(2, "GETATTR", file=2)],
    )
