"""The rule for paths that were longer for a while."""

from __future__ import annotations

from pcapnfs.analyses.wire.slower_path import SlowerPath
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.slower_path import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import nothing, seen_by

LONGER = SlowerPath(
    client="10.0.0.2",
    server="10.0.0.1",
    side="server",
    connections=1,
    from_ns=1_700_000_000_000_000_000,
    until_ns=1_700_000_030_000_000_000,
    rtt_s=0.06,
    usual_s=0.0003,
    acks=20,
    turns=400,
    full=12,
    soon=11,
    confidence="certain",
    calls=410,
    longer_s=24.5,
    time_s={"stable": 20.0, "unstable": 4.0},
    full_bytes_per_s=None,
    frames=(5, 9, 11),
)


def test_calls_that_came_late_are_told_with_what_shows_it() -> None:
    late = replace(LONGER, acks=0, turns=0, full=0, soon=0, late_calls=320, full_bytes_per_s=6e6)
    (seen,) = seen_by(RULE, nothing(slower_paths=(late,)))
    assert seen.title == "The link to the server was full for a while"
    assert "320 calls had not reached the server after 60.0 ms (median), as acknowl" in seen.seen
    assert seen.data == "320 late calls on 1 connection"


def test_a_narrow_link_is_told_with_its_rate() -> None:
    narrow = replace(
        LONGER,
        acks=0,
        turns=0,
        full=0,
        soon=0,
        calls=350,
        late_calls=320,
        alone=320,
        full_bytes_per_s=600_000.0,
        full_of="calls",
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(narrow,)))
    assert seen.title == "The link to the server is narrow"
    assert seen.seen.endswith(
        "No other data was under way when these were sent, so that they waited for nothing but "
        "their own bytes: what the acknowledgements did take in had come at 586 KiB a second "
        "(4.80 Mbit/s). 350 calls took 24.5 s longer for it."
    )
    # Fair queueing helps where others wait behind the data.
    assert len(seen.advice) == 2


def test_a_narrow_link_to_the_client_is_told_by_replies() -> None:
    narrow = replace(
        LONGER,
        side="client",
        acks=0,
        turns=0,
        full=0,
        soon=0,
        calls=0,
        alone=48,
        gaps=69,
        time_s={"client": 2.5},
        full_bytes_per_s=1_200_000.0,
        full_of="replies",
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(narrow,)))
    assert seen.title == "The link to the client is narrow"
    assert " 48 replies had not reached the client after " in seen.seen
    assert seen.seen.endswith(
        "had come at 1.14 MiB a second (9.60 Mbit/s). 69 calls came later for it: that was 2.50 s "
        "of the time in which none was under way."
    )
    assert "a client that is slow to call again" in seen.why
    assert seen.data.startswith("48 late replies on ")


def test_what_late_calls_cost_is_no_guess_where_their_reason_is_one() -> None:
    late = replace(LONGER, late_calls=320, confidence="likely")
    (seen,) = seen_by(RULE, replace(bound_by("round_trips"), slower_paths=(late,)))
    assert (seen.severity, seen.confidence) == ("problem", "likely")
    answers = replace(late, late_calls=0)
    (seen,) = seen_by(RULE, replace(bound_by("round_trips"), slower_paths=(answers,)))
    assert seen.severity == "warning"


def test_replies_that_came_late_are_told_by_the_servers_clock() -> None:
    late = replace(
        LONGER, acks=0, turns=0, full=0, soon=0, late_replies=410, back_s=0.03, stays=True
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(late,)))
    assert seen.title == "The path to the server became longer, and stayed so"
    assert seen.seen == (
        "From 22:13:20 to 22:13:50 UTC, and to the end of the capture, 410 small replies came "
        "30.0 ms later (median) after the server had sent them than others did, by its clock in "
        "their TCP timestamps: its work is not in that. A round trip took 60.0 ms, otherwise "
        "300 µs. 410 calls sent and answered meanwhile took 24.5 s longer for it."
    )
    assert seen.data == "410 late replies on 1 connection"
    (seen,) = seen_by(RULE, nothing(slower_paths=(replace(late, stays=False),)))
    assert seen.title == "The path to the server was longer for a while"
    assert seen.seen.startswith("From 22:13:20 to 22:13:50 UTC 410 small replies")


def test_it_says_when_and_by_what_it_is_known() -> None:
    (seen,) = seen_by(RULE, nothing(slower_paths=(LONGER,)))
    assert seen.title == "The path to the server was longer for a while"
    assert seen.seen == (
        "From 22:13:20 to 22:13:50 UTC even the quickest of 420 answers of the server took "
        "60.0 ms, a round trip otherwise 300 µs. 11 of them were ACKs that came soon after "
        "another: an end that delays its ACKs sends one for all. 410 calls sent and answered "
        "meanwhile took 24.5 s longer for it."
    )
    assert seen.claims == (Claim("stable", 20.0), Claim("unstable", 4.0))
    assert (seen.confidence, seen.about) == ("certain", ("10.0.0.2", "10.0.0.1"))


