"""What the time goes into, by its parts."""

from __future__ import annotations

import math

import pytest

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.verdict import Verdict, verdict
from pcapnfs.analyses.forecasts.verdict_evidence import Evidence, storage_of
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER, TITLES
from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.wire.held_segments import AckWaits
from pcapnfs.record import replace

DISK = Evidence(
    costs=Costs(
        files=1000.0,
        rpcs_per_file=6.0,
        rtt_s=0.0003,
        syncops_per_file=4.0,
        persist_s=0.008,
        other_s=0.0,
        client_s=0.0001,
        pauses_s=0.0,
        concurrency=1.0,
    ),
    stable_s=0.0083,
    small_s=None,
    forecast=False,
    few=None,
)


def found(
    transfer_s: float = 0.0, waiting_s: float = 0.0, unknown_s: float = 0.0, **costs: float
) -> Verdict:
    stable, tick_s = costs.pop("stable_s", None), costs.pop("tick_s", 0.0)
    evidence = replace(DISK, costs=replace(DISK.costs, **costs), stable_s=stable, tick_s=tick_s)
    return verdict(
        replace(evidence, transfer_s=transfer_s, waiting_s=waiting_s, unknown_s=unknown_s)
    )


def test_a_disk_without_a_write_cache() -> None:
    told = verdict(DISK)
    assert told.named == ("persistence",)
    assert told.storage == "disk"
    assert told.sentence.startswith("The time went into persistence 93.0 %")
    assert "4\u2009000 stable calls waited 8.00 ms each" in told.sentence
    assert "for storage: the latency of rotating disks without a write cache" in told.sentence


def test_what_came_behind_other_calls_is_not_all_the_disks() -> None:
    told = verdict(replace(DISK, stable=StableCalls(crowded=True)))
    assert told.storage == "disk"
    assert "rotating" not in told.sentence
    assert (
        "8.00 ms each for storage, or until other calls were done, which were under way when most "
        "of them came" in told.sentence
    )


def test_nor_is_it_where_some_that_came_behind_others_make_the_mean() -> None:
    told = verdict(replace(DISK, stable=StableCalls(waited_share=0.5)))
    assert "rotating" not in told.sentence
    assert "or until other calls were done, behind which some of them came" in told.sentence
    told = verdict(replace(DISK, stable=StableCalls(waited_share=0.1)))
    assert "rotating" in told.sentence


def test_of_several_operations_in_a_call_each_tells_the_storage() -> None:
    told = verdict(replace(DISK, stable=StableCalls(operations=20.0)))
    assert told.storage == "flash"
    assert "8.00 ms each for storage, 20.0 stable operations in each)" in told.sentence
    told = verdict(replace(DISK, stable=StableCalls(operations=1.6)))
    assert told.storage == "disk"
    assert "1.6 stable operations in each: the latency of rotating disks" in told.sentence


@pytest.mark.parametrize(
    ("persist_s", "storage"),
    [(0.0001, "flash"), (0.0039, "flash"), (0.004, "disk"), (0.012, "disk"), (0.02, "slow")],
)
def test_what_storage_looks_like(persist_s: float, storage: str) -> None:
    assert found(persist_s=persist_s).storage == storage


def test_calls_that_queue_wait_for_the_server_and_for_no_round_trip() -> None:
    costs = replace(DISK.costs, rtt_s=0.0083, persist_s=0.008)
    told = verdict(replace(DISK, costs=costs, stable_s=0.0163, small_s=0.0083, queue_s=0.008))
    times = {each.cause: each.time_s for each in told.causes}
    assert times["server"] == pytest.approx(6000 * 0.008)
    assert times["round_trips"] == pytest.approx(6000 * 0.0003)
    assert times["persistence"] == pytest.approx(4000 * 0.008)
    assert told.named == ("server", "persistence")
    assert told.sentence.startswith(
        "The time went into queueing at the server 58.3 % (calls waited 8.00 ms each until others "
        "were answered) and persistence 38.8 % (4\u2009000 stable calls waited 8.00 ms each for "
        "storage, or until the server had done others: calls queue there)"
    )


