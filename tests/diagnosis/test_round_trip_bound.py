"""The rule for runs that wait for round trips."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
from pcapnfs.analyses.times.call_times import KindOfStable
from pcapnfs.analyses.wire.caps import Caps, Pair
from pcapnfs.analyses.wire.full_links import Data
from pcapnfs.analyses.wire.own_ways import OwnWay
from pcapnfs.analyses.wire.round_trip import Vantage
from pcapnfs.analyses.wire.slower_path import SlowerPath
from pcapnfs.analyses.wire.turns import Turns
from pcapnfs.diagnosis.finding import Claim, Observed
from pcapnfs.diagnosis.rules.round_trip_bound import RULE
from pcapnfs.record import replace
from pcapnfs.units import NANOSECONDS
from tests.diagnosis.bottlenecks import bound_beside, bound_by, bound_each, of_client
from tests.diagnosis.limits import PAIR
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOUNT, MOVED, verdict
from tests.diagnosis.test_captured_at_server import THERE
from tests.diagnosis.test_slower_path import LONGER
from tests.diagnosis.waiting import HALF, IN_DIRECTORY, LESS, OF_MOVES, OF_OWNER

FAR: dict[str, Any] = {
    "rtt_s": 0.006,
    "usual_s": 0.006,
    "network_rtt_s": 0.005,
    "network_s": (("stable", 1.0), ("unstable", 5.0)),
}


def test_a_far_server_is_a_problem() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", **FAR))
    assert seen.severity == "problem"
    assert seen.seen == (
        "900 calls at a round trip of 6.00 ms each: 60.0 % of the run. The network takes 5.00 ms "
        "of it, the server the rest. Only the network's part counts as its cost."
    )
    assert seen.claims == (Claim("stable", 1.0), Claim("unstable", 5.0))
    assert seen.frames == (70,)
    assert any("nearer" in advice.action for advice in seen.advice)


def test_more_programs_are_not_advised_where_programs_wait_already() -> None:
    pair = replace(PAIR, peak=2, at_peak_s=4.8, mean=1.96, turns=Turns(50, 5, 4.0))
    held = Caps(pairs=(pair,), slots=())
    (seen,) = seen_by(RULE, replace(bound_by("round_trips", **FAR), caps=held))
    assert seen.advice[0].action.startswith("Let more calls through at once first")
    assert not any("several processes" in advice.action for advice in seen.advice)
    free = replace(held, pairs=(replace(pair, turns=Turns(50, 45, 0.0)),))
    (seen,) = seen_by(RULE, replace(bound_by("round_trips", **FAR), caps=free))
    assert any("several processes" in advice.action for advice in seen.advice)


def test_a_client_that_is_much_farther_than_others_is_told_of_its_way() -> None:
    far = of_client(2, "round_trips", **FAR)
    others = [of_client(host, "client", network_rtt_s=0.001) for host in (3, 4)]
    (seen,) = seen_by(RULE, bound_each(far, *others))
    assert "Other clients have 1.00 ms to this server (median)" in seen.seen
    assert seen.advice[0].action.startswith("Look at this client's way to the server")
    # As far as others, with another server, and with nobody else.
    nearly = [replace(each, network_rtt_s=0.00101) for each in others]
    elsewhere = [replace(each, about=(each.about[0], "10.0.0.9")) for each in others]
    for beside in (nearly, elsewhere, []):
        (seen,) = seen_by(RULE, bound_each(far, *beside))
        assert "Other clients" not in seen.seen
        assert "this client's way" not in seen.advice[0].action


def test_nor_where_much_is_done_at_once_already() -> None:
    def seen(mean: float) -> Observed:
        pair = replace(PAIR, peak=64, at_peak_s=0.0, mean=mean, turns=Turns(50, 45, 0.0))
        caps = Caps(pairs=(pair,), slots=())
        (found,) = seen_by(RULE, replace(bound_by("round_trips", **FAR), caps=caps))
        return found

    assert "Many calls are under way" in seen(8.0).why
    assert not any("several processes" in advice.action for advice in seen(8.0).advice)
    assert seen(8.0).advice[0].action.startswith("Send fewer calls")
    assert "one thing after the other" in seen(7.9).why
    assert any("several processes" in advice.action for advice in seen(7.9).advice)


@pytest.mark.parametrize(
    ("material", "told"),
    [
        ({"directory_order": (replace(IN_DIRECTORY, waited_s=HALF),)}, True),
        ({"directory_order": (replace(IN_DIRECTORY, waited_s=LESS),)}, False),
        ({"move_order": (replace(OF_MOVES, waited_s=HALF),)}, True),
        ({"move_order": (replace(OF_MOVES, waited_s=LESS),)}, False),
        ({"directory_order": (replace(IN_DIRECTORY, waited_s=HALF, handed_over=29),)}, False),
        ({"open_order": (replace(OF_OWNER, ordered_s=HALF),)}, True),
        ({"open_order": (replace(OF_OWNER, ordered_s=LESS),)}, False),
        # One user does not wait for another.
        ({"open_order": (replace(OF_OWNER, ordered_s=LESS),) * 2}, False),
        ({"open_order": (replace(OF_OWNER, ordered_s=HALF, handed_over=29),)}, False),
        ({"open_order": (replace(OF_OWNER, ordered_s=HALF, overlapping=True),)}, False),
    ],
)
def test_programs_that_wait_for_one_another_are_not_to_be_more(
    material: dict[str, Any], *, told: bool
) -> None:
    (seen,) = seen_by(RULE, replace(bound_by("round_trips", **FAR), **material))
    actions = " ".join(advice.action for advice in seen.advice)
    assert ("not wait for one another first" in actions) is told
    assert ("several processes" in actions) is not told


def test_round_trips_of_one_building_are_a_note() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips"))
    assert seen.severity == "note"


def test_what_the_server_takes_is_not_the_network() -> None:
    slow = {**FAR, "network_rtt_s": 0.002, "network_s": (("unstable", 2.0),)}
    (seen,) = seen_by(RULE, bound_by("round_trips", **slow))
    assert seen.severity == "note"
    assert "server itself" in seen.advice[0].action
    (seen,) = seen_by(RULE, bound_by("round_trips", **slow), "round_trip_bound.share=0.2")
    assert seen.severity == "warning"


@pytest.mark.parametrize(("network_s", "told"), [(3.0, False), (2.99, True)])
def test_the_title_agrees_with_a_cost_that_is_the_networks(network_s: float, told: bool) -> None:
    """Round trips take 6 s, as the verdict says."""
    part = {**FAR, "network_s": (("unstable", network_s),)}
    (seen,) = seen_by(RULE, bound_by("round_trips", **part))
    assert seen.title.startswith("Much of the time goes into round trips")
    assert seen.title.endswith("most of it not on the network") is told


@pytest.mark.parametrize(("network_s", "told"), [(6.05, False), (6.07, True)])
def test_a_cost_that_is_more_than_the_verdicts_share_says_so(network_s: float, told: bool) -> None:
    """As where most calls overlap, and some that wait one by one hold up the clock."""
    part = {**FAR, "network_s": (("unstable", network_s),)}
    (seen,) = seen_by(RULE, bound_by("round_trips", **part))
    by_call = " That share goes by means; the cost is the network's part of each call by itself."
    assert seen.seen.endswith(by_call if told else " Only the network's part counts as its cost.")


def test_what_a_few_calls_took_longer_is_not_the_servers() -> None:
    """The mean is that of calls that stood still for lost segments: the server is not slow."""
    lossy = {**FAR, "rtt_s": 0.017, "usual_s": 0.00525}
    (seen,) = seen_by(RULE, bound_by("round_trips", **lossy))
    assert seen.seen == (
        "900 calls at a round trip of 17.0 ms each: 60.0 % of the run. That is the mean; the "
        "median is 5.25 ms, of which the network takes 5.00 ms and the server the rest. Some calls "
        "took far longer. Only the network's part counts as its cost."
    )
    assert "why some calls took so much longer" in seen.advice[0].action
    assert not any("server itself" in advice.action for advice in seen.advice)
    # Where most calls wait for it, it is.
    slow = {**lossy, "usual_s": 0.00525, "network_rtt_s": 0.002}
    (seen,) = seen_by(RULE, bound_by("round_trips", **slow))
    assert "server itself" in seen.advice[1].action


def test_where_the_network_takes_all_of_it_nothing_is_said_of_the_server() -> None:
    """What is left below the digits that are shown would read as a contradiction."""
    for network_rtt_s in (0.005995, 0.006, 0.007):
        far = {**FAR, "network_rtt_s": network_rtt_s}
        (seen,) = seen_by(RULE, bound_by("round_trips", **far))
        assert "The network takes all of it. Only" in seen.seen
    lossy = {**FAR, "rtt_s": 0.017, "usual_s": 0.005}
    (seen,) = seen_by(RULE, bound_by("round_trips", **lossy))
    assert "the median is 5.00 ms, all of which the network takes. Some calls" in seen.seen


def test_a_few_slow_calls_do_not_make_the_server_slow() -> None:
    mean = {**FAR, "rtt_s": 0.0044, "usual_s": 0.00264, "network_rtt_s": 0.00214}
    (seen,) = seen_by(RULE, bound_by("round_trips", **mean))
    assert not any("server itself" in advice.action for advice in seen.advice)


def test_without_tcp_the_part_of_the_network_is_not_known() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", network_rtt_s=None, network_s=()))
    assert (seen.severity, seen.confidence, seen.claims) == ("note", "likely", ())
    assert seen.seen.endswith("Nothing shows which part of it is the network.")
    assert seen.title == "Much of the time goes into round trips"
    assert seen.advice[0].action.startswith("Find out first which part of it is the network: ping")
    assert not any(each.action.startswith("Run the job nearer") for each in seen.advice)


@pytest.mark.parametrize("named", ["round_trips", "network_or_server"])
def test_a_handshake_is_asked_for_where_there_is_none(named: str) -> None:
    """One that is there was too slow to tell anything."""
    found = bound_by(named, network_rtt_s=None, network_s=())
    (seen,) = seen_by(RULE, found)
    assert "have the capture begin before the mount, since a handsh" in seen.advice[0].action
    (seen,) = seen_by(RULE, replace(found, round_trips=THERE))
    assert "ping the server" in seen.advice[0].action
    assert "handshake" not in seen.advice[0].action


@pytest.mark.parametrize(("most_s", "told"), [(0.00049, True), (0.0005, False), (None, False)])
def test_what_the_quickest_calls_took_bounds_the_network(most_s: float | None, told: bool) -> None:
    unknown: dict[str, Any] = {"rtt_s": 0.001, "usual_s": 0.001, "network_rtt_s": None}
    unknown["network_s"] = ()
    (seen,) = seen_by(RULE, bound_by("round_trips", **unknown, network_most_s=most_s))
    bound = " The network takes at most 490 µs of it, as the quickest calls show."
    assert seen.seen.endswith(bound) is told
    assert any("server itself takes most" in each.action for each in seen.advice) is told
    assert any("Find out first which" in each.action for each in seen.advice) is not told
    # What TCP shows is better.
    known: dict[str, Any] = {"rtt_s": 0.001, "usual_s": 0.001, "network_rtt_s": 0.0009}
    (seen,) = seen_by(RULE, bound_by("round_trips", **known, network_most_s=most_s))
    assert "at most" not in seen.seen


UNDIVIDED: dict[str, Any] = {
    "rtt_s": 0.0086,
    "usual_s": 0.0086,
    "network_rtt_s": None,
    "network_s": (),
    "stable_calls": 0,
}


def test_calls_that_may_have_waited_for_disks_are_not_called_round_trips() -> None:
    (seen,) = seen_by(RULE, bound_by("network_or_server", **UNDIVIDED))
    assert (seen.severity, seen.confidence, seen.claims) == ("warning", "likely", ())
    assert seen.title == (
        "Much of the time goes into the network or the server: nothing tells into which"
    )
    assert seen.seen == (
        "900 calls of 8.60 ms each or more: 60.0 % of the run. Nearly all of them are such as may "
        "wait for disks (READs, listings, stable ones), and neither a handshake nor a small call "
        "shows what the network takes of that."
    )
    assert "iostat -x 1" in seen.advice[0].action
    assert "ping the server" in seen.advice[0].action
    assert "round trip" not in seen.title + seen.why
    # What takes less than network and server should is a note, and no cause is told twice.
    quick = UNDIVIDED | {"rtt_s": 0.0009, "usual_s": 0.0009}
    (seen,) = seen_by(RULE, bound_by("network_or_server", **quick))
    assert seen.severity == "note"
    assert seen_by(RULE, bound_by("persistence", **UNDIVIDED)) == []


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ({}, "warning"),
        ({"usual_s": 0.0009}, "note"),
        ({"rtt_s": 0.0009, "usual_s": 0.0009}, "note"),
    ],
)
def test_round_trips_that_are_long_are_told_whoever_takes_them(
    change: dict[str, Any], severity: str
) -> None:
    """But not those that a few calls make long."""
    unknown = {"rtt_s": 0.0114, "usual_s": 0.0117, "network_rtt_s": None, "network_s": ()}
    (seen,) = seen_by(RULE, bound_by("round_trips", **(unknown | change)))
    assert (seen.severity, seen.claims) == (severity, ())


def test_what_the_verdict_does_not_name_is_not_told() -> None:
    assert seen_by(RULE, bound_by("persistence", **FAR)) == []


@pytest.mark.parametrize(("in_runs", "told"), [(450, True), (449, False)])
def test_reads_in_order_are_to_be_read_ahead(in_runs: int, told: bool) -> None:
    """Half of 900 calls; where they are fewer, they are not what to change first."""
    reads = Runs(in_runs, in_runs, 131072, None, spared.NONE, 0.0)
    none = replace(reads, calls=0, in_runs=0)
    runs = TransferRuns("10.0.0.2", "10.0.0.1", reads, none, False, 0, spared.NONE, 0, 0, 0, 0.0)
    found = replace(bound_by("round_trips", **FAR), transfer_runs=(runs,))
    (seen,) = seen_by(RULE, found)
    assert ("read_ahead_kb" in seen.advice[0].action) is told
    assert ("(tar)" in seen.advice[0].action) is not told
    assert ("each of which waits for the one before" in seen.advice[0].action) is told


def advised(size: int, mean: float, *paths: SlowerPath, **told: object) -> list[str]:
    """What is advised where all calls are READs of this size."""
    runs = replace(MOVED, reads=Runs(900, 900, size, 65536, spared.NONE, 0.0, 0))
    pair = Pair(runs.client, runs.server, 900, 5.0, mean, 64, 0.0, 1, True, False)
    material = bound_by("round_trips", **{**FAR, **told})
    caps = Caps(pairs=(pair,), slots=())
    (seen,) = seen_by(RULE, replace(material, transfer_runs=(runs,), caps=caps, slower_paths=paths))
    return [advice.action for advice in seen.advice]


def reading(size: int, *, even: int = 900, mean: float = 1.0, option: str = "") -> str:
    """What is advised first where all calls are READs of this size, of 64 KiB that are allowed."""
    reads = Runs(900, 900, size, 65536, spared.NONE, 0.0, even)
    runs = replace(MOVED, reads=reads)
    pair = Pair(runs.client, runs.server, 900, 5.0, mean, 64, 0.0, 1, True, False)
    material = replace(
        bound_by("round_trips", **FAR), transfer_runs=(runs,), caps=Caps(pairs=(pair,), slots=())
    )
    if option:
        cache = replace(material.cache, mounts=(replace(MOUNT, verdicts=(verdict(option),)),))
        material = replace(material, cache=cache)
    (seen,) = seen_by(RULE, material)
    return seen.advice[0].action


def test_what_a_program_reads_past_the_cache_is_not_read_ahead() -> None:
    assert "READs of 16.0 KiB of files in order, one at a time" in reading(16384)
    assert "O_DIRECT" in reading(32768, even=450)
    for other in (
        reading(16384, even=449),
        reading(65536),
        reading(16384, option="rsize=16384"),
    ):
        assert "Have the client read further ahead" in other
        assert "waits for the one before" in other


def test_reads_that_are_under_way_together_do_not_wait_for_one_another() -> None:
    action = reading(8192, mean=17.6, option="rsize=8192")
    assert "READs of files in order, 18 under way at a time. Have the client read" in action
    assert "waits for the one before" not in action


@pytest.mark.parametrize(("size", "mean"), [(65536, 8.0), (262144, 2.0), (1048576, 2.0)])
def test_reads_as_far_ahead_as_by_default_can_be_read_further_ahead(size: int, mean: float) -> None:
    """512 KiB, or two READs, are what Linux has under way by itself where a program announces it.

    More than that says nothing of the link or the server: no proof that it is enough.
    """
    assert "Have the client read further ahead" in reading(size, mean=mean)
    beyond = reading(size, mean=mean + 0.01)
    assert f"{mean + 0.01:.3g} under way at a time, more than Linux reads ahead" in beyond
    assert "brings little" not in beyond
    assert ("Larger READs" in beyond) is False


def test_larger_reads_are_advised_where_the_server_may_allow_them() -> None:
    assert "Larger READs (rsize" in reading(32768, mean=16.01, even=0)
    assert "Larger READs (rsize" not in reading(65536, mean=8.01)


def test_reading_further_ahead_brings_little_where_the_server_takes_the_time() -> None:
    """Who waits for it one by one may still ask for more at once."""
    slow = {"network_rtt_s": 0.002, "network_s": (("unstable", 2.0),)}
    served = "and the server takes most of what each waits for: reading further ahead brings little"
    assert served in "".join(advised(65536, 8.01, **slow))
    assert "Have the client read further ahead" in "".join(advised(65536, 8.0, **slow))


@pytest.mark.parametrize(
    ("full_of", "lasted_s", "told"),
    [("replies", 5.0, True), ("replies", 4.9, False), ("calls", 5.0, False)],
)
def test_reading_further_ahead_brings_little_over_a_full_link(
    full_of: Data, lasted_s: float, *, told: bool
) -> None:
    """For half of the 10 s of the run."""
    full = replace(
        LONGER, full_of=full_of, from_ns=0, until_ns=round(lasted_s * NANOSECONDS), side="client"
    )
    (first, *_) = advised(65536, 4.0, full)
    assert ("replies filled the link to the client most of the time" in first) is told
    assert ("Have the client read further ahead" in first) is not told


@pytest.mark.parametrize(("stable_calls", "looks"), [(0, True), (89, True), (90, False)])
def test_who_mostly_looks_is_told_to_look_at_several_at_once(
    stable_calls: int, looks: bool
) -> None:
    material = bound_by("round_trips", **FAR, stable_calls=stable_calls)
    (seen,) = seen_by(RULE, material)
    assert ("at once" in seen.advice[0].action) is looks
    assert any("(tar)" in advice.action for advice in seen.advice) is not looks


@pytest.mark.parametrize(("share", "seen"), [(0.29, 1), (0.15, 1), (0.14, 0)])
def test_a_far_server_is_told_beside_a_larger_cause(share: float, seen: int) -> None:
    network = (("stable", 5 * share), ("unstable", 4 * share))
    found = bound_beside("persistence", "round_trips", share, **{**FAR, "network_s": network})
    told = seen_by(RULE, found)
    assert len(told) == seen
    for each in told:
        assert (each.severity, each.title) == ("note", "A part of the time goes into round trips")
        assert each.claims == (Claim("stable", 5 * share), Claim("unstable", 4 * share))


def test_a_near_server_is_not_told_beside_a_larger_cause() -> None:
    near = {**FAR, "network_rtt_s": 0.0009}
    assert seen_by(RULE, bound_beside("persistence", "round_trips", 0.2, **near)) == []


def test_round_trips_that_are_the_servers_are_not_told_beside_a_larger_cause() -> None:
    served = {**FAR, "network_s": (("unstable", 0.9),)}
    assert seen_by(RULE, bound_beside("persistence", "round_trips", 0.2, **served)) == []


@pytest.mark.parametrize(("least_s", "varies"), [(0.0043, True), (0.0045, False)])
def test_where_the_networks_round_trips_vary_the_rest_may_be_its_own(
    least_s: float, *, varies: bool
) -> None:
    """One and a half times what lies between the shortest and the usual one: a millisecond."""
    found = bound_by("round_trips", **FAR)
    half = replace(THERE.pairs[0].server_side, rtt_s=0.005, least_s=least_s)
    pair = replace(THERE.pairs[0], client_side=replace(half, rtt_s=None), server_side=half)
    trips = replace(THERE, pairs=(pair,))
    (seen,) = seen_by(RULE, replace(found, round_trips=trips))
    assert ("and perhaps all: its own round trips vary" in seen.seen) is varies


@pytest.mark.parametrize(
    ("change", "vantage", "told"),
    [
        # ACKs are preferred to a handshake, or are few;
        ({"handshake_s": 0.0006}, "server", "likely"),
        ({"handshakes": 0, "handshake_s": None, "acks": 2}, "server", "likely"),
        ({"handshakes": 0, "handshake_s": None, "acks": 3}, "server", "certain"),
        ({"source": "handshake"}, "server", "certain"),
        # at the client they are in no call.
        ({"handshake_s": 0.0006}, "client", "certain"),
    ],
)
def test_acks_of_a_busy_client_may_be_late(
    change: dict[str, Any], vantage: Vantage, told: str
) -> None:
    half = replace(THERE.pairs[0].client_side, source="acks", rtt_s=0.0047, handshake_s=0.005)
    pair = replace(THERE.pairs[0], client_side=replace(half, **change), vantage=vantage)
    found = replace(bound_by("round_trips", **FAR), round_trips=replace(THERE, pairs=(pair,)))
    (seen,) = seen_by(RULE, found)
    assert seen.confidence == told


def test_connections_with_a_longer_way_are_told() -> None:
    """What the network takes is the mean over these and the others."""
    ways = tuple(
        OwnWay(port, 900 + port, "10.0.0.2", "10.0.0.1", own, own - 2_000_000)
        for port, own in ((1, 5_000_000), (2, 10_000_000))
    )
    found = bound_by("round_trips", **FAR)
    for told, text in (
        (ways[:1], "the connection from port 901 the network takes 5.00 ms, on others 2.00 ms."),
        (ways, "the connections from port 901 and 902 the network takes up to 10.0 ms, on others "),
    ):
        (seen,) = seen_by(RULE, replace(found, own_ways=told))
        assert f" That is a mean: on {text}" in seen.seen
    (seen,) = seen_by(RULE, found)
    assert "That is a mean" not in seen.seen


@pytest.mark.parametrize(
    ("op", "calls", "archive"),
    [("CREATE", 100, True), ("CREATE", 99, False), ("REMOVE", 400, False)],
    ids=["files are made", "few are", "files are removed"],
)
def test_an_archive_spares_files_that_are_made(op: str, calls: int, *, archive: bool) -> None:
    kinds = (KindOfStable(op, calls, None),)
    changed = FAR | {"calls": 1000, "stable_calls": 400, "kinds": kinds}
    (seen,) = seen_by(RULE, bound_by("round_trips", **changed))
    assert ("as one archive" in seen.advice[0].action) is archive


@pytest.mark.parametrize(("rest_s", "severity"), [(3.3, "note"), (3.4, "warning")])
def test_how_much_the_network_takes_is_a_part_of_the_work(rest_s: float, severity: str) -> None:
    """Two of ten seconds, some of which were pauses: 30 % of the rest are much."""
    far = FAR | {"network_s": (("unstable", 2.0),), "rest_s": rest_s}
    (seen,) = seen_by(RULE, bound_beside("client", "round_trips", 0.2, **far))
    assert seen.severity == severity
