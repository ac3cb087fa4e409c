"""The rule for access rights that are asked for again and again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.repeated_access import RepeatedAccess
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.access_storm import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

STORM = RepeatedAccess(
    client="10.0.0.2",
    server="10.0.0.1",
    calls=1000,
    accesses=230,
    repeated=Spared(200, 0.4, 0.1, (3, 5)),
    soon=100,
    objects=1,
    places=(".",),
)


def test_a_fifth_of_the_calls_is_too_much() -> None:
    (seen,) = seen_by(RULE, nothing(repeated_access=(STORM,)))
    assert seen.seen == (
        "230 of 1\u2009000 calls are ACCESS, and 200 gave the same user the same rights to the "
        "same object as the one before: 1 object, most often the root of the export."
    )
    assert seen.claims == (Claim("unstable", 0.4), Claim("client", 0.1))


def test_longer_timeouts_are_no_help_where_none_was_over() -> None:
    (seen,) = seen_by(RULE, nothing(repeated_access=(STORM,)))
    assert seen.advice[0].action.startswith("Keep attributes for longer")
    (seen,) = seen_by(RULE, nothing(repeated_access=(replace(STORM, soon=101),)))
    assert seen.seen.endswith(
        "101 of these came less than 3 s after that one: no timeout was over."
    )
    assert seen.advice[0].action.startswith("In the program")
    assert "only where nfsstat -m" in seen.advice[1].action


@pytest.mark.parametrize(("untrusted", "told"), [(101, True), (100, False)])
def test_a_server_that_cannot_be_trusted_with_changes_is_why(untrusted: int, told: bool) -> None:
    pair = replace(STORM, soon=200, untrusted=untrusted)
    (seen,) = seen_by(RULE, nothing(repeated_access=(pair,)))
    assert ("Before 101 of these the client had changed the directory itself" in seen.seen) is told
    assert ("RFC 8881 section 3.3.8" in seen.why) is told
    assert any("only where nfsstat -m" in each.action for each in seen.advice) is not told
    assert any("server's vendor" in each.action for each in seen.advice) is told


@pytest.mark.parametrize(
    "change", [{"calls": 1001}, {"calls": 100, "repeated": replace(STORM.repeated, calls=49)}]
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(STORM, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(repeated_access=(pair,))) == []
