"""What is sealed, and when that is most of the traffic."""

from __future__ import annotations

from pcapnfs.analyses.captured.sealing import sealed_clients, sealing
from pcapnfs.analyses.forecasts.model import model
from tests.unit.rows import Row, call, operation, trace_of


def tcp(number: int, sealed_bytes: int, payload: int) -> Row:
    """A connection with so many bytes of payload, of which so many are under TLS."""
    return {
        "connection": number,
        "transport": "TCP",
        "tls": sealed_bytes > 0,
        "sealed_bytes": sealed_bytes,
        "client_bytes": payload,
        "syn_rtt": 1000,
        "handshake": True,
    }


def test_bytes_under_tls() -> None:
    with trace_of(connections=[tcp(0, 900, 1000), tcp(1, 0, 800)]) as trace:
        found = sealing(trace)
    assert (found.connections, found.sealed_bytes, found.bytes_share) == (1, 900, 0.5)
    assert found.mostly
    with trace_of(connections=[tcp(0, 900, 1000), tcp(1, 0, 801)]) as trace:
        assert not sealing(trace).mostly


def test_connections_that_were_cut_before_a_call_tells_what_it_is() -> None:
    seen = {**tcp(1, 0, 1000), "client": "10.0.0.2"}
    short = {**seen, "connection": 0, "truncated_bytes": 900}
    calls = [call(1, "GETATTR", 1, connection=1)]
    with trace_of(connections=[short, seen], calls=calls) as trace:
        found = sealing(trace)
        assert sealed_clients(trace) == {"10.0.0.2"}
    assert (found.cut_connections, found.cut_bytes, found.cut_share) == (1, 1000, 0.5)
    assert (found.connections, found.hidden_share, found.mostly) == (0, 0.5, True)
    # Calls are seen there, or nothing was cut.
    for connections in ([{**seen, "truncated_bytes": 900}], [tcp(0, 0, 1000), seen]):
        with trace_of(connections=connections, calls=calls) as trace:
            assert sealing(trace).cut_connections == 0
            assert not sealed_clients(trace)


def test_calls_whose_operations_are_hidden() -> None:
    sealed = {"undecoded": "encrypted", "stability": "unknown"}
    calls = [
        call(1, "COMPOUND", 1, **sealed),
        call(2, "COMPOUND", None, **sealed),
        call(3, "WRITE", 1, undecoded="encrypted", stability="stable", assumed=True),
    ]
    with trace_of(calls=calls) as trace:
        found = sealing(trace)
    assert (found.calls, found.calls_share, found.mostly) == (1, 0.5, True)
    assert (found.named_calls, found.named_share, found.named_unknown) == (1, 0.5, 0)


def test_calls_whose_procedure_alone_is_seen() -> None:
    calls = [
        call(1, "WRITE", 1, undecoded="encrypted", stability="unknown", assumed=True),
        call(2, "GETATTR", 1, undecoded="encrypted"),
        call(3, "GETATTR", 1, undecoded="truncated"),
        call(4, "GETATTR", 1),
    ]
    with trace_of(calls=calls) as trace:
        found = sealing(trace)
    assert (found.named_calls, found.named_share, found.named_unknown) == (2, 0.5, 1)
    assert (found.calls, found.calls_share) == (1, 0.25)


def test_nothing_is_sealed_where_there_is_nothing() -> None:
    with trace_of() as trace:
        found = sealing(trace)
    assert (found.connections, found.bytes_share, found.calls_share) == (0, None, None)
    assert not found.mostly


def test_the_calls_before_the_seal_give_no_verdict() -> None:
    calls = [call(number, "GETATTR", 1) for number in range(1, 40)]
    operations = [operation(number, "GETATTR") for number in range(1, 40)]
    with trace_of(calls=calls, operations=operations, connections=[tcp(0, 0, 1000)]) as trace:
        assert model(trace).verdict is not None
    with trace_of(calls=calls, operations=operations, connections=[tcp(0, 900, 1000)]) as trace:
        assert model(trace).verdict is None
