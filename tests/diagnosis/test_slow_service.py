"""The rule for servers that are slow without storage."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.servers.in_turn import InTurn
from pcapnfs.analyses.servers.load import Load
from pcapnfs.analyses.servers.server_times import ServerTime
from pcapnfs.analyses.servers.warm_calls import WarmCalls
from pcapnfs.analyses.wire.held_segments import HeldSegments
from pcapnfs.diagnosis.judging import judge_by
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.slow_service import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_beside, bound_by
from tests.diagnosis.bottlenecks import verdict as named_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOUNT, MOVED, verdict
from tests.diagnosis.test_server_overload import QUEUED
from tests.diagnosis.test_severity import among_many

LOOKUPS = ServerTime(
    "10.0.0.1", "LOOKUP", "small", "unstable", 30, 0.002, 0.002, 0.004, 1.2, (5, 7, 9)
)
READ = ServerTime("10.0.0.1", "READ", "read", "read", 40, 0.011, 0.011, 0.02, 3.0, (11,))
WRITE = ServerTime(
    "10.0.0.1", "WRITE", "write", "unstable_write", 42, 0.017, 0.017, 0.02, 1.0, (13,)
)


def found(*times: ServerTime, named: str = "client") -> Material:
    return replace(bound_by(named), server_times=times)


def test_a_slow_server_is_held_against_those_who_call_it() -> None:
    """Two clients of its own, 20 s and 10 s active, among many of other servers."""
    many = among_many()
    slow = replace(READ, mean_s=0.06, median_s=0.06, sure_s=0.06, time_s=3.3)
    for clients, share in (
        (("10.0.0.2",), 0.15125),
        (("10.0.0.2", "10.0.0.3"), 0.10083),
        # Nobody knows whose all of it is.
        ((), None),
        (("10.0.0.2", "10.0.0.99"), None),
    ):
        material = replace(many, server_times=(replace(slow, clients=clients),))
        (finding,) = judge_by([RULE], material).findings
        told = finding.client_share
        assert told is None if share is None else told == pytest.approx(share, abs=1e-4)
        assert finding.severity == ("warning" if share is None else "problem")
    # However much it takes, one that may be slow for another reason is a warning at most.
    material = replace(many, server_times=(replace(READ, clients=("10.0.0.2",), time_s=5.0),))
    (finding,) = judge_by([RULE], material).findings
    assert finding.severity == "warning"


def test_large_is_what_takes_much_of_those_who_call_it() -> None:
    """The verdict on one client names the server; the other, which is there longer, calls none."""
    found_ = among_many()
    named = tuple(
        replace(each, verdict=named_by("server")) if each.about[0] == "10.0.0.2" else each
        for each in found_.bottleneck.clients
    )
    found_ = replace(found_, bottleneck=replace(found_.bottleneck, clients=named))
    quick = replace(READ, median_s=0.004, sure_s=0.004, mean_s=0.01, time_s=4.0)
    for client, number in (("10.0.0.2", 1), ("10.0.0.3", 0)):
        material = replace(found_, server_times=(replace(quick, clients=(client,)),))
        assert len(seen_by(RULE, material)) == number


def test_what_takes_longer_than_modern_servers_is_a_note() -> None:
    (seen,) = seen_by(RULE, found(LOOKUPS))
    assert (seen.severity, seen.title) == (
        "note",
        "The server 10.0.0.1 answers later than it could",
    )
    assert seen.seen == (
        "Median time at the server, without the network: LOOKUP 2.00 ms, 4.00 ms on average (30 "
        "calls)."
    )
    (claim,) = seen.claims
    assert (claim.row, round(claim.seconds, 9)) == ("unstable", 0.9)
    assert seen.frames == (5, 7)


def test_what_is_slow_for_any_server_counts_by_its_cost() -> None:
    (seen,) = seen_by(RULE, found(LOOKUPS, READ))
    assert (seen.severity, seen.title[-33:]) == ("warning", "where no stable storage is needed")
    assert (
        "READ 11.0 ms, 20.0 ms on average (40 calls), LOOKUP 2.00 ms, 4.00 ms on average (30 calls)"
    ) in seen.seen
    (seen,) = seen_by(RULE, found(replace(READ, median_s=0.06, sure_s=0.06, mean_s=0.06)))
    assert seen.severity == "problem"


COLD = ServerTime("10.0.0.1", "READ", "read", "read", 40, 0.0005, 0.0005, 0.004, 5.0, (11,))
"""Most are answered from memory, the others wait for a disk."""


def test_what_the_verdict_names_the_server_for_is_told_however_short_the_median() -> None:
    assert seen_by(RULE, found(COLD)) == []
    (seen,) = seen_by(RULE, found(COLD, named="server"))
    assert (seen.severity, seen.title) == (
        "warning",
        "Much of the time goes into READs at the server 10.0.0.1",
    )
    assert seen.seen == (
        "Median time at the server, without the network: READ 500 µs, 4.00 ms on average (40 "
        "calls)."
    )
    # All but what the server takes of a small call, 0.2 ms.
    (claim,) = seen.claims
    assert (claim.row, round(claim.seconds, 9)) == ("read", 4.75)
    # Little of the time: something else is why.
    assert seen_by(RULE, found(replace(COLD, time_s=1.5), named="server")) == []
    # Small calls are what shows the round trip.
    assert seen_by(RULE, found(replace(COLD, kind="small", op="LOOKUP"), named="server")) == []


@pytest.mark.parametrize(
    ("small_s", "first"),
    [(0.001, "Small calls are fast there, so that most likely it is"), (0.0011, "On the serv")],
)
def test_where_small_calls_are_fast_it_is_the_disks(small_s: float, first: str) -> None:
    small = replace(LOOKUPS, median_s=small_s, sure_s=small_s, mean_s=small_s)
    (seen,) = seen_by(RULE, found(READ, small))
    assert seen.advice[0].action.startswith(first)


@pytest.mark.parametrize(
    ("behind", "small", "overtook", "told"),
    [
        # Small calls came when a thread was free.
        (30, 0, 0, True),
        (30, 10, 4, True),
        (30, 10, 5, False),
        # Nearly all came one after the other.
        (29, 0, 0, False),
    ],
)
def test_small_calls_tell_disks_from_threads_where_they_come_behind_others(
    behind: int, small: int, overtook: int, *, told: bool
) -> None:
    small_calls = replace(LOOKUPS, median_s=0.001, sure_s=0.001, mean_s=0.001)
    queue = InTurn("10.0.0.1", behind, 0, 17.7, 0.02, small, overtook)
    elsewhere = replace(queue, server="10.0.0.9", behind=500)
    material = replace(found(READ, small_calls), in_turn=(elsewhere, queue))
    (seen,) = seen_by(RULE, material)
    assert ("nothing tells the disks from" in seen.seen) is told
    assert seen.advice[0].action.startswith("On the server, look at" if told else "Small calls are")


@pytest.mark.parametrize(
    ("share", "path", "told"),
    [
        (0.5, "a/b", " Of the READs' time 50.0 % went into a/b."),
        (0.49, "a/b", ""),
        (1.0, ".", " Of the READs' time 100 % went into the root of the export."),
        (0.0, None, ""),
    ],
)
def test_the_file_that_takes_most_of_it_is_named(share: float, path: str | None, told: str) -> None:
    (seen,) = seen_by(RULE, found(replace(READ, most=path, most_share=share)))
    assert seen.seen == (
        f"Median time at the server, without the network: READ 11.0 ms, 20.0 ms on average (40 "
        f"calls).{told}"
    )


RUNS = Runs(379, 37, 65536, 65536, NONE, 0.0)
"""Most are scattered."""


@pytest.mark.parametrize(
    ("in_runs", "told"),
    [
        (0, "of 379 READs none belong to a run of READs that continue one another."),
        (37, "of 379 READs 37 belong to a run of READs that continue one another."),
        (38, None),
    ],
)
def test_reading_ahead_is_not_advised_where_nothing_comes_next(
    in_runs: int, told: str | None
) -> None:
    pair = TransferRuns(
        client="10.0.0.2",
        server="10.0.0.1",
        reads=replace(RUNS, in_runs=in_runs),
        writes=replace(RUNS, calls=0, in_runs=0),
        withheld=False,
        continued=0,
        sync=NONE,
        sync_files=0,
        sync_ends=0,
        sync_bytes=0,
        sync_saved_s=0.0,
    )
    # Those of another server say nothing of this one.
    other = replace(pair, server="10.0.0.9", reads=replace(RUNS, in_runs=300))
    material = replace(found(READ), transfer_runs=(pair, other))
    (seen,) = seen_by(RULE, material)
    action = seen.advice[1].action
    assert ("more read-ahead" in action) is (told is None)
    if told is not None:
        assert action.endswith(f"Reading ahead does not help: {told}")


@pytest.mark.parametrize(("calls", "told"), [(640, True), (1_121, False)])
def test_reads_that_are_small_are_to_be_fewer_before_disks_are_looked_at(
    calls: int, *, told: bool
) -> None:
    """Of one that could be larger each has its work at the server, whatever its disks do."""
    small = replace(found(replace(READ, calls=calls)), transfer_runs=(MOVED,))
    cache = replace(small.cache, mounts=(replace(MOUNT, verdicts=(verdict("rsize=4096"),)),))
    (seen,) = seen_by(RULE, replace(small, cache=cache))
    first = [advice.action.split(",")[0] for advice in seen.advice]
    assert (first[0] == "Have each READ ask for more bytes first") is told
    assert (first[-1] == "If larger READs take as long for as many bytes") is told
    # Nothing says that they are small at this server.
    (seen,) = seen_by(RULE, replace(small, transfer_runs=(replace(MOVED, server="10.0.0.9"),)))
    assert seen.advice[-1].action.startswith("If READs alone are slow")


@pytest.mark.parametrize(("late", "told"), [(42, True), (43, False)])
def test_a_few_calls_among_many_that_were_late_on_the_path_are_not_the_servers(
    late: int, *, told: bool
) -> None:
    assert bool(seen_by(RULE, found(replace(WRITE, late=late)))) is told


IN_TURN = InTurn("10.0.0.1", behind=600, overtook=6, apart=30.4, median_s=0.02)


def in_turn(server: InTurn) -> Material:
    return replace(found(READ), in_turn=(server,))


def test_a_server_that_works_on_one_call_at_a_time_is_told_as_one() -> None:
    (seen,) = seen_by(RULE, in_turn(IN_TURN))
    assert seen.title == "The server 10.0.0.1 works on one call at a time"
    assert seen.seen == (
        "Median time at the server, without the network: READ 11.0 ms, 20.0 ms on average (40 "
        "calls). They stand in one queue: of 600 calls that came while others were under way 6 "
        "were answered before one that had come earlier, where some 30 would have been if each "
        "took that time by itself."
    )
    assert "threads of its NFS service first (Linux: " in seen.advice[0].action
    kind = Kind("Chimera NFSv4.1 (dCache.ORG)", "implementation", 1, ("10.0.0.1",), 1)
    (seen,) = seen_by(RULE, replace(in_turn(IN_TURN), software=Software(servers=(kind,))))
    assert "side by side" in seen.advice[0].action
    assert "nfsd" not in seen.advice[0].action


def test_what_is_hardly_slow_is_not_told_so() -> None:
    (seen,) = seen_by(RULE, replace(in_turn(IN_TURN), server_times=(LOOKUPS,)))
    assert seen.title.endswith("answers later than it could")


@pytest.mark.parametrize(
    "change", [{"overtook": 10}, {"apart": 29.9}, {"behind": 29}, {"server": "10.0.0.9"}]
)
def test_where_some_overtake_others_it_is_not(change: dict[str, object]) -> None:
    (seen,) = seen_by(RULE, in_turn(replace(IN_TURN, **change)))  # type: ignore[arg-type]
    assert "one call at a time" not in seen.title


@pytest.mark.parametrize(
    ("times", "begins", "advice"),
    [
        ((LOOKUPS,), "Small calls", ["On the server, look", "If only the first a"]),
        ((READ,), "READs of what", ["On the server, look", "If READs alone are "]),
        ((WRITE,), "WRITEs answered UNSTABLE", ["On the server, look", "If WRITEs alone are"]),
        (
            (LOOKUPS, READ),
            "Small calls",
            ["On the server, look", "If only the first a", "If READs alone are "],
        ),
    ],
)
def test_why_and_what_to_do_are_about_the_calls_that_are_slow(
    times: tuple[ServerTime, ...], begins: str, advice: list[str]
) -> None:
    (seen,) = seen_by(RULE, found(*times))
    assert seen.why.startswith(begins)
    assert [each.action[:19] for each in seen.advice] == advice


@pytest.mark.parametrize(
    "times", [replace(LOOKUPS, calls=29), replace(LOOKUPS, sure_s=0.001), replace(READ, calls=3)]
)
def test_a_little_less_is_not(times: ServerTime) -> None:
    assert seen_by(RULE, found(times)) == []


def test_where_the_link_is_full_data_waits_for_it() -> None:
    assert seen_by(RULE, found(READ, named="transfer")) == []


def test_the_user_may_think_otherwise() -> None:
    assert seen_by(RULE, found(LOOKUPS), "slow_service.small=0.01") == []


def test_small_calls_that_stand_in_a_queue_are_left_to_that() -> None:
    """Of reads it is not known what they wait for."""
    load = (Load("10.0.0.1", 500, (), QUEUED),)
    assert seen_by(RULE, replace(found(LOOKUPS), load=load)) == []
    (seen,) = seen_by(RULE, replace(found(LOOKUPS, READ), load=load))
    assert "LOOKUP" not in seen.seen
    few = (Load("10.0.0.1", 500, (), replace(QUEUED, waited=39)),)
    assert len(seen_by(RULE, replace(found(LOOKUPS), load=few))) == 1


def test_a_server_that_is_not_linux_has_no_nfsd() -> None:
    kind = Kind("NetApp Release 9.6.0 (netapp.com)", "implementation", 1, ("10.0.0.1",), 1)
    material = found(LOOKUPS, READ, WRITE)
    (seen,) = seen_by(RULE, replace(material, software=Software(servers=(kind,))))
    told = " ".join(advice.action for advice in seen.advice)
    assert not any(word in told for word in ("nfsd", "/proc", "vm.", "mpstat"))
    assert len(seen.advice) == 4
    elsewhere = replace(kind, addresses=("10.0.0.9",))
    (seen,) = seen_by(RULE, replace(material, software=Software(servers=(elsewhere,))))
    assert "(Linux: mpstat" in seen.advice[0].action


def test_a_server_that_waited_for_acks_was_not_slow() -> None:
    held = HeldSegments(
        "10.0.0.2", "10.0.0.1", 0.04, 80, 40, 0, 0.001, 0.0, 0.0, 1.5, 0.0, 41, (5,)
    )
    waiting = replace(found(READ), held_segments=(held,))
    assert seen_by(RULE, waiting) == []
    for other in (replace(held, ack_waits=0), replace(held, read_s=1.4)):
        assert len(seen_by(RULE, replace(waiting, held_segments=(other,)))) == 1


WARM = WarmCalls("10.0.0.1", 30, 0.004, (("stable", 2.0), ("unstable", 0.5)), (21, 23))


def test_a_server_that_is_slow_for_what_it_has_in_memory_lets_every_call_wait() -> None:
    (seen,) = seen_by(RULE, replace(found(LOOKUPS, READ), warm_calls=(WARM,)))
    assert (seen.severity, seen.title) == (
        "warning",
        "The server 10.0.0.1 is slow even for what it has in memory",
    )
    assert "30 calls about files that it had been asked about just before" in seen.seen
    assert "took 4.00 ms in the median" in seen.seen
    assert "processors first" in seen.advice[0].action
    assert len(seen.advice) == 1
    # Of small calls what is more: that beyond the limit, or what all wait.
    assert {claim.row: round(claim.seconds, 9) for claim in seen.claims} == {
        "unstable": 0.9,
        "read": 2.25,
        "stable": 2.0,
    }


def test_several_milliseconds_from_memory_may_be_a_problem() -> None:
    slow = replace(WARM, median_s=0.005)
    (seen,) = seen_by(RULE, replace(found(LOOKUPS, READ), warm_calls=(slow,)))
    assert seen.severity == "problem"


@pytest.mark.parametrize(
    "change", [{"calls": 29}, {"median_s": 0.001}, {"server": "10.0.0.9"}], ids=str
)
def test_of_few_or_quick_ones_and_of_another_server_nothing_is_said(
    change: dict[str, Any],
) -> None:
    (seen,) = seen_by(RULE, replace(found(LOOKUPS), warm_calls=(replace(WARM, **change),)))
    assert seen.title == "The server 10.0.0.1 answers later than it could"


def test_a_processor_without_time_is_no_queue() -> None:
    both = replace(in_turn(IN_TURN), server_times=(LOOKUPS, READ))
    (seen,) = seen_by(RULE, both)
    assert "They stand in one queue" in seen.seen
    (seen,) = seen_by(RULE, replace(both, warm_calls=(WARM,)))
    assert seen.title.endswith("slow even for what it has in memory")
    assert "They stand in one queue" not in seen.seen


@pytest.mark.parametrize(("time_s", "told"), [(0.64, False), (0.66, True)])
def test_what_the_server_takes_of_the_time_at_work_is_told_likewise(
    time_s: float, told: bool
) -> None:
    """15 % of the 4.1 s that are left of ten without pauses, beyond 0.2 ms of 4 ms."""
    paused = bound_beside("client", "server", 0.25, rest_s=5.9)
    seen = seen_by(RULE, replace(paused, server_times=(replace(COLD, time_s=time_s),)))
    title = "Much of the time at work goes into READs at the server 10.0.0.1"
    assert [each.title for each in seen] == [title] * told


@pytest.mark.parametrize("left", [{"mount_idle_s": 5.9}, {"active_s": 4.1}], ids=str)
@pytest.mark.parametrize(("time_s", "told"), [(0.64, False), (0.66, True)])
def test_what_is_large_is_of_the_time_in_which_the_client_was_active(
    left: dict[str, Any], time_s: float, told: bool
) -> None:
    """15 % of 4.1 s, where nobody used the mount for the rest of ten, or long pauses were made."""
    active = bound_by("server", **left)
    seen = seen_by(RULE, replace(active, server_times=(replace(COLD, time_s=time_s),)))
    assert bool(seen) is told


@pytest.mark.parametrize(("median_s", "told"), [(0.005, False), (0.0051, True)])
def test_by_a_clock_that_ticks_a_median_may_be_a_tick_too_long(
    median_s: float, *, told: bool
) -> None:
    slow = replace(LOOKUPS, median_s=median_s, sure_s=median_s, mean_s=median_s)
    exact = found(slow)
    assert seen_by(RULE, exact)
    ticks = replace(exact, trust=replace(exact.trust, clock_tick_s=0.004))
    assert bool(seen_by(RULE, ticks)) is told
    warm = replace(
        found(replace(slow, median_s=0.02, sure_s=0.02)),
        warm_calls=(replace(WARM, median_s=median_s),),
    )
    ticks = replace(warm, trust=replace(warm.trust, clock_tick_s=0.004))
    (seen,) = seen_by(RULE, ticks)
    assert ("even for what it has in memory" in seen.title) is told
