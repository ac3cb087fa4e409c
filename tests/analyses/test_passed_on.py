"""Calls on both sides of a host that passes them on."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.passed_on import PassedOn, one_of, passed_on
from pcapnfs.record import replace
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
            "call_time": sent + onward_ns,
            "reply_time": sent + back_ns,
        }
        alike: Row = {"xid": 700 + number, "reply_bytes": 116}
        rows += [
            call(number, "GETATTR", 5.0, client=INNER, server=SERVER, **alike),
            call(number, "GETATTR", 5.0, call_frame=2 * number, **{**alike, **there, **change}),
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
        pytest.param(both_sides(20, later_ms=0, back_ms=0), id="at the same moments"),
        pytest.param(both_sides(20, call_bytes=1), id="another length"),
        pytest.param(both_sides(20, reply_bytes=1), id="another length of the replies"),
        pytest.param(both_sides(20, procedure=77), id="another procedure"),
        pytest.param(both_sides(20, version=2), id="another version"),
        pytest.param(both_sides(20, machine="other"), id="another machine"),
        pytest.param(both_sides(20, uid=77), id="another user"),
        pytest.param(both_sides(20, session=b"S" * 16), id="another session"),
        pytest.param(both_sides(20, slot=3), id="another slot"),
        pytest.param(both_sides(20, client=INNER), id="one pair"),
    ],
)
def test_what_two_clients_do_is_none(rows: list[Row]) -> None:
    assert found(rows) == ()


def test_what_a_capture_lost_of_one_side_hides_nothing() -> None:
    rows = both_sides(40)
    (pair,) = found([row for number, row in enumerate(rows) if number % 21 != 3])
    assert pair.calls == 36
    # Of nearly all calls of the pair with fewer both are there.
    assert found([row for number, row in enumerate(rows) if number % 8 not in (2, 7)]) == ()


def test_a_pair_of_clients_that_is_nested_now_and_then_is_none() -> None:
    later = both_sides(18, back_ms=0.1)
    rows = both_sides(2) + [{**row, "xid": int(str(row["xid"])) + 100} for row in later]
    assert found(rows) == ()


def test_one_call_on_many_connections_is_none() -> None:
    rows = both_sides(8)
    for place in range(7):
        rows += both_sides(8, client=f"192.0.2.{20 + place}", later_ms=0.2 + place, back_ms=-0.2)
    assert found(rows) == ()


def test_of_two_hosts_behind_one_another_each_is_told_once() -> None:
    last = both_sides(8, client="198.51.100.7", later_ms=0.3, back_ms=-0.3)
    passed = found(both_sides(8) + last[1::2])
    assert [(pair.client, pair.onward_client) for pair in passed] == [
        (INNER, OUTER),
        (OUTER, "198.51.100.7"),
    ]
    assert one_of(passed, (INNER, OUTER, "198.51.100.7"))


def test_addresses_of_one_client_are_known_as_such() -> None:
    passed = found(both_sides(8))
    assert one_of(passed, (INNER, OUTER))
    assert not one_of(passed, (INNER,))
    assert not one_of(passed, (INNER, OUTER, "10.0.0.3"))
    other = replace(passed[0], client="172.17.0.3")
    assert one_of((*passed, other), (INNER, OUTER))
    assert one_of((*passed, other), ("172.17.0.3", OUTER))
    assert not one_of((*passed, other), (INNER, "172.17.0.3", OUTER))
    assert not one_of((), (INNER, OUTER))
