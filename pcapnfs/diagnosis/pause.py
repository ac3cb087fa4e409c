"""Findings that rest on one pause of the capture, of which nothing tells whether it was one.

Takes what a rule saw; gives the same with what is doubtful about it. The capture's clock may have
been set forward meanwhile: no packet was on its way for an hour, nor did the client sleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.trust import NEARLY
from pcapnfs.record import replace

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.diagnosis.finding import Observed, Rule, Severity


def doubted(rule: Rule, seen: Observed, trust: Trust) -> Observed:
    """What a rule saw, which is no more than possible where it needs that pause to be one."""
    pause_s = trust.untold_pause_s
    # What claims nothing, but speaks of all time, is about the time without calls.
    needs = sum(claim.seconds for claim in seen.claims) if seen.claims else None
    if pause_s is None:
        return seen
    if needs < NEARLY * pause_s if needs is not None else not rule.general:
        return seen
    frame = trust.untold_pause_frame
    where = f" before frame {frame}" if frame is not None else ""
    return replace(
        seen,
        severity=_warning(seen.severity),
        at_most=seen.at_most and _warning(seen.at_most),
        seen=f"{seen.seen} It rests on {units.duration(pause_s)}{where} in which nothing was "
        "captured: if the clock of the capturing host was set forward there, it is not so.",
        confidence="possible",
    )


def _warning(severity: Severity) -> Severity:
    """As grave, but no problem."""
    return "warning" if severity == "problem" else severity
