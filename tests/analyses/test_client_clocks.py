"""The verdict on several clients: each by its own clock, which is that of its time budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.verdict import ClientVerdict, Verdict
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER, TITLES
from pcapnfs.analyses.times.budget import Budget
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, trace_of

DISK, NETWORK, IDLE = "10.0.0.3", "10.0.0.4", "10.0.0.5"

TWO_SECONDS = meta(end_ns=START_NS + 2000 * MILLISECOND)
"""A capture of that length."""

SAME = ("transfer", "client")
"""Causes that are rows of the budget."""

DIVIDED = ("stable", "unstable", "unstable_write", "read", "state", "unknown")
"""Rows that are divided among the other causes."""


def calls_of(client: str, first: int, op: str, srt_ms: float, number: int, **columns: object
             ) -> Iterator[Row]:  # fmt: skip
    """So many calls, one every 10 ms, from the instant `first` × 10 ms on."""
    # Numbers of calls are unique; instants are not.
    base = 10_000 * int(client.rsplit(".", 1)[1])
    for place in range(first + 1, first + 1 + number):
        row = call(place, op, srt_ms, client=client, file=1, **columns)
        yield {**row, "call": base + place}


def waits_for_disk(number: int = 120) -> list[Row]:
    """A GETATTR of 0.5 ms, then three CREATEs of 9.5 ms, and so on."""
    return [
        row
        for place in range(0, number, 4)
        for row in (
            *calls_of(DISK, place, "GETATTR", 0.5, 1),
            *calls_of(DISK, place + 1, "CREATE", 9.5, 3, stability="stable"),
        )
    ]


def waits_for_network(number: int = 120) -> list[Row]:
    """Nothing but GETATTRs of 8 ms."""
    return list(calls_of(NETWORK, 0, "GETATTR", 8, number))


def judged(rows: Sequence[Row]) -> tuple[Verdict, dict[str, Budget]]:
    """The verdict, which must agree with the budget of each client that it tells of."""
    with trace_of(TWO_SECONDS, calls=rows, files=[file(1, "a")]) as trace:
        verdict, clocks = model(trace).verdict, time_budget(trace, top=0).clients
    assert verdict is not None
    budgets = {str(clock.client): clock for clock in clocks}
    for told in verdict.clients:
        agrees(told, budgets[told.client])
    return verdict, budgets


def agrees(told: ClientVerdict, budget: Budget, again_s: float = 0.0) -> None:
    """No cause says of the clock what its rows do not, nor waiting but what was sent again."""
    times = {cause.cause: cause.time_s for cause in told.causes}
    rows = {row: time_s for row, time_s, _ in budget.shares()}
    assert set(times) in (TITLES.keys() - {code} for code in ("round_trips", NETWORK_OR_SERVER))
    assert all(time_s >= 0 for time_s in times.values())
    for name in SAME:
        assert times[name] == rows[name]
    assert times["waiting"] == pytest.approx(rows["waiting"] + again_s, abs=1e-8)
    assert times["persistence"] <= rows["stable"] + 1e-9
    assert times["unknown"] <= rows["unknown"]
    divided = sum(time_s for name, time_s in times.items() if name not in (*SAME, "waiting"))
    assert divided + again_s == pytest.approx(sum(rows[row] for row in DIVIDED), abs=1e-8)
    assert told.clock_s == budget.wall_s
    assert sum(times.values()) == pytest.approx(budget.wall_s)
    assert told.waited_s == pytest.approx(budget.wall_s - budget.client_s)


def shares(told: ClientVerdict) -> dict[str, float]:
    return {cause.cause: cause.share or 0.0 for cause in told.causes}


def test_those_that_are_told_as_one_have_no_clock() -> None:
    others = [{**row, "client": "others"} for row in waits_for_network()]
    with trace_of(TWO_SECONDS, calls=[*waits_for_disk(), *others], files=[file(1, "a")]) as trace:
        verdict = model(trace).verdict
        clocks = measure(trace).clients
        listed = time_budget(trace, top=0).clients
    assert verdict is not None
    assert [told.client for told in verdict.clients] == [DISK]
    assert verdict.sentence.startswith(f"The time of {DISK}, which waited longest of 2 clients, ")
    assert verdict.rest is not None
    assert verdict.rest.startswith("1 more client waited ")
    assert clocks is not None
    assert [clock.client for clock in clocks.each] == [DISK]
    assert {budget.client for budget in listed} == {DISK, "others"}


def test_each_client_has_the_limit_that_is_its_own() -> None:
    verdict, _ = judged([*waits_for_disk(), *waits_for_network()])
    network, disk = verdict.clients
    assert (network.client, network.named[0]) == (NETWORK, "round_trips")
    assert (disk.client, disk.named[0]) == (DISK, "persistence")
    # 120 × 8 ms of 2 s; 90 × 9 ms beyond a round trip of 0.5 ms, of which there are 120.
    assert shares(network)["round_trips"] == pytest.approx(0.48)
    assert shares(network)["persistence"] == 0
    assert shares(disk)["persistence"] == pytest.approx(0.405)
    assert shares(disk)["round_trips"] == pytest.approx(0.03)
    assert (network.storage, disk.storage) == (None, "disk")
    assert (verdict.client, verdict.named) == (NETWORK, network.named)
    assert (verdict.causes, verdict.storage, verdict.rest) == (network.causes, None, None)


def test_what_nobody_knows_of_a_client_is_not_the_servers() -> None:
    """The outcome of 90 of its calls was cut off: a round trip of each is known, and no more."""
    cut = [
        {**row, "stability": "unknown"} if row["op"] == "CREATE" else row
        for row in waits_for_disk()
    ]
    verdict, _ = judged([*cut, *waits_for_network()])
    (told,) = (each for each in verdict.clients if each.client == DISK)
    assert shares(told)["unknown"] == pytest.approx(0.405)
    assert shares(told)["round_trips"] == pytest.approx(0.03)
    assert shares(told)["server"] == pytest.approx(0, abs=1e-9)
    assert told.named[0] == "unknown"
    assert f"The time of {DISK} went into what the capture does not tell: " in told.sentence


def one_after_another(lasts_ms: Callable[[int], int]) -> list[Row]:
    """Forty GETATTRs of one client, each of which lasts so long; it begins anew after each."""
    rows: list[Row] = []
    shift = 0
    for number, row in enumerate(calls_of(NETWORK, 0, "GETATTR", 1, 40)):
        times = {name: int(str(row[name])) + shift for name in SENT}
        lasts = lasts_ms(number) * MILLISECOND
        shift += lasts - MILLISECOND
        ends = dict.fromkeys(("reply_first_time", "reply_time"), times["call_time"] + lasts)
        rows.append({**row, **times, **ends, "srt": lasts, "connection": 7})
    return rows


def beside_a_disk(
    rows: list[Row], connection: Row, again_s: float = 0.0
) -> dict[str | None, ClientVerdict]:
    """The verdicts on this client and one that waits for its disk; each agrees with its budget."""
    rows = [*rows, *waits_for_disk()]
    connections = [{"connection": 7, "transport": "TCP", "client": NETWORK, **connection}]
    with trace_of(TWO_SECONDS, calls=rows, files=[file(1, "a")], connections=connections) as trace:
        verdict = model(trace).verdict
        each = time_budget(trace, top=0).clients
    assert verdict is not None
    budgets = {str(clock.client): clock for clock in each}
    for told in verdict.clients:
        agrees(told, budgets[str(told.client)], again_s if told.client == NETWORK else 0.0)
    return {told.client: told for told in verdict.clients}


def test_what_one_client_stood_still_for_lost_segments_is_its_own() -> None:
    """Every tenth call takes 200 ms longer."""
    lossy = one_after_another(lambda number: 201 if number % 10 == 9 else 1)
    by_client = beside_a_disk(lossy, {"client_resent": 4})
    # 4 × 200 ms of 2 s; the round trip is that of the others, 40 × 1 ms.
    assert shares(by_client[NETWORK])["loss"] == pytest.approx(0.4)
    assert shares(by_client[NETWORK])["round_trips"] == pytest.approx(0.02)
    assert by_client[NETWORK].named[0] == "loss"
    assert shares(by_client[DISK])["loss"] == 0


@pytest.mark.parametrize(("arrived", "again_s"), [(False, 0.8), (True, 0.0)])
def test_what_one_clients_calls_took_longer_since_they_were_sent_again_is_its_own(
    arrived: bool, again_s: float
) -> None:
    """Every tenth call takes 200 ms longer: its timer's, unless the server was that slow."""
    again = [
        {**row, "transmissions": 2, "first_arrived": arrived} if number % 10 == 9 else row
        for number, row in enumerate(
            one_after_another(lambda number: 201 if number % 10 == 9 else 1)
        )
    ]
    by_client = beside_a_disk(again, {"transport": "UDP"}, again_s)
    told = shares(by_client[NETWORK])
    # 4 × 200 ms of 2 s; the round trip is that of the others, 40 × 1 ms.
    assert told["waiting"] == pytest.approx(again_s / 2)
    assert sum(told[cause] for cause in ("waiting", "server", "round_trips")) == pytest.approx(0.42)
    assert (by_client[NETWORK].named[0] == "waiting") is not arrived
    said = "(calls were sent again before they were answered)" in by_client[NETWORK].sentence
    assert said is not arrived
    assert shares(by_client[DISK])["waiting"] == 0


