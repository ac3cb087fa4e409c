"""Paths that were longer for a while: what is taken for one, how sure that is, and what it took."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.servers.load import load
from pcapnfs.analyses.wire import slower_gaps
from pcapnfs.analyses.wire.slower_path import SlowerPath, slower_paths
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

SECOND = 1000 * MILLISECOND


def slow(
    rtt_ms: float,
    *,
    side: str = "server",
    acks: int = 20,
    turns: int = 0,
    full: int = 0,
    soon: int = 0,
    since_s: float = 1,
    until_s: float = 9,
) -> Row:
    """A connection whose round trip is 1 ms, but for a while."""
    return {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "syn_rtt": MILLISECOND,
        "ack_rtt": 5_000,
        f"{side}_slow_from": START_NS + round(since_s * SECOND),
        f"{side}_slow_until": START_NS + round(until_s * SECOND),
        f"{side}_slow_rtt": round(rtt_ms * MILLISECOND),
        f"{side}_slow_acks": acks,
        f"{side}_slow_turns": turns,
        f"{side}_slow_full": full,
        f"{side}_slow_soon": soon,
    }


AT_SERVER: Row = {"syn_rtt": 5_000, "ack_rtt": MILLISECOND}
"""Its round trips where the capture was taken at the server."""

CALLS = [
    call(10, "GETATTR", 2),
    call(100, "GETATTR", 301),
    call(200, "SETATTR", 400, stability="stable"),
    call(300, "GETATTR", None),
    call(890, "GETATTR", 301),
]
"""Sent 0.1, 1, 2, 3 and 8.9 s after the start."""


def told(*connections: Row, calls: list[Row] | None = None) -> tuple[SlowerPath, ...]:
    with trace_of(connections=connections, calls=CALLS if calls is None else calls) as trace:
        return slower_paths(trace)


def test_calls_that_were_under_way_then_took_longer_for_it() -> None:
    (path,) = told(slow(300, full=12))
    assert (path.client, path.server, path.side) == ("10.0.0.2", "10.0.0.1", "server")
    assert (path.from_ns, path.until_ns) == (START_NS + SECOND, START_NS + 9 * SECOND)
    assert (path.rtt_s, path.usual_s, path.confidence) == (0.3, 0.001, "certain")
    # The last was answered later than that.
    assert path.calls == 2
    assert path.longer_s == pytest.approx(2 * 0.299)
    assert path.frames == (199, 399)
    assert path.time_s == {"unstable": pytest.approx(0.299), "stable": pytest.approx(0.299)}


@pytest.mark.parametrize(
    ("seen", "confidence"),
    [
        # An end that works long enough delays its ACKs by up to 200 ms …
        (slow(60, acks=500, turns=500), None),
        (slow(200, acks=500, turns=500), None),
        # … those of full-sized segments as well where it cannot take more, …
        (slow(200, full=20), None),
        # … but not for longer than the ACK before was ago, …
        (slow(60, soon=2), None),
        (slow(60, soon=3), "likely"),
        (slow(60, soon=10), "certain"),
        # … and not by more.
        (slow(300, acks=8), "likely"),
        (slow(300, full=10), "certain"),
        (slow(300, acks=0, turns=500), "likely"),
        (slow(600, acks=8), "likely"),
        (slow(600, acks=15, turns=15, until_s=60), "certain"),
        # Nor by so little, but an end may be busy.
        (slow(20, acks=19), None),
        (slow(20, acks=20), "possible"),
        (slow(20, acks=100), "likely"),
        (slow(5, acks=99), None),
        (slow(5, acks=100), "likely"),
        (slow(2.9, acks=500), None),
    ],
)
def test_how_sure_it_is(seen: Row, confidence: str | None) -> None:
    assert [path.confidence for path in told(seen)] == ([confidence] if confidence else [])


def test_what_is_merely_possible_costs_nothing() -> None:
    (path,) = told(slow(20, acks=20))
    assert (path.known, path.calls, path.longer_s, path.time_s) == (False, 0, 0.0, {})


def left_out(*, sent_ms: float = 2_000, after_ms: float = 21) -> list[Row]:
    """Ten WRITEs of 8 KiB, each left out by an acknowledgement that came long after it was sent."""
    rows = []
    for number in range(10):
        sent = START_NS + round((sent_ms + 100 * number) * MILLISECOND)
        end = sent + round((after_ms + 2) * MILLISECOND)
        times = {
            "call_first_time": sent,
            "call_time": sent,
            "reply_first_time": end,
            "reply_time": end,
            "unreceived_time": sent + round(after_ms * MILLISECOND),
        }
        rows.append(
            call(20 + number, "WRITE", after_ms + 2, call_bytes=8_300, connection=0, **times)
        )
    return rows


def test_calls_that_had_not_arrived_bear_out_that_no_end_was_busy() -> None:
    """All answers took 20 ms more, and calls meanwhile were on their way for as long."""
    (path,) = told(slow(20, acks=20), calls=left_out())
    assert (path.confidence, path.late_calls) == ("likely", 0)
    assert (path.rtt_s, path.until_ns) == (0.02, START_NS + 9 * SECOND)
    assert path.calls == 10
    assert path.longer_s == pytest.approx(10 * 0.020)


@pytest.mark.parametrize(
    "calls",
    [
        left_out(after_ms=17),  # The end may have been busy for the rest.
        left_out(after_ms=40),  # These waited in a queue as well.
        left_out(sent_ms=8_900),  # Some came later.
    ],
)
def test_other_calls_do_not(calls: list[Row]) -> None:
    (path,) = told(slow(20, acks=20), calls=calls)
    assert path.late_calls == 10


@pytest.mark.parametrize(("full", "soon"), [(1, 0), (0, 1)])
def test_a_single_stall_is_no_longer_path(full: int, soon: int) -> None:
    """It makes no more ACKs late than are timed at once."""
    assert told(slow(300, full=8 * full, soon=8 * soon, until_s=3)) == ()
    (path,) = told(slow(300, full=9 * full, soon=9 * soon, until_s=3))
    assert path.undelayed == 9


def test_ten_round_trips_are_no_single_stall() -> None:
    assert told(slow(60, soon=8, until_s=1.5)) == ()
    assert told(slow(60, full=20, until_s=1.5)) == ()
    (path,) = told(slow(60, soon=8, until_s=1.7))
    assert path.confidence == "likely"
    assert told(slow(20, soon=20, until_s=1.1)) == ()


def test_on_the_clients_half_calls_are_over_before_it() -> None:
    """Captured at the server, what is longer lies before the calls."""
    (path,) = told({**slow(300, side="client", full=12), **AT_SERVER})
    assert (path.side, path.calls, path.longer_s) == ("client", 0, 0.0)
    assert path.usual_s == pytest.approx(0.001)


def one_by_one(*, think_ms: float, calls: int = 20, since_ms: float = 2_000) -> list[Row]:
    """Calls that take 1 ms at the server, each so long after the reply before came by there."""
    rows, now_ms = [], since_ms
    for number in range(calls):
        sent = START_NS + round(now_ms * MILLISECOND)
        end = sent + MILLISECOND
        times = {"call_first_time": sent, "call_time": sent}
        times |= {"reply_first_time": end, "reply_time": end, "srt": end - sent}
        rows.append(call(40 + number, "GETATTR", 1, connection=0, **times))
        now_ms += 1 + think_ms
    return rows


LONGER = {**slow(60, side="client", soon=12), **AT_SERVER}
"""Captured at the server; the way to the client takes 60 ms for a while instead of 1 ms."""


def test_the_client_gets_replies_later_and_calls_later() -> None:
    """Each call comes 65 ms after the reply: 1 ms is usual, 59 ms the path's, 5 ms its own."""
    calls = one_by_one(think_ms=65)
    with trace_of(connections=[LONGER], calls=calls) as trace:
        (path,) = slower_paths(trace)
        assert slower_gaps.by_client(trace) == {"10.0.0.2": pytest.approx(19 * 0.059)}
    assert (path.confidence, path.gaps, path.calls) == ("certain", 19, 0)
    assert path.time_s == {"client": pytest.approx(19 * 0.059)}
    assert path.frames == (81, 83, 85, 87, 89)


