"""A user's query reads the trace and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from pcapnfs import summarize
from pcapnfs.analyses.by_file.perfile import perfile
from pcapnfs.cli.app import run
from pcapnfs.errors import UsageError
from pcapnfs.query import select
from pcapnfs.trace import Trace
from tests.unit.rows import ROOT, call, file, trace_of

secret = [(1,)]  # a Python variable that no query may see


SAMPLE = ROOT / "samples" / "cachedread-v3-snap96.pcap"


@pytest.fixture
def trace() -> Iterator[Trace]:
    with trace_of(calls=[call(1, "GETATTR", 1, file=1)], files=[file(1, "a")]) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "select op from calls",
        "with c as (from calls) select op from c",
        "from calls select op",
        "values ('GETATTR')",
        "select op from calls; ",
        "-- a comment\nselect op from calls",
        "select op from calls -- a comment",
        "select op from calls; -- a comment",
        "pivot (select op, 'GETATTR' as name from calls) on op using any_value(name);",
    ],
)
def test_reading_is_allowed(trace: Trace, query: str) -> None:
    assert list(select(trace, query).rows) == [("GETATTR",)]


@pytest.mark.parametrize(
    "query", ["describe calls", "show tables", "summarize files", "explain select 1"]
)
def test_so_is_looking_around(trace: Trace, query: str) -> None:
    assert list(select(trace, query).rows)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "select 1; select 2",
        "selekt",
        "select nothing from calls",
        "select 1/'x'",
        "insert into calls select * from calls",
        "update calls set op = 'x'",
        "delete from calls",
        "drop table calls",
        "create table z (a integer)",
        "create temp table z as select 1",
        "copy calls to 'stolen.csv'",
        "export database 'stolen'",
        "attach 'other.db'",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "pragma threads = 1",
        "reset threads",
        "call pragma_version()",
        "checkpoint",
        "begin",
        "prepare p as select 1",
        "explain analyze delete from calls",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/etc/*')",
        "select * from secret",
    ],
)
def test_everything_else_is_refused_with_one_sentence(
    trace: Trace, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        list(select(trace, query).rows)
    assert "\n" not in str(refused.value)
    assert str(refused.value)
    assert list(tmp_path.iterdir()) == []
    assert list(select(trace, "select op from calls").rows) == [("GETATTR",)]


@pytest.mark.parametrize(
    "query",
    [
        "select 1; select 2",
        "delete from calls",
        "delete from calls returning op",
        "insert into calls select * from calls",
        "update calls set op = 'x'",
        "drop table calls",
        "drop table notes; pivot calls on op",
        "copy calls to 'stolen.csv'",
        "attach 'other.db'",
        "set threads = 1",
        "explain analyze delete from calls",
    ],
)
@pytest.mark.parametrize("ask", [Trace.sql, Trace.rows, Trace.arrays, Trace.each])
def test_from_python_as_well_before_anything_of_it_is_carried_out(
    trace: Trace,
    query: str,
    ask: Callable[[Trace, str], Iterable[object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contents(trace)
    with pytest.raises(UsageError) as refused:
        list(ask(trace, query))
    with pytest.raises(UsageError) as refused_by_the_command:
        select(trace, query)
    assert str(refused.value) == str(refused_by_the_command.value)
    assert contents(trace) == before
    assert list(tmp_path.iterdir()) == []


def contents(trace: Trace) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables that are there."""
    names = trace.sql("select table_name from duckdb_tables() order by all").fetchall()
    assert names
    return {name: trace.sql(f'from "{name}"').fetchall() for (name,) in names}


def test_every_analysis_works_on_a_locked_trace(trace: Trace) -> None:
    before = summarize(trace), perfile(trace)
    trace.lock()
    assert (summarize(trace), perfile(trace)) == before


TIMES = """
    select
        to_timestamp(1) as at,
        [to_timestamp(n)] as "at",
        {'to': to_timestamp(n)} as "a ""quoted"" name",
        n
    from range(3) as r(n)
    order by n desc
"""
"""Times with a time zone, which DuckDB hands to Python where pytz is installed."""


