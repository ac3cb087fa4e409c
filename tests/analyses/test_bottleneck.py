"""What a run is bound by, in shares of the clock."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.bottleneck import Bottleneck, bottleneck
from tests.unit.rows import Row, call, file, operation, trace_of


def test_storage_takes_what_lies_beyond_the_round_trip() -> None:
    calls = [
        *(call(number, "GETATTR", 1, file=1) for number in range(1, 41)),
        *(call(number, "CREATE", 5, file=1, stability="stable") for number in range(41, 81)),
    ]
    with trace_of(calls=calls, files=[file(1, "a")]) as trace:
        found = bottleneck(trace)
    assert (found.calls, found.stable_calls, found.small_calls) == (80, 40, 40)
    assert found.rtt_s == pytest.approx(0.001)
    assert found.persist_s == pytest.approx(0.004)
    assert found.stable_s == pytest.approx(0.2)
    assert found.storage_s == pytest.approx(0.16)
    assert found.network_rtt_s is None
    assert sum(seconds for _, seconds in found.network_s) == 0
    assert found.verdict is not None
    # Ten milliseconds from call to call: most of them are the client's.
    assert found.verdict.named == ("client",)
    assert found.slowest == (81, 83, 85, 87, 89)
    assert found.small == (1, 3, 5, 7, 9)


def test_what_the_network_takes_is_known_from_tcp() -> None:
    calls = [
        *(call(number, "GETATTR", 2, connection=1, file=1) for number in range(1, 41)),
        # Whatever a call does, and where a snaplen cut off what that is, it goes there and back.
        call(41, "CLOSE", 2, connection=1, file=1, stability="state"),
        *(
            call(number, "COMPOUND", 2, connection=1, stability="unknown")
            for number in range(42, 52)
        ),
    ]
    connection = {
        "connection": 1,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "transport": "TCP",
        "handshake": True,
        "syn_rtt": 500_000,
        "ack_rtt": 1_000,
    }
    with trace_of(calls=calls, connections=[connection], files=[file(1, "a")]) as trace:
        found = bottleneck(trace)
    assert found.network_rtt_s == pytest.approx(0.0005, rel=0.01)
    # A quarter of each call.
    parts = dict(found.network_s)
    assert parts["unstable"] == pytest.approx(0.02, rel=0.01)
    assert parts["state"] == pytest.approx(0.0005, rel=0.01)
    assert parts["unknown"] == pytest.approx(0.005, rel=0.01)


def test_of_calls_sent_again_storage_is_not_to_blame() -> None:
    def sent(again: int) -> Bottleneck:
        calls = [
            *(call(number, "GETATTR", 1, file=1) for number in range(1, 41)),
            *(
                call(
                    number,
                    "CREATE",
                    9,
                    file=1,
                    stability="stable",
                    transmissions=1 if number > 40 + again else 2,
                )
                for number in range(41, 61)
            ),
        ]
        with trace_of(calls=calls, files=[file(1, "a")]) as trace:
            return bottleneck(trace)

    def causes(found: Bottleneck) -> tuple[float, float, str | None]:
        verdict = found.verdict
        assert verdict is not None
        times = {each.cause: each.time_s for each in verdict.causes}
        return round(times["persistence"], 6), round(times["waiting"], 6), verdict.storage

    # Fewer than 30: all are taken, as long as half of them went once.
    assert causes(sent(10)) == (0.16, 0.0, "disk")
    assert causes(sent(11)) == (0.0, 0.16, None)
    # Claims rest on what went once, unless most did not.
    assert sent(10).stable_s == pytest.approx(10 * 0.009)
    assert sent(11).stable_s == pytest.approx(20 * 0.009)


def test_examples_are_the_first_of_all_and_of_each_client() -> None:
    def called(number: int, client: int, op: str, srt_ms: float, **columns: object) -> Row:
        sent = {"mount": client, "client": f"10.0.0.{client}", "call_bytes": 100, "file": 1}
        return call(number, op, srt_ms, **sent, **columns)

    calls = [
        *(called(number, 2 + number % 2, "GETATTR", 1) for number in range(1, 81)),
        *(called(n, 2 + n % 2, "CREATE", n % 60, stability="stable") for n in range(81, 141)),
        call(141, "CB_RECALL", 1, callback=True, call_bytes=7),
    ]
    with trace_of(calls=calls, files=[file(1, "a")]) as trace:
        found = bottleneck(trace)
    frames = {each["call"]: each["call_frame"] for each in calls}

    def named(*numbers: int) -> tuple[object, ...]:
        return tuple(frames[number] for number in numbers)

    assert found.slowest == named(119, 118, 117, 116, 115)
    assert found.fastest == named(120, 121, 122, 123, 124)
    assert found.small == named(1, 2, 3, 4, 5)
    assert found.moved_bytes == 14_007
    one, other = sorted(found.clients, key=lambda each: each.about)
    assert one.about == ("10.0.0.2", "10.0.0.1")
    assert one.slowest == named(118, 116, 114, 112, 110)
    assert other.fastest == named(121, 123, 125, 127, 129)
    assert other.small == named(1, 3, 5, 7, 9)
    assert (one.moved_bytes, other.moved_bytes) == (7_000, 7_000)


def test_writes_that_asked_for_stable_storage_are_told_with_their_files() -> None:
    """A server may put on stable storage at once what nobody asked it for."""
    asked = ("FILE_SYNC", "DATA_SYNC", "UNSTABLE", "UNSTABLE")
    calls: list[Row] = []
    operations: list[Row] = []
    for number in range(1, 41):
        client, wish = 2 + number % 2, asked[number // 2 % 4]
        columns: dict[str, object] = {"file": number % 8, "stability": "stable"}
        sent = {"mount": client, "client": f"10.0.0.{client}"}
        calls.append(call(number, "WRITE", 5, **sent, **columns))
        operations.append(operation(number, "WRITE", stable_requested=wish, **columns))
    files = [file(number, f"f{number}") for number in range(8)]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        found = bottleneck(trace)
    assert (found.stable_writes, found.stable_files) == (20, 4)
    for each in found.clients:
        assert (each.stable_writes, each.stable_files) == (10, 2)


def test_calls_of_unknown_outcome_are_counted_for_each_client() -> None:
    def called(number: int, client: int, **columns: object) -> Row:
        sent = {"mount": client, "client": f"10.0.0.{client}"}
        return call(number, "OPEN" if columns else "GETATTR", 1, **sent, **columns)

    calls = [
        *(called(number, 2 + number % 2) for number in range(1, 81)),
        *(called(number, 2, stability="unknown") for number in range(81, 84)),
    ]
    with trace_of(calls=calls) as trace:
        found = bottleneck(trace)
    assert (found.calls, found.stable_calls, found.unknown_calls) == (83, 0, 3)
    assert {each.about[0]: each.unknown_calls for each in found.clients} == {
        "10.0.0.2": 3,
        "10.0.0.3": 0,
    }


def test_nothing_happened() -> None:
    with trace_of() as trace:
        assert bottleneck(trace).verdict is None