def test_what_came_sooner_waited_no_longer_and_a_pause_is_the_clients() -> None:
    """A call that was sent while the reply was on its way, and one after a second and more."""
    (path,) = told(LONGER, calls=one_by_one(think_ms=11))
    assert path.time_s == {"client": pytest.approx(19 * 0.010)}
    (path,) = told(LONGER, calls=one_by_one(think_ms=0.5))
    assert (path.gaps, path.time_s) == (0, {})
    (path,) = told(LONGER, calls=one_by_one(think_ms=1_100, calls=4))
    assert (path.gaps, path.time_s) == (0, {})
    # Before the path was longer, and beside a call of another mount, nothing is.
    (path,) = told(LONGER, calls=one_by_one(think_ms=65, calls=5, since_ms=500))
    assert (path.gaps, path.time_s) == (0, {})
    beside = call(30, "GETATTR", 3_000, server="10.0.0.9", connection=1)
    (path,) = told(LONGER, calls=[beside, *one_by_one(think_ms=65)])
    assert path.gaps < 19


def test_the_verdict_counts_what_the_path_took_between_calls() -> None:
    """As a capture at the client tells it, where the calls themselves take so much longer."""
    with trace_of(connections=[LONGER], calls=one_by_one(think_ms=65, calls=40)) as trace:
        found = measured_verdict(measure(trace))
    assert found is not None
    times = {each.cause: each.time_s for each in found.causes}
    assert found.named == ("path",)
    assert times["path"] == pytest.approx(39 * 0.059)
    assert times["client"] == pytest.approx(39 * 0.005)


