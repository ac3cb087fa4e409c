"""The rule for calls that were never answered."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.unanswered import Unanswered
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.unanswered_calls import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

SILENT = Unanswered(
    client="10.0.0.2",
    server="10.0.0.1",
    calls=3,
    asked=40,
    answered=37,
    answered_later=0,
    answered_elsewhere=0,
    answered_again=0,
    operations=("WRITE", "GETATTR"),
    paths=("a/b",),
    large=2,
    resent=0,
    unreceived=0,
    unreceived_bytes=0,
    repeated=0,
    given_up=0,
    cut_short=0,
    datagrams=False,
    lossy=False,
    longest_s=60.0,
    time_s=59.0,
    frames=(90, 91, 92),
)


def test_what_came_may_be_nothing_that_anybody_can_read() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, misframed=3),)))
    assert seen.title == "What came for an answer cannot be read: a record mark is wrong"
    assert " After they came bytes that no record mark explains" in seen.seen
    assert len(seen.advice) == 2
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, misframed=1),)))
    assert " After 1 of them came bytes" in seen.seen
    assert seen.title == "The server stopped answering"


def test_calls_that_are_numbered_like_others() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, same_xid=3),)))
    assert seen.title == "The server takes calls for ones that it has answered"
    assert "dmesg" not in str(seen.advice)
    # The server answers others that are numbered so.
    for others, title in ((2, seen.title), (3, "The server stopped answering")):
        changed = replace(SILENT, same_xid=3, same_xid_answered=others)
        (told,) = seen_by(RULE, nothing(unanswered=(changed,)))
        assert told.title == title
    (told,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, same_xid=3, ended_at_once=3),)))
    assert told.title == "The server ended the connection instead of answering"
    # One of several may be chance.
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, same_xid=2),)))
    assert seen.title == "The server stopped answering"


def test_a_server_that_ends_connections_leaves_programs_with_errors() -> None:
    ended = replace(SILENT, calls=1, cut_short=1, ended_at_once=1, time_s=0.003, longest_s=0.003)
    (seen,) = seen_by(RULE, nothing(unanswered=(ended,)))
    assert seen.title == "The server ended the connection instead of answering"
    assert seen.severity == "warning"
    assert "The server ended the connection while it waited." in seen.seen
    assert not any("hard" in advice.action for advice in seen.advice)
    # Others waited for long.
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(ended, calls=2),)))
    assert seen.title == "The server stopped answering"


def test_a_server_that_stops_answering() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(SILENT,)))
    assert seen.title == "The server stopped answering"
    assert seen.seen == (
        "3 of 40 calls (WRITE, GETATTR) had no answer 1 m 0 s after the "
        "first of them was sent: a/b. Nothing was answered after that."
    )
    assert seen.claims == (Claim("waiting", 59.0),)
    assert seen.confidence == "likely"
    assert "hard" in seen.advice[-1].action


def test_of_one_call_it_is_told_how_long_it_waited() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, calls=1, large=0),)))
    assert "1 m 0 s after it was sent: a/b." in seen.seen


def test_answers_that_are_lost_on_the_way() -> None:
    lost = replace(SILENT, unreceived=3, unreceived_bytes=16384, answered_elsewhere=4)
    (seen,) = seen_by(RULE, nothing(unanswered=(lost,)))
    assert seen.title == "The server's answers do not arrive"
    assert seen.seen.endswith(
        " The server acknowledged them, and sent 16.0 KiB that never came here, as its sequence "
        "numbers say. Calls to other services of that host were answered meanwhile: 4."
    )
    assert "ping -M do" in seen.advice[0].action
    assert "macOS and FreeBSD: ping -D -s, ESXi: vmkping -d -s" in seen.advice[0].action
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(lost, unreceived=2),)))
    assert seen.title == "The server stopped answering"


def test_answers_that_are_lost_behind_the_capture() -> None:
    lost = replace(SILENT, undelivered=3, undelivered_bytes=11_636)
    (seen,) = seen_by(RULE, nothing(unanswered=(lost,)))
    assert seen.title == "The server's answers do not arrive"
    assert seen.seen.endswith(
        " The client never acknowledged 11.4 KiB that the server sent, and sent again and again. "
        "Nothing was answered after that."
    )
    assert "on its way to the client" in seen.why
    assert "ping -M do" in seen.advice[0].action
    assert "Capture at the client" in seen.advice[1].action
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(lost, undelivered=2),)))
    assert seen.title == "The server stopped answering"


def test_what_was_sent_again_as_another_call_is_told() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, replayed=2),)))
    assert (
        " The client sent 2 of them again on another connection, in the same slot of the session "
        "with another xid, and got an answer there" in seen.seen
    )


def test_who_ended_the_connection_is_told() -> None:
    ended = replace(SILENT, given_up=2, cut_short=1)
    (seen,) = seen_by(RULE, nothing(unanswered=(ended,)))
    assert "The client ended the connection while 2 of them waited." in seen.seen
    assert "The server ended the connection while 1 of them waited." in seen.seen
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, given_up=3),)))
    assert "The client ended the connection while they waited." in seen.seen
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, calls=1, cut_short=1),)))
    assert "The server ended the connection while it waited." in seen.seen


def test_one_that_answers_others_meanwhile() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, answered_later=5),)))
    assert seen.title == "The server left some calls unanswered"
    assert seen.seen.endswith("Calls sent later and answered: 5.")


@pytest.mark.parametrize(("large", "begins"), [(2, "If these are READs"), (3, "No call as long")])
def test_what_nothing_acknowledges_while_others_are_answered_is_lost(
    large: int, begins: str
) -> None:
    lost = replace(SILENT, answered_later=5, resent=2, large=large)
    (seen,) = seen_by(RULE, nothing(unanswered=(lost,)))
    assert seen.title == "Some calls, or their answers, do not arrive"
    assert "tasks that hang" not in " ".join(each.action for each in seen.advice)
    assert seen.advice[0].action.startswith(begins)
    # One segment may be lost.
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(lost, resent=1),)))
    assert seen.title == "The server left some calls unanswered"


@pytest.mark.parametrize(("resent", "large", "mtu"), [(9, 2, False), (9, 3, True), (1, 3, False)])
def test_what_does_not_arrive_may_be_too_large(resent: int, large: int, mtu: bool) -> None:
    """One segment that was lost says nothing; nor do large calls, if small ones wait as well."""
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, resent=resent, large=large),)))
    assert seen.title.startswith("What the client sends does not reach") is (resent > 1)
    assert any("ping -M do" in each.action for each in seen.advice) is mtu


def test_a_path_that_let_as_large_ones_through_drops_none_for_their_size() -> None:
    lost = replace(SILENT, resent=9, large=3, as_large_answered=1)
    (seen,) = seen_by(RULE, nothing(unanswered=(lost,)))
    assert not any("ping -M do" in each.action for each in seen.advice)


@pytest.mark.parametrize(
    ("resent", "title"), [(5, "The server cannot be reached"), (0, "The server does not answer")]
)
def test_a_server_that_never_answered(resent: int, title: str) -> None:
    (seen,) = seen_by(
        RULE, nothing(unanswered=(replace(SILENT, asked=3, answered=0, large=3, resent=resent),))
    )
    assert seen.title == title
    assert not any("ping -M do" in each.action for each in seen.advice)


def test_few_of_them_can_be_left_out() -> None:
    assert seen_by(RULE, nothing(unanswered=(SILENT,)), "unanswered_calls.least=4") == []


def test_calls_that_were_repeated_may_have_arrived() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, repeated=4),)))
    assert seen.title == "The server stopped answering"
    assert "The client sent 4 RPC calls again." in seen.seen
    assert "segment" not in seen.seen


def test_over_udp_nothing_tells_whether_calls_arrive() -> None:
    """Nothing is acknowledged there."""
    silent = replace(SILENT, asked=3, answered=0, repeated=4, datagrams=True)
    (seen,) = seen_by(RULE, nothing(unanswered=(silent,)))
    assert seen.title == "The server does not answer"
    assert "not known whether the calls arrived" in seen.why


@pytest.mark.parametrize("later", [0, 2])
def test_a_portmapper_that_is_silent_over_udp_is_behind_a_firewall(later: int) -> None:
    """Although it, or others, answer over TCP meanwhile."""
    silent = replace(
        SILENT,
        operations=("GETPORT",),
        paths=(),
        answered_later=later,
        repeated=2,
        datagrams=True,
    )
    (seen,) = seen_by(RULE, nothing(unanswered=(silent,)))
    assert seen.title == "The portmapper does not answer over UDP"
    assert "firewall" in seen.why
    assert ("answered meanwhile" in seen.why) is (later > 0)
    assert "mountproto=tcp" in seen.advice[0].action
    assert not any("hard" in each.action or "files" in each.action for each in seen.advice)


def test_some_calls_over_udp_may_be_dropped() -> None:
    silent = replace(SILENT, answered_later=5, repeated=4, datagrams=True)
    (seen,) = seen_by(RULE, nothing(unanswered=(silent,)))
    assert seen.title == "The server left some calls over UDP unanswered"
    assert "fragments" in seen.why
    assert "hard" in seen.advice[-1].action


@pytest.mark.parametrize("later", [0, 5])
@pytest.mark.parametrize(
    ("operations", "where"),
    [
        (("GETPORT", "GETADDR"), "rpcbind"),
        (("MNT",), "mountd"),
        (("MNT", "GETPORT"), "mountd"),
        (("EXCHANGE_ID",), "login"),
    ],
)
def test_what_comes_before_files_has_nothing_of_files(
    operations: tuple[str, ...], where: str, later: int
) -> None:
    silent = replace(SILENT, operations=operations, paths=(), answered_later=later)
    (seen,) = seen_by(RULE, nothing(unanswered=(silent,)))
    (advice,) = seen.advice
    assert where in advice.action
    assert "tape" not in seen.why


def test_calls_for_files_beside_it_are_about_files() -> None:
    silent = replace(SILENT, operations=("EXCHANGE_ID", "READ"), paths=("a",), answered_later=5)
    (seen,) = seen_by(RULE, nothing(unanswered=(silent,)))
    assert "tape" in seen.why


def test_a_capture_that_lacks_packets_may_lack_the_answers() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, repeated=1, lossy=True),)))
    assert (seen.severity, seen.at_most, seen.confidence) == ("note", "note", "possible")
    assert seen.claims == ()
    assert "may lack the answers" in seen.why


def test_a_damaged_file_may_lack_the_answers() -> None:
    found = nothing(unanswered=(SILENT,))
    found = replace(found, trust=replace(found.trust, damaged_files=1))
    (seen,) = seen_by(RULE, found)
    assert seen.confidence == "possible"


def test_what_another_connection_answered_later_says_nothing_of_the_hang() -> None:
    (seen,) = seen_by(RULE, nothing(unanswered=(replace(SILENT, answered_again=5),)))
    assert seen.title == "The server stopped answering"
    assert seen.seen.endswith(" 5 calls were answered later, on another connection.")
