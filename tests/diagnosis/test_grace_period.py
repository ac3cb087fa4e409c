"""The rule for calls that met a grace period."""

from __future__ import annotations

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.grace_period import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.restarted import RESTARTED


def test_the_waiting_is_told_not_the_refusals() -> None:
    waiting = nothing(restarts=(RESTARTED,), time_budget=clock(waiting=9.0))
    (seen,) = seen_by(RULE, waiting)
    assert seen.severity == "problem"
    assert seen.seen == (
        "7 calls met GRACE over 6.00 s; with the pauses until they came again they waited 10.0 s. "
        "RECLAIM_COMPLETE came 1 time."
    )
    assert seen.claims == (Claim("waiting", 10.0),)
    assert seen.frames == (13, 15)
    # NFS-Ganesha 4.3 refuses on after the RECLAIM_COMPLETE of its only client (RFC 8881 section
    # 8.4.2.1 leaves that to the server).
    assert "a server may end it as soon as all known clients are back" in seen.advice[1].action
    # Nothing but its end ends it for those that wait now, unless somebody ends it by hand.
    assert "ends by itself" in seen.advice[0].action
    assert "echo Y > /proc/fs/nfsd/v4_end_grace" in seen.advice[0].action
    assert "LOCKs of NFSv4 wait for its end as well" in seen.advice[0].action
    assert "have not reclaimed" in (seen.advice[0].risk or "")
    # What is read as the service starts takes a restart, and that begins another one.
    assert "Grace_Period" in seen.advice[2].action
    assert "each restart begins a grace period" in seen.advice[2].action


def test_one_refusal_spans_no_time() -> None:
    (seen,) = seen_by(
        RULE, nothing(restarts=(replace(RESTARTED, refused=1, grace_s=0.11, grace_span_s=0.0),))
    )
    assert seen.seen.startswith(
        "1 call met GRACE; with the pause until it came again it waited 110 ms."
    )


def test_when_it_was_is_told_as_logs_have_it() -> None:
    at = replace(RESTARTED, refused_ns=1_700_000_000_000_000_000)
    (seen,) = seen_by(RULE, nothing(restarts=(at,)))
    assert seen.seen.startswith("7 calls met GRACE from 22:13:20 UTC on, over 6.00 s; with")
    (seen,) = seen_by(RULE, nothing(restarts=(replace(at, refused=1),)))
    assert seen.seen.startswith("1 call met GRACE at 22:13:20 UTC; with the pause")


def test_locks_alone_are_refused_by_the_grace_period_of_the_lock_manager() -> None:
    (seen,) = seen_by(RULE, nothing(restarts=(replace(RESTARTED, refused_locks=7),)))
    assert "All were LOCKs of NFSv4: a Linux server refuses these alone while" in seen.seen
    (seen,) = seen_by(RULE, nothing(restarts=(replace(RESTARTED, refused_locks=6),)))
    assert "LOCKs" not in seen.seen


def test_without_a_refusal_nobody_waited() -> None:
    assert seen_by(RULE, nothing(restarts=(replace(RESTARTED, refused=0),))) == []
