"""A trace of many rows is walked over in parts, and says the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import summary
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.by_file import patterns
from pcapnfs.analyses.caching import cache, questions, shared_files
from pcapnfs.analyses.namespace import readdir
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from pcapnfs.views.document import document, to_json
from tests.summarized import summarized
from tests.traces import written
from tests.unit.rows import ROOT, call, meta, operation, trace_of


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
def test_parts_say_what_the_whole_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BLOCK", 16)
    monkeypatch.setattr(parts, "STRETCH_ROWS", 200)
    with pcapnfs.open(str(ROOT / "samples" / name)) as trace:
        whole = told(trace)
        trace.walked = 60
        assert parts.number(trace, entries=False) > 1
        assert len(parts.stretches(trace)) > 1
        assert told(trace) == whole


def test_compounds_of_very_many_operations_are_walked_over_in_parts() -> None:
    """Three calls are few; what they hold is not."""
    calls = [call(number, "GETATTR", 1) for number in (1, 2, 3)]

    def parts_of(operations: int) -> int:
        rows = [
            {**operation(number, "GETATTR"), "position": position}
            for number in (1, 2, 3)
            for position in range(operations)
        ]
        with trace_of(replace(meta(), calls=3), calls=calls, operations=rows) as trace:
            trace.walked = 100
            return parts.number(trace, entries=True)

    assert [parts_of(operations) for operations in (1, 8, 100)] == [1, 1, 3]


@pytest.mark.parametrize("walked", [100, 400, 1000])
def test_stretches_have_all_calls_and_not_many_rows(
    walked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls 1 to 299 have an operation each, 150 to 199 an entry."""
    monkeypatch.setattr(parts, "BLOCK", 10)
    monkeypatch.setattr(parts, "STRETCH_ROWS", 1)
    calls = [call(number, "GETATTR", 1) for number in (*range(1, 301), 900)]
    operations = [operation(number, "GETATTR") for number in range(1, 300)]
    entries = [
        {"call": number, "directory": 1, "name": "a", "position": 0} for number in range(150, 200)
    ]
    with trace_of(calls=calls, operations=operations, entries=entries) as trace:
        trace.walked = walked // 2
        found = parts.stretches(trace)
    assert [number for stretch in found for number in stretch] == list(range(901))
    rows = [row["call"] for row in (*calls, *operations, *entries)]
    assert all(sum(number in stretch for number in rows) <= walked for stretch in found)
    assert len(found) == -(-len(rows) // walked) or walked == 100


def test_a_stretch_ends_within_a_block_of_calls_that_list_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Replies of a megabyte have three thousand entries, and a block has a thousand calls."""
    monkeypatch.setattr(parts, "STRETCH_ROWS", 1)
    calls = [call(number, "READDIRPLUS", 1) for number in range(1, 1501)]
    entries = [
        {"call": number, "directory": 1, "name": f"{place}", "position": 0}
        for number in (3, 4, 5, 7)
        for place in range(500)
    ]
    with trace_of(calls=calls, entries=entries) as trace:
        trace.walked = 600
        found = parts.stretches(trace)
    assert [number for stretch in found for number in stretch] == list(range(1501))
    rows = [row["call"] for row in (*calls, *entries)]
    assert all(sum(number in stretch for number in rows) <= 1200 for stretch in found)


@pytest.mark.parametrize("many", [2, 8, 9, 10, 17, 26])
def test_each_row_is_of_one_part_and_equal_ones_are_of_the_same(many: int) -> None:
    calls = [call(number, "GETATTR", 1) for number in range(1, 601)]
    with trace_of(calls=calls) as trace, closing(trace.cursor()) as database:
        query = "select call, call // 3 as file from calls where of_stretch(call)"
        parts.fill(trace, database, "rows", query)
        found = [
            database.sql(
                f"from {table} where {parts.within('file', range(part, part + 1), many)}"
            ).fetchall()
            for part, table in parts.divided(
                database, "rows", many, lambda some: parts.within("file", some, many)
            )
        ]
        database.execute("drop table rows")
        assert database.execute("from duckdb_tables() where temporary").fetchall() == []
    assert sorted(row for rows in found for row in rows) == [(i, i // 3) for i in range(1, 601)]
    assert sum(len({file for _, file in rows}) for rows in found) == 201


def test_so_do_parts_of_several_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their calls are counted on from one to the next, and each stretch reads what it needs."""
    monkeypatch.setattr(parts, "BLOCK", 16)
    monkeypatch.setattr(parts, "STRETCH_ROWS", 500)
    names = ("k61-walk-v3", "k61-two-clients-v42-server")
    stored = [
        written([ROOT / "samples" / f"{name}.pcap"], tmp_path / f"{name}.nfstrace")
        for name in names
    ]
    with pcapnfs.open(stored) as trace:
        whole = told(trace)
        trace.walked = 200
        assert parts.number(trace, entries=False) > 3
        stretches = parts.stretches(trace)
        assert len(stretches) > 10
        assert told(trace) == whole
        with closing(trace.cursor()) as cursor:
            for calls in (stretches[0], stretches[len(stretches) // 2], stretches[-1]):
                trace.want(cursor, calls)
                for table in ("calls", "operations", "entries"):
                    wanted = f"call >= {calls.start} and call < {calls.stop}"
                    assert cursor.sql(f"select count(*) from {table}").fetchall() == trace.rows(
                        f"select count(*) from {table} where {wanted}"
                    )
            trace.want(cursor, None)
            everything = cursor.sql("select count(*) from operations").fetchall()
        assert everything == trace.rows("select count(*) from operations")


def test_a_summary_of_parts_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the columns alone that the analyses name. That of one client is in `test_reads.py`."""
    name = "k61-two-clients-v42-server.pcap"
    whole = summarized(ROOT / "samples" / name)
    monkeypatch.setattr(parts, "BLOCK", 16)
    monkeypatch.setattr(parts, "STRETCH_ROWS", 200)
    with pcapnfs.open(str(ROOT / "samples" / name), columns=summary.READS) as trace:
        assert parts.number(trace, entries=False) == 1
        trace.walked = 60
        assert to_json(pcapnfs.summarize(trace)) == whole
