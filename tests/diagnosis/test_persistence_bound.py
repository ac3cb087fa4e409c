"""The rule for runs that wait for storage."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.namespace.directory_order import DirectoryOrder
from pcapnfs.analyses.servers.exports import Exports
from pcapnfs.analyses.servers.in_turn import InTurn
from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.servers.warm_calls import WarmCalls
from pcapnfs.analyses.times.call_times import KindOfStable
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.persistence_bound import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_beside, bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.test_slow_export import QUICK, SLOW
from tests.diagnosis.waiting import HALF, IN_DIRECTORY, LESS


def test_more_than_half_of_the_time_for_disks_is_a_problem() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence"))
    assert seen.severity == "problem"
    assert seen.seen == (
        "400 stable calls took 14.0 ms each on average beyond the round trip of 1.00 ms: 60.0 % of "
        "the run, by that mean. By kind: CREATE 10.0 ms (200). That is what a rotating disk takes "
        "without a write cache that survives a power failure."
    )
    assert seen.claims == (Claim("stable", 5.6),)
    assert seen.frames == (40, 50)
    assert any(advice.risk and "lost" in advice.risk for advice in seen.advice)


def test_less_than_half_is_a_warning() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", "client", storage_s=4.9))
    assert seen.severity == "warning"


def test_what_storage_takes_behind_a_cache_is_a_note() -> None:
    found = bound_by("persistence", stable_median_s=0.0029, storage="flash")
    (seen,) = seen_by(RULE, found)
    assert seen.severity == "note"
    assert not any("async" in advice.action for advice in seen.advice)
    (seen,) = seen_by(RULE, found, "persistence_bound.difference=0.0018")
    assert seen.severity == "problem"


@pytest.mark.parametrize(("median_s", "told"), [(0.007, 0), (0.0071, 1)])
def test_by_a_clock_that_ticks_what_takes_a_tick_longer_may_wait_for_no_storage(
    median_s: float, told: int
) -> None:
    """The round trip takes a millisecond, and storage with a cache two at most."""
    beside = bound_beside(
        "client", "persistence", 0.2, stable_median_s=median_s, storage="disk", rtt_s=0.001
    )
    assert len(seen_by(RULE, beside)) == 1
    ticks = replace(beside, trust=replace(beside.trust, clock_tick_s=0.004))
    assert len(seen_by(RULE, ticks)) == told


def test_where_calls_queue_it_may_be_the_wait_for_a_thread() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", queue_s=0.0006))
    assert seen.confidence == "likely"
    assert "rotating disk" not in seen.seen
    assert seen.seen.endswith(
        "Calls queue at the server: small ones waited there for most of that round trip, and part "
        "of this may be a wait for a thread, too."
    )
    (seen,) = seen_by(RULE, bound_by("persistence", queue_s=0.0004))
    assert "rotating disk" in seen.seen


@pytest.mark.parametrize(("warm_s", "told"), [(0.007, True), (0.0069, False)])
def test_where_the_processor_is_slow_the_disk_may_not_be(warm_s: float, *, told: bool) -> None:
    warm = WarmCalls("10.0.0.1", 30, warm_s, (), ())
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), warm_calls=(warm,)))
    assert (seen.severity, seen.confidence) == (
        ("warning", "likely") if told else ("problem", "certain")
    )
    assert ("rotating disk" in seen.seen) is not told
    assert ("wait for its processor (7.00 ms, see slow_service)" in seen.seen) is told


def test_some_that_came_behind_others_may_make_the_mean() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", stable=StableCalls(waited_share=0.5)))
    assert seen.confidence == "likely"
    assert "rotating disk" not in seen.seen
    assert "took far longer than the rest of their kind" in seen.seen
    # The others came one by one: more streams share what is done for each.
    assert any("several streams" in advice.action for advice in seen.advice)


def test_where_many_did_not_wait_threads_come_before_a_log_device() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", storage="uneven"))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert "rotating" not in seen.seen
    assert seen.seen.endswith("or for storage that is slow for some files or at times.")
    told = [advice.action for advice in seen.advice]
    assert "threads" in told[0]
    assert "perfile" in told[1]
    assert len([each for each in told if "/proc/fs/nfsd/threads" in each]) == 1
    waits = StableCalls(waited_share=0.5)
    (seen,) = seen_by(RULE, bound_by("persistence", storage="uneven", stable=waits))
    assert len([each for each in seen.advice if "/proc/fs/nfsd/threads" in each.action]) == 1


def test_calls_that_came_behind_others_may_have_waited_for_these() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", stable=StableCalls(crowded=True)))
    assert seen.confidence == "likely"
    assert "rotating disk" not in seen.seen
    assert seen.seen.endswith(
        "Most of them came while other calls were under way there, and part of this may be a wait "
        "for these: for a thread, a lock, or the same disk."
    )
    assert not any("several streams" in advice.action for advice in seen.advice)
    (alone,) = seen_by(RULE, bound_by("persistence"))
    assert alone.confidence == "certain"
    assert any("several streams" in advice.action for advice in alone.advice)


def test_what_is_as_fast_as_behind_a_cache_is_so_whatever_it_waited_for() -> None:
    crowded = StableCalls(crowded=True)
    (seen,) = seen_by(RULE, bound_by("persistence", storage="flash", stable=crowded))
    assert seen.seen.endswith("That is faster than a disk turns.")


def test_a_call_may_hold_several_operations_that_must_be_stable() -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", stable=StableCalls(operations=2.0)))
    assert seen.confidence == "likely"
    assert (
        "Each of them holds 2.0 operations on average that must be stable, of 7.00 ms each. That is"
        in seen.seen
    )


def test_many_round_trips_are_slow_however_short() -> None:
    fast = bound_by("persistence", rtt_s=0.0002, stable_median_s=0.0011, storage="flash")
    assert [seen.severity for seen in seen_by(RULE, fast)] == ["problem"]


def test_what_the_verdict_does_not_name_is_not_told() -> None:
    assert seen_by(RULE, bound_by("round_trips", "client")) == []
    assert seen_by(RULE, bound_by("persistence", rtt_s=None)) == []


@pytest.mark.parametrize(("share", "seen"), [(0.29, 1), (0.15, 1), (0.14, 0)])
def test_slow_storage_is_told_beside_a_larger_cause(share: float, seen: int) -> None:
    found = bound_beside("round_trips", "persistence", share, storage_s=10 * share)
    told = seen_by(RULE, found)
    assert len(told) == seen
    for each in told:
        assert (each.severity, each.title) == (
            "warning",
            "A part of the time goes into the server's storage",
        )
        assert each.claims == (Claim("stable", 10 * share),)


def test_storage_behind_a_cache_is_not_told_beside_a_larger_cause() -> None:
    """There is little to mend, also where a round trip takes next to no time."""
    for rtt_s in (0.001, 0.0001):
        fast = bound_beside(
            "client", "persistence", 0.2, rtt_s=rtt_s, stable_median_s=0.002, storage="flash"
        )
        assert seen_by(RULE, fast) == []


def test_nothing_is_told_beside_what_nobody_knows() -> None:
    assert seen_by(RULE, bound_beside("unknown", "persistence", 0.2)) == []


@pytest.mark.parametrize(
    ("writes", "files", "kind", "told"),
    [(200, 20, "WRITE", True), (200, 21, "WRITE", False), (200, 20, "SETATTR", False)],
)
def test_pieces_that_are_each_made_sure_of_are_a_programs_wish(
    writes: int, files: int, kind: str, told: bool
) -> None:
    """One WRITE for each file asks for stable storage by itself."""
    kinds = (KindOfStable(kind, 200, 0.02), KindOfStable("CREATE", 200, 0.008))
    found = bound_by("persistence", kinds=kinds, stable_writes=writes, stable_files=files)
    (seen,) = seen_by(RULE, found)
    assert ("200 WRITEs to 20 files asked for stable storage each" in seen.seen) is told
    actions = " ".join(advice.action for advice in seen.advice)
    assert ("larger transactions" in actions) is told
    assert "one fsync" not in seen.seen
    crowded = bound_by(
        "persistence",
        kinds=kinds,
        stable_writes=writes,
        stable_files=files,
        stable=StableCalls(crowded=True),
    )
    (seen,) = seen_by(RULE, crowded)
    assert ("may be no more than one fsync, msync or close" in seen.seen) is told
    assert ("parallel tar" in actions) is not told


@pytest.mark.parametrize(("ends", "told"), [(99, False), (100, True)])
def test_pieces_that_are_sent_as_files_are_closed_are_nobodys_wish(ends: int, told: bool) -> None:
    """A log that is opened, written to and closed for each line, or a lock for each record."""
    found = bound_by(
        "persistence",
        kinds=(KindOfStable("WRITE", 200, 0.02),),
        stable_writes=200,
        stable_files=1,
        stable_ends=ends,
    )
    (seen,) = seen_by(RULE, found)
    assert (f"at {ends} opens, closes and unlocks" in seen.seen) is told
    assert ("O_SYNC" in seen.seen) is not told
    actions = " ".join(advice.action for advice in seen.advice)
    assert ("leave a file open" in actions, "larger transactions" in actions) == (told, not told)


@pytest.mark.parametrize(
    ("stable", "told"),
    [
        (StableCalls(crowded=True), True),
        (StableCalls(waited_share=0.25), True),
        (StableCalls(waited_share=0.2), False),
    ],
    ids=["most came behind others", "some did", "hardly any"],
)
def test_calls_that_wait_for_one_another_may_wait_for_threads(
    stable: StableCalls, *, told: bool
) -> None:
    (seen,) = seen_by(RULE, bound_by("persistence", stable=stable))
    assert ("threads" in seen.advice[1].action) is told


A_MINUTE = StableCalls(
    slow=SlowStorage(
        calls=40, time_s=1.2, while_ns=(1_800_000_000_000_000_000, 1_800_000_060_000_000_000)
    ),
    slow_part=0.8,
)


def test_storage_that_was_slow_for_a_while_is_told_with_the_hour() -> None:
    slow = bound_by("persistence", storage="mixed", stable=A_MINUTE, persist_s=0.00375)
    (seen,) = seen_by(RULE, slow)
    assert seen.title == (
        "Much of the time goes into the server's storage, which was slow for a while"
    )
    assert seen.seen.startswith(
        "40 of 400 stable calls took 30.0 ms longer than a small call, most of it from 08:00:00 to "
        "08:01:00 UTC. All together took 3.75 ms each on average beyond the round trip of 1.00 ms: "
    )
    assert seen.seen.endswith("neither the path nor the server's processor was slow.")
    assert "backup" in seen.advice[0].action
    assert seen.confidence == "likely"
    # Calls that waited for no other show it, whatever the others did.
    beside = replace(A_MINUTE, crowded=True)
    (seen,) = seen_by(RULE, bound_by("persistence", storage="mixed", stable=beside))
    assert seen.seen.endswith("neither the path nor the server's processor was slow.")


def test_slow_calls_that_are_scattered_lead_to_their_files() -> None:
    scattered = replace(A_MINUTE, slow=SlowStorage(40, 1.2))
    (seen,) = seen_by(RULE, bound_by("persistence", storage="mixed", stable=scattered))
    assert seen.title.endswith("which was slow for some calls")
    assert "longer than a small call, scattered over time. All" in seen.seen
    assert "perfile" in seen.advice[0].action
    # Where it was slow for all there is nothing else to tell.
    (seen,) = seen_by(RULE, bound_by("persistence", stable=A_MINUTE))
    assert seen.title == "Much of the time goes into the server's storage"


def test_where_one_export_is_slower_that_comes_first() -> None:
    scattered = replace(A_MINUTE, slow=SlowStorage(40, 1.2))
    found = bound_by("persistence", storage="mixed", stable=scattered)
    (seen,) = seen_by(RULE, replace(found, exports=Exports((SLOW, QUICK), 2)))
    assert seen.severity == "note"
    assert [each.action for each in seen.advice] == [
        "See slow_export first: one export of that server is slower than another."
    ]
    # Likewise where many calls were quick, and others took as long as a disk does.
    uneven = replace(bound_by("persistence", storage="uneven"), exports=Exports((SLOW, QUICK), 2))
    (seen,) = seen_by(RULE, uneven)
    assert (seen.severity, len(seen.advice)) == ("note", 1)
    # Not where both are alike, nor where storage was slow for all calls.
    (seen,) = seen_by(RULE, replace(found, exports=Exports((QUICK, QUICK), 2)))
    assert seen.severity == "problem"
    everywhere = replace(bound_by("persistence"), exports=Exports((SLOW, QUICK), 2))
    (seen,) = seen_by(RULE, everywhere)
    assert seen.severity == "problem"


@pytest.mark.parametrize(
    ("share", "storage", "told"),
    [(0.08, "mixed", 1), (0.05, "mixed", 0), (0.08, "memory", 0)],
    ids=["of what was waited for", "little of that", "not slow for some"],
)
def test_a_slow_minute_is_told_beside_a_long_pause(share: float, storage: str, told: int) -> None:
    """Six seconds are the client's: of the others 0.8 of 4.3 are 15 % or more, 0.5 of 4 less."""
    found = bound_beside(
        "client", "persistence", share, storage=storage, stable=A_MINUTE, storage_s=10 * share
    )
    seen = seen_by(RULE, found)
    assert len(seen) == told
    for each in seen:
        assert each.severity == "warning"
        assert each.title.startswith("A part of the time goes")


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (replace(IN_DIRECTORY, waited_s=HALF), False),
        (replace(IN_DIRECTORY, waited_s=LESS), True),
        (replace(IN_DIRECTORY, waited_s=HALF, handed_over=29), True),
    ],
)
def test_more_streams_do_not_help_programs_that_wait_for_one_another(
    order: DirectoryOrder, *, told: bool
) -> None:
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), directory_order=(order,)))
    assert any("several streams" in advice.action for advice in seen.advice) is told


