"""Two traces held against one another, table by table.

Takes traces; gives nothing, or fails on the first table that differs.
"""

from __future__ import annotations

from pathlib import Path

import pcapnfs
from pcapnfs.trace import Trace
from tests.unit.rows import ROOT, tables

SAMPLES = sorted(path for path in (ROOT / "samples").iterdir() if ".pcap" in path.suffixes)


def written(captures: list[Path], target: Path) -> Path:
    """A trace on disk of captures that are one stream."""
    pcapnfs.decode(captures, target)
    return target


def assert_same_tables(one: Trace, other: Trace) -> None:
    """Every table has the same columns, types and rows, in the same order."""
    for table in tables():
        for query in (f"describe {table.name}", f"from {table.name}"):
            mine, its = one.sql(query).fetchall(), other.sql(query).fetchall()
            assert mine == its, table.name
    assert one.meta == other.meta
