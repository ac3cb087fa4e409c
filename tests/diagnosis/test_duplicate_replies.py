"""The rule for calls that were answered twice."""

from __future__ import annotations

from pcapnfs.diagnosis.rules import rpc_retransmission
from pcapnfs.diagnosis.rules.duplicate_replies import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_rpc_retransmission import FEW

SLOW = replace(
    FEW,
    resent=60,
    answered_twice=30,
    answered_late=30,
    duplicate_replies=31,
    resent_s=0.3,
    time_s={},
)


def test_half_of_them_answered_twice_is_a_slow_server() -> None:
    (seen,) = seen_by(RULE, nothing(resent_calls=(SLOW,)))
    assert seen.seen == (
        "30 of 60 calls sent again were answered more than once (31 replies too many, 1\u2009000 "
        "calls in all). They took 300 ms from the first transmission (median), the others 1.00 ms."
    )
    assert seen.severity == "warning"
    assert seen.claims == ()
    (twice,) = seen_by(RULE, nothing(resent_calls=(replace(SLOW, duplicate_replies=30),)))
    assert "were answered twice (30 replies too many" in twice.seen


def test_of_one_call_there_is_no_median() -> None:
    one = replace(SLOW, resent=1, answered_twice=1, answered_late=1, duplicate_replies=1)
    (seen,) = seen_by(RULE, nothing(resent_calls=(one,)))
    assert seen.seen.startswith("1 of 1 call sent again was answered twice (1 reply too many, ")
    assert seen.seen.endswith(" It took 300 ms from the first transmission, the others 1.00 ms.")


def test_fewer_may_have_been_lost() -> None:
    assert seen_by(RULE, nothing(resent_calls=(replace(SLOW, answered_late=29),))) == []
    assert seen_by(RULE, nothing(resent_calls=(replace(SLOW, resent=0, answered_late=0),))) == []


def test_it_speaks_of_the_same_as_the_rule_for_calls_sent_again() -> None:
    assert RULE.topic == rpc_retransmission.RULE.topic
