"""The rule for calls that the server does not let the user, or the client, do."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.rules.access_denied import RULE
from tests.diagnosis.refused import kinds_told, of_kind


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
