"""The few calls that took far longer than all others like them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.forecasts.bottleneck import bottleneck
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.servers.stalled_calls import StalledCalls, stalled_calls
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, trace_of

USUAL = [
    *(call(number, "CREATE", 2, stability="stable") for number in range(1, 41)),
    *(call(number, "GETATTR", 1) for number in range(41, 91)),
]
"""Changes of 2 ms, and questions of 1 ms."""


def hung(number: int, op: str, took_ms: float, seconds: float = 2, **columns: object) -> Row:
    """A call sent so many seconds after the start."""
    sent = START_NS + int(seconds * 1000) * MILLISECOND
    answered = sent + int(took_ms) * MILLISECOND
    times = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": answered,
        "reply_time": answered,
    }
    return call(number, op, took_ms, **(times | columns))


def found(*calls: Row, connections: Sequence[Row] = ()) -> tuple[StalledCalls, ...]:
    with trace_of(calls=[*USUAL, *calls], files=[file(1, "a")], connections=connections) as trace:
        return stalled_calls(trace)


def test_one_of_many_is_told_with_what_the_others_took() -> None:
    late = hung(100, "CREATE", 3002, stability="stable", file=1)
    (told,) = found(late, hung(101, "GETATTR", 1, 3))
    assert (told.server, told.clients) == ("10.0.0.1", ("10.0.0.2",))
    assert (told.calls, told.asked, told.moments) == (1, 92, 1)
    assert (told.operations, told.paths, told.longest_op) == (("CREATE",), ("a",), "CREATE")
    assert (told.longest_s, told.usual_s, told.others_s) == (3.002, 0.002, 0.002)
    assert told.from_ns == START_NS + 2000 * MILLISECOND
    assert told.answered_meanwhile == 1
    # A millisecond of it was shared with the other call.
    assert told.time_s == {"stable": pytest.approx(3.0, abs=0.001)}
    assert told.frames == (199, 200)


def test_what_the_server_asked_meanwhile_is_no_call_that_it_answered() -> None:
    late = hung(100, "CREATE", 3002, stability="stable")
    asked = hung(101, "CB_RECALL_ANY", 1, 3, callback=True)
    (told,) = found(late, asked, hung(102, "GETATTR", 1, 3.5), hung(103, "GETATTR", 1, 4))
    assert (told.calls, told.answered_meanwhile) == (1, 2)


def test_calls_under_way_together_are_of_one_moment() -> None:
    (told,) = found(
        hung(100, "CREATE", 2000, stability="stable"),
        hung(101, "GETATTR", 1500, 2.5),
        hung(102, "GETATTR", 1200, 6),
    )
    assert (told.calls, told.moments, told.operations) == (3, 2, ("GETATTR", "CREATE"))
    assert sum(told.time_s.values()) == pytest.approx(3.2, abs=0.01)


def test_those_of_several_clients_are_of_one_server() -> None:
    others = [
        call(number, "GETATTR", 1, client=client)
        for client, numbers in (("10.0.0.3", range(110, 130)), ("10.0.0.4", range(130, 150)))
        for number in numbers
    ]
    (told,) = found(
        *others,
        hung(300, "GETATTR", 2000),
        hung(301, "GETATTR", 2500, client="10.0.0.3"),
        hung(302, "GETATTR", 1, 2.4, client="10.0.0.4"),
    )
    assert (told.clients, told.calls, told.moments) == (("10.0.0.3", "10.0.0.2"), 2, 1)
    assert told.asked == len(USUAL) + 20 + 2
    assert (told.longest_s, told.answered_meanwhile) == (2.5, 1)
    assert sum(told.time_s.values()) == pytest.approx(4.5, abs=0.01)


def test_what_others_took_is_told_of_those_that_were_sent_again_too() -> None:
    again = hung(101, "NULL", 5960, 8, transmissions=2, first_arrived=False)
    (told,) = found(hung(100, "CREATE", 3002, stability="stable", file=1), again)
    assert (told.longest_s, told.others_s) == (3.002, 5.96)


def test_a_call_that_the_client_did_not_wait_for_stood_still() -> None:
    again = {"transmissions": 2, "first_arrived": True}
    (told,) = found(hung(100, "CREATE", 3002, stability="stable", **again))
    assert told.longest_s == 3.002


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"first_arrived": False}, id="sent again"),
        pytest.param({"status_name": "NFS3ERR_JUKEBOX"}, id="the server was not ready"),
        pytest.param({"program": 100005}, id="of mounting"),
        pytest.param({"server": "10.0.0.9"}, id="of another server"),
    ],
)
def test_what_is_told_elsewhere_or_by_nothing_is_left_out(columns: dict[str, object]) -> None:
    assert found({**hung(100, "CREATE", 3000), **columns}) == ()


def test_nor_what_nothing_is_usual_for() -> None:
    assert found(hung(100, "RENAME", 3000)) == ()
    for op, number in (("COMMIT", 0), ("RENAME", 1)):
        others = [call(place, op, 2) for place in range(200, 210)]
        assert len(found(*others, hung(100, op, 3000))) == number


def test_a_rare_operation_is_held_against_all_others() -> None:
    (told,) = found(hung(100, "MKDIR", 3002, stability="stable"))
    assert (told.longest_op, told.usual_s, told.others_s) == ("MKDIR", None, 0.002)
    assert told.time_s == {"stable": pytest.approx(3.0)}
    # Something else was slow, too; or it is a state that servers write down.
    slow = call(110, "READ", 151, stability="read")
    assert found(slow, hung(100, "MKDIR", 3002, stability="stable")) == ()
    assert found(hung(100, "EXCHANGE_ID", 3002, stability="state")) == ()


@pytest.mark.parametrize(("others", "told"), [(19, False), (20, True)])
def test_few_calls_tell_nothing_of_it(others: int, told: bool) -> None:
    calls = [*USUAL[:others], hung(100, "MKDIR", 3000, stability="stable")]
    with trace_of(calls=calls) as trace:
        assert bool(stalled_calls(trace)) is told


def test_nor_what_takes_less() -> None:
    assert found(hung(100, "CREATE", 999)) == ()
    slow = [call(number, "LINK", 60) for number in range(200, 220)]
    assert found(*slow, hung(100, "LINK", 1199)) == ()
    assert len(found(*slow, hung(100, "LINK", 1201))) == 1


@pytest.mark.parametrize(("took_ms", "told"), [(1000, False), (2000, True)])
def test_a_clock_that_ticks_slowly_makes_a_call_a_tick_longer(took_ms: int, told: bool) -> None:
    """By a clock of seconds what takes a millisecond takes a second, or nothing."""
    tick = 1000 * MILLISECOND
    usual = [hung(number, "GETATTR", 0, number) for number in range(1, 101)]
    late = hung(101, "GETATTR", took_ms, 101)
    with trace_of(meta(packets=200, end_ns=START_NS + 110 * tick), calls=[*usual, late]) as trace:
        assert bool(stalled_calls(trace)) == told


def test_many_are_no_exception() -> None:
    assert len(found(*(hung(100 + number, "CREATE", 1000, number) for number in range(5)))) == 1
    assert found(*(hung(100 + number, "CREATE", 1000, number) for number in range(6))) == ()


def test_what_waits_for_a_delegation_is_the_recalls() -> None:
    recall = hung(101, "CB_RECALL", 1, 3, callback=True)
    assert found(hung(100, "CREATE", 3000), recall) == ()


def test_what_stood_still_for_a_lost_segment_is_tcps() -> None:
    lossy = {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_resent": 1,
    }
    late = hung(100, "CREATE", 3000, stability="stable", connection=0)
    assert found({**late, "tcp_resent": True}, connections=[lossy]) == ()
    # Another segment was sent again, or none.
    assert len(found(late, connections=[lossy])) == 1
    assert len(found(late, connections=[lossy | {"server_resent": 0}])) == 1


def test_of_several_clients_each_has_its_own() -> None:
    late = hung(100, "CREATE", 3002, stability="stable")
    other = [
        {**each, "call": 200 + place, "client": "10.0.0.3"} for place, each in enumerate(USUAL)
    ]
    with trace_of(calls=[*USUAL, late, *other]) as trace:
        measured = measure(trace)
        seen = bottleneck(trace, measured)
    told = measured_verdict(measured)
    assert told is not None
    first, second = told.clients
    assert "(1 call stood still for 3.00 s)" in first.sentence
    assert "stood still" not in second.sentence
    # What stood still is no storage's: a millisecond of each other call, half of it shared.
    assert seen.storage_s < 0.1


def test_it_shows_nothing_of_other_calls() -> None:
    late = hung(100, "CREATE", 3002, stability="stable")
    with trace_of(calls=[*USUAL, late]) as trace:
        measured = measure(trace)
    assert measured.stable_calls == 41
    assert measured.persist_s == pytest.approx(0.001)
    told = measured_verdict(measured)
    assert told is not None
    assert "the server 60.1 % (1 call stood still for 3.00 s)" in told.sentence
