"""Round trips and vantage points, on connections written by hand: figures in microseconds."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.half import Half
from pcapnfs.analyses.wire.network_path import network_path
from pcapnfs.analyses.wire.round_trip import RoundTrip, round_trips
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of

US = 1_000


def tcp(number: int, **columns: object) -> Row:
    """A connection of the client; times in microseconds."""
    times = {
        name: value * US
        for name, value in columns.items()
        if isinstance(value, int) and name.endswith(("_rtt", "_min"))
    }
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_port": 2049,
    } | (columns | times)


def acks(side: str, least: int, usual: int, count: int = 9) -> dict[str, int]:
    """ACKs of one side that came alone."""
    return {f"{side}_acks": count, f"{side}_ack_min": least, f"{side}_ack_rtt": usual}


def turns(side: str, least: int, usual: int, count: int = 9) -> dict[str, int]:
    """ACKs of one side that came with data."""
    return {f"{side}_turns": count, f"{side}_turn_min": least, f"{side}_turn_rtt": usual}


CALLS = [call(number, "GETATTR", 1) for number in range(1, 4)]


def pair_of(*connections: Row, calls: list[Row] | None = None) -> RoundTrip:
    with trace_of(connections=connections, calls=calls or CALLS) as trace:
        (pair,) = round_trips(trace).pairs
    return pair


def says(half: Half) -> tuple[float | None, str]:
    """Microseconds, and what they rest on."""
    return half.rtt_s and round(half.rtt_s * 1e6, 3), half.source


def test_at_the_client_nothing_is_added() -> None:
    pair = pair_of(tcp(1, syn_rtt=260, ack_rtt=12, **acks("client", 5, 9)))
    assert (pair.vantage, pair.addition_s) == ("client", 0.0)
    assert (says(pair.client_side), says(pair.server_side)) == ((9, "acks"), (260, "handshake"))
    assert pair.path_s == pytest.approx(269e-6)
    assert pair.ratio == pytest.approx(52)


def test_at_the_server_the_clients_half_is_added() -> None:
    pair = pair_of(tcp(1, syn_rtt=10, ack_rtt=280, **acks("client", 245, 262)))
    assert (pair.vantage, says(pair.client_side)) == ("server", (262, "acks"))
    assert pair.addition_s == pytest.approx(262e-6)


@pytest.mark.parametrize(("far_us", "told"), [(0, False), (1_000, True)])
def test_a_path_that_takes_less_than_a_tick_of_the_clock_is_not_told(
    far_us: int, told: bool
) -> None:
    coarse = [call(number, "GETATTR", 1) for number in range(1, 61)]
    connection = tcp(1, syn_rtt=far_us, ack_rtt=0, **acks("client", 0, 0))
    with trace_of(meta(packets=120), calls=coarse, connections=[connection]) as trace:
        (pair,) = round_trips(trace).pairs
        path = network_path(trace).way.rtt_s
    assert pair.path_s == (pytest.approx(1e-3) if told else None)
    assert path == (pytest.approx(1e-3) if told else None)
    assert says(pair.server_side)[1] == ("handshake" if told else "none")


@pytest.mark.parametrize(
    "spoilt", [{"set_back": 1}, {"set_forward": 1}, {"mistimed_packets": 1}, {}]
)
def test_a_clock_that_was_set_makes_no_way_short(spoilt: dict[str, int]) -> None:
    """What was under way meanwhile took no time: of the server's half, that is all."""
    seen = tcp(1, syn_rtt=260, ack_rtt=12, **acks("client", 5, 9), **turns("server", 0, 280))
    with trace_of(meta(**spoilt), connections=[seen], calls=CALLS) as trace:
        (pair,) = round_trips(trace).pairs
    assert pair.vantage == ("client" if spoilt else "unknown")
    assert pair.server_side.least_s == (pytest.approx(260e-6) if spoilt else 0)


