"""No query whose rows are fetched while it runs can wait for itself.

DuckDB (1.5, its issue 22215) prepares the second branch of a UNION after the first has ended where
both are joined, and gives no row before all is prepared: once the first has given a megabyte, both
wait for ever. Below some 250,000 rows a thread it does not, so that no small capture shows it, and
plans are looked at instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import pcapnfs
from pcapnfs import columns, opening
from pcapnfs import trace as traces
from pcapnfs.trace import Trace
from tests.analyses.listening import listen
from tests.analyses.test_population import SAMPLES, TELLING
from tests.analyses.test_reads import COMPOSED, QUESTIONS, SHOWN_BY
from tests.traces import written
from tests.unit.rows import ROOT

READING = ("select", "with", "from")
"""How queries begin that give rows."""

PASSING_ON = {"PROJECTION", "FILTER", "LIMIT", "STREAMING_LIMIT", "STREAMING_WINDOW", "UNNEST"}
"""Steps of a plan that give rows as they get them."""

GIVEN = {"COLUMN_DATA_SCAN", "DUMMY_SCAN", "EMPTY_RESULT"}
"""Rows that stand in the query itself."""

Node = dict[str, Any]
"""A step of a plan: `name`, `children`."""


def waiting(node: Node) -> list[str]:
    """The UNIONs of a plan that rows go through on their way out, and whose branches both wait.

    Of a join both sides count: which one rows come from depends on how many there are.
    """
    name, children = node["name"].strip(), node["children"]
    if name == "CTE":  # What is materialized, and then what is made of it.
        return waiting(children[-1])
    if name == "UNION" and len([child for child in children if prepares(child)]) > 1:
        return [name]
    if name in PASSING_ON or name == "UNION" or name.endswith(("JOIN", "PRODUCT")):
        return [each for child in children for each in waiting(child)]
    return []


def prepares(node: Node) -> bool:
    """Whether a part of a plan has to read tables before it gives rows."""
    name, children = node["name"].strip(), node["children"]
    simple = name in PASSING_ON or name == "UNION" or not children
    if name.endswith("JOIN"):
        simple = all(each["name"].strip() in GIVEN for each in children[1:])
    return not simple or any(map(prepares, children))


def plan(connection: duckdb.DuckDBPyConnection, query: str, *given: object) -> Node:
    ((_, text),) = connection.execute(f"explain (format json) {query}", *given).fetchall()
    (root,) = json.loads(text)
    return dict(root)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that could wait for themselves, planned as those of large traces are."""
    monkeypatch.setattr(traces, "FEW_CALLS", -1)
    found: list[str] = []

    init: Callable[..., None] = Trace.__init__

    def begin(self: Trace, *args: object, **details: object) -> None:
        init(self, *args, **details)
        planned: set[str] = set()

        def look(connection: duckdb.DuckDBPyConnection, query: str, /, *given: object) -> None:
            """Plan each query of the trace once, also where it is put with several values."""
            if query not in planned and query.split(maxsplit=1)[0] in READING:
                planned.add(query)
                found.extend(query for _ in waiting(plan(connection, query, *given)))

        listen(self, look)

    monkeypatch.setattr(Trace, "__init__", begin)
    return found


@pytest.mark.parametrize("question", sorted(set(QUESTIONS) - COMPOSED))
def test_no_question_waits_for_itself(question: str, found: list[str]) -> None:
    reads, ask = QUESTIONS[question]
    sample = ROOT / "samples" / SHOWN_BY.get(question, "k61-walk-v3.pcap")
    with pcapnfs.open(sample, columns=reads) as trace:
        ask(trace)
    assert found == []


def put_all(source: Path | list[Path]) -> None:
    """Have one trace asked whatever puts other questions; `report` puts all that `summary` does."""
    asked = [QUESTIONS[question] for question in sorted(COMPOSED - {"summary"})]
    reads = columns.together(*(reads for reads, _ in asked))
    with pcapnfs.open(source, columns=reads) as trace:
        for _, ask in asked:
            ask(trace)


@pytest.mark.parametrize(
    "sample", [path for path in SAMPLES if path.name in TELLING], ids=lambda path: path.name
)
def test_nor_do_those_that_put_others(sample: Path, found: list[str]) -> None:
    put_all(sample)
    assert found == []


def test_nor_of_several_traces(
    found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose tables are themselves UNIONs, of what each of them has."""
    monkeypatch.setattr(opening, "GATHERED_CALLS", -1)
    parts = [
        written([ROOT / "samples" / name], tmp_path / f"{name}.nfstrace")
        for name in ("k61-walk-v3.pcap", "k61-tar-v42.pcap")
    ]
    put_all(parts)
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
