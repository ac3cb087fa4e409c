"""The rule for READs in small pieces."""

from __future__ import annotations

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.small_rsize import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS, mounted, verdict

SMALL = verdict("rsize=4096")


def test_what_larger_pieces_would_spare_is_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert seen.claims == (Claim("read", 0.5), Claim("client", 0.25))
    # Of WRITEs alone it depends whether a COMMIT follows; and the server does allow more.
    assert "COMMIT" not in seen.why
    assert "the server allows no more" not in seen.advice[1].action


def test_without_the_servers_limit_it_may_allow_no_more() -> None:
    unknown = replace(MOVED, reads=replace(RUNS, allowed_bytes=None, merged=NONE))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(unknown,)))
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
