"""The rule for handles of files that are gone."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.stale_handles import StaleFile, StaleHandles
from pcapnfs.diagnosis.rules.stale_handle import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

KNOWN = StaleFile("a/b", 3, ("GETATTR", "READ"), 17, 2.5, None, "10.0.0.3", "REMOVE", 15)
FOREIGN = StaleFile("c", 1, ("LOOKUP",), 12, 0.5, None, None, None, None)
GONE = StaleHandles(
    client="10.0.0.2",
    server="10.0.0.1",
    calls=4,
    files=2,
    expired=0,
    shown=(KNOWN, FOREIGN),
    frames=(20, 22),
)


def test_last_use_and_remover_are_told() -> None:
    (seen,) = seen_by(RULE, nothing(stale_handles=(GONE,)))
    assert seen.seen == (
        "The server answered 4 calls on 2 files with STALE. a/b: 3 times (GETATTR, READ), last "
        "used well 2.50 s before in frame 17; 10.0.0.3 removed it (REMOVE in frame 15). c: 1 time "
        "(LOOKUP), last used well 500 ms before in frame 12; no call in the capture removed it."
    )
    assert seen.severity == "warning"


def test_a_file_that_another_one_replaced_is_told_as_that() -> None:
    replaced = replace(KNOWN, remover_op="RENAME", renamed_frame=9)
    found = replace(GONE, calls=3, files=1, shown=(replaced,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(found,)))
    assert seen.seen.endswith("in frame 17; 10.0.0.3 replaced it (RENAME in frame 15).")


def test_a_handle_refused_once_was_looked_up_anew() -> None:
    once = replace(GONE, calls=1, files=1, shown=(FOREIGN,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(once,)))
    assert seen.severity == "note"
    assert seen_by(RULE, nothing(stale_handles=(once,)), "stale_handle.least=2") == []


def test_expired_handles_and_files_never_used_well() -> None:
    bare = replace(FOREIGN, last_use_frame=None, unused_s=None)
    expired = replace(GONE, calls=1, files=1, expired=1, shown=(bare,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(expired,)))
    assert seen.seen == "The server answered 1 call on 1 file with FHEXPIRED. c: 1 time (LOOKUP)."


def test_a_volatile_handle_that_expired_is_no_file_that_is_gone() -> None:
    expired = replace(GONE, files=1, expired=4, shown=(FOREIGN,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(expired,)))
    assert (seen.title, seen.severity, seen.confidence) == (
        "The server let handles expire",
        "warning",
        "certain",
    )
    assert seen.seen.endswith("last used well 500 ms before in frame 12.")
    cut = replace(expired, files=0, shown=(), told=False)
    assert seen_by(RULE, nothing(stale_handles=(cut,)))[0].title == seen.title
    # One of several files that was removed says nothing of the others.
    mixed = replace(expired, shown=(KNOWN, FOREIGN))
    assert seen_by(RULE, nothing(stale_handles=(mixed,)))[0].title == seen.title
    for not_only in replace(expired, expired=3), replace(expired, shown=(KNOWN,)):
        (seen,) = seen_by(RULE, nothing(stale_handles=(not_only,)))
        assert seen.title == "The client used handles of files that no longer exist"


def test_a_file_that_has_another_handle_is_not_gone() -> None:
    other = replace(FOREIGN, other_frame=31)
    found = replace(GONE, calls=1, files=1, shown=(other,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(found,)))
    assert (seen.title, seen.confidence) == ("The server gave files other handles", "likely")
    assert seen.seen.endswith("; it has another handle (used well in frame 31).")
    forgotten = replace(found, forgotten=True)
    (seen,) = seen_by(RULE, nothing(stale_handles=(forgotten,)))
    assert seen.title == "The server lost its handles at a restart"
    for file in FOREIGN, KNOWN:
        (seen,) = seen_by(RULE, nothing(stale_handles=(replace(found, shown=(other, file)),)))
        assert seen.title == "The client used handles of files that no longer exist"


def test_handles_that_work_later_are_not_gone() -> None:
    alive = replace(FOREIGN, calls=3, next_use_frame=30)
    found = replace(GONE, calls=3, files=1, shown=(alive,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(found,)))
    assert seen.severity == "note"
    assert seen.title == "The server refused handles that it honoured later"
    assert seen.seen.endswith("in frame 12, and well again in frame 30.")


def test_handles_that_do_not_survive_a_rename() -> None:
    renamed = replace(FOREIGN, renamed_frame=13, other_frame=31)
    found = replace(GONE, calls=2, files=2, shown=(renamed, replace(renamed, other_frame=None)))
    (seen,) = seen_by(RULE, nothing(stale_handles=(found,)))
    assert (seen.title, seen.severity, seen.confidence) == (
        "The server's handles do not survive a rename",
        "note",
        "likely",
    )
    assert (
        "in frame 12; it was renamed in frame 13, and has another handle (used well in frame 31)."
        in seen.seen
    )
    unknown = replace(found, shown=(replace(renamed, other_frame=None),))
    (seen,) = seen_by(RULE, nothing(stale_handles=(unknown,)))
    assert seen.title == "The client used handles of files that no longer exist"
    unfound = replace(unknown, unfound=1)
    (seen,) = seen_by(RULE, nothing(stale_handles=(unfound,)))
    assert seen.title == "The server's handles do not survive a rename"
    assert "with STALE or NOENT, though they name nothing but a handle." in seen.seen


def test_handles_that_were_lost_at_a_restart() -> None:
    found = replace(GONE, calls=1, files=1, shown=(FOREIGN,), forgotten=True)
    (seen,) = seen_by(RULE, nothing(stale_handles=(found,)))
    assert (seen.title, seen.severity, seen.confidence) == (
        "The server lost its handles at a restart",
        "warning",
        "likely",
    )
    removed = replace(found, shown=(KNOWN,))
    (seen,) = seen_by(RULE, nothing(stale_handles=(removed,)))
    assert seen.title == "The client used handles of files that no longer exist"


OWN = replace(KNOWN, calls=2, remover="10.0.0.2", after_removal_s=0.0003)
RACED = replace(GONE, calls=2, files=1, shown=(OWN,))


def test_a_client_that_raced_with_its_own_removal_is_told_so() -> None:
    (seen,) = seen_by(RULE, nothing(stale_handles=(RACED,)))
    assert seen.title == "The client used handles of files that it was removing itself"
    assert (seen.severity, seen.confidence) == ("note", "certain")
    assert "acdirmax" not in str(seen.advice)
    under_way = replace(RACED, shown=(replace(OWN, after_removal_s=-0.02),))
    assert seen_by(RULE, nothing(stale_handles=(under_way,)))[0].title == seen.title


@pytest.mark.parametrize(
    "file",
    [
        replace(OWN, remover="10.0.0.3"),
        replace(OWN, after_removal_s=1.1),
        replace(OWN, after_removal_s=None),
        replace(OWN, remover=None, remover_op=None, remover_frame=None, after_removal_s=None),
    ],
    ids=["another client", "long before", "no reply", "nobody"],
)
def test_what_is_no_race_is_told_as_gone(file: StaleFile) -> None:
    for shown in (file,), (OWN, file):
        (seen,) = seen_by(RULE, nothing(stale_handles=(replace(RACED, shown=shown),)))
        assert seen.title == "The client used handles of files that no longer exist"
        assert seen.severity == "warning"


def test_handles_that_were_cut_off_may_work_later() -> None:
    cut = replace(GONE, files=0, shown=(), told=False)
    (seen,) = seen_by(RULE, nothing(stale_handles=(cut,)))
    assert seen.title == "The server refused handles that the capture does not hold"
    assert (seen.severity, seen.confidence) == ("note", "likely")


def test_who_removed_a_file_may_be_cut_off() -> None:
    (seen,) = seen_by(RULE, nothing(stale_handles=(replace(GONE, told=False),)))
    assert seen.seen.endswith("last used well 500 ms before in frame 12.")
    assert (seen.severity, seen.confidence) == ("warning", "likely")
