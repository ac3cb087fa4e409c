"""The rule for files that are removed while open."""

from __future__ import annotations

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.silly_renames import SillyRenames
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.silly_rename import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

RENAMED = SillyRenames(
    client="10.0.0.2",
    server="10.0.0.1",
    renames=4,
    removed=3,
    longest_s=90.0,
    paths=("a/x", "a/y", "b"),
    left=("a/.nfs0001",),
    time_s=0.04,
    beside=Spared(7, 0.03, 0.01, (1,)),
    frames=(3,),
)


def test_the_files_are_named_as_they_were() -> None:
    (seen,) = seen_by(RULE, nothing(silly_renames=(RENAMED,)))
    assert seen.seen == (
        "The client renamed 4 files to .nfs… instead of removing them: a/x, a/y, b, …. Removed "
        "later: 3, after 1 m 30 s at most; not in this capture: a/.nfs0001."
    )
    assert seen.claims == (Claim("stable", 0.04), Claim("unstable", 0.03), Claim("client", 0.01))
    assert seen.calls == 11
    assert "a LOOKUP that finds the new name free" in seen.why


def test_only_what_was_left_is_to_be_removed() -> None:
    (left,) = seen_by(RULE, nothing(silly_renames=(RENAMED,)))
    (none,) = seen_by(RULE, nothing(silly_renames=(replace(RENAMED, left=()),)))
    assert [each.action.split()[0] for each in left.advice] == ["Find", "Remove"]
    assert none.advice == left.advice[:1]


def test_the_user_may_think_otherwise() -> None:
    found = nothing(silly_renames=(replace(RENAMED, renames=1, removed=0, longest_s=None),))
    assert len(seen_by(RULE, found)) == 1
    assert seen_by(RULE, found, "silly_rename.least=2") == []
