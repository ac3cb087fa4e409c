"""The rule for servers that restarted."""

from __future__ import annotations

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.lost_state import TWINS
from pcapnfs.diagnosis.rules.server_restart import CUT_OFF, RULE
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


def test_the_time_of_which_to_read_the_log_is_told() -> None:
    """It restarted between two answers; where only state was lost, before that was told."""
    at = 1_700_000_000 * 10**9
    named = replace(RESTARTED, old_ns=at, new_ns=at + 40 * 10**9, lost_ns=at + 50 * 10**9)
    (seen,) = seen_by(RULE, nothing(restarts=(named,)))
    assert "its log from 22:13:20 to 22:14:00 UTC (journalctl" in seen.advice[0].action
    # It refused calls before anything was written again.
    soon = replace(named, refused_ns=at + 3 * 10**9)
    (seen,) = seen_by(RULE, nothing(restarts=(soon,)))
    assert "its log from 22:13:20 to 22:13:23 UTC" in seen.advice[0].action
    (seen,) = seen_by(RULE, nothing(restarts=(replace(named, verifiers=1, refused_ns=at),)))
    assert "its log before 22:13:20 UTC (journalctl" in seen.advice[0].action
    (seen,) = seen_by(RULE, nothing(restarts=(RESTARTED,)))
    assert "its log around that time (journalctl" in seen.advice[0].action


def test_lost_state_alone_may_have_another_reason() -> None:
    (seen,) = seen_by(RULE, nothing(restarts=(replace(RESTARTED, verifiers=1),)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")


def test_a_client_that_was_not_heard_for_long_may_have_been_cut_off() -> None:
    lost = replace(
        RESTARTED, verifiers=1, moved=0, unreachable_s=0.0, refused=0, lost_state=1, unheard_s=27.0
    )
    (seen,) = seen_by(RULE, nothing(restarts=(lost,)))
    assert seen.title == "The server 10.0.0.1 does not know its clients any more"
    assert seen.seen == (
        "1 call met NFS4ERR_BADSESSION. Before that it had answered the client nothing for 27.0 s."
    )
    assert seen.advice[0] == CUT_OFF
    for changes in ({"unheard_s": 9.0}, {"unheard_s": None}, {"refused": 7}):
        (seen,) = seen_by(RULE, nothing(restarts=(replace(lost, **changes),)))
        assert CUT_OFF not in seen.advice
        assert "Before that" not in seen.seen


def test_state_that_is_lost_while_a_connection_lives_on_was_ended() -> None:
    ended = replace(RESTARTED, verifiers=1, kept=True, moved=0, unreachable_s=0.0, refused=0)
    (seen,) = seen_by(RULE, nothing(restarts=(ended,)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.title == "The server 10.0.0.1 ended the state of a client"
    assert seen.seen == (
        "2 calls met NFS4ERR_BADSESSION. A connection to the server lived on, so that it did not "
        "restart. Before that it had answered the client nothing for 16.0 s."
    )
    for changes in ({"verifiers": 2}, {"refused": 1}):
        (seen,) = seen_by(RULE, nothing(restarts=(replace(ended, **changes),)))  # type: ignore[arg-type]
        assert "ended" not in seen.title


def test_state_that_is_ended_again_and_again_is_another_clients_of_that_name() -> None:
    ended = replace(
        RESTARTED, verifiers=1, kept=True, moved=0, unreachable_s=0.0, refused=0, lost_state=9,
        logins=6, unheard_s=4.61,
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(restarts=(ended,)))
    assert seen.severity == "problem"
    assert seen.title == "The server 10.0.0.1 ends the state of a client again and again"
    assert seen.seen == (
        "9 calls met NFS4ERR_BADSESSION. A connection to the server lived on, so that it did not "
        "restart. Before that it had answered the client nothing for 4.61 s at most. It "
        "logged in 6 times."
    )
    assert seen.advice[0] == TWINS
    for changes in ({"logins": 3}, {"unheard_s": 31.0}, {"unheard_s": None}):
        (seen,) = seen_by(RULE, nothing(restarts=(replace(ended, **changes),)))
        assert "ended the state" in seen.title


def test_so_it_is_where_connections_broke_later() -> None:
    ended = replace(
        RESTARTED, verifiers=1, kept_first=True, moved=0, unreachable_s=0.0, refused=0,
        lost_state=9, logins=6, unheard_s=4.61,
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(restarts=(ended,)))
    assert seen.title == "The server 10.0.0.1 ends the state of a client again and again"
    assert "When that came first, a connection to the server lived on" in seen.seen
    for changes in ({"logins": 3}, {"unheard_s": 31.0}, {"kept_first": False}, {"refused": 7}):
        (seen,) = seen_by(RULE, nothing(restarts=(replace(ended, **changes),)))
        assert seen.title == "The server 10.0.0.1 does not know its clients any more"


def test_a_grace_period_alone_was_another_restart() -> None:
    late = replace(RESTARTED, verifiers=1, lost_state=0)
    assert seen_by(RULE, nothing(restarts=(late,))) == []


def test_clients_that_log_in_again_and_again_share_a_name() -> None:
    lost = replace(RESTARTED, verifiers=1, lost_state=30, losers=2, logins=8)
    (seen,) = seen_by(RULE, nothing(restarts=(lost,)))
    assert seen.title == "Clients of 10.0.0.1 end each other's state"
    assert seen.seen == (
        "30 calls of 2 clients met NFS4ERR_BADSESSION, and these clients logged in 8 times."
    )
    assert seen.advice[0] == TWINS
    for changes in ({"logins": 7}, {"losers": 1}, {"verifiers": 2}):
        (seen,) = seen_by(RULE, nothing(restarts=(replace(lost, **changes),)))  # type: ignore[arg-type]
        assert "each other" not in seen.title


def test_a_new_verifier_after_an_error_is_told_with_the_error() -> None:
    full = replace(RESTARTED, lost_state=0, after_errors=1, errors=("NFS3ERR_NOSPC",))
    assert seen_by(RULE, nothing(restarts=(full,))) == []
    (seen,) = seen_by(RULE, nothing(restarts=(replace(full, verifiers=4),)))
    assert seen.title == "The server 10.0.0.1 restarted"
    assert seen.seen.startswith("The write verifier changed 2 times.")


def test_a_new_verifier_on_an_old_connection_is_no_restart() -> None:
    lived = replace(RESTARTED, lost_state=0, verifiers=3, outlived=2)
    (seen,) = seen_by(RULE, nothing(restarts=(lived,)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert "restarted" not in seen.title
    assert seen.seen == (
        "The write verifier changed 2 times, and connections lived on: the server did not restart. "
        "3 WRITEs (12.0 KiB) of what had been written UNSTABLE before came again."
    )
    (seen,) = seen_by(RULE, nothing(restarts=(replace(lived, rewritten=0),)))
    assert seen.seen.endswith("the server did not restart.")
