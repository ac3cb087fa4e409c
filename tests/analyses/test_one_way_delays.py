"""Ways back that were longer for a while, by the clock of who replied; and what is none."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.wire.one_way_delays import LongerWay, longer_ways
from pcapnfs.analyses.wire.slower_path import SlowerPath, slower_paths
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of

AT_CLIENT: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "syn_rtt": 2 * MILLISECOND,
    "ack_rtt": 5_000,
}
"""Captured at the client; a round trip takes 2 ms."""

AT_SERVER: Row = {**AT_CLIENT, "syn_rtt": 5_000, "ack_rtt": 2 * MILLISECOND}

TICK_NS = 4 * MILLISECOND

Time = Callable[[float], float]
"""Milliseconds at a time of the capture, seconds."""


def after(begin_s: float, ms: float, end_s: float = 1e9) -> Time:
    """So many milliseconds in a part of the time, else none."""
    return lambda at_s: ms if begin_s <= at_s < end_s else 0.0


def none(_at_s: float) -> float:
    return 0.0


def called(
    *,
    calls: int = 400,
    there: Time = none,
    back: Time = none,
    work: Time = none,
    set_on: Time = none,
    rate: int = 1000,
    fast: float = 0.0,
    first: int = 4_000_000_000,
    size: int = 100,
    gap_ms: float = 3,
) -> list[Row]:
    """Calls one after the other, each some time behind the reply before; both ways take 1 ms.

    Args:
        calls: How many.
        there: What the way there takes longer.
        back: What the way back takes longer.
        work: What the server takes.
        set_on: How far the server's clock was set on.
        rate: How often that clock ticks in a second.
        fast: By how much it runs fast.
        first: What it says in the beginning.
        size: Bytes of a reply.
        gap_ms: From a reply to the next call.
    """
    rows, now_ms = [], 0.0
    for place in range(calls):
        at_s = now_ms / 1000
        left_ms = now_ms + 1 + there(at_s) + work(at_s)
        came_ms = left_ms + 1 + back(at_s)
        ticks = (left_ms * (1 + fast) + set_on(at_s)) / 1000 * rate
        sent, came = (START_NS + round(each * MILLISECOND) for each in (now_ms, came_ms))
        times = {"call_first_time": sent, "call_time": sent, "srt": came - sent}
        times |= {"reply_first_time": came, "reply_time": came}
        rows.append(
            call(
                1 + place,
                "GETATTR",
                1,
                connection=0,
                reply_bytes=size,
                reply_clock=(first + int(ticks)) % 2**32,
                **times,
            )
        )
        now_ms = came_ms + gap_ms
    return rows


def whole(row: Row, column: str) -> int:
    """A number of a row."""
    value = row[column]
    assert isinstance(value, int)
    return value


def ways(calls: Sequence[Row], connection: Row = AT_CLIENT) -> tuple[LongerWay, ...]:
    with trace_of(connections=[connection], calls=calls) as trace:
        return longer_ways(trace).ways


def paths(calls: Sequence[Row], connection: Row = AT_CLIENT) -> tuple[SlowerPath, ...]:
    with trace_of(connections=[connection], calls=calls) as trace:
        return slower_paths(trace)


@pytest.mark.parametrize("rate", [100, 250, 1000, 1_000_000])
@pytest.mark.parametrize("fast", [-0.0001, 0.0, 0.0001])
def test_a_path_that_became_longer_and_stays_so_is_told_with_what_it_cost(
    rate: int, fast: float
) -> None:
    longer = after(0.7, 28)
    calls = called(there=longer, back=longer, rate=rate, fast=fast)
    (path,) = paths(calls)
    assert (path.side, path.confidence, path.stays, path.usual_s) == (
        "server",
        "certain",
        True,
        0.002,
    )
    assert path.back_s == pytest.approx(0.028, abs=2.5 / rate + 0.0005)
    assert path.rtt_s == pytest.approx(0.058, abs=0.003)
    late = [row for row in calls if row["srt"] == 58 * MILLISECOND]
    assert path.calls == path.late_replies == len(late)
    assert path.longer_s == pytest.approx(0.056 * len(late), rel=0.05)
    assert path.from_ns == late[0]["reply_time"]


@pytest.mark.parametrize("first", [0, 2**31 - 500, 2**32 - 500])
def test_a_clock_may_begin_anywhere(first: int) -> None:
    longer = after(0.7, 14, 2.2)
    (way,) = ways(called(there=longer, back=longer, first=first))
    assert (way.stays, way.sure) == (False, True)
    assert way.back_s == pytest.approx(0.014, abs=0.001)
    assert way.until_ns - way.from_ns == pytest.approx(1_500 * MILLISECOND, rel=0.05)


def test_a_server_that_works_longer_makes_no_way_longer() -> None:
    assert ways(called(work=after(0.7, 28))) == ()


def test_what_a_slow_server_takes_beside_a_longer_path_is_not_the_paths() -> None:
    longer = after(0.7, 14)
    (way,) = ways(called(there=longer, back=longer, work=after(0.7, 40)))
    assert way.more_s == pytest.approx(0.028, abs=0.002)
    assert not way.sure
    (path,) = paths(called(there=longer, back=longer, work=after(0.7, 40)))
    assert path.confidence == "likely"


def test_of_the_way_back_alone_no_more_is_told() -> None:
    (way,) = ways(called(back=after(0.7, 28)))
    assert way.more_s == pytest.approx(0.028, abs=0.001)
    assert way.sure


def test_a_clock_that_is_set_shows_nothing() -> None:
    """A few calls take longer, before."""
    assert ways(called(set_on=after(0.7, -28), work=after(0.1, 5, 0.15))) == ()


@pytest.mark.parametrize("fast", [-0.0004, 0.0004])
def test_clocks_that_run_apart_show_nothing_but_what_changes(fast: float) -> None:
    """In the minute that this takes, they do so by 24 ms."""
    assert ways(called(gap_ms=150, fast=fast, work=after(30, 40))) == ()
    longer = after(30, 28)
    (way,) = ways(called(gap_ms=150, fast=fast, there=longer, back=longer))
    assert way.back_s == pytest.approx(0.028, abs=0.002)


@pytest.mark.parametrize("rate", [60, 300])
def test_a_queue_that_grows_is_told_from_where_it_does(rate: int) -> None:
    """By so many milliseconds a second."""
    calls = called(calls=800, back=lambda at_s: rate * max(0.0, min(at_s - 1, 4 - at_s)))
    with trace_of(connections=[AT_CLIENT], calls=calls) as trace:
        inside = longer_ways(trace).inside_ns.sum()
    longer = sum(whole(row, "srt") for row in calls) - 800 * 2 * MILLISECOND
    # Where few calls are under way while it grows, the quickest of eight is well below the others.
    assert 0.6 * longer <= inside <= 1.02 * longer


def test_a_way_that_varies_is_none_that_became_longer() -> None:
    chance = random.Random(7)
    assert ways(called(back=lambda _: chance.uniform(2, 20))) == ()


@pytest.mark.parametrize(
    "unlike",
    [
        {"rate": 1},
        {"rate": 30},
        {"fast": 0.02},
        {"size": 65536},
        {"calls": 25},
    ],
    ids=lambda unlike: "-".join(map(str, unlike.items())),
)
def test_nothing_is_told_where_nothing_can_be_known(unlike: dict[str, float]) -> None:
    longer = after(0.07, 28)
    assert ways(called(**{"there": longer, "back": longer, **unlike})) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("connection", [0, 1])
def test_what_stands_behind_its_own_data_is_no_longer_way(connection: int) -> None:
    """Small replies, each sent right behind the beginning of a large one, which takes 20 ms."""
    small = called(back=after(0.7, 20))
    large: list[Row] = [
        {
            **row,
            "call": 10_000 + place,
            "connection": connection,
            "reply_bytes": 65536,
            "reply_first_time": whole(row, "reply_time") - 20 * MILLISECOND,
            "reply_time": whole(row, "reply_time") - 1,
            "reply_clock": None,
        }
        for place, row in enumerate(small)
    ]
    assert ways(small) != ()
    assert ways(small + large) == ()
    others = [{**row, "client": "10.0.0.3", "connection": 2} for row in large]
    assert ways([*small, *others]) != ()


def test_replies_without_timestamps_and_at_the_server_show_nothing() -> None:
    longer = after(0.7, 28)
    calls = called(there=longer, back=longer)
    assert ways([{**row, "reply_clock": None} for row in calls]) == ()
    assert ways(calls, AT_SERVER) == ()


def test_one_stall_is_no_longer_path() -> None:
    """Replies that waited on their way for the same moment come together."""
    calls = called()
    freed = whole(calls[100], "reply_time")
    burst: list[Row] = [
        {**row, "srt": freed - whole(row, "call_time"), "reply_time": freed + place}
        for place, row in enumerate(calls[60:100])
    ]
    assert ways(calls[:60] + burst + calls[100:]) == ()


def ticked(calls: Sequence[Row]) -> list[Row]:
    """As the capture's clock tells them which ticks every 4 ms."""
    rows: list[Row] = []
    for row in calls:
        names = [name for name in row if name.endswith("_time")]
        times = {name: whole(row, name) // TICK_NS * TICK_NS for name in names}
        took = times["reply_time"] - times["call_time"]
        rows.append({**row, **times, "srt": took})
    return rows


def once_a_tick(at_s: float) -> float:
    """What moves the replies from right before a tick of that clock to right behind it."""
    return 1.9 if at_s == 0 else after(0.7, 0.2, 0.712)(at_s)


@pytest.mark.parametrize(("longer_ms", "told"), [(0, False), (28, True)])
def test_what_a_tick_of_the_captures_clock_makes_later_is_no_path(
    longer_ms: float, *, told: bool
) -> None:
    longer = after(0.7, longer_ms / 2)
    calls = called(there=longer, back=longer, work=once_a_tick, gap_ms=10)
    assert bool(ways(calls)) is told
    with trace_of(meta(packets=800), connections=[AT_CLIENT], calls=ticked(calls)) as trace:
        assert clock(trace).tick_s == pytest.approx(0.004)
        assert bool(longer_ways(trace).ways) is told
