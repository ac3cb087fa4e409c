"""Small calls that waited for others at a server."""

from __future__ import annotations

import math
import random
from typing import cast

import pytest

from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.forecasts.what_if import Change
from pcapnfs.analyses.servers.load import load
from pcapnfs.analyses.servers.server_queue import (
    ClientWaits,
    ServerQueue,
    server_queues,
    stood_by_client,
    waits_by_client,
)
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of

SERVER = "10.0.0.1"


def at(number: int, op: str, since_ms: float, until_ms: float, **columns: object) -> Row:
    """A call that came and was answered so many milliseconds after the start."""
    begin, end = (START_NS + round(each * MILLISECOND) for each in (since_ms, until_ms))
    times = {
        "call_first_time": begin, "call_time": begin, "reply_first_time": end, "reply_time": end,
        "srt": end - begin,
    }  # fmt: skip
    return call(
        number, op, 1,
        **({"call_bytes": 100, "reply_bytes": 100, "connection": 0} | times | columns),
    )  # fmt: skip


def create(number: int, since_ms: float, until_ms: float, **columns: object) -> Row:
    return at(
        number, "CREATE", since_ms, until_ms, stability="stable",
        **({"file": number, "directory": 100} | columns),
    )  # fmt: skip


ALONE = at(1, "GETATTR", 0, 1, file=1)


def behind(*calls: Row) -> ServerQueue:
    with trace_of(calls=[ALONE, *calls]) as trace:
        return server_queues(trace, [SERVER])[SERVER]


def test_what_is_answered_right_after_another_waited_for_it() -> None:
    found = behind(
        create(2, 10, 40, connection=1),
        at(3, "GETATTR", 20, 41, file=1),
        at(4, "GETATTR", 50, 51, file=1),
    )
    assert (found.alone, found.alone_s, found.behind) == (2, 0.001, 1)
    assert (found.waited, found.elsewhere, found.waited_s) == (1, 1, 0.021)
    # It waits from 20 to 40 ms, and shares that with the CREATE.
    assert found.time_s == pytest.approx(0.011 * 20 / 21)
    assert found.frames == (5,)


def test_small_ones_that_wait_side_by_side_wait_for_the_call_before_them_all() -> None:
    found = behind(
        create(2, 10, 40, connection=1, client="10.0.0.3"),
        at(3, "LOOKUP", 20, 41, directory=7),
        at(4, "LOOKUP", 21, 42, directory=7, connection=2, client="10.0.0.4"),
        at(5, "LOOKUP", 22, 46, directory=7, connection=3, client="10.0.0.5"),
    )
    # The third comes long after the second: something else kept it.
    assert (found.behind, found.waited, found.elsewhere) == (3, 2, 2)
    # From 20 and from 21 to 40 ms.
    assert (found.holder, found.holder_op, found.held) == ("10.0.0.3", "CREATE", 2)


def test_a_thread_may_take_a_while_to_wake() -> None:
    quick = at(1, "GETATTR", 0, 0.02, file=1)
    for answered, waited in ((40.19, 1), (40.21, 0)):
        calls = [quick, create(2, 10, 40), at(3, "GETATTR", 20, answered, file=1)]
        with trace_of(calls=calls) as trace:
            assert server_queues(trace, [SERVER])[SERVER].waited == waited


