"""What rests on a pause of which nothing tells is no more than possible."""

from __future__ import annotations

from pcapnfs.diagnosis.finding import Claim, Observed
from pcapnfs.diagnosis.pause import doubted
from pcapnfs.diagnosis.rules.client_bound import RULE as CLIENT
from pcapnfs.diagnosis.rules.stalled_calls import RULE as STALLED
from pcapnfs.diagnosis.rules.transfer_bound import RULE as TRANSFER
from pcapnfs.diagnosis.rules.unaligned_writes import RULE as UNALIGNED
from pcapnfs.record import replace
from tests.views import samples

SEEN = Observed(
    severity="problem",
    title="It takes long",
    seen="It took an hour.",
    why="",
    advice=(),
    confidence="certain",
    data="",
    claims=(Claim("transfer", 3700.0),),
)
TRUST = replace(samples.trust(), untold_pause_s=3600.0, untold_pause_frame=77)


def test_what_needs_the_pause_is_possible_and_no_problem() -> None:
    found = doubted(TRANSFER, SEEN, TRUST)
    assert (found.severity, found.confidence) == ("warning", "possible")
    assert found.seen == (
        "It took an hour. It rests on 60 m 0 s before frame 77 in which nothing was captured: if "
        "the clock of the capturing host was set forward there, it is not so."
    )
    assert (found.claims, found.title) == (SEEN.claims, SEEN.title)


def test_time_without_calls_needs_it_though_it_claims_nothing() -> None:
    idle = replace(SEEN, claims=(), severity="note")
    assert doubted(CLIENT, idle, TRUST).confidence == "possible"
    assert doubted(UNALIGNED, idle, TRUST) == idle


def test_what_costs_less_does_not_need_it() -> None:
    small = replace(SEEN, claims=(Claim("transfer", 3419.0),))
    assert doubted(TRANSFER, small, TRUST) == small


def test_what_holds_nearly_all_of_it_needs_it() -> None:
    """Of a call that stood still for an hour, what such calls usually take is not claimed."""
    still = replace(SEEN, claims=(Claim("unstable", 3599.98),))
    assert doubted(STALLED, still, TRUST).severity == "warning"


def test_without_such_a_pause_nothing_is_doubted() -> None:
    assert doubted(TRANSFER, SEEN, samples.trust()) == SEEN
