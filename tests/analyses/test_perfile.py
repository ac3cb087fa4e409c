"""What each file cost, and totals that hold every call once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest

from pcapnfs.analyses.asking.sorts import FileSort
from pcapnfs.analyses.by_file.patterns import patterns
from pcapnfs.analyses.by_file.perfile import perfile
from pcapnfs.analyses.caching.cache import cache
from pcapnfs.errors import UsageError
from pcapnfs.trace import Trace
from tests.unit.rows import Row, call, file, operation, trace_of


@pytest.fixture
def trace() -> Iterator[Trace]:
    with trace_of(
        files=[
            file(1, "d", "directory"),
            file(2, "d/a", fileid=22, size=1000, export="/srv"),
            file(3, "e", "directory"),
            file(4, "d/nothing", "absent", handle=None),
            file(5, "/", "pseudo"),
            file(6, "d/listed", listed_only=True),
        ],
        calls=[
            call(1, "CREATE", 5, file=2, directory=1, stability="stable"),
            call(2, "WRITE", 4, file=2, stability="stable", transmissions=2),
            call(3, "GETATTR", 1, file=2),
            call(4, "RENAME", 10, file=2, directory=1, stability="stable"),
            call(5, "GETATTR", 2, file=1),
            call(6, "LOOKUP", 1, file=4, directory=1, status=2),
            call(7, "NULL", 1),
            call(8, "GETATTR", None, file=2),
            call(9, "CB_RECALL", 7, file=2, callback=True),
        ],
        operations=[
            operation(2, "WRITE", file=2, count=1000),
            operation(4, "RENAME", file=2, directory=1, target_directory=3),
        ],
    ) as opened:
        yield opened


def test_adds_up_what_a_file_cost(trace: Trace) -> None:
    result = perfile(trace)
    assert [row.path for row in result.files] == ["d/a", "d", "e"]
    row = result.files[0]
    assert (row.calls, row.stable_calls, row.directory_calls, row.errors) == (5, 3, 0, 0)
    assert dict(row.ops) == {"GETATTR": 2, "CREATE": 1, "RENAME": 1, "WRITE": 1}
    assert next(iter(row.ops)) == "GETATTR"
    assert (row.time_s, row.stable_s, row.unstable_s) == pytest.approx((0.020, 0.019, 0.001))
    assert (row.bytes_read, row.bytes_written, row.size_bytes) == (0, 1000, 1000)
    assert (row.handle, row.fileid, row.export, row.retransmitted) == ("02", 22, "/srv", 1)
    assert (row.first_frame, row.last_frame) == (1, 15)
    assert (row.first_s, row.last_s, row.lifetime_s) == pytest.approx((0.01, 0.08, 0.07))


def test_a_call_by_name_is_directory_work_of_the_parent_and_a_rename_of_both(trace: Trace) -> None:
    parents = {row.path: (row.calls, row.directory_calls) for row in perfile(trace).files}
    assert parents == {"d/a": (5, 0), "d": (1, 3), "e": (0, 1)}


def test_totals_hold_every_call_of_a_client_once(trace: Trace) -> None:
    result = perfile(trace, top=1)
    assert (result.shown.files, result.shown.calls) == (1, 5)
    assert (result.listed.files, result.listed.calls) == (3, 6)
    assert (result.left_out.files, result.left_out.calls) == (2, 1)
    assert (result.without_file.files, result.without_file.calls) == (0, 1)
    assert (result.total.calls, result.total.stable_calls) == (8, 3)
    assert result.total.time_s == pytest.approx(0.024)


def test_all_shows_names_not_found_and_pseudo_directories_too(trace: Trace) -> None:
    result = perfile(trace, show_all=True, sort="name", top=0)
    assert [row.path for row in result.files] == ["/", "d", "d/a", "d/nothing", "e"]
    assert result.left_out.calls == 0
    assert result.listed.calls + result.without_file.calls == result.total.calls == 8


@pytest.mark.parametrize(
    ("sort", "paths"),
    [
        ("calls", ["d/a", "d", "e"]),
        ("stable", ["d/a", "d", "e"]),
        ("bytes", ["d/a", "d", "e"]),
        ("name", ["d", "d/a", "e"]),
    ],
)
def test_sorts_as_asked(trace: Trace, sort: str, paths: list[str]) -> None:
    assert [row.path for row in perfile(trace, sort=sort).files] == paths  # type: ignore[arg-type]


def test_an_object_without_calls_of_its_own_has_no_times(trace: Trace) -> None:
    row = perfile(trace, sort="name").files[2]
    assert (row.path, row.first_frame, row.first_s, row.lifetime_s, dict(row.ops)) == (
        "e",
        None,
        None,
        None,
        {},
    )


def test_refuses_an_unknown_order_and_a_negative_number(trace: Trace) -> None:
    with pytest.raises(UsageError, match="sorted by time, calls"):
        perfile(trace, sort="colour")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="negative"):
        perfile(trace, top=-1)


def test_an_empty_trace_gives_empty_totals() -> None:
    with trace_of() as empty:
        result = perfile(empty)
    assert (result.files, result.total.calls, result.total.time_s) == ((), 0, 0.0)


def test_a_file_with_two_handles_is_one_row() -> None:
    with trace_of(
        files=[file(1, "old", identity=2), file(2, "new", size=5)],
        calls=[call(1, "READ", 1, file=1), call(2, "READ", 2, file=2)],
        operations=[operation(1, "READ", file=1, count=10), operation(2, "READ", file=2, count=1)],
    ) as trace:
        result = perfile(trace)
    (row,) = result.files
    assert (row.path, row.calls, row.bytes_read, row.handle) == ("new", 2, 11, "02")
    assert row.time_s == pytest.approx(0.003)
    assert result.listed.files == 1


def test_revalidations_are_explicit_questions() -> None:
    """As `cache` counts them: an OPEN of a file that the client did not know asks nothing."""

    def asks(
        number: int, op: str, file: int = 1, mask: str = "00000018:00300000", **more: object
    ) -> Row:
        return operation(number, op, file=file, attributes=mask, position=1, **more)

    def compound(number: int, op: str, file: int = 1, **more: object) -> Row:
        return call(number, op, 1, file=file, protocol="4.1", version=4, minor=1, **more)

    with trace_of(
        files=[file(1, "a"), file(2, ".", "directory"), file(3, "b")],
        calls=[
            compound(1, "OPEN"),
            compound(2, "OPEN"),
            compound(3, "WRITE"),
            compound(4, "GETATTR", 2),
            compound(5, "GETATTR", client="10.0.0.3"),
            compound(6, "LOOKUP"),
            call(7, "GETATTR", 1, file=3),
            call(8, "GETATTR", None, file=3),
        ],
        operations=[
            asks(1, "GETATTR", change=1),
            asks(2, "GETATTR", change=1),
            asks(3, "GETATTR", change=2),
            asks(4, "GETATTR", 2, mask="00000000:00000000:00010000"),
            asks(5, "GETATTR", change=2),
            asks(6, "NVERIFY", status=10009),
            operation(7, "GETATTR", file=3, ctime=1),
            operation(8, "GETATTR", file=3, executed=False, status=None),
        ],
    ) as trace:
        found = {row.path: row.revalidations for row in perfile(trace, sort="name").files}
        assert cache(trace).revalidations == sum(found.values())
    # Of a: the second OPEN, the other client's GETATTR, and NVERIFY.
    assert found == {".": 0, "a": 3, "b": 1}


def test_a_pattern_leaves_files_out_and_says_so(trace: Trace) -> None:
    result = perfile(trace, match="d/*")
    assert [row.path for row in result.files] == ["d/a"]
    assert (result.listed.files, result.not_matched.calls) == (1, 1)
    assert result.total.calls == 8
    assert [row.path for row in perfile(trace, match="e").files] == ["e"]


def test_the_total_is_the_same_whatever_is_shown(trace: Trace) -> None:
    selections = [{}, {"show_all": True}, {"match": "d/*"}, {"match": "e"}, {"match": "nothing"}]
    assert {perfile(trace, **selection).total for selection in selections} == {  # type: ignore[arg-type]
        perfile(trace, top=1).total
    }
    assert perfile(trace).total.files == 5


def test_every_order_gives_every_file(trace: Trace) -> None:
    for sort in get_args(FileSort):
        assert {row.path for row in perfile(trace, sort=sort).files} == {"d/a", "d", "e"}


def test_stable_calls_are_not_none_where_some_do_not_tell() -> None:
    calls = [
        call(1, "WRITE", 4, file=1, stability="stable"),
        call(2, "CLOSE", 1, file=2),
        call(3, "COMPOUND", 9, stability="unknown"),
    ]
    with trace_of(files=[file(1, "a"), file(2, "b")], calls=calls) as opened:
        every = perfile(opened)
        assert (every.listed.stable_calls, every.without_file.stable_calls) == (1, None)
        assert every.total.stable_calls == 1
        assert perfile(opened, match="b").listed.stable_calls == 0
        folded = patterns(opened, top=1)
        assert (folded.without_file.stable_calls, folded.total.stable_calls) == (None, 1)
        assert folded.others.stable_calls == 1 - (folded.shown.stable_calls or 0)
    with trace_of(files=[file(2, "b")], calls=calls[1:]) as opened:
        assert perfile(opened).total.stable_calls is None
        assert patterns(opened).others.stable_calls == 0
        assert (patterns(opened).total.stable_calls, perfile(opened).listed.stable_calls) == (
            None,
            0,
        )
