"""The rule for files that a read delegation would open."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.opened_again import OpenedAgain
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.no_delegations import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import CLIENT, SERVER

FOUND = OpenedAgain(
    CLIENT, SERVER, calls=1000, opens=80, files=20, again=50,
    spared=Spared(100, 0.9, 0.1, (3, 5)), span_s=90.0, called_back_apart=False,
)  # fmt: skip


def test_a_tenth_of_the_calls_is_told_and_claimed() -> None:
    found = nothing(opened_again=(FOUND,), time_budget=clock(unstable=1.0))
    (seen,) = seen_by(RULE, found)
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.seen == (
        "The server granted a delegation with none of 80 OPENs. 50 of these were of 20 files that "
        "the client had opened before, to read, as everybody did, and that had not changed. These "
        "and their CLOSEs are 100 of 1\u2009000 calls."
    )
    assert seen.claims == (Claim("unstable", 0.9), Claim("client", 0.1))
    assert (seen.calls, seen.frames, seen.about) == (100, (3, 5), (CLIENT, SERVER))
    assert "fs.leases-enable=1" in seen.advice[0].action
    assert not any("vers=4.0" in each.action for each in seen.advice)


def test_a_server_of_nfsv4_0_must_reach_the_client() -> None:
    apart = replace(FOUND, called_back_apart=True)
    (seen,) = seen_by(RULE, nothing(opened_again=(apart,)))
    assert "vers=4.0" in seen.advice[1].action


def test_a_server_that_was_just_started_grants_none_yet() -> None:
    (seen,) = seen_by(RULE, nothing(opened_again=(replace(FOUND, span_s=89.0),)))
    assert seen.confidence == "possible"
    assert "grace period" in seen.advice[1].action
    (seen,) = seen_by(RULE, nothing(opened_again=(FOUND,)))
    assert not any("grace period" in each.action for each in seen.advice)


def test_before_the_first_delegation_files_kept_open_spare_as_much() -> None:
    """The server is set to grant some."""
    (seen,) = seen_by(RULE, nothing(opened_again=(replace(FOUND, later=40),)))
    assert seen.title == "Files were opened again and again before the server granted a delegation"
    assert seen.seen.startswith(
        "The server granted a delegation with none of the first 80 of 120 OPENs. 50 of these were "
    )
    (advice,) = seen.advice
    assert "keep files open" in advice.action
    lately = replace(FOUND, later=40, span_s=89.0, called_back_apart=True)
    (seen,) = seen_by(RULE, nothing(opened_again=(lately,)))
    assert [("keep files open" in each.action) for each in seen.advice] == [False, True]
    assert "grace period" in seen.advice[0].action


def test_few_are_told_where_they_cost_much() -> None:
    found = nothing(opened_again=(replace(FOUND, calls=1001),), time_budget=clock(unstable=9.0))
    assert len(seen_by(RULE, found)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"calls": 1001, "spared": replace(FOUND.spared, time_s=0.1)},
        {"spared": replace(FOUND.spared, calls=49)},
    ],
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(FOUND, **({"calls": 100} | change))  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(opened_again=(pair,))) == []