def test_who_waits_for_calls_of_his_own_is_not_held_up_by_another() -> None:
    found = behind(create(2, 10, 40), at(3, "GETATTR", 20, 41, file=1))
    assert (found.holder, found.held) == ("10.0.0.2", 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (create(2, 10, 40), at(3, "GETATTR", 20, 21, file=1)),
        (create(2, 10, 40), at(3, "GETATTR", 20, 44, file=1)),
        (create(2, 10, 40), at(3, "LOOKUP", 20, 41, directory=100)),
        (create(2, 10, 40), at(3, "GETATTR", 20, 41, file=2)),
        (create(2, 10, 40), at(3, "GETATTR", 20, 41, file=100)),
        (create(2, 10, 40), at(3, "LOOKUP", 20, 41)),
        (create(2, 10, 40, file=None, directory=None), at(3, "GETATTR", 20, 41, file=1)),
        (create(2, 10, 40, call_bytes=20_000), at(3, "GETATTR", 20, 41, file=1)),
        (create(2, 10, 40), at(3, "GETATTR", 20, 41, file=1, transmissions=2)),
        (create(2, 10, 21.5), at(3, "GETATTR", 20, 22.5, file=1)),
    ],
    ids=[
        "overtook", "long after", "one directory", "one file", "the directory itself", "not known",
        "another not known", "behind data", "sent again", "no longer",
    ],
)  # fmt: skip
def test_what_may_have_another_reason_is_none(first: Row, second: Row) -> None:
    assert behind(first, second).waited == 0


def test_behind_data_that_is_answered_later_it_may_wait_for_the_link() -> None:
    data = at(2, "READ", 10, 90, file=7, reply_bytes=1_000_000)
    found = behind(data, create(3, 15, 40), at(4, "GETATTR", 20, 41, file=1))
    assert (found.behind, found.waited) == (1, 0)


def test_without_a_call_alone_nobody_knows_how_long_it_takes() -> None:
    with trace_of(calls=[create(2, 10, 40), at(3, "GETATTR", 20, 41, file=1)]) as trace:
        assert server_queues(trace, [SERVER]) == {}
        assert server_queues(trace, []) == {}


def test_it_is_asked_only_where_service_times_grow_with_the_load() -> None:
    calls = [ALONE, create(2, 10, 40), at(3, "GETATTR", 20, 23, file=1)]
    with trace_of(calls=calls) as trace:
        (server,) = load(trace)
    assert server.queued is not None
    calls[2] = at(3, "GETATTR", 20, 22.9, file=1)
    with trace_of(calls=calls) as trace:
        (server,) = load(trace)
    assert server.queued is None


def one_thread(apart: int = 0) -> list[Row]:
    """Five GETATTRs alone, then 40 times one 1 ms after a CREATE of 20 ms, served behind it."""
    rows = [at(number, "GETATTR", 10 * number, 10 * number + 1, file=1) for number in range(1, 6)]
    for turn in range(40):
        since, number = 100 + 30 * turn, 10 + 2 * turn
        rows += [
            create(number, since, since + 20),
            at(number + 1, "GETATTR", since + 1, since + (2 if turn < apart else 21), file=1),
        ]
    return rows


def test_where_nearly_all_wait_for_others_calls_queue() -> None:
    with trace_of(calls=one_thread()) as trace:
        found = waits_by_client(trace)
        measured = measure(trace)
        verdict = measured_verdict(measured)
    assert found == (ClientWaits("10.0.0.2", SERVER, 45, 0.76),)
    # What is left of a round trip is what a call takes alone.
    assert measured.queue_s == pytest.approx(40 * 0.019 / 45)
    assert measured.rtt_s == pytest.approx(measured.queue_s + 0.001)
    assert verdict is not None
    assert "server" in verdict.named
    assert "queueing at the server" in verdict.sentence
    assert "calls waited 16.9 ms each until others were answered" in verdict.sentence


def two_threads(*, alone: int = 30, waiting: int = 0) -> list[Row]:
    """GETATTRs beside one CREATE, then 30 beside two of 20 ms on other connections, behind these.

    Args:
        alone: Those beside one CREATE.
        waiting: How many of them are answered behind it all the same.
    """
    rows = [at(number, "GETATTR", 10 * number, 10 * number + 1, file=1) for number in range(1, 6)]
    for turn in range(alone + 30):
        since, number, both = 100 + 30 * turn, 10 + 3 * turn, turn >= alone
        until = 21 if both or turn < waiting else 2.2
        rows += [
            create(number, since, since + 20, connection=1),
            *([create(number + 1, since + 0.5, since + 25, connection=2)] if both else []),
            at(number + 2, "GETATTR", since + 1, since + until, file=1),
        ]
    return rows


