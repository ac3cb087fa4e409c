"""Findings on the lab captures: each one is true, and none is missing, by the captures' truth."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.rules import RULES
from tests.oracles import matrix
from tests.oracles.corpus import Capture, lab_captures, require_corpus
from tests.oracles.expected import expectation

CAPTURES = lab_captures()


def test_there_is_a_corpus() -> None:
    require_corpus()


def test_every_rule_has_its_expectation() -> None:
    for rule in RULES:
        assert callable(expectation(rule.id))


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_findings_agree_with_the_truth(capture: Capture) -> None:
    row = matrix.row(capture)
    assert row.contradictions() == []
    assert matrix.told()[capture.name] == matrix.cells(row), "python -m tests.oracles.matrix"
