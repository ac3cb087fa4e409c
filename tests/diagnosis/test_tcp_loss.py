"""The rule for TCP segments that were lost."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.analyses.wire.caps import Caps, Pair
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.tcp_stalls import LossyConnection, TcpStalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.tcp_loss import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.limits import PAIR
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_delegation_recall import CALLED
from tests.diagnosis.test_rpc_retransmission import FEW
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
    longest_s=0.3,
    longest_from_ns=1_700_000_000_000_000_000,
    frames=(5, 9, 11),
)

LATE = replace(LOSSY, client_resent=55, server_resent=46, spurious=101, stalls=32)
"""All had arrived, both ways: a machine that did not get to run."""

CUT = replace(
    LOSSY, client_resent=4, server_resent=0, stalls=1, time_s={"unstable": 25.0}, longest_s=25.0
)


def test_what_had_arrived_both_ways_was_late_and_not_lost() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(LATE,)))
    assert seen.title == "TCP sent again what had arrived: it was late, and not lost"
    assert seen.confidence == "likely"
    assert "steal time" in seen.advice[0].action
    assert "ethtool" not in str(seen.advice)


def test_what_may_have_been_lost_is_told_as_lost() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(LATE, spurious=90),)))
    assert seen.title == "TCP had to send segments again"
    assert "ethtool" in seen.advice[0].action


@pytest.mark.parametrize(
    "changes",
    [{"server_resent": 0, "spurious": 55}, {"client_resent": 4, "spurious": 50}],
    ids=["of one end", "nearly all of one end"],
)
def test_of_what_one_end_had_before_the_answer_may_be_lost(changes: dict[str, int]) -> None:
    arrived = replace(LATE, **changes)  # type: ignore[arg-type]
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(arrived,)))
    assert (seen.title, seen.confidence) == ("TCP sent again what had arrived", "likely")
    assert "steal time" in seen.advice[0].action
    assert "ethtool" in seen.advice[1].action
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(arrived, out_of_order=3),)))
    assert seen.title == "TCP had to send segments again"
    assert "overtaken" in seen.why


@pytest.mark.parametrize(
    ("took_s", "severity"), [(0.09, None), (0.2, "note"), (0.99, "note"), (1.2, "warning")]
)
def test_few_are_told_where_they_took_much(took_s: float, severity: str | None) -> None:
    """The verdict names what took a twentieth of the time, the budget what took a hundredth."""
    few = replace(LOSSY, client_resent=1, server_resent=0, stalls=1, time_s={"client": took_s})
    found = seen_by(RULE, nothing(tcp_stalls=(few,), time_budget=clock()))
    assert [seen.severity for seen in found] == ([severity] if severity else [])
    # What several cost together, or one client of its time, makes none of them graver.
    assert all((seen.at_most, seen.confidence) == (severity, "likely") for seen in found)


def test_what_never_reaches_the_client_is_told_first_of_all() -> None:
    deaf = replace(
        LOSSY, server_resent=112, stalls=0, time_s={}, longest_s=0.0, undelivered=2,
        undelivered_bytes=17_872, undelivered_resent=110,
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(deaf,)))
    assert (seen.severity, seen.title) == (
        "problem",
        "What the server sends does not reach the client",
    )
    assert seen.seen.endswith(
        " 2 connections ended while the server sent again what the client never acknowledged: "
        "17.5 KiB, in 110 segments more than once."
    )
    assert "ping -M do" in seen.advice[0].action
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(deaf, undelivered=0),)))
    assert seen.title == "TCP had to send segments again"
    # Another rule tells it; what else was lost is told here.
    silent = replace(SILENT, client=deaf.client, server=deaf.server, undelivered=3)
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(deaf,), unanswered=(silent,)))
    assert seen.title == "TCP had to send segments again"
    alone = replace(deaf, client_resent=0, server_resent=110)
    assert seen_by(RULE, nothing(tcp_stalls=(alone,), unanswered=(silent,))) == []


def test_what_one_of_several_connections_lost_is_told_by_its_port() -> None:
    one = replace(
        LOSSY, client_resent=10, server_resent=14, worst=LossyConnection(670, 22, 1500, 1500)
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(one,)))
    assert seen.seen.endswith(
        " 22 of those sent again were on the connection from port 670, which carried 1\u2009500 "
        "segments; 1\u2009500 went over others at the same time."
    )
    assert "single links" in seen.advice[0].action
    assert one.worst is not None
    for worst in (
        None,
        replace(one.worst, resent=21),
        replace(one.worst, beside=1499),
    ):
        (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(one, worst=worst),)))
        assert "port" not in seen.seen
        assert "single links" not in seen.advice[0].action
    few = replace(one, client_resent=9, server_resent=0, worst=LossyConnection(670, 9, 100, 3000))
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(few,)))
    assert "port 670" not in seen.seen


def test_more_than_one_in_a_thousand() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(LOSSY,)))
    assert seen.seen == (
        "5 of 4\u2009000 segments with data (0.1 %) were sent again: 3 by the client, 2 by the "
        "server. 3 calls stood still for as long as TCP's retransmission timer takes (200 ms and "
        "more), 600 ms in all; the longest was sent at 22:13:20 UTC."
    )
    # Wireshark takes some of what was sent again for out of order.
    assert seen.display_filter == "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    (late,) = seen_by(RULE, nothing(tcp_stalls=(replace(LOSSY, longest_late=True),)))
    assert late.seen.endswith(
        "600 ms in all; the longest came after the reply sent at 22:13:20 UTC."
    )
    (one,) = seen_by(RULE, nothing(tcp_stalls=(replace(LOSSY, stalls=1, client_resent=5),)))
    assert one.seen.endswith("600 ms in all; it was sent at 22:13:20 UTC.")
    assert seen.claims == (Claim("stable", 0.4), Claim("unstable", 0.2))
    assert seen.data == "4\u2009000 segments on 2 connections"


def test_of_a_shorter_timer_its_length_is_told() -> None:
    short = replace(LOSSY, time_s={"stable": 0.18})
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(short,)))
    assert seen.seen.endswith(
        " 3 calls stood still until something was sent again, 180 ms in all (60.0 ms on average);"
        " the longest was sent at 22:13:20 UTC."
    )


def test_what_was_lost_before_it_came_by_is_likely() -> None:
    unseen = replace(
        LOSSY, client_resent=0, server_resent=0, stalls=80, time_s={"transfer": 16.0}
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(unseen,)))
    assert (seen.title, seen.confidence) == ("TCP had to send segments again", "likely")
    assert seen.seen.startswith(
        "80 messages stopped before the end, for 200 ms on average, 16.0 s in all."
    )


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
        assert "1 of these went to a host that did not answer any more." in found[0].seen


def test_what_had_arrived_before_was_not_lost() -> None:
    arrived = replace(LOSSY, client_resent=9, spurious=6)
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(arrived,)))
    assert "11 of 4\u2009000 segments with data" in seen.seen
    assert "6 of them had arrived before, as the other end says (D-SACK)." in seen.seen
    assert seen_by(RULE, nothing(tcp_stalls=(replace(arrived, spurious=7),))) == []


def test_a_path_that_was_cut_is_told_however_few_segments_that_took() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(CUT, segments=10**6),)))
    assert (seen.severity, seen.title) == ("warning", "The path let nothing through for a while")
    assert seen.seen.endswith("One call, sent at 22:13:20 UTC, stood still for 25.0 s.")
    assert "ping" in seen.advice[1].action
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(CUT, stalls=2),)))
    assert seen.seen.endswith(
        "2 calls took 25.0 s of the clock longer for it; the longest, sent at 22:13:20 UTC, stood "
        "still for 25.0 s."
    )


@pytest.mark.parametrize("change", [{"longest_s": 2.9}, {"client_resent": 3}])
def test_segments_sent_again_too_seldom_for_the_timer_do_not_tell_of_a_cut(
    change: dict[str, float],
) -> None:
    pair = replace(CUT, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(tcp_stalls=(pair,))) == []


@pytest.mark.parametrize(("moved", "stalls", "told"), [(1, 0, False), (1, 3, True), (0, 0, True)])
def test_what_went_to_a_connection_that_broke_is_no_loss(
    moved: int, stalls: int, told: bool
) -> None:
    pair = replace(LOSSY, client_resent=9, server_resent=0, stalls=stalls)
    broken = replace(FEW, moved=moved)
    assert bool(seen_by(RULE, nothing(tcp_stalls=(pair,), resent_calls=(broken,)))) is told


@pytest.mark.parametrize(("returned", "told"), [(1, False), (2, True)])
def test_what_went_to_a_client_that_is_gone_is_no_loss(returned: int, told: bool) -> None:
    pair = replace(LOSSY, client_resent=0, server_resent=9, stalls=0)
    recalls = replace(CALLED, recalled=2, returned=returned)
    assert bool(seen_by(RULE, nothing(tcp_stalls=(pair,), recalls=(recalls,)))) is told


def test_without_stalls_it_is_said_and_one_in_a_hundred_is_grave() -> None:
    quick = replace(LOSSY, stalls=0, time_s={}, frames=(), out_of_order=7)
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(quick,)))
    assert seen.severity == "note"
    assert "7 came out of order. No call that was answered stood still" in seen.seen
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(replace(quick, segments=500),)))
    assert seen.severity == "warning"


HELD = LossRate(
    client="10.0.0.2",
    server="10.0.0.1",
    sender="server",
    connections=1,
    lost=40,
    lost_share=0.005,
    segment_bytes=1448,
    rtt_s=0.0103,
    moved_bytes=12 << 20,
    moving_s=6.0,
    bytes_per_s=float(2 << 20),
    allowed_bytes_per_s=float(9 << 18),
    time_s=5.5,
)


def test_a_transfer_that_is_held_down_is_told_with_the_rate_that_such_a_loss_allows() -> None:
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(LOSSY,), loss_rates=(HELD,)))
    assert (seen.title, seen.confidence) == ("Lost segments hold the transfer down", "likely")
    assert seen.seen.endswith(
        " The server's data moved at 2.00 MiB a second (16.8 Mbit/s); of its 8\N{THIN SPACE}000 "
        "segments on the wire (the capture may have several as one) 40 were lost (0.5 %). "
        "Where that many are and a round trip takes 10.3 ms, TCP comes to about 2.25 MiB a second."
    )
    assert seen.claims == (Claim("stable", 0.4), Claim("transfer", 5.5), Claim("unstable", 0.2))
    assert "square root of the loss" in seen.why
    assert [advice.action.split(":")[0] for advice in seen.advice] == [
        "Look for the place",
        "Or let the server not take each loss for a full link",
    ]
    several = (replace(HELD, connections=4), replace(HELD, sender="client", time_s=1.0))
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(LOSSY,), loss_rates=several))
    assert "2.00 MiB a second (16.8 Mbit/s) on each of 4 connections; of its" in seen.seen
    assert "The client's data moved" in seen.seen
    assert Claim("transfer", 6.5) in seen.claims
    assert "let the client and the server not" in seen.advice[-1].action


def test_what_stood_still_while_its_data_moved_is_claimed_once() -> None:
    for still_s, claimed_s in ((0.5, 5.5), (7.0, 7.0)):
        lossy = replace(LOSSY, time_s={"transfer": still_s})
        (seen,) = seen_by(RULE, nothing(tcp_stalls=(lossy,), loss_rates=(HELD,)))
        assert seen.claims == (Claim("transfer", claimed_s),)


def test_few_losses_are_told_where_they_hold_a_transfer_down() -> None:
    few = replace(LOSSY, segments=100_000, time_s={}, stalls=0)
    assert seen_by(RULE, nothing(tcp_stalls=(few,))) == []
    (seen,) = seen_by(RULE, nothing(tcp_stalls=(few,), loss_rates=(HELD,)))
    assert seen.title == "Lost segments hold the transfer down"
    other = replace(HELD, client="10.0.0.3")
    assert seen_by(RULE, nothing(tcp_stalls=(few,), loss_rates=(other,))) == []


@pytest.mark.parametrize(
    ("pair", "software", "shared"),
    [
        (PAIR, (), "nconnect=4; it was 1,"),
        (PAIR, ("Linux 6.1.176",), "nconnect=4; it was 1,"),
        (replace(PAIR, connections=4), (), "nconnect=8; it was 4,"),
        (PAIR, ("FreeBSD 14.1",), None),
        (replace(PAIR, mean=1.9), (), None),
        (replace(PAIR, connections=16), (), None),
    ],
)
def test_more_connections_share_it_where_the_client_can_and_has_calls_for_them(
    pair: Pair, software: tuple[str, ...], shared: str | None
) -> None:
    kinds = tuple(Kind(told, "implementation", 1, (PAIR.client,), 1) for told in software)
    ends = {"client": PAIR.client, "server": PAIR.server}
    found = nothing(
        tcp_stalls=(replace(LOSSY, **ends),),  # type: ignore[arg-type]
        loss_rates=(replace(HELD, **ends),),  # type: ignore[arg-type]
        caps=Caps((pair,), ()),
        software=Software(clients=kinds),
    )
    (seen,) = seen_by(RULE, found)
    told = [advice.action for advice in seen.advice if "nconnect" in advice.action]
    assert [shared in action for action in told if shared] == [True] * len(told)
    assert bool(told) is (shared is not None)
