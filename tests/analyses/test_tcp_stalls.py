"""What TCP sent again, and the calls that stood still for it."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.wire.tcp_stalls import (
    Arrival,
    LossyConnection,
    Resent,
    arrivals,
    lost_by_client,
    tcp_stalls,
    together,
)
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

SECOND = 1000 * MILLISECOND

CONNECTION: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "client_segments": 40,
    "server_segments": 60,
    "client_resent": 1,
    "server_resent": 1,
    "out_of_order": 2,
    "client_zero_window": 5 * MILLISECOND,
    "server_zero_window": 20 * MILLISECOND,
}


def at(number: int, seconds: float, took_ms: float, op: str = "GETATTR", **columns: object) -> Row:
    """A call sent so many seconds after the start."""
    sent = START_NS + int(seconds * SECOND)
    answered = sent + int(took_ms * MILLISECOND)
    times = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": answered,
        "reply_time": answered,
        "connection": 0,
    }
    return call(number, op, took_ms, **(times | columns))


def asked(*late: Row, **connection: object) -> Trace:
    """Ten calls of 1 ms, one after the other, and these."""
    usual = [at(number, number * 0.01, 1) for number in range(1, 11)]
    return trace_of(calls=[*usual, *late], connections=[{**CONNECTION, **connection}])


def test_a_call_that_took_a_time_out_longer_stood_still() -> None:
    with asked(at(11, 0.2, 211), at(12, 0.5, 180)) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.segments, pair.client_resent, pair.server_resent) == (100, 1, 1)
    assert (pair.client_zero_window_s, pair.server_zero_window_s) == (0.005, 0.02)
    assert pair.stalls == 1
    assert pair.time_s == {"unstable": pytest.approx(0.21)}
    assert (pair.longest_s, pair.longest_from_ns) == (0.21, START_NS + 200 * MILLISECOND)
    assert pair.frames == (21,)


@pytest.mark.parametrize(
    ("changes", "alone"),
    [
        ({}, True),
        # The client did not wait for a server that had the call; or that had lost it.
        ({"transmissions": 2, "first_arrived": True}, True),
        ({"transmissions": 2, "first_arrived": False}, False),
        ({"status_name": "NFS3ERR_JUKEBOX"}, False),
    ],
)
def test_only_what_else_makes_calls_longer_is_not_the_losses_alone(
    changes: Row, alone: bool
) -> None:
    with asked({**at(11, 0.2, 211), **changes}) as trace:
        assert [pair.stalls for pair in tcp_stalls(trace)] == [1]
        expected = {"10.0.0.2": {"unstable": pytest.approx(0.21)}} if alone else {}
        assert lost_by_client(trace) == expected


@pytest.mark.parametrize(("stood_ms", "stalls"), [(220, 0), (200, 1), (0, 1)])
def test_a_message_that_waited_for_a_full_window_did_not_stand_still(
    stood_ms: int, stalls: int
) -> None:
    """210 ms of its 211: a sender that asks for room sends something again."""
    begin = START_NS + 200 * MILLISECOND
    end = begin + 210 * MILLISECOND
    slow = at(11, 0.2, 211, call_first_time=begin, call_time=end, call_bytes=65536)
    others = [at(number, 0.3 + number / 100, 1, call_bytes=65536) for number in range(12, 16)]
    window: Row = {
        "syn_rtt": 10 * MILLISECOND, "ack_rtt": 1000, "server_window": 5_000,
        "server_full_window": 5_000, "server_window_full": stood_ms * MILLISECOND,
        "server_window_full_bytes": 500 * stood_ms, "client_bytes": 5 * 65536,
    }  # fmt: skip
    with asked(slow, *others, **window) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == stalls
    assert pair.time_s == ({"transfer": pytest.approx(0.21)} if stalls else {})


def test_how_windows_are_scaled_is_told_where_all_connections_do() -> None:
    for scaling, told in ((True, True), (False, True), (None, False)):
        with asked(window_scaling=scaling) as trace:
            (pair,) = tcp_stalls(trace)
        assert pair.windows_told is told


def test_a_late_segment_of_a_message_is_transfer() -> None:
    slow = at(11, 0.2, 211)
    slow = {**slow, "call_first_time": START_NS + 200 * MILLISECOND}
    slow |= {"call_time": START_NS + 410 * MILLISECOND}
    with asked(slow) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.time_s == {"transfer": pytest.approx(0.21)}


def test_no_more_stalls_than_segments_sent_again() -> None:
    late = [at(number, number - 10, 300 + number) for number in range(11, 14)]
    with asked(*late) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.stalls, pair.frames) == (2, (25, 23))
    with asked(*late, client_resent=0, server_resent=0) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.stalls, pair.time_s) == (0, {})


def test_a_call_is_held_up_by_what_was_sent_again_meanwhile() -> None:
    """A stray retransmission excuses no other; of one that nobody saw, a first time-out alone."""
    hit = at(11, 1.0, 300, tcp_resent=True)
    for others, frames in (
        ([at(12, 2.0, 500)], (21,)),
        ([at(12, 2.0, 5_000)], (21,)),
        ([at(12, 2.0, 5_000, tcp_resent=True)], (23,)),
    ):
        with asked(hit, *others, client_resent=0) as trace:
            (pair,) = tcp_stalls(trace)
        assert pair.frames == frames
    for took, stalls in ((900, 1), (1_100, 0)):
        with asked(at(11, 0.12, took)) as trace:
            (pair,) = tcp_stalls(trace)
        assert pair.stalls == stalls


@pytest.mark.parametrize(
    ("where", "spurious", "stalls"),
    [
        ("server", {"client_spurious": 2}, 0),
        ("server", {"server_spurious": 2}, 1),
        ("client", {"client_spurious": 2}, 1),
        ("client", {"server_spurious": 2}, 0),
        ("between", {"client_spurious": 2}, 1),
    ],
)
def test_what_had_arrived_before_tells_of_a_loss_only_beyond_the_capture_point(
    where: str, spurious: dict[str, int], stalls: int
) -> None:
    """A client sends again what its server had, because an answer was lost: before it came by."""
    halves = {"client": (2_000_000, 9_000), "server": (9_000, 2_000_000), "between": (10**6, 10**6)}
    syn_rtt, ack_rtt = halves[where]
    resent = {name.replace("spurious", "resent"): number for name, number in spurious.items()}
    connection = {"client_resent": 0, "server_resent": 0, **resent, **spurious}
    with asked(at(11, 0.2, 400), syn_rtt=syn_rtt, ack_rtt=ack_rtt, **connection) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.spurious, pair.stalls, pair.lost) == (2, stalls, stalls)


@pytest.mark.parametrize("end", ["client", "server"])
def test_what_was_sent_again_before_the_timer_ran_out_held_nothing_up(end: str) -> None:
    """Tail loss probes to a server that is slow to take data, on a path too short to tell where."""
    counts = {f"{end}_resent": 3, f"{end}_spurious": 2, f"{end}_early": 2}
    sent_again = {"client_resent": 0, "server_resent": 0} | counts
    late = [at(number, number - 10, 300 + number) for number in range(11, 14)]
    with asked(*late, **sent_again) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.stalls, pair.frames, pair.lost) == (1, (25,), 1)
    with asked(*late, **sent_again | {f"{end}_early": 3, f"{end}_spurious": 3}) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.stalls, pair.time_s, pair.lost) == (0, {}, 0)


def test_away_from_the_client_a_pause_is_one_too() -> None:
    pause = at(11, 0.351, 1)
    half = 1_000_000
    elsewhere = {"syn_rtt": half, "ack_rtt": half, "handshake": True}
    with asked(pause, **elsewhere) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.time_s == {"client": pytest.approx(0.25)}
    assert (pair.longest_s, pair.longest_from_ns) == (0.0, None)
    at_client = {"syn_rtt": half, "ack_rtt": half // 100, "handshake": True}
    with asked(pause, **at_client) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == 0


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({}, 0),
        # Before the reply that the call follows, and after it.
        ({"resent_before_time": START_NS + 100 * MILLISECOND}, 0),
        ({"resent_before_time": START_NS + 340 * MILLISECOND}, 1),
        ({"tcp_resent": True}, 1),
    ],
)
def test_at_the_server_something_was_sent_again_in_the_pause(
    columns: dict[str, Any], told: int
) -> None:
    """With the call the ACK of the reply before was lost: the server sends that again as well."""
    at_server = {"syn_rtt": 10_000, "ack_rtt": MILLISECOND, "handshake": True}
    with asked(at(11, 0.351, 1, **columns), **at_server) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == told
    # A pause is 9 ms; what ended with a segment tells how much longer it was.
    stall = 0.241 if "resent_before_time" in columns else 0.25
    assert pair.time_s == ({"client": pytest.approx(stall)} if told else {})


def test_a_pause_in_which_something_was_sent_again_comes_before_a_longer_one() -> None:
    """The longer one may be the client's own, as before it tries again what was refused."""
    pauses = (
        at(11, 0.951, 1),
        at(12, 1.2, 1, resent_before_time=START_NS + 1100 * MILLISECOND),
    )
    with asked(*pauses, client_resent=0, server_resent=1) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.frames == (23,)
    assert pair.time_s == {"client": pytest.approx(0.248)}


