"""Servers that restarted."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.restarts import restarts
from tests.unit.rows import MILLISECOND, START_NS, Row, call, operation, trace_of


def write(number: int, verifier: int, *, offset: int = 0, level: str = "UNSTABLE") -> list[Row]:
    """A WRITE of 4 KiB, and the server's verifier."""
    return [
        call(number, "WRITE", 2, file=1, connection=1),
        operation(
            number, "WRITE", file=1, offset=offset, requested=4096, committed=level,
            verifier=verifier,
        ),
    ]  # fmt: skip


def refused(number: int, status: str, op: str = "OPEN") -> list[Row]:
    """A call that the server refused, of 2 ms."""
    return [
        call(number, op, 2, status=1, status_name=status, protocol="4.1", signature=op),
        operation(number, op, status=1),
    ]


def of(*steps: list[Row]) -> dict[str, list[Row]]:
    return {"calls": [step[0] for step in steps], "operations": [step[1] for step in steps]}


def answered(step: list[Row]) -> object:
    """When the reply of a call came."""
    return step[0]["reply_time"]


def test_a_new_verifier_is_a_restart_and_what_came_again_is_told() -> None:
    steps = [
        write(1, 7),
        write(2, 7, offset=4096),
        write(3, 8),
        write(4, 8, offset=8192),
        write(5, 8, offset=4096, level="FILE_SYNC"),
    ]
    with trace_of(**of(*steps)) as trace:
        (server,) = restarts(trace)
    assert (server.server, server.verifiers, server.writes) == ("10.0.0.1", 2, 5)
    assert (server.rewritten, server.rewritten_bytes) == (2, 8192)
    assert server.frames == (6,)
    # It restarted between the last answer with the old one and the first with the new one.
    assert (server.old_ns, server.new_ns) == (answered(steps[1]), answered(steps[2]))
    assert (server.lost_ns, server.refused_ns) == (None, None)


@pytest.mark.parametrize("verifiers", [(7, 7, 7), (7, 8, 7), tuple(range(30))])
def test_one_or_several_at_a_time_or_always_another_are_none(verifiers: tuple[int, ...]) -> None:
    steps = [write(number, verifier) for number, verifier in enumerate(verifiers, 1)]
    with trace_of(**of(*steps)) as trace:
        assert restarts(trace) == ()


def test_what_a_copy_tells_is_not_compared() -> None:
    """NFS-Ganesha 15 answers COPY with a verifier of zeros."""
    copy = [
        call(2, "COPY", 2, file=1, connection=1),
        operation(2, "COPY", file=1, committed="UNSTABLE", verifier=0),
    ]
    with trace_of(**of(write(1, 7), copy, write(3, 7, offset=4096))) as trace:
        assert restarts(trace) == ()
    with trace_of(**of(write(1, 7), copy)) as trace:
        assert restarts(trace) == ()


def test_lost_state_counts_where_it_was_in_use() -> None:
    steps = [
        refused(1, "NFS4ERR_BADSESSION", "WRITE"),
        refused(2, "NFS4ERR_STALE_CLIENTID", "CREATE_SESSION"),
        refused(3, "NFS4ERR_ACCESS"),
    ]
    with trace_of(**of(*steps)) as trace:
        (server,) = restarts(trace)
    assert (server.lost_state, server.statuses) == (1, ("NFS4ERR_BADSESSION",))
    assert server.frames == (1,)


def test_what_mounts_begin_with_is_no_end_of_reclaiming() -> None:
    calls = [
        call(1, "RECLAIM_COMPLETE", 1),
        call(2, "GETATTR", 1, status_name="NFS4ERR_BADSESSION"),
        call(3, "RECLAIM_COMPLETE", 1),
        call(4, "OPEN", 1, status_name="NFS4ERR_GRACE"),
        call(5, "RECLAIM_COMPLETE", 1, client="10.0.0.3"),
    ]
    with trace_of(calls=calls) as trace:
        (server,) = restarts(trace)
    assert server.reclaims == 2


def test_who_lost_state_and_how_often_clients_logged_in() -> None:
    """One EXCHANGE_ID has no answer."""
    calls = [
        call(1, "EXCHANGE_ID", 1),
        call(2, "SETCLIENTID", 1, client="10.0.0.3"),
        call(3, "GETATTR", 1, status_name="NFS4ERR_BADSESSION"),
        call(4, "EXCHANGE_ID", 1),
        call(5, "RENEW", 1, client="10.0.0.3", status_name="NFS4ERR_STALE_CLIENTID"),
        call(6, "GETATTR", 1, status_name="NFS4ERR_BADSESSION"),
        call(7, "EXCHANGE_ID", None),
    ]
    with trace_of(calls=calls) as trace:
        (server,) = restarts(trace)
    assert (server.lost_state, server.losers, server.logins) == (3, 2, 3)


