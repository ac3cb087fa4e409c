"""The rule for calls that were sent again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.resent_calls import ResentCalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.rpc_retransmission import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_unanswered_calls import SILENT

FEW = ResentCalls(
    client="10.0.0.2",
    server="10.0.0.1",
    transports=("TCP",),
    calls=1000,
    resent=3,
    moved=0,
    idle_s=None,
    repeated=4,
    duplicate_replies=1,
    answered_twice=1,
    answered_late=1,
    lost=0,
    lost_s=None,
    usual_s=0.001,
    resent_s=60.0,
    time_s={"stable": 2.0, "unstable": 0.5},
    frames=(3, 7),
)


def test_answers_that_never_reached_the_client_are_told() -> None:
    (seen,) = seen_by(RULE, nothing(resent_calls=(replace(FEW, lost=2, lost_s=18.5),)))
    assert (
        "Answered more than once: 1. 2 came again up to 18.5 s after the answer, which was lost "
        "behind the capture point, on its way to the client." in seen.seen
    )
    assert "from the capture point to the client" in seen.advice[0].action


@pytest.mark.parametrize(
    ("idle_s", "moved", "told"),
    [(20.0, 3, True), (9.9, 3, False), (None, 3, False), (20.0, 2, False)],
)
def test_connections_that_broke_when_they_had_been_idle(
    idle_s: float | None, moved: int, told: bool
) -> None:
    (seen,) = seen_by(RULE, nothing(resent_calls=(replace(FEW, idle_s=idle_s, moved=moved),)))
    said = "Before each time that happened the client had sent nothing for 20.0 s or longer."
    assert (said in seen.seen) is told
    assert ("idle timeouts" in seen.advice[0].action) is told


def test_calls_that_were_given_up_mean_that_programs_failed() -> None:
    given_up = replace(FEW, given_up=2, given_up_frames=(5,))
    (seen,) = seen_by(RULE, nothing(resent_calls=(given_up,)))
    assert (seen.severity, seen.frames) == ("problem", (5,))
    assert seen.title == "The client gave calls up, and went on without their answers"
    assert "While 2 of them had no answer yet, it sent other calls" in seen.seen
    assert seen.advice[0].action.startswith("Mount hard")


def test_over_tcp_any_is_told() -> None:
    (seen,) = seen_by(RULE, nothing(resent_calls=(FEW,)))
    assert seen.seen == (
        "3 of 1\u2009000 calls (0.3 %) went more than once, over TCP. Answered more than once: 1. "
        "The median service time of those sent again is 1 m 0 s, that of the others 1.00 ms."
    )
    assert seen.claims == (Claim("stable", 2.0), Claim("unstable", 0.5))
    assert seen.about == ("10.0.0.2", "10.0.0.1")
    assert "proto=tcp" not in seen.advice[0].action


def test_one_in_twenty_is_grave_whatever_it_cost() -> None:
    edge = replace(FEW, resent=50, time_s={})
    (seen,) = seen_by(RULE, nothing(resent_calls=(edge,)))
    assert seen.severity == "note"
    (seen,) = seen_by(RULE, nothing(resent_calls=(replace(edge, resent=51),)))
    assert seen.severity == "warning"


def test_a_broken_connection_is_not_a_lossy_network() -> None:
    moved = replace(FEW, moved=3, time_s={"waiting": 2.0})
    (seen,) = seen_by(RULE, nothing(resent_calls=(moved,)))
    assert seen.title == "A connection broke, and calls waited for a new one"
    assert "3 of 1\u2009000 calls (0.3 %) were sent again on a new connection" in seen.seen
    assert "went more than once" not in seen.seen
    assert "timeo" not in seen.why
    (seen,) = seen_by(RULE, nothing(resent_calls=(replace(moved, moved=2),)))
    assert seen.title == "Calls were sent again"
    assert "Sent again on a new connection, since the old one broke: 2." in seen.seen


def test_of_a_single_call_there_is_no_median() -> None:
    one = replace(FEW, resent=1, moved=1, answered_twice=0, resent_s=36.5)
    (seen,) = seen_by(RULE, nothing(resent_calls=(one,)))
    assert seen.seen == (
        "1 of 1\u2009000 calls (0.1 %) was sent again on a new connection, since the old one "
        "broke. Its service time is 36.5 s, that of the others 1.00 ms in the median."
    )


def test_what_to_find_out_of_a_broken_connection() -> None:
    moved = replace(FEW, moved=3)
    (seen,) = seen_by(RULE, nothing(resent_calls=(moved,)))
    assert [advice.action[:32] for advice in seen.advice] == ["Find out why the connection brok"]


@pytest.mark.parametrize(
    ("repeated", "server", "told"), [(3, "10.0.0.1", 0), (2, "10.0.0.1", 1), (3, "10.0.0.9", 1)]
)
def test_what_was_never_answered_is_told_as_that_alone(
    repeated: int, server: str, told: int
) -> None:
    silent = replace(SILENT, server=server, repeated=repeated)
    assert len(seen_by(RULE, nothing(resent_calls=(FEW,), unanswered=(silent,)))) == told


def test_what_answers_that_never_arrived_had_sent_again_is_told_as_that_alone() -> None:
    lost = replace(FEW, lost=FEW.resent, lost_s=2.0)
    for undelivered, told in ((0, 1), (2, 1), (3, 0)):
        silent = replace(SILENT, client=FEW.client, server=FEW.server, undelivered=undelivered)
        found = seen_by(RULE, nothing(resent_calls=(lost,), unanswered=(silent,)))
        assert len(found) == told


def test_over_udp_tcp_comes_first() -> None:
    (seen,) = seen_by(RULE, nothing(resent_calls=(replace(FEW, transports=("UDP",)),)))
    assert seen.advice[0].action.startswith("Mount with proto=tcp")


def test_the_user_may_think_otherwise() -> None:
    found = nothing(resent_calls=(FEW,))
    assert seen_by(RULE, found, "rpc_retransmission.least=4") == []
    assert seen_by(RULE, nothing(resent_calls=())) == []


def test_without_what_the_server_sent_nobody_knows_whether_it_had_answered() -> None:
    (known,) = seen_by(RULE, nothing(resent_calls=(FEW,)))
    (alone,) = seen_by(RULE, nothing(resent_calls=(replace(FEW, alone=True),)))
    assert (known.confidence, alone.confidence) == ("certain", "likely")
    assert "it may have answered before they came again" in alone.seen
