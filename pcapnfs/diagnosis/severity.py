"""How grave a finding is by what it costs: the same shares for all rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import Claim, Severity

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

PROBLEM_SHARE = 0.1
"""What costs this share of the time budget is a problem."""

WARNING_SHARE = 0.01
"""What costs this share of it is a warning; anything less is a note."""


def by_cost(material: Material, claims: Iterable[Claim], *, sure: bool = True) -> Severity:
    """The severity of a finding that is grave only by its cost.

    Args:
        material: What the rules judge by.
        claims: What the finding costs.
        sure: Without it, the finding is a warning at most: there is another explanation.
    """
    cost = sum(max(claim.seconds, 0.0) for claim in claims)
    return of_cost(cost, sum(material.budget_rows().values()), "problem" if sure else "warning")


def of_cost(cost_s: float, total_s: float, most: Severity) -> Severity:
    """The severity of a cost, seconds of a time budget of `total_s`; `most` at most."""
    if total_s <= 0 or cost_s < WARNING_SHARE * total_s:
        return "note"
    return most if cost_s >= PROBLEM_SHARE * total_s else "warning"
