"""Calls that a client sends at once, and that came late: the way to it was longer."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.wire import slower_gaps
from pcapnfs.analyses.wire.late_successions import late_successions
from pcapnfs.analyses.wire.slower_path import SlowerPath, slower_paths
from tests.unit.rows import MILLISECOND, START_NS, Row, call, operation, trace_of

AT_SERVER: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "syn_rtt": 5_000,
    "ack_rtt": 1 * MILLISECOND,
}
"""Captured at the server; a round trip to the client takes 1 ms."""

AT_CLIENT: Row = {**AT_SERVER, "syn_rtt": MILLISECOND, "ack_rtt": 5_000}


def written(
    *, files: int = 25, after_ms: float = 41, think_ms: float = 0, odd_ms: float = 0
) -> list[Row]:
    """Files of one WRITE and a COMMIT, each call sent so long after the reply before.

    Args:
        files: How many.
        after_ms: How long.
        think_ms: The program's own time before each WRITE.
        odd_ms: How much later every second COMMIT comes.
    """
    rows, now_ms = [], 1_000.0
    for number in range(files):
        for step, op in enumerate(("WRITE", "COMMIT")):
            now_ms += after_ms + (think_ms if op == "WRITE" else odd_ms * (number % 2))
            sent = START_NS + round(now_ms * MILLISECOND)
            end = sent + MILLISECOND
            times = {"call_first_time": sent, "call_time": sent}
            times |= {"reply_first_time": end, "reply_time": end, "srt": end - sent}
            rows.append(call(10 + 2 * number + step, op, 1, connection=0, file=number, **times))
            now_ms += 1
    return rows


def told(calls: list[Row], connection: Row = AT_SERVER) -> tuple[SlowerPath, ...]:
    with trace_of(connections=[connection], calls=calls) as trace:
        return slower_paths(trace)


def test_calls_that_no_program_decides_on_show_a_longer_way_to_the_client() -> None:
    """Its ACKs all come with calls, so that they alone may be a program's pauses."""
    with trace_of(connections=[AT_SERVER], calls=written()) as trace:
        (path,) = slower_paths(trace)
        gaps = slower_gaps.by_client(trace)
    assert (path.side, path.confidence, path.connections) == ("client", "likely", 1)
    assert (path.at_once, path.turns, path.acks) == (25, 49, 0)
    assert path.rtt_s == pytest.approx(0.041)
    assert path.usual_s == pytest.approx(0.001)
    assert gaps == {"10.0.0.2": pytest.approx(49 * 0.040)}
    assert path.gaps == 49


def test_the_verdict_books_it_to_the_path() -> None:
    with trace_of(connections=[AT_SERVER], calls=written()) as trace:
        found = measured_verdict(measure(trace))
    assert found is not None
    assert found.named == ("path",)


def test_what_a_program_takes_besides_stays_its_own() -> None:
    (path,) = told(written(think_ms=100))
    assert path.time_s == {"client": pytest.approx(49 * 0.040)}


@pytest.mark.parametrize(
    ("calls", "connection"),
    [
        # A program pauses before each WRITE, but COMMITs follow at once.
        (written(after_ms=1.1, think_ms=40), AT_SERVER),
        # Too few of them.
        (written(files=19), AT_SERVER),
        # So little that the client may have been busy …
        (written(after_ms=5.5), AT_SERVER),
        # … or as one that is busy comes.
        (written(odd_ms=30), AT_SERVER),
        # At the client no path lies before its calls.
        (written(), AT_CLIENT),
        # What a program decides on.
        ([{**row, "op": "GETATTR"} for row in written()], AT_SERVER),
    ],
)
def test_what_shows_nothing(calls: list[Row], connection: Row) -> None:
    assert told(calls, connection) == ()


def test_one_call_that_came_sooner_shows_that_the_path_was_no_longer() -> None:
    calls = written(files=30)
    sooner = dict(calls[31])
    for name in ("call_first_time", "call_time"):
        sooner[name] = int(str(calls[30]["reply_time"])) + 2 * MILLISECOND
    assert told([*calls[:31], sooner, *calls[32:]]) == ()


def test_answers_without_data_as_late_make_it_certain() -> None:
    """ACKs that took 20 ms longer, which are not delayed, may be those of a busy end."""
    slow = {
        **AT_SERVER,
        "client_slow_from": START_NS,
        "client_slow_until": START_NS + 9_000 * MILLISECOND,
        "client_slow_rtt": 21 * MILLISECOND,
        "client_slow_acks": 20,
        "client_slow_turns": 50,
        "client_slow_full": 0,
        "client_slow_soon": 0,
    }
    (path,) = told(written(after_ms=1.1), slow)
    assert (path.confidence, path.at_once) == ("possible", 0)
    (path,) = told(written(after_ms=22), slow)
    assert (path.confidence, path.at_once) == ("certain", 25)
    assert path.time_s == {"client": pytest.approx(49 * 0.020)}
    # Those that are as late as delayed ones bear nothing out.
    (path,) = told(written(after_ms=60), {**slow, "client_slow_rtt": 60 * MILLISECOND})
    assert (path.confidence, path.acks) == ("likely", 0)


@pytest.mark.parametrize(
    ("made", "attributes", "at_once"),
    [
        ({"create_mode": 2}, None, 25),
        ({"create_mode": 3}, "00000000:00410000", 25),
        ({"create_mode": 3}, "00000000:00000002", None),
        ({"create_mode": 0}, None, None),
    ],
)
def test_the_setattr_of_an_exclusive_create_follows_at_once(
    made: Row, attributes: str | None, at_once: int | None
) -> None:
    names = {"WRITE": "CREATE", "COMMIT": "SETATTR"}
    calls = [{**row, "op": names[str(row["op"])]} for row in written()]
    operations = [
        operation(int(str(row["call"])), "CREATE", **made)
        if row["op"] == "CREATE"
        else operation(int(str(row["call"])), "SETATTR", attributes=attributes)
        for row in calls
    ]
    with trace_of(connections=[AT_SERVER], calls=calls, operations=operations) as trace:
        found = late_successions(trace)
    assert [each.at_once for each in found] == ([] if at_once is None else [at_once])
