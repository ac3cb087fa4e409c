"""The rule for delegations that are called back while others wait."""

from __future__ import annotations

from pcapnfs.analyses.caching.recalls import Recalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.delegation_recall import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

CALLED = Recalls(
    holder="10.0.0.2",
    server="10.0.0.1",
    recalled=3,
    files=3,
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
    assert seen.title == "A delegation is given back late"
    assert "DELAY" not in seen.why
    assert seen_by(RULE, nothing(recalls=(replace(slow, longest_s=0.1),))) == []
    assert seen_by(RULE, nothing(recalls=(replace(slow, longest_s=None),))) == []


def test_one_recall_of_one_file() -> None:
    one = replace(
        CALLED, recalled=1, files=1, returned=1, calls=1, paths=("a",), time_s={"waiting": 0.2}
    )
    (seen,) = seen_by(RULE, nothing(recalls=(one,)))
    assert seen.seen == (
        "The server called a delegation of 10.0.0.2 back (a); the return took 15.0 ms. Meanwhile "
        "1 call of 10.0.0.3 waited, 200 ms with the pause until it came again."
    )
    assert "lease" not in seen.why, "it was returned"


def test_one_file_that_is_recalled_again_is_one_file() -> None:
    again = replace(CALLED, files=1, returned=3, paths=("a",), time_s={"unstable": 0.2})
    (seen,) = seen_by(RULE, nothing(recalls=(again,)))
    assert seen.seen == (
        "The server called delegations of 10.0.0.2 back 3 times, of 1 file (a); the longest return "
        "took 15.0 ms. Meanwhile 2 calls of 10.0.0.3 waited, 200 ms in all."
    )
    gone = replace(CALLED, recalled=1, files=1, returned=0, longest_s=None, paths=("a",))
    (seen,) = seen_by(RULE, nothing(recalls=(gone,)))
    assert "back (a). Not returned in the capture. Meanwhile" in seen.seen


def test_the_way_to_the_holder_is_advised_where_it_did_not_answer() -> None:
    (seen,) = seen_by(RULE, nothing(recalls=(CALLED,)))
    assert "callback port" in seen.advice[-1].action
    assert seen.advice[0].action.startswith("See whether the client that holds it is up")
    (seen,) = seen_by(RULE, nothing(recalls=(replace(CALLED, returned=3),)))
    assert not any("callback port" in advice.action for advice in seen.advice)


def test_a_client_that_waits_for_its_own_delegation_is_not_several() -> None:
    """Its data go another way, to a data server: the server does not know whose they are."""
    own = replace(CALLED, waiting=("10.0.0.2",), returned=3)
    (seen,) = seen_by(RULE, nothing(recalls=(own,)))
    told = " ".join((seen.why, *(advice.action for advice in seen.advice)))
    assert "delegation of its own" in told
    assert "several clients" not in told
    assert "other client" not in told
    both = replace(own, waiting=("10.0.0.2", "10.0.0.3"))
    (seen,) = seen_by(RULE, nothing(recalls=(both,)))
    assert "several clients" in seen.advice[0].action
    # Linux asks for the setting with each lease: a restart would begin a grace period for all.
    assert "without a restart of nfsd" in seen.advice[0].action
