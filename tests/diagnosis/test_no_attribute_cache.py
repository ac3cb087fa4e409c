"""The rule for mounts that keep no attributes."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.no_attribute_cache import RULE
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import budget, mounted, verdict

UNCACHED = verdict("noac", "actimeo=0")


def test_what_default_options_would_have_spared_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(UNCACHED))
    assert seen.title == "The client keeps no attributes: noac or actimeo=0"
    assert seen.seen == (
        "The client asked much. 1\u2009000 of its 1\u2009500 calls are GETATTRs that default "
        "options would have spared it: nothing had changed, and it had known for less than 3 s "
        "(files, 300) or 30 s (directories, 700)."
    )
    assert seen.claims == (Claim("unstable", 2.0), Claim("client", 1.0))
    assert (seen.about, seen.frames) == (("10.0.0.2", "10.0.0.1"), (1, 2))
    assert seen.confidence == "likely"


def test_so_it_is_where_files_alone_may_be_what_is_not_kept() -> None:
    (seen,) = seen_by(RULE, mounted(verdict("noac", "actimeo=0", "acregmin=0")))
    assert seen.title.endswith("noac or actimeo=0 or acregmin=0")


@pytest.mark.parametrize(
    ("client_s", "severity"), [(27.0, "problem"), (28.0, "warning"), (298.0, "note")]
)
def test_it_is_as_grave_as_its_share_of_the_time(client_s: float, severity: str) -> None:
    found = budget(mounted(UNCACHED), unstable=2.5, client=client_s)
    assert [seen.severity for seen in seen_by(RULE, found)] == [severity]


@pytest.mark.parametrize(
    "options",
    [
        ("acdirmin=0",),
        ("acdirmin=0", "noac", "actimeo=0"),
        ("noac", "actimeo=0,sync"),
        ("actimeo=3", "acdirmin=3"),
        ("nocto",),
    ],
)
def test_other_options_are_other_rules(options: tuple[str, ...]) -> None:
    assert seen_by(RULE, mounted(verdict(*options))) == []


def test_a_mount_that_asked_nothing_is_not_judged() -> None:
    assert seen_by(RULE, mounted(UNCACHED, questions=())) == []
