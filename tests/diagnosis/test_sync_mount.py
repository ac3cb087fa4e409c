"""The rule for data that is written through."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.sync_mount import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import THROUGH, mounted, verdict
from tests.diagnosis.test_commit_cost import MANY


def test_writes_that_wait_one_by_one_are_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(transfer_runs=(THROUGH,)))
    assert seen.seen == (
        "600 of 600 WRITEs that continue one another asked for stable storage, in 40 files, and "
        "brought 4.00 KiB each on average. They took 3.00 s."
    )
    assert seen.claims == (Claim("stable", 2.8),)
    assert seen.frames == (33, 35)


def part(**changes: object) -> object:
    return replace(THROUGH, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pair",
    [
        part(sync=replace(THROUGH.sync, calls=539)),
        part(sync=replace(THROUGH.sync, calls=80), sync_files=40),
        part(sync_ends=300),
        part(
            sync=replace(THROUGH.sync, calls=9),
            sync_files=1,
            writes=replace(THROUGH.writes, in_runs=9),
        ),
    ],
    ids=["less than nine tenths", "two for each file", "two for each close", "too few"],
)
def test_a_little_less_is_not(pair: object) -> None:
    assert seen_by(RULE, mounted(transfer_runs=(pair,))) == []


def test_noac_says_it_already() -> None:
    noac = verdict("noac", "actimeo=0,sync")
    assert seen_by(RULE, mounted(noac, transfer_runs=(THROUGH,))) == []


def test_the_user_may_think_otherwise() -> None:
    pair = part(sync=replace(THROUGH.sync, calls=539))
    assert seen_by(RULE, mounted(transfer_runs=(pair,)), "sync_mount.share=0.5")


def test_a_client_that_always_writes_so_is_named() -> None:
    """ESXi has no such option, and no program that could write otherwise."""
    (seen,) = seen_by(RULE, mounted(transfer_runs=(THROUGH,)))
    assert "ESXi" in seen.advice[1].action


PIECES = replace(
    MANY,
    commits=40,
    files=2,
    places=Places(
        pieces=40,
        piece_files=2,
        piece_bytes=40 << 18,
        piece_time_s=0.4,
        piece_saved_s=0.38,
        piece_frames=(7, 9),
    ),
)
"""COMMITs behind pieces of 256 KiB."""


def test_commits_behind_pieces_are_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(commits=(PIECES,)))
    assert seen.seen == (
        "40 of 40 COMMITs, in 2 files, each came after several WRITEs of 256 KiB together, and the "
        "file's next WRITE only after the reply. They took 400 ms."
    )
    assert (seen.confidence, seen.at_most) == ("possible", "warning")
    assert seen.claims == (Claim("stable", 0.38),)
    assert seen.frames == (7, 9)
    assert "nfsstat -m" in seen.advice[0].action


def test_few_pieces_are_not() -> None:
    places = replace(PIECES.places, pieces=9)
    assert seen_by(RULE, mounted(commits=(replace(PIECES, places=places),))) == []


def test_a_mount_is_told_once() -> None:
    (seen,) = seen_by(RULE, mounted(transfer_runs=(THROUGH,), commits=(PIECES,)))
    assert seen.claims == (Claim("stable", 2.8),)
    noac = verdict("noac", "actimeo=0,sync")
    assert seen_by(RULE, mounted(noac, commits=(PIECES,))) == []


@pytest.mark.parametrize(("usual_s", "disk"), [(0.0048, False), (0.0047, True), (None, True)])
def test_storage_that_answers_at_once_is_no_disk(usual_s: float | None, disk: bool) -> None:
    """Each of the WRITEs took 5 ms."""
    fast = bound_by("round_trips", usual_s=usual_s)
    (seen,) = seen_by(RULE, mounted(transfer_runs=(THROUGH,), bottleneck=fast.bottleneck))
    assert ("for stable storage" in seen.title) is disk
    assert ("the server's disk" in seen.why) is disk
    assert any("log device" in advice.action for advice in seen.advice) is disk
    assert seen.seen.endswith(
        "They took 3.00 s."
        if disk
        else "They took 3.00 s, 5.00 ms each, hardly longer than small calls that store nothing "
        "(4.80 ms)."
    )
