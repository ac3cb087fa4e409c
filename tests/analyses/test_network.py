"""What lies between client and server, on rows written by hand."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.sessions import sessions
from pcapnfs.analyses.wire.network import network
from pcapnfs.errors import UsageError
from tests.unit.rows import MILLISECOND, Row, call, operation, trace_of

SESSION, OTHER = b"\x01" * 16, b"\x02" * 16


def connection(number: int, **columns: object) -> Row:
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "client_segments": 100,
        "server_segments": 100,
    } | columns


def test_connections_are_counted_and_those_in_use_at_once() -> None:
    """Two overlap, a third follows: a mount with nconnect=2, and a mount after it."""
    calls = [
        call(1, "READ", 25, connection=1),
        call(2, "READ", 25, connection=2),
        call(9, "READ", 1, connection=3),
        call(10, "MNT", 1, connection=4, program=100005),
    ]
    with trace_of(calls=calls, connections=[connection(n) for n in range(1, 5)]) as trace:
        found = network(trace)
    (path,) = found.paths
    assert (found.connections, path.nfs_connections, path.nfs_connections_at_once) == (4, 3, 2)
    assert (found.clients, found.servers) == (1, 1)


def test_transports_and_flavors() -> None:
    calls = [
        call(1, "NULL", 1, flavor="AUTH_NONE"),
        *(call(number, "READ", 1, flavor="RPCSEC_GSS/krb5i") for number in (2, 3)),
    ]
    connections = [connection(1), connection(2, transport="UDP"), connection(3, tls=True)]
    with trace_of(calls=calls, connections=connections) as trace:
        (path,) = network(trace).paths
    assert path.transports == ("TCP", "TLS", "UDP")
    assert dict(path.flavors) == {"RPCSEC_GSS/krb5i": 2, "AUTH_NONE": 1}


def test_the_largest_transfers_stand_beside_what_the_server_allows() -> None:
    operations = [
        operation(1, "FSINFO", max_read=1 << 20, max_write=1 << 19),
        operation(2, "READ", requested=32768, count=100),
        operation(3, "READ", requested=65536),
        operation(4, "READDIR", requested=1 << 21),
    ]
    calls = [call(number, "READ", 1) for number in range(1, 5)]
    with trace_of(calls=calls, operations=operations) as trace:
        (path,) = network(trace).paths
    assert (path.rsize_bytes, path.wsize_bytes) == (65536, None)
    assert (path.max_read_bytes, path.max_write_bytes) == (1 << 20, 1 << 19)


def test_losses_are_added_up() -> None:
    lost = connection(
        1, client_resent=3, server_resent=1, out_of_order=2, missing_bytes=500, zero_windows=4,
        server_zero_window=250 * MILLISECOND,
    )  # fmt: skip
    calls = [call(1, "READ", 1, transmissions=2), call(2, "READ", 1)]
    datagrams = connection(3, transport="UDP")
    connections = [lost, connection(2, client_resent=1), datagrams]
    with trace_of(calls=calls, connections=connections) as trace:
        found = network(trace)
    loss = found.loss
    assert (loss.segments, loss.client_resent, loss.server_resent) == (600, 4, 1)
    assert loss.resent_share == pytest.approx(0.0125)
    assert (loss.out_of_order, loss.missing_bytes, loss.zero_windows) == (2, 500, 4)
    assert (loss.client_zero_window_s, loss.server_zero_window_s) == (0.0, 0.25)
    assert found.resent_calls == found.paths[0].resent_calls == 1
    assert found.paths[0].loss == loss


def test_full_windows_are_told_of_the_busiest_paths() -> None:
    window = {
        "syn_rtt": 10 * MILLISECOND, "ack_rtt": 1000, "server_bytes": 1_000_000,
        "client_window": 5_000, "client_full_window": 5_000, "client_window_full_bytes": 500_000,
        "client_window_full": 1000 * MILLISECOND, "window_scaling": True,
    }  # fmt: skip
    calls = [call(1, "READ", 1), call(2, "READ", 1)]
    with trace_of(calls=calls, connections=[connection(1, **window)]) as trace:
        (found,) = network(trace).full_windows
    assert (found.receiver, found.window_bytes, found.stood_s) == ("client", 5_000, 1.0)
    with trace_of(calls=calls, connections=[connection(1)]) as trace:
        assert network(trace).full_windows == ()


def test_what_rdma_sent_again_has_no_share() -> None:
    """Its packets are no segments: a message of it is as many as it needs."""
    calls = [call(1, "READ", 1), call(2, "READ", 1)]
    over = connection(1, transport="RDMA", client_resent=3, server_resent=2)
    with trace_of(calls=calls, connections=[over]) as trace:
        alone = network(trace).loss
    assert (alone.client_resent, alone.rdma_resent, alone.resent_share) == (3, 5, None)
    with trace_of(calls=calls, connections=[over, connection(2, client_resent=1)]) as trace:
        mixed = network(trace).loss
    assert (mixed.client_resent, mixed.rdma_resent) == (4, 5)
    assert mixed.resent_share == pytest.approx(0.005)


def test_calls_that_came_again_after_their_reply_were_sent_again() -> None:
    calls = [call(1, "READ", 1, transmissions=2), call(2, "READ", 1), call(3, "READ", 1)]
    late = {"reason": "retransmitted_call", "call": 2, "connection": 0, "frame": 40}
    with trace_of(calls=calls, notes=[late, {**late, "frame": 41}]) as trace:
        found = network(trace)
    assert found.resent_calls == found.paths[0].resent_calls == 2


def test_the_busiest_paths_are_shown_and_all_are_counted() -> None:
    calls = [
        call(number, "READ", 1, client=f"10.0.1.{number % 3}", transmissions=2, connection=number)
        for number in range(1, 9)
    ]
    with trace_of(calls=calls) as trace:
        some, every = network(trace, top=1), network(trace, top=0)
    assert (len(some.paths), len(every.paths)) == (1, 3)
    assert some.clients == every.clients == 3
    assert some.resent_calls == every.resent_calls == 8


def test_a_negative_number_of_paths_is_refused() -> None:
    with trace_of() as trace, pytest.raises(UsageError, match="paths cannot be negative"):
        network(trace, top=-1)


def test_so_is_one_that_no_database_can_count() -> None:
    with trace_of() as trace:
        assert network(trace, top=2**63 - 1).paths == ()
        with pytest.raises(UsageError, match="there are never 9223372036854775808 paths"):
            network(trace, top=2**63)


def test_without_calls_there_is_no_path() -> None:
    with trace_of() as trace:
        found = network(trace)
    assert (found.paths, found.shown_sessions, found.timeline) == ((), (), ())
    assert (found.tcp_rtt_s, found.vantage, found.loss.resent_share) == (None, "unknown", None)


def test_a_session_over_several_connections_and_addresses_is_one() -> None:
    """The call that makes it is in no slot; slots are counted from 0."""
    calls = [
        call(1, "CREATE_SESSION", 1, session=SESSION, connection=1),
        call(2, "READ", 1, session=SESSION, slot=0, connection=1),
        call(3, "READ", 1, session=SESSION, slot=5, connection=2),
        call(4, "CB_RECALL", 1, session=SESSION, slot=30, callback=True),
        call(5, "READ", 1, session=OTHER, slot=1),
    ]
    operations = [
        operation(1, "CREATE_SESSION", session_slots=64),
        operation(2, "SEQUENCE", target_highest_slot=63),
        operation(3, "SEQUENCE", target_highest_slot=29),
        operation(4, "CB_SEQUENCE", target_highest_slot=200),
    ]
    ends = {"client": "10.0.0.2", "server": "10.0.0.1"}
    connections = [
        {"connection": 1, **ends},
        {"connection": 2, **ends, "server_address": "10.0.0.9"},
    ]
    with trace_of(calls=calls, operations=operations, connections=connections) as trace:
        number, (first, second) = sessions(trace)
        assert sessions(trace, top=1) == (2, (first,))
    assert number == 2
    assert (first.session, first.connections, first.calls) == ("01" * 16, 2, 2)
    assert first.servers == ("10.0.0.1", "10.0.0.9")
    assert (first.slots_offered, first.slots_used) == (64, 6)
    assert (first.slots_wanted_least, first.slots_wanted_most) == (30, 64)
    assert (second.slots_offered, second.slots_used, second.slots_wanted_most) == (None, 2, None)


def test_a_session_that_is_only_made_is_none_that_was_used() -> None:
    with trace_of(calls=[call(1, "CREATE_SESSION", 1, session=SESSION)]) as trace:
        assert sessions(trace) == (0, ())


def test_connections_that_never_got_an_answer_count_while_they_called() -> None:
    calls = [call(1, "READ", None, connection=1), call(1, "READ", None, connection=2)]
    with trace_of(calls=calls) as trace:
        (path,) = network(trace).paths
    assert (path.nfs_connections_at_once, path.concurrency.peak) == (2, 0)
