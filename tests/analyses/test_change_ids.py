"""What a client learns of a change-ID, and who had changed the file: rows that are read by head."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

ASKS = "00000018:00300000"
"""A bitmap with change (bit 3) and size (bit 4)."""


def v3(number: int, op: str, version: int | None, **columns: object) -> tuple[Row, Row]:
    """A call about file 1 whose reply brings ctime = mtime = `version`; None: no attributes."""
    kind, client = columns.pop("stability", "unstable"), columns.pop("client", "10.0.0.2")
    times = {} if version is None else {"ctime": version, "mtime": version, "size": 9}
    return (
        call(number, op, 1, file=1, stability=kind, client=client),
        operation(number, op, file=1, stability=kind, **(times | columns)),
    )


def v4(number: int, op: str, change: int | None, **columns: object) -> tuple[Row, Row]:
    """A compound about file 1 whose GETATTR brings the change attribute."""
    kind = columns.pop("stability", "unstable")
    return (
        call(number, op, 1, file=1, version=4, protocol="4.1", stability=kind),
        operation(
            number,
            str(columns.pop("inner", "GETATTR")),
            file=1,
            change=change,
            attributes=ASKS,
            stability=kind,
            **columns,
        ),
    )


def findings(*steps: tuple[Row, Row], **tables: Sequence[Row]) -> list[tuple[object, object]]:
    """Question and finding of each time that a client learnt something, in order of the replies."""
    rows: dict[str, Sequence[Row]] = {}
    if steps:
        rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    trace: Trace = trace_of(files=[file(1, "a"), file(2, "d", "directory")], **(rows | tables))
    with trace, change_ids(trace, all_rows=True) as cursor:
        return cursor.execute(
            "select question, finding from learned order by reply_time, call"
        ).fetchall()


def test_the_same_change_id_is_unchanged_and_another_is_somebody_elses() -> None:
    assert findings(
        v3(1, "LOOKUP", 100), v3(2, "GETATTR", 100), v3(3, "GETATTR", 200), v3(4, "ACCESS", 200)
    ) == [(None, "first"), ("getattr", "unchanged"), ("getattr", "other"), (None, "unchanged")]


def test_a_size_alone_makes_another_change_id() -> None:
    assert findings(v3(1, "GETATTR", 100), v3(2, "GETATTR", 100, size=10))[1] == (
        "getattr",
        "other",
    )


def test_what_the_client_did_itself_is_no_invalidation() -> None:
    own = v3(2, "WRITE", 200, stability="stable", before_ctime=100, before_mtime=100, before_size=9)
    assert findings(v3(1, "GETATTR", 100), own, v3(3, "GETATTR", 200)) == [
        ("getattr", "first"),
        (None, "self"),
        ("getattr", "unchanged"),
    ]


def test_weak_cache_consistency_tells_that_somebody_was_faster() -> None:
    """The server found another change-ID than the client knew (RFC 1813 section 2.6)."""
    late = v3(
        2, "WRITE", 200, stability="stable", before_ctime=150, before_mtime=150, before_size=9
    )
    assert findings(v3(1, "GETATTR", 100), late)[1] == (None, "other")


def test_what_was_taken_for_a_directory_and_is_none_has_not_changed() -> None:
    looked_into = (
        call(2, "LOOKUP", 1, file=3, directory=1, status=20),
        operation(
            2,
            "LOOKUP",
            file=3,
            directory=1,
            name="x",
            status=20,
            directory_ctime=100,
            directory_mtime=100,
        ),
    )
    assert findings(v3(1, "GETATTR", 100), looked_into, v3(3, "GETATTR", 100)) == [
        ("getattr", "first"),
        ("getattr", "unchanged"),
    ]


def test_a_clock_that_gives_several_calls_one_time_leaves_their_order() -> None:
    first, silent = v3(1, "GETATTR", 100), v3(2, "REMOVE", None, stability="stable")
    steps = [first, silent, v3(3, "LOOKUP", 200), v3(4, "GETATTR", 300)]
    moment = first[0]["call_time"]
    at_once = [
        ({**of, "call_time": moment, "reply_time": moment, "srt": 0}, told) for of, told in steps
    ]
    assert [finding for _, finding in findings(*at_once)] == ["first", None, "self", "other"]


def test_a_modification_without_attributes_explains_the_next_answer() -> None:
    silent = v3(2, "SETATTR", None, stability="stable")
    assert findings(v3(1, "GETATTR", 100), silent, v3(3, "GETATTR", 200)) == [
        ("getattr", "first"),
        (None, None),
        ("getattr", "self"),
    ]


def test_a_modification_under_way_may_explain_what_a_reply_shows() -> None:
    write_call, write = v3(2, "WRITE", 300, stability="stable")
    slow = (write_call | {"reply_time": write_call["call_time"] + 25_000_000}, write)  # type: ignore[operator]
    assert findings(v3(1, "GETATTR", 100), slow, v3(3, "GETATTR", 200)) == [
        ("getattr", "first"),
        ("getattr", "self"),
        (None, "self"),
    ]


def test_of_several_modifications_under_way_any_may_be_what_a_reply_shows() -> None:
    """The first one that was sent is answered last."""
    sent, done = v3(2, "SETATTR", None, stability="stable")
    slow = (sent | {"reply_time": sent["call_time"] + 45_000_000}, done)  # type: ignore[operator]
    quick = v3(4, "SETATTR", None, stability="stable")
    assert findings(v3(1, "GETATTR", 100), slow, v3(3, "GETATTR", 200), quick) == [
        ("getattr", "first"),
        ("getattr", "self"),
        (None, None),
        (None, None),
    ]


def test_what_a_compound_tells_behind_its_own_change_is_known() -> None:
    """WRITE and GETATTR in one call, as Linux sends them: a later change is somebody else's."""
    steps = [
        v4(1, "GETATTR", 100),
        v4(2, "WRITE", 200, position=1, stability="unstable"),
        v4(3, "GETATTR", 300),
    ]
    write = operation(2, "WRITE", file=1, position=0, stability="stable")
    assert findings(
        calls=[step[0] for step in steps], operations=[*(step[1] for step in steps), write]
    ) == [("getattr", "first"), (None, None), (None, "self"), ("getattr", "other")]


