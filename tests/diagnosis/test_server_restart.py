"""The rule for servers that restarted."""

from __future__ import annotations

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.server_restart import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.restarted import RESTARTED


def test_a_new_verifier_is_a_problem() -> None:
    (seen,) = seen_by(RULE, nothing(restarts=(RESTARTED,)))
    assert (seen.severity, seen.confidence) == ("problem", "certain")
    assert seen.title == "The server 10.0.0.1 restarted"
    assert seen.seen == (
        "The write verifier changed. 2 calls met NFS4ERR_BADSESSION. 3 WRITEs (12.0 KiB) of what "
        "had been written UNSTABLE before came again. 4 calls waited 2.00 s for a new connection, "
        "to be sent again on it. 7 calls met its grace period, and waited 10.0 s."
    )
    assert seen.claims == (Claim("waiting", 12.0),)
    assert seen.frames == (9, 11)
    assert seen.also == ("rpc_retransmission",)
    (seen,) = seen_by(RULE, nothing(restarts=(replace(RESTARTED, moved=0, unreachable_s=0.0),)))
    assert "new connection" not in seen.seen
    assert seen.also == ()


def test_lost_state_alone_may_have_another_reason() -> None:
    (seen,) = seen_by(RULE, nothing(restarts=(replace(RESTARTED, verifiers=1),)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")


def test_a_grace_period_alone_was_another_restart() -> None:
    late = replace(RESTARTED, verifiers=1, lost_state=0)
    assert seen_by(RULE, nothing(restarts=(late,))) == []
