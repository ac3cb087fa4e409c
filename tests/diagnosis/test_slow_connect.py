"""The rule for connections that took long to come about."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.late_connections import LateConnections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.slow_connect import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

LATE = LateConnections(
    client="10.0.0.2",
    server="10.0.0.1",
    connections=1,
    longest_s=7.0,
    idle_s=7.0,
    resent=3,
    attempts=0,
    refusals=0,
    challenges=0,
    resent_answers=0,
    syn_s=0.0002,
    lossy=False,
    frames=(9,),
)


def test_what_it_took_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, nothing(late_connections=(LATE,)))
    assert seen.seen == (
        "1 connection came about 7.00 s after its first SYN: the client sent 3 SYNs again. No call "
        "was under way meanwhile: 7.00 s in all. From the last SYN it took the server 200 µs to "
        "answer."
    )
    assert (seen.confidence, seen.claims) == ("certain", (Claim("client", 7.0),))
    assert "did not answer the first SYNs" in seen.why


def test_beside_other_calls_it_costs_nothing() -> None:
    busy = replace(LATE, connections=2, idle_s=0.0, syn_s=None, resent=0)
    (seen,) = seen_by(RULE, nothing(late_connections=(busy,)))
    assert seen.seen == "2 connections came about 7.00 s after their first SYN at most."
    assert (seen.severity, seen.confidence, seen.claims) == ("note", "likely", ())
    assert "no call is to be seen" not in seen.why


@pytest.mark.parametrize(
    ("pair", "told", "why"),
    [
        (
            replace(LATE, attempts=3, refusals=2),
            "3 attempts before came to nothing, the server refused 2 SYNs (RST); the client sent",
            "nothing listens there",
        ),
        (
            replace(LATE, refusals=1),
            "the server refused 1 SYN (RST); the client sent",
            "nothing listens",
        ),
        (
            replace(LATE, challenges=1, resent=1),
            "1 SYN again; the server answered 1 of them with an ACK of a former connection.",
            "still had the former connection",
        ),
        (
            replace(LATE, resent=1, lossy=True),
            "the client sent 1 SYN again.",
            "the path loses some now and then, and the server was there",
        ),
        (
            replace(LATE, resent=0, resent_answers=1),
            "the server sent 1 SYN+ACK again.",
            "did not reach the client, or the client's ACK did not reach the server",
        ),
        (
            replace(LATE, resent_answers=2),
            "3 SYNs again; the server sent 2 SYN+ACKs",
            "first SYNs: it was",
        ),
    ],
)
def test_what_the_server_answered_is_the_reason(pair: LateConnections, told: str, why: str) -> None:
    (seen,) = seen_by(RULE, nothing(late_connections=(pair,)))
    assert told in seen.seen
    assert why in seen.why
    resets = pair.refusals + pair.challenges > 0
    assert ("reset" in (seen.display_filter or "")) is resets


def test_the_threshold_is_a_setting() -> None:
    assert seen_by(RULE, nothing(late_connections=(LATE,)), "slow_connect.least=8") == []


def test_a_server_in_user_space_has_a_log_of_its_own() -> None:
    (seen,) = seen_by(RULE, nothing(late_connections=(replace(LATE, refusals=1),)))
    assert "NFS-Ganesha: -u nfs-ganesha" in seen.advice[0].action
