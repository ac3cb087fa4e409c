"""The walk over transfers says what the database says of the same rows with window functions."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs import walks
from tests.analyses.test_walks import FEW, FILE, MOUNT, SECOND, Rows, fill, maybe

READ, WRITE, COMMIT = range(3)

PAGE = 4

ROWS = {
    "mount": "uinteger", "file": "uinteger", "what": "utinyint", "position": "uinteger",
    "call_time": "bigint", "reply_time": "bigint", "call_frame": "ubigint", "start": "ubigint",
    "requested": "ubigint", "count": "ubigint", "size": "ubigint", "srt": "bigint",
    "share": "bigint", "pause": "bigint", "waiting": "double", "stable": "boolean",
    "sync": "boolean", "unstable": "boolean", "done": "boolean", "main": "boolean",
}  # fmt: skip


def has_more(stop: str) -> str:
    """SQL: a WRITE has the page again in which the one before ended, and more behind it."""
    return f"""
        (start < lag({stop}) over around and {stop} > lag({stop}) over around
         and start >= lag(start) over around
         and start >= lag({stop}) over around // {PAGE} * {PAGE})
    """


RUNS = f"""
    with ordered as (
        select *, what = {READ} as reading,
               coalesce((lag(start + requested) over around = start
                         or what = {WRITE} and sync and lag(sync) over around
                            and {has_more("(start + requested)")})
                        and call_time - lag(call_time) over around < {SECOND}, false) as continues
        from moved where what <> {COMMIT} and requested > 0 and start is not null and main
        window around as (partition by mount, file, what order by call_time, call)
    ),
    numbered as (
        select *, count(*) filter (not continues) over (
                   partition by mount, file, what order by call_time, call) as run
        from ordered
    )
    select mount, file, reading, count(*), max(requested), sum(requested), sum(share * waiting),
           sum(pause), coalesce(sum(share * waiting) filter (stable), 0), min(call_frame),
           count(*) filter (sync), coalesce(sum(share * waiting) filter (sync), 0),
           coalesce(sum(pause) filter (sync), 0), coalesce(sum(requested) filter (sync), 0)
    from numbered group by mount, file, reading, run order by all
"""

COMMITS = f"""
    with grouped as (
        select *, count(*) filter (what = {COMMIT}) over (
                   partition by mount, file order by call_time, call
                   rows between current row and unbounded following) as before
        from moved where (what = {COMMIT} or what = {WRITE} and unstable) and done
    )
    select mount, file, any_value(call_frame) filter (what = {COMMIT}),
           any_value(srt) filter (what = {COMMIT}), any_value(share) filter (what = {COMMIT}),
           coalesce(sum("count") filter (what = {WRITE}), 0)
    from grouped where before > 0 group by mount, file, before order by all
"""


def spared(which: str) -> str:
    return f"""
        [count(*) filter ({which}), coalesce(sum(share) filter ({which}), 0),
         coalesce(sum(pause) filter ({which}), 0)],
        coalesce(arg_min(call_frame, call_frame, 5) filter ({which}), [])
    """


SHAPES = f"""
    with bytes as (
        select *, what = {READ} as reading, start + "count" as stop
        from moved where what <> {COMMIT} and done and start is not null and "count" > 0
    ),
    told as (
        select *, max(stop) filter (not reading) over (
                      partition by mount, file order by call_time, call
                      rows between unbounded preceding and 1 preceding) as reached,
               coalesce(size, max(stop) over (partition by mount, file)) as ending,
               lead(reading) over around as next_reading, lead(start) over around as next_start,
               lead(stop) over around as next_stop, lead(call_time) over around as next_time
        from bytes window around as (partition by mount, file order by call_time, call)
    ),
    followed as (
        select *, coalesce({has_more("stop")}, false) as more, lag(stop) over around as before
        from told window around as (partition by mount, file, reading order by call_time, call)
    ),
    shaped as (
        select *, not reading and (start % {PAGE} <> 0
                                   or stop % {PAGE} <> 0 and stop < ending or more) as unaligned,
               not reading and (start % {PAGE} <> 0 and start = reached
                                or more and before = reached) as appended,
               reading and not next_reading and next_time - reply_time < {SECOND}
                   and (next_start % {PAGE} <> 0 and start <= next_start
                            and stop > next_start - next_start % {PAGE}
                        or next_stop % {PAGE} <> 0 and start < next_stop and stop >= next_stop)
                   as first
        from followed
    )
    select mount, count(*) filter (not reading), count(distinct file) filter (unaligned),
           coalesce(sum("count") filter (unaligned), 0), count(*) filter (appended),
           {spared("unaligned")}, {spared("first")}
    from shaped group by mount having count(*) filter (not reading) > 0
"""


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("pragma disable_optimizer")  # It takes longer than the few rows.
        yield connection


@st.composite
def transfers(draw: st.DrawFn) -> tuple[object, ...]:
    def flag() -> bool:
        return draw(st.sampled_from([True, True, False]))

    time = draw(st.integers(0, 9)) * SECOND // 3
    took = draw(st.integers(0, 3)) * SECOND // 3
    return (
        draw(MOUNT), draw(FILE), draw(st.sampled_from([READ, WRITE, WRITE, COMMIT])), 0, time,
        time + took, draw(st.integers(1, 99)), draw(maybe(st.integers(0, 9))),
        draw(maybe(st.integers(0, 5))), draw(maybe(st.integers(0, 5))),
        draw(maybe(st.integers(0, 12))), took, draw(st.integers(0, 100)), draw(st.integers(0, 9)),
        draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])), flag(), draw(maybe(st.booleans())),
        draw(maybe(st.just(value=True))), flag(), flag(),
    )  # fmt: skip


@FEW
@given(st.lists(transfers(), max_size=30), st.integers(1, 3))
def test_transfers(database: duckdb.DuckDBPyConnection, rows: Rows, parts: int) -> None:
    fill(database, "moved", ROWS, rows)
    walk = walks.Transfers(together_s=1.0, soon_s=1.0, page_bytes=PAGE)
    for part in range(parts):
        walk.add(database.sql(f"from moved where file % {parts} = {part} order by call desc"))
    database.register("runs", walk.runs())
    assert database.sql("from runs order by all").fetchall() == database.sql(RUNS).fetchall()
    database.register("commits", walk.commits())
    assert database.sql("from commits order by all").fetchall() == database.sql(COMMITS).fetchall()
    found = {
        (
            mount, shapes["writes"], shapes["files"], shapes["bytes"], shapes["appended"],
            *(
                part
                for name in ("unaligned", "read_first")
                for part in (str(shapes[name][:3]), str(shapes[name][3]))
            ),
        )
        for mount, shapes in walk.shapes().items()
    }  # fmt: skip
    expected = {
        (*row[:5], *(str([int(value) for value in part]) for part in row[5:]))
        for row in database.sql(SHAPES).fetchall()
    }
    assert found == expected


def test_places_at_the_end_of_what_numbers_can_say(database: duckdb.DuckDBPyConnection) -> None:
    last = 2**64 - 1
    row = (0, 1, WRITE, 0, 0, 1, 7, last, last, last, None, 1, 1, 1, 1.0, *(True,) * 5)
    fill(database, "moved", ROWS, [row, row])
    walk = walks.Transfers(together_s=1.0, soon_s=1.0, page_bytes=PAGE)
    walk.add(database.sql("from moved"))
    database.register("runs", walk.runs())
    assert database.sql("select calls from runs").fetchall() == [(1,), (1,)]
    assert walk.shapes()[0]["unaligned"][0] == 2
