"""The rule for Kerberos contexts that take long to make."""

from __future__ import annotations

from pcapnfs.analyses.mounts.preliminaries import Preliminaries, Preliminary
from pcapnfs.diagnosis.rules.gss_contexts import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

CONTEXTS = Preliminaries(
    client="10.0.0.2",
    server="10.0.0.1",
    kind="context",
    calls=40,
    operations=(Preliminary("RPCSEC_GSS_INIT", 40, 0.03, 0),),
    refused=3,
    time_s={"unstable": 1.2},
    at_once_s=1.0,
    frames=(5, 1),
)


def test_contexts_that_take_a_second() -> None:
    (seen,) = seen_by(RULE, nothing(preliminaries=(CONTEXTS,)))
    assert seen.seen == (
        "40 calls took 1.20 s of the clock: RPCSEC_GSS_INIT 30.0 ms at most (40 calls). The server "
        "refused 3 calls, since it knew the context no longer."
    )


def test_a_tenth_of_a_second_and_mounting_are_none() -> None:
    few = replace(CONTEXTS, time_s={"unstable": 0.09})
    assert seen_by(RULE, nothing(preliminaries=(few,))) == []
    assert seen_by(RULE, nothing(preliminaries=(replace(CONTEXTS, kind="mount"),))) == []


def test_nor_are_those_that_take_little_of_the_time() -> None:
    found = nothing(preliminaries=(CONTEXTS,))
    total = replace(found.time_budget.total, client_s=600.0)
    found = replace(found, time_budget=replace(found.time_budget, total=total))
    assert seen_by(RULE, found) == []


def test_contexts_are_a_problem_only_where_the_server_forgets_them() -> None:
    found = nothing(preliminaries=(CONTEXTS, replace(CONTEXTS, refused=0)))
    total = replace(found.time_budget.total, unstable_s=2.0)
    found = replace(found, time_budget=replace(found.time_budget, total=total))
    assert [seen.severity for seen in seen_by(RULE, found)] == ["problem", "warning"]