def test_logins_of_clients_that_kept_their_state_do_not_count() -> None:
    calls = [
        *(call(number, "EXCHANGE_ID", 1, client="10.0.0.3") for number in range(1, 9)),
        call(9, "EXCHANGE_ID", 1),
        call(10, "GETATTR", 1, status_name="NFS4ERR_BADSESSION"),
    ]
    with trace_of(calls=calls) as trace:
        (server,) = restarts(trace)
    assert (server.losers, server.logins) == (1, 1)


def sequenced(number: int, status: str = "NFS4_OK", **columns: object) -> Row:
    """A GETATTR of NFSv4.1, of 1 ms."""
    status_columns = {"status_name": status, "version": 4, "protocol": "4.1"}
    return call(number, "GETATTR", 1, **{"connection": 1, **status_columns, **columns})


def test_a_connection_that_lives_on_says_that_state_was_ended() -> None:
    calls = [sequenced(1), sequenced(201, "NFS4ERR_BADSESSION")]
    with trace_of(calls=calls, connections=[connection(1, 0)]) as trace:
        (server,) = restarts(trace)
    assert server.kept
    assert server.unheard_s == pytest.approx(1.999)


@pytest.mark.parametrize(
    ("first", "last", "kept"), [(1, 300, True), (1, 150, False), (9, 300, False)]
)
def test_that_of_another_client_says_it_too(first: int, last: int, kept: bool) -> None:
    """If it was there when the state was known, and is there when it is not."""
    other: dict[str, object] = {"connection": 2, "client": "10.0.0.3"}
    calls = [
        sequenced(5), {**sequenced(first), **other}, {**sequenced(last), **other},
        sequenced(201, "NFS4ERR_BADSESSION", connection=3),
    ]  # fmt: skip
    connections = [connection(number, 0) for number in (1, 2, 3)]
    with trace_of(calls=calls, connections=connections) as trace:
        (server,) = restarts(trace)
    assert server.kept is kept


def test_a_connection_that_breaks_later_lived_on_through_the_first_loss() -> None:
    calls = [
        sequenced(1),
        sequenced(101, "NFS4ERR_BADSESSION"),
        sequenced(151),
        sequenced(201, "NFS4ERR_BADSESSION", connection=2),
    ]
    with trace_of(calls=calls, connections=[connection(1, 0), connection(2, 160)]) as trace:
        (server,) = restarts(trace)
    assert (server.kept, server.kept_first) == (False, True)


@pytest.mark.parametrize(("op", "kept"), [("GETATTR", False), ("RENEW", True)])
def test_of_nfsv4_0_only_calls_that_need_state_show_that_it_was_known(op: str, kept: bool) -> None:
    calls = [
        {**sequenced(1, protocol="4.0"), "op": op},
        sequenced(201, "NFS4ERR_STALE_CLIENTID", protocol="4.0"),
    ]
    with trace_of(calls=calls, connections=[connection(1, 0)]) as trace:
        (server,) = restarts(trace)
    assert (server.kept, server.unheard_s is not None) == (kept, kept)


def test_grace_is_waited_for_until_the_call_comes_again() -> None:
    steps = [
        refused(1, "NFS4ERR_GRACE"),
        refused(101, "NFS4ERR_GRACE"),
        [call(201, "OPEN", 2, protocol="4.1", signature="OPEN"), operation(201, "OPEN")],
    ]
    with trace_of(**of(*steps)) as trace:
        (server,) = restarts(trace)
    assert (server.refused, server.refused_frames) == (2, (1, 201))
    assert server.grace_s == pytest.approx(2.0)
    assert server.grace_span_s == pytest.approx(1.0)
    assert server.refused_ns == answered(steps[0])
    assert server.refused_locks == 0


def test_locks_that_met_grace_are_counted() -> None:
    nlm = refused(3, "NLM4_DENIED_GRACE_PERIOD", "LOCK")
    steps = [refused(1, "NFS4ERR_GRACE", "LOCK"), refused(2, "NFS4ERR_GRACE"), nlm]
    with trace_of(**of(*steps)) as trace:
        (server,) = restarts(trace)
    assert (server.refused, server.refused_locks) == (3, 1)


def not_stored(number: int, status: str, op: str = "WRITE") -> list[Row]:
    """A WRITE or COMMIT of 2 ms that failed."""
    return [
        call(number, op, 2, connection=1, status_name=status),
        operation(number, op, status=1, status_name=status),
    ]


