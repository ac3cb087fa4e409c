"""Batches of the decoder, as the database takes them."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs import _core
from tests.unit.rows import ROOT


def batches() -> list[_core.Batch]:
    decoder = _core.Decoder([str(ROOT / "samples" / "published-v3-tar.pcap")])
    found: list[_core.Batch] = []
    while (some := decoder.next()) is not None:
        found += some
    return found


def test_batches_of_one_table_join_to_all_their_rows() -> None:
    calls = [batch for batch in batches() if batch.table == "calls"]
    joined = _core.joined(calls * 3)
    assert joined.table == "calls"
    assert joined.rows == 3 * sum(batch.rows for batch in calls)
    counted = duckdb.sql("select count(*), count(distinct call) from joined").fetchall()
    assert counted == [(joined.rows, joined.rows // 3)]


def test_batches_of_several_tables_do_not_join() -> None:
    tables = {batch.table: batch for batch in batches()}
    with pytest.raises(ValueError, match="one table"):
        _core.joined([tables["calls"], tables["files"]])
    with pytest.raises(ValueError, match="nothing"):
        _core.joined([])
