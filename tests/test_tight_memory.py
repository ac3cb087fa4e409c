"""What a trace takes besides what DuckDB counts, where a limit is tight: not much."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import temporary
from pcapnfs.analyses.caching.overwritten import overwritten
from pcapnfs.analyses.namespace.not_found import MissingName, not_found
from pcapnfs.memory import BEYOND_BYTES, LEAST_BYTES
from pcapnfs.opening import connect
from pcapnfs.record import replace
from pcapnfs.trace import FREEING, Trace
from tests.unit.rows import START_NS, meta, tables

CLEAR_REFS = Path("/proc/self/clear_refs")

SAMPLE = Path(__file__).parent.parent / "samples" / "k61-tar-v3.pcap"
PROGRAM = """
import json, re, sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
import duckdb
from pcapnfs import meta, temporary
from pcapnfs.opening import connect
from pcapnfs.trace import Trace

limit = int(sys.argv[1]) or None
directory = temporary.make()
connection = connect((), directory.path)
connection.execute("set memory_limit = '128MB'; set threads = 1")
told = meta.Meta((), {}, {}, 500_000, 0)
columns = ", ".join(f"(number * {place}) % 1009 as of_{place}" for place in range(20))
for table in "calls", "operations":
    connection.execute(
        f"copy (select number::bigint as call, {columns} from range(500000) rows(number)) "
        f"to '{directory.path}/{table}.parquet' (format parquet)"
    )
    connection.execute(f"create view {table} as from '{directory.path}/{table}.parquet'")

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024

with Trace(connection, told, directory, limit=limit) as trace:
    open("/proc/self/clear_refs", "w").write("5")
    before = peak()
    summed = ", ".join(f"sum(operations.of_{place} - calls.of_{place})" for place in range(20))
    rows = trace.rows(f"select {summed} from operations join calls using (call)")
    print(json.dumps({"sums": rows[0], "taken": peak() - before}))
"""


def joined(limit: int) -> tuple[list[int], int]:
    """Join half a million rows; gives sums of the columns, and the MB that it took."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(limit)], capture_output=True, text=True, check=True
    )
    told = json.loads(run.stdout)
    return told["sums"], told["taken"]


@pytest.mark.skipif(not CLEAR_REFS.exists(), reason="only Linux tells the peak of a moment")
def test_a_join_stays_within_the_memory_of_the_database() -> None:
    # On a busy machine one of the threads may wait with what it holds: usually the others are done
    # by then, and the join takes 52 MB, but of sixty such runs one took 79, and another time 91.
    runs = [joined(256 << 20) for _ in range(3)]
    free_sums, free_taken = joined(0)
    assert [sums for sums, _ in runs] == [free_sums] * 3 == [[0] * 20] * 3
    taken = min(taken for _, taken in runs)
    assert taken < 90
    assert free_taken > taken + 40, "DuckDB spares this by itself: trace.LAVISH is not needed"