def test_in_between_both_halves_are_of_some_length() -> None:
    pair = pair_of(tcp(1, syn_rtt=300, ack_rtt=200))
    assert pair.vantage == "between"
    assert pair.addition_s == pytest.approx(200e-6)
    assert pair.path_s == pytest.approx(500e-6)


def test_adapters_of_both_ends_may_be_slow() -> None:
    pair = pair_of(tcp(1, transport="RDMA", **acks("client", 200, 220), **acks("server", 300, 330)))
    assert pair.vantage == "unknown"
    near = pair_of(tcp(1, transport="RDMA", **acks("client", 2, 3), **acks("server", 300, 330)))
    assert near.vantage == "client"


def test_a_late_handshake_gives_way_to_what_the_calls_show() -> None:
    """No round trip takes longer than from a reply to the call that acknowledges it."""
    pair = pair_of(tcp(1, syn_rtt=100, ack_rtt=9_000, **turns("client", 300, 400)))
    assert says(pair.client_side) == (400, "gaps")


def test_handshakes_of_several_connections_give_their_lower_quartile() -> None:
    times = [900, 280, 270, 5_000, 290]
    pair = pair_of(*(tcp(i, syn_rtt=10, ack_rtt=time) for i, time in enumerate(times, 1)))
    assert (pair.connections, pair.client_side.handshakes) == (5, 5)
    assert says(pair.client_side) == (280, "handshake")


@pytest.mark.parametrize(
    ("on", "told"),
    [
        # That of the portmapper met a short moment of the path.
        ([(100003, 4), (100000, 1), (100005, 2)], 10_200),
        # Of several with NFS each counts, however much it carried.
        ([(100003, 4), (100003, 1), (100005, 2)], 5_190),
        # Where no other was timed, what there is counts.
        ([(100000, 1), (100000, 1), (100005, 2)], 5_190),
    ],
)
def test_handshakes_of_connections_without_nfs_say_nothing_beside_others(
    on: list[tuple[int, int]], told: int
) -> None:
    calls: list[Row] = []
    for connection, (program, number) in enumerate(on, 1):
        for _ in range(number):
            row = call(len(calls) + 1, "GETATTR", 11, connection=connection, program=program)
            calls.append(row)
    times = (10_200, 5_190, 25_500)
    seen = [tcp(number, syn_rtt=time, ack_rtt=10) for number, time in enumerate(times, 1)]
    assert says(pair_of(*seen, calls=calls).server_side) == (told, "handshake")


def test_where_tcp_shows_nothing_the_median_gap_is_an_upper_bound() -> None:
    """Calls 10 ms apart that take 1 ms; one pause, and one call during another."""
    calls = [*CALLS, call(5, "GETATTR", 30), call(6, "GETATTR", 1), call(500, "GETATTR", 1)]
    pair = pair_of(tcp(1, transport="UDP"), calls=calls)
    assert says(pair.client_side) == (9_000, "gaps")
    assert (pair.client_side.gaps, pair.client_side.acks) == (3, 0)
    assert pair.vantage == "unknown"
    assert pair.addition_s == pytest.approx(9e-3)
    with trace_of(connections=[tcp(1, transport="UDP")], calls=calls) as trace:
        way = network_path(trace).way
    # Both halves, as far as they can be told.
    assert (way.rtt_s, way.most_s) == (None, pair.path_s)
    with trace_of(connections=[tcp(1, syn_rtt=10, ack_rtt=280)], calls=CALLS) as trace:
        way = network_path(trace).way
    assert way.rtt_s is not None
    assert way.most_s is None


def test_few_gaps_tell_no_vantage_point_and_many_do() -> None:
    """A client may think before each of a few calls, not before all of many."""
    for count, vantage in ((4, "unknown"), (9, "server")):
        pair = pair_of(tcp(1, **turns("client", 150, 180, count), **turns("server", 30, 40, count)))
        assert pair.vantage == vantage


