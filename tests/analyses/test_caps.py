"""Limits on calls at once."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.mounts import sessions
from pcapnfs.analyses.wire.caps import Slots, caps, kept_to
from tests import processor
from tests.unit.rows import Row, call, operation, trace_of


def connection(number: int, transport: str = "TCP") -> Row:
    return {
        "connection": number,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "transport": transport,
    }


def test_a_pair_has_its_mean_and_its_peak() -> None:
    # 10 … 40, 20 … 30, 30 … 50 ms.
    calls = [call(1, "READ", 30), call(2, "READ", 10), call(3, "READ", 20)]
    calls = [{**each, "connection": 1} for each in calls]
    with trace_of(calls=calls, connections=[connection(1)]) as trace:
        (pair,) = caps(trace).pairs
    assert (pair.calls, pair.peak, pair.connections, pair.tcp) == (3, 2, 1, True)
    assert pair.busy_s == pytest.approx(0.04)
    assert pair.at_peak_s == pytest.approx(0.02)
    assert pair.mean == pytest.approx(1.5)
    assert not pair.sessions


def test_where_calls_at_once_stay_at_a_number_it_is_told_who_goes_on() -> None:
    calls = [
        {**call(1 + place // 2, op, 9.9, file=1 + place % 2), "call": place, "connection": 1}
        for place, op in enumerate(("OPEN", "OPEN", "READ", "READ"))
    ]
    with trace_of(calls=calls, connections=[connection(1)]) as trace:
        (pair,) = caps(trace).pairs
    assert pair.turns is not None
    assert (pair.turns.calls, pair.turns.soon) == (2, 2)
    alone = {**call(5, "READ", 50, file=3), "call": 9, "connection": 1}
    with trace_of(calls=[*calls, alone], connections=[connection(1)]) as trace:
        (pair,) = caps(trace).pairs
    assert (pair.peak, pair.turns) == (2, None)


@pytest.mark.parametrize(("second", "at_once"), [(3, 2), (9, 1)])
def test_connections_one_after_the_other_are_one_at_once(second: int, at_once: int) -> None:
    calls = [
        {**call(1, "READ", 40), "connection": 1},
        {**call(second, "READ", 10), "connection": 2},
    ]
    with trace_of(calls=calls, connections=[connection(1), connection(2, "UDP")]) as trace:
        (pair,) = caps(trace).pairs
    assert (pair.connections, pair.tcp) == (at_once, False)


def test_a_session_is_full_when_all_its_slots_are_taken() -> None:
    session = {"session": b"s", "version": 4, "protocol": "4.1", "connection": 1}
    calls = [
        call(1, "CREATE_SESSION", 1, **session),
        *(call(number, "READ", 35, slot=number % 2, **session) for number in (2, 3, 8)),
    ]
    operations = [
        operation(1, "CREATE_SESSION", session_slots=2),
        operation(2, "SEQUENCE", target_highest_slot=63),
    ]
    with trace_of(calls=calls, operations=operations, connections=[connection(1)]) as trace:
        found = caps(trace)
    (session_found,) = found.slots
    assert (session_found.limit, session_found.client) == (2, "10.0.0.2")
    assert session_found.busy_s == pytest.approx(0.001 + 0.045 + 0.035)
    assert session_found.full_s == pytest.approx(0.025)
    assert found.pairs[0].sessions


@pytest.mark.parametrize(
    ("offered", "wanted", "slots", "limit"),
    [
        (2, (1, 3), 4, 4),  # It uses more than it was granted, as the server wants.
        (2, (1, 3), 2, 2),  # It keeps to what it was granted.
        (4, (1, 1), 2, 2),  # The server wants fewer.
        (None, (1, 2), 2, 3),  # What it granted is not in the capture.
    ],
)
def test_slots_are_limited_by_what_the_server_wants(
    offered: int | None, wanted: tuple[int, ...], slots: int, limit: int
) -> None:
    """Linux grants some, and wants more used as the client uses all that it has."""
    session = {"session": b"s", "version": 4, "protocol": "4.1", "connection": 1}
    calls = [
        call(1, "CREATE_SESSION", 1, **session),
        *(call(2 + slot, "READ", 35, slot=slot, **session) for slot in range(slots)),
    ]
    operations = [
        *([operation(1, "CREATE_SESSION", session_slots=offered)] if offered else []),
        *(
            operation(number, "SEQUENCE", target_highest_slot=told)
            for number, told in enumerate(wanted, 2)
        ),
    ]
    with trace_of(calls=calls, operations=operations, connections=[connection(1)]) as trace:
        (found,) = caps(trace).slots
    assert found.limit == limit


def changing(slots: tuple[int, ...], wanted: tuple[int, ...]) -> list[Slots]:
    """READs of 10 ms in these slots, one set after the other, whose replies tell what is wanted."""
    session = {"session": b"s", "version": 4, "protocol": "4.1", "connection": 1}
    calls = [call(1, "CREATE_SESSION", 1, **session)]
    operations = [operation(1, "CREATE_SESSION", session_slots=64)]
    for step, most in enumerate(wanted):
        for place, slot in enumerate(slots):
            number = 10 + step * len(slots) + place
            calls.append({**call(2 + step, "READ", 10, slot=slot, **session), "call": number})
            operations.append(operation(number, "SEQUENCE", target_highest_slot=most))
    with trace_of(calls=calls, operations=operations, connections=[connection(1)]) as trace:
        return list(caps(trace).slots)


def test_slots_that_the_server_takes_back_limit_from_then_on() -> None:
    (found,) = changing((0, 1, 2, 3), (63, 63, 3, 3, 3, 3, 3))
    assert (found.limit, found.lowered_from) == (4, 64)
    # Up to the reply that tells it first, the third of seven times 10 ms, there were 64.
    assert found.full_s == pytest.approx(0.040)
    assert found.busy_s == pytest.approx(0.071)


def test_slots_that_the_server_grants_later_limit_until_then() -> None:
    # What it granted before the first reply tells, after 10 ms, is what CREATE_SESSION says.
    (found,) = changing((0, 1, 2, 3), (3, 3, 3, 63, 63, 63))
    assert found.limit == 4
    assert found.full_s == pytest.approx(0.030)


def test_a_client_that_goes_on_as_before_is_not_limited() -> None:
    (found,) = changing((0, 1, 2, 3, 4, 5), (63, 63, 3, 3, 3))
    assert (found.limit, found.full_s, found.lowered_from) == (64, 0, None)


def test_each_number_of_slots_is_kept_to_or_not() -> None:
    # 4 in 1 of 20 calls not, 8 in 1 of 2, 16 always, 2 in no call at all; 64 is the limit.
    at_begin = np.array([4] * 20 + [8] * 2 + [16] + [64] * 2)
    slots = np.array([4] + [3] * 19 + [7, 8] + [15] + [64] * 2)
    kept = kept_to(np.array([64, 8, 4, 2, 16, 8, 4]), at_begin, slots, 64)
    assert kept.tolist() == [64, 64, 4, 64, 16, 64, 4]
    assert kept_to(np.array([64, 8]), at_begin[:0], slots[:0], 64).tolist() == [64, 64]


def test_many_different_numbers_of_slots_are_looked_at_at_once() -> None:
    """A hostile server wants another with each reply."""
    wanted = np.arange(1, 100_001)
    slots = np.zeros(len(wanted), np.int64)
    assert processor.in_time(
        1.0, lambda: processor.seconds(lambda: kept_to(wanted, wanted, slots, 64))
    )


def test_a_server_may_want_as_many_as_a_number_holds() -> None:
    (found,) = changing((0, 1, 2, 3), (3, 3, 3, 0xFFFF_FFFF, 0xFFFF_FFFF))
    assert found.limit == 4
    assert found.full_s == pytest.approx(0.030)


def test_who_did_one_thing_after_the_other_does_not_wait_for_a_slot() -> None:
    (found,) = changing((0,), (63, 63, 0, 0, 0))
    assert (found.limit, found.full_s) == (64, 0)
    (found,) = changing((0, 1), (63, 63, 1, 1, 1))
    assert (found.limit, found.lowered_from) == (2, 64)


def test_a_session_without_a_known_limit_is_left_out() -> None:
    calls = [call(1, "READ", 5, session=b"s", slot=0, connection=1)]
    with trace_of(calls=calls, connections=[connection(1)]) as trace:
        assert caps(trace).slots == ()


def test_a_session_in_which_nothing_was_sent_in_a_slot_tells_that_there_are_sessions() -> None:
    calls = [
        call(1, "BIND_CONN_TO_SESSION", 1, session=b"s", connection=1),
        call(2, "READ", None, session=b"t", slot=0, connection=1, mount=2, client="10.0.0.3"),
        call(3, "READ", 5, connection=1, mount=2, client="10.0.0.3"),
    ]
    with trace_of(calls=calls, connections=[connection(1)]) as trace:
        number, shown = sessions.sessions(trace)
        answered = sessions.answered(trace)
        pairs = caps(trace).pairs
    assert (number, [each.session for each in shown]) == (1, [b"t".hex()])
    assert answered == {b"s".hex(): 1, b"t".hex(): 0}
    # Calls without answer do not count.
    assert {pair.client: pair.sessions for pair in pairs} == {"10.0.0.2": True, "10.0.0.3": False}


def test_nothing_happened() -> None:
    with trace_of() as trace:
        assert caps(trace).pairs == ()
