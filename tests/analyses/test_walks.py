"""Walks over rows that were drawn by lot: they say what the database says with window functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcapnfs import walks
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.mounts import mount_evidence

FEW = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])

SECOND = 1_000_000_000

Rows = Sequence[tuple[object, ...]]


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("pragma disable_optimizer")  # It takes longer than the few rows.
        yield connection


def fill(
    database: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, str], rows: Rows
) -> duckdb.DuckDBPyRelation:
    """A table of these rows, each with its number as `call` in front: none has another's place."""
    types = {"call": "ubigint"} | dict(columns)
    listed = ", ".join(f"{column} {kind}" for column, kind in types.items())
    database.execute(f"create or replace table {name} ({listed})")
    if rows:
        # In one statement: each takes as long as many rows.
        marks = ", ".join(f"({', '.join('?' * len(types))})" for _ in rows)
        values = [value for number, row in enumerate(rows) for value in (number, *row)]
        database.execute(f"insert into {name} values {marks}", values)
    return database.sql(f"from {name}")


def maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


MOUNT, FILE, TIME = st.integers(0, 1), st.integers(0, 2), st.integers(0, 12)

TOLD = {
    "mount": "uinteger", "file": "uinteger", "position": "uinteger", "call_time": "bigint",
    "reply_time": "bigint", "change_id": "ubigint", "before": "ubigint", "question": "utinyint",
    "modified": "boolean", "alone": "boolean", "verified": "boolean",
}  # fmt: skip

LEARNED = """
    with numbered as (
        select *, row_number() over (
                   partition by mount, file order by reply_time, call, position) as place
        from told where change_id is not null or modified or question is not null
    ),
    ordered as (
        select *,
               lag(case when change_id is not null
                   then {'id': change_id, 'at': reply_time, 'asked': call_time, 'call': call,
                         'position': position,
                         'modified': modified, 'place': place} end ignore nulls) over around
                   as last,
               lag(case when modified then place end ignore nulls) over around
                   as modified_place,
               lag(case when modified then reply_time end ignore nulls) over around
                   as modified_before,
               lag(case when modified then reply_time end, 2 ignore nulls) over around
                   as modified_earlier,
               min(case when modified then call_time end) over later as modified_after
        from numbered
        window around as (partition by mount, file order by place),
               later as (around rows between 1 following and unbounded following)
    ),
    compared as (
        select *, last.id as known, last.at as known_time, last.asked as known_call_time,
               last.modified as known_modified, last.call as known_call,
               last.position as known_position,
               coalesce(modified_place > last.place, false) as meddled
        from ordered
    )
    select mount, file, call, position, call_time, reply_time,
           case question when 0 then 'getattr' when 1 then 'open' when 2 then 'verify' end
               as question,
           modified, alone, known_call, known_position, known_time, meddled,
           case when verified then 'unchanged'
                when not verified then case when meddled then 'self' else 'other' end
                when change_id is null then null
                when known is null then 'first'
                when change_id = known then 'unchanged'
                when meddled then 'self'
                when modified_before > call_time or modified_after < reply_time then 'self'
                when case when known_modified then modified_earlier else modified_before end
                         > known_call_time
                     or case when modified then least(call_time, modified_after)
                             else modified_after end < known_time
                    then 'self'
                when modified and coalesce(before = known, true) then 'self'
                else 'other' end as finding
    from compared
"""

ASKED = "question is not null and not (question = 'open' and finding = 'first')"

ASKED_ABOUT = f"""
    select mount, file, count(*) filter ({ASKED}),
           count(*) filter (question = 'getattr'),
           count(*) filter ({ASKED} and question = 'open'),
           count(*) filter (question = 'verify'),
           count(*) filter ({ASKED} and finding = 'first'),
           count(*) filter ({ASKED} and finding = 'unchanged'),
           count(*) filter ({ASKED} and finding = 'self'),
           count(*) filter ({ASKED} and finding = 'other'),
           count(*) filter ({ASKED} and finding is null),
           count(*) filter (finding = 'other'),
           coalesce(sum(reply_time - call_time) filter (alone and question <> 'open'), 0)
    from ({LEARNED}) where question is not null or finding = 'other'
    group by mount, file order by all
"""


