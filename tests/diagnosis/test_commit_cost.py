"""The rule for COMMITs."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.data.commit_places import NOWHERE, Places
from pcapnfs.analyses.data.commits import Commits
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.commit_cost import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by, of_client
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED, RUNS

MANY = Commits(
    client="10.0.0.2",
    server="10.0.0.1",
    commits=10,
    files=4,
    written_bytes=40 << 20,
    empty=0,
    copied=0,
    time_s=0.51,
    mean_s=0.05,
    longest_s=0.2,
    fixed_s=0.01,
    rate_bytes=100 * 2**20,
    frames=(21,),
    places=NOWHERE,
)

AT_END = replace(MANY, files=10, written_bytes=10 * 200_000, places=Places(at_end=9))
"""Files of 200 kB, nine of ten of them with one COMMIT behind their last WRITE."""


def test_what_commits_take_beyond_round_trips_is_claimed() -> None:
    (seen,) = seen_by(RULE, found(MANY))
    assert seen.severity == "warning"
    assert seen.seen == (
        "10 COMMITs of 4 files took 50.0 ms on average, 200 ms at most; 40.0 MiB had been written "
        "before them. A COMMIT takes 10.0 ms and the data goes to storage at 100 MiB a second."
    )
    (claim,) = seen.claims
    assert (claim.row, round(claim.seconds, 9)) == ("stable", 0.5)


def found(pair: Commits) -> Material:
    return replace(bound_by("client"), commits=(pair,))


@pytest.mark.parametrize("change", [{"commits": 9}, {"time_s": 0.109}])
def test_few_or_quick_ones_are_not(change: dict[str, float]) -> None:
    assert seen_by(RULE, found(replace(MANY, **change))) == []  # type: ignore[arg-type]


def test_little_before_each_asks_for_fewer() -> None:
    (seen,) = seen_by(RULE, found(replace(MANY, written_bytes=10 << 12, rate_bytes=None)))
    assert "fsync()" in seen.advice[0].action
    assert "goes to storage" not in seen.seen


def test_commits_of_what_is_stable_already_are_for_nothing() -> None:
    (seen,) = seen_by(RULE, found(replace(MANY, empty=9, written_bytes=4096, rate_bytes=None)))
    assert seen.title == "COMMITs that found nothing to store take time"
    assert seen.seen.endswith(
        "before 9 of them no WRITE of the capture had left anything unstable."
    )
    assert seen.confidence == "likely"
    assert "FILE_SYNC" in seen.advice[0].action
    (seen,) = seen_by(RULE, found(replace(MANY, empty=8)))
    assert seen.title == "Data waits for COMMIT"
    assert seen.confidence == "certain"


def test_commits_of_what_was_copied_are_no_programs_fsync() -> None:
    (seen,) = seen_by(RULE, found(replace(MANY, copied=5, rate_bytes=None)))
    assert seen.seen.endswith(
        "40.0 MiB had been written or copied before them, more by COPY than by WRITE before 5."
    )
    assert "without any fsync()" in seen.why
    assert "larger pieces" in seen.advice[0].action
    assert not any("fsync" in advice.action for advice in seen.advice)
    (seen,) = seen_by(RULE, found(replace(MANY, copied=4)))
    assert "COPY" not in seen.seen + seen.why


def test_commits_behind_a_cache_are_a_note() -> None:
    (seen,) = seen_by(RULE, found(replace(MANY, mean_s=0.0019)))
    assert seen.severity == "note"


def test_the_round_trip_is_that_of_the_client_itself() -> None:
    material = found(MANY)  # A round trip of 1 ms.
    far, other = of_client(2, rtt_s=0.04), of_client(3, rtt_s=0.0001)
    several = replace(material, bottleneck=replace(material.bottleneck, clients=(far, other)))
    (seen,) = seen_by(RULE, several)
    assert round(seen.claims[0].seconds, 9) == 0.11


def test_files_that_are_closed_one_by_one_are_told_as_that() -> None:
    (seen,) = seen_by(RULE, found(AT_END))
    assert "as closing it does" in seen.why
    assert not any("fsync" in advice.action for advice in seen.advice)
    assert "several files at once" in seen.advice[0].action
    (seen,) = seen_by(RULE, found(replace(AT_END, places=Places(at_end=8))))
    assert "as closing it does" not in seen.why
    assert "fsync()" in seen.advice[0].action


@pytest.mark.parametrize(
    ("largest", "allowed", "told"),
    [
        (65536, 65536, "195 KiB on average, and the server allows 64.0 KiB a WRITE: raise"),
        (65536, 1048576, "no WRITE brought more than 64.0 KiB: mount without wsize"),
        (65536, None, "no WRITE brought more than 64.0 KiB: mount without wsize"),
        (262144, 1048576, "Most of these files fit one WRITE"),
    ],
    ids=["server", "client", "unknown", "one WRITE"],
)
def test_what_keeps_a_file_from_one_write_is_told(
    largest: int, allowed: int | None, told: str
) -> None:
    writes = replace(RUNS, largest_bytes=largest, allowed_bytes=allowed)
    material = replace(found(AT_END), transfer_runs=(replace(MOVED, writes=writes),))
    (seen,) = seen_by(RULE, material)
    assert told in seen.advice[1].action


def test_large_files_wait_for_what_storage_takes() -> None:
    (seen,) = seen_by(RULE, found(replace(AT_END, written_bytes=10 << 20)))
    assert "flash" in seen.advice[0].action
    assert not any("one WRITE" in advice.action for advice in seen.advice)


def test_what_is_written_through_in_pieces_another_finding_tells() -> None:
    assert seen_by(RULE, found(replace(MANY, places=Places(pieces=10)))) == []
    assert seen_by(RULE, found(replace(MANY, commits=21, places=Places(pieces=10))))
