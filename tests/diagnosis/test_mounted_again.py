"""The rule for mounts that come again and again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.repeated_mounts import MountedPath, RepeatedMounts
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.mounted_again import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

HOMES = RepeatedMounts(
    client="10.0.0.2",
    server="10.0.0.1",
    mounts=18,
    bursts=6,
    again=15,
    paths=4,
    most=(MountedPath(path="/home/a", bursts=6), MountedPath(path="/home/b", bursts=4)),
    unused_s=330.0,
    longest_unused_s=720.0,
    time_s=(("state", 1.0), ("unstable", 0.2)),
    frames=(5, 7),
)


def test_mounts_are_told_once_with_what_they_cost() -> None:
    (seen,) = seen_by(RULE, nothing(repeated_mounts=(HOMES,)))
    assert seen.title == "The same is mounted again and again"
    assert seen.seen == (
        "18 mounts in 6 bursts, ten seconds or more apart. 15 of them were of what had been "
        "mounted before: /home/a in 6 bursts, /home/b in 4 bursts, and 2 more. It had not been "
        "called for during 5 m 30 s in the median, 12 m 0 s at most. To mount it again took 1.20 s "
        "of the clock."
    )
    assert seen.claims == (Claim("state", 1.0), Claim("unstable", 0.2))
    assert "to more than 5 m 30 s" in seen.advice[0].action
    assert (seen.frames, seen.about) == ((5, 7), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(("again", "told"), [(3, True), (2, False)])
def test_a_few_that_come_again_cost_nothing(again: int, *, told: bool) -> None:
    (seen,) = seen_by(RULE, nothing(repeated_mounts=(replace(HOMES, again=again),)))
    assert bool(seen.claims) is told
    if not told:
        assert seen.severity == "note"
        assert seen.title == "Mounts come one by one, as they are used"
        assert seen.seen == "18 mounts in 6 bursts, ten seconds or more apart."


def test_where_nobody_knows_for_how_long_it_was_not_used_no_time_is_named() -> None:
    unknown = replace(HOMES, unused_s=None, longest_unused_s=None)
    (seen,) = seen_by(RULE, nothing(repeated_mounts=(unknown,)))
    assert "called for" not in seen.seen
    assert "Raise the timeout of the automounter: autofs" in seen.advice[0].action
