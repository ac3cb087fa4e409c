"""A trace: the tables of one or several captures in an embedded database.

Takes a database that was filled (opening.py); gives a `Trace`, whose tables the analyses question
in SQL, from as many threads as find enough to do. Promises that memory stays within the limit (the
database spills to disk), that temporary files vanish when the trace is closed or the program ends,
and that queries can be interrupted. Knows nothing of NFS.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pcapnfs import attached, database, meta, placement, store, temporary, units
from pcapnfs import memory as limits
from pcapnfs.errors import UsageError
from pcapnfs.query import in_utc, reading, unzoned, zoned

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    import duckdb
    from numpy.typing import NDArray

    from pcapnfs.holding import Hold

ROW_GROUP = 122_880
"""Rows that DuckDB stores together. It compresses and stores that many at once, where fewer would
be written to its log first."""

FEW_CALLS = 40_000
"""Calls up to which planning a query takes longer than answering it."""

THREAD_CALLS = 2 * ROW_GROUP
"""Calls for which another thread answers. DuckDB divides tables by the row group; a thread that
finds no more of them waits busily for the others. A summary of 500,000 calls took two threads a
fifth less time by the clock and a tenth more of the processor's; below 40,000 a quarter more."""

WORKER_CALLS = 5_000
"""Calls from which on questions are asked at the same time (analyses/asking/side_by_side.py). On
two processors that takes a third off the time by the clock from 9,000 calls to 500,000, and nothing
or less of the processor's; of a small sample it takes a tenth off the one and adds a twentieth to
the other."""

ROWS_HELD = 10_000
"""Rows that `Trace.each` holds at a time: as Python's objects they take ten times what they do in
the database."""

THOROUGH = (
    "join_order",
    "statistics_propagation",
    "common_subplan",
    "duplicate_groups",
    "join_elimination",
    "join_filter_pushdown",
    "late_materialization",
    "materialized_cte",
    "sampling_pushdown",
    "sum_rewriter",
)
"""What so few rows do not repay, as far as this version of DuckDB has it: the first two take two
fifths of the optimizer's time, the others together a twentieth of a query's. Without all that it
can do without, queries over 10,000 calls took longer again."""

LAVISH = ("join_filter_pushdown", "statistics_propagation")
"""What tells DuckDB that the keys of a join are dense. It then makes arrays of all of them, up to a
million for each column, which its memory limit does not count: 150 MB for half a million calls."""


FREED = "16MB"
"""Freed bytes from which on DuckDB's allocator gives them back to the system under a tight limit.
It would keep up to 512 MB of those that go in one piece, and 128 MB of others for each thread; the
memory limit does not count them. `perfile` of 27 million calls took 234 MiB more than
`--memory 1G`, and 400 more than 4G; with this 73 and 129."""

FREEING = ("allocator_bulk_deallocation_flush_threshold", "allocator_flush_threshold")
"""The settings that this is for."""


def interrupt_all() -> None:
    """Let the queries fail that run at this moment on any open trace."""
    for trace in _open_ones():
        trace.interrupt()


def close_all() -> None:
    """Close the traces that are open."""
    for trace in _open_ones():
        trace.close()


def _open_ones() -> list[Trace]:
    with _CURSORS:
        return list(_OPEN)