def test_a_data_server_tells_no_change_id_but_what_is_written_there_is_the_clients_own() -> None:
    """Its times are those of the data that it holds, and no NFSv4 change attribute."""

    def on(connection: int, step: tuple[Row, Row]) -> tuple[Row, Row]:
        sent, done = step
        return {**sent, "connection": connection}, done

    steps = (
        on(1, v4(1, "OPEN", 7)),
        on(2, v3(2, "WRITE", 900, stability="stable")),
        on(2, v3(3, "READ", 901)),
        on(1, v4(4, "GETATTR", 8)),
    )
    connections = [
        {"connection": 1, "role": "metadata server"},
        {"connection": 2, "role": "data server"},
    ]
    assert findings(*steps, connections=connections) == [
        ("open", "first"),
        (None, None),
        ("getattr", "self"),
    ]


def test_each_client_knows_for_itself() -> None:
    assert findings(v3(1, "GETATTR", 100), v3(2, "GETATTR", 100, client="10.0.0.3")) == [
        ("getattr", "first"),
        ("getattr", "first"),
    ]


def test_an_open_asks_and_a_close_observes() -> None:
    assert findings(v4(1, "OPEN", 7), v4(2, "OPEN", 7), v4(3, "CLOSE", 8), v4(4, "GETATTR", 8)) == [
        ("open", "first"),
        ("open", "unchanged"),
        (None, "other"),
        ("getattr", "unchanged"),
    ]


@pytest.mark.parametrize(
    ("attributes", "asked"),
    [
        ("00001000:00000000", []),  # the access control list
        ("00000000:00001c00", []),  # space_avail, space_free, space_total
        ("0001", []),
        ("00100102:00b0a008", [("getattr", None)]),  # times, and not change: under a delegation
    ],
)
def test_a_getattr_asks_for_the_state_or_is_no_question_and_times_are_no_change_id(
    attributes: str, asked: list[tuple[str, None]]
) -> None:
    row, inner = v4(2, "GETATTR", None)
    other = (row, dict(inner) | {"attributes": attributes, "ctime": 5, "mtime": 5, "size": 9})
    assert findings(v4(1, "GETATTR", 7), other) == [("getattr", "first"), *asked]


