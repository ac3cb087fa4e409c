"""What is counted within a trace is known to be, column by column."""

from __future__ import annotations

import re

from pcapnfs import numbering
from tests.unit.rows import tables

NUMBER = re.compile(
    r"\(table (calls|files|connections)\)|^(The |First )?[Ff]rame\b|^Number of th(e|is) "
    r"|^The (call|connection|file|object|directory|source)\b|: the directory of"
)
"""How meanings of columns begin that hold a number of the trace."""


def test_every_number_of_a_trace_is_counted_on_where_traces_are_put_together() -> None:
    unsigned = {
        column.name: column.meaning
        for table in tables()
        for column in table.columns
        if column.sql in ("UINTEGER", "UBIGINT")
    }
    meant = {name for name, meaning in unsigned.items() if NUMBER.search(meaning)}
    assert meant - set(numbering.NUMBERS) == set()
    assert {name for name in numbering.NUMBERS if "frame" in name} == {
        name for name in unsigned if "frame" in name
    }
