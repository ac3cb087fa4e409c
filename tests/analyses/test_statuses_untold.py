"""Captures that do not tell the status of most calls: the server may have put them off."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.statuses_untold import statuses_untold
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of

CAPTURE = meta(end_ns=START_NS + 60_000 * MILLISECOND)


def calls(cut: int, client: str = "10.0.0.2", pause: int = 0) -> list[Row]:
    """Forty small calls, so many without their status, before the last of which comes a pause."""
    base = int(client.rsplit(".", 1)[1]) * 1_000_000
    rows = [
        call(base + place, "GETATTR", 2, client=client, call=base + place)
        for place in [*range(39), 39 + pause]
    ]
    first = int(str(rows[0]["call_time"]))
    times = ("call_first_time", "call_time", "reply_first_time", "reply_time")
    return [
        {
            **row,
            **{name: int(str(row[name])) - first + START_NS for name in times},
            **({"status": None, "status_name": None} if place < cut else {}),
        }
        for place, row in enumerate(rows)
    ]


def undecoded(number: int) -> list[Row]:
    return [{"reason": "truncated", "frame": place} for place in range(number)]


@pytest.mark.parametrize(("cut", "untold"), [(20, True), (19, False)])
def test_half_of_a_clients_answers(cut: int, untold: bool) -> None:
    others = calls(0, "10.0.0.3")
    with trace_of(CAPTURE, calls=[*calls(cut), *others], notes=undecoded(60)) as trace:
        assert statuses_untold(trace) == ({"10.0.0.2"} if untold else set())


def test_pauses_may_be_waits_for_the_server_then() -> None:
    with trace_of(CAPTURE, calls=calls(40, pause=500), notes=undecoded(40)) as trace:
        assert measure(trace).put_off_most_s == pytest.approx(5.008)
        found = model(trace).verdict
    assert found is not None
    assert "the client itself or the server 98.5 %" in found.sentence
    assert "up to 5.01 s of it may be waits for a server that put calls off" in found.sentence
    with trace_of(CAPTURE, calls=calls(0, pause=500), notes=undecoded(40)) as trace:
        found = model(trace).verdict
    assert found is not None
    assert "the client itself 98.5 %" in found.sentence


def test_what_a_client_is_known_to_have_waited_for_is_no_such_pause() -> None:
    """Of five seconds two were those of a connection that came about late."""
    again: Row = {
        "connection": 2,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "syns": 2,
        "syn_time": START_NS + 3_380 * MILLISECOND,
        "syn_acks": 1,
        "syn_ack_time": START_NS + 5_379 * MILLISECOND,
        "ack_rtt": MILLISECOND,
    }
    rows = [*calls(40, pause=500), *calls(0, "10.0.0.3")]
    rows[39] = {**rows[39], "connection": 2}
    with trace_of(CAPTURE, calls=rows, connections=[again], notes=undecoded(80)) as trace:
        clocks = measure(trace).clients
    assert clocks is not None
    assert [clock.put_off_most_s for clock in clocks.each] == [pytest.approx(3.008), 0.0]


def test_nobody_was_put_off_before_a_mount_was_used() -> None:
    rows = calls(40, pause=500)
    rows[0] = {**rows[0], "op": "FSINFO", "signature": "FSINFO"}
    with trace_of(CAPTURE, calls=rows, notes=undecoded(40)) as trace:
        measured = measure(trace)
    assert measured.mount_idle.before_s == pytest.approx(5.008)
    assert measured.untold_pauses_s == 0.0
    rows += calls(0, "10.0.0.3")
    with trace_of(CAPTURE, calls=rows, notes=undecoded(80)) as trace:
        clocks = measure(trace).clients
    assert clocks is not None
    assert [clock.put_off_most_s for clock in clocks.each] == [0.0, 0.0]


@pytest.mark.parametrize("pause", [50, 4000], ids=["too short", "too long"])
def test_no_client_tries_again_so_soon_or_so_late(pause: int) -> None:
    with trace_of(CAPTURE, calls=calls(40, pause=pause), notes=undecoded(40)) as trace:
        assert measure(trace).put_off_most_s == 0.0


def test_each_client_has_its_own_pauses() -> None:
    rows = [*calls(40, pause=500), *calls(0, "10.0.0.3", pause=500)]
    with trace_of(CAPTURE, calls=rows, notes=undecoded(80)) as trace:
        clocks = measure(trace).clients
    assert clocks is not None
    assert {clock.client: clock.put_off_most_s for clock in clocks.each} == {
        "10.0.0.2": pytest.approx(5.008),
        "10.0.0.3": 0.0,
    }
