"""What happened when: parts of equal length, and when a frame was."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.concurrency import MOMENTS, timeline
from pcapnfs.analyses.times.course import course, times_of
from tests.unit.rows import MILLISECOND, START_NS, call, trace_of


def test_calls_are_in_the_part_in_which_they_were_sent() -> None:
    # The n-th call is sent n × 10 ms after the start; the last reply comes at 610 ms.
    rows = [
        call(1, "WRITE", 4, stability="stable"),
        call(3, "READ", 2),
        call(60, "READ", 10),
    ]
    with trace_of(calls=rows) as trace:
        found = course(trace)
        moments = timeline(trace)
    assert found.start_s == pytest.approx(0.010)
    assert found.part_s == pytest.approx(0.010, rel=1e-6)
    assert len(found.parts) == MOMENTS == 60
    first, second, third, last = *found.parts[:3], found.parts[-2]
    assert (first.calls, first.stable_calls, first.p50_s) == (1, 1, 0.004)
    assert (second.calls, second.stable_calls, second.p50_s) == (1, 0, 0.002)
    assert (third.calls, third.p50_s, third.p95_s) == (0, None, None)
    assert last.calls == 1
    assert sum(part.calls for part in found.parts) == 3
    assert [(part.at_s, part.calls, part.outstanding) for part in found.parts] == [
        (moment.at_s, moment.calls, moment.outstanding) for moment in moments
    ]


def test_median_and_95th_percentile_are_those_of_a_part() -> None:
    rows = [
        call(1, "READ", ms, call=place, call_first_time=START_NS, call_time=START_NS)
        for place, ms in enumerate((1, 2, 3, 4, 5), 1)
    ]
    with trace_of(calls=[*rows, call(600, "READ", 1)]) as trace:
        part = course(trace).parts[0]
    assert part.p50_s == pytest.approx(3e-3)
    assert part.p95_s == pytest.approx(4.8e-3)


def test_callbacks_and_calls_without_reply_are_left_out() -> None:
    rows = [call(1, "READ", None), call(2, "CB_RECALL", 1, callback=True)]
    with trace_of(calls=rows) as trace:
        found = course(trace)
        assert (found.start_s, found.part_s, found.parts) == (None, None, ())
        assert times_of(trace, [1, 2, 3, 4]) == {}


def test_a_frame_has_the_time_of_its_call_or_reply() -> None:
    # Call n is in frame 2n - 1, its reply in frame 2n.
    rows = [call(1, "READ", 4), call(3, "READ", 2)]
    with trace_of(calls=rows) as trace:
        assert times_of(trace, [1, 2, 5, 6, 77]) == pytest.approx(
            {1: 0.0, 2: 0.004, 5: 0.020, 6: 0.022}
        )
        assert times_of(trace, []) == {}


def test_a_time_that_no_difference_can_hold_is_bounded() -> None:
    far = 2**63 - 1
    rows = [call(1, "READ", 1), call(2, "READ", 1, reply_time=far, srt=MILLISECOND)]
    with trace_of(calls=rows) as trace:
        assert len(course(trace).parts) == MOMENTS