def test_between_the_cases_it_is_left_open() -> None:
    assert pair_of(tcp(1, syn_rtt=440, ack_rtt=200)).vantage == "unknown"


def test_a_server_that_always_works_before_it_answers_does_not_look_far() -> None:
    """What the quickest calls took bounds the way to it, whatever the timed ones took."""
    slow = turns("server", 1_200, 1_300)
    calls = [call(number, "GETATTR", 0.15) for number in range(1, 20)]
    pair = pair_of(tcp(1, **turns("client", 290, 300), **slow), calls=calls)
    assert pair.vantage == "unknown"


def test_halves_that_are_only_bounded_are_not_said_to_be_between() -> None:
    """The server's half may be as short as you like: its calls took that long."""
    pair = pair_of(tcp(1, **turns("client", 150, 180), **turns("server", 100, 110)))
    assert pair.vantage == "unknown"


@pytest.mark.parametrize(
    "one", [{"syn_rtt": 20, "ack_rtt": 3}, {"client": "10.0.0.1", "syn_rtt": 300, "ack_rtt": 9}]
)
def test_within_one_machine_nothing_tells(one: dict[str, object]) -> None:
    calls = [call(1, "GETATTR", 1, client=one.get("client", "10.0.0.2"))]
    assert pair_of(tcp(1, **one), calls=calls).vantage == "unknown"


def test_the_capture_has_the_vantage_point_of_nine_tenths_of_its_calls() -> None:
    other = [call(number, "GETATTR", 1, client="10.0.0.3") for number in range(4, 34)]
    client = tcp(1, syn_rtt=260, ack_rtt=5)
    server = tcp(2, client="10.0.0.3", syn_rtt=5, ack_rtt=460)
    with trace_of(connections=[client, server], calls=CALLS + other) as trace:
        found = round_trips(trace)
    assert (found.vantage, found.source) == ("server", "handshake")
    assert found.path_s == pytest.approx(465e-6)
    with trace_of(connections=[client, server], calls=CALLS + other[:3]) as trace:
        assert round_trips(trace).vantage == "unknown"


def test_what_is_added_is_that_of_client_and_server() -> None:
    """Of a client of which TCP tells nothing, nobody knows it."""
    silent = tcp(3, client="10.0.0.9")
    asked = [call(number, "GETATTR", 3, client="10.0.0.9") for number in range(4, 7)]
    with trace_of(
        connections=[tcp(1, syn_rtt=10, ack_rtt=280), tcp(2, syn_rtt=10, ack_rtt=300), silent],
        calls=[*CALLS, *asked],
    ) as trace:
        path = network_path(trace)
    assert path.added_ns == {("10.0.0.2", "10.0.0.1"): 280_000}
    # What lies between it and the capture may have had a part in what it did between its calls.
    (gap_s,) = path.unseen_s.values()
    assert list(path.unseen_s) == ["10.0.0.9"]
    assert gap_s > 0


def test_a_capture_without_calls_says_nothing() -> None:
    with trace_of() as trace:
        found = round_trips(trace)
        added_ns = network_path(trace).added_ns
    assert (found.pairs, found.path_s, found.vantage, found.source) == ((), None, "unknown", "none")
    assert added_ns == {}


def test_times_before_the_capture_count_for_nothing() -> None:
    """A reply that a disordered capture puts before its call makes no gap and no bound."""
    late = call(2, "GETATTR", 1, reply_time=START_NS, srt=-20 * MILLISECOND)
    pair = pair_of(tcp(1, transport="UDP"), calls=[CALLS[0], late])
    assert pair.server_side.gap_s == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("least", "usual", "answer_ms", "told"),
    [
        # A few quick turns of a path that scatters are lucky ones,
        (100, 3_400, 14, (13_800, "acks")),
        # also where it does by a third of what it takes,
        (8_300, 10_900, 14, (13_800, "acks")),
        # unless most answers are quick, too:
        (100, 3_400, 5, (5_000, "gaps")),
        # those of a path that does not are what it takes,
        (2_900, 3_400, 14, (3_400, "gaps")),
        # as are all where little lies between.
        (100, 900, 14, (900, "gaps")),
    ],
)
def test_lucky_turns_are_no_bound(
    least: int, usual: int, answer_ms: int, told: tuple[float, str]
) -> None:
    pair = pair_of(
        tcp(
            1,
            syn_rtt=29_300,
            ack_rtt=50,
            **acks("server", 8_800, 13_800),
            **turns("server", least, usual),
        ),
        calls=[call(number, "GETATTR", answer_ms) for number in range(1, 4)],
    )
    assert says(pair.server_side) == told


