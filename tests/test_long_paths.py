"""Files whose paths are long: no reader has to hold many of them at once."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from pcapnfs.decoding import decode
from pcapnfs.synth.builder import Conversation, nfs3

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
NAME = "n" * 250
DEPTH, FILES = 20, 10_000

COLUMN_BYTES = 16 << 20
"""As of `core/src/table/parquet/mod.rs`, which a batch may exceed by half."""


def test_row_groups_of_long_paths_are_small(tmp_path: Path) -> None:
    """A column of a row group is read as a whole."""
    talk = Conversation()
    handles = [number.to_bytes(32, "big") for number in range(DEPTH + FILES + 1)]
    for number in range(DEPTH + FILES):
        name = NAME if number < DEPTH else f"{number}"
        talk.call(number, number * MS, *nfs3.lookup(handles[min(number, DEPTH)], name))
        talk.reply(number, number * MS + MS // 2, nfs3.results.lookup(handles[number + 1]))
    capture = talk.capture().write(tmp_path / "long.pcap")
    decode([capture], tmp_path / "long.nfstrace")
    stored = tmp_path / "long.nfstrace" / "files.parquet"
    sizes = duckdb.sql(
        "select row_group_num_rows, total_uncompressed_size "
        f"from parquet_metadata('{stored}') where path_in_schema = 'path'"
    ).fetchall()
    assert sum(rows for rows, _ in sizes) > FILES
    assert sum(size for _, size in sizes) > 2 * COLUMN_BYTES
    assert max(size for _, size in sizes) < 1.5 * COLUMN_BYTES