def next_one(number: int, seconds: float, resent_s: float | None) -> Row:
    """A call that tells when something was last sent again before it."""
    resent = None if resent_s is None else START_NS + int(resent_s * SECOND)
    return at(number, seconds, 1, resent_before_time=resent)


@pytest.mark.parametrize(
    ("resent_s", "counts", "told"),
    [
        # The timer is 60 ms. The segment came early for one of 200 ms.
        (0.26, {}, True),
        # The server was slow: the segment came at the beginning, or more was left than is usual.
        (0.202, {}, False),
        (0.255, {}, False),
        # When it came is not known.
        (None, {}, False),
        # It had arrived.
        (0.26, {"client_spurious": 1}, False),
    ],
)
def test_a_call_that_a_segment_sent_again_ended_stood_still_however_short_the_timer(
    resent_s: float | None, counts: Row, told: bool
) -> None:
    hit = at(11, 0.2, 61, tcp_resent=True)
    sent_again = {"client_resent": 1, "client_early": 1, "server_resent": 0, **counts}
    with asked(hit, next_one(12, 0.3, resent_s), **sent_again) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == int(told)
    assert pair.time_s == ({"unstable": pytest.approx(0.06)} if told else {})


def test_what_took_a_few_milliseconds_longer_may_have_been_overtaken() -> None:
    for took, stalls in ((22, 1), (20, 0)):
        hit = at(11, 0.2, took, tcp_resent=True)
        again = next_one(12, 0.3, 0.2 + (took - 1) / 1000)
        with asked(hit, again, client_early=1, server_resent=0) as trace:
            (pair,) = tcp_stalls(trace)
        assert pair.stalls == stalls


