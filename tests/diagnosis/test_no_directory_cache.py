"""The rule for mounts that keep no attributes of directories."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.no_directory_cache import RULE
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import budget, mounted, verdict


def test_questions_about_directories_are_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(verdict("acdirmin=0")))
    assert seen.seen == (
        "The client asked much. 700 of its 1\u2009500 calls are GETATTRs about directories that "
        "had not changed and that it had known for less than 30 s."
    )
    assert seen.claims == (Claim("unstable", 1.4), Claim("client", 0.7))


def test_where_noac_would_explain_it_too_it_is_a_warning_at_most() -> None:
    unsure = verdict("acdirmin=0", "noac", "actimeo=0", confidence="possible")
    found = budget(mounted(unsure), unstable=2.0, client=1.0)
    assert [(seen.severity, seen.confidence) for seen in seen_by(RULE, found)] == [
        ("warning", "possible")
    ]


@pytest.mark.parametrize("options", [("noac", "actimeo=0"), ("acregmin=0",), ("acdirmin=2",)])
def test_other_options_are_other_rules(options: tuple[str, ...]) -> None:
    assert seen_by(RULE, mounted(verdict(*options))) == []
