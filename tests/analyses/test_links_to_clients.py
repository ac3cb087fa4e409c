"""Links to clients on which what single replies bring takes its time, captured at the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.wire.links_to_clients import links_to_clients
from pcapnfs.analyses.wire.narrow_links import NarrowLink
from pcapnfs.analyses.wire.slower_path import slower_paths
from pcapnfs.record import replace
from tests.analyses.test_late_arrivals import CONNECTION as AT_CLIENT
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

RATE = 600.0
"""Bytes that the link takes in a millisecond."""

CONNECTION: Row = {
    **AT_CLIENT,
    **{f"client_{name}": AT_CLIENT[f"server_{name}"] for name in ("acks", "ack_min", "ack_rtt")},
    **{f"server_{name}": AT_CLIENT[f"client_{name}"] for name in ("acks", "ack_min", "ack_rtt")},
    "syn_rtt": 10_000,
    "ack_rtt": MILLISECOND,
}
"""Captured at the server, 1 ms away from the client."""

NO_ACK: Row = {"earlier_unreceived_time": None, "earlier_unreceived_bytes": None}


def at(ms: float) -> int:
    return START_NS + round(ms * MILLISECOND)


def read(
    number: int,
    size: int = 6_000,
    *,
    rate: float = RATE,
    later_ms: float = 0.0,
    spread_ms: float = 0.0,
    **more: object,
) -> list[Row]:
    """A READ every 100 ms, answered at once, and the GETATTR that follows as soon as the client has
    all of it: an acknowledgement came before that left out its last 1,000 bytes.

    Args:
        number: Its place, from 1 on.
        size: What the reply brings.
        rate: How fast that goes to the client.
        later_ms: What the client's answers come later for, whatever it brings.
        spread_ms: What the reply takes to be sent.
        more: Other columns of the GETATTR.
    """
    sent_ms = 100.0 * number
    gone_ms = sent_ms + 0.1 + spread_ms
    told: Row = {
        "call_first_time": at(gone_ms + 1.01 + size / rate + later_ms),
        "call_time": at(gone_ms + 1.01 + size / rate + later_ms),
        "reply_first_time": at(gone_ms + 1.03 + size / rate + later_ms),
        "reply_time": at(gone_ms + 1.03 + size / rate + later_ms),
        "connection": 0,
        "reply_bytes": 120,
        "earlier_unreceived_time": at(gone_ms + 1 + (size - 1_000) / rate + later_ms),
        "earlier_unreceived_bytes": 1_000,
    }
    return [
        call(
            2 * number,
            "READ",
            0.1 + spread_ms,
            connection=0,
            stability="read",
            call_first_time=at(sent_ms),
            call_time=at(sent_ms),
            reply_first_time=at(sent_ms + 0.1),
            reply_time=at(gone_ms),
            reply_bytes=size,
        ),
        call(2 * number + 1, "GETATTR", 0.02, **{**told, **more}),
    ]


def mixed(count: int = 20, **columns: object) -> list[Row]:
    return [
        row
        for number in range(1, count + 1)
        for row in read(number, 3_000 if number % 2 else 9_000, **columns)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(("quick", "told"), [(6_000.0, False), (RATE, True)])
def test_a_path_that_varies_is_no_link_that_takes_its_time(quick: float, told: bool) -> None:
    """Every third reply comes as soon as without data, others up to 20 ms later."""
    sizes, rates = (3_000, 9_000), (quick, 600.0, 300.0)
    calls = [
        row
        for number in range(1, 61)
        for row in read(number, sizes[number % 2], rate=rates[number // 2 % 3])
    ]
    assert bool(found(calls)) is told


def alike(count: int = 12) -> list[Row]:
    return [row for number in range(1, count + 1) for row in read(number)]


def small(later_ms: float = 0.1, count: int = 12) -> list[Row]:
    """Calls one after the other before the others, with replies that bring next to nothing."""
    return [
        call(
            900 + number,
            "GETATTR",
            0.02,
            connection=0,
            reply_bytes=120,
            call_first_time=at((1.02 + later_ms) * number),
            call_time=at((1.02 + later_ms) * number),
            reply_first_time=at((1.02 + later_ms) * number + 0.02),
            reply_time=at((1.02 + later_ms) * number + 0.02),
        )
        for number in range(count)
    ]


def found(calls: Iterable[Row], **connection: object) -> Sequence[NarrowLink]:
    with trace_of(calls=list(calls), connections=[{**CONNECTION, **connection}]) as trace:
        return links_to_clients(trace)


def test_the_rate_is_that_at_which_what_was_acknowledged_came() -> None:
    (link,) = found(mixed())
    assert (link.client, link.server, link.calls, link.connections, link.sizes) == (
        "10.0.0.2", "10.0.0.1", 20, 1, True
    )  # fmt: skip
    assert link.bytes_per_s == pytest.approx(600_000)
    assert link.usual_s == 0.001
    assert link.median_s == pytest.approx(1e-3 + 5_000 / 600_000)
    assert link.from_ns == at(100.1)


def test_what_the_bytes_took_is_the_link_s_and_not_the_client_s() -> None:
    with trace_of(calls=mixed(), connections=[CONNECTION]) as trace:
        (path,) = slower_paths(trace)
        measured = measure(trace)
    assert (path.side, path.filled, path.confidence, path.alone, path.gaps, path.late_calls) == (
        "client", "client", "certain", 20, 20, 0
    )  # fmt: skip
    assert path.time_s == {"client": pytest.approx(20 * 6_000 / 600_000, rel=0.01)}
    assert measured.longer.full
    assert measured.longer.idle_s == pytest.approx(20 * 6_000 / 600_000, rel=0.01)


def test_a_local_disk_has_no_link_to_wait_for() -> None:
    files = [file(number, f"f{number}") for number in range(1, 41)]
    calls = [
        {**row, "file": number}
        for number in range(1, 41)
        for row in read(number, 9_000 if number % 2 else 3_000)
    ]
    with trace_of(calls=calls, connections=[CONNECTION], files=files) as trace:
        measured = measure(trace)
        without = replace(measured, longer=replace(measured.longer, idle_s=0.0))
        linked, whole = (
            next(
                each.forecast_s
                for each in model(trace, Overrides(), measured=one).what_if
                if each.change == "local"
            )
            for one in (measured, without)
        )
    assert whole - linked == pytest.approx(measured.longer.idle_s, rel=1e-3)


def test_several_replies_at_once_tell_together() -> None:
    """The second stands behind the first, and its rate would be half of the link's."""
    calls = []
    for number in range(1, 21):
        first, last = read(number, 9_000 if number % 2 else 3_000)
        other = {**first, "call": 500 + number, "reply_bytes": 1_500}
        size = 1_500 + (9_000 if number % 2 else 3_000)
        came = at(100 * number + 0.1 + 1 + (size - 1_000) / RATE)
        asked = at(100 * number + 0.1 + 1.01 + size / RATE)
        calls += [
            first,
            other,
            {
                **last,
                "call_first_time": asked,
                "call_time": asked,
                "reply_first_time": asked + 20_000,
                "reply_time": asked + 20_000,
                "earlier_unreceived_time": came,
            },
        ]
    (link,) = found(calls)
    assert link.bytes_per_s == pytest.approx(600_000)