def test_stable_calls_as_fast_as_from_memory() -> None:
    told = found(persist_s=0.00005, stable_s=0.00035)
    assert told.storage == "memory"
    assert "async export" in told.sentence
    # By a clock that ticks they may be as much slower as flash is.
    assert found(persist_s=0.00005, stable_s=0.00035, tick_s=0.001).storage == "flash"
    # Of a long round trip, half of which is hidden by the ratio, the difference decides.
    assert found(rtt_s=0.02, persist_s=0.008, stable_s=0.028).storage == "disk"


def test_access_control_lists_set_quickly_are_no_memory() -> None:
    """Servers answer SETACL and SETXATTR before they store them, whatever the export."""
    fast = replace(DISK, costs=replace(DISK.costs, persist_s=0.00002), stable_s=0.0004)
    assert storage_of(fast) == "memory"
    assert storage_of(replace(fast, stable=StableCalls(shown=0.0))) is None


def test_nor_do_they_make_a_disk_faster() -> None:
    slow = replace(DISK, costs=replace(DISK.costs, persist_s=0.003), stable_s=0.012)
    assert storage_of(slow) == "flash"
    assert storage_of(replace(slow, stable=StableCalls(shown=0.25))) == "disk"


def test_where_many_are_as_fast_as_memory_no_disk_makes_the_others_wait() -> None:
    told = verdict(replace(DISK, stable=StableCalls(uneven_part=0.5)))
    assert told.storage == "uneven"
    assert "or something else: many of the same kinds were as fast as from memory" in told.sentence
    assert "rotating" not in told.sentence
    assert verdict(replace(DISK, stable=StableCalls(uneven_part=0.49))).storage == "disk"
    # What is less than a disk takes is so, whatever it waited for.
    flash = replace(DISK, costs=replace(DISK.costs, persist_s=0.003), stable_s=0.0033)
    assert storage_of(replace(flash, stable=StableCalls(uneven_part=0.5))) == "flash"


def test_data_that_waits_is_no_memory() -> None:
    """Servers in user space store data before they answer, and names when the kernel likes."""
    usual = replace(DISK, costs=replace(DISK.costs, rtt_s=0.0012, persist_s=0.0025))
    evidence = replace(usual, stable_s=0.0013, small_s=0.0012)
    told = verdict(replace(evidence, data_s=0.0095))
    assert told.storage == "data"
    # All of it is persistence: it is no chance that these calls took longer.
    times = {each.cause: each.time_s for each in told.causes}
    assert times["persistence"] == pytest.approx(4000 * 0.0025)
    assert "what stores data waits" in told.sentence
    assert "async export" not in told.sentence
    # What a copy in memory takes, and a clock that ticks, tell nothing.
    assert verdict(replace(evidence, data_s=0.0021)).storage == "memory"
    assert verdict(replace(evidence, data_s=0.0095, tick_s=0.01)).storage != "data"
    # Of a long path medians differ by more than a millisecond.
    far = replace(evidence, costs=replace(usual.costs, rtt_s=0.0200), stable_s=0.0201, small_s=0.02)
    assert verdict(replace(far, data_s=0.0240)).storage == "memory"
    assert verdict(replace(far, data_s=0.0260)).storage == "data"


def test_data_that_waits_far_longer_than_names_is_not_told_by_their_mean() -> None:
    """60 WRITEs of 38 ms and 385 other calls of 1.7 ms are no 445 calls of 5.5 ms."""
    costs = replace(DISK.costs, rtt_s=0.00135, persist_s=0.0055)
    evidence = replace(DISK, costs=costs, stable_s=0.0017, small_s=0.00135, data_s=0.038)
    told = verdict(evidence)
    assert told.storage == "data"
    assert "rotating" not in told.sentence
    # Names that wait for a tenth of that, or a millisecond, do wait.
    assert verdict(replace(evidence, data_s=0.0048)).storage == "disk"
    assert verdict(replace(evidence, stable_s=0.0024)).storage == "disk"


def test_calls_of_unknown_outcome_may_be_those_that_store_data() -> None:
    """Cut to 128 bytes, a WRITE tells neither how it is to be stored nor how it was."""
    costs = replace(DISK.costs, files=60.0, rtt_s=0.00134, persist_s=0.0002)
    evidence = replace(DISK, costs=costs, stable_s=0.0015, small_s=0.00134, unknown_s=2.1)
    told = verdict(evidence)
    assert told.storage == "names"
    assert "whether data waits cannot be seen" in told.sentence
    assert "async" not in told.sentence
    # Where enough are known, or those took no longer than others, nothing is in doubt.
    assert verdict(replace(evidence, data_s=0.0016)).storage == "memory"
    assert verdict(replace(evidence, unknown_s=0.04)).storage == "memory"


