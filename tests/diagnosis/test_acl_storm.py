"""The rule for ACLs that are asked for one by one."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.acl_queries import AclQueries
from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.acl_storm import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import mounted, verdict

STORM = AclQueries(
    "10.0.0.2", "10.0.0.1", 1000, Spared(100, 0.4, 0.1, (3, 5)), 0, NONE, 98, 0, 0, NONE, 0, NONE
)


def test_a_tenth_of_the_calls_is_told() -> None:
    found = nothing(acl_queries=(STORM,), time_budget=clock(unstable=1.0, client=1.0))
    (seen,) = seen_by(RULE, found)
    assert seen.severity == "warning"
    assert seen.seen == "100 of 1\u2009000 calls are GETACL, about 98 objects."
    assert seen.claims == (Claim("unstable", 0.4), Claim("client", 0.1))
    assert "noacl" in seen.advice[0].action


def test_where_acls_are_set_noacl_is_no_way_out() -> None:
    (seen,) = seen_by(RULE, nothing(acl_queries=(replace(STORM, changed=100),)))
    assert seen.seen.endswith("100 calls set one, so that ACLs are used here.")
    assert "noacl" not in seen.advice[0].action
    assert "it is not for this mount" in seen.advice[1].action


def test_that_of_nfsv4_is_an_attribute_and_noacl_no_way_out() -> None:
    pair = replace(STORM, by_attribute=100, listed=Spared(90, 0.3, 0.1, (4,)))
    found = nothing(acl_queries=(pair,), time_budget=clock(unstable=1.0, client=1.0))
    (seen,) = seen_by(RULE, found)
    assert seen.seen == (
        "100 of 1\u2009000 calls are GETATTRs of the ACL alone, about 98 objects. 90 LISTXATTRS "
        "ask for extended attributes as well."
    )
    assert seen.claims == (Claim("unstable", 0.7), Claim("client", 0.2))
    assert not any("noacl" in advice.action for advice in seen.advice)
    assert "vers=4.1" in seen.advice[1].action
    (alone,) = seen_by(RULE, nothing(acl_queries=(replace(pair, listed=NONE),)))
    assert not any("vers=4.1" in advice.action for advice in alone.advice)
    (used,) = seen_by(RULE, nothing(acl_queries=(replace(pair, extended=1),)))
    assert used.seen.endswith("ask for extended attributes as well; 1 call read or changed one.")
    assert not any("vers=4.1" in advice.action for advice in used.advice)


def test_what_copies_acls_and_attributes_costs_as_well_and_shows_no_use_of_them() -> None:
    pair = replace(
        STORM, by_attribute=100, extended=75, copied=Spared(90, 0.5, 0.05, (7,)), copied_acls=60,
        copied_from=Spared(30, 0.2, 0.02, (6,)),
    )  # fmt: skip
    (seen,) = seen_by(RULE, nothing(acl_queries=(pair,)))
    assert seen.seen.endswith(
        "90 calls copied what was read (60 an ACL, 30 an extended attribute): on an object of "
        "which none was read. Each object has an ACL, which may say no more than the mode."
    )
    assert [(each.row, round(each.seconds, 9)) for each in seen.claims] == [
        ("unstable", 0.6),
        ("stable", 0.5),
        ("client", 0.17),
    ]
    assert seen.calls == 220
    assert "in place of -a" in seen.advice[0].action
    (used,) = seen_by(RULE, nothing(acl_queries=(replace(pair, changed=1),)))
    assert used.seen.endswith("none was read. 1 call set one, so that ACLs are used here.")


def test_of_both_versions_both_are_told() -> None:
    (seen,) = seen_by(RULE, nothing(acl_queries=(replace(STORM, by_attribute=40),)))
    assert seen.seen.startswith(
        "100 of 1\u2009000 calls fetch an ACL (40 as GETATTRs of it alone), about 98 objects."
    )
    assert "noacl" in seen.advice[0].action


@pytest.mark.parametrize(
    ("options", "sure"),
    [
        (("noac", "actimeo=0"), False),
        (("actimeo=2", "acregmin=2"), False),
        # Of directories alone, and how long what is believed longer is at most.
        (("acdirmin=0",), True),
        (("actimeo=2", "acdirmin=2"), True),
        (("actimeo=20", "acregmax=20"), True),
    ],
)
def test_where_attributes_expire_early_nothing_is_sure_to_be_saved(
    options: tuple[str, ...], *, sure: bool
) -> None:
    """GETATTRs take the place of NFSACL's calls, whose answers bring attributes; ACLs do not."""
    whole = mounted(verdict(*options), acl_queries=(STORM,), time_budget=clock(unstable=1.0))
    (seen,) = seen_by(RULE, whole)
    assert sum(claim.seconds for claim in seen.claims) == (pytest.approx(0.5) if sure else 0)
    assert ("nothing is sure to be saved" in seen.seen) is not sure
    assert seen.severity == ("warning" if sure else "note")
    pair = replace(STORM, by_attribute=100)
    (seen,) = seen_by(RULE, replace(whole, acl_queries=(pair,)))
    assert sum(claim.seconds for claim in seen.claims) == pytest.approx(0.5)
    other = replace(STORM, client="10.0.0.9")
    (seen,) = seen_by(RULE, replace(whole, acl_queries=(other,)))
    assert sum(claim.seconds for claim in seen.claims) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "change", [{"calls": 1001}, {"calls": 100, "asked": replace(STORM.asked, calls=49)}]
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(STORM, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(acl_queries=(pair,))) == []
