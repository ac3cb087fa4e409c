"""What is told where one run sends operations more often: captures that are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcapnfs.analyses.mounts.mount_verdict import MountVerdict
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.changed_caching import KEPT
from pcapnfs.comparison.changed_counts import Counts, Often, more_often
from pcapnfs.comparison.comparing import Comparison, of_sides
from pcapnfs.comparison.matching import FindingChange
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace
from pcapnfs.synth.builder import Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.synth.builder.rpc import Request
from pcapnfs.views import counts, differences
from tests.diagnosis.mounts import MOUNT
from tests.sides import side_in

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
BEGIN = 1_700_000_000_000 * MS
FOLDER = b"the folder"


def of_file(place: int) -> Fattr3:
    return Fattr3(fileid=10 + place, mtime_ns=1, ctime_ns=1)


def run(
    folder: Path,
    name: str,
    *,
    files: int,
    asked: int,
    checked: int = 2,
    only_asked: int = 0,
    unasked: int = 0,
) -> Path:
    """One that looks at each file, and asks for its attributes so many times, 70 s apart: by
    then any default timeout is over. Of some files more it knows the handle, and only asks. At
    last it looks at one file so many times, 70 s apart, without asking."""
    talk = Conversation()
    now, xid = BEGIN, 0

    def call(request: Request, answer: bytes) -> None:
        nonlocal now, xid
        now, xid = now + 5 * MS, xid + 1
        talk.call(xid, now, *request)
        talk.reply(xid, now + MS, answer)

    for place in range(files):
        handle, told = b"file %04d" % place, of_file(place)
        call(
            nfs3.lookup(FOLDER, f"f{place}"),
            results.lookup(handle, told, Fattr3(type=2, fileid=9)),
        )
        for _ in range(checked):
            call(nfs3.access(handle), results.access(31, told))
    for _ in range(asked):
        now += 70_000 * MS
        for place in range(files + only_asked):
            call(nfs3.getattr_(b"file %04d" % place), results.getattr_(of_file(place)))
    for _ in range(unasked):
        now += 70_000 * MS
        call(nfs3.access(b"file 0000"), results.access(31, of_file(0)))
    return talk.capture().write(folder / f"{name}.pcap")


def compared(before: Path, after: Path) -> Comparison:
    return of_sides(side_in(before), side_in(after))


def counted(result: Comparison) -> Counts | None:
    return more_often(result.operations, (result.before.files, result.after.files))


def test_attributes_that_are_asked_for_less_often_may_be_kept_for_longer(tmp_path: Path) -> None:
    often = run(tmp_path, "often", files=40, asked=6)
    seldom = run(tmp_path, "seldom", files=40, asked=1, unasked=5)
    result = compared(often, seldom)
    assert result.causes == ()
    nothing, told, *_ = differences.about_causes(result)
    assert nothing == "No setting that the traffic shows by itself."
    assert told.startswith("GETATTR: 240 \u2192 40, while most other calls stayed as they were")
    assert "noac, actimeo" in told
    # Where files are opened again and again, that spares as many.
    assert "nocto" in told
    assert told.endswith("(possible).")
    back = counted(compared(seldom, often))
    assert back == Counts((Often("3", "GETATTR", 40, 240),), by_file=False, stayed=True)


def test_a_longer_run_may_outlast_what_is_kept(tmp_path: Path) -> None:
    long = run(tmp_path, "long", files=40, asked=6)
    result = compared(run(tmp_path, "short", files=40, asked=1), long)
    told = differences.about_causes(result)
    assert "or the longer run outlasted it" in told[1]


def test_names_that_somebody_else_voided_stand_first(tmp_path: Path) -> None:
    """Where that was found in the run which asked more often, and in no other."""
    result = compared(*(run(tmp_path, name, files=40, asked=1) for name in ("one", "two")))
    lookups = Counts((Often("3", "LOOKUP", 6, 206),), by_file=False, stayed=True)
    found = FindingChange("came", "voided_names", "warning", "Names", None, 1.0)
    said = "somebody else changed directories meanwhile"
    assert f"as they were: {said}" in counts.told(lookups, replace(result, findings=(found,)))
    for other in (replace(found, where="went"), replace(found, where="both")):
        assert said not in counts.told(lookups, replace(result, findings=(other,)))
    asked = Counts((Often("3", "GETATTR", 6, 206),), by_file=False, stayed=True)
    assert said not in counts.told(asked, replace(result, findings=(found,)))


def test_of_what_captures_lack_no_count_is_told(tmp_path: Path) -> None:
    often = run(tmp_path, "often", files=40, asked=6)
    result = compared(often, run(tmp_path, "seldom", files=40, asked=1))
    another = tuple(replace(row, version="4", calls_after=0) for row in result.operations)
    others = replace(result, clear_from=0.06), replace(result, operations=another)
    for other in others:
        assert len(differences.about_causes(result)) > 1
        assert not any("GETATTR" in told for told in differences.about_causes(other))


def test_few_other_calls_that_stayed_are_enough(tmp_path: Path) -> None:
    """`stat` of files that a listing gave: there is hardly another call."""
    often = run(tmp_path, "often", files=2, asked=4, only_asked=60)
    seldom = run(tmp_path, "seldom", files=2, asked=1, only_asked=60)
    found = counted(compared(seldom, often))
    assert found == Counts((Often("3", "GETATTR", 62, 248),), by_file=False, stayed=True)


def test_files_that_are_only_asked_about_are_no_more_work(tmp_path: Path) -> None:
    """A client that keeps attributes asks about fewer files, and does the same with the others."""
    often = run(tmp_path, "often", files=40, asked=5, only_asked=40)
    seldom = run(tmp_path, "seldom", files=40, asked=1)
    result = compared(often, seldom)
    assert (result.before.files, result.after.files) == (80, 40)
    found = counted(result)
    assert found == Counts((Often("3", "GETATTR", 400, 40),), by_file=False, stayed=True)
    told = differences.about_causes(result)
    assert told[1].startswith("GETATTR: 400 \u2192 40, while most other calls stayed")


def test_more_files_need_more_calls(tmp_path: Path) -> None:
    many = run(tmp_path, "many", files=160, asked=1)
    few = run(tmp_path, "few", files=40, asked=1)
    assert counted(compared(many, few)) is None
    told = differences.about_causes(compared(run(tmp_path, "both", files=80, asked=6), few))
    assert "GETATTR: 480 \u2192 40 for 80 \u2192 40 files, while" in told[1]


def test_less_than_three_times_as_often_is_nothing(tmp_path: Path) -> None:
    other = run(tmp_path, "other", files=40, asked=2)
    result = compared(other, run(tmp_path, "one", files=40, asked=1))
    assert counted(result) is None
    assert differences.about_causes(result)[0].startswith("Nothing that the traffic shows")


def test_several_operations_are_told(tmp_path: Path) -> None:
    other = run(tmp_path, "other", files=40, asked=6, checked=8)
    result = compared(other, run(tmp_path, "one", files=40, asked=1, unasked=5))
    moved = (Often("3", "ACCESS", 320, 85), Often("3", "GETATTR", 240, 40))
    assert counted(result) == Counts(moved, by_file=False, stayed=True)
    told = differences.about_causes(result)
    assert told[1].startswith("ACCESS: 320 \u2192 85; GETATTR: 240 \u2192 40, while most")
    assert "names and attributes are kept" in told[1]


def test_where_the_others_moved_as_well_that_is_said(tmp_path: Path) -> None:
    """Twice as often is no cause to name ACCESS, but a program that does something else."""
    other = run(tmp_path, "other", files=40, asked=6, checked=4)
    result = compared(other, run(tmp_path, "one", files=40, asked=1))
    found = counted(result)
    assert found is not None
    assert not found.stayed
    told = differences.about_causes(result)
    assert "most other calls did not stay as they were either" in told[1]
    assert "noac" not in told[1]


def test_of_other_work_nothing_is_called_unchanged(tmp_path: Path) -> None:
    """More files, and other calls of each."""
    other = run(tmp_path, "other", files=80, asked=2, checked=4)
    result = compared(other, run(tmp_path, "one", files=40, asked=3))
    assert counted(result) is None
    assert differences.about_causes(result)[0] == counts.OTHER_COUNTS


def of(path: Path, *verdicts: MountVerdict, too_little: str | None = None) -> Side:
    """A capture whose mount shows so much."""
    side = side_in(path)
    return replace(side, mounts=(replace(MOUNT, verdicts=verdicts, too_little=too_little),))


def attribute_cache(before: Side, after: Side) -> list[Cause]:
    operations = operation_changes(before.times, after.times)
    found = causes(before, after, operations)
    return [cause for cause in found if cause.subject == "attribute_cache"]


NEVER = MountVerdict(("noac", "actimeo=0"), "noac or actimeo=0", "likely", "asked always", ())


def test_who_asks_half_as_often_keeps_attributes_though_its_calls_are_too_few(
    tmp_path: Path,
) -> None:
    none = of(run(tmp_path, "none", files=40, asked=2), NEVER)
    kept = of(run(tmp_path, "kept", files=40, asked=1), too_little="few visits")
    (cause,) = attribute_cache(kept, none)
    assert (cause.before, cause.after) == (KEPT, NEVER.title)
    assert cause.confidence == "possible"
    assert cause.evidence == (
        "asked always; 40 GETATTRs before, 80 after, while most other calls stayed as they were"
    )
    (back,) = attribute_cache(none, kept)
    assert (back.before, back.after) == (NEVER.title, KEPT)


@pytest.mark.parametrize(
    ("asked", "checked"),
    # Not half as often; more often; a program that does something else.
    [(4, 2), (13, 2), (3, 8)],
)
def test_who_asks_as_often_need_not_keep_them(asked: int, checked: int, tmp_path: Path) -> None:
    none = of(run(tmp_path, "none", files=40, asked=6), NEVER)
    untold = of(
        run(tmp_path, "untold", files=40, asked=asked, checked=checked), too_little="few visits"
    )
    assert attribute_cache(untold, none) == []
    assert attribute_cache(none, untold) == []