@pytest.mark.parametrize(
    ("least", "told"),
    [
        # An answer that came 30 ms sooner shows that the only ACK was delayed;
        (5_000, (10_000, "gaps")),
        # one that did not shows nothing.
        (20_000, (44_000, "acks")),
    ],
)
def test_an_ack_that_was_delayed_is_no_round_trip(least: int, told: tuple[float, str]) -> None:
    """A server that works for longer before it answers acknowledges the call by itself."""
    late = {**acks("server", 44_000, 44_000, count=1), **turns("server", least, 2 * least)}
    pair = pair_of(
        tcp(1, **acks("client", 5, 9), **late),
        calls=[call(number, "READ", 50 if number > 1 else 10) for number in range(1, 10)],
    )
    assert says(pair.server_side) == told


@pytest.mark.parametrize(
    ("took_ms", "columns", "told"),
    [
        # Of a single handshake, and of as few ACKs, most answers show that it was a slow one.
        (5.2, {"syn_rtt": 6_300}, (5_200, "handshake")),
        (5.2, {"syn_rtt": 7_300, **acks("server", 6_200, 6_200, 1)}, (5_200, "acks")),
        # Several ACKs are no chance, and a server takes longer than the path.
        (5.2, {"syn_rtt": 7_300, **acks("server", 6_200, 6_200, 3)}, (6_200, "acks")),
        (9.0, {"syn_rtt": 6_300}, (6_300, "handshake")),
    ],
)
def test_no_round_trip_takes_longer_than_most_answers(
    took_ms: float, columns: dict[str, int], told: tuple[float, str]
) -> None:
    def half(times_ms: list[float], count: int = 30) -> Half:
        at_client = tcp(1, ack_rtt=50, **acks("client", 5, 9), **columns)
        return pair_of(at_client, calls=small("READ", 1, times_ms, count)).server_side

    assert says(half([took_ms - 0.1, *[took_ms] * 9])) == told
    # Where they are few, or the path scatters, they say nothing of it.
    alone = 6_300 if "server_acks" not in columns else 6_200
    assert says(half([took_ms], 29))[0] == alone
    assert says(half([3.0, *[took_ms] * 9]))[0] == alone


def small(op: str, first: int, times_ms: list[float], count: int = 30) -> list[Row]:
    """Small calls that take these times in turn."""
    return [call(first + place, op, times_ms[place % len(times_ms)]) for place in range(count)]


VARY_MS = [1.0, 4.0, 8.0, 10.0, 12.0, 16.0]
LONGER_MS = [2.0, 8.0, 16.0, 20.0, 24.0, 32.0]