@FEW
@given(
    st.lists(
        st.tuples(
            MOUNT, FILE, st.just(0), TIME, TIME, maybe(st.integers(1, 3)),
            maybe(st.integers(1, 3)), maybe(st.integers(0, 2)), st.booleans(), st.booleans(),
            st.sampled_from([None, None, None, True, False]),
        ),
        max_size=30,
    )
)  # fmt: skip
def test_learned(database: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    told = fill(database, "told", TOLD, rows)
    learned, asked = walks.learned(told, all_rows=True)
    database.register("walked", learned)
    assert (
        database.sql("from walked order by call").fetchall()
        == database.sql(f"from ({LEARNED}) order by call").fetchall()
    )
    database.register("asked", asked)
    assert (
        database.sql("from asked order by all").fetchall() == database.sql(ASKED_ABOUT).fetchall()
    )
    some, _ = walks.learned(database.sql("from told"), all_rows=False)
    database.register("walked", some)
    assert (
        database.sql("from walked order by call").fetchall()
        == database.sql(
            f"from ({LEARNED}) where question is not null or finding = 'other' order by call"
        ).fetchall()
    )


ANSWERED = {
    "mount": "uinteger", "about": "uinteger", "call_time": "bigint", "reply_time": "bigint",
    "purpose": "utinyint", "by_times": "boolean", "single": "boolean", "of_data": "boolean",
}  # fmt: skip

SAID = {
    "position": "uinteger", "of": "ubigint", "file": "uinteger", "change_id": "ubigint",
    "exact": "boolean", "before": "ubigint", "exact_before": "boolean", "modified": "boolean",
    "modified_unless_v4": "boolean", "asked": "utinyint", "refused": "boolean",
    "verified": "boolean",
}  # fmt: skip

MEANT = """
    with meant as (
        select mount, file, said.call, position, call_time, reply_time,
               case when not of_data and (by_times or exact) then change_id end as change_id,
               case when not of_data and (by_times or exact_before) then before end as before,
               case when asked = 2 then 2
                    when file = about and (asked = 1 or asked = 0 and by_times)
                    then purpose end::utinyint as question,
               coalesce(modified, false) or by_times and coalesce(modified_unless_v4, false)
                   as modified,
               coalesce(refused, single) as alone, verified
        from (select * exclude (call, of), of as call from said) as said
             join answered using (call)
    )
    from meant where change_id is not null or modified or question is not null
"""

YES, PERHAPS = st.booleans(), st.sampled_from([None, False, True])


@FEW
@given(
    st.lists(
        st.tuples(MOUNT, maybe(FILE), TIME, TIME, maybe(st.integers(0, 1)), YES, YES, YES),
        max_size=8,
    ),
    st.lists(
        st.tuples(
            st.just(0), st.integers(0, 9), FILE, maybe(st.integers(1, 3)), YES,
            maybe(st.integers(1, 3)), PERHAPS, PERHAPS, PERHAPS, maybe(st.integers(0, 2)),
            PERHAPS, PERHAPS,
        ),
        max_size=20,
    ),
)  # fmt: skip
def test_told(database: duckdb.DuckDBPyConnection, calls: Rows, rows: Rows) -> None:
    fill(database, "answered", ANSWERED, calls)
    fill(database, "said", SAID, rows)
    said = "select * exclude (call, of), of as call from said"
    # Later calls first, too: rows look them up all the same.
    for order in ("asc", "desc"):
        answered = walks.Answered(database.sql(f"from answered order by call {order}"))
        told = answered.told(database.sql(said))
        database.register("walked", told)
        assert (
            database.sql("from walked order by all").fetchall()
            == database.sql(f"from ({MEANT}) order by all").fetchall()
        )
        learned, _ = answered.learned(database.sql(said), all_rows=True)
        expected, _ = walks.learned(database.sql("from walked"), all_rows=True)
        database.register("learnt", learned)
        database.register("expected", expected)
        assert (
            database.sql("from learnt order by all").fetchall()
            == database.sql("from expected order by all").fetchall()
        )


MOVES = {
    "mount": "uinteger", "file": "uinteger", "position": "uinteger", "moment": "bigint",
    "start": "bigint", "stop": "bigint", "reading": "boolean", "asked": "boolean",
    "opened": "boolean", "asked_at": "bigint", "valid": "boolean", "void": "boolean",
}  # fmt: skip

Held = tuple[int, int, int, int]


def held_of(rows: Sequence[tuple[Any, ...]]) -> list[Held]:
    """Of each mount and file what was read again and what was spared, by the definitions."""
    objects: dict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
    for call, (mount, file, position, moment, *what) in enumerate(rows):
        objects[mount, file].append((moment, call, position, what))
    found = []
    for (mount, file), events in objects.items():
        events.sort()
        reread, visits = 0, list[list[int]]([[]])
        first = None
        had, void_had = set[int](), set[int]()
        for _, _, _, (start, stop, reading, asked, opened, asked_at, valid, void) in events:
            if start is not None:
                moved = set(range(start, stop))
                if reading:
                    reread += len(moved & void_had)
                had |= moved
                visits[-1].append(0)
                continue
            if asked and (first is None or opened or asked_at - first >= SECOND):
                first = asked_at
                visits.append([])
            visits[-1].append(len(had) if valid else 0)
            if void:
                void_had |= had
                had = set()
        saved = sum(visit[-1] for visit in visits if visit)
        if reread or saved:
            found.append((mount, file, reread, saved))
    return sorted(found)


@st.composite
def moves(draw: st.DrawFn) -> tuple[object, ...]:
    moment = draw(TIME) * SECOND // 2
    place = (draw(MOUNT), draw(FILE), 0, moment)
    if draw(st.booleans()):
        start = draw(st.integers(0, 9))
        stop = start + draw(st.integers(1, 9))
        return (*place, start, stop, draw(st.booleans()), False, False, None, False, False)
    asked = draw(st.booleans())
    opened = asked and draw(st.booleans())
    asked_at = moment - draw(st.integers(0, 2)) * SECOND // 2
    valid = asked and draw(st.booleans())
    return (*place, None, None, False, asked, opened, asked_at, valid, not valid)


@FEW
@given(st.lists(moves(), max_size=30))
def test_held(database: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]]) -> None:
    found = walks.held(fill(database, "moves", MOVES, rows), visit_s=1.0)
    database.register("walked", found)
    assert database.sql("from walked order by all").fetchall() == held_of(rows)