@pytest.mark.parametrize(
    ("others", "told"),
    [(small(), True), (small(2.6), False), (small(count=9), False)],
    ids=["small replies", "late small replies", "few"],
)
def test_replies_of_one_size_may_all_wait_for_the_same(others: list[Row], told: bool) -> None:
    with trace_of(calls=[*others, *alike()], connections=[CONNECTION]) as trace:
        links, paths = links_to_clients(trace), slower_paths(trace)
    assert [link.sizes for link in links] == [False] * told
    assert [path.confidence for path in paths if path.alone] == ["likely"] * told


def test_a_client_that_is_late_with_all_is_no_link() -> None:
    """It is as late for few bytes as for many."""
    busy = [
        row
        for number in range(1, 41)
        for row in read(number, 9_000 if number % 2 else 3_000, rate=1e6, later_ms=10)
    ]
    assert found(busy) == ()


def test_what_waits_for_a_window_is_no_link() -> None:
    """Sent in several round trips, it came as late on any link."""
    assert found(mixed(spread_ms=8.0)) == ()
    assert found(mixed(spread_ms=0.5))


def test_no_reply_is_quicker_than_the_link() -> None:
    """Those that one acknowledgement took in count as well, by what follows them but READs."""

    def quick(**more: object) -> list[Row]:
        return [
            row
            for number in range(41, 47)
            for row in read(number, 9_000, rate=9_000.0, **{**NO_ACK, **more})  # type: ignore[arg-type]
        ]

    after = read(60, 3_000)
    assert found([*mixed(40), *quick(stability="read"), *after])
    assert found([*mixed(40), *quick(), *after]) == ()
    some = [
        row for number in range(1, 41) for row in read(number, rate=5_000 / (number % 10 + 0.5))
    ]
    assert found([*small(), *some]) == ()


