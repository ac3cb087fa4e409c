"""Transfers that lost segments hold down, and those that something else does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.forecasts.verdict import verdict
from pcapnfs.analyses.wire.loss_rate import (
    TIMERS,
    LossRate,
    allowed,
    holding,
    loss_rates,
    loss_rates_by_client,
)
from pcapnfs.record import replace
from tests.analyses.test_verdict import DISK
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

MESSAGE = 128 * 1024
TOOK_MS = (45, 60, 95)
"""What one message takes after the other, in turns: 2.0 MB/s in the mean."""

NUMBER = 150


def connection(number: int = 1, /, **columns: object) -> Row:
    """One over 10 ms that lost 0.5 % of what the server sent."""
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "client_port": 700 + number,
        "syn_rtt": 10 * MILLISECOND,
        "ack_rtt": 5_000,
        "segment_size": 1460,
        "client_segments": 300,
        "client_bytes": 30_000,
        "server_segments": NUMBER * MESSAGE // 1448,
        "server_bytes": NUMBER * MESSAGE,
        "server_resent": 68,
    } | columns


def reads(
    took_ms: tuple[float, ...] = TOOK_MS, pause_ms: float = 5, *, number: int = 1
) -> list[Row]:
    """READs one after the other whose replies take so long in turns."""
    found, now = [], START_NS
    for place in range(NUMBER):
        begin = now + round(pause_ms * MILLISECOND)
        end = begin + round(took_ms[place % len(took_ms)] * MILLISECOND)
        times = {
            "call_first_time": now, "call_time": now, "reply_first_time": begin, "reply_time": end,
            "srt": end - now, "reply_bytes": MESSAGE, "connection": number, "stability": "read",
        }  # fmt: skip
        found.append(call(place + 1 + number * NUMBER, "READ", 1, **times))
        now = end
    return found


def writes() -> list[Row]:
    """WRITEs whose calls take as long."""
    return [
        row | {
            "op": "WRITE", "call_bytes": MESSAGE, "reply_bytes": 100, "stability": "unstable_write",
            "call_time": row["reply_time"], "reply_first_time": row["reply_time"],
        }
        for row in map(dict, reads())
    ]  # fmt: skip


def told(calls: Sequence[Row] | None = None, *connections: Row) -> tuple[LossRate, ...]:
    rows = connections or (connection(),)
    with trace_of(calls=reads() if calls is None else calls, connections=rows) as trace:
        return loss_rates(trace)


def test_what_tcp_comes_to_is_that_of_the_equations() -> None:
    # Little loss: 1448 B / 10 ms · √(3/2 · 1/0.0001) of Mathis et al., less what time-outs take.
    assert allowed(1e-4, 0.01, 1448) == pytest.approx(0.999 * 145 * 122.5e3, rel=0.05)
    # Much: every tenth segment is lost; RFC 5348 section 3.1 with a time-out of 0.2 s.
    much = 1448 / (0.01 * 0.2582 + 0.2 * 0.5809 * 0.1 * 1.32)
    assert allowed(0.1, 0.01, 1448) == pytest.approx(much, rel=0.05)
    # A long path with little loss: CUBIC's window of RFC 9438 section 5.1.
    assert allowed(1e-6, 0.2, 1448) == pytest.approx(1448 / 0.2 * 1.054 * (0.2 / 1e-6) ** 0.75)


def test_it_is_told_with_what_such_a_loss_allows() -> None:
    (found,) = told()
    assert (found.client, found.server, found.sender) == ("10.0.0.2", "10.0.0.1", "server")
    assert (found.connections, found.lost, found.segment_bytes) == (1, 68, 1448)
    assert found.lost_share == pytest.approx(0.005, rel=0.01)
    assert found.rtt_s == pytest.approx(0.010005)
    assert found.moved_bytes == NUMBER * MESSAGE
    assert found.moving_s == pytest.approx(10.0)
    assert found.bytes_per_s == pytest.approx(NUMBER * MESSAGE / 10.0)
    assert found.allowed_bytes_per_s == allowed(found.lost_share, found.rtt_s, 1448)
    # Of each call 5 ms were the server's, and the capture ends after 10 s.
    assert found.time_s == pytest.approx(9.3, rel=0.01)


def test_what_the_client_writes_is_told_by_what_the_client_lost() -> None:
    up = {"client_segments": 13577, "client_bytes": NUMBER * MESSAGE, "server_bytes": 30_000}
    assert told(writes(), connection(**up)) == ()
    (found,) = told(writes(), connection(**up, client_resent=68, server_resent=0))
    assert (found.sender, found.lost) == ("client", 68)


@pytest.mark.parametrize(
    ("columns", "share"),
    [
        # Network cards cut segments later, and join them before.
        ({"server_segments": 400}, 0.005),
        ({"segment_size": None}, 0.005),
        # What had arrived before was not lost.
        ({"server_spurious": 8}, 0.0044),
        ({"server_resent": 9}, None),
    ],
)
def test_the_share_is_of_segments_as_they_were_on_the_wire(
    columns: dict[str, object], share: float | None
) -> None:
    found = told(None, connection(**columns))
    assert [round(each.lost_share, 4) for each in found] == ([share] if share else [])


@pytest.mark.parametrize(
    ("took_ms", "near"),
    [
        pytest.param((23, 33, 50), True, id="quicker"),
        pytest.param((7, 11, 17), False, id="that no loss slows down"),
        pytest.param((80, 110, 170), True, id="slower"),
        pytest.param((135, 180, 285), False, id="that something else slows down more"),
        pytest.param((60, 66, 73), False, id="that something paces"),
    ],
)
def test_only_where_the_rate_is_near_that(took_ms: tuple[float, ...], near: bool) -> None:
    assert bool(told(reads(took_ms))) is near


@pytest.mark.parametrize(
    ("took_ms", "near"),
    [
        pytest.param((7, 10, 16), True, id="as Linux over 0.6 ms with 1 % of loss"),
        pytest.param((3, 4.5, 7), False, id="quicker"),
        pytest.param((10, 10.5, 11), False, id="that something paces"),
    ],
)
def test_on_a_short_path_the_timer_seldom_runs_out(took_ms: tuple[float, ...], near: bool) -> None:
    """RFC 5348's equation would have 3.5 MB/s, and 25 without a timer."""
    short = connection(syn_rtt=600_000, server_resent=136)
    found = told(reads(took_ms, 0.3), short)
    assert bool(found) is near
    for each in found:
        assert each.bytes_per_s == pytest.approx(11.9e6, rel=0.01)
        assert each.allowed_bytes_per_s == pytest.approx(10.5e6, rel=0.01)
        assert each.allowed_bytes_per_s == allowed(each.lost_share, each.rtt_s, 1448, TIMERS)


