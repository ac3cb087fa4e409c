"""Runs the rules over a trace: the one place where material, thresholds and rules meet.

Takes a trace; gives `Findings`. A rule that saw nothing is silent; `checked` says how many looked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.diagnosis import material as _material
from pcapnfs.diagnosis.finding import Finding, Observed, Rule
from pcapnfs.diagnosis.first import OUTAGES, ToDo, to_do
from pcapnfs.diagnosis.pause import doubted
from pcapnfs.diagnosis.rules import RULES
from pcapnfs.diagnosis.settle import settle
from pcapnfs.diagnosis.severity import by_client
from pcapnfs.diagnosis.thresholds import Threshold, Values, chosen
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.trace import Trace

READS = _material.READS
"""The columns that the rules' material is made of."""


class Judged(Record):
    """How much was looked at, and what all findings together cost."""

    checked: int
    """Rules that looked."""
    budget_s: float
    """The time budget of which costs are shares: the capture's span, once for each client, s."""
    booked_s: float
    """What the costs add up to, seconds."""
    clients: int = 1
    """The clients whose clocks that budget is."""
    worked_s: float | None = None
    """The run of the only client without pauses of a second or more in which perhaps nothing was
    run, seconds: what is worth doing is a part of this. None of several clients, and where nothing
    tells where the time went: then it is a part of the budget."""
    to_do: ToDo = ToDo()
    """What is to be done first, of these findings."""


class Findings(Record):
    """What the rules found."""

    findings: tuple[Finding, ...]
    """Gravest first, of one severity the costliest first: by what is not counted in others."""
    checked: int
    """Rules that looked."""
    budget_s: float
    """The time budget of which costs are shares: the capture's span, once for each client, s."""
    booked_s: float
    """What the costs add up to, seconds."""
    clients: int = 1
    """The clients whose clocks that budget is."""
    worked_s: float | None = None
    """The run of the only client without pauses of a second or more in which perhaps nothing was
    run, seconds: what is worth doing is a part of this. None of several clients, and where nothing
    tells where the time went: then it is a part of the budget."""
    to_do: ToDo = ToDo()
    """What is to be done first, of these findings."""

    @property
    def judged(self) -> Judged:
        """The same without the findings."""
        return Judged(
            self.checked, self.budget_s, self.booked_s, self.clients, self.worked_s, self.to_do
        )


def thresholds() -> tuple[Threshold, ...]:
    """All thresholds of all rules, in the rules' order."""
    return tuple(threshold for rule in RULES for threshold in rule.thresholds)


def findings(trace: Trace, *, values: Values | None = None) -> Findings:
    """Let all rules look at a trace.

    Args:
        trace: The trace.
        values: The thresholds (`thresholds.chosen`); None for their own values.
    """
    return judge(_material.gather(trace), values=values)


def judge(material: Material, *, values: Values | None = None) -> Findings:
    """Let all rules look at what the analyses gave."""
    return judge_by(RULES, material, values=values)


def judge_by(
    rules: Iterable[Rule], material: Material, *, values: Values | None = None
) -> Findings:
    """Let these rules look at what the analyses gave."""
    rules = tuple(rules)
    limits = chosen(thresholds()) if values is None else values
    rows = material.budget_rows()
    told = [
        (rule, by_client(material, seen))
        for rule in rules
        for seen in rule.judge(material, limits)
        if not _of_many(rule, seen)
    ]
    if material.trust.times_untold:
        told = [(rule, seen) for rule, seen in told if not (rule.of_times or seen.claims)]
    if material.trust.untold_pause_s is not None:
        told = [(rule, doubted(rule, seen, material.trust)) for rule, seen in told]
    found = settle(told, rows, one_stream=len(material.capture.streams) < 2)
    budget_s, worked_s = sum(rows.values()), _worked_s(material.bottleneck)
    return Findings(
        findings=found,
        checked=len(rules),
        budget_s=budget_s,
        booked_s=sum(finding.cost_s or 0.0 for finding in found),
        clients=max(1, material.time_budget.total.clients),
        worked_s=worked_s,
        to_do=to_do(found, worked_s or budget_s),
    )


def _of_many(rule: Rule, seen: Observed) -> bool:
    """Whether it tells what something costs by taking many hosts for one.

    Equal file handles of several servers are then one file, and clients' clocks are one. That
    nobody answered is true of each call.
    """
    return OTHERS in seen.about and bool(seen.claims or rule.of_times) and rule.id not in OUTAGES


def _worked_s(found: Bottleneck) -> float | None:
    """The run of the only client without its pauses, as its verdict and `client_bound` tell it."""
    if found.verdict is None or found.clients:
        return None
    run_s = sum(cause.time_s for cause in found.verdict.active_causes)
    # What the verdict leaves out is a part of the pauses.
    return max(0.0, run_s - max(0.0, found.unused_s - found.away_s))
