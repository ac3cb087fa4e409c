"""The rule for TCP segments that were lost."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.tcp_stalls import TcpStalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.tcp_loss import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_unanswered_calls import SILENT

LOSSY = TcpStalls(
    client="10.0.0.2",
    server="10.0.0.1",
    connections=2,
    segments=4000,
    client_resent=3,
    server_resent=2,
    spurious=0,
    out_of_order=0,
    client_zero_window_s=0.0,
    server_zero_window_s=0.0,
    client_shut=0,
    server_shut=0,
    stalls=3,
    time_s={"stable": 0.4, "unstable": 0.2},
    frames=(5, 9, 11),
)


def test_more_than_one_in_a_thousand() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(LOSSY,)))
    assert seen.seen == (
        "5 of 4\u2009000 segments with data (0.1 %) were sent again: 3 by the client, 2 by the "
        "server. 3 calls stood still for as long as TCP's retransmission timer takes (200 ms and "
        "more), 600 ms in all."
    )
    assert seen.claims == (Claim("stable", 0.4), Claim("unstable", 0.2))
    assert seen.data == "4\u2009000 segments on 2 connections"


@pytest.mark.parametrize("change", [{"client_resent": 2}, {"segments": 5000}])
def test_a_little_less_is_what_happens(change: dict[str, int]) -> None:
    pair = replace(LOSSY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(tcp_stalls=(pair,))) == []


@pytest.mark.parametrize(
    ("resent", "server", "told"),
    [(6, "10.0.0.1", False), (6, "10.0.0.9", True), (1, "10.0.0.1", True)],
)
def test_what_goes_to_a_server_that_is_not_there_is_no_loss(
    resent: int, server: str, told: bool
) -> None:
    pair = replace(LOSSY, client_resent=6, server_resent=0, stalls=0, time_s={}, segments=107)
    silent = replace(SILENT, server=server, resent=resent)
    found = seen_by(RULE, nothing(tcp_stalls=(pair,), unanswered=(silent,)))
    assert bool(found) is told
    if resent == 1:
        assert "1 of these went to a server that did not answer any more." in found[0].seen


def test_what_had_arrived_before_was_not_lost() -> None:
    arrived = replace(LOSSY, client_resent=9, spurious=6)
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(arrived,)))
    assert "11 of 4\u2009000 segments with data" in seen.seen
    assert "6 of them had arrived before, as the other end says (D-SACK)." in seen.seen
    assert seen_by(RULE, nothing(tcp_stalls=(replace(arrived, spurious=7),))) == []


def test_without_stalls_it_is_said_and_one_in_a_hundred_is_grave() -> None:
    quick = replace(LOSSY, stalls=0, time_s={}, frames=(), out_of_order=7)
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(quick,)))
    assert seen.severity == "note"
    assert "7 came out of order. No call that was answered stood still" in seen.seen
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(quick, segments=500),)))
    assert seen.severity == "warning"
