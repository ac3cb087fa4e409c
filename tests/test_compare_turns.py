"""What is told of a server that works on one call at a time in one run, and not in the other."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.changed_turns import SPARE, WAIT
from pcapnfs.comparison.comparing import of_sides
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace
from tests.sides import side_of
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation
from tests.views import samples

SMALL = 40
"""GETATTRs that come one after the other, before all else."""

ONE, SEVERAL = "works on one call at a time", "works on several at the same time"


def run(
    threads: int,
    *,
    streams: int = 6,
    each: int = 50,
    took_ms: tuple[float, float] = (5.0, 15.0),
    path_ms: float = 0.5,
) -> Side:
    """Programs that write a block to a file of their own as soon as the last one is stored.

    A free thread takes who waits longest, and is done with it between the two times.
    """
    chance = random.Random(1)
    rows = [call(number + 1, "GETATTR", 2 * path_ms, file=1, mount=0) for number in range(SMALL)]
    free = [0.0] * threads
    waiting = [(1000 + stream * 0.1, stream) for stream in range(streams)]
    written: list[tuple[float, float, int]] = []
    while len(written) < streams * each:
        waiting.sort()
        came, stream = waiting.pop(0)
        thread = free.index(min(free))
        free[thread] = max(came + path_ms, free[thread]) + chance.uniform(*took_ms)
        written.append((came, free[thread] + path_ms, stream))
        waiting.append((free[thread] + path_ms + 0.1, stream))
    rows += [
        _write(SMALL + place + 1, came, done, stream)
        for place, (came, done, stream) in enumerate(sorted(written))
    ]
    return side_of(
        meta(end_ns=START_NS + 60_000 * MILLISECOND),
        calls=rows,
        operations=[
            operation(SMALL + place + 1, "WRITE", committed="FILE_SYNC", requested=4096)
            for place in range(len(written))
        ],
        files=[file(number + 1, f"f{number}") for number in range(streams)],
        connections=[{"transport": "TCP"}],
    )


def _write(number: int, came_ms: float, done_ms: float, stream: int) -> Row:
    begin, end = (START_NS + round(time * MILLISECOND) for time in (came_ms, done_ms))
    row = call(number, "WRITE", 1, stability="stable", file=stream + 1, mount=0)
    times = {
        "call_first_time": begin, "call_time": begin, "reply_first_time": end, "reply_time": end,
        "srt": end - begin,
    }  # fmt: skip
    return {**row, **times}


def told(before: Side, after: Side) -> dict[str, Cause]:
    return {cause.subject: cause for cause in of_sides(before, after).causes}


def test_of_a_server_with_more_threads_no_other_storage_is_likely() -> None:
    """With one, none is answered before one that came earlier."""
    before, after = run(1), run(8)
    for first, second, words in ((before, after, (ONE, SEVERAL)), (after, before, (SEVERAL, ONE))):
        causes = told(first, second)
        assert list(causes) == ["server_in_turn", "storage"]
        server, storage = causes["server_in_turn"], causes["storage"]
        assert (server.before, server.after) == words
        assert server.confidence == "likely"
        assert storage.confidence == "possible"
        assert storage.evidence.endswith(
            "or calls waited for a thread of the server, which worked on one at a time on the "
            "slower side alone"
        )
    assert told(before, after)["server_in_turn"].evidence == (
        "before, none of 299 calls that came while one about something else was under way were "
        "answered before one that had come earlier; after, 151 of 299: the threads of its NFS "
        "service (one works on one call at a time), or one disk that takes requests as they come"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"threads": 8, "took_ms": (15, 45)}, {"threads": 8}, id="slower disks"),
        # Calls wait in one queue before and after: what differs is how long each takes.
        pytest.param({"threads": 1, "took_ms": (15, 45)}, {"threads": 1}, id="one thread on both"),
        # A program that waits for each call is answered in turn by any server.
        pytest.param(
            {"threads": 8, "streams": 1, "each": 300, "took_ms": (15, 45)},
            {"threads": 8},
            id="one program",
        ),
    ],
)
def test_another_storage_stays_likely(before: dict[str, Any], after: dict[str, Any]) -> None:
    causes = told(run(**before), run(**after))
    assert list(causes) == ["storage"]
    assert causes["storage"].confidence == "likely"


def test_of_calls_that_take_little_it_is_not_asked() -> None:
    """What comes at once is answered in turn by any server that has it in memory."""
    assert "server_in_turn" not in told(run(1, took_ms=(0.5, 0.8)), run(8, took_ms=(2, 4)))
    assert "server_in_turn" not in told(run(8), run(1, took_ms=(0.5, 0.8)))


def test_what_waits_for_the_path_is_answered_in_turn_for_that() -> None:
    """As behind a full link."""
    before, after = run(1), run(8)
    full = replace(before, measured=replace(before.measured, moving_s=before.measured.busy_s / 2))
    assert list(told(full, after)) == ["storage"]
    # Nearly all that calls take is the way.
    far = run(1, path_ms=6, took_ms=(0.4, 0.9))
    assert far.in_turn[0].median_s > after.in_turn[0].median_s
    assert "server_in_turn" not in told(far, after)


def test_few_calls_tell_it_as_possible_and_fewer_not() -> None:
    """151 of 299 overtake another on the one side: of 61, that would be some 30."""
    before, after = run(1), run(8)
    (one,) = before.in_turn
    for behind, confidence in ((199, "likely"), (198, "possible"), (60, "possible"), (59, None)):
        few = replace(before, in_turn=(replace(one, behind=behind),))
        cause = told(few, after).get("server_in_turn")
        assert (cause and cause.confidence) == confidence
    for overtook, expected in ((1, True), (2, False)):
        some = replace(before, in_turn=(replace(one, overtook=overtook),))
        assert ("server_in_turn" in told(some, after)) is expected


def test_servers_are_held_against_themselves() -> None:
    before, after = run(1), run(8)
    (one,), (several,) = before.in_turn, after.in_turn
    # The only one may have got another address.
    moved = replace(after, in_turn=(replace(several, server="10.0.0.8"),))
    assert "server_in_turn" in told(before, moved)
    for others, expected in (
        ((replace(several, server="10.0.0.9"), one), True),
        ((replace(one, server="10.0.0.9"), several), False),
    ):
        assert ("server_in_turn" in told(replace(before, in_turn=others), after)) is expected


def overloaded(side: Side) -> Side:
    """With a finding on small calls that wait at the server until others are done."""
    found = replace(
        samples.findings().findings[0],
        id="server_overload",
        severity="warning",
        title="Calls queue at the server that it is about",
        about=side.servers[:1],
        evidence="131 of 157 small calls waited. They did so long.",
        cost_s=4.0,
    )
    return replace(side, findings=(found,))


def test_calls_that_wait_at_the_server_on_one_side_alone_are_told_as_possible() -> None:
    """Two threads that are taken: now and then a call overtakes another, which tells no one."""
    free = run(8)
    waiting = overloaded(free)
    (cause,) = told(waiting, free).values()
    assert (cause.subject, cause.before, cause.after) == ("server_in_turn", WAIT, SPARE)
    assert cause.confidence == "possible"
    assert cause.evidence.startswith(
        "before, 131 of 157 small calls waited; after, 151 of 299 calls that came while one about "
        "something else was under way were answered before one that had come earlier: the threads "
    )
    (back,) = told(free, waiting).values()
    assert (back.before, back.after) == (SPARE, WAIT)
    assert told(waiting, waiting) == {}


def test_only_what_says_that_they_wait_there_tells_it() -> None:
    free = run(8)
    waiting = overloaded(free)
    (found,) = waiting.findings
    (several,) = free.in_turn
    elsewhere = replace(free, in_turn=(replace(several, server="10.0.0.8"),))
    others = replace(elsewhere, servers=(*free.servers, "10.0.0.8"))
    assert told(waiting, others) == {}
    slow = "The server 10.0.0.1 slows down under load"
    for change in ({"severity": "note"}, {"cost_s": 0.0}, {"title": slow}):
        said = replace(found, **change)
        assert told(replace(waiting, findings=(said,)), free) == {}


@pytest.mark.parametrize(
    ("behind", "overtook", "expected"),
    # Some 151 would have overtaken others, if each took its time by itself.
    [(30, 151, True), (29, 151, False), (299, 40, False)],
)
def test_the_other_side_must_show_that_calls_pass_there(
    behind: int, overtook: int, expected: bool
) -> None:
    free = run(8)
    (several,) = free.in_turn
    other = replace(free, in_turn=(replace(several, behind=behind, overtook=overtook),))
    assert bool(told(overloaded(free), other)) is expected


@pytest.mark.parametrize(
    ("small", "busy_s", "expected"), [(30, 1.0, True), (29, 1.0, False), (30, 6.0, False)]
)
def test_where_nothing_takes_long_calls_must_have_met(
    small: int, busy_s: float, expected: bool
) -> None:
    """Of a server that is quick it is not asked which calls overtake others."""
    free = run(8)
    measured = replace(free.measured, small_calls=small, busy_s=busy_s)
    quick = replace(free, in_turn=(), measured=measured)
    assert (quick.measured.concurrency >= 1.2) is (busy_s < 6)
    assert bool(told(overloaded(free), quick)) is expected


def test_a_server_that_is_not_on_the_other_side_has_no_queue_there_either() -> None:
    free = run(8)
    measured = replace(free.measured, small_calls=30, busy_s=1.0)
    elsewhere = replace(free, in_turn=(), measured=measured, servers=("10.0.0.8", "10.0.0.9"))
    assert told(overloaded(free), replace(elsewhere, servers=(*free.servers, "10.0.0.8")))
    assert told(overloaded(free), elsewhere) == {}


def test_what_keeps_the_server_is_the_cause() -> None:
    """All threads wait for disks that are slower."""
    slow, free = run(8, took_ms=(15, 45)), run(8)
    assert list(told(overloaded(slow), free)) == ["storage"]
    # Another version asks something else of it.
    habits = [replace(free.habits, versions={version: 300}) for version in ("3", "4.0")]
    three, four = (replace(free, habits=each) for each in habits)
    assert list(told(overloaded(four), three)) == ["version"]
    assert list(told(overloaded(three), three)) == ["server_in_turn"]
