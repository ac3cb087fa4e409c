"""As many threads answer as will find enough to do."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from pcapnfs.record import replace
from pcapnfs.trace import THREAD_CALLS
from tests.unit.rows import ROOT, meta, trace_of


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [(0, 1), (THREAD_CALLS, 1), (2 * THREAD_CALLS - 1, 1), (2 * THREAD_CALLS, 2), (10**12, None)],
)
def test_threads_grow_with_the_calls_up_to_what_there_is(calls: int, wanted: int | None) -> None:
    ((most,),) = duckdb.connect().execute("select current_setting('threads')").fetchall()
    with trace_of(replace(meta(), calls=calls)) as trace:
        ((threads,),) = trace.sql("select current_setting('threads')").fetchall()
    assert threads == (most if wanted is None else min(wanted, most))


MANY = """
import threading
import pcapnfs

def ask():
    together.wait()
    trace.rows("select 1")

with pcapnfs.open("samples/k61-tar-v3.pcap") as trace:
    together = threading.Barrier(8)
    threads = [threading.Thread(target=ask, daemon=True) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    print(any(each.is_alive() for each in threads), flush=True)
"""


def test_threads_that_ask_first_at_the_same_time_do_not_wait_for_each_other() -> None:
    pytest.importorskip("pcapnfs._core")
    done = subprocess.run(
        [sys.executable, "-c", MANY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "False\n"
