"""What the rules on time in general share: whose verdict names a cause, and whose clock it is."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.verdict import Cause, ClientVerdict
from pcapnfs.analyses.forecasts.verdict_reasons import TITLES
from pcapnfs.analyses.servers.restarts import Restart
from pcapnfs.analyses.times.time_budget import TimeBudget
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules import client_bound, persistence_bound, round_trip_bound
from pcapnfs.diagnosis.rules import transfer_bound as moving
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import (
    WALL_S,
    beside,
    bound_beside,
    bound_by,
    bound_each,
    clock,
    of_client,
    verdict,
)
from tests.diagnosis.material import seen_by
from tests.diagnosis.restarted import RESTARTED

DISK, NETWORK = of_client(2, "persistence"), of_client(3, "round_trips")


def test_calls_of_unknown_outcome_are_not_told_as_unstable() -> None:
    (found,) = bound.alone(bound_by("persistence"))
    assert bound.data(found).startswith("900 calls, 400 of them stable; 500 small ones")
    assert bound.data(replace(found, stable_calls=0, unknown_calls=450)).startswith(
        "900 calls, 0 of them known to be stable, 450 of unknown outcome; 500 small ones"
    )


def test_the_only_client_is_the_whole_capture() -> None:
    found = bound_by("persistence")
    ((told, cause),) = bound.each(found, "persistence")
    assert (told.about, cause.share) == ((), 0.6)
    assert bound.active_s(found, told) == 10.0


def test_the_only_clients_long_pauses_are_no_part_of_its_run() -> None:
    """Half of the time in which it was active is a problem, however long the capture is."""
    found = bound_by("persistence", active_s=11.0, away_s=180.0)
    (told, _), *_ = bound.each(found, "persistence")
    assert bound.active_s(found, told) == 11.0
    (seen,) = seen_by(persistence_bound.RULE, found)
    assert "60.0 % of the run without its long pauses" in seen.seen
    assert seen.severity == "problem"
    assert seen_by(persistence_bound.RULE, bound_by("persistence", active_s=12.0))[0].severity == (
        "warning"
    )


BEFORE_S = 50.0
"""Time in which perhaps nothing was run, or the server was starting."""


def mostly(cause: str, *, rest_s: float = 0.0, restarts: tuple[Restart, ...] = ()) -> Material:
    """A run of ten seconds that storage takes most of, after such a time."""
    found = bound_by("persistence", rest_s=rest_s)
    alone = verdict("persistence")
    told = tuple(
        Cause(each.cause, time_s, time_s / (WALL_S + BEFORE_S))
        for each in alone.causes
        for time_s in (each.time_s + (BEFORE_S if each.cause == cause else 0.0),)
    )
    longer = replace(alone, named=(cause,), causes=told)
    clocks = replace(clock(stable=6.0).total, wall_s=WALL_S + BEFORE_S, client_s=4.0 + BEFORE_S)
    return replace(
        found,
        bottleneck=replace(found.bottleneck, verdict=longer),
        time_budget=TimeBudget(total=clocks, clients=(), phases=()),
        restarts=restarts,
    )


def test_what_the_work_waited_for_is_told_whatever_was_paused_before_it() -> None:
    paused = mostly("client", rest_s=BEFORE_S)
    (seen,) = seen_by(persistence_bound.RULE, paused)
    assert seen.title == "Much of the time at work goes into the server's storage"
    assert "60.0 % of the 10.0 s of the run without pauses in which perhaps" in seen.seen
    # A program may have computed meanwhile: nobody waits for storage most of the time then.
    assert seen.severity == "warning"
    (idle,) = seen_by(client_bound.RULE, paused)
    assert "50.5 s, 84.2 % of the run" in idle.seen
    # Where such pauses are many, they are a part of the work.
    assert seen_by(persistence_bound.RULE, mostly("client")) == []


def test_what_the_work_waited_for_is_told_whatever_it_waited_for_a_restarted_server() -> None:
    restarting = mostly("waiting", restarts=(replace(RESTARTED, grace_s=30.0, unreachable_s=20.0),))
    (seen,) = seen_by(persistence_bound.RULE, restarting)
    assert "60.0 % of the 10.0 s of the run without waits for a server that had" in seen.seen
    # A grace period is over for certain, and comes for no reason of the program's.
    assert seen.severity == "problem"
    assert bound.names(restarting, "waiting"), "the verdict does"
    assert seen_by(persistence_bound.RULE, mostly("waiting")) == []


def test_no_more_is_left_out_than_there_is() -> None:
    """Some of the wait was booked to something else."""
    waited = replace(RESTARTED, grace_s=30.0, unreachable_s=25.0)
    found = mostly("waiting", restarts=(waited,))
    left = sum(each.time_s for each in bound.work(found, found.bottleneck))
    assert bound.worked_s(found, found.bottleneck) == pytest.approx(left)


def test_of_several_clients_a_restart_sets_nothing_aside() -> None:
    found = replace(bound_each(of_client(2, "server"), NETWORK), restarts=(RESTARTED,))
    assert [bound.aside_s(found, each) for each in found.bottleneck.clients] == [0.0, 0.0]
    assert bound.aside_s(found, found.bottleneck) == 0.0
    assert bound.much_of_any(found, "server") == "Much of the time"


def test_it_is_at_work_where_no_verdict_names_it() -> None:
    paused = beside("client", "server", 0.25)
    one = replace(of_client(2, "client", rest_s=5.9), verdict=paused)
    assert bound.much_of_any(bound_each(one, NETWORK), "server") == "Much of the time at work"
    named = of_client(4, "server")
    assert bound.much_of_any(bound_each(one, named), "server") == "Much of the time"


def test_a_part_of_the_work_is_told_where_that_is_enough() -> None:
    """Storage takes a tenth of the run, and a sixth of the time without its pauses."""
    paused = bound_beside("client", "persistence", 0.1, rest_s=4.0)
    (seen,) = seen_by(persistence_bound.RULE, paused)
    assert seen.title == "A part of the time goes into the server's storage"
    assert seen_by(persistence_bound.RULE, bound_beside("client", "persistence", 0.1)) == []


def test_what_a_cause_costs_of_the_active_time_is_told_where_it_is_judged_by_that() -> None:
    claims = (Claim("stable", 5.5),)
    paused = bound_by("persistence", active_s=11.0, away_s=180.0)
    (found, _), *_ = bound.each(paused, "persistence")
    assert bound.client_share(found, claims) == pytest.approx(0.5)
    assert bound.client_share(found, ()) is None
    assert bound.client_share(replace(found, active_s=None), claims) is None
    (seen,) = seen_by(persistence_bound.RULE, paused)
    assert seen.client_share == pytest.approx(sum(each.seconds for each in seen.claims) / 11.0)


def test_of_several_clients_each_is_told_of_what_is_its_own() -> None:
    found = bound_each(DISK, NETWORK)
    (stored,) = seen_by(persistence_bound.RULE, found)
    (travelled,) = seen_by(round_trip_bound.RULE, found)
    assert (stored.about, travelled.about) == (DISK.about, NETWORK.about)
    assert "60.0 % of the client's active time" in stored.seen
    # Its own clock: of the clocks of both it is a quarter.
    assert stored.severity == "problem"
    assert stored.claims == (Claim("stable", 5.6),)
    assert seen_by(client_bound.RULE, found) == []


def test_what_moving_data_takes_is_the_clients_own() -> None:
    found = bound_each(of_client(2, "transfer"), NETWORK)
    (seen,) = seen_by(moving.RULE, found)
    assert seen.claims == (Claim("transfer", 6.0),)
    assert bound.names(found, "transfer")
    moves = bound.naming(found, "transfer")
    assert moves("10.0.0.2")
    assert not moves("10.0.0.3")


def test_the_only_client_needs_no_name() -> None:
    assert bound.naming(bound_by("transfer"), "transfer")("10.0.0.9")
    assert not bound.naming(bound_by("client"), "transfer")("10.0.0.9")


def test_time_without_calls_is_that_of_the_client() -> None:
    (seen,) = seen_by(client_bound.RULE, bound_each(of_client(2, "client"), NETWORK))
    assert seen.seen == "No call was under way for 6.00 s, 60.0 % of the client's active time."
    assert seen.confidence == "certain"
    unplaced = of_client(2, "client", placed_share=0.0)
    (seen,) = seen_by(client_bound.RULE, bound_each(unplaced, NETWORK))
    assert seen.confidence == "possible"


def test_a_client_that_was_there_for_a_moment_is_not_told_to_be_idle() -> None:
    """What its clock holds before it came and after it went is nobody's time."""

    active = verdict("persistence").causes
    clock_s = 100 * WALL_S
    outside = {"client": clock_s - WALL_S}
    clock = tuple(
        Cause(each.cause, time_s, time_s / clock_s)
        for each in active
        for time_s in (each.time_s + outside.get(each.cause, 0.0),)
    )
    brief = ClientVerdict(
        client="10.0.0.2",
        clock_s=clock_s,
        waited_s=9.5,
        active_s=WALL_S,
        sentence="",
        named=("persistence",),
        storage="disk",
        causes=clock,
        active_causes=active,
    )
    found = bound_each(of_client(2, verdict=brief), *(of_client(3, "client"),) * 3)
    (stored,) = seen_by(persistence_bound.RULE, found)
    assert "60.0 % of the client's active time" in stored.seen
    idle = seen_by(client_bound.RULE, found)
    assert [each.about[0] for each in idle] == ["10.0.0.3"] * 3


