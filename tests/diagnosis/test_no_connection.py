"""The rule for connections that were asked for in vain."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.vain_connections import VainConnections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.no_connection import RULE
from pcapnfs.meta import Vain
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

ASKED = Vain(
    client="10.0.0.2",
    server="10.0.0.1",
    port=2049,
    attempts=2,
    syns=8,
    refusals=0,
    first_ns=30_000_000_000,
    last_ns=110_000_000_000,
    frame=9,
)

VAIN = VainConnections(
    asked=ASKED,
    program=None,
    since_s=30.0,
    lasted_s=90.0,
    waits=True,
    connected=False,
    idle_s=90.0,
)


def test_who_asked_and_for_how_long_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, nothing(vain_connections=(VAIN,)))
    assert seen.seen == (
        "The client sent 8 SYNs in 2 attempts to port 2049, the first 30.0 s after the capture's "
        "begin. Nobody answered for 1 m 30 s; it still waited as the capture ended. No call was "
        "under way meanwhile: 1 m 30 s in all."
    )
    (timed,) = seen_by(RULE, nothing(vain_connections=(replace(VAIN, from_ns=17 * 10**17),)))
    assert "30.0 s after the capture's begin (22:13:20 UTC). Nobody" in timed.seen
    assert (seen.about, seen.frames) == (("10.0.0.2", "10.0.0.1"), (9,))
    assert (seen.confidence, seen.claims) == ("certain", (Claim("client", 90.0),))
    assert "a firewall dropped them" in seen.why


@pytest.mark.parametrize(
    ("refusals", "syns", "told"),
    [
        (8, 8, "All were refused (RST), and none accepted in 1 m 30 s"),
        (3, 8, "3 were refused (RST), and none"),
        (1, 1, "1 was refused (RST), and none"),
    ],
)
def test_what_was_refused(refusals: int, syns: int, told: str) -> None:
    asked = replace(ASKED, refusals=refusals, syns=syns)
    pair = replace(VAIN, asked=asked)
    (seen,) = seen_by(RULE, nothing(vain_connections=(pair,)))
    assert told in seen.seen
    assert "refused" in seen.title
    assert any("systemctl status nfs-server" in each.action for each in seen.advice)
    portmapper = replace(VAIN, asked=replace(asked, port=111))
    (seen,) = seen_by(RULE, nothing(vain_connections=(portmapper,)))
    assert any("rpcbind" in each.action for each in seen.advice)


@pytest.mark.parametrize(
    ("program", "name", "does"),
    [
        (100021, "the lock manager (NLM)", "mount with nolock"),
        (100005, "mountd (MOUNT)", "restart mountd"),
        (100024, "statd (NSM)", "restart rpc.statd"),
    ],
)
@pytest.mark.parametrize("refusals", [0, 8])
def test_a_service_that_the_portmapper_told_is_named(
    program: int, name: str, does: str, refusals: int
) -> None:
    asked = replace(ASKED, port=44919, refusals=refusals)
    (seen,) = seen_by(
        RULE, nothing(vain_connections=(replace(VAIN, asked=asked, program=program),))
    )
    assert f" to port 44919, where {name} listens as the portmapper says, the first" in seen.seen
    advice = " ".join(each.action for each in seen.advice)
    assert "nfs-server" not in advice
    # Where nobody answers, a firewall that lets port 2049 through alone is what comes first.
    assert (does in advice) is (refusals > 0)
    assert seen.advice[0].action.startswith("A firewall must let") is (refusals == 0)


@pytest.mark.parametrize(
    ("port", "program", "refusals", "told"),
    [
        (111, None, 0, "when a lock is free"),
        (44919, 100021, 8, "when a lock is free"),
        (42035, None, 0, "delegation"),
    ],
)
def test_a_server_that_cannot_call_its_client(
    port: int, program: int | None, refusals: int, told: str
) -> None:
    asked = replace(ASKED, port=port, refusals=refusals)
    pair = replace(VAIN, asked=asked, program=program, back=True, idle_s=0.0)
    (seen,) = seen_by(RULE, nothing(vain_connections=(pair,)))
    assert seen.title.startswith("The server could not call its client: ")
    assert seen.seen.startswith("The server sent 8 SYNs in 2 attempts to port ")
    assert f"to port {port} of its client" in seen.seen
    assert told in seen.why
    advice = " ".join(each.action for each in seen.advice)
    assert "client's firewall" in advice
    assert "Is the server up" not in advice


def test_one_syn_of_a_capture_that_lacks_packets_is_little_evidence() -> None:
    one = replace(VAIN, asked=replace(ASKED, attempts=1, syns=1))
    whole = nothing(vain_connections=(one,))
    for trust, confidence in [
        (whole.trust, "likely"),
        (replace(whole.trust, missing_bytes=1), "possible"),
        (replace(whole.trust, dropped_packets=1), "possible"),
        # What hung since the server was gone, or another host's direction, is no loss.
        (replace(whole.trust, unanswered=2, unanswered_at_end=1), "likely"),
        (replace(whole.trust, missing_bytes=1, bytes_alone=1), "likely"),
        (replace(whole.trust, orphan_replies=2, orphan_replies_at_start=1), "possible"),
    ]:
        (seen,) = seen_by(RULE, replace(whole, trust=trust))
        assert seen.confidence == confidence


def test_who_did_something_else_is_warned() -> None:
    other = replace(VAIN, asked=replace(ASKED, attempts=1, syns=1), idle_s=0.0, waits=False)
    (seen,) = seen_by(RULE, nothing(vain_connections=(other,)))
    assert (seen.severity, seen.confidence, seen.claims) == ("warning", "likely", ())
    assert seen.seen == (
        "The client sent 1 SYN to port 2049, 30.0 s after the capture's begin. Nobody answered for "
        "1 m 30 s; then it gave up."
    )


def test_a_connection_that_came_from_another_port() -> None:
    """What a call waited meanwhile is told of that call."""
    found = replace(VAIN, waits=False, connected=True)
    (seen,) = seen_by(RULE, nothing(vain_connections=(found,)))
    assert "Nobody answered for 1 m 30 s; then it got a connection." in seen.seen
    (seen,) = seen_by(RULE, nothing(vain_connections=(replace(found, idle_s=0.0),)))
    assert seen.severity == "note"


def test_what_did_not_last_is_not_told() -> None:
    short = nothing(vain_connections=(replace(VAIN, lasted_s=0.9),))
    assert seen_by(RULE, short) == []
    assert seen_by(RULE, short, "no_connection.least=0.5")


@pytest.mark.parametrize(("syns", "told"), [(2, 0), (3, 1)])
def test_answers_that_would_not_be_captured_are_not_missed(syns: int, told: int) -> None:
    pair = replace(VAIN, asked=replace(ASKED, attempts=2, syns=syns))
    alone = nothing(vain_connections=(replace(pair, alone=True),))
    # By another clock an answer stands before what it answers.
    apart = nothing(vain_connections=(pair,))
    apart = replace(apart, trust=replace(apart.trust, clocks_apart_s=0.005))
    for found, confidence in ((alone, "possible"), (apart, "likely")):
        assert [each.confidence for each in seen_by(RULE, found)] == [confidence] * told


@pytest.mark.parametrize(
    ("back", "title"),
    [
        (False, "No connection: no answer to the client's SYNs is in the capture"),
        (True, "The server could not call its client: no answer to its SYNs is in the capture"),
    ],
)
def test_who_answers_in_a_direction_that_was_not_captured_may_have_refused(
    back: bool, title: str
) -> None:
    (seen,) = seen_by(RULE, nothing(vain_connections=(replace(VAIN, alone=True, back=back),)))
    assert seen.title == title
    assert "No answer is in the capture for 1 m 30 s; it still waited" in seen.seen
    assert ("may have refused" in seen.why) is not back
