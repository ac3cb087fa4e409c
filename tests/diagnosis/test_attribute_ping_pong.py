"""The rule for files that clients change by turns."""

from __future__ import annotations

from pcapnfs.analyses.caching.overwritten import Overwritten, OverwrittenFile
from pcapnfs.analyses.caching.shared_files import SharedFile, SharedFiles
from pcapnfs.analyses.captured.passed_on import PassedOn
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.material import Material
from pcapnfs.diagnosis.rules.attribute_ping_pong import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

SHARED = SharedFiles(
    server="10.0.0.1",
    files=2,
    turns=4,
    shown=(
        SharedFile("log", ("10.0.0.2", "10.0.0.3"), 3),
        SharedFile("q", ("10.0.0.2", "10.0.0.3"), 1),
    ),
    time_s={"read": 0.2},
    frames=(3,),
)


def _reread(number: int | None) -> Material:
    none = nothing()
    return replace(none, shared_files=(SHARED,), cache=replace(none.cache, bytes_reread=number))


def test_there_and_back_and_there_again() -> None:
    (seen,) = seen_by(RULE, _reread(8192))
    assert seen.seen == (
        "4 times one client changed a file and another was the next to use it: log (3 times: "
        "10.0.0.2, 10.0.0.3); q (1 time: 10.0.0.2, 10.0.0.3). Clients read 8.00 KiB again after "
        "somebody else's change."
    )
    assert seen.claims == (Claim("read", 0.2),)


def test_what_was_read_again_is_what_the_caches_say() -> None:
    for number in (0, None):
        (seen,) = seen_by(RULE, _reread(number))
        assert "again after" not in seen.seen
    two = replace(_reread(8192), shared_files=(SHARED, replace(SHARED, server="10.0.0.9")))
    assert not any("again after" in seen.seen for seen in seen_by(RULE, two))


def test_handing_over_once_is_how_work_is_shared() -> None:
    twice = replace(SHARED.shown[0], turns=2)
    many = replace(SHARED, files=50, turns=100, shown=(twice, *SHARED.shown[1:]))
    assert seen_by(RULE, nothing(shared_files=(many,))) == []


LOST = Overwritten(
    server="10.0.0.1",
    appends=160,
    writes=40,
    shown=(OverwrittenFile("log", ("10.0.0.2", "10.0.0.3"), 40),),
    frames=(119, 121),
)


def test_appends_from_the_same_end_put_data_at_risk() -> None:
    (seen,) = seen_by(RULE, nothing(overwritten=(LOST,)))
    assert (seen.severity, seen.claims, seen.calls) == ("problem", (), 40)
    assert seen.seen == (
        "40 times a client appended to a file from the end from which another client had appended: "
        "log (40 times: 10.0.0.2, 10.0.0.3). What was written first is lost there, unless both "
        "wrote the same."
    )
    assert (seen.frames, seen.about) == ((119, 121), ("10.0.0.1",))


def test_two_of_them_are_not_told() -> None:
    assert seen_by(RULE, nothing(overwritten=(replace(LOST, writes=2),))) == []


def test_no_advice_is_to_open_the_file_each_time_in_place_of_locks() -> None:
    for seen in seen_by(RULE, nothing(shared_files=(SHARED,), overwritten=(LOST,))):
        assert not any("or open" in advice.action for advice in seen.advice)


NAT = PassedOn("10.0.0.2", "10.0.0.1", "10.0.0.3", "10.0.0.1", 100, (1,))
"""The host 10.0.0.3 passes on what 10.0.0.2 calls."""


def test_files_of_one_client_before_and_behind_a_host_that_passes_calls_on_do_not_count() -> None:
    """Of these more is told than of the files that two clients share."""
    two = ("10.0.0.2", "10.0.0.4")
    shared = replace(SHARED, turns=8, shown=(*SHARED.shown, SharedFile("both", two, 4)))
    lost = replace(LOST, writes=43, shown=(*LOST.shown, OverwrittenFile("both", two, 3)))
    appended, turned = seen_by(
        RULE, nothing(shared_files=(shared,), overwritten=(lost,), passed_on=(NAT,))
    )
    assert appended.seen.startswith("3 times a client appended")
    assert "had appended: both (3 times: 10.0.0.2, 10.0.0.4)." in appended.seen
    assert appended.calls == 3
    assert turned.seen == (
        "4 times one client changed a file and another was the next to use it: both (4 times: "
        "10.0.0.2, 10.0.0.4)."
    )
    # Frames and times are those of all files.
    assert (appended.frames, turned.frames, turned.claims) == ((), (), ())
    few = replace(shared, shown=(*SHARED.shown, SharedFile("both", two, 2)))
    assert seen_by(RULE, nothing(shared_files=(few,), passed_on=(NAT,))) == []
