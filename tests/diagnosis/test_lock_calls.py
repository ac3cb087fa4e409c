"""The rule for locks that are taken and given back again and again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.locks.lock_calls import LockCalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.lock_calls import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

MANY = LockCalls(
    client="10.0.0.2",
    server="10.0.0.1",
    calls=1000,
    locking=Spared(100, 0.4, 0.1, (3, 5)),
    nlm=0,
    locks=60,
    sqlite=0,
    files=2,
    places=("mail/box", "mail/new"),
)


def test_a_tenth_of_the_calls_is_too_much() -> None:
    (seen,) = seen_by(RULE, nothing(lock_calls=(MANY,)))
    assert seen.seen == (
        "100 of 1\u2009000 calls lock, unlock or test a range of a file, or free the "
        "state of a lock, and wait for nobody: "
        "60 locks of 2 files: mail/box, mail/new."
    )
    assert seen.claims == (Claim("unstable", 0.4), Claim("client", 0.1))
    assert (seen.calls, seen.about) == (100, ("10.0.0.2", "10.0.0.1"))
    assert [each.action.split(":")[0] for each in seen.advice] == ["In the program"]

    asking = Spared(50, 0.2, 0.05, (4,))
    (seen,) = seen_by(RULE, nothing(lock_calls=(replace(MANY, asking=asking),)))
    assert "Besides, 50 GETATTRs asked about a file that the client had just locked." in seen.seen
    assert [(claim.row, round(claim.seconds, 9)) for claim in seen.claims] == [
        ("unstable", 0.6),
        ("client", 0.15),
    ]
    assert seen.calls == 150

    (seen,) = seen_by(RULE, nothing(lock_calls=(replace(MANY, files=3),)))
    assert seen.seen.endswith("3 files, most often mail/box, mail/new.")


def test_sqlite_is_told_by_the_bytes_that_it_locks() -> None:
    (seen,) = seen_by(RULE, nothing(lock_calls=(replace(MANY, sqlite=54),)))
    assert seen.seen.endswith("The bytes are those that SQLite locks.")
    assert seen.advice[0].action.startswith("Put several statements into one transaction")
    assert "locking_mode=EXCLUSIVE" in seen.advice[0].action
    (seen,) = seen_by(RULE, nothing(lock_calls=(replace(MANY, sqlite=53),)))
    assert "SQLite" not in seen.seen


def test_only_locks_beside_nfsv3_can_be_local() -> None:
    for nlm, local in ((100, True), (99, False)):
        (seen,) = seen_by(RULE, nothing(lock_calls=(replace(MANY, nlm=nlm),)))
        assert any("local_lock=all" in each.action for each in seen.advice) is local


@pytest.mark.parametrize(
    "change", [{"calls": 1001}, {"calls": 100, "locking": replace(MANY.locking, calls=49)}]
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(lock_calls=(pair,))) == []