@pytest.mark.parametrize(
    ("op", "status", "finding"),
    [
        ("NVERIFY", 10009, "unchanged"),
        ("NVERIFY", 0, "other"),
        ("VERIFY", 0, "unchanged"),
        ("VERIFY", 10027, "other"),
        ("VERIFY", 70, None),
    ],
)
def test_verify_and_nverify_ask_by_their_status(op: str, status: int, finding: str | None) -> None:
    asked = v4(2, "LOOKUP", None, inner=op, status=status)
    assert findings(v4(1, "GETATTR", 7), asked)[1] == ("verify", finding)


def test_change_info_tells_of_the_directory() -> None:
    """What was before is what the client knew, or it is not (RFC 8881 section 3.3.8)."""

    def remove(number: int, before: int, after: int) -> tuple[Row, Row]:
        return (
            call(number, "REMOVE", 1, file=1, directory=2, version=4, stability="stable"),
            operation(
                number,
                "REMOVE",
                file=1,
                directory=2,
                name="a",
                stability="stable",
                change_before=before,
                change_after=after,
            ),
        )

    steps = [remove(1, 5, 6), remove(2, 6, 7), remove(3, 9, 10)]
    rows: dict[str, Sequence[Row]] = {}
    if steps:
        rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    with trace_of(files=[file(1, "a"), file(2, "d", "directory")], **rows) as trace:  # noqa: SIM117
        with change_ids(trace, all_rows=True) as cursor:
            told = cursor.execute(
                "select finding from learned where file = 2 order by call"
            ).fetchall()
    assert told == [("first",), ("self",), ("other",)]


@pytest.mark.parametrize(
    ("version", "found", "left"),
    [
        (
            3,
            {"target_before_ctime": 5, "target_before_mtime": 5},
            {"target_ctime": 6, "target_mtime": 6},
        ),
        (4, {"target_change_before": 5}, {"target_change_after": 6}),
    ],
)
def test_a_rename_says_what_it_found_and_left_in_the_directory_of_the_new_name(
    version: int, found: dict[str, int], left: dict[str, int]
) -> None:
    """Somebody else's change between it and the next question is no change by itself."""
    about = {"version": version, "protocol": {3: "3", 4: "4.1"}[version]}

    def asked(number: int, change: int) -> tuple[Row, Row]:
        told = {3: {"ctime": change, "mtime": change, "size": 9}, 4: {"change": change}}[version]
        seen = operation(number, "GETATTR", file=2, type="DIR", attributes=ASKS, **told)
        return call(number, "GETATTR", 1, file=2, **about), seen

    renamed = operation(
        2,
        "RENAME",
        file=3,
        directory=1,
        target_directory=2,
        name="a",
        new_name="a",
        stability="stable",
        **found,
        **left,
    )
    steps = [
        asked(1, 5),
        (call(2, "RENAME", 1, file=3, directory=1, stability="stable", **about), renamed),
        asked(3, 6),
        asked(4, 7),
    ]
    rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    files = [file(1, "d", "directory"), file(2, "e", "directory"), file(3, "e/a")]
    with trace_of(files=files, **rows) as trace, change_ids(trace, all_rows=True) as cursor:
        told = cursor.execute("select finding from learned where file = 2 order by call").fetchall()
    assert told == [("first",), ("self",), ("unchanged",), ("other",)]


def test_an_open_that_was_cut_before_its_name_changed_the_directory_that_its_reply_tells_of() -> (
    None
):
    """Also where the reply tells the handle of the file that it made."""
    made = call(2, "OPEN", 1, file=1, version=4, protocol="4.1", stability="stable")
    asked = [call(number, "GETATTR", 1, file=2, version=4, protocol="4.1") for number in (1, 3)]
    told = {"file": 2, "type": "DIR", "attributes": ASKS}
    with (
        trace_of(
            files=[file(1, "d/a"), file(2, "d", "directory")],
            calls=[asked[0], made, asked[1]],
            operations=[
                operation(1, "GETATTR", change=5, **told),
                operation(2, "PUTFH", file=2),
                operation(
                    2,
                    "OPEN",
                    position=1,
                    file=1,
                    stability="stable",
                    change_before=5,
                    change_after=6,
                ),
                operation(3, "GETATTR", change=6, **told),
            ],
        ) as trace,
        change_ids(trace, all_rows=True) as cursor,
    ):
        found = cursor.execute("select finding from learned where file = 2 order by call")
        assert found.fetchall() == [("first",), ("self",), ("unchanged",)]