@pytest.mark.parametrize("transport", ["TCP", "UDP"])
def test_a_new_verifier_after_an_error_on_an_older_connection_is_no_restart(transport: str) -> None:
    steps = [write(1, 7), not_stored(2, "NFS3ERR_NOSPC"), write(3, 8), write(4, 8)]
    with trace_of(**of(*steps), connections=[connection(1, 0, transport=transport)]) as trace:
        (server,) = restarts(trace)
    assert (server.verifiers, server.changes) == (2, 0)
    assert (server.after_errors, server.errors) == (1, ("NFS3ERR_NOSPC",))
    assert (server.outlived, server.rewritten, server.frames) == (0, 2, ())


def test_a_new_verifier_after_an_error_on_a_newer_connection_is_one() -> None:
    steps = [write(1, 7), not_stored(2, "NFS3ERR_IO", "COMMIT"), write(3, 8)]
    with trace_of(**of(*steps), connections=[connection(1, 25)]) as trace:
        (server,) = restarts(trace)
    assert (server.changes, server.after_errors, server.outlived) == (1, 0, 0)
    assert server.frames == (6,)


END_MS = START_NS + 28 * MILLISECOND
"""After the error, before the new verifier."""


@pytest.mark.parametrize(
    ("ended", "new", "explained"),
    [
        # Closed by the client, before the server closes its end; or still open, and all answered.
        ({"client_fin_time": END_MS - 1, "server_fin_time": END_MS}, {}, True),
        ({"client_unacked": 0}, {}, True),
        # Closed or reset by the server, as by one that stops; never answered, as by one that fails.
        ({"client_fin_time": END_MS, "server_fin_time": END_MS - 1}, {}, False),
        ({"server_rst_time": END_MS}, {}, False),
        ({"client_unacked": 64}, {}, False),
        # Nobody was there for a while.
        ({}, {"refusals": 1}, False),
        ({}, {"attempts": 1}, False),
    ],
)
def test_an_error_explains_a_new_verifier_on_a_newer_connection_where_no_older_one_broke(
    ended: Row, new: Row, *, explained: bool
) -> None:
    steps = [write(1, 7), not_stored(2, "NFS3ERR_DQUOT"), write(3, 8)]
    for step in steps[:2]:
        step[0] = {**step[0], "connection": 2}
    old = {**connection(2, 0), "last_time": END_MS, **ended}
    with trace_of(**of(*steps), connections=[old, {**connection(1, 29), **new}]) as trace:
        (server,) = restarts(trace)
    assert (server.changes, server.after_errors) == ((0, 1) if explained else (1, 0))


@pytest.mark.parametrize("transport", ["TCP", "UDP"])
def test_an_error_that_left_the_verifier_alone_does_not_explain_a_later_change(
    transport: str,
) -> None:
    """But no TCP connection outlives a restart."""
    steps = [not_stored(1, "NFS3ERR_NOSPC"), write(2, 7), write(3, 8)]
    with trace_of(**of(*steps), connections=[connection(1, 0, transport=transport)]) as trace:
        (server,) = restarts(trace)
    assert server.after_errors == 0
    assert (server.changes, server.outlived) == ((0, 1) if transport == "TCP" else (1, 0))
    assert server.frames == (6,)


def test_another_connection_begun_after_an_error_is_not_of_a_restart() -> None:
    """Its call was sent again for another reason."""
    again = call(4, "GETATTR", 90, connection=2, transmissions=2)
    steps = [
        write(1, 7), not_stored(2, "NFS3ERR_DQUOT"), write(5, 8), [again, operation(4, "GETATTR")],
    ]  # fmt: skip
    with trace_of(**of(*steps), connections=[connection(1, 0), connection(2, 45)]) as trace:
        (server,) = restarts(trace)
    assert (server.changes, server.after_errors, server.moved) == (0, 1, 0)


def connection(number: int, first_ms: int, transport: str = "TCP") -> Row:
    """A connection that began so many milliseconds after the start."""
    return {
        "connection": number,
        "transport": transport,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS + first_ms * MILLISECOND,
    }


def test_a_call_that_waited_for_a_new_connection() -> None:
    again = call(101, "WRITE", 1000, file=1, connection=1, transmissions=2)
    steps = [write(1, 7), [again, write(101, 8)[1]]]
    with trace_of(**of(*steps), connections=[connection(1, 1760)]) as trace:
        (server,) = restarts(trace)
    assert server.moved == 1
    assert server.unreachable_s == pytest.approx(0.75)


def test_a_connection_that_broke_after_the_restart_is_not_its() -> None:
    again = call(201, "GETATTR", 90, file=1, connection=1, transmissions=2)
    steps = [write(1, 7), write(101, 8), [again, operation(201, "GETATTR")]]
    with trace_of(**of(*steps), connections=[connection(1, 2020)]) as trace:
        (server,) = restarts(trace)
    assert (server.verifiers, server.moved, server.unreachable_s) == (2, 0, 0.0)


def test_nothing_happened() -> None:
    with trace_of() as trace:
        assert restarts(trace) == ()
