"""The rule for mounts that keep attributes for a short time only."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.asked_again import AskedAgain
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.short_attribute_cache import RULE
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import CLIENT, SERVER, mounted, verdict

AGAIN = AskedAgain(CLIENT, SERVER, Spared(600, 1.2, 0.6, (13,)))
LONGEST = verdict("actimeo=3", "acregmax=3", confidence="possible")


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


def test_what_was_asked_again_before_doubled_timeouts_were_over_is_claimed_as_well() -> None:
    (seen,) = seen_by(RULE, mounted(LONGEST, asked_again=(AGAIN,)))
    assert seen.calls == 640
    assert "640 of its 1\u2009500 calls" in seen.seen
    assert seen.seen.endswith(
        ", or, 600 times, a file for less than the time to which a default mount had doubled its "
        "3 s by then."
    )
    assert seen.claims == (Claim("unstable", 1.28), Claim("client", 0.64))
    assert "acregmax" in seen.advice[0].action
    assert "does not double its timeouts" in seen.advice[1].action


def test_it_is_not_where_another_timeout_or_another_client_is_meant() -> None:
    other = AskedAgain("10.0.0.3", SERVER, AGAIN.asked)
    (seen,) = seen_by(RULE, mounted(LONGEST, asked_again=(other,)))
    assert (seen.calls, seen.claims[0]) == (40, Claim("unstable", 0.08))
    first = verdict("actimeo=1", "acregmin=1", confidence="possible")
    (seen,) = seen_by(RULE, mounted(first, asked_again=(AGAIN,)))
    assert (seen.calls, len(seen.advice)) == (40, 1)
