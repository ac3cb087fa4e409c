"""Commands take no more instructions than recorded: a slowdown of a fifth fails here."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.unit.rows import ROOT


@pytest.mark.long
def test_no_change_makes_decoding_or_summarizing_a_fifth_slower() -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed (Debian: apt install valgrind)")
    command = [sys.executable, str(ROOT / "benchmarks" / "instructions.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