def test_of_several_clients_each_has_its_own() -> None:
    other = {**LONGER, "connection": 1, "client": "10.0.0.3"}
    other |= {name: None for name in other if name.startswith("client_slow")}
    quick = [
        {**row, "call": int(str(row["call"])) + 500, "client": "10.0.0.3", "connection": 1}
        for row in one_by_one(think_ms=65, calls=40)
    ]
    with trace_of(
        connections=[LONGER, other], calls=[*one_by_one(think_ms=65, calls=40), *quick]
    ) as trace:
        clocks = measure(trace).clients
    assert clocks is not None
    paths = {clock.client: clock.causes()["path"] for clock in clocks.each}
    assert paths == {"10.0.0.2": pytest.approx(39 * 0.059), "10.0.0.3": 0.0}


def test_at_the_end_of_the_capture_there_is_no_path() -> None:
    """What is late there is an end that was busy."""
    assert told(slow(300, side="client", full=12)) == ()
    assert told({**slow(20, acks=100), **AT_SERVER}) == ()


def test_several_connections_are_one_path() -> None:
    other = {**slow(400, full=9, since_s=2, until_s=12), "connection": 1}
    (path,) = told(slow(300, full=3), other)
    assert (path.connections, path.full, path.acks) == (2, 12, 40)
    assert (path.rtt_s, path.until_ns) == (0.3, START_NS + 12 * SECOND)


def test_without_such_a_time_there_is_nothing() -> None:
    assert told({"connection": 0, "client": "10.0.0.2", "server": "10.0.0.1"}) == ()


def writes(gaps_ms: list[float], *, sent_ms: float = 1_100, of: int = 131_072) -> list[Row]:
    """WRITEs that were all sent at once, and whose replies came with these pauses."""
    at, found = 1_300.0, []
    for number, gap in enumerate(gaps_ms, 500):
        at += gap
        sent = START_NS + round(sent_ms * MILLISECOND)
        found.append(
            call(
                number, "WRITE", at - sent_ms, stability="unstable_write", call_first_time=sent,
                call_time=sent, reply_first_time=START_NS + round(at * MILLISECOND),
                reply_time=START_NS + round(at * MILLISECOND), call_bytes=of,
            )
        )  # fmt: skip
    return found


EVEN = [100.0, 110.0, 105.0, 95.0, 100.0, 108.0, 102.0, 100.0, 104.0]
"""Pauses as a link of 10 Mbit/s makes them."""


def test_data_that_is_taken_at_one_speed_fills_the_link() -> None:
    (path,) = told(slow(150, soon=40), calls=writes(EVEN))
    # The first reply follows none.
    assert path.full_bytes_per_s == pytest.approx(131_072 * 8 / (sum(EVEN[1:]) / 1000))


def test_data_for_the_client_fills_its_half() -> None:
    replies: list[Row] = [
        {**each, "call_bytes": 120, "reply_bytes": 131_072} for each in writes(EVEN)
    ]
    behind = {**slow(150, soon=40, side="client"), **AT_SERVER}
    (path,) = told(behind, calls=replies)
    assert (path.side, path.calls) == ("client", 0)
    assert path.full_bytes_per_s == pytest.approx(131_072 * 8 / (sum(EVEN[1:]) / 1000))
    for other in (replies[:8], writes(EVEN)):
        (path,) = told(behind, calls=other)
        assert path.full_bytes_per_s is None


