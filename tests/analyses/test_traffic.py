"""Who called whom, as many questions begin with it."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured.capture import capture
from pcapnfs.analyses.times.phases import phases
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.times.timeline import timeline
from pcapnfs.analyses.wire.network import network
from pcapnfs.programs import MOUNT, NLM, NSM, PORTMAPPER
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of


def test_calls_are_counted_by_connection_program_and_version() -> None:
    calls = [
        call(1, "GETATTR", 2, connection=1),
        # The reply came before the call, as a capture may have it.
        call(2, "GETATTR", -5, connection=1),
        call(3, "GETATTR", None, connection=1),
        call(4, "OPEN", 1, connection=1, version=4),
        call(5, "CB_RECALL", 1, connection=1, version=4, callback=True),
        call(6, "MNT", None, connection=2, program=100005),
    ]
    with trace_of(calls=calls) as trace:
        third, fourth, recalls, mount = traffic.traffic(trace)
        assert list(traffic.of_clients(trace)) == [third, fourth, mount]
    first = START_NS + 10 * MILLISECOND
    assert (third.calls, third.answered) == (3, 2)
    assert (third.first_ns, third.last_ns) == (first, first + 20 * MILLISECOND)
    assert (third.first_answered_ns, third.last_answered_ns) == (first, first + 10 * MILLISECOND)
    assert (fourth.version, fourth.calls, fourth.callback) == (4, 1, False)
    assert (recalls.calls, recalls.callback) == (1, True)
    assert (mount.program, mount.answered, mount.first_answered_ns) == (100005, 0, None)


def test_a_mount_has_its_two_addresses_and_its_answers() -> None:
    calls = [
        call(1, "GETATTR", 2, mount=7),
        call(2, "GETATTR", 2, mount=8, client="10.0.0.3"),
        call(3, "MNT", 2, mount=8, client="10.0.0.3", program=100005),
        # Of the same two addresses, in another part of the trace.
        call(4, "GETATTR", None, mount=9),
        call(5, "CB_RECALL", 2, mount=10, client="10.0.0.4", callback=True),
    ]
    with trace_of(calls=calls) as trace:
        assert traffic.mounts(trace) == {
            7: ("10.0.0.2", "10.0.0.1"),
            8: ("10.0.0.3", "10.0.0.1"),
            9: ("10.0.0.2", "10.0.0.1"),
        }
        assert traffic.answered(trace, (100003,)) == {7: 1, 8: 1, 9: 0}
        by_pair = {("10.0.0.2", "10.0.0.1"): 2, ("10.0.0.3", "10.0.0.1"): 2}
        assert traffic.by_pair(trace) == by_pair
        table = f"from {traffic.NAMED} order by mount"
        rows = trace.sql(table, traffic.named(trace)).fetchall()
    assert rows == [
        (7, "10.0.0.2", "10.0.0.1"),
        (8, "10.0.0.3", "10.0.0.1"),
        (9, "10.0.0.2", "10.0.0.1"),
    ]


def test_connections_are_in_use_from_their_first_line_to_their_last() -> None:
    calls = [
        call(1, "GETATTR", 2, mount=7, connection=1),
        call(2, "GETATTR", 2, mount=7, connection=4, version=4),
        call(3, "GETATTR", 2, mount=7, connection=4),
        call(4, "GETATTR", 2, mount=8, connection=5, client="10.0.0.3"),
        call(9, "GETATTR", 4, mount=8, connection=5, client="10.0.0.3"),
        # Of the first two addresses, in another part of the trace.
        call(6, "GETATTR", None, mount=9, connection=6),
    ]
    with trace_of(calls=calls) as trace:
        lines = traffic.of_clients(trace)
        found = {
            client: list(zip(begin.tolist(), end.tolist(), strict=True))
            for (client, _), (begin, end) in lines.spans("first_ns", "last_ns").items()
        }
        some = [client for client, _ in lines.of_mounts([7, 9]).spans("first_ns", "last_ns")]
        nothing = lines.of_mounts([]).spans("first_ns", "last_ns")

    def at(milliseconds: int) -> int:
        return START_NS + milliseconds * MILLISECOND

    assert found == {
        "10.0.0.2": [(at(10), at(12)), (at(20), at(32)), (at(60), at(60))],
        "10.0.0.3": [(at(40), at(94))],
    }
    assert (some, nothing) == (["10.0.0.2"], {})


def test_without_calls_there_is_no_traffic() -> None:
    with trace_of() as trace:
        assert list(traffic.traffic(trace)) == []
        assert traffic.mounts(trace) == {}


def test_a_server_that_asks_its_clients_portmapper_is_no_client() -> None:
    server, client = "10.0.0.1", "10.0.0.2"
    back: Row = {"client": server, "server": client, "mount": 8, "connection": 2}
    calls = [
        call(1, "LOCK", 2, mount=7, program=NLM),
        call(2, "WRITE", 4, mount=7, stability="stable"),
        call(3, "GETPORT", 1, **back, program=PORTMAPPER),
        call(4, "NULL", 1, **back, program=NLM),
        call(6, "GETATTR", 2, mount=7),
    ]
    with trace_of(meta(end_ns=START_NS + 100 * MILLISECOND), calls=calls) as trace:
        assert traffic.beside(trace) == {8}
        told = capture(trace)
        assert (told.clients, told.servers) == ((client,), (server,))
        found = network(trace)
        assert (found.clients, found.servers) == (1, 1)
        total = time_budget(trace).total
        assert (total.clients, total.wall_s) == (1, 0.1)
        assert [phase.client for phase in phases(trace)] == [client]
        assert timeline(trace, {}).clients == (client,)


@pytest.mark.parametrize(
    ("programs", "clients"),
    [
        ((PORTMAPPER, NSM), ("10.0.0.2",)),
        # Who has locks, or mounts, is one.
        ((PORTMAPPER, NLM), ("10.0.0.2", "10.0.0.9")),
        ((PORTMAPPER, MOUNT), ("10.0.0.2", "10.0.0.9")),
    ],
)
def test_who_looks_for_services_alone_is_no_client(
    programs: tuple[int, ...], clients: tuple[str, ...]
) -> None:
    """A monitoring host, say, or the loopback interface of the client."""
    calls = [call(1, "GETATTR", 2, mount=7)]
    for number, program in enumerate(programs, 2):
        calls.append(call(number, "NULL", 1, client="10.0.0.9", mount=8, program=program))
    with trace_of(calls=calls) as trace:
        assert capture(trace).clients == clients
        assert time_budget(trace).total.clients == len(clients)


def test_hosts_that_mount_from_each_other_are_clients_both() -> None:
    back: Row = {"client": "10.0.0.1", "server": "10.0.0.2", "mount": 8}
    calls = [call(1, "GETATTR", 2, mount=7), call(2, "GETPORT", 1, **back, program=PORTMAPPER)]
    with trace_of(calls=[*calls, call(3, "GETATTR", 2, **back)]) as trace:
        assert traffic.beside(trace) == frozenset()
    # Who only asks where something listens wanted to mount.
    asked = call(1, "GETPORT", 1, mount=7, program=PORTMAPPER)
    with trace_of(calls=[asked]) as trace:
        assert traffic.beside(trace) == frozenset()