@pytest.mark.parametrize(("calls", "seen"), [(29, 0), (30, 1)])
def test_a_client_with_a_handful_of_calls_says_nothing(calls: int, seen: int) -> None:
    found = bound_each(of_client(2, "persistence", calls=calls), NETWORK)
    assert len(list(bound.each(found, "persistence"))) == seen


def test_what_all_clocks_together_name_is_told_of_each() -> None:
    """Just below what is large by itself, and of the same cause as the others."""
    parts = {"persistence": 2.9, "round_trips": 4.0}
    causes = tuple(
        Cause(name, parts.get(name, 0.5), parts.get(name, 0.5) / WALL_S) for name in TITLES
    )
    just_below = replace(verdict("round_trips"), causes=causes)
    below = of_client(4, verdict=just_below)
    told = [each.about[0] for each, _ in bound.each(bound_each(DISK, below), "persistence")]
    assert told == ["10.0.0.2", "10.0.0.4"]
    none = tuple(replace(cause, time_s=0.4, share=0.04) for cause in causes)
    hardly = of_client(5, verdict=replace(just_below, named=("client",), causes=none))
    told = [each.about[0] for each, _ in bound.each(bound_each(DISK, DISK, hardly), "persistence")]
    assert told == ["10.0.0.2", "10.0.0.2"]


def test_of_several_clients_each_has_a_second_cause_of_its_own() -> None:
    part = of_client(4, verdict=beside("round_trips", "persistence", 0.2))
    found = bound_each(NETWORK, NETWORK, NETWORK, part)
    assert [each.about for each, _ in bound.seconds(found, "persistence")] == [part.about]
    # What the clocks of all of them name is told of it as of the others.
    common = bound_each(DISK, part)
    assert list(bound.seconds(common, "persistence")) == []
    assert [each.about for each, _ in bound.each(common, "persistence")] == [DISK.about, part.about]
