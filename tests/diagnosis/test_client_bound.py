"""The rule for runs that do not wait for NFS."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.wire.late_connections import LateConnections
from pcapnfs.diagnosis.rules.client_bound import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by, bound_each, of_client
from tests.diagnosis.material import seen_by
from tests.diagnosis.test_captured_at_server import THERE
from tests.diagnosis.test_rdma_loss import LOST


def test_time_without_calls_is_told_and_not_claimed() -> None:
    (seen,) = seen_by(RULE, bound_by("client"))
    assert (seen.severity, seen.confidence, seen.claims) == ("note", "certain", ())
    assert seen.seen == (
        "From the first call of NFS to the last reply, no call was under way for 6.00 s, 60.0 % of "
        "the run."
    )


def test_the_clients_time_is_shorter_with_fewer_calls() -> None:
    """Findings on calls that can be spared have it in their costs: it is not all beside NFS."""
    (seen,) = seen_by(RULE, bound_by("client"))
    assert "not NFS" not in seen.title
    assert "fewer calls shorten it by what the client takes for each" in seen.why


@pytest.mark.parametrize(("unused_s", "told"), [(0.5, False), (2.0, True)])
def test_pauses_are_told_apart_from_a_busy_client(unused_s: float, told: bool) -> None:
    (seen,) = seen_by(RULE, bound_by("client", unused_s=unused_s))
    assert ("2.00 s of it are pauses of a second or more" in seen.seen) is told


@pytest.mark.parametrize(("put_off_s", "sure"), [(0.59, True), (0.61, False)])
def test_pauses_may_be_the_servers_where_most_statuses_are_not_known(
    put_off_s: float, sure: bool
) -> None:
    """Of six seconds without a call, whatever there was before the first and behind the last."""
    (seen,) = seen_by(RULE, bound_by("client", put_off_most_s=put_off_s))
    of_two = of_client(2, "client", put_off_most_s=put_off_s, client_s=60.0)
    (alike,) = seen_by(RULE, bound_each(of_two, of_client(3, "persistence")))
    assert (alike.title, alike.confidence) == (seen.title, seen.confidence)
    assert seen.confidence == ("certain" if sure else "possible")
    assert seen.title.endswith(": the client itself" + ("" if sure else " or the server"))
    assert ("where the server put calls off" in seen.why) is not sure


def test_what_rdma_lost_before_the_capture_may_be_in_it() -> None:
    found = replace(bound_by("client"), rdma_losses=(LOST,))
    (seen,) = seen_by(RULE, found)
    assert "Packets of RDMA were lost" in seen.why
    (seen,) = seen_by(RULE, bound_by("client"))
    assert "lost" not in seen.why


@pytest.mark.parametrize(("away_s", "told"), [(0.0, False), (3.5, False), (3.6, True)])
def test_long_pauses_that_the_verdict_leaves_out_are_told_here(away_s: float, told: bool) -> None:
    """Of 10 s of work half a second is without a call, with the pauses 30 % of all."""
    found = bound_by("persistence", client_s=0.5 + away_s, unused_s=away_s, away_s=away_s)
    assert found.bottleneck.verdict is not None
    whole_s = sum(each.time_s for each in found.bottleneck.verdict.causes)
    assert whole_s == pytest.approx(10.0)
    seen = seen_by(RULE, found)
    assert bool(seen) is told
    if told:
        assert seen[0].seen == (
            "From the first call of NFS to the last reply, no call was under way for 4.10 s, "
            "30.1 % of the run. 3.60 s of it are pauses of a second or more, in which perhaps "
            "nothing was run at all: before the work began, or between two commands."
        )


@pytest.mark.parametrize("away_s", [0.0, 30.0, 60.0])
def test_long_pauses_that_the_verdict_leaves_out_do_not_make_the_rest_sure(away_s: float) -> None:
    """Who is not known to be the client may be the network, whatever lies beside the work."""
    found = bound_by("client", client_s=6.0 + away_s, unused_s=away_s, away_s=away_s)
    (there,) = THERE.pairs
    nowhere = replace(there, vantage="unknown", client_side=replace(there.client_side, rtt_s=None))
    total = replace(found.time_budget.total, placed_share=0.0)
    found = replace(
        found,
        round_trips=replace(found.round_trips, pairs=(nowhere,)),
        time_budget=replace(found.time_budget, total=total),
    )
    (seen,) = seen_by(RULE, found)
    assert seen.confidence == "possible"


def test_of_one_of_several_clients_long_pauses_are_told_beside_its_work() -> None:
    paused = of_client(2, "persistence", away_s=90.0)
    (seen,) = seen_by(RULE, bound_each(paused, of_client(3, "persistence")))
    assert seen.about == paused.about
    assert seen.seen == (
        "From the client's first call to its last reply, no call was under way for 1 m 30 s, "
        "90.5 % of that time. 1 m 30 s in pauses of 30 s or more are a part of it: perhaps nothing "
        "was run then."
    )


def test_waiting_for_locks_is_told_apart() -> None:
    found = bound_by("client")
    said = found.bottleneck.verdict
    assert said is not None
    causes = tuple(
        replace(each, time_s=1.0, share=0.2) if each.cause == "locks" else each
        for each in said.causes
    )
    waited = replace(found.bottleneck, verdict=replace(said, causes=causes))
    (seen,) = seen_by(RULE, replace(found, bottleneck=waited))
    assert "60.0 % of the run, without 1.00 s of waiting for locks." in seen.seen


def test_where_the_place_is_unknown_it_may_be_the_network() -> None:
    found = bound_by("client")
    total = replace(found.time_budget.total, placed_share=0.0)
    unplaced = replace(found, time_budget=replace(found.time_budget, total=total))
    (seen,) = seen_by(RULE, unplaced)
    assert seen.confidence == "possible"
    assert seen.title.endswith("the client itself or the network")
    assert "the network is in it" in seen.why


@pytest.mark.parametrize(
    ("rtt_s", "sure"), [(None, False), (0.0061, False), (0.0059, True), (0.0, True)]
)
def test_what_the_network_may_have_of_it_is_bounded(rtt_s: float | None, sure: bool) -> None:
    """A tenth of 6 s, as a round trip to the client for each of 100 calls."""
    found = bound_by("client", client_s=60.0)
    total = replace(found.time_budget.total, placed_share=0.0)
    way = replace(THERE.pairs[0].client_side, rtt_s=rtt_s)
    pair = replace(THERE.pairs[0], vantage="unknown", client_side=way)
    (seen,) = seen_by(
        RULE,
        replace(
            found,
            time_budget=replace(found.time_budget, total=total),
            round_trips=replace(THERE, pairs=(pair,)),
        ),
    )
    assert (seen.confidence == "certain", "network is in it" not in seen.why) == (sure, sure)
    assert seen.title.endswith("the client itself") is sure


def test_a_handful_of_calls_says_nothing() -> None:
    assert seen_by(RULE, bound_by("client", calls=29)) == []
    assert seen_by(RULE, bound_by("client", calls=30))


def test_what_the_verdict_does_not_name_is_not_told() -> None:
    assert seen_by(RULE, bound_by("persistence")) == []


def test_waiting_for_a_connection_is_told_apart() -> None:
    """The verdict takes it for waiting: what it has the client for is beside that."""
    found = bound_by("client", "waiting", client_s=13.0)
    late = LateConnections(
        client="10.0.0.2",
        server="10.0.0.1",
        connections=1,
        longest_s=6.5,
        idle_s=6.5,
        resent=1,
        attempts=0,
        refusals=0,
        challenges=0,
        resent_answers=0,
        syn_s=None,
        lossy=False,
        frames=(1,),
    )
    for idle_s, waited_s in ((5.5, "5.50 s"), (6.5, "6.00 s")):
        pair = replace(late, idle_s=idle_s)
        (seen,) = seen_by(RULE, replace(found, late_connections=(pair,)))
        assert seen.seen.endswith(
            f" 60.0 % of the run, without {waited_s} of waiting for a connection."
        )
    assert seen_by(RULE, replace(bound_by("waiting"), late_connections=(late,))) == []


VARYING = replace(
    THERE.pairs[0].client_side,
    rtt_s=0.0006,
    source="handshake",
    handshakes=1,
    handshake_s=0.0006,
    acks=9,
    ack_s=0.0047,
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, True),
        ({"handshakes": 3}, False),
        ({"acks": 2}, False),
        ({"ack_s": 0.0017}, False),
        ({"handshakes": 0, "handshake_s": None}, False),
        ({"handshake_s": 0.0003, "ack_s": 0.00099}, False),
        ({"source": "acks", "rtt_s": 0.0047}, True),
        ({"source": "gaps"}, False),
    ],
    ids=str,
)
def test_a_path_that_varies_may_have_a_part_in_it(change: dict[str, Any], *, told: bool) -> None:
    pair = replace(THERE.pairs[0], client_side=replace(VARYING, **change))
    found = replace(bound_by("client"), round_trips=replace(THERE, pairs=(pair,)))
    (seen,) = seen_by(RULE, found)
    assert ("1 handshake took 600 µs, but 9 ACKs took 4.70 ms" in seen.why) is told
    assert seen.confidence == ("possible" if told else "certain")
