"""The rule for waiting for locks."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.lock_files import LockFiles
from pcapnfs.analyses.locks.lock_gaps import LockGaps
from pcapnfs.analyses.locks.lock_waits import LockWaits
from pcapnfs.analyses.wire.round_trip import Vantage
from pcapnfs.analyses.wire.vain_connections import VainConnections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.lock_contention import RULE
from pcapnfs.meta import Vain
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_captured_at_server import THERE

WAITED = LockWaits(
    client="10.0.0.2",
    server="10.0.0.1",
    protocols=("nlm4",),
    locks=12,
    refused=5,
    untyped=0,
    waits=3,
    granted=2,
    withdrawn=0,
    told=1,
    sought=False,
    polled=2,
    interval_s=30.0,
    waited_s=60.0,
    longest_s=31.0,
    late_s=30.0,
    holders=("10.0.0.3",),
    paths=("lf",),
    frames=(3,),
)


def test_who_waits_for_whom() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(WAITED,)))
    assert seen.title == "Clients wait for each other's locks"
    assert seen.seen == (
        "3 waits for a lock of somebody else took 1 m 0 s (lf); for 30.0 s of that the lock was "
        "free already. Held by 10.0.0.3. The longest took 31.0 s. Of this client's 12 LOCKs, "
        "each try counted, 5 met such a lock: 3 first ones, and 2 with which the client asked "
        "again in vain, usually 30.0 s apart. Ended by a callback of the server: 1. Without the "
        "lock at their end: 1."
    )
    assert seen.claims == (Claim("client", 60.0),)
    assert seen.data == "3 waits; 12 tries to lock (LOCK)"
    assert seen.confidence == "certain"


def test_a_request_that_was_withdrawn_is_told_as_such() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, withdrawn=1),)))
    assert seen.seen.endswith(
        "Without the lock at their end: 1 (1 withdrawn by the client: CANCEL)."
    )


def test_what_passes_while_a_call_is_under_way_is_no_cost_of_the_wait() -> None:
    found = bound_by("client")
    budget = replace(found.time_budget.total, client=WAITED.client)
    for gaps, idle_s in (((LockGaps(WAITED.client, 2.0),), 2.0), ((), 0.0)):
        clocks = replace(found.time_budget, clients=(budget,), lock_gaps=gaps)
        (seen,) = seen_by(RULE, replace(found, lock_waits=(WAITED,), time_budget=clocks))
        assert seen.claims == (Claim("client", idle_s),)


def test_the_other_program_may_run_on_the_same_client() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(WAITED,)))
    assert "on another client" in seen.why
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, holders=(), late_s=0.0),)))
    assert "on the same client or another" in seen.why
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, holders=("10.0.0.2",)),)))
    assert "on the same client." in seen.why
    assert "Held by other programs of this client." in seen.seen
    both = replace(WAITED, holders=("10.0.0.2", "10.0.0.3"))
    (seen,) = seen_by(RULE, nothing(lock_waits=(both,)))
    assert "on the same client or another" in seen.why
    assert "Held by other programs of this client, 10.0.0.3." in seen.seen


def test_locks_whose_type_was_cut_off_may_be_of_who_only_tries() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, untyped=1),)))
    assert seen.confidence == "likely"
    assert "Of 1 LOCK the type was cut off: programs that only try" in seen.seen


def test_a_lock_that_was_free_is_another_matter() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, late_s=31.0),)))
    assert seen.title == "The lock was free, and the client did not notice"


@pytest.mark.parametrize(
    ("protocols", "told", "late_s", "wanted", "others"),
    [
        (("nlm4",), 0, 31.0, ("lockd.nlm_tcpport", "NFSv4.1"), ("nolock",)),
        (("nlm4",), 1, 31.0, ("NFSv4.1",), ("lockd", "nolock")),
        (("nlm4",), 0, 0.0, ("nolock",), ("lockd.nlm",)),
        (("4.0",), 0, 31.0, ("NFSv4.1", "CB_NOTIFY_LOCK"), ("lockd", "through every", "nolock")),
        (("4.0",), 0, 0.0, ("shorter time",), ("local_lock", "nolock", "CB_NOTIFY_LOCK")),
        (("4.2",), 0, 31.0, ("CB_NOTIFY_LOCK",), ("lockd", "Mount with")),
        (("4.1",), 0, 0.0, ("shorter time",), ("local_lock", "nolock")),
    ],
)
def test_advice_fits_the_version(
    protocols: tuple[str, ...],
    told: int,
    late_s: float,
    wanted: tuple[str, ...],
    others: tuple[str, ...],
) -> None:
    waited = replace(WAITED, protocols=protocols, told=told, late_s=late_s)
    (seen,) = seen_by(RULE, nothing(lock_waits=(waited,)))
    said = " ".join(advice.action for advice in seen.advice)
    assert all(word in said for word in wanted)
    assert not any(word in said for word in others)


@pytest.mark.parametrize(
    ("protocol", "holders", "first"),
    [
        ("nlm4", ("10.0.0.2",), "nolock"),
        ("4.2", ("10.0.0.2",), "on its own disk"),
        ("4.0", ("10.0.0.2",), "on its own disk"),
        ("nlm4", ("10.0.0.2", "10.0.0.3"), "lockd.nlm_tcpport"),
        ("4.2", ("10.0.0.2", "10.0.0.3"), "CB_NOTIFY_LOCK"),
    ],
)
def test_programs_of_one_client_need_no_server_to_wake_each_other(
    protocol: str, holders: tuple[str, ...], first: str
) -> None:
    waited = replace(WAITED, protocols=(protocol,), told=0, late_s=31.0, holders=holders)
    (seen,) = seen_by(RULE, nothing(lock_waits=(waited,)))
    assert first in seen.advice[0].action


@pytest.mark.parametrize(
    ("protocol", "why"),
    [("nlm4", "(NLM GRANTED)"), ("4.0", "NFSv4.0 has no way"), ("4.2", "(CB_NOTIFY_LOCK)")],
)
def test_why_the_client_did_not_notice_fits_the_version(protocol: str, why: str) -> None:
    waited = replace(WAITED, protocols=(protocol,), told=0, late_s=31.0)
    (seen,) = seen_by(RULE, nothing(lock_waits=(waited,)))
    assert why in seen.why


@pytest.mark.parametrize(
    ("protocol", "told", "holders", "by", "first"),
    [
        ("nlm4", 0, (), "(NLM GRANTED)", "lockd.nlm_tcpport"),
        ("4.1", 0, (), "(CB_NOTIFY_LOCK)", "CB_NOTIFY_LOCK"),
        ("4.0", 0, (), None, "shorter time"),
        ("nlm4", 1, (), None, "shorter time"),
        ("nlm4", 0, ("10.0.0.3",), None, "shorter time"),
    ],
)
def test_a_client_that_asked_again_by_itself_is_helped_by_callbacks_first(
    protocol: str, told: int, holders: tuple[str, ...], by: str | None, first: str
) -> None:
    waited = replace(WAITED, protocols=(protocol,), told=told, holders=holders, late_s=0.0)
    (seen,) = seen_by(RULE, nothing(lock_waits=(waited,)))
    assert ("when it asked again by itself" in seen.seen) is (by is not None)
    assert by is None or f"when the lock was free {by}" in seen.seen
    assert first in seen.advice[0].action


UNTOLD = replace(WAITED, told=0, late_s=31.0)
IN_VAIN = VainConnections(
    asked=Vain("10.0.0.1", "10.0.0.2", 111, 1, 3, 0, 0, 1, 9),
    program=None,
    since_s=1.0,
    lasted_s=7.0,
    waits=False,
    connected=False,
    idle_s=0.0,
)


@pytest.mark.parametrize(
    ("waited", "vantage", "in_vain", "untried"),
    [
        (UNTOLD, "server", (), True),
        (UNTOLD, "client", (), False),
        (UNTOLD, "unknown", (), False),
        (replace(UNTOLD, sought=True), "server", (), False),
        (UNTOLD, "server", (IN_VAIN,), False),
    ],
    ids=["server", "client", "unknown", "asked the portmapper", "SYN"],
)
def test_a_server_that_never_tried_is_no_matter_of_firewalls(
    waited: LockWaits, vantage: Vantage, in_vain: tuple[VainConnections, ...], untried: bool
) -> None:
    trips = replace(THERE, pairs=(replace(THERE.pairs[0], vantage=vantage),))
    found = nothing(lock_waits=(waited,), round_trips=trips, vain_connections=in_vain)
    (seen,) = seen_by(RULE, found)
    assert ("it sent the client nothing to that end" in seen.why) is untried
    assert ("not at firewalls" in seen.advice[0].action) is untried
    assert ("through every firewall" in seen.advice[0].action) is not untried


def test_the_user_may_think_otherwise() -> None:
    found = nothing(lock_waits=(WAITED,))
    assert seen_by(RULE, found, "lock_contention.least=4") == []


def test_a_client_that_asked_once_more_has_no_interval() -> None:
    once_more = replace(WAITED, refused=4, polled=1, interval_s=2.0)
    (seen,) = seen_by(RULE, nothing(lock_waits=(once_more,)))
    assert "and 1 with which the client asked again in vain, 2.00 s later." in seen.seen


def test_tries_that_are_no_more_than_the_waits_are_not_told_apart() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, refused=3, polled=0),)))
    assert "Of this client's 12 LOCKs, each try counted, 3 met such a lock. Ended" in seen.seen


def test_lock_files_are_a_finding_of_their_own() -> None:
    named = LockFiles(
        client="10.0.0.2",
        server="10.0.0.1",
        waits=15,
        refused=66,
        interval_s=0.04,
        waited_s=3.5,
        longest_s=0.3,
        holders=("10.0.0.3",),
        names=("box.lock",),
        frames=(3,),
    )
    (seen,) = seen_by(RULE, nothing(lock_files=(named,)))
    assert seen.title == "Programs wait for a lock file"
    assert seen.seen == (
        "15 waits for a name that existed took 3.50 s (box.lock). Freed by 10.0.0.3. The longest "
        "took 300 ms. Programs tried to make the name, and 66 tries met it (EXIST); the next came "
        "usually 40.0 ms later."
    )
    assert seen.claims == (Claim("client", 3.5),)
    assert seen_by(RULE, nothing(lock_files=(replace(named, waits=0),))) == []


@pytest.mark.parametrize(
    ("offered", "why", "first"),
    [
        (None, "(CB_NOTIFY_LOCK). So", "Have a server that sends CB_NOTIFY_LOCK"),
        (True, "though it had offered to in its answers to OPEN", "See why the server does not"),
        (False, "nor offered to in its answers to OPEN", "Have a server that offers"),
    ],
)
def test_what_each_side_needs_goes_by_what_the_server_offers(
    offered: bool | None, why: str, first: str
) -> None:
    waited = replace(WAITED, protocols=("4.2",), told=0, late_s=31.0, may_notify=offered)
    (seen,) = seen_by(RULE, nothing(lock_waits=(waited,)))
    assert why in seen.why
    assert seen.advice[0].action.startswith(first)
    # One that called the client once does send it, and NFSv4.0 has no such callback.
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(waited, told=1),)))
    assert seen.advice[0].action.startswith("Have a server that sends CB_NOTIFY_LOCK")
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(waited, protocols=("4.0",)),)))
    assert seen.advice[0].action.startswith("Mount with NFSv4.1")