def test_what_one_clients_round_trip_holds_of_calls_that_were_sent_again_is_booked_once() -> None:
    """Its GETATTRs take 21 ms, all but one since they were sent again, every fourth call, a READ,
    101 ms."""
    rows = [
        {**row, "op": "READ", "signature": "READ"}
        if number % 4 == 3
        else {**row, "transmissions": 1 if number == 0 else 2, "first_arrived": False}
        for number, row in enumerate(
            one_after_another(lambda number: 1 if number == 0 else 101 if number % 4 == 3 else 21)
        )
    ]
    connection = {"connection": 7, "transport": "UDP", "client": NETWORK}
    with trace_of(
        TWO_SECONDS, calls=[*rows, *waits_for_disk()], files=[file(1, "a")],
        connections=[connection],
    ) as trace:  # fmt: skip
        found = model(trace).verdict
    assert found is not None
    told = next(each for each in found.clients if each.client == NETWORK)
    # READs take 80 ms beyond a round trip of 20.3 ms, of a clock of two seconds.
    assert shares(told)["server"] == pytest.approx(10 * 0.0807 / 2, abs=0.001)
    assert shares(told)["waiting"] == pytest.approx((0.61 + 10 * 0.0203) / 2, abs=0.001)


def test_what_one_clients_path_took_longer_is_its_own() -> None:
    """All but the first eight calls take 40 ms longer."""
    longer = one_after_another(lambda number: 41 if number >= 8 else 1)
    path = {
        "server": longer[0]["server"],
        "syn_rtt": MILLISECOND,
        "ack_rtt": 5_000,
        "server_slow_from": longer[8]["call_first_time"],
        "server_slow_until": longer[-1]["reply_time"],
        "server_slow_rtt": 41 * MILLISECOND,
        "server_slow_acks": 10,
        "server_slow_turns": 0,
        "server_slow_full": 10,
        "server_slow_soon": 10,
    }
    by_client = beside_a_disk(longer, path)
    # 32 × 40 ms of 2 s.
    assert shares(by_client[NETWORK])["path"] == pytest.approx(0.64)
    assert shares(by_client[NETWORK])["round_trips"] == pytest.approx(0.02)
    assert by_client[NETWORK].named[0] == "path"
    assert shares(by_client[DISK])["path"] == 0


