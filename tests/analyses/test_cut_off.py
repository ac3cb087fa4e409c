"""Pauses that are none, as the client's own packets show when it is back."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.cut_off import CutOff, cut_off, cut_off_s
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

SECOND = 1000 * MILLISECOND


def at(number: int, seconds: float, **columns: object) -> Row:
    """A call sent so many seconds after the start, and answered within a millisecond."""
    sent = START_NS + int(seconds * SECOND)
    times = {"call_first_time": sent, "call_time": sent, "reply_time": sent + MILLISECOND}
    return call(number, "GETATTR", 1, **({"connection": 1, "xid": 100 + number} | times | columns))


def connection(number: int, since_s: float, until_s: float, **columns: object) -> dict[str, object]:
    """Captured at the server."""
    since = START_NS + int(since_s * SECOND)
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_port": 2049,
        "first_frame": number,
        "first_time": since,
        "last_time": START_NS + int(until_s * SECOND),
        "syn_time": since,
        "syn_rtt": 10_000,
        "ack_rtt": MILLISECOND,
        "handshake": True,
    } | columns


FORMER, LATER = connection(1, 0, 5.1), connection(2, 25, 30)

CALLS = [at(1, 0.1), at(2, 3.1), at(3, 5), at(4, 25.001, connection=2), at(5, 26, connection=2)]
"""A pause of 3 s, and then of 20 s, after which the client comes on another connection."""


def moved(
    *,
    calls: list[Row] = CALLS,
    former: dict[str, object] = FORMER,
    later: dict[str, object] = LATER,
) -> Trace:
    return trace_of(calls=calls, connections=[former, later])


def rounded(found: tuple[CutOff, ...]) -> tuple[CutOff, ...]:
    """To milliseconds."""
    return tuple(
        replace(
            pair,
            longest_s=round(pair.longest_s, 3),
            own_s=round(pair.own_s, 3),
            idle_s=round(pair.idle_s, 3),
        )
        for pair in found
    )


def test_a_connection_that_takes_the_place_of_one_that_nobody_ended() -> None:
    with moved() as trace:
        assert rounded(cut_off(trace)) == (
            CutOff(
                client="10.0.0.2",
                server="10.0.0.1",
                times=1,
                moved=1,
                unacknowledged=0,
                together=0,
                longest_s=19.999,
                from_ns=START_NS + 5_001 * MILLISECOND,
                own_s=2.999,
                idle_s=17.0,
                frames=(2,),
            ),
        )
        assert cut_off_s(trace) == {"10.0.0.2": pytest.approx(17.0)}


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("kind", ["fin", "rst"])
def test_one_that_was_ended_before_was_not_lost(side: str, kind: str) -> None:
    """What was still sent on it when the path was back ends it afterwards."""
    for seconds, told in ((24, 0), (26, 1)):
        ended = {f"{side}_{kind}_time": START_NS + seconds * SECOND}
        with moved(former=FORMER | ended) as trace:
            assert len(cut_off(trace)) == told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, 1),
        # The client counts by the other byte order.
        ({"xid": 103 + (1 << 24)}, 1),
        ({"xid": 103}, 0),
        ({"xid": 103 + 64}, 1),
        ({"xid": 103 + 65}, 0),
        ({"xid": 90_000_000}, 0),
    ],
)
def test_a_client_that_counts_from_another_number_is_another_mount(
    changes: dict[str, object], told: int
) -> None:
    calls = [*CALLS[:3], at(4, 25.001, connection=2, **changes)]
    with moved(calls=calls) as trace:
        assert len(cut_off(trace)) == told


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ({"missing_bytes": 1}, {}),
        ({}, {"missing_bytes": 1}),
        ({"transport": "UDP"}, {"transport": "UDP"}),
        ({}, {"syn_time": None}),
        ({}, {"server_port": 111}),
        ({}, {"syn_time": START_NS + 5_500 * MILLISECOND}),
    ],
)
def test_where_the_capture_does_not_tell_that_nobody_ended_it(
    former: dict[str, object], later: dict[str, object]
) -> None:
    with moved(former=FORMER | former, later=LATER | later) as trace:
        assert cut_off(trace) == ()


def test_connections_side_by_side_are_several() -> None:
    """As those of nconnect: the former is used on."""
    with moved(calls=[*CALLS, at(6, 27)]) as trace:
        assert cut_off(trace) == ()


def test_at_the_client_its_calls_would_be_seen() -> None:
    half = {"syn_rtt": MILLISECOND, "ack_rtt": 10_000}
    with moved(former=FORMER | half, later=LATER | half) as trace:
        assert cut_off(trace) == ()


def test_what_the_server_sent_again_meanwhile_leaves_no_pause_of_the_clients() -> None:
    sent_again = {"server_unacked": 100, "server_resent": 5, "last_time": START_NS + 12 * SECOND}
    with moved(former=FORMER | sent_again) as trace:
        (pair,) = rounded(cut_off(trace))
    assert (pair.unacknowledged, pair.idle_s) == (1, 19.999)
    for changes in (
        {"server_unacked": 0},
        {"server_resent": 0},
        {"last_time": START_NS + 5 * SECOND},
    ):
        with moved(former=FORMER | sent_again | changes) as trace:
            (pair,) = rounded(cut_off(trace))
        assert (pair.unacknowledged, pair.idle_s) == (0, 17.0)


def test_a_client_that_pauses_as_long_otherwise_may_have_paused() -> None:
    with moved(calls=[*CALLS, at(6, 60, connection=2)]) as trace:
        (pair,) = cut_off(trace)
        assert (pair.times, pair.idle_s, cut_off_s(trace)) == (1, 0.0, {})


def test_what_goes_to_another_server_meanwhile_costs_nothing_more() -> None:
    other = {"server": "10.0.0.3", "connection": 3}
    there = connection(3, 0, 30, server="10.0.0.3")
    for calls, idle_s in (
        ([at(6, 10, **other)], 0.0),
        ([at(6, 4.9, **other, reply_time=START_NS + 7 * SECOND)], 15.001),
    ):
        with trace_of(calls=[*CALLS, *calls], connections=[FORMER, LATER, there]) as trace:
            (pair,) = cut_off(trace)
        assert pair.idle_s == pytest.approx(idle_s)


@pytest.mark.parametrize(
    ("columns", "after_ms", "told"),
    [
        ({}, 2, 1),
        ({}, 101, 0),
        ({"transmissions": 5, "reply_time": START_NS + 20_004 * MILLISECOND}, None, 1),
        ({"transmissions": 2, "reply_time": START_NS + 20_101 * MILLISECOND}, None, 0),
        # Sent again at once, since RPC refused it.
        ({"rpc_status": "MSG_DENIED"}, 2, 0),
        # What the server sent again meanwhile tells.
        ({"resent_before_time": START_NS + 9 * SECOND}, 2, 0),
        ({"resent_before_time": START_NS + 2 * SECOND}, 2, 1),
    ],
)
def test_a_call_that_comes_several_times_at_once_had_waited(
    columns: dict[str, object], after_ms: float | None, told: int
) -> None:
    calls = [at(1, 0.1), at(2, 3.1), at(3, 20, **columns), at(4, 20.2)]
    notes = []
    if after_ms is not None:
        time = START_NS + 20 * SECOND + int(after_ms * MILLISECOND)
        notes = [{"reason": "retransmitted_call", "call": 3, "time": time}]
    with trace_of(calls=calls, connections=[connection(1, 0, 21)], notes=notes) as trace:
        found = rounded(cut_off(trace))
    assert len(found) == told
    if told:
        (pair,) = found
        assert (pair.moved, pair.together, pair.frames) == (0, 1, (5,))
        assert (pair.longest_s, pair.idle_s) == (16.899, 13.9)
