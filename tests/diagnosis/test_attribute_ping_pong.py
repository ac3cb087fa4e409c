"""The rule for files that clients change by turns."""

from __future__ import annotations

from pcapnfs.analyses.caching.shared_files import SharedFile, SharedFiles
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.attribute_ping_pong import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

SHARED = SharedFiles(
    server="10.0.0.1",
    files=2,
    turns=4,
    most_turns=3,
    shown=(
        SharedFile("log", ("10.0.0.2", "10.0.0.3"), 3),
        SharedFile("q", ("10.0.0.2", "10.0.0.3"), 1),
    ),
    read_bytes=8192,
    time_s={"read": 0.2},
    frames=(3,),
)


def test_there_and_back_and_there_again() -> None:
    (seen,) = seen_by(RULE, nothing(shared_files=(SHARED,)))
    assert seen.seen == (
        "4 times one client changed a file and another was the next to use it: log (3 times: "
        "10.0.0.2, 10.0.0.3); q (1 time: 10.0.0.2, 10.0.0.3). 8.00 KiB were read again for it."
    )
    assert seen.claims == (Claim("read", 0.2),)


def test_handing_over_once_is_how_work_is_shared() -> None:
    many = replace(SHARED, files=50, turns=100, most_turns=2)
    assert seen_by(RULE, nothing(shared_files=(many,))) == []
