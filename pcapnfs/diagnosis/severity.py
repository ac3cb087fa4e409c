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
    budget = material.budget_rows()
    cost = sum(max(claim.seconds, 0.0) for claim in claims)
    total = sum(budget.values())
    if total <= 0 or cost < WARNING_SHARE * total:
        return "note"
    return "problem" if sure and cost >= PROBLEM_SHARE * total else "warning"
