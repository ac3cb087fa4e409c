"""Whether a server works on one call at a time."""

from __future__ import annotations

import random

from pcapnfs.analyses.servers.in_turn import in_turn
from pcapnfs.analyses.servers.server_times import ServerTime, server_times
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

SERVER = "10.0.0.1"


def reads(threads: int, clients: int = 8, each: int = 30, files: int = 8) -> list[Row]:
    """Each client reads again as soon as it has its answer; a free thread takes who waits longest.

    A READ takes 2 to 40 ms of a thread.
    """
    chance = random.Random(1)
    free = [0.0] * threads
    waiting = [(client * 0.1, client) for client in range(clients)]
    rows: list[Row] = []
    while len(rows) < clients * each:
        waiting.sort()
        came, client = waiting.pop(0)
        thread = free.index(min(free))
        done = max(came, free[thread]) + chance.uniform(2, 40)
        free[thread] = done
        begin, end = (START_NS + round(time * MILLISECOND) for time in (came, done))
        rows.append(
            call(
                len(rows) + 1, "READ", 1, stability="read", file=client % files + 1,
                client=f"10.0.0.{client + 2}", mount=client, call_first_time=begin,
                call_time=begin, reply_first_time=end, reply_time=end, srt=end - begin,
            )
        )  # fmt: skip
        waiting.append((done + 0.1, client))
    return rows


def test_with_one_thread_none_overtakes_another() -> None:
    with trace_of(calls=reads(threads=1)) as trace:
        times = server_times(trace)
        (found,) = in_turn(trace, times)
    assert (found.server, found.behind, found.overtook) == (SERVER, 239, 0)
    assert found.apart > 30


def test_with_more_the_quick_overtake_the_slow() -> None:
    for threads in (2, 8):
        with trace_of(calls=reads(threads)) as trace:
            (found,) = in_turn(trace, server_times(trace))
        assert found.overtook > found.apart / 2


def test_small_calls_that_are_answered_before_others_are_counted() -> None:
    """A GETATTR 1 ms after each READ; every other one waits for all that came before it."""
    rows = reads(threads=1)
    times = [(int(str(row["call_time"])), int(str(row["reply_time"]))) for row in rows]
    small: list[Row] = []
    for place, (came, _) in enumerate(times):
        begin = came + MILLISECOND
        end = begin + 1 if place % 2 else 1 + max(last for first, last in times if first < begin)
        small.append(
            call(
                1000 + place, "GETATTR", 1, file=100 + place, call_first_time=begin,
                call_time=begin, reply_first_time=end, reply_time=end, srt=end - begin,
            )
        )  # fmt: skip
    with trace_of(calls=[*rows, *small]) as trace:
        (found,) = in_turn(trace, server_times(trace))
    assert (found.small, found.small_overtook) == (240, 120)
    # Calls on data are none of them.
    with trace_of(calls=[*rows, *({**row, "op": "WRITE"} for row in small)]) as trace:
        (other,) = in_turn(trace, server_times(trace))
    assert (other.small, other.small_overtook, other.behind) == (0, 0, found.behind)


def test_calls_about_one_file_wait_for_its_lock() -> None:
    with trace_of(calls=reads(threads=1, files=1)) as trace:
        assert in_turn(trace, server_times(trace)) == ()


def test_one_after_the_other_nothing_can_overtake() -> None:
    with trace_of(calls=reads(threads=1, clients=1, each=200)) as trace:
        assert in_turn(trace, server_times(trace)) == ()


def test_servers_that_are_quick_are_not_asked_about() -> None:
    quick = ServerTime(SERVER, "READ", "read", "read", 240, 0.0049, 0.0049, 0.005, 1.0, ())
    with trace_of(calls=reads(threads=1)) as trace:
        assert in_turn(trace, [quick]) == ()


def test_what_was_sent_again_says_nothing() -> None:
    calls = reads(threads=1)
    calls[5] = {**calls[5], "first_arrived": False}
    with trace_of(calls=calls) as trace:
        (found,) = in_turn(trace, server_times(trace))
    assert found.behind == 238
