"""What is told of hosts beyond as many as are told apart."""

from __future__ import annotations

from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.diagnosis.judging import judge_by
from pcapnfs.diagnosis.rules import getattr_storm, unanswered_calls
from pcapnfs.record import replace
from tests.diagnosis.material import nothing
from tests.diagnosis.test_getattr_storm import STORM
from tests.diagnosis.test_unanswered_calls import SILENT


def told(server: str) -> list[str]:
    found = nothing(
        questions=(replace(STORM, server=server),),
        unanswered=(replace(SILENT, server=server),),
    )
    rules = [getattr_storm.RULE, unanswered_calls.RULE]
    return [each.id for each in judge_by(rules, found).findings]


def test_what_many_servers_cost_taken_for_one_is_not_told() -> None:
    """Equal file handles of several are one file there: none of it need have been asked again."""
    assert sorted(told("10.0.0.1")) == ["getattr_storm", "unanswered_calls"]
    assert told(OTHERS) == ["unanswered_calls"]
