"""What no command needs is not looked for, installed or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.rows import ROOT

RUN = """
import sys
UNUSED = ("pandas", "pyarrow", "numpy.ma", "duckdb", "importlib.metadata")
sys.argv = ["pcapnfs", "summarize", "samples/k61-tar-v3.pcap"]
from pcapnfs.cli import app
try:
    app.main()
finally:
    print(sorted(name for name in UNUSED if sys.modules.get(name)))
"""


LIGHT = """
import sys
sys.argv = ["pcapnfs", *sys.argv[1:]]
from pcapnfs.cli import app
try:
    app.main()
finally:
    print(sorted(name for name in ("_duckdb", "numpy", "rich") if name in sys.modules))
"""


def test_what_writes_tables_of_captures_needs_no_database(tmp_path: Path) -> None:
    sample = str(ROOT / "samples" / "k61-tar-v3.pcap")
    for arguments in (
        ["export", sample, "-o", str(tmp_path / "calls.parquet")],
        ["decode", sample, "-o", str(tmp_path / "a.nfstrace"), "--json"],
    ):
        command = [sys.executable, "-c", LIGHT, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.endswith("[]\n"), done.stdout


def test_a_document_needs_no_screen() -> None:
    sample = str(ROOT / "samples" / "k61-tar-v3.pcap")
    for command in ("summarize", "findings", "cache"):
        run = [sys.executable, "-c", LIGHT, command, sample, "--json"]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.endswith("['_duckdb', 'numpy']\n"), done.stdout[-200:]


def test_libraries_that_duckdb_would_take_are_not_imported(tmp_path: Path) -> None:
    for name in ("pandas", "pyarrow"):
        (tmp_path / f"{name}.py").write_text('raise RuntimeError("imported")\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": f"{tmp_path}:{ROOT}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.endswith("[]\n")