def test_under_a_tight_limit_the_database_keeps_little_of_what_it_freed() -> None:
    """What it keeps does not count as taken, and shows with tens of millions of calls only."""
    settings = (f"parse_formatted_bytes(current_setting('{name}'))" for name in FREEING)
    kept = f"select {', '.join(settings)}"
    with pcapnfs.open(SAMPLE, memory=LEAST_BYTES) as tight:
        assert all(size <= BEYOND_BYTES // 8 for size in tight.sql(kept).fetchone() or ())
    with pcapnfs.open(SAMPLE) as free:
        usual = free.sql(kept).fetchone() or ()
    assert all(size > BEYOND_BYTES // 8 for size in usual), "DuckDB has other names for it"


def test_the_database_draws_no_progress_where_results_go() -> None:
    """It takes `python -c`, and what is typed into Python, for somebody who looks on."""
    script = (
        "from pathlib import Path\n"
        "from pcapnfs.opening import connect\n"
        "for asked in (one := connect((), Path('.'))), one.cursor():\n"
        "    print(asked.execute(\"select current_setting('enable_progress_bar')\").fetchall())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[(False,)]\n" * 2


ONE_OF_TWO = f"""
    call: number, connection: 0, client: '10.0.0.' || 2 + number % 2, server: '10.0.0.1',
    mount: number % 2, xid: number, callback: false, program: 100003, version: 3, file: 0,
    stability: 'stable', transmissions: 1, call_frame: 2 * number, call_first_frame: 2 * number,
    call_time: {START_NS} + number * 1000, call_first_time: {START_NS} + number * 1000,
    reply_frame: 2 * number + 1, reply_time: {START_NS} + number * 1000 + 500, srt: 500, status: 0,
    rpc_status: 0
"""
"""The columns of a call that two clients make by turns, but for what it does."""


@contextmanager
def stored(rows: Mapping[str, str], number: int, memory: str, *, files: int = 1) -> Iterator[Trace]:
    """A trace on disk, of so many rows of each table, but for files; and little memory."""
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    for table, columns in rows.items():
        file = directory.path / f"{table}.parquet"
        numbers = f"range({files if table == 'files' else number}) as counted(number)"
        connection.execute(
            f"insert into {table} by name (select unnest({{{columns}}}) from {numbers})"
        )
        connection.execute(f"copy {table} to '{file}' (format parquet)")
        connection.execute(f"drop table {table}; create view {table} as from '{file}'")
    told = replace(meta(), calls=number)
    with (
        closing(Trace(connection, told, directory, limit=LEAST_BYTES)) as trace,
        pytest.MonkeyPatch.context() as patch,
    ):
        connection.execute(f"set memory_limit = '{memory}'; set threads = 1")
        patch.setattr(trace, "make_room", lambda: None)  # It would set another limit.
        yield trace


def test_two_clients_that_append_to_a_log_all_the_time() -> None:
    """Each is told the end, then each writes there: hundreds of thousands of ends of one file."""
    rounds = 60_000
    end, asks = "100 + 10 * (number // 4)", "number % 4 < 2"
    rows = {
        "files": "file: 0, identity: 0, server: '10.0.0.1', path: 'log', role: 'file', type: 'REG'",
        "calls": f"{ONE_OF_TWO}, op: if({asks}, 'GETATTR', 'WRITE')",
        "operations": f"""
            call: number, position: 0, op: if({asks}, 'GETATTR', 'WRITE'), executed: true,
            status: 0, file: 0, "offset": if({asks}, null, {end}), "count": if({asks}, null, 10),
            size: if({asks}, {end}, {end} + 10)
        """,
    }
    with stored(rows, 4 * rounds, "36MB") as trace:
        (found,) = overwritten(trace)
    assert (found.appends, found.writes) == (2 * rounds, rounds)
    assert [(file.clients, file.writes) for file in found.shown] == [
        (("10.0.0.2", "10.0.0.3"), rounds)
    ]
    assert found.frames == (4, 6, 12, 14, 20)


def test_very_many_names_that_are_looked_for_in_vain() -> None:
    """Each once, but for one that is looked for in two directories."""
    names = 100_000
    name = f"'name-' || (number % {names})"
    rows = {
        "files": "file: 0, identity: 0, server: '10.0.0.1', path: 'bin', role: 'directory'",
        "calls": f"{ONE_OF_TWO.replace('status: 0', 'status: 2', 1)}, op: 'LOOKUP'",
        "operations": f"""
            call: number, position: 0, op: 'LOOKUP', executed: true, status: 2,
            directory: 0, name: {name}
        """,
    }
    with stored(rows, names + 2, "36MB") as trace:
        first, second = not_found(trace)
    assert (first.missing, second.missing) == (names // 2 + 1, names // 2 + 1)
    assert first.names[:2] == (
        MissingName("name-0", 2, 1, ("bin",)), MissingName("name-10", 1, 1, ("bin",))
    )  # fmt: skip


def test_very_many_files_that_stand_alike() -> None:
    """Each is asked about twice, with the same time in between."""
    files = 100_000
    rows = {
        "files": """
            file: number, identity: number, server: '10.0.0.1', path: 'file-' || number,
            role: 'file', type: 'REG', listed_only: false, removed: false
        """,
        "calls": ONE_OF_TWO.replace("file: 0", f"file: number % {files}").replace("number % 2", "0")
        + ", op: 'GETATTR'",
        "operations": f"""
            call: number, position: 0, op: 'GETATTR', executed: true, status: 0,
            file: number % {files}, type: 'REG', size: 1, ctime: 1, mtime: 1
        """,
    }
    with stored(rows, 2 * files, "44MB", files=files) as trace:
        found = pcapnfs.cache(trace, top=2)
    assert [(file.path, file.revalidations) for file in found.files] == [
        ("file-0", 2), ("file-1", 2)
    ]  # fmt: skip
    assert [file.interval_p50_s for file in found.files] == pytest.approx([0.1, 0.1], rel=1e-3)


def test_very_many_changes_by_another_client() -> None:
    """Two clients write to one file by turns: each learns of the other's change, all the time.

    Now and then the server's clock is set back, which may be why: so all are looked at.
    """
    number = 300_000
    rows = {
        "files": "file: 0, identity: 0, server: '10.0.0.1', path: 'log', role: 'file', type: 'REG'",
        "calls": f"{ONE_OF_TWO}, op: 'WRITE'",
        "operations": """
            call: number, position: 0, op: 'WRITE', executed: true, status: 0, file: 0,
            stability: 'stable', "offset": number, "count": 1, size: number + 2,
            ctime: number % 20, before_size: number + 1, before_ctime: (number + 19) % 20
        """,
    }
    with stored(rows, number, "96MB") as trace:
        found = pcapnfs.cache(trace, top=1)
    assert found.invalidations == number - 2
