"""The tables that the decoder declares are those that a trace offers."""

from __future__ import annotations

from tests.unit.rows import tables, trace_of


def test_knows_all_tables_and_columns() -> None:
    found = {table.name: len(table.columns) for table in tables()}
    assert list(found) == [
        "calls",
        "operations",
        "files",
        "names",
        "entries",
        "connections",
        "notes",
    ]
    assert min(found.values()) >= 5
    assert all(column.meaning for table in tables() for column in table.columns)


def test_a_trace_offers_every_table() -> None:
    with trace_of() as trace:
        for table in tables():
            relation = getattr(trace, table.name)
            assert relation.columns == [column.name for column in table.columns]
            assert relation.fetchall() == []