@pytest.mark.parametrize(
    ("seen", "calls", "told"),
    [
        # Neither handshake nor ACK: the quickest bound a path that varies as little as these, or as
        ({}, small("GETATTR", 1, VARY_MS), (4_000, True)),
        ({}, small("GETATTR", 1, [1.0, 1.9, 1.9]), (1_000, False)),
        ({}, small("GETATTR", 1, [10.0, 12.0, 12.0]), (10_000, False)),
        # one operation shows that mostly takes as long.
        ({}, [*small("LOOKUP", 1, VARY_MS), *small("ACCESS", 31, [1.0, 1.2])], (1_000, False)),
        # Where several vary, the one that takes least is the bound.
        ({}, [*small("LOOKUP", 1, LONGER_MS), *small("CLOSE", 31, VARY_MS)], (4_000, True)),
        # Few of each are looked at together,
        ({}, [*small("CLOSE", 1, VARY_MS, 15), *small("ACCESS", 16, VARY_MS, 15)], (4_000, True)),
        # and few of all tell nothing.
        ({}, small("GETATTR", 1, VARY_MS, 29), (1_000, False)),
        # READs may wait for disks.
        ({}, [{**each, "op": "READ"} for each in small("READ", 1, VARY_MS)], (1_000, False)),
        # One or two ACKs are as few, three and a handshake are not.
        (acks("server", 9_000, 9_000, 2), small("GETATTR", 1, VARY_MS), (9_000, True)),
        (acks("server", 9_000, 9_000, 3), small("GETATTR", 1, VARY_MS), (9_000, False)),
        ({"syn_rtt": 9_000}, small("GETATTR", 1, VARY_MS), (9_000, False)),
    ],
)
def test_small_calls_that_vary_tell_no_network(
    seen: dict[str, object], calls: list[Row], told: tuple[float, bool]
) -> None:
    """A capture that began later; turns have the times of the calls."""
    connection = tcp(1, **acks("client", 5, 9), **turns("server", 1_000, 1_000, 30), **seen)
    if seen:
        connection = {**connection, "server_turns": 0, "server_turn_min": None}
        connection["server_turn_rtt"] = None
    with trace_of(connections=[connection], calls=calls) as trace:
        (pair,) = round_trips(trace).pairs
        network_s = network_path(trace).way.rtt_s
    half = pair.server_side
    assert (half.rtt_s and round(half.rtt_s * 1e6), half.scatters) == told
    assert network_s == (None if half.scatters else pytest.approx(half.rtt_s))


LUCKY = {
    "syn_rtt": 40,
    "ack_rtt": 600,
    **acks("client", 34, 4_700),
    **turns("client", 34, 1_900),
    **acks("server", 37, 54, 1),
}
"""Of a capture at the server, on a path to the client that varies."""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, (4_700, "acks", "server")),
        # A busy client's ACKs are late, but not its quickest calls.
        (turns("client", 34, 1_100), (600, "handshake", "between")),
        (acks("client", 34, 1_590), (600, "handshake", "between")),
        (acks("client", 34, 4_700, 2), (600, "handshake", "between")),
        # All ACKs were delayed.
        (acks("client", 30_034, 44_000), (600, "handshake", "between")),
        # The client is busy at times, and its kernel answers a handshake as soon as can be.
        (
            acks("client", 250, 4_700) | turns("client", 250, 1_900),
            (600, "handshake", "server"),
        ),
    ],
)
def test_a_lucky_handshake_gives_way_to_what_acks_and_turns_show(
    change: dict[str, int], told: tuple[float, str, str]
) -> None:
    pair = pair_of(tcp(1, **(LUCKY | change)))
    assert (*says(pair.client_side), pair.vantage) == told
    assert pair.client_side.lucky is (told[1] == "acks")
    assert pair.addition_s == pytest.approx(told[0] * 1e-6)


def test_a_server_whose_acks_are_late_is_no_path_that_varies() -> None:
    """It has other work, and other clients."""
    busy = {"syn_rtt": 600, **acks("server", 34, 4_700), **turns("server", 34, 1_900)}
    pair = pair_of(tcp(1, ack_rtt=20, **busy))
    assert (says(pair.server_side), pair.server_side.lucky) == ((600, "handshake"), False)


