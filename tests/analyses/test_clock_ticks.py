"""The clock's tick: what nearly all times are multiples of, if there are enough of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.diagnosis.judging import findings
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of


def calls(sent_ns: Iterable[int], srt_ns: int = 0) -> list[Row]:
    """GETATTRs sent so long after the start, all of which took as long."""
    return [
        call(
            number,
            "GETATTR",
            1,
            call_time=START_NS + sent,
            reply_time=START_NS + sent + srt_ns,
            srt=srt_ns,
        )
        for number, sent in enumerate(sent_ns, 1)
    ]


def every(tick_ms: int, number: int = 60) -> list[int]:
    """Times that a clock tells which ticks so often."""
    return [place * 7 * tick_ms * MILLISECOND for place in range(number)]


@pytest.mark.parametrize("tick_ms", [1, 4, 10, 16, 1000])
def test_a_clock_ticks_as_often_as_its_times_are_apart(tick_ms: int) -> None:
    rows = calls(every(tick_ms), tick_ms * MILLISECOND)
    with trace_of(meta(packets=120), calls=rows) as trace:
        assert clock(trace).tick_s == pytest.approx(tick_ms / 1000)
        assert trust(trace).clock_tick_s == clock(trace).tick_s


def test_a_time_in_a_hundred_may_be_damaged() -> None:
    rows = calls([*every(10), 1234567], 0)
    with trace_of(meta(packets=120), calls=rows) as trace:
        assert clock(trace).tick_s is None
    rows = calls([*every(10, 120), 1234567], 0)
    with trace_of(meta(packets=240), calls=rows) as trace:
        assert clock(trace).tick_s == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("packets", "rows"),
    [
        # A clock that tells microseconds.
        (120, calls([place * 7_001_000 for place in range(60)], 250_000)),
        # Too few times, too few packets, and all at a few moments.
        (120, calls(every(10, 49), 10 * MILLISECOND)),
        (99, calls(every(10), 10 * MILLISECOND)),
        (120, calls([0, MILLISECOND] * 60)),
        (120, []),
    ],
)
def test_else_nothing_is_said_of_it(packets: int, rows: list[Row]) -> None:
    with trace_of(meta(packets=packets), calls=rows) as trace:
        assert clock(trace).tick_s is None


@pytest.mark.parametrize(
    "sent_ns",
    [
        # Packets without times of their own, and a clock of seconds beside a run of three.
        [1234] * 60,
        [place // 20 * 1000 * MILLISECOND for place in range(60)],
    ],
)
def test_a_clock_by_which_no_call_takes_any_time_tells_none(sent_ns: list[int]) -> None:
    with trace_of(meta(packets=120), calls=calls(sent_ns)) as trace:
        told, found, judged = trust(trace), model(trace), findings(trace)
    assert (told.clock_stands, told.times_untold, told.complete) == (True, True, False)
    assert found.missing == ("clocks",)
    assert (found.rtt_s, found.verdict) == (None, None)
    assert not [each for each in judged.findings if each.cost_s is not None]


@pytest.mark.parametrize(
    ("packets", "rows"),
    [
        (120, [*calls([1234] * 59), *calls([1234], 1000)]),
        # A capture that was made by hand.
        (99, calls([1234] * 60)),
        (120, calls([1234] * 49)),
    ],
)
def test_one_call_that_takes_time_shows_that_the_clock_goes(packets: int, rows: list[Row]) -> None:
    with trace_of(meta(packets=packets), calls=rows) as trace:
        assert not clock(trace).stands