def test_a_few_slow_calls_are_no_storage() -> None:
    """Usual stable calls are as fast as small ones: a busy server delays some of both."""
    evidence = replace(DISK, costs=replace(DISK.costs, persist_s=0.002), stable_s=0.0015)
    told = verdict(replace(evidence, small_s=0.0014))
    assert told.storage == "memory"
    times = {each.cause: each.time_s for each in told.causes}
    assert times["persistence"] == pytest.approx(4000 * 0.0001)
    assert times["server"] == pytest.approx(4000 * 0.0019)
    # A disk whose calls are slow as a rule is one, whatever a few take.
    assert verdict(replace(evidence, stable_s=0.004, small_s=0.0014)).named == ("persistence",)


def test_round_trips_of_a_slow_network() -> None:
    told = found(rtt_s=0.02, persist_s=0.0001)
    assert told.named == ("round_trips",)
    assert "6\u2009000 calls at a round trip of 20.0 ms)" in told.sentence


@pytest.mark.parametrize(
    ("network_s", "told"),
    [
        (None, "20.0 ms)"),
        (0.0005, "20.0 ms, of which the network takes 500 µs)"),
        (0.01, "20.0 ms)"),
    ],
)
def test_where_the_network_takes_little_of_a_round_trip_it_is_told(
    network_s: float | None, told: str
) -> None:
    slow = replace(DISK, costs=replace(DISK.costs, rtt_s=0.02, persist_s=0.0001))
    assert told in verdict(replace(slow, network_s=network_s)).sentence


@pytest.mark.parametrize(
    ("network_s", "small_s", "slow"),
    [
        (0.0005, 0.02, True),
        (0.009, 0.02, False),
        (None, 0.02, False),
        # A few slow calls make the mean.
        (0.0005, 0.0009, False),
    ],
    ids=["the server", "the network", "not told", "some calls"],
)
def test_a_server_that_takes_most_of_each_round_trip_is_named(
    network_s: float | None, small_s: float, slow: bool
) -> None:
    costs = replace(DISK.costs, rtt_s=0.017, persist_s=0.0)
    told = verdict(replace(DISK, costs=costs, small_s=small_s, network_s=network_s)).sentence
    assert told.startswith("The time went into round trips")
    assert ("round trips to a slow server" in told) is slow


@pytest.mark.parametrize(("small_s", "told"), [(0.0045, True), (0.0044, False)])
def test_where_small_calls_wait_as_well_no_disk_is_named(small_s: float, *, told: bool) -> None:
    """Half of the eight milliseconds of a stable call."""
    slow = replace(DISK, costs=replace(DISK.costs, rtt_s=0.005), small_s=small_s, network_s=0.0005)
    said = verdict(slow).sentence
    assert ("8.00 ms each for storage, or for what small calls, too, wait for" in said) is told
    assert ("rotating disks" in said) is not told


def test_two_large_causes_are_both_named() -> None:
    told = found(rtt_s=0.004, persist_s=0.008)
    assert set(told.named) == {"persistence", "round_trips"}
    assert " and " in told.sentence


def test_an_idle_client() -> None:
    assert found(pauses_s=1000.0).named == ("client",)
    assert "the client itself" in found(pauses_s=1000.0).sentence


@pytest.mark.parametrize(("unused_s", "told"), [(99.0, False), (200.0, True)])
def test_pauses_of_an_idle_client_are_told(unused_s: float, told: bool) -> None:
    evidence = replace(DISK, costs=replace(DISK.costs, pauses_s=1000.0), unused_s=unused_s)
    said = "(no call under way, 3 m 20 s of it in pauses of a second or more)"
    assert (said in verdict(evidence).sentence) is told


