"""What servers take for what they have in memory."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.server_times import server_times
from pcapnfs.analyses.servers.warm_calls import WarmCalls, warm_calls
from tests.analyses.test_server_times import NEAR
from tests.unit.rows import Row, call, trace_of


def warm(calls: list[Row]) -> tuple[WarmCalls, ...]:
    with trace_of(calls=calls, connections=[NEAR]) as trace:
        return warm_calls(trace, server_times(trace))


def busy(took_ms: float) -> list[Row]:
    """Directories that are made, asked about at once, and asked about again; one call at a time."""
    return [
        *(call(number, "MKDIR", 8, file=number, stability="stable") for number in range(1, 300, 3)),
        *(call(number + 1, "ACCESS", took_ms, file=number) for number in range(1, 300, 3)),
        *(call(number + 2, "GETATTR", took_ms, file=number) for number in range(1, 300, 3)),
    ]


def test_a_server_without_time_lets_every_call_wait() -> None:
    (found,) = warm(busy(4))
    assert (found.server, found.calls) == ("10.0.0.1", 200)
    assert found.median_s == pytest.approx(0.004)
    # Four of the eight milliseconds of each MKDIR, and all of the others.
    costs = dict(found.cost_s)
    assert costs["stable"] == pytest.approx(0.4)
    assert costs["unstable"] == pytest.approx(0.8)
    assert found.frames[0] == 3


def test_a_server_that_has_the_time_is_not_looked_at() -> None:
    assert warm(busy(0.9)) == ()


def test_what_is_asked_about_for_the_first_time_may_wait_for_a_disk() -> None:
    assert warm([call(number, "GETATTR", 6, file=number) for number in range(1, 100)]) == ()


def test_what_comes_while_others_are_under_way_may_wait_for_them() -> None:
    """Each MKDIR is under way for 12 ms, and the ACCESS about the one before comes after 10."""
    calls = [
        *(
            call(number, "MKDIR", 12, file=number, stability="stable")
            for number in range(1, 200, 2)
        ),
        *(call(number + 1, "ACCESS", 6, file=number - 2) for number in range(3, 200, 2)),
    ]
    assert warm(calls) == ()


def test_a_file_may_be_forgotten_after_a_while() -> None:
    calls = [
        *(call(number, "GETATTR", 5, file=number) for number in range(1, 50)),
        *(call(number + 6100, "GETATTR", 5, file=number) for number in range(1, 50)),
    ]
    assert warm(calls) == ()
