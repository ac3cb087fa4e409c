"""Values handed to a query as a text come out as they were."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs.analyses.asking import given


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "uinteger"),
        ([7], "uinteger"),
        ([0, -(2**63), 2**63 - 1], "bigint"),
        ([2**64 - 1, 3, 3], "ubigint"),
        (["10.0.0.1", "fe80::1", "others"], "varchar"),
    ],
)
def test_values_come_back(values: list[int | str], kind: str) -> None:
    with duckdb.connect() as database:
        query = f"select {given.places('some')}, {given.rows('some', kind)}"
        found = database.execute(query, {"some": given.text(values)}).fetchall()
    assert found == list(enumerate(values))


def test_lists_side_by_side_keep_together() -> None:
    with duckdb.connect() as database:
        query = f"select {given.rows('one', 'uinteger')}, {given.rows('other', 'varchar')}"
        values = {"one": given.text(range(9000)), "other": given.text(map(str, range(9000)))}
        found = database.execute(query, values).fetchall()
    assert [(number, str(number)) for number in range(9000)] == sorted(found)