def test_a_client_under_tls_waited_for_what_is_seen_and_the_rest_nobody_knows() -> None:
    sealed = {"client": NETWORK, "client_bytes": 600, "server_bytes": 400, "sealed_bytes": 990}
    clear = {"client": DISK, "client_bytes": 6000, "server_bytes": 4000}
    rows = [*calls_of(NETWORK, 0, "NULL", 8, 1), *waits_for_disk()]
    files = [file(1, "a")]
    with trace_of(TWO_SECONDS, calls=rows, files=files, connections=[sealed, clear]) as trace:
        verdict = model(trace).verdict
    assert verdict is not None
    disk, told = verdict.clients
    assert (disk.client, told.client) == (DISK, NETWORK)
    assert told.waited_s == pytest.approx(0.008)
    assert told.named == ("unknown",)
    assert shares(told)["unknown"] == pytest.approx(1, abs=0.01)


SENT = ("call_first_time", "call_time")
"""When a call was sent."""


def test_few_small_calls_to_each_of_two_servers_are_few() -> None:
    """Twenty to each, one of which takes 50 ms: TCP's 0.8 ms, and 0.2 ms of the fastest."""
    rows = waits_for_network()
    for number in range(40):
        srt = 1 if number % 20 else 50
        where = {"server": f"10.0.0.{number // 20 + 1}", "connection": number // 20 + 1}
        rows += calls_of(DISK, 2 * number, "GETATTR", srt, 1, **where)
    tcp = {
        "connection": 1,
        "transport": "TCP",
        "client": DISK,
        "server": "10.0.0.1",
        "handshake": True,
        "syn_rtt": 800_000,
        "ack_rtt": 1_000,
    }
    with trace_of(TWO_SECONDS, calls=rows, files=[file(1, "a")], connections=[tcp]) as trace:
        measured = measure(trace)
    assert measured.clients is not None
    clocks = {clock.client: clock for clock in measured.clients.each}
    assert clocks[DISK].small_calls == 40
    assert clocks[DISK].rtt_s == pytest.approx(0.001)
    assert clocks[NETWORK].rtt_s == pytest.approx(0.008)


def test_the_sentence_says_whose_clock_it_is_and_begins_with_who_lost_most() -> None:
    verdict, _ = judged([*waits_for_disk(), *waits_for_network()])
    first, second = verdict.clients
    assert verdict.sentence == f"{first.sentence} {second.sentence}"
    assert first.sentence == (
        "The time of 10.0.0.4, which waited longest of 2 clients, went into round trips 80.1 % "
        "(120 calls at a round trip of 8.00 ms); the client itself 19.9 %. In 1.20 s from its "
        "first call to its last reply it waited 960 ms for calls."
    )
    assert second.sentence == (
        "The time of 10.0.0.3 went into persistence 67.5 % (90 stable calls waited 9.00 ms each "
        "for storage: the latency of rotating disks without a write cache that survives a power "
        "failure); the client itself 27.5 %, round trips 5.0 %. In 1.20 s from its first call to "
        "its last reply it waited 870 ms for calls."
    )


def test_a_client_that_does_almost_nothing_changes_nothing_of_another() -> None:
    alone, _ = judged([*waits_for_disk(), *waits_for_network()])
    verdict, _ = judged(
        [*waits_for_disk(), *waits_for_network(), *calls_of(IDLE, 150, "GETATTR", 1, 2)]
    )
    assert [told.client for told in verdict.clients] == [NETWORK, DISK, IDLE]
    assert [told.causes for told in verdict.clients[:2]] == [told.causes for told in alone.clients]
    idle = verdict.clients[2]
    assert idle.waited_s == pytest.approx(0.002)
    assert idle.named == ("client",)
    # Of the 11 ms for which it was there.
    unplaced = (
        "(no call under way; nothing tells where this was captured: if at the server, part of it, "
        "or all, is the network's)"
    )
    assert idle.sentence == (
        f"The time of 10.0.0.5 went into the client itself or the network 81.8 % {unplaced}; round "
        "trips 18.2 %. In 11.0 ms from its first call to its last reply it waited 2.00 ms for "
        "calls."
    )
    assert [each.cause for each in idle.active_causes[:2]] == ["client", "round_trips"]
    assert idle.active_causes[1].share == pytest.approx(2 / 11)
    assert idle.causes[0].share == pytest.approx(0.999)
    # One that was there for all of it, likewise; however little it is that it waited.
    throughout = [*calls_of(IDLE, 0, "GETATTR", 1, 1), *calls_of(IDLE, 195, "GETATTR", 1, 1)]
    verdict, _ = judged([*waits_for_disk(), *waits_for_network(), *throughout])
    assert verdict.clients[2].sentence == (
        f"The time of 10.0.0.5 went into the client itself or the network 99.9 % {unplaced}; round "
        "trips 0.1 %. In 1.95 s from its first call to its last reply it waited 2.00 ms for calls."
    )


def test_what_only_one_client_was_told_to_come_again_for_is_its_own() -> None:
    """Its 0.8 s of waiting are two fifths of its 2 s; while it waits, another one works."""
    refused = [
        *calls_of(DISK, 0, "OPEN", 1, 1, status_name="NFS4ERR_DELAY", protocol="4.1"),
        *calls_of(DISK, 80, "OPEN", 1, 1, protocol="4.1"),
        *calls_of(DISK, 81, "GETATTR", 1, 40),
    ]
    verdict, budgets = judged([*refused, *waits_for_network(80)])
    waiting, other = verdict.clients
    assert waiting.client == DISK
    assert waiting.named[0] == "waiting"
    assert shares(waiting)["waiting"] == pytest.approx(0.4)
    # Of the 1.2 s for which it was there.
    assert "waiting for the server 66.6 %" in waiting.sentence
    assert shares(other)["waiting"] == 0
    assert shares(other)["round_trips"] == pytest.approx(0.32)
    assert budgets[DISK].waiting_s == pytest.approx(0.8)


def test_long_pauses_are_left_out_of_what_a_client_is_judged_by() -> None:
    """Twice 1.2 s of work, a minute apart; the other client worked in the first of them."""
    capture = meta(end_ns=START_NS + 62_500 * MILLISECOND)
    again = list(calls_of(NETWORK, 6120, "GETATTR", 8, 120))
    files = [file(1, "a")]
    with trace_of(capture, calls=[*waits_for_network(), *again], files=files) as trace:
        alone = model(trace).verdict
    beside = [*waits_for_network(), *again, *waits_for_disk()]
    with trace_of(capture, calls=beside, files=files) as trace:
        both, measured = model(trace).verdict, measure(trace)
    told = (
        "went into round trips 80.1 % (240 calls at a round trip of 8.00 ms); the client itself "
        "19.9 %."
    )
    assert alone is not None
    assert alone.sentence == (
        f"The time {told} Counted: 2.40 s from the first call to the last reply. Not counted: 1 m "
        "0 s in pauses of 30 s or more."
    )
    assert both is not None
    assert both.clients[0].sentence == (
        f"The time of {NETWORK}, which waited longest of 2 clients, {told} In 2.40 s from its "
        "first call to its last reply it waited 1.92 s for calls. Not counted: 1 m 0 s in pauses "
        "of 30 s or more."
    )
    # Its clock holds the pause, as its budget does.
    assert shares(both.clients[0])["client"] > 0.95
    assert measured.clients is not None
    first = measured.clients.each[0]
    assert first.away_s == pytest.approx(60.002)
    assert first.present_s == pytest.approx(2.396)
    # Nor is there a shorter one that findings leave out.
    assert first.rest_s == 0.0
    assert measured.away_s == 0.0, "several clients have no pause in common"


def test_a_client_may_have_rested_for_seconds() -> None:
    capture = meta(end_ns=START_NS + 12_500 * MILLISECOND)
    again = list(calls_of(NETWORK, 1120, "GETATTR", 8, 120))
    calls = [*waits_for_network(), *again, *waits_for_disk()]
    with trace_of(capture, calls=calls, files=[file(1, "a")]) as trace:
        measured = measure(trace)
    assert measured.clients is not None
    first, other = measured.clients.each
    assert (first.client, first.away_s, other.rest_s) == (NETWORK, 0.0, 0.0)
    assert first.rest_s == pytest.approx(10.002)
    assert replace(first, locked_s=9.5).rest_s == 0.0
    assert measured.rest_s == 0.0, "several clients have no pause in common"


def test_clients_beyond_the_third_are_added_up() -> None:
    many = [
        row for host in range(3, 8) for row in calls_of(f"10.0.0.{host}", 0, "GETATTR", host, 40)
    ]
    verdict, _ = judged(many)
    assert [told.client for told in verdict.clients] == ["10.0.0.7", "10.0.0.6", "10.0.0.5"]
    assert verdict.rest == "2 more clients waited 280 ms for calls together."
    assert verdict.sentence.endswith(verdict.rest)


def test_a_client_that_only_mounts_is_no_client_of_the_verdict() -> None:
    mounts = list(calls_of(IDLE, 0, "MNT", 25, 2, program=100005, protocol="mount3"))
    verdict, _ = judged([*waits_for_disk(4), *mounts])
    assert [told.client for told in verdict.clients] == [DISK]
    assert verdict.rest == "1 more client waited 35.0 ms for calls."
    # It is not said to have waited longest.
    assert verdict.sentence.startswith("The time of 10.0.0.3, one of 2 clients, went into ")


def test_one_client_needs_no_name() -> None:
    verdict, _ = judged(waits_for_disk())
    assert (verdict.client, verdict.clients, verdict.rest) == (None, (), None)
    # The capture has 2 s.
    assert verdict.sentence.startswith("The time went into persistence 67.5 %")
    assert re.search(
        r"Counted: 1\.\S+ s from the first call to the last reply\.$", verdict.sentence
    )


def test_what_ends_with_a_call_without_a_reply_is_said_to() -> None:
    last = "from the first call to the last sign of a call without a reply."
    sent = dict.fromkeys(("call_time", "call_first_time"), START_NS + 1_500 * MILLISECOND)
    hangs = call(900, "READ", None, connection=1, client=DISK, **sent)
    span = meta(start_ns=START_NS - 500 * MILLISECOND, end_ns=START_NS + 2_600 * MILLISECOND)
    for rows, told in (([], False), ([hangs], True)):
        calls = [*waits_for_disk(), *rows]
        with trace_of(span, calls=calls, files=[file(1, "a")]) as trace:
            found = model(trace)
        assert found.verdict is not None
        assert (found.verdict.sentence.endswith(last), found.unanswered_last) == (told, told)


def test_a_run_that_is_nearly_the_whole_capture_is_the_time() -> None:
    rows = waits_for_disk()
    for end_ms, told in ((1205, False), (1220, True)):
        span = meta(end_ns=START_NS + end_ms * MILLISECOND)
        with trace_of(span, calls=rows, files=[file(1, "a")]) as trace:
            verdict = model(trace).verdict
        assert verdict is not None
        assert ("Counted: 1.20 s from the first call" in verdict.sentence) is told


def test_a_forecast_says_that_it_takes_all_clients_as_one() -> None:
    rows = [*waits_for_disk(40), *waits_for_network(40)]
    with trace_of(calls=rows, files=[file(1, "a")]) as trace:
        verdict = model(trace, Overrides(persist_s=0.02)).verdict
    assert verdict is not None
    assert verdict.sentence.startswith("The time of both clients, taken as one, would go into ")
    assert verdict.clients == ()


@st.composite
def anything(draw: st.DrawFn) -> list[Row]:
    """Calls of up to four clients that overlap, are refused, moved in pieces, or not answered."""
    kinds = ("stable", "unstable", "unstable_write", "read", "state", "unknown")
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 25))):
        srt = draw(st.none() | st.integers(0, 90))
        row = call(
            draw(st.integers(1, 60)),
            draw(st.sampled_from(["GETATTR", "WRITE", "OPEN"])),
            srt,
            client=f"10.0.0.{draw(st.integers(3, 6))}",
            stability=draw(st.sampled_from(kinds)),
            file=1,
        )
        if srt is not None and draw(st.booleans()):
            row = {**row, "status_name": "NFS3ERR_JUKEBOX"}
        elif srt is not None:
            row = {**row, "reply_first_time": row["call_time"]}
        rows.append({**row, "call": number})
    return rows


