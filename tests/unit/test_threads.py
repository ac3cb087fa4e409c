"""As many threads answer as will find enough to do."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs.record import replace
from pcapnfs.trace import THREAD_CALLS
from tests.unit.rows import meta, trace_of


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [(0, 1), (THREAD_CALLS, 1), (2 * THREAD_CALLS - 1, 1), (2 * THREAD_CALLS, 2), (10**12, None)],
)
def test_threads_grow_with_the_calls_up_to_what_there_is(calls: int, wanted: int | None) -> None:
    ((most,),) = duckdb.connect().execute("select current_setting('threads')").fetchall()
    with trace_of(replace(meta(), calls=calls)) as trace:
        ((threads,),) = trace.sql("select current_setting('threads')").fetchall()
    assert threads == (most if wanted is None else min(wanted, most))