STEPS = {
    "mount": "uinteger", "file": "uinteger", "directory": "uinteger", "call_frame": "ubigint",
    "call_time": "bigint", "known_time": "bigint", "kind": "utinyint", "v3": "boolean",
    "of_file": "boolean", "of_directory": "boolean",
}  # fmt: skip

KINDS = ("access", "getattr", "lookup", "read", "readdir", "stream", "touch", "other")

ENTRIES = {"mount": "uinteger", "file": "uinteger", "reply_time": "bigint"}

MOVED = f"""
    with stream as (
        select mount, directory, file as child, call_time, call_frame, call, false as asked
        from steps where directory is not null and kind not in (3, 5)
        union all
        select mount, file, null, call_time, call_frame, call, true
        from steps where known_time is not null and of_directory
    ),
    ordered as (
        select *, lag(asked) over earlier as asked_before, lag(call_frame) over earlier as frame,
               lag(child ignore nulls) over earlier as child_before,
               lag(case when not asked then call_time end ignore nulls) over earlier as time_before
        from stream
        window earlier as (
            partition by mount, directory order by call_time, call_frame, call, asked)
    )
    select mount, count(*), count(*) filter (asked_before),
           arg_min(frame, (call_time, frame), 3) filter (asked_before)
    from ordered
    where not asked and child <> child_before and call_time - time_before < {3 * SECOND}
    group by mount
"""

