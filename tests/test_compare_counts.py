"""What is told where one run only sends an operation more often: captures that are built."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.comparison.changed_counts import Often, more_often
from pcapnfs.comparison.comparing import Comparison, compare
from pcapnfs.synth.builder import Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.synth.builder.rpc import Request
from pcapnfs.views import differences

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
BEGIN = 1_700_000_000_000 * MS
FOLDER = b"the folder"


def of_file(place: int) -> Fattr3:
    return Fattr3(fileid=10 + place, mtime_ns=1, ctime_ns=1)


def run(folder: Path, name: str, *, files: int, asked: int, checked: int = 2) -> Path:
    """One that looks at each file, and asks for its attributes so many times, 70 s apart: by
    then any default timeout is over."""
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
        for place in range(files):
            call(nfs3.getattr_(b"file %04d" % place), results.getattr_(of_file(place)))
    return talk.capture().write(folder / f"{name}.pcap")


def compared(before: Path, after: Path) -> Comparison:
    with pcapnfs.open(before) as first, pcapnfs.open(after) as second:
        return compare(first, second)


def counted(result: Comparison) -> Often | None:
    runs = result.before, result.after
    calls = runs[0].calls, runs[1].calls
    return more_often(result.operations, calls, (runs[0].files, runs[1].files))


def test_attributes_that_are_asked_for_less_often_may_be_kept_for_longer(tmp_path: Path) -> None:
    often = run(tmp_path, "often", files=40, asked=6)
    seldom = run(tmp_path, "seldom", files=40, asked=1)
    result = compared(often, seldom)
    assert result.causes == ()
    nothing, told, *_ = differences.about_causes(result)
    assert nothing == "No setting that the traffic shows by itself."
    assert told.startswith("GETATTR: 240 \u2192 40, while most other calls stayed as they were")
    assert "noac, actimeo" in told
    assert told.endswith("(possible).")
    assert counted(compared(seldom, often)) == Often("GETATTR", 40, 240)


def test_more_files_need_more_calls(tmp_path: Path) -> None:
    many = run(tmp_path, "many", files=160, asked=1)
    few = run(tmp_path, "few", files=40, asked=1)
    assert counted(compared(many, few)) is None
    told = differences.about_causes(compared(run(tmp_path, "both", files=80, asked=6), few))
    assert "GETATTR: 480 \u2192 40 for 80 \u2192 40 files, while" in told[1]


@pytest.mark.parametrize(
    ("asked", "checked"),
    # Less than three times as often; a program that does something else.
    [(2, 2), (6, 8)],
)
def test_what_hardly_moved_or_moved_with_all_others_is_nothing(
    asked: int, checked: int, tmp_path: Path
) -> None:
    other = run(tmp_path, "other", files=40, asked=asked, checked=checked)
    result = compared(other, run(tmp_path, "one", files=40, asked=1))
    assert counted(result) is None
    assert differences.about_causes(result)[0].startswith("Nothing that the traffic shows")