ONE_QUEUE = InTurn(
    "10.0.0.1",
    behind=600,
    overtook=6,
    apart=300.0,
    median_s=0.06,
    small=40,
    small_overtook=1,
)
"""A server with one thread."""


def test_where_small_calls_stand_in_the_same_queue_threads_come_before_disks() -> None:
    found = bound_by("persistence", stable=StableCalls(crowded=True))
    (seen,) = seen_by(RULE, replace(found, in_turn=(ONE_QUEUE,)))
    assert seen.advice[0].action.startswith("Give the server's NFS service more threads first")
    assert "SLOG" in seen.advice[1].action
    assert len([each for each in seen.advice if "threads" in each.action]) == 1
    assert seen.seen.endswith(
        "The server works on one call at a time: of 40 calls that need no storage, and came behind "
        "others about other files, 1 was answered before one that had come earlier. So stable "
        "calls wait for their turn as well, and most of what they take may be that."
    )
    assert seen.confidence == "likely"


@pytest.mark.parametrize(
    "change",
    [
        {"crowded": False},  # They come one by one: nothing waits.
        {"small": 29},  # It may be one disk.
        {"small_overtook": 13},  # Small calls find a thread.
        {"overtook": 91},
        {"behind": 29},
        {"server": "10.0.0.9"},
    ],
)
def test_else_storage_comes_first(change: dict[str, object]) -> None:
    found = bound_by(
        "persistence",
        stable=StableCalls(crowded=bool(change.get("crowded", True))),
        about=("10.0.0.2", "10.0.0.1"),
    )
    rest = {name: value for name, value in change.items() if name != "crowded"}
    server = replace(ONE_QUEUE, **rest)  # type: ignore[arg-type]
    (seen,) = seen_by(RULE, replace(found, in_turn=(server,)))
    assert "SLOG" in seen.advice[0].action
    assert "one call at a time" not in seen.seen


def test_a_server_that_is_not_linux_is_looked_at_with_its_own_tools() -> None:
    found = bound_by("persistence", stable=StableCalls(crowded=True))
    kind = Kind("Chimera NFSv4.1 (dCache.ORG)", "implementation", 1, ("10.0.0.1",), 1)
    other = replace(found, in_turn=(ONE_QUEUE,), software=Software(servers=(kind,)))
    (seen,) = seen_by(RULE, other)
    assert "with its own tools" in seen.advice[0].action
    assert "/proc/fs/nfsd" not in seen.advice[0].action
