"""The rule for servers that slow down under load."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.servers.load import Band, Load
from pcapnfs.analyses.servers.server_queue import ServerQueue
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.server_overload import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

IDLE = Band(1, 30, 0.0003, 0.0004, 0.1, (3,))
HALF = Band(2, 100, 0.0004, 0.0005, 0.2, (5,))
LOADED = Band(16, 30, 0.0009, 0.002, 0.5, (7, 9))


def found(*bands: Band) -> Material:
    return replace(bound_by("client"), load=(Load("10.0.0.1", 500, bands, None),))


def test_three_times_as_long_under_load_is_told() -> None:
    (seen,) = seen_by(RULE, found(IDLE, HALF, LOADED))
    assert seen.severity == "warning"
    assert seen.seen == (
        "With one call under way a small call takes 300 µs at least, with 16 and more 900 µs "
        "(tenth percentiles of 30 and 30 calls)."
    )
    (claim,) = seen.claims
    assert (claim.row, round(claim.seconds, 9)) == ("unstable", 0.44)
    assert seen.frames == (7, 9)


@pytest.mark.parametrize(
    "bands",
    [
        (IDLE, replace(LOADED, floor_s=0.00089)),
        (replace(IDLE, floor_s=0.0001), replace(LOADED, floor_s=0.00059)),
        (IDLE, replace(LOADED, calls=29)),
        (IDLE, replace(LOADED, least=2)),
        (LOADED,),
        (),
    ],
    ids=["less than three", "half a millisecond", "too few", "no load", "always loaded", "none"],
)
def test_a_little_less_is_not(bands: tuple[Band, ...]) -> None:
    assert seen_by(RULE, found(*bands)) == []


QUEUED = ServerQueue(
    at_a_time=1, alone=20, alone_s=0.0003, behind=50, waited=40, elsewhere=30, holder="10.0.0.9",
    holder_op="WRITE", held=19, waited_s=0.024, time_s=0.7, frames=(11, 13),
)  # fmt: skip


def queue(small: ServerQueue) -> Material:
    return replace(bound_by("client"), load=(Load("10.0.0.1", 500, (IDLE,), small),))


def test_small_calls_that_wait_for_others_stand_in_a_queue() -> None:
    (seen,) = seen_by(RULE, queue(QUEUED))
    assert (seen.title, seen.about) == ("Calls queue at the server 10.0.0.1", ("10.0.0.1",))
    assert seen.seen == (
        "40 of 50 small calls that came while others were under way waited until one of those was "
        "answered, and were answered right after it: 24.0 ms after they had come (median), where "
        "it takes 300 µs without others. For 30 of them that was a call on another connection."
    )
    assert seen.claims == (Claim("unstable", 0.7),)
    assert seen.frames == (11, 13)
    assert "of a connection one by one" not in seen.why
    (seen,) = seen_by(RULE, queue(replace(QUEUED, elsewhere=0)))
    assert "of a connection one by one" in seen.why


def test_of_several_threads_it_is_told_how_many_calls_they_work_on() -> None:
    material = queue(replace(QUEUED, at_a_time=2, elsewhere=0))
    (seen,) = seen_by(RULE, material)
    assert seen.seen.startswith("40 of 50 small calls that came while 2 or more others were under")
    assert seen.seen.endswith("hardly one did: it works on 2 calls at a time.")
    assert "or there is only one" not in seen.why
    assert "of a connection one by one" not in seen.why


def test_stable_calls_wait_in_the_same_queue() -> None:
    """Of 15 ms that each takes, small calls wait for 5."""
    bound = bound_by("client", rtt_s=0.006, persist_s=0.009, queue_s=0.005, stable_s=6.0)
    load = Load("10.0.0.1", 500, (IDLE,), QUEUED)
    (seen,) = seen_by(RULE, replace(bound, load=(load,)))
    assert {claim.row: round(claim.seconds, 9) for claim in seen.claims} == {
        "unstable": 0.7,
        "stable": 2.0,
    }
    # Of several servers nothing tells at which one they waited.
    other = Load("10.0.0.9", 500, (IDLE,), None)
    (seen,) = seen_by(RULE, replace(bound, load=(load, other)))
    assert [claim.row for claim in seen.claims] == ["unstable"]


def test_the_client_is_named_for_whose_calls_the_others_wait() -> None:
    (seen,) = seen_by(RULE, queue(replace(QUEUED, held=20)))
    assert seen.title == "Calls queue at the server 10.0.0.1 behind those of 10.0.0.9"
    assert seen.seen.endswith(
        "For 20 of them, of other clients, that was a call of 10.0.0.9, mostly WRITE."
    )
    assert seen.advice[0].action.startswith("See what runs on 10.0.0.9")
    (seen,) = seen_by(RULE, queue(QUEUED))
    assert not any("10.0.0.9" in advice.action for advice in seen.advice)


def test_where_that_client_sends_one_call_at_a_time_there_is_one_thread() -> None:
    found = queue(replace(QUEUED, held=20))
    budget = found.time_budget
    holder = replace(budget.total, client="10.0.0.9")

    def advice(concurrency: float) -> list[str]:
        clients = (replace(holder, concurrency=concurrency),)
        told = replace(found, time_budget=replace(budget, clients=clients))
        (seen,) = seen_by(RULE, told)
        assert ("10.0.0.9 sends one call at a time" in seen.why) == (concurrency < 1.1)
        return [each.action for each in seen.advice]

    first, second, _ = advice(1.0)
    assert first.startswith("Look at how many threads")
    assert second.startswith("See what runs on 10.0.0.9")
    assert "sunrpc" not in second
    assert advice(1.1)[0].startswith("See what runs on 10.0.0.9")
    assert "sunrpc" in advice(1.1)[0]


@pytest.mark.parametrize("change", [{"waited": 39}, {"behind": 29, "waited": 29}, {"alone": 4}])
def test_a_few_that_do_are_none(change: dict[str, int]) -> None:
    assert seen_by(RULE, queue(replace(QUEUED, **change))) == []  # type: ignore[arg-type]


def test_the_user_may_think_otherwise() -> None:
    assert seen_by(RULE, found(IDLE, LOADED), "server_overload.ratio=4") == []


@pytest.mark.parametrize("material", [found(IDLE, HALF, LOADED), queue(QUEUED)])
def test_a_server_that_is_not_linux_has_no_nfsd(material: Material) -> None:
    (seen,) = seen_by(RULE, material)
    assert any("(Linux: " in advice.action for advice in seen.advice)
    kind = Kind("Chimera NFSv4.1 (dCache.ORG)", "implementation", 1, ("10.0.0.1",), 1)
    (seen,) = seen_by(RULE, replace(material, software=Software(servers=(kind,))))
    told = " ".join((seen.why, *(advice.action for advice in seen.advice)))
    assert not any(word in told for word in ("nfsd", "Linux", "/etc"))


@pytest.mark.parametrize(("floor_s", "told"), [(0.0129, False), (0.0130, True)])
def test_by_a_clock_that_ticks_what_takes_a_tick_may_take_nothing(
    floor_s: float, told: bool
) -> None:
    material = found(replace(IDLE, floor_s=0.0), replace(LOADED, floor_s=floor_s, median_s=0.02))
    assert seen_by(RULE, material)
    ticks = replace(material, trust=replace(material.trust, clock_tick_s=0.00325))
    assert bool(seen_by(RULE, ticks)) == told
