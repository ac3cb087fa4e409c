"""What clients waited for until the server knew them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.mounts.logins import Logins, logins
from tests.unit.rows import Row, call, trace_of

CALLS: list[Row] = [
    call(1, "EXCHANGE_ID", 5000.0, protocol="4.1"),
    call(600, "CREATE_SESSION", 1.0, protocol="4.1"),
    call(601, "RECLAIM_COMPLETE", None, protocol="4.1"),
    call(602, "GETATTR", 900.0, protocol="4.1"),
    call(700, "SETCLIENTID", 2000.0, protocol="4.0", client="10.0.0.3"),
    call(1000, "SETCLIENTID", 2.0, protocol="4.0", client="10.0.0.1", callback=True),
]


def test_they_are_added_up_by_client() -> None:
    with trace_of(calls=CALLS) as trace:
        found = logins(trace)
        measured = measure(trace)
    assert found == {"10.0.0.2": Logins(2, 5.001), "10.0.0.3": Logins(1, 2.0)}
    assert measured.clients is not None
    assert {each.client: each.login_s > 0 for each in measured.clients.each} == {
        "10.0.0.2": True,
        "10.0.0.3": True,
    }
    assert measured.login_s > 0


def test_round_trips_are_none_of_it() -> None:
    assert Logins(2, 5.001).beyond_s(0.5) == pytest.approx(4.001)
    assert Logins(2, 0.1).beyond_s(0.5) == 0.0


def test_without_any_nobody_waited() -> None:
    with trace_of(calls=CALLS[3:4]) as trace:
        assert logins(trace) == {}
        assert measure(trace).login_s == 0.0