def test_acks_of_full_sized_segments_show_it_where_none_is_delayed_for_as_long() -> None:
    (seen,) = seen_by(RULE, nothing(slower_paths=(replace(LONGER, rtt_s=0.3, soon=0),)))
    assert (
        "12 of them were ACKs of two full-sized segments or more, which no end delays for as long."
        in seen.seen
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(replace(LONGER, soon=0),)))
    assert "ACKs of two" not in seen.seen


def test_what_is_merely_possible_is_a_note() -> None:
    maybe = replace(
        LONGER, rtt_s=0.02, full=0, soon=0, confidence="possible", calls=0, longer_s=0.0, time_s={}
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(maybe,)))
    assert (seen.severity, seen.claims) == ("note", ())
    assert seen.title == "The path to the server may have been longer for a while"


def test_on_the_clients_half_it_costs_what_it_took_between_calls() -> None:
    far = replace(LONGER, side="client", calls=0, longer_s=0.0, gaps=398, time_s={"client": 11.1})
    (seen,) = seen_by(RULE, nothing(slower_paths=(far,)))
    assert seen.seen.endswith(
        " Each reply came to the client later by that, and its next call as much later: before 398 "
        "calls that was 11.1 s of the time in which none was under way."
    )
    assert seen.claims == (Claim("client", 11.1),)
    assert seen.severity == "warning"


def test_on_the_clients_half_it_is_a_warning_without_cost() -> None:
    far = replace(LONGER, side="client", calls=0, longer_s=0.0, time_s={}, frames=())
    (seen,) = seen_by(RULE, nothing(slower_paths=(far,)))
    assert (seen.severity, seen.claims) == ("warning", ())


def test_a_little_longer_is_nothing() -> None:
    short = replace(LONGER, rtt_s=LONGER.usual_s + 0.0019)
    assert seen_by(RULE, nothing(slower_paths=(short,))) == []


def test_a_link_that_the_servers_data_filled_is_told_as_one() -> None:
    full = replace(
        LONGER, side="client", calls=0, rtt_s=0.15, full_bytes_per_s=1_200_000.0, full_of="replies"
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(full,)))
    assert seen.title == "The link to the client was full for a while"
    assert seen.seen.endswith(
        " Meanwhile the server's data moved at 1.14 MiB a second (9.60 Mbit/s), evenly, "
        "one large reply after the other."
    )


def test_calls_that_were_later_the_more_was_under_way_are_told_so() -> None:
    full = replace(
        LONGER, full_bytes_per_s=1_200_000.0, full_of="calls", late_calls=30, follows=True
    )
    (seen,) = seen_by(RULE, nothing(slower_paths=(full,)))
    assert seen.title == "The link to the server was full for a while"
    assert (
        " They were the later the more of the client's data was under way, each by what that takes "
        "at about 1.14 MiB a second (9.60 Mbit/s); with little under way a round trip took no "
        "longer." in seen.seen
    )
    assert "what each link on the way is to carry" in seen.advice[0].action


def test_a_link_that_the_clients_data_filled_is_told_as_one() -> None:
    full = replace(LONGER, rtt_s=0.15, full_bytes_per_s=1_200_000.0, full_of="calls")
    (seen,) = seen_by(RULE, nothing(slower_paths=(full,)))
    assert seen.title == "The link to the server was full for a while"
    assert (
        " Meanwhile the client's data moved at 1.14 MiB a second (9.60 Mbit/s), evenly, "
        "one large call after the other. 410 calls, those while its queue grew or went included, "
        "took 24.5 s longer for it." in seen.seen
    )
    assert "link" in seen.advice[0].action
    assert not any("timeo" in each.action for each in seen.advice)


def test_a_link_to_the_client_that_keeps_acknowledgements_waiting_is_told_as_one() -> None:
    """As captured at the client: what is late is what the server sends behind its replies."""
    full = replace(LONGER, rtt_s=0.15, full_bytes_per_s=1_200_000.0, full_of="replies")
    (seen,) = seen_by(RULE, nothing(slower_paths=(full,)))
    assert seen.title == "The link to the client was full for a while"
    assert "answers of the server" in seen.seen
    assert " Meanwhile the server's data moved at 1.14 MiB a second" in seen.seen
    assert not any("failover" in each.action for each in seen.advice)