@pytest.mark.parametrize(("resent_ms", "told"), [(200, True), (2, False)])
def test_where_most_calls_of_a_kind_met_a_loss_it_is_not_what_is_usual(
    resent_ms: int, told: bool
) -> None:
    """Four of 1 MiB did not. Where the segment came at once, it was a disk that took as long."""

    def write(number: int, took_ms: float, *, hit: bool) -> tuple[Row, Row]:
        begun = number * 0.45
        sent = START_NS + int(begun * SECOND) + 8 * MILLISECOND
        row = at(
            number, begun, took_ms, op="WRITE", stability="stable", call_bytes=1 << 20,
            call_time=sent, tcp_resent=hit,
        )  # fmt: skip
        again = begun + resent_ms / 1000 if hit else None
        return row, next_one(100 + number, begun + 0.4, again)

    rows = [
        row
        for number in range(1, 21)
        for row in write(number, 211 if number > 4 else 12, hit=number > 4)
    ]
    counts = {"client_resent": 16, "client_early": 16, "server_resent": 0}
    with trace_of(calls=rows, connections=[{**CONNECTION, **counts}]) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == (16 if told else 0)
    assert pair.time_s == ({"stable": pytest.approx(16 * 0.199)} if told else {})


def test_where_all_calls_of_a_kind_met_one_what_they_did_not_wait_is_usual() -> None:
    """When the segment of every second one came again is not known: they took as long."""
    rows = []
    for number in range(1, 13):
        begun = number * 0.5
        hit = at(number, begun, 220, op="READ", stability="read", tcp_resent=True)
        rows += [hit, next_one(100 + number, begun + 0.4, begun + 0.2 if number % 2 else None)]
    counts = {"client_resent": 0, "server_resent": 12, "server_early": 12}
    with trace_of(calls=rows, connections=[{**CONNECTION, **counts}]) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == 12
    assert pair.time_s == {"read": pytest.approx(12 * 0.2)}


