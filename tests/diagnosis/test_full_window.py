"""The rule for TCP windows that are too small for the path."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules import (
    round_trip_bound,
    session_slots,
    single_connection,
    transfer_bound,
)
from pcapnfs.diagnosis.rules.full_window import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by, clock
from tests.diagnosis.limits import PAIR, SLOTS, limited
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.test_captured_at_server import THERE
from tests.diagnosis.test_round_trip_bound import FAR
from tests.diagnosis.test_tcp_loss import LOSSY

FULL = FullWindow(
    client="10.0.0.2",
    server="10.0.0.1",
    receiver="client",
    connections=1,
    busy_connections=1,
    window_bytes=5_120,
    scaled=True,
    rtt_s=0.02,
    turn_s=0.0206,
    stood_s=4.0,
    time_s={"read": 1.0, "transfer": 3.0},
)


def of(window: FullWindow = FULL, **parts: object) -> Material:
    """The material of a run of 10 s."""
    rows = {"transfer": 5.0, "read": 3.0}
    return nothing(full_windows=(window,), time_budget=clock(**rows), **parts)


def test_it_is_told_with_its_window_and_what_it_cost() -> None:
    (seen,) = seen_by(RULE, of())
    assert seen.severity == "problem"
    assert seen.title == "The client's TCP window holds the data down"
    assert seen.seen == (
        "For 4.00 s the server had sent all that the client's window allowed, and stood until it "
        "was told of more: a window of 5.00 KiB (median), which went round in 20.6 ms; the path's "
        "round trip is 20.0 ms."
    )
    assert "5.00 KiB in each 20.0 ms is 250 KiB a second" in seen.why
    assert seen.claims == (Claim("read", 1.0), Claim("transfer", 3.0))
    larger, slow, more = (advice.action for advice in seen.advice)
    assert "a path of 20.0 ms takes 2.38 MiB under way for 1 Gbit/s" in larger
    assert "net.ipv4.tcp_rmem" in larger
    assert "does not take out" in slow
    assert "nconnect=4; it was 1" in more


@pytest.mark.parametrize(
    ("stood_s", "severity"), [(1.0, "problem"), (0.11, "warning"), (0.1, "warning"), (0.09, None)]
)
def test_it_is_grave_by_its_cost(stood_s: float, severity: str | None) -> None:
    seen = seen_by(RULE, of(replace(FULL, time_s={"transfer": stood_s})))
    assert [each.severity for each in seen] == ([severity] if severity else [])


def test_a_cost_that_is_a_note_is_not_told() -> None:
    budget = clock(transfer=5.0)
    long = replace(budget, total=replace(budget.total, wall_s=505.0, client_s=500.0))
    assert seen_by(RULE, nothing(full_windows=(FULL,), time_budget=long)) == []


def test_a_window_that_is_not_scaled_is_told_as_that_first() -> None:
    (seen,) = seen_by(RULE, of(replace(FULL, scaled=False, window_bytes=65_535)))
    assert seen.advice[0].action.startswith("Have windows scaled")
    assert seen.seen.endswith("at least one of the two SYNs lacks the option.")
    # One that is small without that is so for its buffer.
    (seen,) = seen_by(RULE, of(replace(FULL, scaled=False)))
    assert seen.advice[0].action.startswith("Give the client a larger TCP receive buffer")


def test_writes_tell_of_the_servers_window_and_what_its_system_has() -> None:
    (seen,) = seen_by(RULE, of(replace(FULL, receiver="server")))
    assert seen.title == "The server's TCP window holds the data down"
    assert "Give the server a larger TCP receive buffer" in seen.advice[0].action
    assert "unmount at the client" in seen.advice[0].action


def test_who_has_many_connections_is_told_of_more_up_to_the_most() -> None:
    several = replace(FULL, connections=3, busy_connections=4)
    (seen,) = seen_by(RULE, of(several))
    assert "(mean of 4 connections that shared the transfer; 3 had a full window)" in seen.seen
    assert "nconnect=8; it was 4" in seen.advice[-1].action
    (seen,) = seen_by(RULE, of(replace(FULL, busy_connections=16)))
    assert "nconnect" not in str(seen.advice)


def test_transfers_leave_it_to_this_one() -> None:
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    for time_s, first, severity in (
        (2.5, "Mend the window first", "note"),
        (2.4, "Compare the rate", "problem"),
    ):
        window = replace(FULL, time_s={"transfer": time_s})
        (seen,) = seen_by(transfer_bound.RULE, replace(found, full_windows=(window,)))
        assert (seen.severity, seen.confidence) == (severity, "certain")
        assert seen.advice[0].action.startswith(first)


def test_slots_that_wait_for_it_are_a_note() -> None:
    for part, severity in ((0.5, "note"), (0.49, "warning")):
        waits = replace(FULL, client=SLOTS.client, server=SLOTS.server)
        waits = replace(waits, time_s={"transfer": part * SLOTS.full_s})
        found = replace(limited(SLOTS), full_windows=(waits,))
        (seen,) = seen_by(session_slots.RULE, found)
        assert seen.severity == severity
        assert ("full TCP window" in seen.why) is (severity == "note")


@pytest.mark.parametrize(
    ("window", "told"),
    [
        (FULL, True),
        # A tenth of the 5 s that the network takes; a little less; and WRITEs.
        (replace(FULL, time_s={"read": 0.5}), True),
        (replace(FULL, time_s={"read": 0.49}), False),
        (replace(FULL, receiver="server"), False),
    ],
)
def test_reads_that_wait_for_a_window_gain_nothing_by_read_ahead(
    window: FullWindow, told: bool
) -> None:
    reads = Runs(900, 900, 131072, None, spared.NONE, 0.0)
    none = replace(reads, calls=0, in_runs=0)
    runs = TransferRuns("10.0.0.2", "10.0.0.1", reads, none, False, 0, spared.NONE, 0, 0, 0, 0.0)
    found = bound_by("round_trips", **(FAR | {"network_s": (("read", 5.0),)}))
    (seen,) = seen_by(
        round_trip_bound.RULE, replace(found, transfer_runs=(runs,), full_windows=(window,))
    )
    assert ("TCP window of 5.00 KiB was full" in seen.advice[0].action) is told
    assert ("Have the client read further ahead" in seen.advice[0].action) is not told


def test_who_tells_of_several_connections_is_this_one() -> None:
    found = limited(pair=replace(PAIR, mean=2.0), named="transfer")
    window = replace(FULL, client=PAIR.client, server=PAIR.server)
    assert seen_by(single_connection.RULE, replace(found, full_windows=(window,))) == []
    small = replace(window, time_s={"transfer": 0.09})
    assert len(seen_by(single_connection.RULE, replace(found, full_windows=(small,)))) == 1


def test_windows_that_are_known_are_not_guessed_at() -> None:
    """2 MiB a second over 30 ms are 61 KiB in each round trip, as without scaling."""
    found = bound_by("transfer", rows={"transfer": 5.0, "read": 1.0})
    (trip,) = THERE.pairs
    trips = replace(found.round_trips, pairs=(replace(trip, path_s=0.03),))
    few = replace(LOSSY, client_resent=2, server_resent=2, stalls=0)
    for windows_told, guessed in ((True, False), (False, True)):
        stalls = (replace(few, windows_told=windows_told),)
        (seen,) = seen_by(transfer_bound.RULE, replace(found, round_trips=trips, tcp_stalls=stalls))
        assert ("small TCP window" in seen.why) is guessed
        assert seen.confidence == ("likely" if guessed else "certain")
