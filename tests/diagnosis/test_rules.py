"""What holds for every rule: it is in the list, tested, and its names are its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pcapnfs.analyses.servers.failures import KINDS
from pcapnfs.diagnosis import rules
from pcapnfs.diagnosis.finding import Rule
from pcapnfs.diagnosis.rules import RULES
from tests.diagnosis.refused import of_kind

FILES = sorted(
    path.stem for path in Path(rules.__file__).parent.glob("*.py") if path.stem != "__init__"
)


def test_every_rule_is_in_the_list() -> None:
    assert sorted(rule.id for rule in RULES) == FILES


def test_every_rule_has_its_test() -> None:
    tested = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert [name for name in FILES if name not in tested] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_named_like_its_file_and_its_thresholds_like_it(rule: Rule) -> None:
    assert rule.judge.__module__.rpartition(".")[2] == rule.id
    assert re.fullmatch(r"[a-z][a-z0-9_]*", rule.id)
    for threshold in rule.thresholds:
        assert re.fullmatch(rf"{rule.id}\.[a-z][a-z0-9_]*", threshold.name)
        assert threshold.unit
        assert threshold.meaning
        assert threshold.origin


@pytest.mark.parametrize("kind", [*KINDS, "session"])
def test_every_kind_of_refusal_is_told_by_one_rule(kind: str) -> None:
    told = [rule.id for rule in RULES if of_kind(rule, kind)]
    assert len(told) == 1


def test_no_two_thresholds_share_a_name() -> None:
    names = [threshold.name for rule in RULES for threshold in rule.thresholds]
    assert len(names) == len(set(names))