@settings(max_examples=20)
@given(anything())
def test_whatever_clients_do_the_verdict_agrees_with_the_budget(rows: list[Row]) -> None:
    with trace_of(calls=rows, files=[file(1, "a")]) as trace:
        verdict, clocks = model(trace).verdict, time_budget(trace, top=0).clients
    budgets = {str(clock.client): clock for clock in clocks}
    if verdict is not None:
        assert bool(verdict.clients) == (len(budgets) > 1)
        for told in verdict.clients:
            agrees(told, budgets[told.client])


def late_answers() -> Row:
    """A connection of one client of which only that answers take 7 ms is known."""
    return {
        "connection": 7,
        "transport": "TCP",
        "client": IDLE,
        "server": "10.0.0.1",
        "server_turns": 50,
        "server_turn_min": 7 * MILLISECOND,
        "server_turn_rtt": 7 * MILLISECOND,
        "client_acks": 50,
        "client_ack_min": 1_000,
        "client_ack_rtt": 20_000,
    }


def near() -> Row:
    """One of the other client, whose handshake tells that the network takes nothing."""
    to_server = {"client": NETWORK, "server": "10.0.0.1"}
    return {"transport": "TCP", **to_server, "handshake": True, "syn_rtt": 1_000, "ack_rtt": 80_000}