def test_data_on_the_wire_and_the_servers_own_work() -> None:
    moved = found(other_s=0.1, transfer_s=90.0, persist_s=0.0)
    assert moved.named == ("transfer",)
    read = found(other_s=0.1, transfer_s=10.0, persist_s=0.0)
    assert read.named == ("server",)
    waited = found(other_s=0.1, waiting_s=95.0, persist_s=0.0)
    assert waited.named == ("waiting",)


def test_what_nobody_knows_is_not_the_servers() -> None:
    """Calls without a known outcome: a disk, the server or anything else may be in them."""
    some = found(other_s=0.04, unknown_s=30.0)
    times = {each.cause: each.time_s for each in some.causes}
    assert times["unknown"] == pytest.approx(30.0)
    assert times["server"] == pytest.approx(10.0)
    assert set(some.named) == {"unknown", "persistence"}
    assert "calls of unknown outcome 40." in some.sentence


def test_where_most_is_unknown_no_culprit_is_named() -> None:
    told = found(other_s=0.04, unknown_s=40.0, persist_s=0.006)
    assert told.named == ("unknown",)
    assert told.sentence.startswith(
        "The time went into what the capture does not tell: calls of unknown outcome 60.2 % (no "
        "reply, or one that cannot be read); persistence 36.1 %."
    )


def test_what_is_unknown_takes_no_more_than_there_is() -> None:
    told = found(other_s=0.01, transfer_s=4.0, unknown_s=30.0)
    times = {each.cause: each.time_s for each in told.causes}
    assert times["server"] == 0
    assert times["unknown"] == pytest.approx(6.0)


def test_what_was_late_is_not_called_lost() -> None:
    costs = replace(DISK.costs, other_s=0.05)
    stood = replace(DISK, costs=costs, transfer_s=4.0, lost_s=40.0)
    assert "lost segments" in verdict(stood).sentence
    told = verdict(replace(stood, arrival="late")).sentence
    assert "late segments" in told
    assert "and nothing was lost" in told
    assert "lost segments" not in told
    told = verdict(replace(stood, arrival="arrived")).sentence
    assert "segments sent again" in told
    assert "lost" not in told
    told = verdict(replace(stood, arrival="rdma", cut_s=39.0)).sentence
    assert "lost packets" in told
    assert "TCP" not in told
    cut = verdict(replace(stood, arrival="late", cut_s=39.0)).sentence
    assert "lost segments" in cut
    assert "let nothing through" in cut


def test_what_calls_stood_still_for_lost_segments_is_not_the_servers() -> None:
    evidence = replace(DISK, costs=replace(DISK.costs, other_s=0.05), transfer_s=4.0, lost_s=40.0)
    told = verdict(evidence)
    times = {each.cause: each.time_s for each in told.causes}
    assert times["loss"] == pytest.approx(40.0)
    assert times["server"] == pytest.approx(6.0)
    assert "lost segments 47.4 % (calls stood still until TCP's retransmission timer ran out)" in (
        told.sentence
    )
    # What came late is in no call's time.
    late = verdict(replace(evidence, costs=replace(DISK.costs, pauses_s=9.0), lost_s=0.0,
                           lost_idle_s=3.0))  # fmt: skip
    times = {each.cause: each.time_s for each in late.causes}
    assert times["loss"] == pytest.approx(3.0)
    assert times["client"] == pytest.approx(6.6)


def test_what_calls_took_longer_for_a_longer_path_is_neither_storage_nor_the_servers() -> None:
    costs = replace(DISK.costs, other_s=0.06)
    told = verdict(
        replace(DISK, costs=costs, longer_s=59.0, longer_calls=1000, longer_each_s=0.059)
    )
    times = {each.cause: each.time_s for each in told.causes}
    assert times["path"] == pytest.approx(59.0)
    assert times["server"] == pytest.approx(1.0)
    assert times["persistence"] == pytest.approx(32.0)
    assert (
        "a longer path 62.5 % (1\u2009000 calls took 59.0 ms longer each while it was)"
        in told.sentence
    )
    full = verdict(
        replace(DISK, costs=costs, longer_s=59.0, longer_calls=1000, longer_each_s=0.059, full=True)
    )
    assert "a full link 62.5 %" in full.sentence
    # It overlaps as calls do.
    costs = replace(costs, concurrency=2.0)
    told = verdict(
        replace(DISK, costs=costs, longer_s=59.0, longer_calls=1000, longer_each_s=0.059)
    )
    assert {each.cause: each.time_s for each in told.causes}["path"] == pytest.approx(29.5)


