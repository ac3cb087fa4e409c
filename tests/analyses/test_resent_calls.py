"""Calls sent more than once."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire.resent_calls import resent_calls
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, operation, trace_of


def tcp(number: int, first_ms: int = 0) -> Row:
    """A connection that began so many milliseconds after the start."""
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS + first_ms * MILLISECOND,
    }


def note(reason: str, number: int, frame: int) -> Row:
    """What was counted once though it came twice."""
    return {"reason": reason, "call": number, "connection": 0, "frame": frame}


def test_lost_slow_and_moved_calls_are_told_apart() -> None:
    calls = [
        *(call(number, "GETATTR", 2) for number in range(1, 6)),
        call(6, "GETATTR", 8, transmissions=2),
        call(7, "GETATTR", 7, transmissions=3),
        call(8, "GETATTR", 9, transmissions=2, connection=1),
        call(9, "GETATTR", 9),
    ]
    notes = [
        note("duplicate_reply", 7, 40),
        note("duplicate_reply", 7, 41),
        note("retransmitted_call", 9, 43),
        note("truncated", 1, 44),
    ]
    with trace_of(calls=calls, connections=[tcp(0), tcp(1, 85)], notes=notes) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.client, pair.server, pair.transports) == ("10.0.0.2", "10.0.0.1", ("TCP",))
    assert (pair.calls, pair.resent, pair.moved, pair.repeated) == (9, 4, 1, 4)
    assert (pair.duplicate_replies, pair.answered_twice) == (2, 1)
    assert pair.idle_s == pytest.approx(0.003)
    assert (pair.usual_s, pair.resent_s) == (0.002, 0.0085)
    # Calls 6 and 9 beyond 2 ms; call 8 in `waiting`; of call 7, which was slow, nothing.
    assert pair.time_s == {
        "unstable": pytest.approx(0.013),
        "waiting": pytest.approx(0.007),
    }
    assert pair.frames == (11, 13, 15, 17, 40)


@pytest.mark.parametrize(("first_arrived", "claimed"), [(False, {"unstable": 0.148}), (True, {})])
def test_what_the_server_took_is_not_claimed_for_sending_again(
    first_arrived: bool, claimed: dict[str, float]
) -> None:
    """Where nothing was lost, it would have taken that without it as well."""
    again = call(10, "GETATTR", 150, transmissions=2, first_arrived=first_arrived)
    calls = [*(call(number, "GETATTR", 2) for number in range(1, 6)), again]
    with trace_of(calls=calls, connections=[tcp(0)]) as trace:
        (pair,) = resent_calls(trace)
    assert pair.time_s == pytest.approx(claimed)


@pytest.mark.parametrize(("before", "idle_s"), [(100, 9.0), (900, 0.998), (999, 0.008)])
def test_what_was_idle_before_its_connection_broke(before: int, idle_s: float) -> None:
    """Calls at once are one break; the least of several counts."""
    calls = [
        call(1, "GETATTR", 2),
        call(before, "GETATTR", 2),
        call(1000, "GETATTR", 500, transmissions=2, connection=1),
        call(1001, "GETATTR", 490, transmissions=2, connection=1),
        call(3000, "GETATTR", 500, transmissions=2, connection=2),
    ]
    connections = [tcp(0), tcp(1, 10_400), tcp(2, 30_400)]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = resent_calls(trace)
    assert pair.moved == 3
    assert pair.idle_s == pytest.approx(idle_s, abs=0.01)


@pytest.mark.parametrize(
    ("before", "next_ms", "beside", "change", "given_up"),
    [
        (20, 400, False, {}, [1]),
        (18, 400, False, {}, [0]),  # Too few to tell that it is one program.
        (20, 500, False, {}, [0]),  # It waited for the answer.
        (20, 400, True, {}, [0]),  # Another program works as well.
        (20, 400, False, {"connection": 1}, [0]),  # The connection broke.
        (20, 400, False, {"transmissions": 1}, []),
    ],
)
def test_a_program_that_goes_on_without_an_answer_has_given_the_call_up(
    before: int, next_ms: int, beside: bool, change: Row, given_up: list[int]
) -> None:
    again = {"transmissions": 2, "connection": 0, **change}
    calls = [
        *(call(number, "GETATTR", 2) for number in range(1, before + 1)),
        # Calls are numbered as they are answered: the next one before it.
        call(30, "GETATTR", 450, **again, call=80),
        call(30 + next_ms // 10, "GETATTR", 2),
        *([call(6, "GETATTR", 12, call=90, call_frame=90)] if beside else []),
    ]
    with trace_of(calls=calls, connections=[tcp(0), tcp(1, 500)]) as trace:
        assert [pair.given_up for pair in resent_calls(trace)] == given_up


def test_what_a_restart_made_a_client_send_again_is_left_to_it() -> None:
    calls = [
        call(1, "WRITE", 2),
        call(2, "WRITE", 50, transmissions=2, connection=1),  # the server restarts
        call(20, "GETATTR", 2, connection=1),
        call(30, "GETATTR", 60, transmissions=2, connection=2),  # only the connection breaks
    ]
    operations = [
        operation(1, "WRITE", file=1, verifier=7),
        operation(2, "WRITE", file=1, verifier=8),
    ]
    connections = [tcp(0), tcp(1, 40), tcp(2, 320)]
    with trace_of(calls=calls, operations=operations, connections=connections) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.calls, pair.resent, pair.moved, pair.frames) == (4, 1, 1, (59,))
    with trace_of(calls=calls[:3], operations=operations, connections=connections) as trace:
        assert resent_calls(trace) == ()


def test_what_a_restart_made_a_client_send_again_is_not_usual_either() -> None:
    calls = [
        call(1, "WRITE", 2),
        *(call(number, "WRITE", 50, transmissions=2, connection=1) for number in (2, 3)),
        call(30, "GETATTR", 60, transmissions=2, connection=2),  # only the connection breaks
    ]
    operations = [
        operation(number, "WRITE", file=1, verifier=7 if number == 1 else 8) for number in (1, 2, 3)
    ]
    connections = [tcp(0), tcp(1, 40), tcp(2, 320)]
    with trace_of(calls=calls, operations=operations, connections=connections) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.calls, pair.resent, pair.usual_s) == (4, 1, 0.002)


def test_what_never_went_once_has_no_usual_time() -> None:
    calls = [call(1, "WRITE", 5, transmissions=2)]
    with trace_of(calls=calls, connections=[tcp(0)]) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.usual_s, pair.time_s) == (None, {})


@pytest.mark.parametrize(("arrived", "named"), [(False, "waiting"), (True, "server")])
def test_the_verdict_has_it_as_waiting(arrived: bool, named: str) -> None:
    """A READ of 900 ms: unless nothing was lost, and the server was that slow."""
    again = [call(90, "READ", 900, transmissions=2, first_arrived=arrived, stability="read")]
    calls = [call(number, "READ", 2, stability="read") for number in range(40, 45)] + again
    calls += [call(number, "GETATTR", 2) for number in range(1, 40)]
    with trace_of(meta(), calls=calls, connections=[{**tcp(0), "transport": "UDP"}]) as trace:
        found = model(trace).verdict
    assert found is not None
    assert found.named[0] == named
    times = {cause.cause: cause.time_s for cause in found.causes}
    assert times[named] == pytest.approx(0.898)


@pytest.mark.parametrize(
    ("stability", "transport", "claimed"),
    [("unstable", "UDP", {"unstable": 1.1}), ("stable", "UDP", {}), ("unstable", "TCP", {})],
)
def test_over_udp_one_answer_to_a_call_that_changes_nothing_means_that_a_message_was_lost(
    stability: str, transport: str, claimed: dict[str, float]
) -> None:
    """Of what changes something, a server drops what comes again while it is at it."""
    calls = [call(1, "GETATTR", 1100, transmissions=2, stability=stability)]
    connections = [{**tcp(0), "transport": transport}]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = resent_calls(trace)
    assert pair.time_s == pytest.approx(claimed)
    twice = [note("duplicate_reply", 1, 9)]
    with trace_of(calls=calls, connections=connections, notes=twice) as trace:
        (pair,) = resent_calls(trace)
    assert pair.time_s == {}


def test_what_came_twice_is_not_usual_though_one_transmission_is_missing() -> None:
    calls = [call(1, "WRITE", 300), call(2, "WRITE", 320, transmissions=2)]
    notes = [note("duplicate_reply", 1, 40)]
    with trace_of(calls=calls, connections=[tcp(0)], notes=notes) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.resent, pair.answered_twice, pair.usual_s, pair.time_s) == (2, 1, None, {})


AT_CLIENT = {"ack_rtt": 10_000, "syn_rtt": 10 * MILLISECOND}
"""A handshake as it looks at the client."""

AT_SERVER = {"ack_rtt": 10 * MILLISECOND, "syn_rtt": 10_000}
"""And at the server."""


def again(number: int, after_ms: float) -> list[Row]:
    """A call of 2 ms that came again so long after its reply, and was answered again."""
    reply = START_NS + (number * 10 + 2) * MILLISECOND
    sent = note("retransmitted_call", number, 40)
    return [
        {**sent, "time": reply + round(after_ms * MILLISECOND)},
        note("duplicate_reply", number, 41),
    ]


@pytest.mark.parametrize(
    ("where", "after_ms", "late"),
    [(AT_CLIENT, 1, 0), (AT_SERVER, 9, 1), (AT_SERVER, 11, 0)],
)
def test_a_client_that_had_its_answer_did_not_send_again_because_it_was_late(
    where: Row, after_ms: float, late: int
) -> None:
    """At the server, what was sent before the reply can have come is seen after it."""
    connection = {**tcp(0), **where}
    with trace_of(
        calls=[call(1, "GETATTR", 2)], connections=[connection], notes=again(1, after_ms)
    ) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.resent, pair.answered_twice, pair.answered_late) == (1, 1, late)


@pytest.mark.parametrize(
    ("where", "took_ms", "late"), [(AT_CLIENT, 99, 0), (AT_CLIENT, 100, 1), (AT_SERVER, 99, 1)]
)
def test_no_timer_runs_out_in_less_than_a_tenth_of_a_second(
    where: Row, took_ms: float, late: int
) -> None:
    """At the server nobody knows how long the call was under way."""
    with trace_of(
        calls=[call(1, "GETATTR", took_ms, transmissions=2)],
        connections=[{**tcp(0), **where}],
        notes=[note("duplicate_reply", 1, 41)],
    ) as trace:
        (pair,) = resent_calls(trace)
    assert (pair.answered_twice, pair.answered_late) == (1, late)


@pytest.mark.parametrize(("status", "resent"), [("AUTH_BADCRED", 0), ("SUCCESS", 1)])
def test_what_the_client_sends_again_because_rpc_refused_it_is_left_out(
    status: str, resent: int
) -> None:
    refused = call(1, "GETATTR", 2, rpc_status=status)
    with trace_of(
        calls=[refused], connections=[{**tcp(0), **AT_CLIENT}], notes=again(1, 1)
    ) as trace:
        assert len(resent_calls(trace)) == resent


def beyond(client_ms: float | None) -> Row:
    """A connection with that much between capture and client, and nothing to the server."""
    half = None if client_ms is None else int(client_ms * MILLISECOND)
    return {**tcp(0), "handshake": half is not None, "syn_rtt": 10_000, "ack_rtt": half}


@pytest.mark.parametrize(
    ("client_ms", "after_ms", "lost"),
    [(1, 18_000, True), (1, 199, False), (1, 901_000, False), (None, 18_000, False)],
)
def test_an_answer_that_was_lost_behind_the_capture_was_waited_for(
    client_ms: float | None, after_ms: float, *, lost: bool
) -> None:
    calls = [call(number, "GETATTR", 2, connection=0) for number in (1, 2, 3, 95_000)]
    came = int(str(calls[2]["reply_time"])) + int(after_ms * MILLISECOND)
    notes = [
        {**note("retransmitted_call", 3, 40), "time": came},
        {**note("duplicate_reply", 3, 41), "time": came},
    ]
    with trace_of(
        meta(end_ns=START_NS + 960_000 * MILLISECOND),
        calls=calls, connections=[beyond(client_ms)], notes=notes,
    ) as trace:  # fmt: skip
        (pair,) = resent_calls(trace)
        (budget,) = time_budget(trace).clients
    waited = after_ms / 1000 if lost else 0
    assert (pair.lost, pair.lost_s) == ((1, waited) if lost else (0, None))
    assert pair.time_s.get("waiting", 0) == pytest.approx(waited, abs=0.01)
    assert budget.waiting_s == pytest.approx(waited, abs=0.01)
    assert budget.unstable_s == pytest.approx(0.008 + 0.003 * (client_ms is not None), abs=0.003)


def test_at_the_client_it_had_come() -> None:
    calls = [call(number, "GETATTR", 2, connection=0) for number in (1, 2, 3)]
    came = int(str(calls[2]["reply_time"])) + 400 * MILLISECOND
    far = {**tcp(0), "handshake": True, "syn_rtt": MILLISECOND, "ack_rtt": 1_000}
    notes = [{**note("retransmitted_call", 3, 40), "time": came}]
    with trace_of(calls=calls, connections=[far], notes=notes) as trace:
        (pair,) = resent_calls(trace)
        (budget,) = time_budget(trace).clients
    assert (pair.lost, budget.waiting_s) == (0, 0)


def test_without_any_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 2)], connections=[tcp(0)]) as trace:
        assert resent_calls(trace) == ()
