"""Writes docs/findings-matrix.md: which rule fires on which lab capture, against the truth.

    python -m tests.oracles.matrix

The corpus is found as the tests find it (`PCAPNFS_CORPUS`); where it is absent the page stays as it
is. Read the difference before you keep it: each changed cell is either meant or a bug.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pcapnfs
from pcapnfs.diagnosis.finding import Finding
from pcapnfs.diagnosis.rules import RULES
from tests.oracles.corpus import Capture, lab_captures
from tests.oracles.expected import Expected, expectation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "findings-matrix.md"

LETTERS = {"problem": "P", "warning": "W", "note": "n"}
"""How a cell has a severity."""


@dataclass(frozen=True, slots=True)
class Row:
    """One capture."""

    name: str
    """Its name."""
    severities: Mapping[str, str]
    """The gravest severity of each rule that fired, by the rule's name; of merged rules, too."""
    expected: Mapping[str, Expected]
    """What the truth says of each rule."""

    def contradictions(self) -> list[str]:
        """Rules that fired although they must not, or did not although they must."""
        return [
            f"{rule} {'fired' if rule in self.severities else 'is silent'}"
            for rule, due in self.expected.items()
            if (due is Expected.MUST and rule not in self.severities)
            or (due is Expected.NEVER and rule in self.severities)
        ]


def row(capture: Capture) -> Row:
    """Judge one capture."""
    with pcapnfs.open([str(path) for path in capture.files]) as trace:
        return judged(capture, pcapnfs.findings(trace).findings)


def judged(capture: Capture, found: Iterable[Finding]) -> Row:
    """What was found in a capture, beside the truth."""
    due = {rule.id: expectation(rule.id)(capture) for rule in RULES}
    return Row(capture.name, severities(found), due)


def severities(found: Iterable[Finding]) -> dict[str, str]:
    """The gravest severity of each rule that spoke, by itself or in another's finding."""
    said: dict[str, str] = {}
    for finding in found:
        for rule in (finding.id, *finding.also):
            said.setdefault(rule, finding.severity)
    return said


def page(rows: Iterable[Row]) -> str:
    """The text of docs/findings-matrix.md."""
    rows = list(rows)
    mark = "<!-- Written by tests/oracles/matrix.py: change the code, not this page. -->\n"
    introduction = (
        "Which rule says what of which lab capture: **P** a problem, **W** a warning, **n** a "
        "note. What the truth beside the capture (mount options, export options, disk, network, "
        "the kernels' counters) demands is marked +; an empty cell is silent, as it must be. A "
        "cell in parentheses is one that the truth does not decide. Rules that fire nowhere have "
        "no column, and are named below.\n\n"
        "[Findings](findings.md) says what each rule looks for."
    )
    firing = [rule.id for rule in RULES if any(rule.id in each.severities for each in rows)]
    silent = [f"`{rule.id}`" for rule in RULES if rule.id not in firing]
    lines = [
        _line(("capture", *(f"`{rule}`" for rule in firing))),
        _line(("---", *(":---:" for _ in firing))),
        *(_line((each.name, *(_cell(each, rule) for rule in firing))) for each in rows),
    ]
    text = f"{mark}# Findings on the lab captures\n\n{introduction}\n\n{''.join(lines)}"
    if silent:
        text += f"\nSilent on all of them: {', '.join(silent)}.\n"
    return text


def told() -> dict[str, dict[str, str]]:
    """The page as it stands: the cells of each capture that are not empty, by rule."""
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    (_, *rules), _, *lines = ([cell.strip() for cell in line[1:-1].split("|")] for line in table)
    return {
        name: {rule.strip("`"): cell for rule, cell in zip(rules, cells, strict=True) if cell}
        for name, *cells in lines
    }


def cells(row: Row) -> dict[str, str]:
    """The cells of a capture that are not empty, by rule."""
    return {rule.id: cell for rule in RULES if (cell := _cell(row, rule.id))}


def _cell(row: Row, rule: str) -> str:
    severity = row.severities.get(rule)
    due = row.expected[rule]
    if severity is None:
        return "missing" if due is Expected.MUST else ""
    letter = LETTERS[severity]
    return {
        Expected.MUST: f"{letter}+",
        Expected.MAY: f"({letter})",
        Expected.NEVER: f"{letter}, wrong",
    }[due]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Write the page; without a corpus, say that it stays as it is."""
    captures = lab_captures()
    if not captures:
        sys.stderr.write("no corpus of captures: docs/findings-matrix.md stays as it is\n")
        return 0
    PAGE.write_text(page(row(capture) for capture in captures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
