"""The rule for names that changes by somebody else void."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.namespace.voided_names import VoidedNames
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.voided_names import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import CLIENT, SERVER, mounted, verdict

ASKED = Spared(100, 0.5, 0.1, (3, 5))
VOIDED = VoidedNames(CLIENT, SERVER, 1000, ASKED, Spared(80, 0.4, 0.1, (3, 5)), 42, 1, ("big",))


def test_a_tenth_of_the_calls_is_told_and_what_kept_names_spare_is_claimed() -> None:
    kept = replace(VOIDED.kept, time_s=0.9)
    pair = replace(VOIDED, kept=kept)
    found = nothing(voided_names=(pair,), time_budget=clock(unstable=1.0))
    (seen,) = seen_by(RULE, found)
    assert (seen.severity, seen.confidence) == ("problem", "likely")
    assert seen.seen == (
        "100 of 1\u2009000 calls are LOOKUPs of names that the client knew, from a listing with "
        "attributes or a call of its own, all in big. Before them the client learnt 42 times that "
        "another client, or somebody on the server, had changed the directory. With names that it "
        "could keep, 80 of these LOOKUPs would have been spared: a client believes the attributes "
        "of a file for 3.00 s at first, and then asks for these in any case; so it does at each "
        "open."
    )
    assert seen.claims == (Claim("unstable", 0.9), Claim("client", 0.1))
    assert (seen.calls, seen.frames, seen.about) == (80, (3, 5), (CLIENT, SERVER))


@pytest.mark.parametrize(
    ("kept", "told"),
    [(ASKED, "all of these LOOKUPs would have been spared"), (NONE, "none of these LOOKUPs would")],
)
def test_where_kept_names_spare_all_or_none_that_is_said(kept: Spared, told: str) -> None:
    (seen,) = seen_by(RULE, nothing(voided_names=(replace(VOIDED, kept=kept),)))
    assert told in seen.seen
    assert ("at each open" in seen.seen) is (kept is NONE)


def test_of_several_directories_those_with_most_are_named() -> None:
    pair = replace(VOIDED, directories=7, places=("a", "b", "."))
    (seen,) = seen_by(RULE, nothing(voided_names=(pair,)))
    assert "in 7 directories, most of them in a, b, the root of the export." in seen.seen


@pytest.mark.parametrize("change", [{"calls": 1001}, {"asked": replace(ASKED, calls=49)}])
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(VOIDED, **({"calls": 100} | change))  # type: ignore[arg-type]
    if "calls" in change:
        assert seen_by(RULE, nothing(voided_names=(replace(pair, calls=1000),)))
    assert seen_by(RULE, nothing(voided_names=(pair,))) == []


def test_a_client_that_keeps_no_names_is_another_rule() -> None:
    none = verdict("lookupcache=none")
    assert seen_by(RULE, mounted(none, voided_names=(VOIDED,))) == []
    other = replace(VOIDED, client="10.0.0.9")
    assert len(seen_by(RULE, mounted(none, voided_names=(other,)))) == 1
    assert len(seen_by(RULE, mounted(verdict("noac", "actimeo=0"), voided_names=(VOIDED,)))) == 1