@pytest.mark.parametrize("end", ["", ";", "; -- the end", " -- the end"])
def test_times_with_a_time_zone_are_told_in_utc(
    trace: Trace, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pytz", None)
    answer = select(trace, TIMES.strip() + end)
    assert answer.columns == ("at", "at", 'a "quoted" name', "n")
    assert list(answer.rows) == [
        (
            "1970-01-01 00:00:01+00",
            [f"1970-01-01 00:00:0{second}+00"],
            {"to": f"1970-01-01 00:00:0{second}+00"},
            second,
        )
        for second in (2, 1, 0)
    ]


def test_times_that_python_has_none_for_are_told_as_they_are(trace: Trace) -> None:
    times = ("'infinity'", "'-infinity'", "'2024-02-29 01:02:03.5'", "'12024-02-29 01:02:03'")
    kinds = ("timestamptz", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "date")
    (told,) = select(trace, "select " + ", ".join(f"timestamptz {time}" for time in times)).rows
    assert told == (
        "infinity",
        "-infinity",
        "2024-02-29 01:02:03.5+00",
        "12024-02-29 01:02:03+00",
    )
    for kind in kinds:
        asked = ", ".join(f"{kind} {time}" for time in times[:2])
        (row,) = select(
            trace, f"select {asked}, [{kind} 'infinity'], {{'DATE': {kind} 'infinity'}}"
        ).rows
        assert row == ("infinity", "-infinity", ["infinity"], {"DATE": "infinity"}), kind
    exact = "timestamp_ns '2024-02-29 01:02:03.123456789', date '12024-02-29', 'DATE'::enum('DATE')"
    (row,) = select(trace, f"select {exact}").rows
    assert row == ("2024-02-29 01:02:03.123456789", "12024-02-29", "DATE")


def test_also_where_the_database_has_all_rows_worked_out_first(trace: Trace) -> None:
    answer = select(trace, "select to_timestamp(1) as at union all select to_timestamp(1)")
    assert list(answer.rows) == [("1970-01-01 00:00:01+00",)] * 2


def test_from_python_they_are_times_in_utc_without_a_zone(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pytz", None)
    first = datetime(1970, 1, 1, 0, 0, 1)  # as DuckDB gives it
    rows = trace.sql(TIMES).fetchall()
    assert trace.rows(TIMES) == rows
    assert list(trace.each(TIMES)) == rows
    assert [row[0] for row in rows] == [first] * 3
    assert rows[1] == (first, [first], {"to": first}, 1)


def test_the_zone_is_that_of_no_machine() -> None:
    asked = [sys.executable, "-m", "pcapnfs", "sql", str(ROOT / "samples" / "k61-tar-v3.pcap")]
    query = "select to_timestamp(0), current_setting('TimeZone')"
    shown = subprocess.run(
        [*asked, query, "--format", "csv"],
        capture_output=True,
        check=True,
        env=os.environ | {"TZ": "Asia/Tokyo"},
    )
    assert shown.stdout.splitlines()[1] == b"1970-01-01 00:00:00+00,UTC"


def test_a_long_answer_is_fetched_in_pieces(trace: Trace) -> None:
    answer = select(trace, "select range from range(25000)")
    assert answer.columns == ("range",)
    assert sum(1 for _ in answer.rows) == 25000


def test_branches_that_the_database_would_have_wait_for_one_another_are_fetched() -> None:
    """What tests/analyses/test_streams.py is about, of a user's own query."""
    query = """
        select i from range(1000000) a(i) join range(1000000) b(j) on i = j
        union all
        select i from range(1000000) a(i)
        join (select i % 1000 as i, count(*) as n from range(1000000) b(i) group by 1) using (i)
    """
    sample = str(ROOT / "samples" / "k61-tar-v3.pcap")
    asked = [sys.executable, "-m", "pcapnfs", "sql", sample, query, "--format", "csv"]
    lines = subprocess.run(asked, capture_output=True, check=True, timeout=120).stdout.splitlines()
    assert len(lines) == 1 + 1_000_000 + 1_000


def test_equal_names_stay_as_they_are(trace: Trace) -> None:
    answer = select(trace, "select 1 as a, 2 as a union all select 3, 4 order by 1 desc")
    assert (answer.columns, list(answer.rows)) == (("a", "a"), [(3, 4), (1, 2)])


@pytest.mark.parametrize("form", ["screen", "csv", "json"])
@pytest.mark.parametrize(
    "query",
    [
        "select length(string_agg(repeat('x', 1000) || i)) from range(500000) each(i)",
        "select case when i < 5 then 1 else length(string_agg(repeat('x', 1000) || j)) end "
        "from range(6) a(i), range(300000) b(j) where i = 5 or j < 2 group by i",
    ],
)
def test_a_query_that_takes_more_than_there_is_is_not_wrong(
    query: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sql", str(SAMPLE), query, "--format", form, "--memory", "128M"]
    assert run(words) == 1
    told = capsys.readouterr()
    assert told.err.startswith("pcapnfs: the database gave up: Out of Memory Error: ")
    assert told.err.endswith(", its part of --memory); a larger --memory may do\n")
    assert told.err.count("\n") == 1
    assert run([*words[:2], "select nothing from calls", *words[3:]]) == 2
