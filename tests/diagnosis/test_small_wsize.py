"""The rule for WRITEs in small pieces."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.software import Kind, Software
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.small_wsize import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS, mounted, verdict

SMALL = verdict("wsize=4096")


def test_what_larger_pieces_would_spare_is_claimed() -> None:
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert seen.claims == (
        Claim("unstable_write", 0.4),
        Claim("stable", 0.1),
        Claim("client", 0.25),
    )


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


def test_a_client_that_sends_at_once_is_the_other_reason() -> None:
    either = verdict("wsize=8192", "write=eager", confidence="possible")
    (seen,) = seen_by(RULE, mounted(either))
    assert seen.title == "Small WRITEs: wsize=8192 or write=eager"
    assert (seen.confidence, seen.at_most) == ("possible", "warning")
    assert "write=eager" in seen.advice[1].action
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert not any("eager" in advice.action for advice in seen.advice)


def test_what_was_sent_ahead_is_told_and_its_round_trips_are_not_blamed() -> None:
    (seen,) = seen_by(RULE, mounted(SMALL))
    assert "under way" not in seen.seen
    assert seen.why.startswith("Each call has its own round trip")
    most = replace(MOVED, writes=replace(RUNS, ahead=300))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(most,)))
    assert "300 of them were sent while others of their file were under way" in seen.seen
    assert "their round trips overlapped" in seen.why
    assert seen.why.endswith("a COMMIT comes on top.")
    few = replace(MOVED, writes=replace(RUNS, ahead=299))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(few,)))
    assert seen.why.startswith("Each call has its own round trip")
    every = replace(MOVED, writes=replace(RUNS, ahead=640))
    (seen,) = seen_by(RULE, mounted(SMALL, transfer_runs=(every,)))
    assert "All were sent while others" in seen.seen
