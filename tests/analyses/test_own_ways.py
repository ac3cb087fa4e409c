"""Connections with a longer way than others of the same client and server, written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.servers.server_times import server_times
from pcapnfs.analyses.wire.network_path import network_path
from pcapnfs.analyses.wire.own_ways import longer_ns, own_ways
from tests.analyses.test_round_trip import acks, tcp, turns
from tests.unit.rows import Row, call, trace_of

PAIR = ("10.0.0.2", "10.0.0.1")

NEAR = tcp(1, syn_rtt=2_000, ack_rtt=20, **turns("server", 2_010, 2_050, 90))
FAR: Row = {"syn_rtt": 10_500, **acks("server", 9_900, 10_000), **turns("server", 10_050, 10_100)}
"""Of a second connection, over which most calls go; times in microseconds, as all here."""


def far(**change: Any) -> Row:  # noqa: ANN401  # columns of any type
    return tcp(2, ack_rtt=20, **{**FAR, "server_turns": 30, **change})


def calls(near: int = 10, beyond: int = 30) -> list[Row]:
    """Small calls of which each takes the server 0.3 ms, and READs on the longer way."""
    return [
        *(call(number, "GETATTR", 2.3, connection=1) for number in range(1, near + 1)),
        *(call(100 + number, "GETATTR", 10.3, connection=2) for number in range(beyond)),
        *(call(200 + number, "READ", 10.5, connection=2, stability="read") for number in range(40)),
    ]


def test_each_connection_has_its_own_way() -> None:
    with trace_of(connections=[NEAR, far()], calls=calls()) as trace:
        (way,) = own_ways(trace)
        longer = longer_ns(trace)
        path = network_path(trace)
        times = {each.op: each for each in server_times(trace)}
    assert (way.connection, way.client, way.server) == (2, *PAIR)
    assert (way.rtt_ns, way.longer_ns) == (10_000_000, 8_000_000)
    # Of 40 small calls 30 have it.
    assert longer == {PAIR: 6_000_000}
    assert path.rtt_s == path.ways[PAIR[0]].rtt_s == pytest.approx(0.008)
    assert times["GETATTR"].mean_s == pytest.approx(0.0003)
    assert times["READ"].mean_s == pytest.approx(0.0005)


def test_without_small_calls_all_of_them_count() -> None:
    """Those of both connections: 40 of 41 have the longer way."""
    near = call(1, "READ", 2.3, connection=1, stability="read")
    with trace_of(connections=[NEAR, far()], calls=[near, *calls(0, 0)]) as trace:
        assert longer_ns(trace) == {PAIR: 7_804_878}


@pytest.mark.parametrize(
    "change",
    [
        # A single answer was quicker: the path varies, became longer, or the server is busy.
        turns("server", 7_900, 10_100, 30),
        {"server_turns": 29},
        # Less than twice, and less than a millisecond more.
        {"syn_rtt": 3_900, **acks("server", 3_900, 3_900), **turns("server", 3_900, 3_900, 30)},
        {"client": "10.0.0.3"},
        {"transport": "RDMA"},
    ],
)
def test_what_may_be_the_servers_is_no_way(change: dict[str, Any]) -> None:
    with trace_of(connections=[NEAR, far(**change)], calls=calls()) as trace:
        assert own_ways(trace) == ()
        assert longer_ns(trace) == {}


@pytest.mark.parametrize(
    ("turns_of_each", "syn_rtt", "told"),
    [
        ((10, 10, 10), 10_000, [2, 3, 4]),
        ((10, 10, 9), 10_000, []),
        # One that tells a way of more than ten eighths is another.
        ((10, 10, 10), 12_600, []),
        ((20, 20, 10), 12_600, [2, 3]),
        ((10, 10, 30), 12_600, [4]),
    ],
)
def test_connections_of_one_longer_way_tell_it_together(
    turns_of_each: tuple[int, ...], syn_rtt: int, told: list[int]
) -> None:
    """As those of a mount with nconnect: none of all their answers was quicker."""
    quick = {"server_acks": 0, **turns("server", 12_600, 12_600)}
    ways = [
        {**far(**quick, syn_rtt=10_000), "connection": 2, "server_turns": turns_of_each[0]},
        {**far(**quick, syn_rtt=10_000), "connection": 3, "server_turns": turns_of_each[1]},
        {**far(**quick, syn_rtt=syn_rtt), "connection": 4, "server_turns": turns_of_each[2]},
    ]
    with trace_of(connections=[NEAR, *ways], calls=calls()) as trace:
        assert [way.connection for way in own_ways(trace)] == told


def test_a_quicker_answer_is_none_of_a_longer_way() -> None:
    """The other two have fewer than thirty."""
    ways = [{**far(server_turns=14), "connection": number} for number in (2, 3)]
    varies = {**far(**turns("server", 7_900, 10_100, 14)), "connection": 4}
    with trace_of(connections=[NEAR, *ways, varies], calls=calls()) as trace:
        assert own_ways(trace) == ()


UNTOLD = {"syn_rtt": None, "server_acks": 0, "server_ack_min": None, "server_ack_rtt": None}


@pytest.mark.parametrize(
    ("times_ms", "changes", "told"),
    [
        ([10.0, 10.3], {}, [10_000_000]),
        # One was quicker than eight tenths of what nearly all took;
        ([10.0, *[12.6] * 29], {}, []),
        ([10.0, *[12.4] * 29], {}, [12_400_000]),
        # READs, and stable calls, may wait for a disk.
        ([10.0], {"op": "READ", "stability": "read"}, []),
        ([10.0], {"stability": "stable"}, []),
        ([10.0], {"first_arrived": False}, []),
    ],
)
def test_without_handshake_and_acks_small_calls_tell_it(
    times_ms: list[float], changes: Row, told: list[int]
) -> None:
    asked = [
        {**call(number, "GETATTR", times_ms[number % len(times_ms)], connection=2), **changes}
        for number in range(1, 31)
    ]
    with trace_of(connections=[NEAR, far(**UNTOLD)], calls=asked) as trace:
        assert [way.rtt_ns for way in own_ways(trace)] == told


def test_few_small_calls_tell_no_way() -> None:
    with trace_of(connections=[NEAR, far(**UNTOLD)], calls=calls(10, 29)) as trace:
        assert own_ways(trace) == ()


def test_a_handshake_alone_is_enough_with_the_answers() -> None:
    alone = {"server_acks": 0, "server_ack_min": None, "server_ack_rtt": None}
    with trace_of(connections=[NEAR, far(**alone)], calls=calls()) as trace:
        (way,) = own_ways(trace)
    # It was late; the answers were not.
    assert way.rtt_ns == 10_100_000


def test_a_near_way_is_as_far_as_a_millisecond() -> None:
    near = tcp(1, syn_rtt=100, ack_rtt=20, **turns("server", 100, 100, 90))
    for own, told in ((1_000, 0), (1_200, 1)):
        other = far(syn_rtt=own, **acks("server", own, own), **turns("server", own, own, 30))
        with trace_of(connections=[near, other], calls=calls()) as trace:
            assert len(own_ways(trace)) == told
