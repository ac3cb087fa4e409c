"""The rule for READs in small pieces."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.small_rsize import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS, mounted, verdict

SMALL = verdict("rsize=4096")


def test_what_larger_pieces_would_spare_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert seen.title == "Small READs: rsize=4096"
    assert seen.seen == (
        "In this capture, asked much. Pieces of 1.00 MiB would have spared 560 of 640 READs."
    )
    assert seen.claims == (Claim("read", 0.5), Claim("client", 0.25))
    # Of WRITEs alone it depends whether a COMMIT follows; and the server does allow more.
    assert "COMMIT" not in seen.why
    assert "the server allows no more" not in seen.advice[1].action


def test_without_the_servers_limit_nothing_is_claimed() -> None:
    unknown = replace(MOVED, reads=replace(RUNS, allowed_bytes=None, merged=NONE))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(unknown,)))
    assert (seen.severity, seen.claims) == ("note", ())
    assert "Mount while capturing" in seen.seen
    assert "the server allows no more" in seen.advice[1].action


def test_a_server_that_does_not_say_what_it_allows_is_told() -> None:
    small = replace(RUNS, allowed_bytes=None, largest_bytes=1024, merged=NONE)
    silent = replace(MOVED, reads=small, withheld=True)
    (seen,) = seen_by(RULE, mounted(transfer_runs=(silent,)))
    assert (seen.severity, seen.title) == (
        "warning",
        "Small READs: the server does not say what it allows",
    )
    assert "600 of 640 READs continued one another" in seen.seen
    few = replace(silent, reads=replace(small, in_runs=19))
    assert seen_by(RULE, mounted(transfer_runs=(few,))) == []


def test_where_nothing_was_cut_it_costs_nothing() -> None:
    whole = replace(MOVED, reads=replace(RUNS, merged=NONE))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(whole,)))
    assert seen.severity == "note"
    assert seen.seen.endswith("Nothing here would have needed fewer READs.")


def test_a_server_that_allows_no_more_is_told() -> None:
    tight = replace(MOVED, reads=replace(RUNS, allowed_bytes=4096))
    (seen,) = seen_by(RULE, mounted(transfer_runs=(tight,)))
    assert seen.title == "Small READs: the server allows no more than 4.00 KiB"
    assert seen.seen.endswith("Pieces of 1 MiB would have spared 560 of 640 READs.")
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
    pair = replace(MOVED, reads=runs)  # type: ignore[arg-type]
    assert seen_by(RULE, mounted(transfer_runs=(pair,))) == []
