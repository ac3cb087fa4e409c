"""What the rules for READs and for WRITEs in small pieces have in common."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.data.transfer_runs import Runs, TransferRuns
from pcapnfs.diagnosis.finding import Rule
from pcapnfs.diagnosis.rules import small_rsize, small_wsize
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS, mounted, verdict

Pieces = tuple[Rule, str, str]
"""A rule, the operation that it is about, and the mount option."""

BOTH = pytest.mark.parametrize(
    "pieces",
    [(small_rsize.RULE, "READs", "rsize"), (small_wsize.RULE, "WRITEs", "wsize")],
    ids=["rsize", "wsize"],
)


def moved(pieces: Pieces, runs: Runs) -> TransferRuns:
    return replace(MOVED, reads=runs) if pieces[1] == "READs" else replace(MOVED, writes=runs)


@BOTH
def test_what_larger_pieces_would_spare_is_told(pieces: Pieces) -> None:
    rule, operations, option = pieces
    (seen,) = seen_by(rule, mounted(verdict(f"{option}=4096")))
    assert seen.title == f"Small {operations}: {option}=4096"
    assert seen.seen == (
        "In this capture, asked much. "
        f"Pieces of 1.00 MiB would have spared 560 of 640 {operations}."
    )


@BOTH
def test_without_the_servers_limit_nothing_is_claimed(pieces: Pieces) -> None:
    rule, _, option = pieces
    unknown = moved(pieces, replace(RUNS, allowed_bytes=None, merged=NONE))
    (seen,) = seen_by(rule, mounted(verdict(f"{option}=4096"), transfer_runs=(unknown,)))
    assert (seen.severity, seen.claims) == ("note", ())
    assert "Mount while capturing" in seen.seen


@BOTH
def test_where_nothing_was_cut_it_costs_nothing(pieces: Pieces) -> None:
    rule, operations, option = pieces
    whole = moved(pieces, replace(RUNS, merged=NONE))
    (seen,) = seen_by(rule, mounted(verdict(f"{option}=4096"), transfer_runs=(whole,)))
    assert seen.severity == "note"
    assert seen.seen.endswith(f"Nothing here would have needed fewer {operations}.")


@BOTH
def test_a_server_that_allows_no_more_is_told(pieces: Pieces) -> None:
    rule, operations, _ = pieces
    tight = moved(pieces, replace(RUNS, allowed_bytes=4096))
    (seen,) = seen_by(rule, mounted(transfer_runs=(tight,)))
    assert seen.title == f"Small {operations}: the server allows no more than 4.00 KiB"
    assert seen.seen.endswith(f"Pieces of 1 MiB would have spared 560 of 640 {operations}.")
    assert seen.confidence == "certain"


@BOTH
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
def test_without_a_verdict_the_server_must_be_the_limit(pieces: Pieces, runs: Runs) -> None:
    rule, *_ = pieces
    assert seen_by(rule, mounted(transfer_runs=(moved(pieces, runs),))) == []