@pytest.mark.parametrize("number", [0, 500])
def test_what_another_connection_brings_shares_the_link(number: int) -> None:
    """As of several with nconnect: how much of it had come nobody knows."""
    calls = []
    for place in range(1, 21):
        first, last = read(place, 9_000 if place % 2 else 3_000)
        other = {**first, "call": number + 2 * place - 1, "connection": 1, "reply_bytes": 3_000}
        calls += [{**first, "call": 2 * place}, other, {**last, "call": 1_000 + place}]
    connections = [CONNECTION, {**CONNECTION, "connection": 1}]
    with trace_of(calls=calls, connections=connections) as trace:
        assert links_to_clients(trace) == ()


def test_a_reply_behind_one_that_had_not_arrived_stands_in_its_queue() -> None:
    """The call before it was sent when 2,340 bytes of that one had come."""
    calls = []
    for number in range(1, 21):
        first, last = read(number, 9_000)
        asked = at(100 * number + 5)
        ahead = {
            **first,
            "call": 500 + number,
            "call_first_time": asked,
            "call_time": asked,
            "reply_first_time": asked,
            "reply_time": asked,
            "earlier_unreceived_time": asked,
            "earlier_unreceived_bytes": 6_660,
        }
        came, called = (at(100 * number + 1.1 + size / RATE) for size in (17_000, 18_100))
        later = dict.fromkeys(("call_first_time", "call_time"), called)
        later |= dict.fromkeys(("reply_first_time", "reply_time"), called + 20_000)
        calls += [first, ahead, {**last, **later, "earlier_unreceived_time": came}]
    (link,) = found([*small(), *calls])
    assert link.bytes_per_s == pytest.approx(600_000, rel=1e-3)


@pytest.mark.parametrize(
    ("columns", "connection"),
    [
        (NO_ACK, {}),
        ({"earlier_unreceived_bytes": 9_000}, {}),
        ({"tcp_resent": True}, {}),
        ({}, {name: AT_CLIENT[name] for name in AT_CLIENT if "ack" in name or "syn" in name}),
    ],
    ids=["all at once", "next to nothing came", "sent again", "captured at the client"],
)
def test_others_show_nothing(columns: Row, connection: Row) -> None:
    calls = mixed()
    if "tcp_resent" in columns:
        calls = [{**row, **columns} for row in calls]
    else:
        calls = [row if row["op"] == "READ" else {**row, **columns} for row in calls]
    assert found(calls, **connection) == ()


def test_the_verdict_names_a_full_link() -> None:
    calls = [row for number in range(1, 41) for row in read(number, 45_000 - number % 2 * 24_000)]
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        told = measured_verdict(measure(trace))
    assert told is not None
    assert told.named[0] == "path"
    assert "(replies were still on it; no call was under way meanwhile)" in told.sentence