@pytest.mark.parametrize(
    ("moved", "name", "told"),
    [
        # Names that were cut may be those of any file,
        ({"op": "RENAME", "directory": 2, "target_directory": 2}, "a", ["unknown"]),
        # a directory that was cut any directory.
        ({"op": "RENAME", "directory": 2, "name": "b", "file": 3}, "a", ["unknown"]),
        ({"op": "LINK", "file": 3}, "a", ["unknown"]),
        # A file known by name alone is none of those with another name,
        (
            {"op": "RENAME", "directory": 2, "target_directory": 2, "name": "b", "file": 4},
            "a",
            ["other"],
        ),
        # but may be one without.
        (
            {"op": "RENAME", "directory": 2, "target_directory": 2, "name": "b", "file": 4},
            None,
            ["unknown"],
        ),
        ({"op": "LINK", "directory": 2, "file": 3}, "a", ["other"]),
    ],
)
def test_what_a_rename_of_unknown_objects_may_have_changed_is_not_somebody_elses(
    moved: dict[str, object], name: str | None, told: list[str]
) -> None:
    first, second = v3(1, "GETATTR", 100), v3(3, "GETATTR", 200)
    third = v3(4, "ACCESS", 300)  # nothing lies between this and the one before
    objects = [
        file(1, "a", name=name),
        file(2, "d", "directory", name="d"),
        file(3, "b", name="b"),
        file(4, "c", name="c", handle=None),
    ]
    between = (
        call(2, str(moved["op"]), 1, stability="stable"),
        operation(2, **({"stability": "stable"} | moved)),  # type: ignore[arg-type]
    )
    steps = [first, between, second, third]
    rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    with trace_of(files=objects, **rows) as trace, change_ids(trace) as cursor:
        learned = cursor.execute(
            "select call, finding from learned where file = 1 order by call"
        ).fetchall()
        (counts,) = cursor.execute(
            "select revalidations, changed_by_other, changed_by_unknown, unknown, invalidations "
            "from asked_about where file = 1"
        ).fetchall()
    assert learned == [(1, "first"), *((3, finding) for finding in told), (4, "other")]
    others = told.count("other")
    assert counts == (2, others, 1 - others, 0, others + 1)


@pytest.mark.parametrize(
    ("lost", "about", "told"),
    [
        ("SETATTR", {"file": 1}, "unknown"),
        ("CREATE", {"directory": 1}, "unknown"),
        ("RENAME", {"directory": 3, "target_directory": 1}, "unknown"),
        # It is about another object, or modifies none.
        ("SETATTR", {"file": 2}, "other"),
        ("READ", {"file": 1}, "other"),
    ],
)
def test_what_a_call_without_its_reply_may_have_changed_is_not_somebody_elses(
    lost: str, about: dict[str, object], told: str
) -> None:
    first, second = v3(1, "GETATTR", 100), v3(3, "GETATTR", 200)
    between = (
        call(2, lost, None, status=None, status_name=None),
        operation(2, lost, executed=False, status=None, **about),
    )
    later = v3(150, "GETATTR", 200), v3(200, "GETATTR", 300)  # more than a second
    steps = [first, between, second, *later]
    rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    with trace_of(files=[file(1, "a")], **rows) as trace, change_ids(trace) as cursor:
        learned = cursor.execute("select call, finding from learned order by call").fetchall()
    assert learned == [(1, "first"), (3, told), (150, "unchanged"), (200, "other")]


@pytest.mark.parametrize(("connection", "told"), [(0, "unknown"), (1, "other")])
def test_what_a_reply_without_its_call_may_tell_of_is_not_somebody_elses(
    connection: int, told: str
) -> None:
    steps = [v3(1, "GETATTR", 100), v3(3, "GETATTR", 200)]
    rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    orphan = {
        "reason": "reply_without_call",
        "layer": "rpc",
        "frame": 5,
        "time": START_NS + 25 * MILLISECOND,
        "connection": connection,
    }
    with (
        trace_of(files=[file(1, "a")], notes=[orphan], **rows) as trace,
        change_ids(trace) as cursor,
    ):
        learned = cursor.execute("select call, finding from learned order by call").fetchall()
    assert learned == [(1, "first"), (3, told)]