def test_a_mean_round_trip_takes_nothing_of_what_was_seen_of_each_call() -> None:
    """Few calls show the round trip; where most others were faster, its mean is too long."""
    costs = replace(DISK.costs, rtt_s=0.01, syncops_per_file=0.0, persist_s=0.0, other_s=0.02)
    told = verdict(replace(DISK, costs=costs, stable_s=None, lost_s=30.0, small_s=0.001))
    times = {each.cause: each.time_s for each in told.causes}
    assert times["loss"] == pytest.approx(30.0)
    assert sum(times.values()) == pytest.approx(costs.forecast_s)
    assert "at a round trip of 10.0 ms on average, 1.00 ms in the median" in told.sentence


@pytest.mark.parametrize(
    ("unseen_s", "told"),
    [
        (0.0, "the client itself 74.7 % (no call under way)"),
        (9.9, "the client itself 74.7 % (no call under way)"),
        (
            10.1,
            "the client itself or the network 74.7 % (no call under way; nothing tells where this "
            "was captured: if at the server, up to 10.1 s of it is the network's)",
        ),
        (
            math.inf,
            "the client itself or the network 74.7 % (no call under way; nothing tells where this "
            "was captured: if at the server, part of it, or all, is the network's)",
        ),
    ],
)
def test_where_the_place_is_unknown_the_clients_time_may_be_the_networks(
    unseen_s: float, told: str
) -> None:
    costs = replace(DISK.costs, client_s=0.0, pauses_s=100.0)
    evidence = replace(DISK, costs=costs, unseen_s=unseen_s)
    assert told in verdict(evidence).sentence
    # No round trip is as long as a pause.
    paused = verdict(replace(evidence, unused_s=95.0)).sentence
    assert "or the network" not in paused


def test_what_rests_on_a_bound_is_told_as_one_also_behind_the_causes() -> None:
    costs = replace(DISK.costs, pauses_s=0.0)
    assert "; round trips 5.2 %" in verdict(replace(DISK, costs=costs)).sentence
    assert (
        "; round trips at most 5.2 %" in verdict(replace(DISK, costs=costs, bounded=True)).sentence
    )


def test_a_bound_of_the_network_tells_that_the_server_has_the_rest() -> None:
    costs = replace(DISK.costs, rtt_s=0.010, syncops_per_file=0.0, persist_s=0.0)
    evidence = replace(DISK, costs=costs, stable_s=None, network_s=0.004)
    assert "of which the network takes 4.00 ms" in verdict(evidence).sentence
    bounded = replace(evidence, at_most=True)
    assert "of which the network takes at most 4.00 ms" in verdict(bounded).sentence
    # It may have all of it, or half.
    assert "the network" not in verdict(replace(bounded, network_s=0.006)).sentence


def test_overlap_divides_what_is_waited_for_and_not_the_client() -> None:
    told = found(concurrency=4.0, pauses_s=100.0)
    shares = {each.cause: each.time_s for each in told.causes}
    assert shares["persistence"] == pytest.approx(8.0)
    assert shares["client"] == pytest.approx(100.6)


def test_shares_add_up_and_every_cause_has_one() -> None:
    told = found(other_s=0.02, transfer_s=5.0, waiting_s=1.0, pauses_s=3.0)
    assert {*(each.cause for each in told.causes), NETWORK_OR_SERVER} == {*TITLES}
    assert len(told.causes) == len(TITLES) - 1
    assert sum(each.share or 0.0 for each in told.causes) == pytest.approx(1)
    assert [each.time_s for each in told.causes] == sorted(
        (each.time_s for each in told.causes), reverse=True
    )


def test_calls_faster_than_the_round_trip_take_no_negative_time() -> None:
    told = found(other_s=-0.0001)
    assert all(each.time_s >= 0 for each in told.causes)


def test_nothing_took_any_time() -> None:
    told = found(files=0.0)
    assert told.named == ()
    assert told.sentence == "No call took any time."


def test_a_forecast_says_so() -> None:
    assert "would go into" in verdict(replace(DISK, forecast=True)).sentence