def test_a_server_with_several_threads_keeps_small_calls_waiting_when_all_are_taken() -> None:
    with trace_of(calls=two_threads()) as trace:
        found = server_queues(trace, [SERVER])[SERVER]
        (client,) = waits_by_client(trace)
        measured = measure(trace)
    assert (found.at_a_time, found.alone, found.behind, found.waited) == (2, 5, 30, 30)
    assert found.elsewhere == 30
    assert client.calls == 65
    assert client.time_s == pytest.approx(30 * 0.019)
    assert measured.queue_s == pytest.approx(30 * 0.019 / 65)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(two_threads(alone=29), id="too few that found a thread"),
        pytest.param(two_threads(waiting=4), id="some waited for a single one"),
    ],
)
def test_where_small_calls_are_not_told_apart_by_how_many_are_under_way_none_is(
    calls: list[Row],
) -> None:
    with trace_of(calls=calls) as trace:
        assert server_queues(trace, [SERVER])[SERVER].at_a_time == 1
        assert waits_by_client(trace) == ()


def shared(streams: int, seed: int, think_ms: float, creates: float, work_ms: float) -> list[Row]:
    """Programs whose calls one processor works on side by side, each as much slower."""
    chance = random.Random(seed)
    rows = [at(number, "GETATTR", 10 * number, 10 * number + 1, file=1) for number in range(1, 6)]
    now, asleep = 100.0, [(100.0 + stream / 10, stream) for stream in range(streams)]
    busy: list[tuple[float, float, int, bool]] = []
    while len(rows) < 600:
        asleep.sort()
        came = asleep[0][0] if asleep else math.inf
        done = now + min(busy)[0] * len(busy) if busy else math.inf
        then = min(came, done)
        each = (then - now) / max(1, len(busy))
        busy = [(left - each, since, stream, makes) for left, since, stream, makes in busy]
        now = then
        if came <= done:
            stream, makes = asleep.pop(0)[1], chance.random() < creates
            work = chance.uniform(0.5, 1.5) * (work_ms if makes else 1.0)
            busy.append((work, now, stream, makes))
            continue
        _, since, stream, makes = busy.pop(busy.index(min(busy)))
        number = len(rows) + 1
        rows.append(
            create(number, since, now, directory=1000 + stream)
            if makes
            else at(number, "GETATTR", since, now, file=2000 + stream)
        )
        asleep.append((now + chance.expovariate(1 / think_ms), stream))
    return rows


@pytest.mark.parametrize(
    ("streams", "seed", "think_ms", "creates", "work_ms"),
    [(6, 1, 5, 0.4, 10), (12, 1, 20, 0.1, 3), (13, 156, 5, 0.4, 2), (17, 371, 2, 0.1, 3)],
)
def test_a_processor_that_all_calls_share_has_no_number_of_threads(
    streams: int, seed: int, think_ms: float, creates: float, work_ms: float
) -> None:
    """However many calls are under way, an answer comes now and then behind another by chance."""
    with trace_of(calls=shared(streams, seed, think_ms, creates, work_ms)) as trace:
        found = server_queues(trace, [SERVER])[SERVER]
    assert found.waited >= 30
    assert found.at_a_time == 1


def test_other_storage_makes_the_queue_shorter() -> None:
    with trace_of(calls=one_thread()) as trace:
        measured = measure(trace)
    costs = measured.costs()
    assert costs.queue_s == measured.queue_s
    faster = Change(persist_s=0.0).of(costs)
    assert faster.queue_s == pytest.approx(costs.queue_s * 0.001 / costs.served_s)
    assert costs.rtt_s - faster.rtt_s == pytest.approx(costs.queue_s - faster.queue_s)


@pytest.mark.parametrize("calls", [one_thread(apart=9), one_thread()[2:], one_thread()[:60]])
def test_where_some_do_not_or_few_do_nothing_queues(calls: list[Row]) -> None:
    with trace_of(calls=calls) as trace:
        assert waits_by_client(trace) == ()
        assert measure(trace).queue_s == 0


