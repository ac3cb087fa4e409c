"""Texts that are compared once for each that differs."""

from __future__ import annotations

import duckdb

from pcapnfs.analyses.asking.texts import position


def test_the_place_of_a_text_among_others() -> None:
    rows = "(values ('b'), ('it''s'), ('c'), (null)) as told (word)"
    many = [f"w{number}" for number in range(300)]

    def places(values: list[str]) -> list[object]:
        found = duckdb.sql(f"select {position('word', values)} from {rows}").fetchall()
        return [place for (place,) in found]

    assert places(["a", "b", "it's"]) == [1, 2, None, None]
    assert places([*many, "c"]) == [None, None, 300, None]
    assert places([]) == [None] * 4