def test_too_few_calls_are_told() -> None:
    assert "too few" in verdict(replace(DISK, few=5)).sentence


def test_stable_calls_that_were_sent_again_waited_for_the_server() -> None:
    told = verdict(replace(DISK, resent=True))
    assert (told.named, told.storage) == (("waiting",), None)
    assert told.sentence.startswith(
        "The time went into waiting for the server 93.0 % (4\u2009000 stable calls took 8.00 ms "
        "longer than a round trip each, and most were sent again before they were answered)"
    )
    assert "storage" not in told.sentence


def test_what_calls_took_longer_since_they_were_sent_again_is_not_the_servers() -> None:
    costs = replace(DISK.costs, persist_s=0.0, other_s=0.02, concurrency=2.0)
    served_s = {"unstable": 12.0, "read": 10.0}
    lost = replace(DISK, costs=costs, served_s=served_s, again_s={"unstable": 11.0})
    told = verdict(lost)
    parts = {cause.cause: cause.time_s for cause in told.causes}
    assert parts["waiting"] == pytest.approx(5.5)
    assert parts["server"] == pytest.approx(4.5)
    assert "waiting for the server 47.8 % (calls were sent again before they" in told.sentence
    assert "the server 39.1 % (reads took longer than a round trip)" in told.sentence
    # No more than there is, and nothing of what nobody knows.
    parts = {
        cause.cause: cause.time_s
        for cause in verdict(replace(lost, again_s={"read": 50.0}, unknown_s=8.0)).causes
    }
    assert (parts["waiting"], parts["unknown"]) == pytest.approx((6.0, 4.0))
    assert parts["server"] == pytest.approx(0.0)


def test_calls_that_were_all_sent_again_show_no_round_trip() -> None:
    slow = replace(DISK, costs=replace(DISK.costs, rtt_s=1.1, syncops_per_file=0.0))
    assert verdict(slow).named == ("round_trips",)
    told = verdict(replace(slow, small_resent=True))
    assert told.named == ("waiting",)
    assert "(calls were sent again before they were answered)" in told.sentence
    # Beside it the server was not there for longer than that.
    costs = replace(slow.costs, other_s=20.0)
    (told, waited) = (
        verdict(replace(slow, costs=costs, small_resent=True, waiting_s=waiting_s))
        for waiting_s in (5_000.0, 10_000.0)
    )
    assert "(calls were sent again before they were answered)" in told.sentence
    assert "(the server was not ready, was not reached, or did not answer)" in waited.sentence


def test_what_the_round_trip_holds_of_calls_that_were_sent_again_is_not_booked_twice() -> None:
    """Forty small calls of 1.1 s that were all sent again, and forty READs of 3 s."""
    costs = replace(
        DISK.costs, files=80.0, rpcs_per_file=1.0, rtt_s=1.1, syncops_per_file=0.0, other_s=0.95
    )
    again_s = {"unstable": 40 * 1.09}
    served = replace(DISK, costs=costs, small_resent=True, served_s={"read": 76.0})
    for each in (served, replace(served, again_s=again_s)):
        parts = {cause.cause: cause.time_s for cause in verdict(each).causes}
        assert (parts["waiting"], parts["server"]) == pytest.approx((88.0, 76.0))
    # What READs waited beyond it, since they were sent again, is in no round trip.
    again_s |= {"read": 40 * 2.99}
    parts = {
        cause.cause: cause.time_s for cause in verdict(replace(served, again_s=again_s)).causes
    }
    assert parts["waiting"] == pytest.approx(88.0 + 75.2)


def test_time_without_a_call_is_nobodys_where_the_capture_lacks_much() -> None:
    idle = replace(DISK, costs=replace(DISK.costs, client_s=1.0))
    assert verdict(idle).named == ("client",)
    lacking = verdict(replace(idle, lacking=True))
    assert lacking.named == ("unknown",)
    assert "the capture lacks packets, or parts that were cut off" in lacking.sentence
    assert {each.cause: each.time_s for each in lacking.causes}["client"] == 0.0


