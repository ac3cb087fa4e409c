"""The order in which the database holds rows changes nothing: its threads may give them in any."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import pcapnfs
from pcapnfs.decoding import decode
from pcapnfs.views.document import document
from tests.unit.rows import ROOT

MADE = ROOT / "samples" / "made"


@pytest.mark.parametrize(
    "name", ["npm-sync-v3", "walk-threads-v3", "files-noac-v3", "files-4k-v3", "cachedread-v42"]
)
def test_what_is_told_does_not_depend_on_the_order_of_rows(name: str, tmp_path: Path) -> None:
    decode([str(MADE / f"{name}.pcap.gz")], tmp_path / "stored")
    mixed = tmp_path / "mixed"
    shutil.copytree(tmp_path / "stored", mixed)
    shuffle(mixed)
    assert told(mixed) == told(tmp_path / "stored")


def told(stored: Path) -> dict[str, object]:
    """What the analyses say of a trace."""
    with pcapnfs.open(str(stored)) as trace:
        return {
            "summary": document(pcapnfs.summarize(trace)),
            "perfile": document(pcapnfs.perfile(trace)),
            "patterns": document(pcapnfs.patterns(trace)),
            "readdir": document(pcapnfs.readdir(trace)),
            "cache": document(pcapnfs.cache(trace)),
        }


def shuffle(stored: Path) -> None:
    """Write all rows of a trace on disk anew, in the order of a hash."""
    about = json.loads((stored / "meta.json").read_text(encoding="utf-8"))
    with duckdb.connect() as database:
        for name, table in about["tables"].items():
            file = stored / f"{name}.parquet"
            other = file.with_suffix(".shuffled")
            rows = f"select * from read_parquet('{file}', file_row_number = true)"
            database.execute(
                f"copy (select * exclude file_row_number from ({rows}) "
                f"order by hash(file_row_number)) to '{other}' (format parquet)"
            )
            other.replace(file)
            table["bytes"] = file.stat().st_size
            del table["digest"]  # It tells what was written first.
    del about["digest"]
    (stored / "meta.json").write_text(json.dumps(about), encoding="utf-8")