@pytest.mark.parametrize(
    ("others", "told"), [([60] * 5, 10), ([60, 61, 59, 64, 62], 10), ([50, 55, 60, 65, 70], 5)]
)
def test_calls_that_took_as_long_as_the_timer_make_a_mode(others: list[int], told: int) -> None:
    """Of some a reply was lost before it came by, and nothing was sent again during them."""
    rows = []
    for number in range(11, 16):
        begun = number * 0.2
        hit = at(number, begun, 61, tcp_resent=True)
        rows += [hit, next_one(100 + number, begun + 0.1, begun + 0.06)]
    rows += [at(200 + place, 5 + place, took + 1) for place, took in enumerate(others)]
    counts = {"client_resent": 5, "client_early": 5, "server_resent": 0}
    with asked(*rows, **counts) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == told


@pytest.mark.parametrize(
    ("others", "at_server", "ack_waits", "told"),
    [
        pytest.param([218, 231, 238], False, 4, 6, id="as long"),
        pytest.param(
            [218, 231, 238, 165, 275], False, 0, 3, id="others a little shorter or longer"
        ),
        pytest.param([218, 231, 300], False, 0, 5, id="one much longer"),
        pytest.param([218, 300, 400], False, 0, 3, id="four of them"),
        pytest.param([218, 231, 238], True, 0, 3, id="at the server"),
        pytest.param([218, 231, 238], False, 5, 3, id="late ACKs"),
    ],
)
def test_calls_as_long_as_the_least_timer_make_a_mode_where_too_few_tell_it(
    others: list[int], at_server: bool, ack_waits: int, told: int
) -> None:
    """No more than were sent again: each reply that was lost before it came by leaves no sign."""
    rows = []
    for number in range(11, 14):
        begun = number * 0.5
        hit = at(number, begun, 221, tcp_resent=True)
        rows += [hit, next_one(100 + number, begun + 0.25, begun + 0.22)]
    rows += [at(200 + place, 8 + place, took + 1) for place, took in enumerate(others)]
    counts = {"client_resent": 3, "server_resent": 0, "client_ack_waits": ack_waits}
    if at_server:
        counts |= {"syn_rtt": 10_000, "ack_rtt": MILLISECOND, "handshake": True}
    with asked(*rows, **counts) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == told


def test_timers_that_differ_tell_of_no_others() -> None:
    """As they do where each try waits twice as long."""
    rows = []
    for number, timer in zip(range(11, 16), (60, 60, 120, 120, 240), strict=True):
        begun = number * 0.4
        hit = at(number, begun, timer + 1, tcp_resent=True)
        rows += [hit, next_one(100 + number, begun + 0.3, begun + timer / 1000)]
    rows += [at(200 + place, 8 + place / 4, 100) for place in range(5)]
    with asked(*rows, client_resent=5, client_early=5, server_resent=0) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == 5


@pytest.mark.parametrize(("ended_so", "told"), [(6, 6), (4, 0)])
def test_beside_others_nearly_all_that_took_longer_end_with_a_segment(
    ended_so: int, told: int
) -> None:
    """Of eight pairs of calls; the rest of them wait for a disk while segments are sent again."""
    rows = []
    for number in range(8):
        begun = 1 + number * 0.5
        first, second = at(20 + number, begun, 61, tcp_resent=True), at(40 + number, begun, 1)
        again = begun + (0.06 if number < ended_so else 0.01)
        rows += [first, second, next_one(60 + number, begun + 0.2, again)]
    counts = {"client_resent": 8, "client_early": 8, "server_resent": 0}
    with asked(*rows, **counts) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == told


@pytest.mark.parametrize(
    ("resent_s", "counts", "told"),
    [
        (0.155, {}, True),
        # The client was busy for longer than it usually is after that.
        (0.12, {}, False),
        # It had the reply.
        (0.155, {"server_spurious": 1}, False),
    ],
)
def test_away_from_the_client_a_pause_that_a_segment_ended_is_one_however_short(
    resent_s: float, counts: Row, told: bool
) -> None:
    at_server = {"syn_rtt": 10_000, "ack_rtt": MILLISECOND, "handshake": True}
    sent_again = {"client_resent": 0, "server_resent": 1, "server_early": 1, **counts}
    with asked(next_one(11, 0.161, resent_s), **at_server, **sent_again) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == int(told)
    # 60 ms, of which 9 are usual.
    assert pair.time_s == ({"client": pytest.approx(0.051)} if told else {})


def test_a_longer_pause_is_the_clients() -> None:
    with asked(at(11, 1.2, 1)) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == 0


