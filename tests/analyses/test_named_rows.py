"""Rows by the names of their columns."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs.analyses.asking import named_rows
from tests.unit.rows import call, trace_of


def test_values_have_the_names_of_their_columns() -> None:
    with duckdb.connect() as database:
        answer = database.execute("select 1 as one, 'b' as \"two words\" union all select 2, null")
        assert list(named_rows.by_name(answer)) == [
            {"one": 1, "two words": "b"},
            {"one": 2, "two words": None},
        ]
        some = named_rows.each(database.execute("select range as number from range(5)"), 2)
        assert [row["number"] for row in some] == [0, 1, 2, 3, 4]
        none = database.execute("select 1 as one where false")
        assert list(named_rows.by_name(none)) == []


def test_rows_of_a_trace_take_parameters() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1), call(2, "LOOKUP", 1)]) as trace:
        found = named_rows.rows(
            trace, "select call, op from calls where op = $op", {"op": "LOOKUP"}
        )
        assert list(found) == [{"call": 2, "op": "LOOKUP"}]
        with pytest.raises(duckdb.Error):
            named_rows.rows(trace, "select nothing from calls")
