"""The rule for mounts that keep attributes for a short time only."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.short_attribute_cache import RULE
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import mounted, verdict


def test_what_expired_early_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(verdict("actimeo=3", "acdirmin=3", confidence="possible")))
    assert seen.title.endswith("actimeo=3 or acdirmin=3")
    assert "40 of its 1\u2009500 calls" in seen.seen
    assert "known for 1 s or more, but less than 3 s (files) or 30 s (directories)" in seen.seen
    assert seen.claims == (Claim("unstable", 0.08), Claim("client", 0.04))
    assert seen.confidence == "possible"


@pytest.mark.parametrize(
    ("options", "without"),
    [
        (("acregmin=0",), "Mount without actimeo, acregmin and acdirmin,"),
        (("acregmin=0", "noac", "actimeo=0"), "Mount without noac, actimeo=0 and acregmin=0,"),
    ],
)
def test_of_files_that_are_not_kept_at_all_every_needless_question_counts(
    options: tuple[str, ...], without: str
) -> None:
    (seen,) = seen_by(RULE, mounted(verdict(*options, confidence="possible")))
    assert seen.claims == (Claim("unstable", 0.6), Claim("client", 0.3))
    assert "known for less than 3 s" in seen.seen
    assert seen.advice[0].action.startswith(without)


def test_a_few_among_many_calls_are_no_habit_of_the_mount() -> None:
    material = mounted(verdict("actimeo=3", "acdirmin=3", confidence="possible"))
    assert seen_by(RULE, material, "short_attribute_cache.share=0.02")
    assert seen_by(RULE, material, "short_attribute_cache.share=0.03") == []


@pytest.mark.parametrize(
    "options", [("noac", "actimeo=0"), ("acdirmin=0",), ("rsize=4096",), ("nordirplus",)]
)
def test_other_options_are_other_rules(options: tuple[str, ...]) -> None:
    assert seen_by(RULE, mounted(verdict(*options))) == []
