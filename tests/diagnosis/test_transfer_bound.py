"""The rule for runs that wait for bytes."""

from __future__ import annotations

from pcapnfs.analyses.wire.data_rates import DataRate
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.transfer_bound import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_beside, bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.test_captured_at_server import THERE
from tests.diagnosis.test_slower_path import LONGER
from tests.diagnosis.test_tcp_loss import HELD, LOSSY

(TRIP,) = THERE.pairs


def test_the_rate_is_told_while_bytes_moved() -> None:
    (seen,) = seen_by(RULE, bound_by("transfer", rows={"transfer": 5.0, "read": 1.0}))
    assert seen.severity == "problem"
    assert seen.seen == (
        "Bytes of calls and replies were on their way for 5.00 s, 60.0 % of the run: 10.0 MiB in "
        "all, at 2.00 MiB a second (16.8 Mbit/s) while they moved."
    )
    assert seen.claims == (Claim("transfer", 5.0),)


def test_the_rate_of_a_client_is_that_of_its_large_messages_each_way() -> None:
    """10 MiB, of which so much moved in large messages."""
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    there = DataRate(TRIP.client, "client", 6 << 20, 6.0)
    back = DataRate(TRIP.client, "server", 3 << 20, 2.0)
    for rates, told in (
        (
            (there, back),
            ", large calls at 1.00 MiB a second (8.39 Mbit/s) and large replies at 1.50 MiB a "
            "second (12.6 Mbit/s) while they moved.",
        ),
        # A tenth of the bytes is little.
        ((there, replace(back, moved_bytes=1 << 19)), ", large calls at 1.00 MiB a second"),
        # Most of the bytes are in small messages.
        ((back,), ", at 2.00 MiB a second"),
        # Of several clients each has its own link, perhaps.
        ((there, replace(back, client="10.0.0.9")), ", at 2.00 MiB a second"),
    ):
        (seen,) = seen_by(RULE, replace(found, data_rates=rates))
        assert f"10.0 MiB in all{told}" in seen.seen


def test_less_than_half_is_a_warning() -> None:
    (seen,) = seen_by(RULE, bound_by("transfer", rows={"transfer": 4.9}))
    assert seen.severity == "warning"


def test_what_the_verdict_does_not_name_is_not_told() -> None:
    assert seen_by(RULE, bound_by("client", rows={"transfer": 2.0})) == []


def test_where_lost_segments_hold_it_down_a_faster_link_is_no_advice() -> None:
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    for time_s, first, severity in (
        (2.5, "Mend the loss first", "note"),
        (2.4, "Compare the rate", "problem"),
    ):
        (seen,) = seen_by(RULE, replace(found, loss_rates=(replace(HELD, time_s=time_s),)))
        assert seen.advice[0].action.startswith(first)
        assert seen.severity == severity
        assert seen.advice[-1].action.startswith("Move less")


def test_where_segments_are_lost_it_need_not_be_bandwidth() -> None:
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    (whole,) = seen_by(RULE, found)
    assert (whole.confidence, "TCP" in whole.why) == ("certain", False)
    (seen,) = seen_by(RULE, replace(found, tcp_stalls=(LOSSY,)))
    assert (seen.confidence, "another round trip" in seen.why) == ("likely", True)
    few = replace(LOSSY, client_resent=2, server_resent=2, stalls=0)
    (seen,) = seen_by(RULE, replace(found, tcp_stalls=(few,)))
    assert seen.confidence == "certain"


def test_where_little_moves_in_a_round_trip_it_may_be_a_window() -> None:
    """2 MiB a second; without window scaling a window holds 64 KiB."""
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    for path_s, told in ((0.0009, False), (0.03, True), (0.032, False), (None, False)):
        trips = replace(found.round_trips, pairs=(replace(TRIP, path_s=path_s),))
        (seen,) = seen_by(RULE, replace(found, round_trips=trips))
        assert (seen.confidence, "window" in seen.why) == (
            ("likely", True) if told else ("certain", False)
        )
        assert seen.seen.endswith(
            " That is 61.4 KiB in each round trip of 30.0 ms." if told else "while they moved."
        )
    full = replace(LONGER, client=TRIP.client, server=TRIP.server, full_bytes_per_s=1_200_000.0)
    trips = replace(found.round_trips, pairs=(replace(TRIP, path_s=0.03),))
    (seen,) = seen_by(RULE, replace(found, round_trips=trips, slower_paths=(full,)))
    assert seen.confidence == "certain"


def test_a_full_link_loses_segments_and_is_one() -> None:
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    full = replace(LONGER, client=LOSSY.client, server=LOSSY.server, full_bytes_per_s=1_200_000.0)
    (seen,) = seen_by(RULE, replace(found, tcp_stalls=(LOSSY,), slower_paths=(full,)))
    assert seen.confidence == "certain"
    longer = replace(full, full_bytes_per_s=None)
    (seen,) = seen_by(RULE, replace(found, tcp_stalls=(LOSSY,), slower_paths=(longer,)))
    assert seen.confidence == "likely"


def test_moving_data_is_told_of_the_time_at_work() -> None:
    found = bound_beside("client", "transfer", 0.25, rest_s=5.9)
    (seen,) = seen_by(RULE, found)
    assert seen.title == "Much of the time at work goes into moving the data"
    assert "41.0 % of the 6.10 s of the run without pauses in which perhaps" in seen.seen
    assert seen_by(RULE, bound_beside("client", "transfer", 0.25)) == []
