"""A reader of a command's output who goes away, as `head` does."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tests.unit.rows import ROOT


def assert_left_silently(command: Sequence[str]) -> None:
    """Nobody reads beyond the first line: the command says nothing of it, and ends with 141."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
