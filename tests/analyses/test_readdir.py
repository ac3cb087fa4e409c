"""Listings, what followed them, and what they brought for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pcapnfs.analyses.namespace.readdir import FollowUps, readdir
from pcapnfs.errors import UsageError
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of


def at(number: int, seconds: float, op: str, srt_ms: int = 1, **columns: object) -> Row:
    """A call sent so many seconds after the start and answered after `srt_ms`."""
    sent = START_NS + int(seconds * 1000) * MILLISECOND
    times = {
        "call_time": sent,
        "call_first_time": sent,
        "reply_time": sent + srt_ms * MILLISECOND,
        "srt": srt_ms * MILLISECOND,
    }
    return call(number, op, srt_ms, **(times | columns))


def entry(number: int, name: str, target: int | None = None, **columns: object) -> Row:
    """An entry of d, with attributes where its handle came with it."""
    kind = None if target is None else "REG"
    told = {"call": number, "directory": 1, "name": name, "file": target, "type": kind}
    return told | columns


@pytest.fixture
def trace() -> Iterator[Trace]:
    """Listed with attributes, in its second half without; then asked for, and listed again."""
    with trace_of(
        files=[
            file(1, "d", "directory"),
            file(2, "d/a", parent=1, name="a"),
            file(3, "d/b", parent=1, name="b"),
            file(4, "d/c", parent=1, name="c"),
            file(5, "e", parent=9, name="a"),
        ],
        calls=[
            at(1, 0.0, "READDIRPLUS", 4, file=1, reply_bytes=900),
            at(2, 0.1, "READDIR", 2, file=1, reply_bytes=100),
            at(3, 1.0, "GETATTR", 2, file=2),
            at(4, 1.001, "LOOKUP", 3, file=4, directory=1),
            at(5, 1.1, "ACCESS", 5, file=4),
            at(6, 1.2, "GETATTR", 7, file=5),  # of the same name, elsewhere
            at(7, 1.3, "GETATTR", 7, file=2, client="10.0.0.3"),  # did not list
            at(8, 1.4, "READ", 7, file=4),
            at(9, 29.0, "GETATTR", 1, file=1),
            at(10, 30.9, "GETATTR", 1, file=2),  # too late
            at(11, 40.0, "READDIRPLUS", 4, file=1, reply_bytes=900),
            at(12, 40.5, "GETATTR", 1, file=4),
        ],
        operations=[
            operation(1, "READDIRPLUS", file=1, cookie=0, entries=3, requested=4096),
            operation(2, "READDIR", file=1, cookie=77, entries=1, requested=8192),
            operation(11, "READDIRPLUS", file=1, cookie=0, entries=4, requested=4096),
        ],
        entries=[
            entry(1, ".", 1),
            entry(1, "a", 2),
            entry(1, "b", 3),
            entry(2, "c"),
            entry(11, "a", 2),
            entry(11, "b", 3),
            entry(11, "c", 4),
        ],
    ) as opened:
        yield opened


def test_listings_are_counted_by_what_they_asked_for(trace: Trace) -> None:
    result = readdir(trace)
    assert (result.readdir_calls, result.readdirplus_calls) == (1, 2)
    assert (result.v4_plain_calls, result.v4_plus_calls) == (0, 0)
    assert (result.directories, result.listings, result.entries, result.bytes) == (1, 2, 8, 1900)
    assert result.time_s == pytest.approx(0.010)
    assert result.largest_request_bytes == 8192
    assert (result.plus_lost, result.plus_won_back) == (1, 1)
    assert result.revalidations == 1
    assert result.revalidation_s == pytest.approx(0.001)


def test_follow_ups_are_of_the_client_that_listed_within_thirty_seconds(trace: Trace) -> None:
    result = readdir(trace)
    assert result.after_plain == FollowUps(2, 1, 0, 1, pytest.approx(0.008), pytest.approx(0.008))  # type: ignore[arg-type]
    assert result.after_plus == FollowUps(2, 0, 2, 0, pytest.approx(0.003), pytest.approx(0.003))  # type: ignore[arg-type]
    assert result.follow_ups == 4
    assert result.follow_up_s == pytest.approx(0.011)
    # The LOOKUP of c; a listing brings no access rights.
    assert (result.spared, result.spared_perhaps) == (1, 0)


def test_calls_that_overlap_wait_together() -> None:
    with trace_of(
        files=[
            file(1, "d", "directory"),
            file(2, "d/a", parent=1, name="a"),
            file(3, "d/b", parent=1, name="b"),
        ],
        calls=[
            at(1, 0.0, "READDIR", file=1),
            at(2, 1.0, "LOOKUP", 10, file=2, directory=1),
            at(3, 1.004, "LOOKUP", 10, file=3, directory=1),
        ],
        operations=[operation(1, "READDIR", file=1, cookie=0, entries=2)],
        entries=[entry(1, "a"), entry(1, "b")],
    ) as trace:
        after = readdir(trace).after_plain
    assert after is not None
    assert (after.time_s, after.wall_s) == pytest.approx((0.020, 0.014))


@pytest.mark.parametrize(
    ("told", "status", "entries"),
    [((None, None), 0, None), ((3, None), 0, 3), ((None, None), 20, 0), ((0, 0), 0, 0)],
)
def test_entries_that_were_cut_are_not_none(
    told: tuple[int | None, ...], status: int, entries: int | None
) -> None:
    numbers = (1, 2)
    with trace_of(
        files=[file(1, "d", "directory")],
        calls=[at(number, number, "READDIR", file=1) for number in numbers],
        operations=[
            operation(number, "READDIR", file=1, cookie=0, entries=some, status=status)
            for number, some in zip(numbers, told, strict=True)
        ],
    ) as trace:
        result = readdir(trace)
    assert (result.entries, result.shown[0].entries) == (entries, entries)


def test_a_file_that_is_renamed_later_was_told_by_its_old_name() -> None:
    named = {"position": 0, "directory": 1, "file": 2}
    with trace_of(
        files=[file(1, "d", "directory"), file(2, "d/b", parent=1, name="b")],
        calls=[
            at(1, 0.0, "READDIRPLUS", file=1),
            at(2, 1.0, "LOOKUP", file=2, directory=1),
            at(3, 1.1, "GETATTR", file=2),
            at(4, 1.2, "RENAME", file=2, directory=1),
            at(5, 1.3, "GETATTR", file=2),  # no listing told this name
        ],
        operations=[
            operation(1, "READDIRPLUS", file=1, cookie=0, entries=1),
            operation(2, "LOOKUP", file=2, directory=1, name="a"),
        ],
        entries=[entry(1, "a", 2)],
        names=[named | {"call": 1, "name": "a"}, named | {"call": 4, "name": "b"}],
    ) as trace:
        after = readdir(trace).after_plus
    assert after is not None
    assert (after.calls, after.lookups, after.getattrs) == (2, 1, 1)


def test_entries_that_no_call_addressed_were_told_for_nothing(trace: Trace) -> None:
    result = readdir(trace)
    # a and b at first, c at last; only b was never touched.
    assert (result.plus_entries, result.untouched) == (3, 1)


@pytest.mark.parametrize(
    ("kind", "undecoded", "bare"),
    [("REG", None, 0), (None, None, 1), (None, "truncated", 0)],
    ids=["brought", "left out", "cut"],
)
def test_what_the_server_left_out_is_told_without_attributes(
    kind: str | None, undecoded: str | None, bare: int
) -> None:
    with trace_of(
        files=[file(1, "d", "directory"), file(2, "d/a", parent=1, name="a")],
        calls=[
            at(1, 0.0, "READDIRPLUS", file=1, undecoded=undecoded),
            at(2, 1.0, "LOOKUP", file=2, directory=1),
        ],
        operations=[operation(1, "READDIRPLUS", file=1, cookie=0, entries=2)],
        entries=[entry(1, ".", type=None), entry(1, "a", 2, type=kind)],
    ) as trace:
        result = readdir(trace)
    assert (result.bare_entries, result.plus_entries) == (bare, 1 - bare)
    assert (result.readdir_calls, result.readdirplus_calls) == (0, 1)
    assert result.after_plain
    assert result.after_plus
    assert (result.after_plain.calls, result.after_plus.calls) == (bare, 1 - bare)
    assert result.spared == bare


def test_a_directory_has_its_own_row(trace: Trace) -> None:
    (row,) = readdir(trace).shown
    assert (row.path, row.server, row.file) == ("d", "10.0.0.1", 1)
    assert (row.readdir_calls, row.readdirplus_calls, row.listings, row.entries) == (1, 2, 2, 8)
    assert (row.plus_lost, row.plus_won_back, row.revalidations) == (1, 1, 1)
    assert row.follow_ups == 4
    assert row.follow_up_s == pytest.approx(0.011)
    assert (row.plus_entries, row.untouched) == (3, 1)


def test_nfsv4_lists_with_attributes_when_it_asks_for_them() -> None:
    four: dict[str, Any] = {"file": 1, "version": 4, "protocol": "4.1"}
    with trace_of(
        files=[file(1, "d", "directory"), file(2, "d/a", parent=1, name="a")],
        calls=[
            at(1, 0, "READDIR", **four),
            at(2, 1, "READDIR", **four),
            at(3, 2, "GETATTR", **(four | {"file": 2})),
            at(4, 3, "GETATTR", **(four | {"file": 2})),
        ],
        operations=[
            operation(1, "READDIR", file=1, cookie=0, entries=1, plus=False),
            operation(2, "READDIR", file=1, cookie=0, entries=1, plus=True),
            operation(3, "GETATTR", file=2, attributes="00000018"),
            operation(4, "GETATTR", file=2, attributes="00001000"),  # the access control list
        ],
        entries=[entry(1, "a"), entry(2, "a", 2)],
    ) as trace:
        result = readdir(trace)
    assert (result.readdir_calls, result.readdirplus_calls) == (1, 1)
    assert (result.v4_plain_calls, result.v4_plus_calls) == (1, 1)
    assert result.after_plain is not None
    assert result.after_plus is not None
    assert (result.after_plain.calls, result.after_plus.calls) == (0, 1)


def test_a_listing_of_which_it_was_cut_off_what_it_asked_for_is_of_neither_kind() -> None:
    four = {"version": 4, "file": 1}
    with trace_of(
        files=[file(1, "d", "directory"), file(2, "d/a", parent=1, name="a")],
        calls=[
            at(1, 0, "READDIR", **four),
            at(2, 1, "READDIR", **four),
            at(3, 2, "GETATTR", **(four | {"file": 2})),
        ],
        operations=[
            operation(1, "READDIR", file=1, cookie=0, entries=1, plus=True),
            operation(2, "READDIR", file=1, cookie=0),
            operation(3, "GETATTR", file=2, attributes="00000018"),
        ],
        entries=[entry(1, "a", 2), entry(2, "a")],
    ) as trace:
        result = readdir(trace)
    assert (result.readdir_calls, result.readdirplus_calls, result.unknown_calls) == (None, 1, 1)
    assert (result.v4_plain_calls, result.v4_plus_calls) == (None, 1)
    assert (result.plus_lost, result.plus_won_back) == (None, None)
    # The GETATTR followed one of them, of whichever kind.
    assert (result.after_plain, result.after_plus, result.follow_ups) == (None, None, None)
    assert (result.spared, result.spared_perhaps) == (None, None)
    (row,) = result.shown
    assert (row.readdir_calls, row.readdirplus_calls, row.unknown_calls) == (None, 1, 1)
    assert (row.plus_lost, row.plus_won_back) == (None, None)


def test_what_followed_such_a_listing_is_not_counted_for_the_one_before() -> None:
    four = {"version": 4, "file": 1}
    asked = four | {"file": 2}
    with trace_of(
        files=[file(1, "d", "directory"), file(2, "d/a", parent=1, name="a")],
        calls=[
            at(1, 0, "READDIR", **four),
            at(2, 1, "GETATTR", 5, **asked),
            at(3, 2, "READDIR", **four),
            at(4, 3, "GETATTR", 7, **asked),
        ],
        operations=[
            operation(1, "READDIR", file=1, cookie=0, entries=1, plus=False),
            operation(2, "GETATTR", file=2, attributes="00000018"),
            operation(3, "READDIR", file=1, cookie=0),
            operation(4, "GETATTR", file=2, attributes="00000018"),
        ],
        entries=[entry(1, "a", 2), entry(3, "a")],
    ) as trace:
        result = readdir(trace)
    assert result.after_plain == FollowUps(1, 0, 1, 0, 0.005, 0.005)
    assert result.after_plus is None
    assert result.follow_ups == 1


@pytest.mark.parametrize(("answered", "asked"), [(False, None), (True, 0)])
def test_where_no_reply_is_seen_nobody_knows_what_was_asked(
    answered: bool, asked: int | None
) -> None:
    """Half of a mirror port: `0 times` would be said of GETATTRs that are there."""
    without: Row = {} if answered else {"reply_time": None, "srt": None, "reply_frame": None}
    with trace_of(
        files=[file(1, "d", "directory")],
        calls=[
            at(1, 0, "READDIRPLUS", 4, file=1, **without),
            at(2, 1, "GETATTR", 2, file=1, reply_time=None, srt=None),
        ],
        operations=[operation(1, "READDIRPLUS", file=1, cookie=0, plus=True)],
    ) as trace:
        result = readdir(trace)
    assert (result.revalidations, result.revalidation_s) == (asked, asked)


def test_directories_come_in_the_order_asked_for() -> None:
    with trace_of(
        files=[file(1, "x", "directory"), file(2, "y", "directory")],
        calls=[at(1, 0, "READDIR", 5, file=1), at(2, 1, "READDIR", 1, file=2)],
        operations=[
            operation(1, "READDIR", file=1, cookie=0, entries=1),
            operation(2, "READDIR", file=2, cookie=0, entries=2),
        ],
    ) as trace:
        orders = {
            sort: [row.path for row in readdir(trace, sort=sort).shown]
            for sort in ("time", "calls", "entries", "follow-ups", "name")
        }
        assert len(readdir(trace, top=1).shown) == 1
        assert len(readdir(trace, top=0).shown) == 2
    assert orders == {
        "time": ["x", "y"],
        "calls": ["y", "x"],
        "entries": ["y", "x"],
        "follow-ups": ["x", "y"],
        "name": ["x", "y"],
    }


def test_an_empty_trace_lists_nothing() -> None:
    with trace_of() as empty:
        result = readdir(empty)
    assert (result.readdir_calls, result.follow_ups, result.shown) == (0, 0, ())
    assert result.largest_request_bytes is None


def test_refuses_an_unknown_order_and_a_negative_number(trace: Trace) -> None:
    with pytest.raises(UsageError, match="sorted by time, calls"):
        readdir(trace, sort="size")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="negative"):
        readdir(trace, top=-1)
