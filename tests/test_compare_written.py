"""What is told of WRITEs that wait for stable storage in one run, and not in the other."""

from __future__ import annotations

import functools

import pytest

from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace
from tests.diagnosis.mounts import MOUNT
from tests.diagnosis.test_sync_mount import PIECES
from tests.sides import side_of
from tests.unit.rows import Row, call, file, operation

PIECE, GATHERED = 8192, 262144
"""What a WRITE brings of a large file: as much as the program wrote, or as the client may send."""

SMALL = 30
"""Small files, each of which any client sends in one WRITE that is stable."""


@functools.cache
def run(*, through: bool, first: int = 1, size: int = 1 << 20, small: int = SMALL) -> Side:
    """A large file, which is file `first`, and small ones behind it."""
    rows: list[Row] = []
    moves: list[Row] = []

    def write(of: int, offset: int, brought: int, level: str) -> None:
        number = len(rows) + 1
        stable = level != "UNSTABLE"
        rows.append(
            call(number, "WRITE", 1, file=of, stability="stable" if stable else "unstable_write")
        )
        moves.append(
            operation(
                number, "WRITE", file=of, offset=offset, count=brought, requested=brought,
                stable_requested=level, committed=level,
            )
        )  # fmt: skip

    each = PIECE if through else GATHERED
    for offset in range(0, size, each):
        write(first, offset, each, "FILE_SYNC" if through else "UNSTABLE")
    for place in range(small):
        write(first + 1 + place, 0, 2, "FILE_SYNC")
    files = [file(first + place, f"f{first + place}") for place in range(small + 1)]
    found = side_of(calls=rows, operations=moves, files=files)
    return replace(found, mounts=(replace(MOUNT, client="10.0.0.2"),))


def told(before: Side, after: Side) -> dict[str, Cause]:
    return {cause.subject: cause for cause in causes(before, after, ())}


def test_small_files_that_are_stable_on_both_sides_hide_no_sync_mount() -> None:
    """30 of 34 WRITEs of the side that gathers are stable, and bring 60 bytes."""
    through, gathers = run(through=True), run(through=False)
    assert len(through.written_through) == 1
    assert gathers.written_through == ()
    found = told(through, gathers)
    assert list(found) == ["sync", "stable_writes"]
    sync, writes = found["sync"], found["stable_writes"]
    assert (sync.before, sync.after, sync.confidence) == ("sync", "no sync", "possible")
    assert sync.evidence.startswith(
        "128 of 128 WRITEs that continue one another asked for stable storage before, in 1 file; "
        "on the other side what was written to the same files was gathered; programs that open "
    )
    assert (writes.before, writes.after) == ("stable", "unstable, with COMMIT")
    assert writes.evidence == (
        "100 % of what WRITEs brought was answered stable before, <0.1 % after"
    )
    back = told(gathers, through)
    assert (back["sync"].before, back["sync"].after) == ("no sync", "sync")
    assert (back["stable_writes"].before, back["stable_writes"].after) == (
        "unstable, with COMMIT",
        "stable",
    )


def test_where_writes_tell_it_by_their_number_they_do() -> None:
    found = told(run(through=True, small=0), run(through=False, small=0))
    assert found["stable_writes"].evidence == (
        "100 % of the WRITEs were answered stable before, 0 % after"
    )


def test_other_files_are_no_other_setting() -> None:
    """As small files alone beside a large one, or a large one that the other side does not have."""
    through, gathers = run(through=True), run(through=False)
    assert told(through, run(through=False, first=100)) == {}
    few = replace(through, moved=replace(through.moved, written=frozenset()))
    assert told(few, gathers) == {}


def test_pieces_that_wait_tell_no_wsize() -> None:
    """What goes out at each write() is as large as the program makes it."""
    through, gathers = run(through=True), run(through=False)
    assert "wsize" not in told(through, gathers)
    # The same pieces of a client that need not wait.
    assert "wsize" in told(replace(through, written_through=()), gathers)


def test_a_side_that_waits_for_its_commits_is_no_other_one() -> None:
    through, gathers = run(through=True), run(through=False)
    assert "sync" not in told(through, replace(gathers, behind_pieces=(PIECES,)))
    # Nor one that sends as large pieces, and none that needs a COMMIT.
    habits = replace(gathers.habits, writes_unstable=2, largest_write_bytes=PIECE)
    assert "sync" not in told(through, replace(gathers, habits=habits))


@pytest.mark.parametrize("option", ["sync", "noac"])
def test_where_an_option_says_it_the_rule_does_not(option: str) -> None:
    through, gathers = run(through=True), run(through=False)
    waits = MountVerdict((option,), option, "possible", "as seen", ())
    mounted = replace(through, mounts=(replace(MOUNT, verdicts=(waits,)),))
    found = told(mounted, gathers).get("sync")
    assert found is None or found.evidence == "as seen"