def test_on_a_full_link_large_calls_wait_for_what_is_before_them() -> None:
    (path,) = told(slow(150, soon=40), calls=[*writes(EVEN), call(200, "GETATTR", 400)])
    # Beyond the usual round trip of 1 ms; of the small one the least that the path was longer.
    waited_ms = sum(199 + sum(EVEN[:number]) for number in range(1, 10))
    assert path.longer_s == pytest.approx(waited_ms / 1000 + 0.149)


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(writes(EVEN[:8]), id="too few"),
        pytest.param(writes([10.0, 290.0] * 6), id="a window for each round trip"),
        pytest.param(writes(EVEN, of=8_192), id="little data"),
        pytest.param(
            [{**each, "call_time": each["reply_time"]} for each in writes(EVEN)],
            id="each sent after the reply before",
        ),
    ],
)
def test_other_data_does_not(calls: list[Row]) -> None:
    (path,) = told(slow(150, soon=40), calls=calls)
    assert path.full_bytes_per_s is None


SMALL = 4_096
"""Bytes of a small WRITE; a link of 5 Mbit/s takes one in 6.5 ms."""


def test_small_calls_fill_a_link_together() -> None:
    gaps = [6.0, 7.0, 6.5, 6.2, 6.8] * 16
    (path,) = told(slow(150, soon=40), calls=writes(gaps, of=SMALL))
    assert path.full_bytes_per_s == pytest.approx(SMALL / 0.0065, rel=0.01)
    # All that they took beyond the usual round trip of 1 ms.
    waited_ms = sum(199 + sum(gaps[:number]) for number in range(1, 81))
    assert path.longer_s == pytest.approx(waited_ms / 1000)


@pytest.mark.parametrize(
    "gaps_ms",
    [
        pytest.param([6.5] * 15, id="too few"),
        pytest.param([143.0, *[0.3] * 23] * 6, id="a window for each round trip"),
        # Four are under way in each round trip.
        pytest.param([37.5] * 80, id="each program waits for its answer"),
    ],
)
def test_small_calls_on_a_longer_path_do_not(gaps_ms: list[float]) -> None:
    (path,) = told(slow(150, soon=40), calls=writes(gaps_ms, of=SMALL))
    assert path.full_bytes_per_s is None


def following(gaps_ms: list[float], *, ahead_ms: float = 10) -> list[Row]:
    """WRITEs each of which is sent so long before the reply to the one before, from 0.2 s on."""
    before, found = 200.0, []
    for number, gap in enumerate(gaps_ms, 600):
        sent, answered = before - ahead_ms, before + gap
        found.append(
            call(
                number, "WRITE", answered - sent, stability="unstable_write",
                call_first_time=START_NS + round(sent * MILLISECOND),
                call_time=START_NS + round(sent * MILLISECOND),
                reply_first_time=START_NS + round(answered * MILLISECOND),
                reply_time=START_NS + round(answered * MILLISECOND), call_bytes=131_072,
            )
        )  # fmt: skip
        before = answered
    return found


def test_while_the_queue_of_a_full_link_grows_calls_wait_for_it_as_well() -> None:
    """From 0.2 s on, though all answers were late only from 1 s on."""
    (path,) = told(slow(100, soon=40), calls=following(EVEN * 3))
    # The first follows none. Of each, all but the usual round trip of 1 ms.
    gaps = (EVEN * 3)[1:]
    assert path.calls == len(gaps)
    assert path.longer_s == pytest.approx(sum(gap + 10 - 1 for gap in gaps) / 1000)
    # So they do while it goes.
    (path,) = told(slow(100, soon=40, until_s=2), calls=following(EVEN * 3))
    assert path.calls == len(gaps)


def test_what_the_link_did_not_pace_did_not_wait_for_it() -> None:
    (path,) = told(slow(100, soon=40), calls=following([400.0, 400.0, *EVEN * 2]))
    assert (path.calls, path.frames[0]) == (18, 1203)


def test_what_was_sent_after_a_pause_found_no_queue() -> None:
    rows = following(EVEN * 3)
    sent = [int(str(row["reply_time"])) + MILLISECOND for row in rows[:5]]
    late = [
        {**row, "call_first_time": time, "call_time": time}
        for row, time in zip(rows[1:6], sent, strict=True)
    ]
    (path,) = told(slow(100, soon=40), calls=[rows[0], *late, *rows[6:]])
    assert (path.calls, path.frames[0]) == (21, 1211)


