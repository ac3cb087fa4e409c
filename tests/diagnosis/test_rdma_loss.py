"""The rule for packets of RDMA that were sent again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.rdma_losses import RdmaLosses
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.rdma_loss import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

LOST = RdmaLosses(
    client="10.0.0.2",
    server="10.0.0.1",
    messages=3000,
    client_resent=46,
    server_resent=192,
    held=12,
    longest_s=0.266,
    longer_s=1.1,
    late=0,
    late_s=0.0,
    time_s={"stable": 0.6, "unstable": 0.5},
    frames=(5, 9),
)


def test_what_calls_took_longer_meanwhile_is_claimed() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), rdma_losses=(LOST,)))
    assert (seen.severity, seen.confidence) == ("problem", "certain")
    assert seen.seen == (
        "The client sent 46 packets again, the server 192, beside 3\u2009000 messages of both. "
        "Meanwhile 12 calls took 1.10 s longer than others of their kind, 266 ms at most."
    )
    assert seen.claims == (Claim("stable", 0.6), Claim("unstable", 0.5))
    assert (seen.frames, seen.about, seen.calls) == ((5, 9), ("10.0.0.2", "10.0.0.1"), 12)


def test_calls_that_came_late_are_told_beside_those_that_took_longer() -> None:
    late = replace(LOST, late=3, late_s=6.5, time_s={"client": 6.5, "stable": 0.6})
    (seen,) = seen_by(RULE, replace(bound_by("client"), rdma_losses=(late,)))
    assert seen.seen.endswith(
        "266 ms at most. 3 calls came as soon as a packet was sent again, after 6.50 s without a "
        "call: a reply had not got through."
    )
    assert seen.calls == 15
    alone = replace(late, held=0, longer_s=0.0, longest_s=0.0, client_resent=1, server_resent=0)
    (seen,) = seen_by(RULE, replace(bound_by("client"), rdma_losses=(alone,)))
    assert "took" not in seen.seen


def test_where_no_call_took_longer_it_is_a_note() -> None:
    free = replace(LOST, held=0, longer_s=0.0, longest_s=0.0, time_s={}, frames=())
    (seen,) = seen_by(RULE, replace(bound_by("client"), rdma_losses=(free,)))
    assert seen.severity == "note"
    assert seen.seen.endswith("No call took much longer for that.")


@pytest.mark.parametrize(("held", "told"), [(0, False), (1, True)])
def test_a_few_packets_are_told_if_a_call_waited(held: int, told: bool) -> None:
    few = replace(LOST, client_resent=3, server_resent=1, held=held)
    assert bool(seen_by(RULE, replace(bound_by("client"), rdma_losses=(few,)))) is told
