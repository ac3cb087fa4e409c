"""The rule for data that is written through."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.sync_mount import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import THROUGH, mounted, verdict


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