def test_without_a_full_link_nothing_before_is_counted() -> None:
    calls = following(EVEN * 3)
    uneven: list[Row] = [
        {**row, "call_bytes": 131_072 if place % 2 else 20_000} for place, row in enumerate(calls)
    ]
    (path,) = told(slow(100, soon=40), calls=uneven)
    assert path.full_bytes_per_s is None
    assert path.frames[0] > min(int(str(row["call_frame"])) for row in calls[:8])


def replies(
    gaps_ms: list[float], *, moving: float = 1.0, at_ms: float = 1_300, of: int = 65_640
) -> list[Row]:
    """READs, two under way at a time: pauses between the ends of replies, and how much they moved.

    Behind each third a GETATTR whose reply comes right after the READ's that it was sent behind.
    """
    ends, found = [at_ms], []
    for number, gap in enumerate(gaps_ms):
        ends.append(ends[-1] + gap)
        sent, answered = ends[max(0, number - 1)] - (gap if number < 1 else 0), ends[-1]
        found.append(
            call(
                600 + 2 * number, "READ", answered - sent, stability="read",
                call_first_time=START_NS + round(sent * MILLISECOND),
                call_time=START_NS + round(sent * MILLISECOND),
                reply_first_time=START_NS + round((answered - moving * gap) * MILLISECOND),
                reply_time=START_NS + round(answered * MILLISECOND), call_bytes=200, reply_bytes=of,
            )
        )  # fmt: skip
        if number % 3 == 2:
            came = answered + 0.05
            found.append(
                call(
                    601 + 2 * number, "GETATTR", came - sent, stability="unstable",
                    call_first_time=START_NS + round(sent * MILLISECOND),
                    call_time=START_NS + round(sent * MILLISECOND),
                    reply_first_time=START_NS + round(came * MILLISECOND),
                    reply_time=START_NS + round(came * MILLISECOND), call_bytes=200,
                    reply_bytes=188,
                )
            )  # fmt: skip
    return found


STEADY = [27.0, 28.0, 26.5, 27.5] * 8
"""Pauses in which a link of 20 Mbit/s moves replies of 64 KiB."""

QUEUED = slow(54, soon=26, until_s=2.3)
"""A server whose acknowledgements wait behind two of them."""


def test_replies_that_fill_the_link_keep_the_servers_acknowledgements_waiting() -> None:
    (path,) = told(QUEUED, calls=replies(STEADY))
    assert (path.side, path.full_of, path.filled) == ("server", "replies", "client")
    assert path.full_bytes_per_s == pytest.approx(65_640 / 0.02725, rel=0.01)
    # What waited, and what moved on the link, is in the row of what moves.
    others = sum(time for row, time in path.time_s.items() if row != "transfer")
    assert path.time_s["transfer"] > 10 * others
    assert path.longer_s > 1


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(replies(STEADY[:8]), id="too few"),
        pytest.param(replies(STEADY, moving=0.3), id="each at once, and then nothing"),
        pytest.param(replies([5.0, 49.0] * 16), id="a window for each round trip"),
        pytest.param(replies(STEADY, of=8_192), id="little data"),
        pytest.param(replies(STEADY[:12]), id="for a small part of the time"),
        pytest.param(
            replies([5.0] * 50, at_ms=100) + replies(STEADY, at_ms=1_301), id="faster before"
        ),
    ],
)
def test_other_replies_do_not(calls: list[Row]) -> None:
    """The link was not full, or nothing tells so."""
    calls = [{**each, "call": place} for place, each in enumerate(calls, 600)]
    (path,) = told(QUEUED, calls=calls)
    assert (path.full_bytes_per_s, path.full_of) == (None, None)


def test_what_waited_for_replies_on_a_full_link_shows_no_round_trip_and_no_server() -> None:
    alone = [call(10 + number, "GETATTR", 1) for number in range(40)]
    with trace_of(connections=[QUEUED], calls=[*replies(STEADY), *alone]) as trace:
        measured = measure(trace)
        (server,) = load(trace)
    assert measured.rtt_s == pytest.approx(0.001, rel=0.1)
    assert measured.longer.calls_s < 0.1
    assert measured.longer.moving_s > 1
    assert all(band.median_s < 0.002 for band in server.bands)
