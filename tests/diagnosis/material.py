"""Material of a trace in which nothing happened, for rules that look at a part of it."""

from __future__ import annotations

import functools

from pcapnfs.diagnosis import material
from pcapnfs.diagnosis.finding import Observed, Rule
from pcapnfs.diagnosis.judging import thresholds
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.thresholds import chosen
from pcapnfs.record import replace
from tests.unit.rows import trace_of


def nothing(**parts: object) -> Material:
    """The material of an empty trace, with these parts in place of its own."""
    return replace(_of_an_empty_trace(), **parts)  # type: ignore[arg-type]


@functools.cache
def _of_an_empty_trace() -> Material:
    """Nobody can change it, so that it is gathered once for all tests: that puts each question."""
    with trace_of() as trace:
        return material.gather(trace)


def seen_by(rule: Rule, found: Material, *settings: str) -> list[Observed]:
    """What a rule says of it."""
    return list(rule.judge(found, chosen(thresholds(), settings)))
