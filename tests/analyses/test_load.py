"""Service times of small calls by the load of the server."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.load import load
from tests.analyses.test_tcp_stalls import asked, at
from tests.unit.rows import call, trace_of


def test_small_calls_are_sorted_by_how_many_are_under_way() -> None:
    calls = [
        call(1, "GETATTR", 2),
        # Four at once, of two clients.
        *(call(number, "WRITE", 95, stability="stable") for number in (10, 11)),
        call(12, "GETATTR", 60, client="10.0.0.3"),
        call(13, "GETATTR", 4),
        call(14, "GETATTR", 5, status=70),
        call(30, "GETATTR", 3, server="10.0.0.9"),
    ]
    with trace_of(calls=calls) as trace:
        first, second = load(trace)
    assert (first.server, first.calls) == ("10.0.0.1", 6)
    assert [(band.least, band.calls, band.median_s) for band in first.bands] == [
        (1, 1, 0.002),
        (2, 1, 0.06),
        (4, 1, 0.004),
    ]
    assert first.bands[1].frames == (23,)
    assert first.bands[0].time_s == pytest.approx(0.002)
    assert (second.server, second.calls) == ("10.0.0.9", 1)


def test_without_calls_there_is_no_server() -> None:
    with trace_of() as trace:
        assert load(trace) == ()


def test_what_stood_still_for_a_lost_segment_is_left_out() -> None:
    with asked(at(11, 0.2, 211)) as trace:
        (server,) = load(trace)
    (band,) = server.bands
    assert band.calls == 10
    assert band.time_s == pytest.approx(0.01)
