"""The rule for mounts that keep no names."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.names_again import NamesAgain
from pcapnfs.analyses.namespace.not_found import NotFound
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.no_name_cache import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import CLIENT, SERVER, budget, mounted, verdict

FOUND = Spared(872, 1.6, 0.2, (11, 13))
AGAIN = NamesAgain(CLIENT, SERVER, 970, 1069, FOUND, FOUND)


def test_lookups_of_what_was_found_are_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(verdict("lookupcache=none"), names_again=(AGAIN,)))
    assert seen.title == "The client keeps no names: lookupcache=none"
    assert "872 of its 1\u2009069 calls are LOOKUPs" in seen.seen
    assert seen.claims == (Claim("unstable", 1.6), Claim("client", 0.2))
    assert (seen.calls, seen.confidence, seen.about) == (872, "likely", (CLIENT, SERVER))


def test_what_a_getattr_replaces_is_told_but_not_claimed() -> None:
    replaced = replace(AGAIN, kept=Spared(500, 0.9, 0.1, (11,)))
    (seen,) = seen_by(RULE, mounted(verdict("lookupcache=none"), names_again=(replaced,)))
    assert "872 of its 1\u2009069 calls are LOOKUPs" in seen.seen
    assert " would have sent 500 calls less, as far as can be told:" in seen.seen
    assert seen.claims == (Claim("unstable", 0.9), Claim("client", 0.1))
    assert seen.calls == 500
    (seen,) = seen_by(RULE, mounted(verdict("lookupcache=none"), names_again=(AGAIN,)))
    assert "GETATTR" not in seen.seen


def test_a_possible_one_is_a_warning_at_most() -> None:
    found = mounted(verdict("lookupcache=none", confidence="possible"), names_again=(AGAIN,))
    (seen,) = seen_by(RULE, budget(found, unstable=2.0, client=1.0))
    assert (seen.severity, seen.confidence) == ("warning", "possible")


MISSED = NotFound(CLIENT, SERVER, 1000, 200, 150, 0, (), (), 0, 0, 0.4, 0.04, ())


def test_what_it_looked_for_in_vain_again_is_told_and_claimed() -> None:
    found = mounted(verdict("lookupcache=none"), names_again=(AGAIN,), not_found=(MISSED,))
    (seen,) = seen_by(RULE, found)
    assert "150 more are of names that it had looked for in vain before." in seen.seen
    assert seen.calls == 872 + 150
    assert [claim.seconds for claim in seen.claims] == pytest.approx([1.9, 0.23])


def test_where_another_finding_tells_that_it_is_not_claimed_twice() -> None:
    many = replace(MISSED, missing=400)
    found = mounted(verdict("lookupcache=none"), names_again=(AGAIN,), not_found=(many,))
    (seen,) = seen_by(RULE, found)
    assert seen.calls == 872


@pytest.mark.parametrize("options", [("noac", "actimeo=0"), ("acdirmin=0",), ("nordirplus",)])
def test_other_options_are_other_rules(options: tuple[str, ...]) -> None:
    assert seen_by(RULE, mounted(verdict(*options), names_again=(AGAIN,))) == []


def test_lookups_of_another_mount_are_not_its() -> None:
    other = NamesAgain("10.0.0.9", SERVER, 970, 1069, FOUND, FOUND)
    assert seen_by(RULE, mounted(verdict("lookupcache=none"), names_again=(other,))) == []