class Trace:
    """The tables of a trace, and what the decoder said at its end.

    A context manager; `close` removes the temporary files. Relations (`sql`, `calls`, …) are
    DuckDB's: lazy, and with `fetchall()`, `show()`, `df()`, `pl()` and `arrow()` for whatever is
    installed. One that a trace gives keeps it open; those that DuckDB derives from it
    (`calls.filter(…)`) do not, so that what is asked of them belongs into the `with` block.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        meta: meta.Meta,
        directory: temporary.Held,
        parts: Sequence[store.Stored] = (),
        *,
        read: Sequence[store.Stored] = (),
        holds: Sequence[Hold] = (),
        own: bool = False,
        named: Sequence[str] = (),
        limit: int | None = None,
        demanded: bool = False,
    ) -> None:
        """Take over a filled database and the directory that its files are in.

        Args:
            connection: The database.
            meta: What the decoder said.
            directory: Temporary files; it is removed with the trace.
            parts: Traces on disk that were opened; none: it was captures.
            read: Those that the tables are views of; none: the tables are in the database.
            holds: What keeps traces on disk as they are until this one is closed.
            own: The parts were made for this trace, and go away with it.
            named: The captures as they were named, in the order of `meta.files`.
            limit: Memory that the process may take, bytes; None: what it likes.
            demanded: Somebody asked for the limit: what cannot keep it is refused.
        """
        self.meta = meta
        self._limit, self._demanded = limit, demanded
        self._parts = parts
        self._read = read
        self._own = own
        self._named = named
        self._connection = connection
        # A connection does one thing at a time: each thread has its own.
        self._of_thread = threading.local()
        self._of_thread.connection = connection
        # DuckDB keeps the result of a query with parameters, and without this gives its pieces of
        # 2,048 rows in any order, also where the query orders them.
        connection.execute("set preserve_insertion_order = true")
        self._busy, workers = _share_out(connection, meta.calls, limit)
        self.workers = workers
        """Questions that may be asked of the trace at a time, each by a thread of its own."""
        self.walked = limits.walked(limit, meta.calls)
        """Calls, and entries of directories, that a walk takes at a time.

        See analyses/asking/parts.py.
        """
        connection.execute("set threads = ?", [self._busy])
        spared = THOROUGH if meta.calls <= FEW_CALLS else ()
        if limits.tight(limit, meta.calls):
            limits.give_back()
            spared = (*spared, *LAVISH)
            for setting in FREEING:
                connection.execute(f"set global {setting} = '{FREED}'")
        if spared:
            known = {name for (name,) in connection.execute(_OPTIMIZERS).fetchall()}
            chosen = ",".join(sorted(known.intersection(spared)))
            connection.execute(f"set disabled_optimizers = '{chosen}'")
        self._locked = False
        # Walks of several threads: what each leaves to the database, and what it had before them.
        self._leaving = threading.Lock()
        self._sizes: list[int] = []
        self._whole: tuple[str, int] = ("", 0)
        self._cursors = weakref.WeakSet([connection])
        with _CURSORS:
            _OPEN.add(self)
        self._cleanup = weakref.finalize(self, _close, connection, self._cursors, directory, holds)

    def sql(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Ask in SQL; the columns are described in docs/tables.md.

        Times with a time zone come as times without one, in UTC.

        Raises:
            UsageError: It is not one statement, or one that does not only read, as `pcapnfs sql`
                refuses it; nothing of it was carried out.
            duckdb.Error: The query fails.
        """
        own = self._own_connection
        relation = in_utc(own.sql(reading(own, query), params=params))
        # As in `pcapnfs.open(…).sql(…).fetchall()`, where nothing else names the trace any more.
        weakref.finalize(relation, _keep, self).atexit = False
        return relation

    def make_room(self) -> None:
        """Have the database leave memory for an analysis that holds something of each call.

        Of a locked trace it keeps what it has; what is held of few calls is not worth a question.
        """
        if self._limit is None or self._locked or self.meta.calls <= FEW_CALLS:
            return
        size = limits.of_database(self._limit, self.meta.calls, self._files())
        with contextlib.closing(self.cursor()) as cursor:
            cursor.execute("set global memory_limit = ?", [f"{size}B"])

    def demand_memory(self) -> None:
        """Refuse to measure what the forecasts need where the limit that was asked for is too low.

        Raises:
            UsageError: That is so.
        """
        if self._limit is None or not self._demanded or self.meta.calls <= FEW_CALLS:
            return
        files = self._files()
        most = min(self.meta.calls, limits.MOST_PAIRS)
        if self._limit >= limits.needed(self.meta.calls, files, most):
            return
        ((pairs,),) = self.rows("select count(distinct mount) from calls")
        least = limits.needed(self.meta.calls, files, int(pairs))
        if self._limit < least:
            raise UsageError(
                f"a limit of {units.size(self._limit)} is too little to say where the time of "
                f"{units.counted(self.meta.calls, 'call')} on {units.counted(files, 'file')} went: "
                f"that takes {-(-least >> 20)}M"
            )

    @contextlib.contextmanager
    def room_for(self, together: int = 0, *, rows: int | None = None) -> Iterator[None]:
        """Have the database leave memory for the rows that a walk holds at once.

        Args:
            together: Rows of the file that has most; they are not divided.
            rows: How many it holds, if not those of a part.

        Raises:
            UsageError: A limit that was asked for is too low for them.
        """
        held = min(self.walked, self.meta.calls) if rows is None else rows
        if self._limit is None or not max(held, together):
            yield
            return
        if self._demanded:
            self._demand_for(self._limit, together)
        with self._left(limits.beside_rows(self._limit, held, together)):
            yield

    @contextlib.contextmanager
    def _left(self, size: int) -> Iterator[None]:
        """Let the database take no more than that, bytes, nor than others want it to meanwhile.

        Where it may not take as much anyway, or is locked, nothing changes.
        """
        with self._leaving:
            if not self._sizes:
                (self._whole,) = self.rows(_ALLOWED)
            _, whole_bytes = self._whole
            lower = size < whole_bytes and not self._locked
            if lower:
                self._sizes.append(size)
        if not lower:
            yield
            return
        try:
            with self._leaving:
                self._allow_least()  # It fails where the database holds more already.
            yield
        finally:
            with self._leaving:
                self._sizes.remove(size)
                self._allow_least()

    def _allow_least(self) -> None:
        """Let the database take the least that is wanted; all again where nothing is."""
        if self._locked:
            return
        whole, _ = self._whole
        least = f"{min(self._sizes)}B" if self._sizes else whole
        with contextlib.closing(self.cursor()) as cursor:
            cursor.execute("set global memory_limit = ?", [least])

    @staticmethod
    def _demand_for(limit: int, rows: int) -> None:
        """Refuse a limit that is too low for so many rows at once."""
        least = limits.needed_at_once(rows)
        if max(limit, limits.LEAST_BYTES) < least:
            raise UsageError(
                f"a limit of {units.size(limit)} is too little for the "
                f"{units.counted(rows, 'row')} of one file, which are gone over at once: "
                f"that takes {-(-least >> 20)}M"
            )

    def _files(self) -> int:
        """Files, and names looked for in vain, that calls were about."""
        ((files,),) = self.rows("select count(*) from files where not listed_only")
        return int(files)

    def rows(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[Any]:
        """All rows of a query at once, as tuples.

        Where nothing but these is wanted, half of what planning the query costs is spared: DuckDB
        plans that of `sql` for its columns, and again for its rows.
        """
        asked = self._asked(query, params)
        return (self.sql(query, params) if zoned(asked) else asked).fetchall()

    def each(self, query: str) -> Iterator[Any]:
        """The same rows one after the other, of which some are held at a time.

        Other questions may be asked meanwhile.
        """
        with contextlib.closing(self.cursor()) as cursor:
            if zoned(cursor.execute(reading(cursor, query))):
                cursor.execute(unzoned(cursor, query))
            while rows := cursor.fetchmany(ROWS_HELD):
                yield from rows

    def arrays(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> dict[str, NDArray[Any]]:
        """All rows of a query at once, as an array for each column."""
        return self._asked(query, params).fetchnumpy()

    def _asked(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None
    ) -> duckdb.DuckDBPyConnection:
        own = self._own_connection
        return own.execute(reading(own, query), params)

    @property
    def _own_connection(self) -> duckdb.DuckDBPyConnection:
        """That of the thread which asks."""
        self._demand_open()
        own: duckdb.DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if own is None:
            own = self._of_thread.connection = self.cursor()
        return own

    @contextlib.contextmanager
    def divided(self) -> Iterator[int]:
        """Let several threads ask at the same time; gives how many there may be.

        Whoever asks works on the answer: the database needs so many threads less of its own.
        """
        self._demand_open()
        if not self._locked:
            own = max(1, self._busy - self.workers + 1)
            self._connection.execute("set threads = ?", [own])
        try:
            yield self.workers
        finally:
            if not self._locked:
                # After a failure the trace may have been closed before this.
                with contextlib.suppress(database.ConnectionException):
                    self._connection.execute("set threads = ?", [self._busy])

    def want(self, cursor: duckdb.DuckDBPyConnection, calls: range | None) -> None:
        """Tell that a cursor will ask for rows of these calls alone, so that others are not read.

        Its queries say so, too. None: for all, again.
        """
        if len(self._read) > 1:
            attached.want(cursor, calls)

    def lock(self) -> None:
        """Shut the database off from files, extensions, Python's variables and settings, for good.

        Every analysis works on a locked trace. Spilling to disk goes on: DuckDB always allows its
        own directory.
        """
        self._demand_open()
        if self._locked:
            return
        self._connection.execute("set python_enable_replacements = false")
        attached.allow(self._connection, self._read)
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set allowed_configs = ['streaming_buffer_size']")
        self._connection.execute("set lock_configuration = true")
        self._locked = True

    def captures(self) -> list[str]:
        """The captures that the trace was made of, for those who need the packets.

        Raises:
            CaptureError: The trace is one on disk, and a capture is gone or not what it was.
            UsageError: The trace was put together from several decodes.
        """
        if self._parts and not self._own:
            return store.captures(self._parts)
        return list(self._named)

    def file(self, table: str) -> Path | None:
        """The Parquet file that is a table, compressed; None where it is none, or several."""
        if len(self._parts) != 1:
            return None
        (part,) = self._parts
        return part.reachable(table) if table in part.columns and not part.brief else None

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own to the same tables, for a transaction of its own.

        Raises:
            UsageError: The trace is closed.
        """
        self._demand_open()
        cursor = self._connection.cursor()
        with _CURSORS:
            self._cursors.add(cursor)
        return cursor

    def interrupt(self) -> None:
        """Let the queries that run at this moment fail; for another thread to call."""
        with _CURSORS:
            if self in _OPEN:
                _interrupt(self._cursors)

    @property
    def calls(self) -> duckdb.DuckDBPyRelation:
        """A row per RPC call."""
        return self.sql("from calls")

    @property
    def operations(self) -> duckdb.DuckDBPyRelation:
        """A row per NFS operation."""
        return self.sql("from operations")

    @property
    def files(self) -> duckdb.DuckDBPyRelation:
        """A row per object that was named by handle, or looked for by name."""
        return self.sql("from files")

    @property
    def names(self) -> duckdb.DuckDBPyRelation:
        """A row per binding of a name in a directory."""
        return self.sql("from names")

    @property
    def entries(self) -> duckdb.DuckDBPyRelation:
        """A row per directory entry that was listed."""
        return self.sql("from entries")

    @property
    def connections(self) -> duckdb.DuckDBPyRelation:
        """A row per connection that carried RPC."""
        return self.sql("from connections")

    @property
    def notes(self) -> duckdb.DuckDBPyRelation:
        """A row per message that was not decoded to its end."""
        return self.sql("from notes")

    def close(self) -> None:
        """Close the database and remove its temporary files; a second time does nothing.

        Whoever asks a closed trace gets a UsageError.
        """
        with _CURSORS:
            _OPEN.discard(self)
        self._cleanup()

    def __enter__(self) -> Self:
        """Give the trace itself.

        Raises:
            UsageError: It is closed.
        """
        self._demand_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the trace.

        Raises:
            CaptureError: A query failed since a table of a trace on disk is damaged.
        """
        self.close()
        # A query of the user's own that fails is taken for a wrong one.
        failure = error.__cause__ if isinstance(error, UsageError) else error
        if isinstance(failure, database.Error):
            damage = attached.blamed(failure, [] if self._own else self._parts)
            if damage is not None:
                raise damage from error

    def _demand_open(self) -> None:
        if not self._cleanup.alive:
            raise UsageError("the trace is closed: its tables are gone; open the captures again")

    def __repr__(self) -> str:
        """Name the files and the number of calls."""
        paths = ", ".join(file.path for file in self.meta.files)
        return f"<Trace of {paths}: {units.counted(self.meta.calls, 'call')}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the files that were read."""
        from pcapnfs.views import notebook

        return notebook.meta_html(self.meta)


def _share_out(
    connection: duckdb.DuckDBPyConnection, calls: int, limit: int | None
) -> tuple[int, int]:
    """How many threads will find enough to do in one query, and how many queries at a time."""
    if calls < WORKER_CALLS:
        return 1, 1
    ((threads,),) = connection.execute("select current_setting('threads')").fetchall()
    busy = limits.threads(limit, calls, min(max(1, calls // THREAD_CALLS), threads))
    return busy, min(threads, limits.workers(limit, calls))


def _keep(_: Trace) -> None:
    """Do nothing: who is to be called with a trace holds it until then."""


def _interrupt(cursors: weakref.WeakSet[duckdb.DuckDBPyConnection]) -> None:
    for cursor in list(cursors):
        with contextlib.suppress(database.ConnectionException):  # It was closed.
            cursor.interrupt()


def _close(
    connection: duckdb.DuckDBPyConnection,
    cursors: weakref.WeakSet[duckdb.DuckDBPyConnection],
    directory: temporary.Held,
    holds: Sequence[Hold],
) -> None:
    with _CURSORS:
        _interrupt(cursors)  # Closing waits for queries that were left behind by a failure.
    connection.close()
    directory.remove()
    let_go(holds)


def let_go(holds: Sequence[Hold]) -> None:
    """Let directories be removed that were held, and those that were replaced meanwhile."""
    for held in holds:
        held.let_go(placement.sweep)


_ALLOWED = """
    select current_setting('memory_limit'),
           parse_formatted_bytes(current_setting('memory_limit'))
"""
"""What the database may take, as it says it, with one decimal, and in bytes."""

_OPTIMIZERS = "select name from duckdb_optimizers()"

_CURSORS = threading.Lock()
"""Held by who looks at the open traces or the cursors of one, or changes them: nobody is to
interrupt what is being closed."""

_OPEN: weakref.WeakSet[Trace] = weakref.WeakSet()
"""The traces of this process."""
