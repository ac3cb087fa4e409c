"""What a run before foretells of one after, of runs written by hand with round numbers."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.comparison.foretold import Foretold, foretold
from pcapnfs.views import differences
from tests.analyses.model.runs import connection, objects, run
from tests.unit.rows import Row, trace_of

FILES = 40


def side_by_side(streams: int, persist_ms: float) -> list[Row]:
    """The files of a run dealt out to as many programs, which begin at the same time."""
    each = FILES // streams
    rows: list[Row] = []
    for stream in range(streams):
        rows += [
            {**row, "call": row["call"] + len(rows), "file": row["file"] + stream * each}  # type: ignore[operator]
            for row in run(each, persist_ms=persist_ms)
        ]
    return sorted(rows, key=lambda row: int(str(row["call_time"])))


def measured(rows: list[Row], *, known: bool = True) -> Measurement:
    """What is measured of calls, all of one connection, whose files are known or were cut off."""
    if not known:
        rows = [{**row, "file": None, "undecoded": "truncated"} for row in rows]
    files = objects(FILES) if known else []
    with trace_of(files=files, calls=rows, connections=[connection(0.8, 0.001)]) as trace:
        return measure(trace)


def told(before: Measurement, after: Measurement) -> dict[str, Foretold]:
    return {each.given: each for each in foretold(before, after)}


def test_what_calls_wait_for_one_another_is_given_with_how_many_they_are() -> None:
    """Four programs, each of whose stable calls takes four times as long, win next to nothing."""
    one, four = measured(side_by_side(1, 20)), measured(side_by_side(4, 80))
    found = told(one, four)
    assert list(found) == ["files", "set_up", "calls", "overlap"]
    # As if one program alone waited as long for each.
    assert found["calls"].forecast_s > 1.5 * four.span_s
    assert found["overlap"].forecast_s == pytest.approx(four.span_s, rel=0.2)
    # The overlap was counted: nothing is assumed of what streams share.
    assert found["overlap"].high_s < found["calls"].low_s
    back = told(four, one)
    assert back["calls"].forecast_s < 0.7 * one.span_s
    assert back["overlap"].forecast_s == pytest.approx(one.span_s, rel=0.2)


def test_an_overlap_that_stays_is_not_told_apart() -> None:
    slow, fast = measured(side_by_side(4, 20)), measured(side_by_side(4, 10))
    assert list(told(slow, fast)) == ["files", "set_up", "calls"]


def test_runs_whose_calls_tell_of_no_files_are_foretold_as_one() -> None:
    """Cut before they tell of any, on both sides: of how many files they are does not matter."""
    slow, fast = (measured(side_by_side(1, ms), known=False) for ms in (20, 5))
    found = told(slow, fast)
    assert list(found) == ["set_up", "calls"]
    assert all(each.files is None for each in found.values())
    assert found["set_up"].forecast_s == pytest.approx(fast.span_s)
    assert found["set_up"].low_s < fast.span_s < found["set_up"].high_s
    assert [differences.given(each) for each in found.values()] == [
        "AFTER's RTT, persistence",
        "and AFTER's calls",
    ]
    # One side that tells of them says nothing of the other's.
    assert told(slow, measured(side_by_side(1, 5))) == {}
    # Nor does persistence, where it is not known which calls were stable.
    cut: list[Row] = [{**row, "stability": "unknown"} for row in side_by_side(1, 5)]
    assert told(slow, measured(cut, known=False)) == {}
