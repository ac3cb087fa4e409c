"""Revalidations, what they found, what was read again and what was spared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pcapnfs.analyses.caching.cache import INTERVAL_EDGES_S, cache
from pcapnfs.analyses.caching.delegations import Delegations
from pcapnfs.errors import UsageError
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

SECOND = 1000 * MILLISECOND


def at(number: int, seconds: float, op: str, **columns: object) -> Row:
    """A call about file 1, sent so many seconds after the start and answered after 1 ms."""
    sent = START_NS + int(seconds * SECOND)
    times = {"call_time": sent, "call_first_time": sent, "reply_time": sent + MILLISECOND}
    return call(number, op, 1, **({"file": 1} | times | columns))


def told(number: int, op: str, version: int, **columns: object) -> Row:
    """Its operation, with ctime = mtime = `version`."""
    return operation(
        number, op, **({"file": 1, "ctime": version, "mtime": version, "size": 4096} | columns)
    )


@pytest.fixture
def trace() -> Iterator[Trace]:
    """Read, asked twice in a moment and once later; changed by somebody, read again, asked."""
    with trace_of(
        files=[file(1, "a"), file(2, ".", "directory")],
        calls=[
            at(1, 0.0, "READ"),
            at(2, 2.0, "GETATTR"),
            at(3, 2.5, "GETATTR"),
            at(4, 7.5, "GETATTR"),
            at(5, 8.7, "GETATTR"),
            at(6, 8.8, "READ"),
            at(7, 9.0, "GETATTR", file=2),
            at(8, 9.5, "GETATTR", status=70),
        ],
        operations=[
            told(1, "READ", 100, offset=0, count=3000),
            told(2, "GETATTR", 100),
            told(3, "GETATTR", 100),
            told(4, "GETATTR", 100),
            told(5, "GETATTR", 200),
            told(6, "READ", 200, offset=0, count=4096),
            told(7, "GETATTR", 50, file=2, type="DIR"),
            operation(8, "GETATTR", file=1, status=70),
        ],
    ) as opened:
        yield opened


def test_counts_questions_by_what_they_found(trace: Trace) -> None:
    result = cache(trace)
    assert (result.revalidations, result.by_getattr, result.by_open, result.by_verify) == (
        6,
        6,
        0,
        0,
    )
    found = (result.first_sight, result.unchanged, result.changed_by_self, result.changed_by_other)
    assert found == (1, 3, 0, 1)
    assert result.unknown == 1
    assert sum(found) + result.unknown == result.revalidations
    assert result.unchanged_share == pytest.approx(3 / 4)
    assert result.revalidation_s == pytest.approx(0.006)
    assert (result.objects, result.invalidations, result.not_atomic) == (2, 1, 0)


def test_a_change_of_which_nobody_knows_whose_it_was_is_one_all_the_same() -> None:
    lost = at(2, 1.5, "SETATTR", status=None, reply_time=None, reply_frame=None)
    with trace_of(
        files=[file(1, "a")],
        calls=[at(1, 1.0, "GETATTR"), lost, at(3, 2.0, "GETATTR"), at(4, 6.0, "GETATTR")],
        operations=[
            told(1, "GETATTR", 100),
            operation(2, "SETATTR", file=1, executed=False, status=None),
            told(3, "GETATTR", 200),
            told(4, "GETATTR", 200),
        ],
    ) as trace:
        result = cache(trace)
    assert (result.first_sight, result.unchanged, result.changed_by_unknown) == (1, 1, 1)
    assert (result.changed_by_other, result.unknown, result.invalidations) == (0, 0, 0)
    assert result.unchanged_share == pytest.approx(1 / 2)


def test_who_asks_for_times_alone_has_an_answer_that_tells_no_change() -> None:
    """Linux 7.2 does at each stat() of what it has a delegation of; a failure is another matter."""
    times = {"attributes": "00100102:00b0a008:00000000", "change": None, "size": None}
    whole = {"attributes": "0010011a:00b0a23a:00000000", "change": 5}
    kind = {"version": 4, "protocol": "4.2"}
    with trace_of(
        files=[file(1, "a")],
        calls=[at(number, number, "GETATTR", **kind) for number in range(1, 6)],
        operations=[
            told(1, "GETATTR", 100, **whole),
            told(2, "GETATTR", 100, **times),
            told(3, "GETATTR", 100, **times),
            operation(4, "GETATTR", file=1, status=70, attributes=times["attributes"]),
            # Cut before its change attribute.
            operation(5, "GETATTR", file=1, attributes=whole["attributes"]),
        ],
    ) as trace:
        result = cache(trace)
    assert (result.revalidations, result.first_sight) == (5, 1)
    assert (result.for_times, result.unknown) == (2, 2)


def test_reading_again_costs_what_was_cached_and_each_open_saves_it(trace: Trace) -> None:
    result = cache(trace)
    assert result.bytes_reread == 3000  # of the 4096 bytes, what it had had
    # At 2.0 and 2.5 s an open() asked: a stat() would have believed what was known. And at 7.5 s.
    assert result.bytes_saved == 3 * 3000


def test_an_answer_that_was_followed_by_a_read_saved_nothing() -> None:
    with trace_of(
        files=[file(1, "a")],
        calls=[at(1, 0, "READ"), at(2, 5, "GETATTR"), at(3, 5.1, "READ")],
        operations=[
            told(1, "READ", 100, offset=0, count=1000),
            told(2, "GETATTR", 100),
            told(3, "READ", 100, offset=1000, count=1000),
        ],
    ) as trace:
        result = cache(trace)
    assert (result.unchanged, result.bytes_saved, result.bytes_reread) == (1, 0, 0)


def test_offsets_and_lengths_from_a_hostile_capture_do_no_harm() -> None:
    most = 2**64 - 1
    with trace_of(
        files=[file(1, "a")],
        calls=[at(1, 0, "READ"), at(2, 5, "GETATTR"), at(3, 6, "READ")],
        operations=[
            told(1, "READ", 100, offset=most, count=most),
            told(2, "GETATTR", 200),
            told(3, "READ", 200, offset=most, count=most),
        ],
    ) as trace:
        result = cache(trace)
    assert result.bytes_reread == 2**40


def test_intervals_are_ages_of_knowledge_apart_for_directories(trace: Trace) -> None:
    result = cache(trace)
    assert [row.from_s for row in result.intervals] == [0.0, *INTERVAL_EDGES_S]
    assert [row.below_s for row in result.intervals] == [*INTERVAL_EDGES_S, None]
    by_start = {row.from_s: (row.files, row.directories) for row in result.intervals}
    # 1.999 s, 0.499 s, 4.999 s, 1.199 s, and the error 0.699 s after the READ; of the directory
    # nothing had been known.
    assert by_start[0.1] == (2, 0)
    assert by_start[1.0] == (2, 0)
    assert by_start[3.0] == (1, 0)
    assert sum(row.files + row.directories for row in result.intervals) == 5


def test_what_a_compound_asks_twice_is_not_known_before_it_is_asked() -> None:
    """As pynfs does, and NFSv4.0 clients that put a whole path into one compound."""
    twice = [told(2, "GETATTR", 100), told(2, "GETATTR", 100, position=1)]
    with trace_of(
        files=[file(1, "a")], calls=[at(2, 0.0, "GETATTR", operations=2)], operations=twice
    ) as trace:
        result = cache(trace)
    assert [row.interval_p50_s for row in result.files] == [0.0]


@pytest.mark.parametrize("top", [2, 0])
def test_files_are_given_as_each_client_saw_them(top: int, trace: Trace) -> None:
    (row, other) = cache(trace, sort="revalidations", top=top).files
    assert (row.path, row.client, row.server, row.role) == ("a", "10.0.0.2", "10.0.0.1", "file")
    assert (row.revalidations, row.unchanged, row.changed_by_other, row.invalidations) == (
        5,
        3,
        1,
        1,
    )
    assert row.interval_p50_s == pytest.approx(1.199)
    assert (row.bytes_reread, row.bytes_saved, row.recalls) == (3000, 9000, 0)
    assert (other.path, other.revalidations, other.interval_p50_s) == (".", 1, None)
    assert [shown.path for shown in cache(trace, sort="name", top=1).files] == ["."]


def test_files_that_nobody_asked_about_are_given_last_where_somebody_else_changed_them() -> None:
    with trace_of(
        files=[file(1, "asked"), file(2, "a"), file(3, "same")],
        calls=[
            at(1, 0.0, "GETATTR"),
            *(at(number, number, "READ", file=number // 2) for number in range(4, 8)),
        ],
        operations=[
            told(1, "GETATTR", 100),
            *(
                told(number, "READ", 100 + number * (number < 6), file=number // 2)
                for number in range(4, 8)
            ),
        ],
    ) as trace:
        result = cache(trace)
        shown = cache(trace, top=1, sort="bytes").files
    assert (result.objects, result.unasked, result.invalidations) == (1, 1, 1)
    assert [(row.path, row.revalidations, row.invalidations) for row in result.files] == [
        ("asked", 1, 0),
        ("a", 0, 1),
    ]
    assert [row.path for row in shown] == ["asked"]


def test_an_open_is_a_revalidation_of_a_file_that_was_known() -> None:
    def opened(number: int, change: int) -> tuple[Row, Row]:
        return (
            at(number, number * 5.0, "OPEN", version=4, protocol="4.1"),
            operation(number, "GETATTR", file=1, change=change, attributes="00000018"),
        )

    steps = [opened(1, 7), opened(2, 7), opened(3, 8)]
    with trace_of(
        files=[file(1, "a")],
        calls=[step[0] for step in steps],
        operations=[step[1] for step in steps],
    ) as trace:
        result = cache(trace)
    assert (result.revalidations, result.by_open, result.first_sight) == (2, 2, 0)
    assert (result.unchanged, result.changed_by_other, result.revalidation_s) == (1, 1, 0.0)


def test_an_open_whose_attributes_were_cut_asked_nothing_that_is_known() -> None:
    with trace_of(
        files=[file(1, "a")],
        calls=[at(1, 0, "OPEN", file=1, version=4, protocol="4.1")],
        operations=[
            operation(1, "OPEN", file=1),
            operation(1, "GETATTR", position=1, file=1, attributes="00000018:00300000"),
        ],
    ) as trace:
        result = cache(trace)
    assert (result.revalidations, result.by_open, result.unknown) == (0, 0, 0)


def test_questions_about_unknown_objects_are_counted_apart() -> None:
    with trace_of(calls=[at(1, 0, "GETATTR", file=None), at(2, 1, "GETATTR", file=None)]) as trace:
        result = cache(trace)
    assert (result.revalidations, result.without_file) == (0, 2)


def test_other_programs_make_no_mount() -> None:
    with trace_of(calls=[at(1, 0, "GETPORT", program=100000, client="10.0.0.9")]) as trace:
        assert cache(trace).mounts == ()


def test_changes_that_are_not_atomic_are_counted() -> None:
    change = {"change_before": 1, "change_after": 2, "directory": 2, "file": 1, "name": "a"}
    with trace_of(
        files=[file(1, "a"), file(2, ".", "directory")],
        calls=[at(1, 0, "REMOVE", version=4), at(2, 1, "REMOVE", version=4)],
        operations=[
            operation(1, "REMOVE", change_atomic=False, stability="stable", **change),
            operation(2, "REMOVE", change_atomic=True, stability="stable", **change),
        ],
    ) as trace:
        assert cache(trace).not_atomic == 1


def test_delegations_of_which_replies_do_not_tell_are_not_none() -> None:
    def told(*opens: Row) -> tuple[int | None, ...]:
        calls = [at(number, number, "OPEN", version=4) for number in range(1, len(opens) + 1)]
        with trace_of(files=[file(1, "a")], calls=calls, operations=list(opens)) as trace:
            found = cache(trace).delegations
        return found.opens, found.granted_read, found.granted_write, found.opens_served

    cut = {"file": 1, "delegation": None}
    assert told(operation(1, "OPEN", file=1, delegation="NONE")) == (1, 0, 0, 0)
    assert told(operation(1, "OPEN", **cut)) == (1, None, None, None)
    assert told(operation(1, "OPEN", file=1, delegation="READ"), operation(2, "OPEN", **cut)) == (
        2,
        1,
        None,
        None,
    )
    lost = operation(2, "OPEN", status=None, status_name=None, file=1)
    assert told(operation(1, "OPEN", file=1, delegation="NONE"), lost) == (1, 0, 0, 0)
    assert told({**lost, "call": 1}) == (None, None, None, None)


def test_delegations_are_counted_and_timed() -> None:
    four = {"version": 4, "protocol": "4.1"}
    with trace_of(
        files=[file(1, "a")],
        calls=[
            at(1, 0, "OPEN", **four),
            at(2, 1, "READ", **four),
            at(3, 2, "CLOSE", **four),
            at(4, 3, "READ", **four),
            at(5, 3.1, "READ", **four),
            at(6, 4, "CB_RECALL", callback=True, **four),
            at(7, 4.5, "DELEGRETURN", **four),
            at(8, 5, "READ", **four),
        ],
        operations=[
            operation(1, "OPEN", file=1, delegation="READ"),
            operation(2, "READ", file=1),
            operation(3, "CLOSE", file=1),
            operation(4, "READ", file=1),
            operation(5, "READ", file=1),
            operation(6, "CB_RECALL", file=1),
            operation(7, "DELEGRETURN", file=1),
            operation(8, "READ", file=1),
        ],
    ) as trace:
        result = cache(trace)
    told = result.delegations
    assert (told.recall_s, told.recall_max_s) == pytest.approx((0.501, 0.501))
    assert replace(told, recall_s=0.0, recall_max_s=None) == Delegations(
        opens=1,
        granted_read=1,
        granted_write=0,
        granted_directory=0,
        recalled=1,
        returned=1,
        recall_s=0.0,
        recall_max_s=None,
        opens_served=1,  # at 3 s: after the CLOSE, before the DELEGRETURN, and 3.1 s belongs to it
    )


def test_delegations_of_directories_are_counted_apart() -> None:
    def told(*asked: Row) -> tuple[int | None, ...]:
        calls = [at(number, number, "GETATTR", version=4) for number in range(1, len(asked) + 1)]
        with trace_of(
            files=[file(1, ".", "directory")], calls=calls, operations=list(asked)
        ) as trace:
            found = cache(trace).delegations
        return found.granted_read, found.granted_directory

    granted, refused, cut = (
        operation(number, "GET_DIR_DELEGATION", file=1, delegation=what)
        for number, what in ((1, "READ"), (2, "NONE"), (2, None))
    )
    assert told(granted, refused) == (0, 1)
    assert told(granted, cut) == (0, 1)
    assert told({**cut, "call": 1}) == (0, None)
    failed = operation(1, "GET_DIR_DELEGATION", status=10004, status_name="NFS4ERR_NOTSUPP")
    assert told(failed) == (0, 0)


def test_an_empty_trace_gives_nothing_and_no_verdict() -> None:
    with trace_of() as empty:
        result = cache(empty)
    assert (result.revalidations, result.unchanged_share, result.files) == (0, None, ())
    assert result.mounts == ()
    assert result.delegations.recall_max_s is None


def test_refuses_an_unknown_order_and_a_negative_number(trace: Trace) -> None:
    with pytest.raises(UsageError, match="sorted by time, revalidations"):
        cache(trace, sort="size")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="negative"):
        cache(trace, top=-1)


@pytest.mark.parametrize(
    ("reading", "notes", "saved"),
    [
        # Its answer was lost, or cut before it told how much it brought.
        ([at(3, 5.1, "READ", reply_time=None)], [], 0),
        ([at(3, 5.1, "READ", undecoded="truncated")], [], 0),
        # The server refused it, so that nothing was read.
        ([at(3, 5.1, "READ", status=70)], [], 1000),
        # The call was lost: within a second it may have read the file.
        ([], [("reply_without_call", 5.9, 0)], 0),
        ([], [("reply_without_call", 6.1, 0)], 1000),
        ([], [("reply_without_call", 5.9, 1)], 1000),
        ([], [("duplicate_reply", 5.9, 0)], 1000),
    ],
)
def test_what_may_have_been_read_was_not_saved(
    reading: list[Row], notes: list[tuple[str, float, int]], saved: int
) -> None:
    other = call(9, "GETATTR", 1, client="10.0.0.3", connection=1, mount=1)
    with trace_of(
        files=[file(1, "a")],
        calls=[at(1, 0, "READ"), at(2, 5, "GETATTR"), *reading, other],
        operations=[
            told(1, "READ", 100, offset=0, count=1000),
            told(2, "GETATTR", 100),
            *(
                operation(3, "READ", file=1, offset=0, status=row["status"], count=None)
                for row in reading
            ),
        ],
        notes=[
            {
                "reason": reason,
                "time": START_NS + int(seconds * SECOND),
                "frame": 90,
                "connection": connection,
                "call": None,
            }
            for reason, seconds, connection in notes
        ],
    ) as trace:
        assert cache(trace).bytes_saved == saved
