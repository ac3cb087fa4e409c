"""The rule for delegations that are called back while others wait."""

from __future__ import annotations

from pcapnfs.analyses.recalls import Recalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.delegation_recall import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

CALLED = Recalls(
    holder="10.0.0.2",
    server="10.0.0.1",
    recalled=3,
    returned=2,
    total_s=0.02,
    longest_s=0.015,
    waiting=("10.0.0.3",),
    calls=2,
    time_s={"waiting": 0.2, "unstable": 0.1},
    paths=("a", "b"),
    frames=(4,),
)


def test_others_pauses_count_however_fast_the_return_was() -> None:
    (seen,) = seen_by(RULE, nothing(recalls=(CALLED,)))
    assert seen.seen == (
        "The server called 3 delegations of 10.0.0.2 back (a, b, …); the longest return took "
        "15.0 ms. Not returned in the capture: 1. Meanwhile 2 calls of 10.0.0.3 waited, 300 ms in "
        "all with the pauses until they came again."
    )
    assert seen.claims == (Claim("unstable", 0.1), Claim("waiting", 0.2))
    assert seen.about == ("10.0.0.2", "10.0.0.1")


def test_so_does_a_slow_return_of_which_nobody_is_seen_to_wait() -> None:
    slow = replace(CALLED, waiting=(), calls=0, time_s={}, longest_s=0.11)
    (seen,) = seen_by(RULE, nothing(recalls=(slow,)))
    assert "Meanwhile" not in seen.seen
    assert seen_by(RULE, nothing(recalls=(replace(slow, longest_s=0.1),))) == []
    assert seen_by(RULE, nothing(recalls=(replace(slow, longest_s=None),))) == []