@pytest.mark.parametrize(
    ("server_half", "resent_s", "told"),
    [(0.01, 5.001, 1), (0.01, 0.25, 0), (0.01, 0.09, 0), (1, 5.001, 0), (100, 5.001, 0)],
)
def test_but_for_what_the_server_went_on_sending_again(
    server_half: float, resent_s: float, told: int
) -> None:
    """At the server alone: elsewhere the client may have had it. Its last reply came at 0.101 s."""
    path = {
        "syn_rtt": int(server_half * MILLISECOND),
        "ack_rtt": MILLISECOND,
        "handshake": True,
        "client_resent": 0,
        "server_resent": 6,
    }
    late = at(11, 7, 1, resent_before_time=START_NS + int(resent_s * SECOND))
    with asked(late, **path) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.stalls, pair.longest_late) == (told, bool(told))
    if told:
        assert pair.time_s == {"client": pytest.approx(4.9)}
        assert pair.longest_s == pytest.approx(4.9)
        assert pair.longest_from_ns == START_NS + 101 * MILLISECOND


READS_OF_64K = {"stability": "read", "call_bytes": 160, "reply_bytes": 65_600}


@pytest.mark.parametrize(
    ("gaps_ms", "changes", "stalls"),
    [
        ([60] * 12, {}, 12),
        ([205] * 12, {}, 12),
        # Fewer than ten; of any length; as long as a round trip that a sender waits for.
        ([60] * 9, {}, 0),
        ([30, 50, 70, 90, 110, 130, 150, 170, 190, 210, 230, 250], {}, 0),
        ([60] * 12, {"syn_rtt": 20 * MILLISECOND}, 0),
        # The server waited for the client's ACK, or for its window; the capture lacks the ACKs.
        ([60] * 12, {"server_ack_waits": 11}, 0),
        ([60] * 12, {"client_zero_window": 600 * MILLISECOND}, 0),
        ([60] * 12, {"client_acks": 11}, 0),
        # Elsewhere what was lost would be in the capture.
        ([60] * 12, {"syn_rtt": 1000, "ack_rtt": MILLISECOND}, 0),
    ],
)
def test_the_end_of_a_reply_was_lost_before_it_came_by(
    gaps_ms: list[float], changes: Row, stalls: int
) -> None:
    rows = []
    for number in range(1, 41):
        gap = gaps_ms[number - 1] if number <= len(gaps_ms) else 0
        row = at(number, number * 0.3, 1.5 + gap, "READ", **READS_OF_64K)
        begun = START_NS + int(number * 0.3 * SECOND) + MILLISECOND
        rows.append({**row, "reply_first_time": begun})
    none = {"client_resent": 0, "server_resent": 0, "client_zero_window": 0}
    path = {"syn_rtt": MILLISECOND, "ack_rtt": 1000, "handshake": True, "client_acks": 900}
    with trace_of(calls=rows, connections=[{**CONNECTION, **none, **path, **changes}]) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.stalls == stalls
    told = {"transfer": pytest.approx(sum(gaps_ms) / 1000)} if stalls else {}
    assert pair.time_s == told


def test_connections_whose_window_was_open_are_not_counted_as_shut() -> None:
    """Those to the portmapper and to MOUNT."""
    beside = {**CONNECTION, "client_zero_window": 0, "server_zero_window": 0}
    connections = [CONNECTION, {**beside, "connection": 1}, {**beside, "connection": 2}]
    connections.append({**CONNECTION, "connection": 3, "client_zero_window": 0})
    with trace_of(calls=[at(1, 0.01, 1)], connections=connections) as trace:
        (pair,) = tcp_stalls(trace)
    assert (pair.connections, pair.client_shut, pair.server_shut) == (4, 1, 2)


@pytest.mark.parametrize(
    ("unacked", "by_server", "by_client", "silent_s", "told"),
    [
        (9_000, 5, 2, 3, (1, 9_000, 5)),
        (0, 5, 2, 3, (0, 0, 0)),
        (None, 5, 2, 3, (0, 0, 0)),
        (9_000, 4, 2, 3, (0, 0, 0)),
        # It may be gone.
        (9_000, 15, 1, 3, (0, 0, 0)),
        # The capture ends just as segments are lost here and there.
        (9_000, 50, 40, 2.9, (0, 0, 0)),
    ],
)
def test_what_both_send_again_to_the_end_was_not_delivered(
    unacked: int | None,
    by_server: int,
    by_client: int,
    silent_s: float,
    told: tuple[int, int, int],
) -> None:
    resent = {"server_resent": by_server, "client_resent": by_client}
    # The last of the ten calls has its answer after 101 ms.
    last = START_NS + 101 * MILLISECOND + int(silent_s * SECOND)
    with asked(server_unacked=unacked, last_time=last, **resent) as trace:
        (pair,) = tcp_stalls(trace)
    found = (pair.undelivered, pair.undelivered_bytes, pair.undelivered_resent)
    assert found == told