@pytest.mark.parametrize(
    ("login_s", "told"),
    [
        (9.5, "the server 71.4 % (logging in to it took 9.50 s);"),
        (6.0, "(logging in to it took 6.00 s; reads, listings, and what else"),
        (2.0, "the server 71.4 % (reads, listings, and what else took longer"),
    ],
)
def test_a_login_is_no_reading(login_s: float, told: str) -> None:
    costs = replace(DISK.costs, files=10.0, rtt_s=0.0333, syncops_per_file=0.0, other_s=1.0)
    evidence = replace(DISK, costs=replace(costs, client_s=0.0333), stable_s=None)
    assert told in verdict(replace(evidence, login_s=login_s)).sentence


@pytest.mark.parametrize(
    ("served_s", "told"),
    [
        ({"read": 0.1, "unstable_write": 5.0, "unstable": 0.0}, "unstable writes took"),
        ({"read": 5.0, "unstable_write": 4.0, "unstable": 0.5}, "reads and unstable writes took"),
        ({"state": 1.0}, "calls that mount or log in took"),
        ({}, "reads, listings, and what else took"),
    ],
)
def test_what_the_server_took_longer_for_is_named(served_s: dict[str, float], told: str) -> None:
    costs = replace(DISK.costs, files=10.0, rtt_s=0.0333, syncops_per_file=0.0, other_s=1.0)
    evidence = replace(DISK, costs=costs, stable_s=None, served_s=served_s)
    assert f"({told} longer than a round trip)" in verdict(evidence).sentence


def test_stable_calls_that_were_slow_for_the_servers_sake_are_named() -> None:
    costs = replace(DISK.costs, persist_s=0.0035, concurrency=2.0)
    told = verdict(
        replace(DISK, costs=costs, stable_s=0.00035, small_s=0.0003, served_s={"read": 1.0})
    )
    assert told.storage == "memory"
    assert "(some stable calls took longer than a round trip)" in told.sentence


def test_calls_that_waited_for_acks_are_told() -> None:
    costs = replace(DISK.costs, files=10.0, syncops_per_file=0.0, other_s=1.0)
    waits = AckWaits(calls=89, timer_s=0.04, time_s=5.0)
    evidence = replace(DISK, costs=costs, stable_s=None, ack_waits=waits)
    told = "(89 calls waited about 40.0 ms each since it sent nothing until an ACK came that the"
    assert told in verdict(evidence).sentence
    less = replace(evidence, ack_waits=replace(waits, time_s=4.0))
    assert "ACK" not in verdict(less).sentence


def test_round_trips_that_come_to_more_than_there_was_take_nothing_of_the_clients_time() -> None:
    costs = replace(DISK.costs, other_s=-0.0258, client_s=0.001)
    told = verdict(replace(DISK, costs=costs))
    times = {each.cause: each.time_s for each in told.causes}
    # Calls were under way for 8 s; by the means it would have been 1.8 s and 32 s.
    assert times["client"] == pytest.approx(6.0)
    assert times["round_trips"] == pytest.approx(8.0 * 1.8 / 33.8)
    assert times["persistence"] == pytest.approx(8.0 * 32.0 / 33.8)
    assert sum(times.values()) == pytest.approx(14.0)


def test_a_quick_login_is_not_told() -> None:
    costs = replace(DISK.costs, files=1.0, syncops_per_file=0.0, other_s=0.9)
    told = verdict(replace(DISK, costs=costs, stable_s=None, login_s=0.9))
    assert "logging in" not in told.sentence


@pytest.mark.parametrize(("persist_s", "storage"), [(0.0045, "mixed"), (0.0035, "memory")])
def test_storage_that_was_slow_for_some_calls_is_told(persist_s: float, storage: str) -> None:
    costs = replace(DISK.costs, persist_s=persist_s)
    told = verdict(replace(DISK, costs=costs, stable_s=0.00035, small_s=0.0003))
    assert told.storage == storage
    assert ("some took far longer" in told.sentence) is (storage == "mixed")
    assert told.named[0] == ("persistence" if storage == "mixed" else "server")


def test_calls_that_are_all_as_slow_show_no_storage_that_was_slow_for_some() -> None:
    """TCP's handshake was quick, and stable calls and the few small ones took alike after it."""
    costs = replace(DISK.costs, rtt_s=0.004, persist_s=0.030)
    told = verdict(replace(DISK, costs=costs, stable_s=0.0325, small_s=0.0323))
    assert told.storage == "memory"
    assert "some took far longer" not in told.sentence
    assert "persistence" not in told.named