WAYS = f"""
    with stream as (
        select mount, directory, file as child, call_time, call_frame, call, false as asked,
               null as age
        from steps where directory is not null and kind not in (3, 5)
        union all
        select mount, file, null, call_time, call_frame, call, true, call_time - known_time
        from steps where known_time is not null and of_directory
    ),
    numbered as (
        select *, sum((not asked)::integer) over (
                   partition by mount, directory order by call_time, call_frame, call, asked
                   rows unbounded preceding
               ) as way
        from stream
    ),
    questions as (
        select mount, directory, way + 1 as way, count(*) as number,
               arg_max((call_time, call_frame, age), (call_time, call_frame, call)) as latest
        from numbered where asked group by all
    ),
    children as (
        select *, call_time - lag(call_time) over (
                   partition by mount, directory order by way) as since
        from numbered where not asked
    ),
    ways as (
        select mount, latest[1] as time, latest[2] as frame,
               number = 2 and latest[3] between 0 and {SECOND // 2 - 1} as twice
        from children join questions using (mount, directory, way) where since < {3 * SECOND}
    )
    select mount, count(*), count(*) filter (twice),
           arg_min(frame, (time, frame), 3) filter (twice)
    from ways group by mount
"""

VISITED = f"""
    with stream as (
        select mount, file, call_time, call_frame, call, kind = 2 as looked_up, known_time,
               known_time is not null and call_time - known_time < {SECOND} as young,
               coalesce(call_time - lag(call_time) over (
                   partition by mount, file order by call_time, call_frame, call)
                   < {SECOND}, false) as same
        from steps where of_file
    ),
    numbered as (
        select *, sum((not same)::integer) over (
            partition by mount, file order by call_time, call_frame, call) as visit
        from stream
    ),
    visited as (
        select mount, min(call_frame) filter (young) as frame, count(*) filter (young) as young,
               bool_or(known_time is null or young) as telling
        from numbered group by mount, file, visit
    )
    select mount, count(*) filter (telling), count(*) filter (young >= 1),
           count(*) filter (young >= 2),
           arg_min(frame, frame, 3) filter (young >= 2), sum(young)::bigint,
           (select count(*) filter (looked_up) - count(distinct file) filter (looked_up)
            from stream where stream.mount = visited.mount)
    from visited group by mount
"""

READ_FIRST = """
    with stream as (
        select mount, file, call_time as moment, call, kind from steps
        where of_file and v3 and kind <> 0
        union all
        select mount, file, reply_time, call, 8 from entries
    ),
    ordered as (
        select mount, kind,
               lag(kind) over (partition by mount, file order by moment, call, kind) as before
        from stream
    )
    select mount, count(*) filter (before = 8), count(*) filter (before = 1)
    from ordered where kind = 3 group by mount
"""


