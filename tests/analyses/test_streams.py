"""No query whose rows are fetched while it runs can wait for itself.

DuckDB (1.5, its issue 22215) prepares the second branch of a UNION after the first has ended where
both are joined, and gives no row before all is prepared: once the first has given a megabyte, both
wait for ever. Below some 250,000 rows a thread it does not, so that no small capture shows it, and
plans are looked at instead. Those of questions about one trace are looked at in `test_reads.py`,
which asks them all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import pcapnfs
from pcapnfs import columns, opening
from pcapnfs import trace as traces
from pcapnfs.trace import Trace
from tests.analyses.plans import plan, waiting, watch
from tests.analyses.test_reads import COMPOSED, QUESTIONS
from tests.traces import written
from tests.unit.rows import ROOT


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that could wait for themselves, of all traces that are opened."""
    found: list[str] = []
    init: Callable[..., None] = Trace.__init__
    few = traces.FEW_CALLS

    def begin(self: Trace, *args: object, **details: object) -> None:
        monkeypatch.setattr(traces, "FEW_CALLS", few)
        init(self, *args, **details)
        # How many files there are is asked of many calls only.
        monkeypatch.setattr(traces, "FEW_CALLS", -1)
        watch(self, found)

    monkeypatch.setattr(Trace, "__init__", begin)
    return found


def test_no_question_about_several_traces_waits_for_itself(
    found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose tables are themselves UNIONs, of what each of them has."""
    monkeypatch.setattr(opening, "GATHERED_CALLS", -1)
    parts = [
        written([ROOT / "samples" / name], tmp_path / f"{name}.nfstrace")
        for name in ("k61-walk-v3.pcap", "k61-tar-v42.pcap")
    ]
    # `report` puts all that `summary` does.
    asked = [QUESTIONS[question] for question in sorted(COMPOSED - {"summary"})]
    reads = columns.together(*(reads for reads, _ in asked))
    with pcapnfs.open(parts, columns=reads) as trace:
        for _, ask in asked:
            ask(trace)
    assert found == []


_ROWS = 1_000_000

JOINED = f"select i from range({_ROWS}) a(i) join range({_ROWS}) b(j) on i = j"
COUNTED = f"""
    select i from range({_ROWS}) a(i)
    join (select i % 1000 as i, count(*) as n from range({_ROWS}) b(i) group by 1) using (i)
"""


@pytest.mark.parametrize(
    ("query", "waits"),
    [
        (f"{JOINED} union all {COUNTED}", True),
        (f"with a as ({COUNTED}) {JOINED} union all select i + 1 from a", True),
        (f"with a as materialized ({COUNTED}) {JOINED} union all select i + 1 from a", False),
        (f"select i from range({_ROWS}) a(i) union all {COUNTED}", False),
        (f"select sum(i) from ({JOINED} union all {COUNTED}) group by i % 7", False),
        (JOINED, False),
    ],
)
def test_what_waits_is_seen(query: str, waits: bool) -> None:
    """Whatever is said not to wait gives its rows."""
    with duckdb.connect(config={"threads": 1}) as connection:
        assert bool(waiting(plan(connection, query))) is waits
        if not waits:
            assert connection.execute(query).fetchmany(10)