def test_by_a_clock_that_ticks_nothing_tells_what_waited_for_what() -> None:
    calls = [
        at(number, "GETATTR", 10 * number, 10 * number + number % 2, file=number)
        for number in range(1, 61)
    ]
    waiting = [create(100, 1000, 1040), at(101, "GETATTR", 1010, 1040, file=7, connection=1)]
    with trace_of(calls=[*calls, *waiting]) as trace:
        assert server_queues(trace, [SERVER])[SERVER].waited == 1
    with trace_of(meta(packets=130), calls=[*calls, *waiting]) as trace:
        assert server_queues(trace, [SERVER]) == {}
        assert waits_by_client(trace) == ()
        assert stood_by_client(trace) == ()


def programs(threads: int, streams: int = 6, each: int = 40, **columns: object) -> list[Row]:
    """Five GETATTRs alone, then programs that ask for small things and make files by chance.

    A small call takes 1 ms of a thread, a CREATE 20 to 40 ms; each asks again as it has its answer.
    """
    chance = random.Random(3)
    rows = [at(number, "GETATTR", 10 * number, 10 * number + 1, file=1) for number in range(1, 6)]
    free = [100.0] * threads
    waiting = [(100.0 + stream, stream) for stream in range(streams)]
    while len(rows) < streams * each:
        waiting.sort()
        came, stream = waiting.pop(0)
        thread, number = free.index(min(free)), len(rows) + 1
        creates = chance.random() < 0.3
        done = max(came, free[thread]) + (chance.uniform(20, 40) if creates else 1.0)
        free[thread] = done
        if creates:
            rows.append(create(number, came, done, directory=1000 + stream))
        else:
            rows.append(at(number, "GETATTR", came, done, **({"file": 2000 + stream} | columns)))
        waiting.append((done + 0.1, stream))
    return rows


def test_where_calls_stand_in_one_queue_each_waits_for_the_one_before_it() -> None:
    calls = programs(threads=1)
    with trace_of(calls=calls) as trace:
        # Those behind another small one alone hardly wait.
        assert waits_by_client(trace) == ()
        (found,) = stood_by_client(trace)
        measured = measure(trace)
        verdict = measured_verdict(measured)
    small = [row for row in calls if row["op"] == "GETATTR"]
    waited_s = sum((cast(int, row["srt"]) - MILLISECOND) / 1e9 for row in small)
    assert found.calls == len(small)
    assert found.time_s == pytest.approx(waited_s, rel=1e-6)
    assert measured.queue_s == pytest.approx(waited_s / len(small))
    assert verdict is not None
    assert "queueing at the server" in verdict.sentence


def test_of_many_servers_the_busiest_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "SERVERS", 2)
    busy = [{**row, "server": "10.0.0.9", "mount": 9} for row in programs(threads=1)]
    idle = [
        at(
            len(busy) + number,
            "GETATTR",
            number,
            number + 1,
            server=f"10.0.0.{number}",
            mount=number,
        )
        for number in (1, 2, 3)
    ]
    with trace_of(calls=[*busy, *idle]) as trace:
        assert traffic.busiest_servers(trace) == ["10.0.0.9", "10.0.0.1"]
        (found,) = stood_by_client(trace)
    with trace_of(calls=busy) as trace:
        assert stood_by_client(trace) == (found,)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(programs(threads=2), id="two threads"),
        pytest.param(programs(threads=1, streams=1, each=200), id="one after the other"),
    ],
)
def test_where_they_do_not_nothing_is_told(calls: list[Row]) -> None:
    with trace_of(calls=calls) as trace:
        assert stood_by_client(trace) == ()
        assert measure(trace).queue_s == 0


def test_what_comes_behind_much_data_waits_for_the_link() -> None:
    with trace_of(calls=programs(threads=1, reply_bytes=20_000)) as trace:
        (found,) = stood_by_client(trace)
    with trace_of(calls=programs(threads=1)) as trace:
        (other,) = stood_by_client(trace)
    assert found.time_s < other.time_s / 2
