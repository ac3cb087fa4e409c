"""Lets what the rules claim add up to no more than the time there was.

Takes what the rules saw and the rows of the time budget; gives findings. A second is booked to one
finding only: particular rules before general ones, graver ones first, and of these the costlier:
what is told first is told with what mending it brings, and not with what a note on the same calls
has left of it. Rules of one topic that speak of the same client and server become one finding; so
does what one rule says alike of several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pcapnfs import wireshark
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.diagnosis.alike import Said, Subjects, grouped
from pcapnfs.diagnosis.finding import SEVERITIES, Finding, Observed, Rule


class Booked(NamedTuple):
    """What of the rows is booked to a finding, seconds."""

    all_s: float
    idle_s: float
    """The part of it in which no call was under way."""


def settle(
    observed: Iterable[tuple[Rule, Observed]],
    budget: Mapping[str, float],
    *,
    one_stream: bool = True,
) -> tuple[Finding, ...]:
    """Settle the costs, gravest finding first.

    Args:
        observed: What each rule saw.
        budget: The rows of the time budget, in seconds. A claim on a row that it lacks is a fault
            of the rule.
        one_stream: The captures are one stream of packets. Of several, frames are counted on from
            one to the next: no capture has them, and no filter finds them by number.

    Raises:
        KeyError: A rule claims time of a row that the budget does not have.
    """
    left = dict(budget)
    total = sum(budget.values())
    joined = grouped(_merged(observed, budget), lambda seen: _alone(seen, budget), total)
    joined.sort(key=lambda each: _booked_first(each[0][0], each[0][1], budget))
    findings = [
        _finding(
            said,
            subjects,
            _book(said[1], left),
            _alone(said[1], budget),
            total,
            numbered=one_stream,
        )
        for said, subjects in joined
    ]
    findings.sort(
        key=lambda finding: (
            SEVERITIES.index(finding.severity),
            -(finding.cost_s or 0.0),
            -(finding.saving_s or 0.0),
        )
    )
    return tuple(findings)


def _merged(observed: Iterable[tuple[Rule, Observed]], budget: Mapping[str, float]) -> list[Said]:
    """The costliest of each topic and subject, with the names of the others."""
    ordered = sorted(observed, key=lambda pair: _costliest_first(pair[0], pair[1], budget))
    kept: dict[object, tuple[Rule, Observed, list[str]]] = {}
    for place, (rule, seen) in enumerate(ordered):
        subject = place if rule.topic is None else (rule.topic, seen.about, seen.part)
        if subject not in kept:
            kept[subject] = (rule, seen, [])
        elif rule.id != kept[subject][0].id and rule.id not in kept[subject][2]:
            kept[subject][2].append(rule.id)
    return [(rule, seen, tuple(also)) for rule, seen, also in kept.values()]


def _costliest_first(rule: Rule, seen: Observed, budget: Mapping[str, float]) -> tuple[object, ...]:
    """What sorts them by cost, particular ones before general ones."""
    return (
        rule.general,
        -(_alone(seen, budget) or 0.0),
        SEVERITIES.index(seen.severity),
        rule.id,
        seen.about,
    )


def _booked_first(rule: Rule, seen: Observed, budget: Mapping[str, float]) -> tuple[object, ...]:
    """What sorts them in the order of booking."""
    return (
        rule.general,
        SEVERITIES.index(seen.severity),
        *_costliest_first(rule, seen, budget),
    )


def _alone(seen: Observed, budget: Mapping[str, float]) -> float | None:
    """What it costs by itself: no more of a row than the row holds; None where that is nothing."""
    claimed: dict[str, float] = {}
    for claim in seen.claims:
        claimed[claim.row] = claimed.get(claim.row, 0.0) + max(claim.seconds, 0.0)
    return sum(min(seconds, budget[row]) for row, seconds in claimed.items()) or None


def _book(seen: Observed, left: dict[str, float]) -> Booked:
    """Take from the rows what is claimed and still there."""
    booked = idle = 0.0
    for claim in seen.claims:
        part = min(max(claim.seconds, 0.0), left[claim.row])
        left[claim.row] -= part
        booked += part
        idle += part if claim.row == "client" else 0.0
    return Booked(booked, idle)


def _finding(
    said: Said,
    subjects: Subjects,
    booked: Booked,
    saving_s: float | None,
    total: float,
    *,
    numbered: bool,
) -> Finding:
    rule, seen, also = said
    cost_s = None if saving_s is None else booked.all_s
    frames = tuple(dict.fromkeys(seen.frames))[:EXAMPLES]
    return Finding(
        id=rule.id,
        severity=seen.severity,
        title=seen.title,
        about=seen.about,
        alike=subjects,
        evidence=seen.seen,
        why=seen.why,
        cost_s=cost_s,
        cost_share=None if cost_s is None else min(cost_s / total, 1.0),
        saving_s=saving_s,
        advice=seen.advice,
        confidence=seen.confidence,
        data=seen.data,
        frames=frames,
        display_filter=seen.display_filter
        or (wireshark.frames(frames) if frames and numbered else None),
        also=tuple(dict.fromkeys((*seen.also, *also))),
        origin=rule.origin,
        general=rule.general,
        client_share=seen.client_share,
        cost_idle_s=booked.idle_s,
    )
