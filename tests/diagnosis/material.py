"""Material of a trace in which nothing happened, for rules that look at a part of it."""

from __future__ import annotations

from pcapnfs.diagnosis import material
from pcapnfs.diagnosis.finding import Observed, Rule
from pcapnfs.diagnosis.judging import thresholds
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.thresholds import chosen
from pcapnfs.record import replace
from tests.unit.rows import trace_of


def nothing(**parts: object) -> Material:
    """The material of an empty trace, with these parts in place of its own."""
    with trace_of() as trace:
        return replace(material.gather(trace), **parts)  # type: ignore[arg-type]


def seen_by(rule: Rule, found: Material, *settings: str) -> list[Observed]:
    """What a rule says of it."""
    return list(rule.judge(found, chosen(thresholds(), settings)))
