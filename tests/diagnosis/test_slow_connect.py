"""The rule for connections that took long to come about."""

from __future__ import annotations

from pcapnfs.analyses.late_connections import LateConnections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.slow_connect import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

LATE = LateConnections("10.0.0.2", "10.0.0.1", 1, 7.0, 7.0, 0.0002, (9,))


def test_what_it_took_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, nothing(late_connections=(LATE,)))
    assert seen.seen == (
        "1 connection had its first call 7.00 s after its first packet, when a SYN without an "
        "answer is sent again. No call was under way meanwhile: 7.00 s in all. Once the server "
        "answered a SYN, it took 200 µs."
    )
    assert seen.claims == (Claim("client", 7.0),)


def test_beside_other_calls_it_costs_nothing() -> None:
    busy = replace(LATE, connections=2, idle_s=0.0, syn_s=None)
    (seen,) = seen_by(RULE, nothing(late_connections=(busy,)))
    assert seen.seen == (
        "2 connections had their first call 7.00 s after their first packet at most, when a SYN "
        "without an answer is sent again."
    )
    assert (seen.severity, seen.claims) == ("note", ())


def test_the_threshold_is_a_setting() -> None:
    assert seen_by(RULE, nothing(late_connections=(LATE,)), "slow_connect.least=8") == []
