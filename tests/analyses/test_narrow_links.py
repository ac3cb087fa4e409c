"""Links on which what single calls bring takes its time, by what was acknowledged meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.wire.narrow_links import NarrowLink, narrow_links
from pcapnfs.analyses.wire.slower_path import slower_paths
from pcapnfs.record import replace
from tests.analyses.test_late_arrivals import CONNECTION
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

RATE = 600.0
"""Bytes that the link takes in a millisecond."""

DISK_MS = 5.0
"""What the server takes for each WRITE."""


def write(
    number: int,
    size: int = 6_000,
    *,
    at_ms: float | None = None,
    rate: float = RATE,
    **more: object,
) -> Row:
    """A WRITE over the link, every 100 ms: an acknowledgement comes that leaves out its last 1,000
    bytes, and the reply once the disk has all of it."""
    sent = START_NS + int((100 * number if at_ms is None else at_ms) * MILLISECOND)
    took_ms = 1 + size / rate + DISK_MS
    answered = sent + int(took_ms * MILLISECOND)
    known: Row = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": answered,
        "reply_time": answered,
        "connection": 0,
        "call_bytes": size,
        "stability": "stable",
        "unreceived_time": sent + int((1 + (size - 1_000) / rate) * MILLISECOND),
        "unreceived_bytes": 1_000,
    }
    return call(number, "WRITE", took_ms, **{**known, **more})


def found(calls: Iterable[Row], **connection: object) -> Sequence[NarrowLink]:
    with trace_of(calls=list(calls), connections=[{**CONNECTION, **connection}]) as trace:
        return narrow_links(trace)


def small(took_ms: float = 1.1, count: int = 10) -> list[Row]:
    """Calls before the others that bring next to nothing."""
    return [
        call(900 + number, "GETATTR", took_ms, connection=0, call_bytes=120)
        for number in range(count)
    ]


def mixed(count: int = 20) -> list[Row]:
    return [write(number, 3_000 if number % 2 else 9_000) for number in range(1, count + 1)]


def test_the_rate_is_that_at_which_what_was_acknowledged_came() -> None:
    (link,) = found(mixed())
    assert (link.client, link.server, link.calls, link.connections) == (
        "10.0.0.2", "10.0.0.1", 20, 1
    )  # fmt: skip
    assert link.bytes_per_s == pytest.approx(600_000)
    assert link.usual_s == 0.001
    assert link.median_s == pytest.approx(1e-3 + 5_000 / 600_000)
    assert (link.from_ns, link.until_ns) == (
        START_NS + 100 * MILLISECOND, START_NS + int(2_001 * MILLISECOND + 8_000e6 / RATE)
    )  # fmt: skip
    assert link.sizes


def test_what_the_bytes_took_is_the_path_s_and_the_rest_the_storage_s() -> None:
    calls = [*mixed(), call(150, "SETATTR", 2, call_bytes=800, connection=0)]
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        (path,) = slower_paths(trace)
    assert (path.side, path.confidence, path.late_calls, path.alone, path.calls) == (
        "server", "certain", 20, 20, 20
    )  # fmt: skip
    assert path.longer_s == pytest.approx(20 * 6_000 / 600_000, rel=1e-3)
    assert path.full_bytes_per_s == pytest.approx(600_000)
    assert path.full_of == "calls"


def test_a_path_that_varies_is_no_link_that_takes_its_time() -> None:
    """Every third call comes as soon as without data, others up to 20 ms later, small ones too."""
    for quick, told in ((6_000.0, False), (RATE, True)):
        rates = (quick, 600.0, 300.0)
        calls = [write(number, rate=rates[number % 3]) for number in range(1, 31)]
        assert bool(found([*small(), *calls])) is told


def test_streams_share_none_of_it() -> None:
    """Forty files, each with a WRITE of 10 ms on the link."""
    numbers = range(1, 41)
    calls = [*small(), *(write(number, file=number) for number in numbers)]
    files = [file(number, f"f{number}") for number in numbers]
    with trace_of(calls=calls, connections=[CONNECTION], files=files) as trace:
        measured = measure(trace)
        assert measured.longer.full
        unknown = replace(measured, longer=replace(measured.longer, full=False))
        full, shared = (
            model(trace, Overrides(streams=8), measured=each).forecast_s or 0.0
            for each in (measured, unknown)
        )
    assert full - shared == pytest.approx(40 * 0.010 * (1 - 1 / 8), rel=1e-3)


@pytest.mark.parametrize(
    ("others", "told"),
    [(small(), True), (small(3.6), False), (small(count=9), False)],
    ids=["small calls", "late small calls", "few"],
)
def test_calls_of_one_size_may_all_wait_for_the_same(others: list[Row], told: bool) -> None:
    calls = [write(number) for number in range(1, 13)]
    with trace_of(calls=[*others, *calls], connections=[CONNECTION]) as trace:
        links, paths = narrow_links(trace), slower_paths(trace)
    assert [link.sizes for link in links] == [False] * told
    assert [path.confidence for path in paths if path.alone] == ["likely"] * told


def test_what_was_sent_bit_by_bit_is_transfer() -> None:
    """Calls of more bytes that a window let out over 20 ms, beside those that tell."""
    calls = mixed(40)
    for number in range(10, 14):
        row = write(number, 27_000, at_ms=100 * number + 25)
        later = {"call_time": START_NS + (100 * number + 45) * MILLISECOND}
        calls.append({**row, **later, "call": 40 + number, "srt": 31 * MILLISECOND})
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        ((link,), (path,)) = narrow_links(trace), slower_paths(trace)
    assert link.calls == 40
    # 45 ms on the link, of which 20 ms are their transfer.
    assert path.longer_s == pytest.approx(40 * 0.010 + 4 * 0.025, rel=1e-3)


@pytest.mark.parametrize(
    ("columns", "connection"),
    [
        # Storage that takes 600 KB a second: what is sent is there after a round trip.
        ({"unreceived_time": None, "unreceived_bytes": None}, {}),
        ({"unreceived_bytes": 6_000}, {}),
        ({"tcp_resent": True}, {}),
        ({"first_arrived": False}, {}),
        ({"callback": True}, {}),
        ({}, {"syn_rtt": 5_000, "ack_rtt": MILLISECOND, "server_ack_rtt": 9_000,
              "server_ack_min": 5_000, "client_ack_rtt": MILLISECOND,
              "client_ack_min": MILLISECOND}),
        # Nothing of it is longer than a round trip.
        ({}, {"syn_rtt": 20 * MILLISECOND, "server_ack_rtt": 20 * MILLISECOND,
              "server_ack_min": 20 * MILLISECOND}),
    ],
    ids=["slow storage", "nothing had come", "behind a lost segment", "sent again", "callbacks",
         "captured at the server", "a long way"],
)  # fmt: skip
def test_others_tell_nothing(columns: Row, connection: Row) -> None:
    assert found([{**row, **columns} for row in mixed()], **connection) == ()


def test_few_calls_and_a_little_time_tell_nothing() -> None:
    assert found(mixed(19)) == ()
    assert found(mixed(20))

    def took(ms: float) -> list[Row]:
        return [*small(), *(write(number, rate=5_000 / ms) for number in range(1, 41))]

    assert found(took(1.9)) == ()
    assert found([*took(1.9)[:40], *took(2.4)[40:]]) == ()
    assert found(took(2.1))


def test_those_in_a_queue_tell_nothing_of_it() -> None:
    """Each is sent while the one before it is under way; small ones are in nobody's way."""
    calls = [write(number, at_ms=10 * number) for number in range(1, 41)]
    assert found([*small(), *calls]) == ()
    calls = [write(number) for number in range(1, 41)]
    before = [
        call(
            100 + number,
            "GETATTR",
            1.1,
            connection=0,
            call_bytes=120,
            call_frame=2 * number - 2,
            call_first_time=START_NS + 100 * number * MILLISECOND - 500_000,
            reply_time=START_NS + 100 * number * MILLISECOND + 600_000,
        )
        for number in range(1, 41)
    ]
    assert found([*before, *calls])


