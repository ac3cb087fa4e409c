"""The formula of files and calls alone, and what it leaves out."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.trace import Trace
from tests.analyses.model.runs import FILES, RTT_MS, objects, run
from tests.unit.rows import MILLISECOND, START_NS, meta, trace_of


def test_the_plain_formula_holds_where_nothing_else_takes_time(trace: Trace) -> None:
    found = model(trace)
    assert found.formula_holds
    assert [each.part for each in found.left_out] == ["client"]


def test_what_the_plain_formula_leaves_out_is_named() -> None:
    told = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(told, files=objects(), calls=run(pause_ms=1500)) as trace:
        found = model(trace)
        more = model(trace, Overrides(files=2 * FILES))
    assert not found.formula_holds
    (left,) = found.left_out
    assert left.part == "pauses"
    assert left.time_s == pytest.approx(found.pauses_s)
    assert found.pauses_s == pytest.approx(39 * 1.502)
    # Pauses come once, whatever is given.
    assert [(each.part, each.time_s) for each in more.left_out] == [("pauses", left.time_s)]


def test_an_overlap_of_calls_is_what_the_plain_formula_leaves_out() -> None:
    calls = []
    for row in run():
        copies = [{**row, "call": 8 * int(str(row["call"])) + copy} for copy in range(8)]
        calls += copies
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.concurrency == pytest.approx(8)
    assert not found.formula_holds
    assert found.predicted_s is not None
    most = found.left_out[0]
    assert most.part == "overlap"
    assert most.time_s == pytest.approx(-found.predicted_s * 7 / 8)


def test_calls_one_by_one_do_not_overlap_where_others_are_slower_than_they() -> None:
    with trace_of(files=objects(), calls=run(persist_ms=-0.9 * RTT_MS)) as trace:
        found = model(trace)
    assert found.concurrency == pytest.approx(1)
    assert not found.formula_holds
    client, faster = found.left_out
    assert client.part == "client"
    assert faster.part == "other"
    assert faster.time_s == pytest.approx(-FILES * 2 * 0.9 * RTT_MS / 1000, abs=1e-6)