@pytest.mark.parametrize(
    ("since_s", "resent", "told"),
    [
        (3, 5, 1),
        (3, 4, 0),
        # A call brings what the client had received when it was sent: 2.9 s may be one loss.
        (2.9, 5, 0),
        # It came after all had been acknowledged, and the capture ends in the next reply.
        (-1, 50, 0),
        (None, 5, 0),
    ],
)
def test_who_calls_and_acknowledges_nothing_did_not_get_it(
    since_s: float | None, resent: int, told: int
) -> None:
    # The last of the ten calls is sent after 100 ms.
    called = START_NS + 100 * MILLISECOND
    since = None if since_s is None else called - int(since_s * SECOND)
    with asked(server_unacked=9_000, server_unacked_time=since, server_resent=resent) as trace:
        (pair,) = tcp_stalls(trace)
    assert pair.undelivered == told


def test_udp_is_not_asked() -> None:
    with asked(transport="UDP") as trace:
        assert tcp_stalls(trace) == ()


def test_the_connection_that_lost_most_of_those_in_use_at_its_time() -> None:
    def of(number: int, since_s: int, until_s: int, resent: int, **columns: object) -> Row:
        times = {"first_time": since_s, "last_time": until_s}
        return {
            **CONNECTION, "connection": number, "client_port": 700 + number,
            **{name: START_NS + at_s * 1000 * MILLISECOND for name, at_s in times.items()},
            "client_resent": resent, "server_resent": 0, "client_segments": 100 * (number + 1),
            "server_segments": 1, **columns,
        }  # fmt: skip

    mine = [of(0, 0, 5, 2), of(1, 1, 6, 12), of(2, 6, 9, 3), of(3, 2, 3, 0)]
    with trace_of(connections=mine) as trace:
        (pair,) = tcp_stalls(trace)
    # The third began when it had ended.
    assert pair.worst == LossyConnection(port=701, resent=12, segments=201, beside=101 + 401)
    for alone in (
        [of(1, 0, 5, 12)],
        [of(1, 0, 5, 12), of(2, 6, 9, 3)],
        [of(0, 0, 5, 0), of(1, 0, 5, 0)],
    ):
        with trace_of(connections=alone) as trace:
            (pair,) = tcp_stalls(trace)
        assert pair.worst is None


@pytest.mark.parametrize(
    ("client", "server", "spurious", "expected"),
    [
        (5, 5, 9, "late"),
        (5, 5, 8, "lost"),
        (4, 50, 54, "arrived"),
        (50, 4, 54, "arrived"),
        (4, 50, 53, "lost"),
        (2, 2, 4, "late"),
        (2, 2, 3, "lost"),
        (1, 4, 5, "arrived"),
        (1, 0, 1, "arrived"),
        (0, 1, 0, "lost"),
    ],
)
def test_what_arrived_twice_at_both_ends_was_late(
    client: int, server: int, spurious: int, expected: Arrival
) -> None:
    """Half of it is told by either end."""
    counts = {
        "client_resent": client,
        "server_resent": server,
        "client_spurious": spurious // 2,
        "server_spurious": spurious - spurious // 2,
    }
    with asked(**counts) as trace:
        assert list(arrivals(trace).values()) == [expected]


@pytest.mark.parametrize(
    ("several", "expected"),
    [
        ([], "lost"),
        (["late", "late"], "late"),
        (["late", "arrived"], "arrived"),
        (["arrived", "lost", "late", "rdma"], "lost"),
        (["rdma", "rdma"], "rdma"),
    ],
)
def test_of_several_clients_the_least_sure_counts(several: list[Resent], expected: Resent) -> None:
    assert together(several) == expected


def test_where_nothing_was_sent_again_nothing_was_late() -> None:
    with asked(client_resent=0, server_resent=0) as trace:
        assert arrivals(trace) == {}


def test_of_rdma_nothing_tells_what_had_arrived() -> None:
    with asked(transport="RDMA") as trace:
        assert list(arrivals(trace).values()) == ["rdma"]
    rdma = {**CONNECTION, "connection": 1, "transport": "RDMA"}
    with trace_of(connections=[CONNECTION, rdma]) as trace:
        assert list(arrivals(trace).values()) == ["lost"]