@pytest.mark.parametrize(
    ("op", "stability", "code"),
    [
        ("WRITE", "unstable_write", "round_trips"),
        ("READ", "read", NETWORK_OR_SERVER),
        ("READDIRPLUS", "unstable", NETWORK_OR_SERVER),
    ],
)
def test_a_clients_round_trip_that_is_a_bound_is_told_as_one(
    op: str, stability: str, code: str
) -> None:
    """One of whose path calls of one kind are all that is known; READs may wait for a disk."""
    calls = calls_of(IDLE, 0, op, 8, 50, stability=stability, connection=7)
    rows = [*waits_for_network(), *calls]
    ways = [late_answers(), near()]
    with trace_of(TWO_SECONDS, calls=rows, files=[file(1, "a")], connections=ways) as trace:
        measured, found = measure(trace), model(trace)
        given = model(trace, Overrides(rtt_s=0.002))
    verdict = found.verdict
    assert measured.clients is not None
    clocks = {clock.client: clock for clock in measured.clients.each}
    assert clocks[IDLE].bounded
    assert clocks[IDLE].network_rtt_s == pytest.approx(0.008)
    assert clocks[IDLE].told_network_s is None
    assert clocks[IDLE].undivided is (code == NETWORK_OR_SERVER)
    assert measured.path.ways[IDLE].undivided is clocks[IDLE].undivided
    assert not clocks[NETWORK].bounded
    assert verdict is not None
    told = {each.client: each for each in verdict.clients}
    assert told[IDLE].named[-1] == code
    assert ("8.00 ms at most" in told[IDLE].sentence) is (code == "round_trips")
    assert ("the network or the server 80.3 %" in told[IDLE].sentence) is clocks[IDLE].undivided
    assert "at most" not in told[NETWORK].sentence
    # Of the other nothing is changed; of this one no other network is foretold.
    changes = {each.client: {case.change for case in each.what_if} for each in found.clients}
    assert "local" in changes[NETWORK]
    assert (changes[IDLE] & {"rtt", "local"} == set()) is clocks[IDLE].undivided
    # Once the network's is given, the rest is the server's, and stays.
    if clocks[IDLE].undivided:
        (client,) = (each for each in given.clients if each.client == IDLE)
        cases = {case.change: case.forecast_s for case in client.what_if}
        assert client.rtt_s == pytest.approx(0.002)
        assert cases["given"] == pytest.approx(client.measured_s)
        assert cases["local"] == pytest.approx(client.measured_s - 50 * 0.002)


@pytest.mark.parametrize("lost", [0, 10])
def test_a_client_whose_answered_calls_are_stable_shows_no_round_trip(lost: int) -> None:
    """Whatever its other calls were, whose replies are not in the capture: nothing tells that."""
    stable = [*calls_of(IDLE, 0, "CREATE", 8, 50, stability="stable", connection=7)]
    nothing: Row = dict.fromkeys(("reply_time", "reply_first_time", "srt", "reply_frame"))
    unknown: Row = {**nothing, "stability": "unknown", "op": "SETATTR"}
    stable[:lost] = [{**row, **unknown} for row in stable[:lost]]
    rows, ways = [*waits_for_network(), *stable], [late_answers()]
    with trace_of(TWO_SECONDS, calls=rows, files=[file(1, "a")], connections=ways) as trace:
        clocks = measure(trace).clients
    assert clocks is not None
    found = {clock.client: clock for clock in clocks.each}
    assert not found[IDLE].bounded
    assert found[IDLE].network_rtt_s is None
    # That of all clients takes its place.
    assert found[IDLE].rtt_s == found[NETWORK].rtt_s