AGREE = {**acks("server", 5_200, 10_150, 75), **turns("server", 5_190, 10_200, 200)}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, (10_150, "acks")),
        # Few ACKs, those that took hardly longer, or that were delayed, show nothing,
        (acks("server", 5_200, 10_150, 9), (5_190, "handshake")),
        (acks("server", 5_200, 6_100, 75) | turns("server", 5_190, 6_100), (5_190, "handshake")),
        (
            acks("server", 36_000, 36_000, 75) | turns("server", 37_000, 37_000),
            (5_190, "handshake"),
        ),
        # nor do turns that took longer than they: the server is busy.
        (turns("server", 5_190, 13_000), (5_190, "handshake")),
    ],
)
def test_a_handshake_with_a_server_gives_way_to_acks_and_turns_that_agree(
    change: dict[str, int], told: tuple[float, str]
) -> None:
    seen = tcp(1, syn_rtt=5_190, ack_rtt=10, **(AGREE | change))
    calls = [call(number, "GETATTR", 40) for number in range(1, 4)]
    assert says(pair_of(seen, calls=calls).server_side) == told


def test_by_a_clock_that_was_set_no_handshake_is_a_lucky_one() -> None:
    with trace_of(meta(set_back=1), connections=[tcp(1, **LUCKY)], calls=CALLS) as trace:
        (pair,) = round_trips(trace).pairs
    assert says(pair.client_side) == (600, "handshake")


def test_several_handshakes_are_no_luck() -> None:
    others = [tcp(number, syn_rtt=40, ack_rtt=600) for number in (2, 3)]
    pair = pair_of(tcp(1, **LUCKY), *others)
    assert (says(pair.client_side), pair.client_side.lucky) == ((600, "handshake"), False)


def test_a_connection_with_another_way_makes_no_handshake_a_lucky_one() -> None:
    near = tcp(1, syn_rtt=40, ack_rtt=600)
    pair = pair_of(near, tcp(2, **(LUCKY | {"ack_rtt": 4_700})))
    assert says(pair.client_side) == (600, "handshake")


def at_server(number: int, client: str, **columns: object) -> tuple[Row, list[Row]]:
    """A connection of a client, and calls on it."""
    calls = [call(10 * number + each, "GETATTR", 1, client=client) for each in range(3)]
    return tcp(number, client=client, **columns), calls


FAR = {"syn_rtt": 40, "ack_rtt": 5_000, **turns("client", 5_000, 5_000)}
WEAK = {**acks("client", 60, 900, 2), **turns("client", 60, 1_000), **turns("server", 40, 50)}
BETWEEN = {"syn_rtt": 40, "ack_rtt": 60, **acks("client", 60, 60, 9)}


@pytest.mark.parametrize(
    ("others", "one", "vantage"),
    [
        ([FAR, FAR], WEAK, "server"),
        ([FAR, FAR], BETWEEN, "server"),
        # One other may be anything, as may two of which one was captured elsewhere.
        ([FAR], WEAK, "unknown"),
        ([FAR, FAR, {"syn_rtt": 5_000, "ack_rtt": 40}], WEAK, "unknown"),
        # What is known well, or not at all, stays.
        ([FAR, FAR], {**BETWEEN, **acks("client", 60, 60, 10)}, "between"),
        ([FAR, FAR], {**turns("client", 60, 70), **turns("server", 40, 50)}, "unknown"),
        ([FAR, FAR], {"syn_rtt": 5_000, "ack_rtt": 40}, "client"),
        ([FAR, FAR], {**WEAK, "transport": "RDMA"}, "unknown"),
    ],
)
def test_a_client_that_shows_little_was_captured_where_the_others_of_its_server_were(
    others: list[dict[str, object]], one: dict[str, object], vantage: str
) -> None:
    all_of_them = [
        at_server(number, f"10.0.0.{number + 2}", **columns)
        for number, columns in enumerate([one, *others], 1)
    ]
    with trace_of(
        connections=[connection for connection, _ in all_of_them],
        calls=[each for _, calls in all_of_them for each in calls],
    ) as trace:
        (pair,) = (pair for pair in round_trips(trace).pairs if pair.client == "10.0.0.3")
    assert pair.vantage == vantage
    assert pair.addition_s == (0.0 if vantage == "client" else pair.client_side.rtt_s)
