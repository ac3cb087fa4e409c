"""Calls on both sides of a host that passes them on."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.passed_on import PassedOn, one_of, passed_on
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

INNER, OUTER, SERVER = "172.17.0.2", "192.0.2.9", "10.0.0.1"


def both_sides(
    calls: int,
    *,
    later_ms: float = 0.1,
    back_ms: float = -0.1,
    onward: str = SERVER,
    **change: object,
) -> list[Row]:
    """Calls of a client, and the same on the other side; `change`: what is other there."""
    rows: list[Row] = []
    for number in range(1, calls + 1):
        sent = START_NS + number * 10 * MILLISECOND
        onward_ns, back_ns = int(later_ms * MILLISECOND), int((5 + back_ms) * MILLISECOND)
        there = {
            "client": OUTER,
            "server": onward,
            "xid": 700 + number,
            "call_time": sent + onward_ns,
            "reply_time": sent + back_ns,
        }
        rows += [
            call(number, "GETATTR", 5.0, client=INNER, server=SERVER, xid=700 + number),
            call(number, "GETATTR", 5.0, call_frame=2 * number, **there | change),
        ]
    return rows


def found(rows: list[Row]) -> tuple[PassedOn, ...]:
    ends = sorted({(row["client"], row["server"]) for row in rows})
    connections = [
        {"connection": number, "transport": "TCP", "client": client, "server": server}
        for number, (client, server) in enumerate(ends)
    ]
    with trace_of(calls=rows, connections=connections) as trace:
        return passed_on(trace)


def test_calls_that_go_on_under_another_address_are_told() -> None:
    (pair,) = found(both_sides(8))
    assert (pair.client, pair.server) == (INNER, SERVER)
    assert (pair.onward_client, pair.onward_server) == (OUTER, SERVER)
    assert pair.calls == 8
    assert pair.frames[0] == 1


def test_the_server_may_be_the_one_that_has_another_address() -> None:
    (pair,) = found(both_sides(8, client=INNER, onward="10.0.0.77"))
    assert (pair.client, pair.onward_client) == (INNER, INNER)
    assert (pair.server, pair.onward_server) == (SERVER, "10.0.0.77")


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(both_sides(7), id="few"),
        pytest.param(both_sides(20, later_ms=51), id="late"),
        pytest.param(both_sides(20, back_ms=0.1), id="answered later"),
        pytest.param(both_sides(20, call_bytes=1), id="another length"),
        pytest.param(both_sides(20, procedure=77), id="another procedure"),
        pytest.param(both_sides(20, client=INNER), id="one pair"),
    ],
)
def test_what_two_clients_do_is_none(rows: list[Row]) -> None:
    assert found(rows) == ()


def test_xids_that_are_alike_by_chance_are_few_of_all() -> None:
    alone = [
        call(100 + number, "GETATTR", 1.0, client=client, server=SERVER, xid=first + number)
        for client, first in ((INNER, 10_000), (OUTER, 20_000))
        for number in range(9)
    ]
    assert found(both_sides(8) + alone) == ()


def test_addresses_of_one_client_are_known_as_such() -> None:
    passed = found(both_sides(8))
    assert one_of(passed, (INNER, OUTER))
    assert not one_of(passed, (INNER,))
    assert not one_of(passed, (INNER, OUTER, "10.0.0.3"))
    assert not one_of((), (INNER, OUTER))
