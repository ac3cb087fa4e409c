"""The rule for journals that are made and removed for each change."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.journals import Journals
from pcapnfs.diagnosis.rules.journal_files import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = Journals(
    client="10.0.0.2",
    server="10.0.0.1",
    made=20,
    databases=2,
    most="d/b.db-journal",
    calls=90,
    time_s=2.0,
    pause_s=0.1,
    frames=(5, 7),
)


def test_journals_of_the_same_databases_are_told_and_claimed_but_for_the_first() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), journals=(MANY,)))
    assert seen.seen == (
        "20 journals of 2 databases were made and removed (d/b.db-journal): 4.5 stable calls for "
        "each, 100 ms each."
    )
    assert (seen.severity, seen.confidence) == ("problem", "likely")
    assert [(claim.row, round(claim.seconds, 9)) for claim in seen.claims] == [
        ("stable", 1.8),
        ("client", 0.09),
    ]
    assert "one transaction" in seen.advice[0].action
    assert (seen.frames, seen.about) == ((5, 7), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(
    "change", [{"made": 19}, {"databases": 3}, {"time_s": 0.05, "pause_s": 0.0}]
)
def test_few_or_quick_ones_are_not(change: dict[str, float]) -> None:
    pair = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, replace(bound_by("client"), journals=(pair,))) == []


def test_the_user_may_think_otherwise() -> None:
    found = replace(bound_by("client"), journals=(replace(MANY, made=19),))
    assert seen_by(RULE, found, "journal_files.least=9")