def test_entries_of_a_listing_teach_too() -> None:
    listing = call(2, "READDIRPLUS", 1, file=2)
    entry = {
        "call": 2,
        "directory": 2,
        "name": "a",
        "file": 1,
        "ctime": 150,
        "mtime": 150,
        "size": 9,
    }
    first = v3(1, "GETATTR", 100)
    assert findings(
        calls=[first[0], listing],
        operations=[first[1], operation(2, "READDIRPLUS", file=2)],
        entries=[entry],
    ) == [("getattr", "first"), (None, "other")]


def test_the_age_runs_from_the_last_reply_with_attributes() -> None:
    steps = [v3(1, "LOOKUP", 100), v3(2, "READ", None), v3(5, "GETATTR", 100)]
    rows: dict[str, Sequence[Row]] = {}
    if steps:
        rows = {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}
    with (
        trace_of(files=[file(1, "a")], **rows) as trace,
        change_ids(trace, all_rows=True) as cursor,
    ):
        asked = cursor.execute(
            "select call_time - known_time from learned where question = 'getattr'"
        ).fetchall()
    assert asked == [(39_000_000,)]  # calls 10 ms apart, replies after 1 ms


def test_a_file_whose_other_name_the_clients_own_rename_took_is_changed_by_itself() -> None:
    steps = (
        v3(1, "LOOKUP", 100),
        (
            call(2, "RENAME", 1, file=3, stability="stable"),
            operation(
                2,
                "RENAME",
                file=3,
                directory=2,
                target_directory=2,
                name="new",
                new_name="a",
                stability="stable",
            ),
        ),
        v3(3, "GETATTR", 200),
    )
    learnt = {"call": 0, "position": 0, "directory": 2}
    took = {"call": 2, "position": 0, "directory": 2, "name": "a", "file": 3}
    mine = [{**learnt, "name": "a", "file": 1}, {**learnt, "name": "b", "file": 1}, took]
    assert findings(*steps, names=mine)[-1] == ("getattr", "self")
    # The name was another's, or nobody's any more.
    others = [{**learnt, "name": "b", "file": 1}, {**learnt, "name": "a", "file": 4}, took]
    assert findings(*steps, names=others)[-1] == ("getattr", "other")
    gone = {"call": 1, "position": 0, "directory": 2, "name": "a", "file": None}
    assert findings(*steps, names=[*mine, gone])[-1] == ("getattr", "other")


@pytest.mark.parametrize("op", ["CLONE", "COPY"])
def test_the_source_of_the_clients_own_copy_is_changed_by_itself(op: str) -> None:
    def compound(source: int) -> list[Row]:
        return [
            operation(2, "PUTFH", position=0, file=source),
            operation(2, "SAVEFH", position=1),
            operation(2, "PUTFH", position=2, file=5),
            operation(2, op, position=3, file=5, stability="stable"),
        ]

    first, last = v4(1, "GETATTR", 100), v4(3, "GETATTR", 200)
    copies = call(2, op, 1, file=5, version=4, protocol="4.2", stability="stable")
    for source, expected in ((1, "self"), (6, "other")):
        rows = {
            "calls": [first[0], copies, last[0]],
            "operations": [first[1], *compound(source), last[1]],
        }
        assert findings(**rows)[-1] == ("getattr", expected)


def test_the_clients_own_open_changed_the_directory_also_where_its_name_was_cut_off() -> None:
    first, last = v4(1, "GETATTR", 50), v4(4, "GETATTR", 52)
    creates = [
        (
            call(number, "OPEN", 1, version=4, protocol="4.2", stability="unknown"),
            operation(number, "PUTFH", position=0, file=1),
            operation(
                number,
                "OPEN",
                position=1,
                stability="unknown",
                change_before=before,
                change_after=before + 1,
            ),
        )
        for number, before in ((2, 50), (3, 51))
    ]
    rows = {
        "calls": [first[0], *(create[0] for create in creates), last[0]],
        "operations": [first[1], *(row for create in creates for row in create[1:]), last[1]],
    }
    assert findings(**rows)[-1] == ("getattr", "unchanged")
