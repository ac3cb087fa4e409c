"""Connections that were asked for in vain to the end."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.vain_connections import (
    VainConnections,
    asked_in_vain_s,
    vain_connections,
)
from pcapnfs.meta import Vain
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, operation, trace_of

ASKED = Vain(
    client="10.0.0.2",
    server="10.0.0.1",
    port=2049,
    attempts=1,
    syns=3,
    refusals=0,
    first_ns=START_NS + 4_000 * MILLISECOND,
    last_ns=START_NS + 7_000 * MILLISECOND,
    frame=9,
)
"""SYNs after 4, 5 and 7 s of a capture of ten."""

CALLED = call(100, "GETATTR", 1, connection=1)
"""After a second."""


def told(
    *asked: Vain,
    calls: tuple[Row, ...] = (CALLED,),
    connections: tuple[Row, ...] = (),
    after_all: bool = True,
) -> tuple[VainConnections, ...]:
    """What is told of a capture of ten seconds; what it costs is after all calls or between."""
    told = replace(meta(), vain=asked)
    with trace_of(told, calls=calls, connections=connections) as trace:
        found = vain_connections(trace)
        cost_s = sum(asked_in_vain_s(trace, after_all=after_all).values())
        assert cost_s == pytest.approx(sum(pair.idle_s for pair in found))
        assert asked_in_vain_s(trace, after_all=not after_all) == {}
        return found


def test_who_waited_and_for_how_long() -> None:
    assert told(ASKED) == (
        VainConnections(
            asked=ASKED,
            program=None,
            since_s=4.0,
            lasted_s=6.0,
            waits=True,
            connected=False,
            idle_s=6.0,
            from_ns=START_NS + 4_000 * MILLISECOND,
        ),
    )


@pytest.mark.parametrize(("last_ms", "lasted_s"), [(4_500, 0.5), (4_900, 0.9), (5_000, 6.0)])
def test_who_sends_no_syn_when_it_is_due_has_given_up(last_ms: int, lasted_s: float) -> None:
    """The next one takes as long as all before, and four seconds."""
    (pair,) = told(replace(ASKED, last_ns=START_NS + last_ms * MILLISECOND))
    assert (pair.lasted_s, pair.waits, pair.idle_s) == (lasted_s, lasted_s > 1, lasted_s)


@pytest.mark.parametrize(
    ("calls", "cost_s"),
    [
        # As a mount begins, attempts may be others'; nor does who calls elsewhere stand still.
        ((), 0.0),
        ((CALLED, call(500, "GETATTR", 1, connection=2)), 0.0),
        ((CALLED, call(500, "GETATTR", 1, server="10.0.0.9")), 0.0),
        ((CALLED, call(500, "GETATTR", 1, client="10.0.0.3")), 6.0),
        # Asking where the service is belongs to it, and is time of its own.
        ((CALLED, call(500, "GETPORT", 1_000, program=100000)), 5.0),
        ((CALLED, call(500, "GETPORT", 8_000, program=100000)), 1.0),
        ((call(100, "GETPORT", 1, program=100000),), 0.0),
        # What was under way as it began is that call's.
        ((call(100, "READ", 3_500, connection=1),), 5.5),
        ((CALLED, call(110, "READ", None, connection=1)), 0.0),
        ((call(110, "READ", None, connection=1), call(120, "GETATTR", 1, connection=1)), 6.0),
    ],
)
def test_it_costs_who_had_made_calls_and_made_none_meanwhile(
    calls: tuple[Row, ...], cost_s: float
) -> None:
    (pair,) = told(ASKED, calls=calls)
    assert (pair.lasted_s, pair.idle_s) == (6.0, cost_s)


def test_the_portmapper_tells_what_listens_there() -> None:
    asked = replace(ASKED, port=44919)
    texts = ("100005 v3 udp port 44920", "100003 v3 tcp", "100021 v4 tcp port 44919")
    calls = [call(50 + place, "GETPORT", 1, program=100000) for place in range(3)]
    operations = [operation(50 + place, "GETPORT", text=text) for place, text in enumerate(texts)]
    with trace_of(replace(meta(), vain=(asked,)), calls=calls, operations=operations) as trace:
        (pair,) = vain_connections(trace)
        assert pair.program == 100021
    with trace_of(replace(meta(), vain=(ASKED,)), calls=calls, operations=operations) as trace:
        (pair,) = vain_connections(trace)
        assert pair.program is None


def test_a_server_that_asks_its_client_is_told_from_a_client() -> None:
    back = replace(ASKED, client=ASKED.server, server=ASKED.client, port=111)
    (pair,) = told(back)
    assert pair.back
    # Each has NFS from the other; and who asks a host about services is no client of it.
    mutual = call(101, "GETATTR", 1, client=ASKED.server, server=ASKED.client)
    (pair,) = told(back, calls=(CALLED, mutual))
    assert not pair.back
    (pair,) = told(back, calls=(CALLED, {**mutual, "op": "GETPORT", "program": 100000}))
    assert pair.back
    (pair,) = told(ASKED)
    assert not pair.back
    # Who asks for NFS wants to mount what that host serves.
    (pair,) = told(replace(back, port=2049))
    assert not pair.back


@pytest.mark.parametrize(
    "elsewhere",
    [
        call(101, "NOTIFY", 2, client=ASKED.server, server=ASKED.client, program=100024),
        call(101, "GETATTR", 2, client=ASKED.server, server="10.0.0.9"),
    ],
)
def test_a_server_that_cannot_call_its_client_back_does_not_wait(elsewhere: Row) -> None:
    """It had made calls before, as a client does, and its own client works on meanwhile."""
    back = replace(ASKED, client=ASKED.server, server=ASKED.client, port=44919)
    at_work = tuple(call(4_200 + 100 * place, "WRITE", 3, connection=1) for place in range(40))
    (pair,) = told(back, calls=(CALLED, elsewhere, *at_work))
    assert (pair.back, pair.idle_s) == (True, 0.0)
    # Another's connection that it waits for as a client is told of beside.
    waits = replace(back, server="10.0.0.9", port=2049)
    pairs = told(back, waits, calls=(CALLED, elsewhere, *at_work))
    assert {pair.asked.server: pair.idle_s for pair in pairs} == {
        back.server: 0.0,
        "10.0.0.9": 6.0,
    }


@pytest.mark.parametrize(
    ("program", "back", "cost_s"),
    [(100003, False, 6.0), (100005, False, 6.0), (100021, True, 0.0)],
)
def test_a_host_that_mounts_from_its_own_client_waits_for_it(
    program: int, back: bool, cost_s: float
) -> None:
    """The portmapper tells what listens on a port of its own."""
    asked = replace(ASKED, client=ASKED.server, server=ASKED.client, port=44919)
    pair = {"client": asked.client, "server": asked.server}
    calls = [
        CALLED,
        call(101, "GETATTR", 2, client=asked.client, server="10.0.0.9"),
        call(102, "GETPORT", 1, program=100000, **pair),
    ]
    told = operation(102, "GETPORT", text=f"{program} v3 tcp port 44919")
    with trace_of(replace(meta(), vain=(asked,)), calls=calls, operations=[told]) as trace:
        (found,) = vain_connections(trace)
        assert (found.program, found.back, found.idle_s) == (program, back, cost_s)


def test_a_call_that_was_seen_to_wait_until_its_connection_ended() -> None:
    hanging = call(150, "READ", None, connection=1)
    connection: Row = {
        "connection": 1,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS,
        "last_time": START_NS + 3_000 * MILLISECOND,
        "server_segments": 1,
        "server_rst_time": START_NS + 3_000 * MILLISECOND,
    }
    asked = replace(meta(), vain=(ASKED,))
    with trace_of(asked, calls=[CALLED, hanging], connections=[connection]) as trace:
        (pair,) = vain_connections(trace)
        assert pair.idle_s == 6.0


def connection(first_s: float, last_s: float, **columns: object) -> Row:
    """Another connection of the same client to the same port, that came about."""
    row: dict[str, object] = {
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_port": 2049,
        "first_time": START_NS + int(first_s * 1_000) * MILLISECOND,
        "last_time": START_NS + int(last_s * 1_000) * MILLISECOND,
    }
    return row | columns


def test_it_ends_with_a_connection_from_another_port() -> None:
    later = call(900, "GETATTR", 1, connection=2)
    (pair,) = told(
        ASKED, calls=(CALLED, later), connections=(connection(8.5, 9.9),), after_all=False
    )
    assert (pair.lasted_s, pair.waits, pair.connected, pair.idle_s) == (4.5, False, True, 4.5)
    others: tuple[dict[str, object], ...] = (
        {"server_port": 111},
        {"client": "10.0.0.3"},
        {"server": "10.0.0.9"},
    )
    for elsewhere in others:
        (pair,) = told(ASKED, connections=(connection(8.5, 9.9, **elsewhere),))
        assert (pair.lasted_s, pair.connected) == (6.0, False)


def test_a_connection_between_two_attempts_parts_them() -> None:
    (pair,) = told(ASKED, connections=(connection(4.5, 6.0),))
    assert (pair.since_s, pair.lasted_s) == (6.0, 4.0)
    (pair,) = told(ASKED, connections=(connection(4.5, 9.0),))
    assert (pair.since_s, pair.lasted_s) == (4.0, 6.0)


def test_calls_that_go_on_after_it_are_its_end_as_well() -> None:
    """It gave up after the last SYN, and calls another server then."""
    short = replace(ASKED, last_ns=START_NS + 4_900 * MILLISECOND)
    (pair,) = told(
        short, calls=(CALLED, call(800, "GETATTR", 1, server="10.0.0.9")), after_all=False
    )
    assert (pair.lasted_s, pair.waits, pair.idle_s) == (0.9, False, 0.9)


def test_time_is_counted_once_and_the_longest_is_told_first() -> None:
    """The portmapper was asked a second before."""
    portmapper = replace(ASKED, port=111, first_ns=ASKED.first_ns - 1_000 * MILLISECOND)
    first, second = told(ASKED, portmapper)
    assert [(pair.asked.port, pair.lasted_s) for pair in (first, second)] == [
        (111, 7.0),
        (2049, 6.0),
    ]
    assert (first.idle_s, second.idle_s) == (7.0, 0.0)
