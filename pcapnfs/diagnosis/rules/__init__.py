"""The rules, one per file, in the order in which docs/findings.md tells them."""

from pcapnfs.diagnosis.finding import Rule
from pcapnfs.diagnosis.rules import negative_lookups

RULES: tuple[Rule, ...] = (negative_lookups.RULE,)
"""All rules."""
