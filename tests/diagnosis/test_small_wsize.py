"""The rule for WRITEs in small pieces."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.small_wsize import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS, mounted, verdict

SMALL = verdict("wsize=4096")


def test_what_larger_pieces_would_spare_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert seen.title == "Small WRITEs: wsize=4096"
    assert seen.seen == (
        "In this capture, asked much. Pieces of 1.00 MiB would have spared 560 of 640 WRITEs."
    )
    assert seen.claims == (
        Claim("unstable_write", 0.4),
        Claim("stable", 0.1),
        Claim("client", 0.25),
    )


def test_without_the_servers_limit_nothing_is_claimed() -> None:
    unknown = replace(MOVED, writes=replace(RUNS, allowed_bytes=None, merged=NONE))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(unknown,)))
    assert (seen.severity, seen.claims) == ("note", ())
    assert "Mount while capturing" in seen.seen


def test_where_nothing_was_cut_it_costs_nothing() -> None:
    whole = replace(MOVED, writes=replace(RUNS, merged=NONE))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(whole,)))
    assert seen.severity == "note"
    assert seen.seen.endswith("Nothing here would have needed fewer WRITEs.")


def test_a_server_that_allows_no_more_is_told() -> None:
    tight = replace(MOVED, writes=replace(RUNS, allowed_bytes=4096))
    (seen,) = seen_by(RULE, mounted(transfer_runs=(tight,)))
    assert seen.title == "Small WRITEs: the server allows no more than 4.00 KiB"
    assert seen.seen.endswith("Pieces of 1 MiB would have spared 560 of 640 WRITEs.")
    assert seen.confidence == "certain"


@pytest.mark.parametrize(
    "runs",
    [
        RUNS,
        replace(RUNS, allowed_bytes=65536, largest_bytes=65536),
        replace(RUNS, allowed_bytes=4096, in_runs=19),
        replace(RUNS, allowed_bytes=8192),
        replace(RUNS, allowed_bytes=None),
    ],
    ids=["allows more", "allows enough", "too few", "smaller by itself", "not known"],
)
def test_without_a_verdict_the_server_must_be_the_limit(runs: object) -> None:
    pair = replace(MOVED, writes=runs)  # type: ignore[arg-type]
    assert seen_by(RULE, mounted(transfer_runs=(pair,))) == []


@pytest.mark.parametrize(
    ("largest", "told"),
    [
        (4096, ("old kernel).",)),
        (32768, ("macOS", "mount with wsize=1048576")),
        (65536, ("FreeBSD", "vfs.maxbcachebuf")),
    ],
)
def test_clients_whose_own_size_it_is_are_named(largest: int, told: tuple[str, ...]) -> None:
    runs = replace(RUNS, largest_bytes=largest)
    small = verdict(f"wsize={largest}")
    (seen,) = seen_by(RULE, mounted(small, transfer_runs=(replace(MOVED, writes=runs),)))
    second = seen.advice[1].action
    assert all(each in second for each in told)
    assert second.count("macOS") + second.count("FreeBSD") == (largest > 4096)
    linux = Kind("Linux 6.1.0", "implementation", 1, (MOVED.client,), 1)
    found = mounted(
        small,
        transfer_runs=(replace(MOVED, writes=runs),),
        software=Software(clients=(linux,)),
    )
    (seen,) = seen_by(RULE, found)
    assert not any(name in seen.advice[1].action for name in ("macOS", "FreeBSD"))