def test_an_end_that_takes_in_late_what_comes_is_no_link() -> None:
    """It is as late for few bytes as for many, or late with most, and not with all."""

    def late(number: int, size: int) -> Row:
        at = START_NS + (100 * number + 5) * MILLISECOND
        return {**write(number, size), "unreceived_time": at}

    by_ticks = [late(number, 3_000 if number % 2 else 9_000) for number in range(1, 41)]
    assert found([*small(), *by_ticks]) == ()
    most = [write(number, rate=RATE if number % 10 else 10 * RATE) for number in range(1, 41)]
    assert found([*small(), *most]) == ()
    some = [write(number, rate=5_000 / (number % 10 + 0.5)) for number in range(1, 41)]
    assert found([*small(), *some]) == ()


def test_what_is_later_than_its_bytes_waited_for_something_else() -> None:
    slow = [write(number, rate=RATE / (1 + number % 3)) for number in range(1, 41)]
    (link,) = found([*small(), *slow])
    assert link.bytes_per_s == pytest.approx(600_000)


@pytest.mark.parametrize(("apart_ms", "told"), [(0, False), (20, True)])
def test_what_is_sent_to_two_servers_at_once_shares_the_link(apart_ms: int, told: bool) -> None:
    """As of mirrored files: neither was alone, and the link is as fast as both together."""
    other = {"connection": 1, "server": "10.0.0.3"}
    calls = [
        each
        for number in range(1, 21)
        for each in (
            write(number),
            {**write(100 + number, at_ms=100 * number + apart_ms), **other},
        )
    ]
    connections = [CONNECTION, {**CONNECTION, **other}]
    with trace_of(calls=[*small(), *calls], connections=connections) as trace:
        assert bool(narrow_links(trace)) is told


@pytest.mark.parametrize(("quick", "told"), [(2, True), (4, False)])
def test_no_call_is_quicker_than_the_link(quick: int, told: bool) -> None:
    """Those that no acknowledgement left out count as well, by when they were answered."""
    soon = [
        {
            **write(100 + number, at_ms=100 * number + 50),
            "unreceived_time": None,
            "unreceived_bytes": None,
            "reply_time": START_NS + (100 * number + 54) * MILLISECOND,
        }
        for number in range(1, quick + 1)
    ]
    calls = [write(number) for number in range(1, 41)]
    assert bool(found([*small(), *calls, *soon])) is told


def test_a_late_acknowledgement_adds_nothing_to_what_a_call_by_itself_took() -> None:
    """A busy server was late with every fourth; where another was before it, that took time too."""
    calls = [
        write(number, 9_000, rate=RATE / (1 + 3 * (number % 4 == 0))) for number in range(1, 41)
    ]
    behind = write(11, 9_000, at_ms=1_101, rate=9_000 / 29)
    with trace_of(
        calls=[*small(), *calls, {**behind, "call": 41}], connections=[CONNECTION]
    ) as trace:
        ((link,), (path,)) = narrow_links(trace), slower_paths(trace)
    assert link.bytes_per_s == pytest.approx(600_000)
    assert path.longer_s == pytest.approx(40 * 0.015 + 8_000 / 9_000 * 0.029, rel=1e-3)
