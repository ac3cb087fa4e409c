"""The rule for waiting for locks."""

from __future__ import annotations

from pcapnfs.analyses.lock_waits import LockWaits
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.lock_contention import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

WAITED = LockWaits(
    client="10.0.0.2",
    server="10.0.0.1",
    locks=12,
    refused=5,
    waits=3,
    granted=2,
    told=1,
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
        "5 of 12 LOCKs met a lock of somebody else; 3 waits took 1 m 0 s (lf). Held by 10.0.0.3. "
        "The longest took 31.0 s. For 30.0 s of it the lock was free already. The client asked "
        "2 times in vain, a usual 30.0 s apart. Ended by a callback of the server: 1. Without the "
        "lock at their end: 1."
    )
    assert seen.claims == (Claim("client", 60.0),)


def test_a_lock_that_was_free_is_another_matter() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, late_s=31.0),)))
    assert seen.title == "The lock was free, and the client did not notice"
    assert "lockd" in seen.advice[0].action


def test_the_user_may_think_otherwise() -> None:
    found = nothing(lock_waits=(WAITED,))
    assert seen_by(RULE, found, "lock_contention.least=4") == []


def test_a_client_that_asked_once_more_has_no_interval() -> None:
    (seen,) = seen_by(RULE, nothing(lock_waits=(replace(WAITED, polled=1, interval_s=2.0),)))
    assert "The client asked once more in vain, 2.00 s later." in seen.seen