@st.composite
def steps(draw: st.DrawFn) -> tuple[object, ...]:
    time = draw(TIME) * SECOND // 2
    known = draw(maybe(st.integers(0, 4).map(lambda age: time - age * SECOND // 2)))
    role = draw(st.sampled_from(["file", "directory", "other"]))
    kind = draw(st.integers(0, len(KINDS) - 1))
    return (
        draw(MOUNT), draw(FILE), draw(maybe(FILE)), draw(st.integers(1, 40)), time, known, kind,
        draw(st.booleans()), role == "file", role == "directory",
    )  # fmt: skip


@FEW
@given(
    st.lists(steps(), max_size=40),
    st.lists(st.tuples(MOUNT, FILE, TIME.map(lambda time: time * SECOND // 2)), max_size=8),
    st.integers(1, 3),
)
def test_steps(database: duckdb.DuckDBPyConnection, rows: Rows, entries: Rows, many: int) -> None:
    fill(database, "steps", STEPS, rows)
    fill(database, "entries", ENTRIES, entries)
    walk = walks.Steps(
        together_s=1.0, neighbours_s=3.0, at_once_s=0.5, pause_s=(1.5, 2.0), examples=3
    )
    for part in range(many):
        of_part = parts.within("mount, file", range(part, part + 1), many)
        listed = database.sql(f"from entries where {of_part}")
        walk.add(database.sql(mount_evidence.steps("steps", part, many)), listed)
    found = dict(walk.found())

    def told(names: Sequence[str]) -> dict[int, tuple[object, ...]]:
        answers = {mount: tuple(row[name] for name in names) for mount, row in found.items()}
        return {mount: answer for mount, answer in answers.items() if any(answer)}

    def expected(query: str) -> dict[int, tuple[object, ...]]:
        answers = database.sql(query).fetchall()
        counted = {
            mount: tuple(
                value or [] if isinstance(value, list | None) else value for value in answer
            )
            for mount, *answer in answers
        }
        return {mount: answer for mount, answer in counted.items() if any(answer)}

    assert told(["moves", "moves_asked", "moves_frames"]) == expected(MOVED)
    assert told(["ways_asked", "ways_asked_twice", "ways_frames"]) == expected(WAYS)
    names = ["visits", "visits_asked", "visits_asked_twice", "visits_frames", "files_fresh"]
    assert told([*names, "lookups_again"]) == expected(VISITED)
    assert told(["reads_unasked", "reads_asked"]) == expected(READ_FIRST)
    paused = (
        "select mount, count(*) from steps where of_directory "
        f"and call_time - known_time between {SECOND * 3 // 2} and {SECOND * 2} group by mount"
    )
    assert told(["paused"]) == expected(paused)


EVENTS = {
    "mount": "uinteger", "directory": "uinteger", "title": "ubigint", "moment": "bigint",
    "plus": "boolean", "op": "utinyint", "reply_time": "bigint", "srt": "bigint",
}  # fmt: skip

FOLLOWED = f"""
    with followed as (
        select asked.*, told.plus as listed_plus
        from (from events where plus is null) as asked
             asof join (
                 select mount, directory, title, moment, bool_or(plus) as plus
                 from events where plus is not null group by all
             ) as told
             on asked.mount = told.mount and asked.directory = told.directory
                and asked.title = told.title and asked.moment >= told.moment
        where asked.moment - told.moment <= {2 * SECOND}
    ),
    under_way as (
        select *, max(reply_time) over (
            partition by mount, listed_plus order by moment, reply_time
            rows between unbounded preceding and 1 preceding) as until
        from followed
    )
"""


@st.composite
def events(draw: st.DrawFn) -> tuple[object, ...]:
    place = (draw(MOUNT), draw(FILE), draw(FILE), moment := draw(TIME) * SECOND // 2)
    if draw(st.booleans()):
        return (*place, draw(st.booleans()), None, None, None)
    srt = draw(st.integers(0, 3)) * SECOND // 4
    return (*place, None, draw(st.integers(0, 2)), moment + srt, srt)


@FEW
@given(st.lists(events(), max_size=40))
def test_follow_ups(database: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    fill(database, "events", EVENTS, rows)
    walk = walks.FollowUps(longest_s=2.0)
    for directory in range(3):
        walk.add(database.sql(f"from events where directory = {directory}"))
    database.register("walked", walk.followed())
    expected = database.sql(
        f"{FOLLOWED} select directory, listed_plus, op, count(*), sum(srt) from followed "
        "group by all order by all"
    ).fetchall()
    assert database.sql("from walked order by all").fetchall() == expected
    walls = dict(
        database.sql(
            f"{FOLLOWED} select listed_plus, sum(greatest(0, reply_time "
            "- greatest(moment, coalesce(until, moment)))) from under_way group by all"
        ).fetchall()
    )
    assert walk.walls() == (walls.get(False, 0), walls.get(True, 0))


LISTED = {
    "mount": "uinteger", "directory": "uinteger", "moment": "bigint", "reply_time": "bigint",
    "pause": "bigint", "title": "ubigint", "listing": "ubigint", "told": "bigint",
    "fresh": "bigint", "once": "boolean",
}  # fmt: skip


@st.composite
def about_listed(draw: st.DrawFn) -> tuple[object, ...]:
    told = draw(TIME)
    moment = told + draw(st.integers(0, 20))
    reply = moment + draw(st.integers(0, 5))
    ends = (moment, reply, draw(st.integers(0, 2)))
    # What a listing told, it told at one time.
    return (
        *(draw(MOUNT), draw(FILE)),
        *ends,
        draw(FILE),
        told,
        told,
        draw(TIME),
        draw(st.booleans()),
    )


def one_by_one(rows: Rows, longest: int) -> Iterator[tuple[int, bool, bool]]:
    """The rows of one directory of one mount that count, instant by instant."""
    spared: list[tuple[int, int, int]] = []

    def saved(moment: int) -> int:
        before = [each for each in spared if each[0] < moment]
        instants = {
            instant for begin, end, _ in before for instant in range(begin, min(end, moment))
        }
        return len(instants) + sum(pause for _, _, pause in before)

    seen: set[tuple[int, int]] = set()
    late: set[int] = set()
    last: int | None = None
    began: dict[int, int] = {}
    for call, row in sorted(enumerate(rows), key=lambda each: (int(str(each[1][2])), each[0])):
        _, _, moment, reply, pause, title, listing, told, fresh = (
            int(str(each)) for each in row[:-1]
        )
        once = bool(row[-1])
        # What overlaps the listing is counted as when an entry of it is first asked for.
        began.setdefault(listing, saved(told))
        first = (title, listing) not in seen
        seen.add((title, listing))
        if first:
            if moment - max(told, told if last is None else last) > longest:
                late.add(listing)
            last = moment
        if listing in late:
            continue
        is_spared = moment - told - saved(moment) + began[listing] < fresh and (first or not once)
        if is_spared:
            spared.append((moment, reply, pause))
        if first or is_spared:
            yield call, first, is_spared


@FEW
@given(st.lists(about_listed(), max_size=30))
def test_entries_asked_for_one_by_one(database: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    fill(database, "listed", LISTED, rows)
    walk = walks.OneByOne(longest_s=8e-9)
    found = []
    for directory in range(3):
        database.register(
            "walked", walk.asked(database.sql(f"from listed where directory = {directory}"))
        )
        found += database.sql("from walked").fetchall()
    expected = []
    for place in {row[:2] for row in rows}:
        own = [number for number, row in enumerate(rows) if row[:2] == place]
        expected += [
            (own[number], first, spared)
            for number, first, spared in one_by_one([rows[number] for number in own], 8)
        ]
    assert sorted(found) == sorted(expected)


USES = {
    "server": "uinteger", "file": "uinteger", "client": "uinteger", "moment": "bigint",
    "frame": "ubigint", "changes": "boolean",
}  # fmt: skip

TURNS = """
    with together as (
        select *, client <> lag(client, 1, client) over earlier as handed,
               last_value(case when changes then client end ignore nulls) over (
                   earlier rows between unbounded preceding and 1 preceding) as changer,
               lag(client) over earlier as before
        from uses
        window earlier as (partition by server, file order by moment, call)
    ),
    first as (
        select server, file, client, min((moment, call)) as first
        from together group by server, file, client
    ),
    turns as (
        select together.*, (moment, call) > first as known
        from together join first using (server, file, client)
        where handed and before = changer
    )
"""


@dataclass(frozen=True)
class Own:
    """What there is to know of a file's calls."""

    file: int
    lengths: list[int]
    calls: int
    stable: int
    time: int
    stable_time: int
    lifetime: int
    first: int


@FEW
@given(
    st.lists(
        st.tuples(MOUNT, FILE, st.integers(0, 2), TIME, st.integers(1, 99), st.booleans()),
        max_size=40,
    )
)
def test_shared_files(database: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    fill(database, "uses", USES, rows)
    walk = walks.SharedFiles(kept=2)
    for file in range(3):
        walk.add(database.sql(f"from uses where file = {file}"))
    files = database.sql(
        f"{TURNS} select server, file, count(*), list_sort(list_distinct(list(client) "
        "|| list(changer))), list(frame order by moment, call)[:2] from turns group by server, file"
        " order by server, count(*) desc, file"
    ).fetchall()
    expected = {
        server: {
            "files": len(of_server := [row for row in files if row[0] == server]),
            "turns": sum(row[2] for row in of_server),
            "most": [
                {"file": file, "turns": turns, "clients": clients, "frames": frames}
                for _, file, turns, clients, frames in of_server[:2]
            ],
        }
        for server in {row[0] for row in files}
    }
    assert walk.found() == expected
    database.register("walked", walk.known())
    known = database.sql(f"{TURNS} select call from turns where known order by call").fetchall()
    assert database.sql("from walked order by call").fetchall() == known


CALLS = {
    "file": "uinteger", "kind": "utinyint", "code": "ubigint", "call_time": "bigint",
    "call_first_frame": "ubigint", "call_first_time": "bigint", "last_time": "bigint",
    "srt": "bigint", "stable": "boolean",
}  # fmt: skip


@FEW
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5), st.integers(1, 2), TIME, maybe(st.integers(0, 9)), st.booleans()
        ),
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_patterns(
    database: duckdb.DuckDBPyConnection,
    drawn: Sequence[tuple[int, int, int, int | None, bool]],
    longest: int,
) -> None:
    rows = [
        (file, file % 2, code, time, 100 + number, time, time + (srt or 0), srt, stable)
        for number, (file, code, time, srt, stable) in enumerate(drawn)
    ]
    fill(database, "calls", CALLS, rows)
    walk = walks.Patterns(longest=longest)
    for file in range(6):
        walk.add(database.sql(f"from calls where file = {file}"))
    examples = set(walk.examples())
    told = walk.finish(0)

    classes: dict[tuple[int, tuple[int, ...], bool], list[Own]] = {}
    for file in {row[0] for row in rows}:
        own = sorted((row[3], number) for number, row in enumerate(rows) if row[0] == file)
        calls = [rows[number] for _, number in own]
        runs = [(code, len(list(run))) for code, run in groupby(call[2] for call in calls)]
        pattern = (file % 2, tuple(code for code, _ in runs[:longest]), len(runs) > longest)
        classes.setdefault(pattern, []).append(
            Own(
                file=file,
                lengths=[length for _, length in runs[:longest]],
                calls=len(calls),
                stable=sum(call[8] for call in calls),
                time=sum(call[7] or 0 for call in calls),
                stable_time=sum(call[7] or 0 for call in calls if call[8]),
                lifetime=max(call[6] for call in calls) - min(call[5] for call in calls),
                first=min(call[4] for call in calls),
            )
        )
    ordered = sorted(
        classes.items(),
        key=lambda item: (
            -sum(own.time for own in item[1]),
            -len(item[1]),
            min(item[1], key=lambda own: own.first).file,
        ),
    )
    expected = [
        {
            "kind": kind,
            "codes": list(codes),
            "cut": cut,
            "least": [min(run) for run in zip(*(own.lengths for own in files), strict=True)],
            "most": [max(run) for run in zip(*(own.lengths for own in files), strict=True)],
            "files": len(files),
            "calls": sum(own.calls for own in files),
            "stable_calls": sum(own.stable for own in files),
            "time": sum(own.time for own in files),
            "stable_time": sum(own.stable_time for own in files),
            "lifetime": sum(own.lifetime for own in files),
            "example": min(files, key=lambda own: own.first).file,
            "slowest": max(files, key=lambda own: (own.time, -own.file)).file,
        }
        for (kind, codes, cut), files in ordered
    ]
    assert told == (sum(len(files) for files in classes.values()), len(classes))
    assert list(walk.classes()) == list(walk.classes()) == expected
    of_examples = [
        code
        for (_, codes, _), files in ordered
        for code in codes
        if examples & {own.file for own in files}
    ]
    assert set(of_examples) == {code for _, codes, _ in classes for code in codes}


def test_more_patterns_than_come_at_once(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "CLASSES_AT_A_TIME", 2)
    fill(
        database, "calls", CALLS,
        [(file, 0, file, 0, 0, 0, 0, 9 - file, False) for file in range(5)],
    )  # fmt: skip
    walk = walks.Patterns(longest=3)
    walk.add(database.sql("from calls"))
    assert walk.finish(0) == (5, 5)
    assert [each["example"] for each in walk.classes()] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="end"):
        walk.add(database.sql("from calls"))


def test_a_query_that_fails_under_way_fails_as_any_other(
    database: duckdb.DuckDBPyConnection,
) -> None:
    fill(database, "uses", USES, [(0, 0, 0, 0, 0, True)])
    failing = "select * replace (error('too late')::uinteger as client) from uses"
    with pytest.raises(duckdb.Error, match="too late"):
        walks.SharedFiles(kept=1).add(database.sql(failing))


def test_a_column_that_is_not_as_expected_is_named(database: duckdb.DuckDBPyConnection) -> None:
    fill(database, "uses", USES, [(0, 0, 0, 0, 0, True)])
    with pytest.raises(duckdb.Error, match="no column client"):
        walks.SharedFiles(kept=1).add(database.sql("select * exclude client, 1 as c from uses"))
