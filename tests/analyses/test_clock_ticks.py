"""The clock's tick: what nearly all times are multiples of, if there are enough of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.measuring import measure
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
        alone = measure(trace, each=True).alone
    assert alone is not None
    assert alone.rtt_s is None
    assert (told.clock_stands, told.times_untold, told.complete) == (True, True, False)
    assert found.missing == ("clocks",)
    assert (found.rtt_s, found.verdict) == (None, None)
    assert not [each for each in judged.findings if each.cost_s is not None]


@pytest.mark.parametrize(
    ("packets", "calls_answered", "lasts_ms", "stands"),
    [(20, 8, 10, True), (20, 7, 10, False), (16, 1, 0, True), (15, 1, 0, False), (16, 0, 0, False)],
)
def test_few_packets_tell_that_it_stands(
    packets: int, calls_answered: int, lasts_ms: int, *, stands: bool
) -> None:
    facts = meta(packets=packets, end_ns=START_NS + lasts_ms * MILLISECOND)
    with trace_of(facts, calls=calls([0] * calls_answered)) as trace:
        assert clock(trace).stands == clock(trace).untold == stands
        assert trust(trace).clock_stands == stands


@pytest.mark.parametrize(
    ("packets", "rows"),
    [
        (120, [*calls([1234] * 59), *calls([1234], 1000)]),
        (14, calls([1234] * 7)),
    ],
)
def test_one_call_that_takes_time_shows_that_the_clock_goes(packets: int, rows: list[Row]) -> None:
    with trace_of(meta(packets=packets), calls=rows) as trace:
        assert not clock(trace).stands


def short(took: int, others: int, ticks: int = 1) -> list[Row]:
    """Calls by a clock of seconds, of which so many took so many ticks, and the others none."""
    second = 1000 * MILLISECOND
    return [
        {**each, "call": number}
        for number, each in enumerate(
            (
                *calls([place * second for place in range(took)], ticks * second),
                *calls([place // 9 * second for place in range(others)]),
            ),
            1,
        )
    ]


@pytest.mark.parametrize(
    ("rows", "seconds", "untold"),
    [
        # As with a coin that fell 73 times on one side and 200 times on the other, seven more or
        # fewer are chance: a tenth of their sum.
        (short(73, 200), 100, True),
        (short(74, 200), 100, False),
        # Where all took one, it is none.
        (short(60, 0), 60, False),
        # A call that stood still for a minute is known to a second.
        (short(1, 100, 60), 60, False),
        # A twentieth of the capture more or less, and a little more than that.
        (short(9, 200), 59, False),
        (short(9, 200), 58, True),
    ],
)
def test_a_sum_of_a_few_ticks_is_chance(rows: list[Row], seconds: int, untold: bool) -> None:
    end_ns = START_NS + seconds * 1000 * MILLISECOND
    with trace_of(meta(packets=400, end_ns=end_ns), calls=rows) as trace:
        told, found, judged = trust(trace), model(trace), findings(trace)
    assert told.clock_tick_s == pytest.approx(1.0)
    assert (told.times_untold, told.clock_untold, told.complete) == (untold, untold, not untold)
    assert (found.verdict is None) == untold
    if untold:
        assert not [each for each in judged.findings if each.cost_s is not None]


def test_two_seconds_show_a_clock_of_seconds_and_two_milliseconds_none() -> None:
    for tick_ms, told in ((1000, 1.0), (1, None)):
        rows = calls([place % 2 * tick_ms * MILLISECOND for place in range(60)])
        with trace_of(meta(packets=120), calls=rows) as trace:
            assert clock(trace).tick_s == told
