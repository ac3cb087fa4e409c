"""The rule for attributes of new files that are set one by one."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.attribute_calls import AttributeCalls
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.attributes_apart import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = AttributeCalls(
    client="10.0.0.2",
    server="10.0.0.1",
    made=20,
    files=10,
    calls=Spared(30, 0.6, 0.3, (5, 7)),
    modes=0,
    owners=0,
    times=0,
    names=10,
    journals=0,
    most="a",
)


def test_what_is_set_with_a_call_each_is_told() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(MANY,)))
    assert seen.seen == (
        "30 SETATTRs on 10 of 20 new files, beside what their creates need: 3.0 for each, 20.0 ms "
        "each."
    )
    assert seen.severity == "warning"
    assert seen.claims == (Claim("stable", 0.6), Claim("client", 0.3))
    assert (seen.frames, seen.about, seen.calls) == ((5, 7), ("10.0.0.2", "10.0.0.1"), 30)
    assert "--no-same-owner" in seen.advice[0].action


def test_what_was_set_is_told_and_how_to_leave_that() -> None:
    pair = replace(MANY, times=10, owners=10, modes=8)
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(pair,)))
    assert seen.seen.endswith("(they set times in 10, owner or group in 10 and mode in 8).")
    for option in ("-m", "--no-same-owner", "--no-same-permissions", "--no-t --no-o --no-g --no-p"):
        assert option in seen.advice[0].action


@pytest.mark.parametrize(("files", "again"), [(3, True), (4, False)])
def test_what_a_file_is_given_again_and_again_is_no_unpacking(files: int, *, again: bool) -> None:
    pair = replace(MANY, files=files, names=files, modes=30)
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(pair,)))
    told = " ".join((seen.title, *(each.action for each in seen.advice)))
    assert ("again and again" in seen.title) is again
    assert ("once for each file" in told) is again
    assert ("tar" in told) is not again


def test_nothing_is_to_be_left_that_is_not_set() -> None:
    pair = replace(MANY, times=30)
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(pair,)))
    action, risk = seen.advice[0].action, seen.advice[0].risk
    assert "tar -x with -m, unzip with -DD (times alone), cp" in action
    assert "rsync -a with --no-t;" in action
    assert risk is not None
    assert "umask" not in risk
    assert "owner" not in action + risk


def test_few_of_them_are_not_told() -> None:
    few = replace(MANY, calls=replace(MANY.calls, calls=29))
    found = replace(bound_by("client"), attribute_calls=(few,))
    assert seen_by(RULE, found) == []
    assert seen_by(RULE, found, "attributes_apart.least=29")


def test_what_costs_next_to_nothing_is_not_worth_an_option() -> None:
    fast = replace(MANY, calls=replace(MANY.calls, time_s=0.001, pause_s=0.0))
    assert seen_by(RULE, replace(bound_by("client"), attribute_calls=(fast,))) == []


def test_journals_of_sqlite_are_known_by_their_names() -> None:
    pair = replace(MANY, owners=30, names=1, journals=27, most="b.db-journal")
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(pair,)))
    assert seen.title == "Attributes of SQLite's journals are set one by one"
    assert seen.seen.endswith("The names are those of SQLite's journals (b.db-journal).")
    assert "not as root" in seen.advice[0].action
    assert "one transaction" in seen.advice[1].action
    assert not any("tar" in advice.action.split() for advice in seen.advice)
    # Another user's SQLite sets the mode alone.
    modes = replace(pair, owners=0, modes=30)
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(modes,)))
    assert not any("root" in advice.action for advice in seen.advice)
    few = replace(pair, journals=26, names=10)
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(few,)))
    assert seen.title == "Attributes of new files are set one by one"


def test_a_file_that_is_made_again_and_again_is_no_archive() -> None:
    again = replace(MANY, times=30, names=5, most="log.gz")
    (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(again,)))
    assert seen.seen.endswith("These files had 5 names (log.gz).")
    assert "again and again" in seen.advice[0].action
    assert not any("tar -x" in advice.action for advice in seen.advice)
    for other in (
        replace(again, names=6),
        replace(again, names=11, files=30),
    ):
        (seen,) = seen_by(RULE, replace(bound_by("client"), attribute_calls=(other,)))
        assert "tar -x" in seen.advice[0].action
