"""What the rules share that say what a run is bound by: the verdict's causes, and how grave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pcapnfs.analyses.verdict import Cause
    from pcapnfs.diagnosis.finding import Claim, Severity
    from pcapnfs.diagnosis.material import Material

BOUND_SHARE = 0.5
"""More than half of the time budget in one cause is a problem: nothing else is worth mending
before. Less is a warning, since a run has to spend its time on something."""

LEAST = 30
"""Calls that a finding on time in general must rest on."""


def named(material: Material, cause: str) -> Cause | None:
    """A cause, if the verdict names it, and there are calls enough to speak of time in general."""
    verdict = material.bottleneck.verdict
    if verdict is None or cause not in verdict.named or material.bottleneck.calls < LEAST:
        return None
    return next(each for each in verdict.causes if each.cause == cause)


def severity(material: Material, claims: Iterable[Claim], *, large: bool) -> Severity:
    """How grave it is.

    Args:
        material: What the rules judge by.
        claims: What it takes.
        large: Without it, it is a note: as good as it can be expected to be.
    """
    if not large:
        return "note"
    total = sum(material.budget_rows().values())
    cost = sum(claim.seconds for claim in claims)
    return "problem" if total > 0 and cost >= BOUND_SHARE * total else "warning"


def data(material: Material) -> str:
    """How much there was to judge by."""
    found = material.bottleneck
    return (
        f"{wording.times(found.calls, 'call')}, {units.count(found.stable_calls)} of them stable; "
        f"{units.count(found.small_calls)} small ones that show the round trip"
    )
