"""The rule for a few calls that stood still."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.stalled_calls import StalledCalls
from pcapnfs.analyses.wire.rdma_losses import RdmaLosses
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.stalled_calls import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by
from tests.unit.rows import START_NS

ONE = StalledCalls(
    server="10.0.0.1",
    clients=("10.0.0.2",),
    calls=1,
    asked=249,
    moments=1,
    operations=("OPEN",),
    paths=("f15",),
    longest_op="OPEN",
    longest_s=3.0,
    usual_s=0.001,
    from_ns=START_NS,
    others_s=0.02,
    answered_meanwhile=10,
    time_s={"stable": 2.999},
    frames=(182, 217),
)


def found(told: StalledCalls) -> Material:
    return replace(bound_by("client"), stalled_calls=(told,))


def test_one_call_is_told_with_what_others_took() -> None:
    (seen,) = seen_by(RULE, found(ONE))
    assert (seen.severity, seen.title) == ("problem", "One call stood still for 3.00 s")
    assert seen.seen == (
        "OPEN of f15, sent at 01:46:40 UTC, was answered after 3.00 s; in the median OPEN took "
        "1.00 ms. None of the client's other calls took longer than 20.0 ms."
    )
    assert seen.why.startswith("The server answered 10 other calls meanwhile")
    assert seen.about == ("10.0.0.2", "10.0.0.1")
    assert (seen.claims, seen.frames) == ((Claim("stable", 2.999),), (182, 217))


def test_a_rare_operation_has_no_median() -> None:
    (seen,) = seen_by(RULE, found(replace(ONE, usual_s=None)))
    assert seen.seen == (
        "OPEN of f15, sent at 01:46:40 UTC, was answered after 3.00 s. None of the client's other "
        "calls took longer than 20.0 ms."
    )


@pytest.mark.parametrize("silence_s", [None, 2.0, 2.999, 4.0])
def test_a_clock_that_was_set_would_look_the_same_where_all_was_silent(
    silence_s: float | None,
) -> None:
    material = found(ONE)
    material = replace(material, trust=replace(material.trust, silence_s=silence_s))
    (seen,) = seen_by(RULE, material)
    assert ("had the clock of the capturing host been set forward" in seen.seen) == (
        silence_s == 2.999
    )
    assert seen.confidence == "likely"
    rests = replace(material.trust, untold_pause_s=3.0)
    (seen,) = seen_by(RULE, replace(material, trust=rests))
    assert "set forward" not in seen.seen, "then it is said of all that rests on that pause"


def test_several_are_told_together() -> None:
    several = replace(
        ONE,
        calls=3,
        moments=2,
        operations=("WRITE", "OPEN"),
        paths=(),
        others_s=None,
        answered_meanwhile=0,
        time_s={"stable": 2.5, "unstable_write": 1.5},
    )
    (seen,) = seen_by(RULE, found(several))
    assert seen.title == "3 calls stood still, the longest for 3.00 s"
    assert seen.seen == (
        "3 calls (WRITE, OPEN) took 4.00 s of the clock, at 2 moments. The longest: OPEN, sent at "
        "01:46:40 UTC, was answered after 3.00 s; in the median OPEN took 1.00 ms."
    )
    assert seen.why.startswith("No other call was answered meanwhile.")


def test_a_path_may_have_been_cut_where_nothing_shows_that_it_was() -> None:
    """Over RDMA, too; where packets were sent again, they may be those of the call."""
    alone = found(replace(ONE, answered_meanwhile=0))
    lost = RdmaLosses("10.0.0.2", "10.0.0.1", 9, 1, 0, 0, 0.0, 0.0, 0, 0.0, {}, ())
    for losses, end in (
        ((), "beyond the capture point, though nothing was sent again here."),
        ((replace(lost, client_resent=0),), ", though nothing was sent again here."),
        ((replace(lost, server="10.0.0.9"),), ", though nothing was sent again here."),
        ((lost,), "or the path was cut beyond the capture point."),
    ):
        (seen,) = seen_by(RULE, replace(alone, rdma_losses=losses))
        assert seen.why.endswith(end)


def test_a_server_that_stood_still_for_several_clients_is_told_once() -> None:
    clients = tuple(f"10.0.0.{number}" for number in range(2, 7))
    (seen,) = seen_by(RULE, found(replace(ONE, clients=clients, calls=5, answered_meanwhile=0)))
    assert seen.title == "5 calls of 5 clients stood still, the longest for 3.00 s"
    assert seen.seen.startswith(
        "5 calls (OPEN) of 10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more took 3.00 s of the clocks, at 1 "
        "moment. The longest, of 10.0.0.2: OPEN of f15, sent at 01:46:40 UTC,"
    )
    assert seen.seen.endswith("None of these clients' other calls took longer than 20.0 ms.")
    assert seen.about == ("10.0.0.1",)


@pytest.mark.parametrize(
    ("operations", "place"),
    [
        (("LOOKUP", "SEQUENCE"), 0),
        (("LOOKUP", "GETATTR"), 1),
        (("LOOKUP", "OPEN"), None),
        (("SEQUENCE", "WRITE"), None),
        (("READ",), None),
    ],
)
def test_what_needs_no_storage_may_wait_for_a_service_that_the_server_asks(
    operations: tuple[str, ...], place: int | None
) -> None:
    (seen,) = seen_by(RULE, found(replace(ONE, operations=operations)))
    told = ["rpc.mountd" in each.action for each in seen.advice]
    assert (told.index(True) if any(told) else None) == place
    assert len(told) == 2 + (place is not None)


def test_what_is_hardly_noticed_is_not_told_unless_it_is_long() -> None:
    short = replace(ONE, longest_s=1.1, time_s={"stable": 0.05})
    assert seen_by(RULE, found(short)) == []
    assert seen_by(RULE, found(short), "stalled_calls.share=0.001") != []
    (seen,) = seen_by(RULE, found(replace(short, longest_s=5.0)))
    assert seen.severity == "note"