A_MINUTE = SlowStorage(
    calls=100, time_s=3.0, while_ns=(1_800_000_000_000_000_000, 1_800_000_060_000_000_000)
)
"""A hundred calls that waited 30 ms each, within a minute."""

QUICK = replace(
    DISK,
    costs=replace(DISK.costs, persist_s=0.001),
    stable_s=0.00035,
    small_s=0.0003,
    stable=StableCalls(slow=A_MINUTE, slow_part=0.75, late_part=0.8),
)
"""4,000 stable calls, most as fast as small ones, of which these waited 3 of 4 seconds."""


def test_a_minute_of_slow_storage_is_the_storages_however_many_calls_were_quick() -> None:
    told = verdict(QUICK)
    assert told.storage == "mixed"
    assert told.named[0] == "persistence"
    assert (
        "100 of 4\u2009000 stable calls waited 30.0 ms each for storage, most of it from 08:00:00 "
        "to 08:01:00 UTC, the others as fast as from memory)" in told.sentence
    )
    assert "answered as fast as from memory" not in told.sentence
    # What others take beyond the median is not known to be.
    times = {each.cause: each.time_s for each in told.causes}
    assert times["persistence"] == pytest.approx(3.0 + 4000 * 0.00005)
    assert times["server"] == pytest.approx(4.0 - 3.2)


def test_nor_does_a_long_mean_of_small_calls_hide_it() -> None:
    """Small calls that queue make the round trip as long as the mean of stable ones."""
    costs = replace(DISK.costs, rtt_s=0.0013, persist_s=0.0)
    told = verdict(replace(QUICK, costs=costs, stable=replace(QUICK.stable, slow_part=0.0)))
    assert told.storage == "mixed"
    assert "as fast as from memory" not in told.sentence


def test_what_waited_for_no_other_call_shows_it_whatever_others_waited_for() -> None:
    beside = replace(QUICK.stable, crowded=True, waited_share=0.5)
    told = verdict(replace(QUICK, stable=beside)).sentence
    assert "UTC, the others as fast as from memory)" in told


def test_slow_calls_that_are_scattered_are_told_as_such() -> None:
    scattered = replace(A_MINUTE, while_ns=None)
    told = verdict(replace(QUICK, stable=replace(QUICK.stable, slow=scattered)))
    assert "for storage, which was slow now and then, or for some files, the others" in (
        told.sentence
    )


def test_of_a_run_that_is_foretold_no_hour_is_told() -> None:
    told = verdict(replace(QUICK, forecast=True))
    assert told.storage == "mixed"
    assert "4\u2009000 stable calls waited 1.00 ms each for storage: most were quick" in (
        told.sentence
    )


@pytest.mark.parametrize(("part", "storage"), [(0.5, "mixed"), (0.49, "disk")])
def test_where_others_wait_as_well_the_mean_must_be_that_of_slow_ones(
    part: float, storage: str
) -> None:
    stable = replace(QUICK.stable, slow_part=part)
    costs = replace(DISK.costs, persist_s=0.005)
    told = verdict(replace(QUICK, costs=costs, stable_s=0.0011, stable=stable))
    assert told.storage == storage
    times = {each.cause: each.time_s for each in told.causes}
    assert times["persistence"] == pytest.approx(20.0)
    # 17 seconds of 3,900 others.
    assert ("UTC, the others 4.36 ms each)" in told.sentence) is (storage == "mixed")


@pytest.mark.parametrize(("late_part", "storage"), [(0.08, "mostly"), (0.06, "memory")])
def test_not_all_are_as_fast_as_from_memory_where_some_took_as_long_as_a_disk_does(
    late_part: float, storage: str
) -> None:
    """5 % of the 5.8 seconds that were waited: round trips of 1.8, and 4 of stable calls."""
    told = verdict(replace(QUICK, stable=StableCalls(late_part=late_part)))
    assert told.storage == storage
    assert told.named[0] == "server"
    assert ("Most stable calls are answered as fast as from memory" in told.sentence) is (
        storage == "mostly"
    )
    assert ("Stable calls are answered as fast as" in told.sentence) is (storage == "memory")
