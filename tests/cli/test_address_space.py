"""Commands where `ulimit -v` lets a process have few addresses."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from pcapnfs.cli.app import ALLOCATOR
from tests.unit.rows import ROOT

pytest.importorskip("pcapnfs._core")

SAMPLE = "samples/k61-tar-v3.pcap"

LIMIT_BYTES = 768 << 20
"""A command on a sample takes 540 MB of addresses, most of them for libraries."""

VARIABLE = "DUCKDB_JE_MALLOC_CONF"

SET = f"""
import os, sys
sys.argv = ["pcapnfs", "--version"]
from pcapnfs.cli import app
try:
    app.main()
finally:
    print(os.environ["{VARIABLE}"])
"""

USED = "import duckdb; duckdb.connect().execute('select 1')"


def run(
    *words: str, limited: bool = False, allocator: str | None = None
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))

    # A test that ran a command in this process has set it already.
    others = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=others | ({VARIABLE: allocator} if allocator else {}),
        preexec_fn=limit if limited else None,
        capture_output=True,
        text=True,
        check=True,
    )


def test_commands_that_tests_begin_have_the_allocator_that_users_have() -> None:
    """dev.py has the processes of tests keep more at hand, for speed: theirs tell no memory."""
    assert "GLIBC_TUNABLES" not in os.environ
    # Unless a test has run a command in this process.
    assert os.environ.get(VARIABLE, ALLOCATOR) == ALLOCATOR


def test_the_answer_is_the_same_with_few_addresses() -> None:
    words = ("-m", "pcapnfs", "summarize", "--json", SAMPLE)
    few, many = run(*words, limited=True), run(*words)
    assert few.stderr == ""
    assert few.stdout == many.stdout


def test_a_command_tells_the_databases_allocator_to_give_addresses_back() -> None:
    assert run("-c", SET).stdout.split()[-1] == ALLOCATOR
    assert run("-c", SET, allocator="retain:true").stdout.split()[-1] == "retain:true"


@pytest.mark.skipif(sys.platform != "linux", reason="DuckDB brings jemalloc for Linux alone")
def test_the_databases_allocator_listens() -> None:
    told = run("-c", USED, allocator=f"stats_print:true,{ALLOCATOR}").stderr
    assert "opt.retain: false" in told
