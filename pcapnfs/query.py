"""A user's own SQL, which may only read the trace.

Takes a trace and one statement; gives column names and rows. Promises that nothing is written, that
no file, extension, setting or Python variable can be accessed, and that a refusal is one sentence.
`Trace.sql` uses the same check for reading statements.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from pcapnfs import database
from pcapnfs.errors import UsageError
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READING = (database.StatementType.SELECT, database.StatementType.EXPLAIN)
"""What DuckDB makes of select, with, from, values, describe, show, summarize and explain."""

EXPLAIN_TOKENS = 16
"""EXPLAIN and its options are fewer words and signs than that."""

ZONED = "TIMESTAMP WITH TIME ZONE"
"""A type, or part of one."""

TIMES = (ZONED, "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE")
"""Types with values that Python has none for: infinity, which it is given the last day of the year
9999 for; years beyond that; nanoseconds."""

_TYPE = re.compile(
    rf"""(?x) "(?:[^"]|"")*" | '(?:[^']|'')*'  # Names of fields, and what an ENUM has.
    | \b(?:{"|".join(map(re.escape, TIMES))})(?=[],)[]|$)  # A name of a field has a type behind it.
    """
)

ROWS_AT_A_TIME = 10_000
"""Rows fetched together, so that a long answer does not have to fit in memory."""


Fetched: TypeAlias = "duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation"
"""Where rows are fetched from: a query under way, or its result."""


class Answer(Record):
    """Columns and rows of an answer."""

    columns: tuple[str, ...]
    """Column names in order."""
    rows: Iterator[tuple[object, ...]]
    """The rows, fetched while they are consumed; values as DuckDB gives them in Python."""
    drawn: bool
    """The rows hold a drawing of several lines: the plan of an EXPLAIN."""


def select(trace: Trace, query: str) -> Answer:
    """Run one reading statement on the trace, which is locked from then on (`Trace.lock`).

    Raises:
        UsageError: The text is not SQL, is not exactly one statement, does not only read, or fails.
        duckdb.Error: There is not enough memory or disk for it; so where rows are consumed.
    """
    cursor = trace.cursor()
    cursor.execute(database.AHEAD)
    with _faults_of_the_query():
        drawn = draws(reading(cursor, query))
    trace.lock()
    with _faults_of_the_query():
        # Whatever is executed after all, the transaction refuses changes.
        cursor.execute("begin transaction read only")
        if not drawn:
            query = _in_words(cursor, query)
        found: Fetched = cursor
        if not drawn and _may_wait_for_itself(cursor, query):
            found = cursor.sql(query).execute()
        else:
            cursor.execute(query)
        columns = tuple(str(column[0]) for column in found.description or ())
    return Answer(columns, _rows(found), drawn=drawn)


def reading(cursor: duckdb.DuckDBPyConnection, query: str) -> database.Statement | str:
    """The one statement that a text is, which only reads; before anything of it is carried out.

    As it was parsed, so that it need not be again to be executed. A PIVOT is given as its text:
    DuckDB makes several statements of it.

    Args:
        cursor: A connection of the thread that asks. DuckDB's own function would take one that all
            threads share, and two that ask for it at first wait for each other for ever.
        query: The text.

    Raises:
        UsageError: The text is not exactly one statement, or does not only read.
        duckdb.Error: The text is not SQL.
    """
    statements = cursor.extract_statements(_bare(query))
    if _pivots(statements):
        return query
    if len(statements) != 1:
        raise UsageError(f"one SQL statement is wanted, not {len(statements)}")
    (statement,) = statements
    if statement.type not in READING:
        kind = statement.type.name
        raise UsageError(
            f"this is {'an' if kind[0] in 'AEIOU' else 'a'} {kind} statement; "
            "a trace can only be read: "
            "select, with, from, pivot, describe, show, summarize, explain"
        )
    if draws(statement) and not _explains_reading(cursor, query):
        raise UsageError("a trace can only be read: explain takes select, with, from")
    return statement


def draws(statement: database.Statement | str) -> bool:
    """Whether the rows hold a drawing: the plan of an EXPLAIN."""
    return not isinstance(statement, str) and statement.type == database.StatementType.EXPLAIN


def in_utc(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The same rows, with times that have a time zone as times without one, in UTC.

    DuckDB makes Python's values of the former with pytz alone. The session's zone is UTC.
    """
    columns = _cast(relation, (ZONED,), "TIMESTAMP")
    return relation.project(columns) if columns else relation


