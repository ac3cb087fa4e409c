"""Questions about more files than the database has memory for, or than are alike."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

import pcapnfs
from pcapnfs import memory, temporary
from pcapnfs.analyses.by_file import patterns
from pcapnfs.analyses.by_file.pergroup import pergroup
from pcapnfs.analyses.namespace import voided_names
from pcapnfs.analyses.times import shares
from pcapnfs.comparison import side
from pcapnfs.errors import UsageError
from pcapnfs.opening import connect
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.lookups import counted
from tests.unit.rows import START_NS, meta, tables

FILES = 400_000

LIMIT = 64 << 20
"""Of the process, in bytes."""

ROWS = {
    "files": """
        file: number, identity: number, server: '10.0.0.1', handle: md5(number::varchar)::blob,
        path: 'directory-' || number // 100 || '/a-file-with-a-name-of-usual-length-' || number,
        role: 'file', type: 'REG', listed_only: false, removed: false
    """,
    "calls": f"""
        call: number, connection: 0, client: '10.0.0.2', server: '10.0.0.1', mount: 0, xid: number,
        callback: false, program: 100003, version: 3, op: {{op}},
        file: {{file}}, directory: number // 100, stability: 'unstable', transmissions: 1,
        call_frame: number, call_first_frame: number, call_time: {START_NS} + number * 1000,
        call_first_time: {START_NS} + number * 1000, reply_frame: number,
        reply_time: {START_NS} + number * 1000 + 500, srt: 500, status: 0, rpc_status: 0
    """,
}
"""The columns of a file, and of a call on it, but for what it does and to which."""

ENTRIES = 100
"""Entries of each directory that is listed."""

LISTED = 120_000
"""Entries of all of them: each is looked up afterwards."""

_DIRECTORIES = LISTED // ENTRIES

_LISTING = f"number < {_DIRECTORIES}"
"""SQL: the call lists a directory; the others look up what it told."""

_ABOUT = f"""
    file: if({_LISTING}, {LISTED} + number, number - {_DIRECTORIES}),
    directory: if({_LISTING}, null, {LISTED} + (number - {_DIRECTORIES}) // {ENTRIES})
"""

_NAME = "'a-file-with-a-name-of-usual-length-' || number"

LISTINGS = {
    "files": f"""
        file: number, identity: number, server: '10.0.0.1', name: {_NAME}, path: {_NAME},
        parent: if(number < {LISTED}, {LISTED} + number // {ENTRIES}, null),
        role: if(number < {LISTED}, 'file', 'directory'), listed_only: false, removed: false
    """,
    "calls": f"""
        call: number, connection: 0, client: '10.0.0.2', server: '10.0.0.1', mount: 0, xid: number,
        callback: false, program: 100003, version: 3, {_ABOUT},
        op: if({_LISTING}, 'READDIRPLUS', 'LOOKUP'), stability: 'read', transmissions: 1,
        call_frame: number, call_first_frame: number, call_time: {START_NS} + number * 1000,
        call_first_time: {START_NS} + number * 1000, reply_frame: number,
        reply_time: {START_NS} + number * 1000 + 500, srt: 500, status: 0, rpc_status: 0
    """,
    "operations": f"""
        call: number, position: 0, op: if({_LISTING}, 'READDIRPLUS', 'LOOKUP'), executed: true,
        status: 0, {_ABOUT}, entries: if({_LISTING}, {ENTRIES}, null), plus: {_LISTING}
    """,
    "entries": f"""
        call: number // {ENTRIES}, position: 0, directory: {LISTED} + number // {ENTRIES},
        name: {_NAME}, file: number, type: 'REG'
    """,
}
"""Directories that are listed with attributes, and what they hold looked up."""

LEARNED = f"""
    create temp table learned as
    select 0::uinteger as mount, ({LISTED} + number)::uinteger as file,
           {START_NS} + {_DIRECTORIES} * 1000 as reply_time, 'other' as finding
    from range({_DIRECTORIES}) as counted(number)
"""
"""Somebody else changed each of these directories, of which the client learns in between."""

ALLOWED = "select current_setting('memory_limit')"
"""What the database may take."""

ALIKE = {"op": "['GETATTR', 'ACCESS'][1 + number % 2]", "file": "number"}
"""Each file has one call, of two kinds."""

BITS = 9
"""Digits of the numbers of files of which no two have the same pattern."""

DIGITS = f"""
    case when number % 2 = 1 then 'ACCESS'
         when ((number // {2 * BITS}) >> (number // 2 % {BITS})) % 2 = 1 then 'READ'
         else 'GETATTR' end
"""
"""SQL: the operations of such a file: one for each digit, each with one behind it that divides it
from the next."""


def _stored(number: int) -> Iterator[Trace]:
    """A trace of so many files with a call each, and a database with less than its limit gives."""
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    for table, columns in ROWS.items():
        stored = directory.path / f"{table}.parquet"
        rows = _rows(columns.format(**ALIKE), number)
        connection.execute(f"insert into {table} by name ({rows})")
        connection.execute(f"copy {table} to '{stored}' (format parquet)")
        connection.execute(f"drop table {table}; create view {table} as from '{stored}'")
    told = replace(meta(), calls=number)
    with closing(Trace(connection, told, directory, limit=LIMIT)) as made:
        connection.execute("set memory_limit = '48MB'; set threads = 1")
        yield made


def _rows(columns: str, number: int) -> str:
    return f"select unnest({{{columns}}}) from range({number}) as counted(number)"


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    yield from _stored(FILES)


@pytest.fixture
def fewer() -> Iterator[Trace]:
    yield from _stored(150_000)


def test_files_by_their_cost(trace: Trace) -> None:
    found = pcapnfs.perfile(trace, top=3)
    assert [file.file for file in found.files] == [0, 1, 10]
    assert (found.listed.files, found.listed.calls) == (FILES, FILES)


def test_all_files_by_their_cost(fewer: Trace) -> None:
    found = pcapnfs.perfile(fewer, top=0)
    assert len(found.files) == found.shown.calls == 150_000
    # Equals in the order of their paths.
    assert [file.path for file in found.files[:300]] == sorted(
        file.path for file in found.files[:300]
    )
    assert [file.ops for file in found.files[:2]] == [{"GETATTR": 1}, {"ACCESS": 1}]


@pytest.mark.parametrize("demanded", [True, False])
def test_a_limit_that_cannot_be_kept_is_refused_at_once(demanded: bool) -> None:
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    told = replace(meta(), calls=10_000_000)
    with closing(Trace(connection, told, directory, limit=300 << 20, demanded=demanded)) as trace:
        if demanded:
            with pytest.raises(UsageError, match=r"300 MiB is too little .* that takes 1034M$"):
                pcapnfs.summarize(trace)
        else:
            assert not pcapnfs.summarize(trace).patterns.classes
        assert pcapnfs.perfile(trace).listed.files == 0


@pytest.mark.parametrize(("clients", "refused"), [(30_000, True), (3_000, False)])
def test_a_limit_is_held_against_the_clients_too(clients: int, refused: bool) -> None:
    """Of each pair of a client and a server something is held, however few its calls are."""
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    calls = ROWS["calls"].format(op="'GETATTR'", file="0")
    of_many = calls.replace("mount: 0", f"mount: number % {clients}")
    connection.execute(f"insert into calls by name ({_rows(of_many, 60_000)})")
    told = replace(meta(), calls=60_000)
    with closing(Trace(connection, told, directory, limit=128 << 20, demanded=True)) as trace:
        if refused:
            with pytest.raises(UsageError, match=r"128 MiB is too little .* that takes 234M$"):
                trace.demand_memory()
        else:
            trace.demand_memory()


@pytest.mark.parametrize("of_one", [True, False])
@pytest.mark.parametrize("demanded", [True, False])
def test_a_file_with_more_calls_than_memory_is_refused(
    of_one: bool, demanded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls cannot be divided, as those of many files are."""
    number = 100_000
    monkeypatch.setattr(memory, "ROW_BYTES", 4 << 10)
    monkeypatch.setattr(memory, "LEAST_WALKED_CALLS", 1 << 14)
    monkeypatch.setattr(memory, "WALKED_PART", 64)
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    calls = ROWS["calls"].format(op="'GETATTR'", file="0" if of_one else "number")
    connection.execute(f"insert into files by name ({_rows(ROWS['files'], number)})")
    connection.execute(f"insert into calls by name ({_rows(calls, number)})")
    told = replace(meta(), calls=number)
    with closing(Trace(connection, told, directory, limit=128 << 20, demanded=demanded)) as trace:
        assert trace.walked < number
        if of_one and demanded:
            refused = r"128 MiB is too little for the 100\D000 rows of one file, .* takes 433M$"
            with pytest.raises(UsageError, match=refused):
                pcapnfs.patterns(trace)
        else:
            found = pcapnfs.patterns(trace)
            assert found.total.calls == number


def test_the_database_leaves_room_for_the_calls_of_a_file_and_gets_it_back(fewer: Trace) -> None:
    fewer.cursor().execute("set global memory_limit = '200MiB'")
    with fewer.room_for(100_000):
        assert fewer.rows(ALLOWED) == [("64.0 MiB",)]
    assert fewer.rows(ALLOWED) == [("200.0 MiB",)]


def test_where_the_database_may_not_take_as_much_its_limit_stays(
    fewer: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says of it is rounded: set anew, it would be less each time."""
    fewer.cursor().execute("set global memory_limit = '60000000B'")
    asked: list[str] = []
    monkeypatch.setattr(fewer, "_allow_least", lambda: asked.append("set"))
    with fewer.room_for(rows=1):
        assert asked == []
    assert asked == []


def test_of_walks_at_the_same_time_the_one_that_needs_most_is_left_room(fewer: Trace) -> None:
    """Whichever of them ends first, the database gets back what it had before both."""
    fewer.cursor().execute("set global memory_limit = '200MiB'")
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with fewer.room_for(rows=100_000):
            entered.set()
            assert leave.wait(60)

    thread = threading.Thread(target=other)
    with fewer.room_for(rows=100):
        thread.start()
        assert entered.wait(60)
        assert fewer.rows(ALLOWED) == [("64.0 MiB",)]
    assert fewer.rows(ALLOWED) == [("64.0 MiB",)]
    leave.set()
    thread.join(60)
    assert fewer.rows(ALLOWED) == [("200.0 MiB",)]


@pytest.mark.parametrize(("by", "groups"), [("directory", FILES // 100), ("client", 1)])
def test_groups_of_files(trace: Trace, by: str, groups: int) -> None:
    found = pergroup(trace, by, top=2)  # type: ignore[arg-type]
    assert found.group_count == groups
    assert found.groups[0].files == FILES // groups


def test_names_that_others_voided() -> None:
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    for table, columns in LISTINGS.items():
        number = LISTED if table == "entries" else LISTED + _DIRECTORIES
        stored = directory.path / f"{table}.parquet"
        connection.execute(f"insert into {table} by name ({_rows(columns, number)})")
        connection.execute(f"copy {table} to '{stored}' (format parquet)")
        connection.execute(f"drop table {table}; create view {table} as from '{stored}'")
    told = replace(meta(), calls=LISTED + _DIRECTORIES)
    with (
        closing(Trace(connection, told, directory, limit=LIMIT)) as made,
        closing(made.cursor()) as cursor,
    ):
        shares.register(made)
        cursor.execute("create temp type finding as enum ('other', 'unknown')")
        cursor.execute(LEARNED)
        connection.execute("set memory_limit = '36MB'; set threads = 1")
        (found,) = voided_names.of_learned(made, cursor)
    assert (found.asked.calls, found.directories) == (LISTED, _DIRECTORIES)


def test_classes_of_files(trace: Trace) -> None:
    found = pcapnfs.patterns(trace)
    assert [each.files for each in found.classes] == [FILES // 2, FILES // 2]


def test_costs_of_paths_that_are_larger_than_the_memory_of_the_database() -> None:
    number, size = 20_000, 4000
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    deep = ROWS["files"].replace("path: '", f"path: repeat('deeper/', {size // 7}) || '")
    for table, columns in {**ROWS, "files": deep}.items():
        stored = directory.path / f"{table}.parquet"
        rows = _rows(columns.format(**ALIKE), number)
        connection.execute(f"insert into {table} by name ({rows})")
        connection.execute(f"copy {table} to '{stored}' (format parquet, row_group_size 2048)")
        connection.execute(f"drop table {table}; create view {table} as from '{stored}'")
    told = replace(meta(), calls=number)
    with closing(Trace(connection, told, directory, limit=LIMIT)) as made:
        connection.execute("set memory_limit = '48MB'; set threads = 1")
        found = list(side._files(made))
    assert len(found) == number
    assert found == sorted(found)
    assert {(calls, time) for _, calls, _, time in found} == {(1, 500)}


@pytest.fixture
def different() -> Iterator[Trace]:
    directory = temporary.make(prefix="pcapnfs-test-")
    connection = connect(tables(), directory.path)
    number = 2 * BITS << BITS
    calls = ROWS["calls"].format(op=DIGITS, file=f"number // {2 * BITS}")
    connection.execute(f"insert into files by name ({_rows(ROWS['files'], 1 << BITS)})")
    connection.execute(f"insert into calls by name ({_rows(calls, number)})")
    with closing(Trace(connection, replace(meta(), calls=number), directory)) as made:
        yield made


def test_classes_are_counted_as_they_are_told(different: Trace) -> None:
    told = pcapnfs.patterns(different, top=0)
    counted = patterns.counted(different)
    assert len(counted) == told.class_count == 1 << BITS
    assert [(each.kind, each.pattern, each.files, each.time_s) for each in counted] == sorted(
        (each.kind, each.pattern, each.files, each.time_s) for each in told.classes
    )
    assert {each.time_per_file_s for each in counted} == {
        each.time_per_file_s for each in told.classes
    }


def test_no_value_of_a_query_is_looked_at_by_itself(
    different: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each value of a list, DuckDB looks for packages that make others of it."""
    lookups = counted(monkeypatch)
    assert pcapnfs.patterns(different, top=0).class_count == 1 << BITS
    assert lookups.most < 1 << BITS