def test_messages_far_apart_begin_anew() -> None:
    """No loss of one is known to the next."""
    assert told(reads(pause_ms=180)) != ()
    assert told(reads(pause_ms=250)) == ()


def test_a_round_trip_that_is_only_bounded_allows_nothing_to_be_told() -> None:
    gaps = {"syn_rtt": None, "server_turns": 30, "server_turn_min": 10 * MILLISECOND}
    assert told(None, connection(**gaps, server_turn_rtt=10 * MILLISECOND)) == ()


def test_what_else_moved_may_have_lost_them() -> None:
    assert told(None, connection(server_bytes=NUMBER * MESSAGE * 2 + 2000)) == ()


def test_rates_and_losses_of_several_connections_are_of_each() -> None:
    calls = [*reads(), *reads(number=2)]
    (found,) = told(calls, connection(), connection(2))
    assert (found.connections, found.lost) == (2, 136)
    assert found.lost_share == pytest.approx(0.005, rel=0.01)
    assert found.bytes_per_s == pytest.approx(NUMBER * MESSAGE / 10.0)
    # Both have the clock together.
    assert found.time_s == pytest.approx(9.3, rel=0.01)


def test_connections_that_share_a_full_link_move_evenly_together() -> None:
    """What one of them gets less, the other gets more."""
    took_ms = (200 / 3, 200 / 3, 200 / 3, 200.0)
    first = reads(took_ms, 0)
    shared = [*first, *reads(took_ms[::-1], 0, number=2)]
    assert told(shared, connection(), connection(2)) == ()
    alike = [*first, *reads(took_ms, 0, number=2)]
    assert len(told(alike, connection(), connection(2))) == 1


def test_of_few_messages_nothing_tells_whether_they_move_evenly() -> None:
    few = {"server_segments": 1086, "server_bytes": 12 * MESSAGE, "server_resent": 10}
    assert len(told(reads()[:12], connection(**few))) == 1
    assert told(reads()[:7], connection(**few)) == ()


def test_a_client_has_its_own_and_most_of_its_transfer_is_told() -> None:
    with trace_of(calls=reads(), connections=[connection()]) as trace:
        ((client, rates),) = loss_rates_by_client(trace).items()
    assert client == "10.0.0.2"
    assert holding(rates, 2 * rates[0].time_s) == rates[0]
    assert holding(rates, 2.1 * rates[0].time_s) is None
    assert holding((), 0.0) is None


def test_the_verdict_says_what_holds_the_transfer_down() -> None:
    (rate,) = told()
    costs = replace(DISK.costs, other_s=0.1, persist_s=0.0)
    evidence = replace(DISK, costs=costs, transfer_s=90.0)
    held = verdict(replace(evidence, held_down=rate)).sentence
    assert (
        "(data on the wire, at 1.88 MiB a second: about what TCP comes to where 0.5 % of the "
        "segments are lost and a round trip takes 10.0 ms)" in held
    )
    assert "lost" not in verdict(evidence).sentence
    several = verdict(replace(evidence, held_down=replace(rate, connections=4))).sentence
    assert "at 1.88 MiB a second on each connection: about" in several


def test_times_that_cannot_be_are_no_failure() -> None:
    """As a damaged capture may claim them: their differences do not fit."""
    early, late = -(2**62) - 10, 2**62 + 10
    calls: list[dict[str, object]] = [
        row | {"call_first_time": early, "call_time": early, "reply_time": late}
        if place % 2
        else row | {"reply_first_time": early}
        for place, row in enumerate(map(dict, reads()))
    ]
    two = [
        *calls,
        *(row | {"call": 1000 + place, "connection": 2} for place, row in enumerate(calls)),
    ]
    assert told(two, connection(), connection(2)) == ()
