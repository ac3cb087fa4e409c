"""A trace of many rows is walked over in parts, and says the same."""

from __future__ import annotations

import duckdb
import pytest

import pcapnfs
from pcapnfs import summary
from pcapnfs.analyses import cache, parts, patterns, questions, readdir, shared_files
from pcapnfs.trace import Trace
from pcapnfs.views.document import document
from tests.unit.rows import ROOT


def told(trace: Trace) -> list[object]:
    """What the analyses say that walk over rows in order."""
    return [
        document(answer)
        for answer in (
            cache.cache(trace, top=0),
            list(questions.questions(trace)),
            readdir.readdir(trace, top=0),
            patterns.patterns(trace, top=0),
            list(shared_files.shared_files(trace)),
        )
    ]


@pytest.mark.parametrize(
    "name", ["k61-walk-v3.pcap", "k61-two-clients-v42-server.pcap", "opt-noac-v3.pcap"]
)
def test_parts_say_what_the_whole_says(name: str) -> None:
    with pcapnfs.open(str(ROOT / "samples" / name)) as trace:
        whole = told(trace)
        trace.walked = 60
        assert parts.number(trace, entries=False) > 1
        assert told(trace) == whole


@pytest.mark.parametrize("many", [2, 8, 9, 10, 17, 26])
def test_each_row_is_of_one_part_and_equal_ones_are_of_the_same(many: int) -> None:
    with duckdb.connect() as database:
        query = "select i, i // 3 as file from range(600) as numbers(i)"
        found = [
            database.sql(
                f"from {table} where {parts.within('file', range(part, part + 1), many)}"
            ).fetchall()
            for part, table in parts.divided(
                database, query, many, lambda some: parts.within("file", some, many)
            )
        ]
        assert database.sql("show tables").fetchall() == []
    assert sorted(row for rows in found for row in rows) == [(i, i // 3) for i in range(600)]
    assert sum(len({file for _, file in rows}) for rows in found) == 200


@pytest.mark.parametrize("name", ["k61-walk-v3.pcap", "k61-two-clients-v42-server.pcap"])
def test_a_summary_of_parts_is_that_of_the_whole(name: str) -> None:
    """With the columns alone that the analyses name."""
    documents = []
    for walked in (1 << 20, 60):
        with pcapnfs.open(str(ROOT / "samples" / name), columns=summary.READS) as trace:
            trace.walked = walked
            documents.append(document(pcapnfs.summarize(trace)))
    assert documents[0] == documents[1]
