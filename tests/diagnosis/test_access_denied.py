"""The rule for calls that the server does not let the user, or the client, do."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.withheld_rights import WithheldRights
from pcapnfs.diagnosis.rules.access_denied import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.refused import REFUSED, kinds_told, of_kind


def test_root_that_is_refused_is_squashed() -> None:
    (seen,) = of_kind(RULE, "permission", users=(0, 7))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.title.startswith("Root is refused")
    risky = [each for each in seen.advice if "no_root_squash" in each.action]
    assert [each.risk is not None for each in risky] == [True]


@pytest.mark.parametrize("owning", [0, 3])
def test_owners_are_spoken_of_where_files_were_to_get_them(owning: int) -> None:
    (seen,) = of_kind(RULE, "permission", users=(0,), operations=("SETATTR", "READ"), owning=owning)
    assert ("--no-same-owner" in str(seen.advice)) is bool(owning)
    assert ("chown" in seen.why) is bool(owning)


@pytest.mark.parametrize("users", [(7, 0), ()])
def test_others_lack_permission(users: tuple[int, ...]) -> None:
    (seen,) = of_kind(RULE, "permission", users=users)
    assert (seen.severity, seen.confidence) == ("note", "certain")
    assert "no_root_squash" not in str(seen.advice)


def test_programs_may_try() -> None:
    assert of_kind(RULE, "permission", calls=9) == []


WITHHELD = WithheldRights(
    client="10.0.0.2",
    server="10.0.0.1",
    calls=12,
    files=11,
    users=(0,),
    paths=("a/c",),
    frames=(3, 21),
)
"""Twelve ACCESSes of root that granted nothing."""


def test_rights_that_are_withheld_are_refusals() -> None:
    """A reader with NFSv3 is refused nothing but these."""
    (seen,) = seen_by(RULE, nothing(withheld_rights=(WITHHELD,)))
    assert (seen.severity, seen.confidence, seen.calls) == ("warning", "likely", 12)
    assert seen.title.startswith("Root is refused")
    assert seen.seen.startswith("12 ACCESSes, asked by user 0, granted nothing")
    assert seen_by(RULE, nothing(withheld_rights=(replace(WITHHELD, calls=9),))) == []


@pytest.mark.parametrize(("calls", "of_root"), [(5, True), (20, False)])
def test_both_are_told_together(calls: int, of_root: bool) -> None:
    changed = replace(REFUSED, kind="permission", statuses=("NFS3ERR_ACCES",), calls=calls)
    found = nothing(failures=(changed,), withheld_rights=(WITHHELD,))
    (seen,) = seen_by(RULE, found)
    assert (seen.calls, seen.title.startswith("Root")) == (calls + 12, of_root)
    assert (seen.frames, seen.about) == ((3, 20, 21, 22), ("10.0.0.2", "10.0.0.1"))
    assert "NFS3ERR_ACCES, asked by users 7, 9" in seen.seen
    assert "12 ACCESSes" in seen.seen
    elsewhere = replace(WITHHELD, client="10.0.0.9")
    assert len(seen_by(RULE, nothing(failures=(REFUSED,), withheld_rights=(elsewhere,)))) == 1


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("owner", "The server does not know the owners that the client names"),
        ("read_only", "What the client writes to is read-only on the server"),
        ("mount", "The server refuses the mount"),
        ("export", "The server has no such export"),
        ("credential", "The server refuses the client's credentials"),
    ],
)
def test_one_refusal_of_another_kind_is_enough(kind: str, title: str) -> None:
    (seen,) = of_kind(RULE, kind, calls=1)
    assert (seen.severity, seen.title) == ("warning", title)


def test_nothing_else_is() -> None:
    told = {"permission", "owner", "read_only", "mount", "export", "credential"}
    assert kinds_told(RULE) == told