def unzoned(cursor: duckdb.DuckDBPyConnection, query: str) -> str:
    """A query for the same rows, with times that have a time zone as times without one, in UTC."""
    return _of(query, _cast(cursor.sql(query), (ZONED,), "TIMESTAMP"))


def zoned(found: Fetched) -> bool:
    """Whether rows that are about to be fetched have such times."""
    return any(ZONED in str(kind) for _, kind, *_ in found.description or ())


def _in_words(cursor: duckdb.DuckDBPyConnection, query: str) -> str:
    """A query for the same rows, with all times as the database writes them, in UTC."""
    return _of(query, _cast(cursor.sql(query), TIMES, "VARCHAR"))


def _of(query: str, columns: str) -> str:
    """A query for these columns of another one; that itself if there are none."""
    return f"select {columns} from (\n{_bare(query)}\n)" if columns else query


def _cast(relation: duckdb.DuckDBPyRelation, kinds: Collection[str], other: str) -> str:
    """All columns of a relation, those of some types as of another; empty without such.

    Args:
        relation: The relation.
        kinds: Types, as columns are or hold them.
        other: What stands for them.
    """

    def instead(found: re.Match[str]) -> str:
        return other if found[0] in kinds else found[0]

    types = [(str(column), _TYPE.sub(instead, str(column))) for column in relation.types]
    if all(now == then for now, then in types):
        return ""
    return ", ".join(
        f"#{place}{'' if now == then else f'::{then}'} as {_quoted(name)}"
        for place, (name, (now, then)) in enumerate(zip(relation.columns, types, strict=True), 1)
    )


def _bare(query: str) -> str:
    """A statement without its end, behind which DuckDB finds no text for the parts of a PIVOT."""
    if ";" not in query:  # Finding its words takes longer than reading the whole statement.
        return query
    text = query.encode()
    for offset, _ in reversed(database.tokenize(query)):
        if text[offset : offset + 1] != b";":
            break
        text = text[:offset]
    return text.decode()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _pivots(statements: list[database.Statement]) -> bool:
    """Whether this is one PIVOT, of which DuckDB makes types for its columns and then a SELECT.

    No text stands behind what it has made itself.
    """
    kinds = [statement.type for statement in statements]
    return (
        len(kinds) > 1
        and kinds.count(database.StatementType.SELECT) == 1
        and set(kinds) == {database.StatementType.CREATE, database.StatementType.SELECT}
        and not any(statement.query for statement in statements)
    )


def _may_wait_for_itself(cursor: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether the rows of a query cannot be fetched while it runs.

    Where a UNION's first branch is joined and its second joins with many rows, DuckDB (1.5) waits
    for the first to end before it prepares the second, and for the second before it gives any row,
    once a megabyte of them is there: for ever. All rows of such a query are worked out first, which
    DuckDB counts by its limit of memory.
    """
    if "union" not in query.lower():
        return False
    try:
        plan = cursor.execute(f"explain {query}").fetchall()
    except database.Error:
        return False  # It fails by itself, and says why; or is a pragma, which has no plan.
    return any("UNION" in drawing for _, drawing in plan)


def _explains_reading(cursor: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether what EXPLAIN explains only reads.

    EXPLAIN ANALYZE executes it, and COPY could write into the files that a trace is read from.
    Behind EXPLAIN stand some options, and then the first text that is a statement by itself.
    """
    text = query.encode()
    for offset, _ in database.tokenize(query)[1:EXPLAIN_TOKENS]:
        try:
            inner = cursor.extract_statements(text[offset:].decode("utf-8", "replace"))
        except database.Error:
            continue
        return [statement.type for statement in inner] == [database.StatementType.SELECT]
    return False


def _rows(found: Fetched) -> Iterator[tuple[object, ...]]:
    while True:
        with _faults_of_the_query():
            rows = found.fetchmany(ROWS_AT_A_TIME)
        if not rows:
            return
        yield from rows


@contextmanager
def _faults_of_the_query() -> Iterator[None]:
    """Say in one sentence what is wrong in a query. That it takes too much is nothing wrong."""
    try:
        yield
    except (database.OutOfMemoryException, database.IOException):
        raise
    except database.Error as error:
        raise UsageError(_sentence(error)) from error


def _sentence(error: database.Error) -> str:
    """What DuckDB says, in one line: it goes on with a picture of the query."""
    lines = [line.strip() for line in str(error).splitlines()]
    picture = next(
        (place for place, line in enumerate(lines) if line.startswith("LINE ")), len(lines)
    )
    return " ".join(line for line in lines[:picture] if line)
