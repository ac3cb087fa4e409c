"""The rule for mounts that take long."""

from __future__ import annotations

from pcapnfs.analyses.mounts.preliminaries import Preliminaries, Preliminary
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.slow_mount import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

MOUNTED = Preliminaries(
    client="10.0.0.2",
    server="10.0.0.1",
    kind="mount",
    calls=3,
    operations=(Preliminary("MNT", 1, 10.0, 0), Preliminary("GETPORT", 2, 0.5, 1)),
    refused=0,
    time_s={"state": 10.0, "unstable": 0.6},
    at_once_s=10.6,
    frames=(5, 1),
)


def test_a_mount_that_takes_ten_seconds() -> None:
    (seen,) = seen_by(RULE, nothing(preliminaries=(MOUNTED,)))
    assert seen.title == "Mounting takes long"
    assert seen.seen == (
        "3 calls took 10.6 s of the clock: MNT 10.0 s, GETPORT 500 ms at most (2 calls, "
        "1 of them sent again)."
    )
    assert seen.claims == (Claim("state", 10.0), Claim("unstable", 0.6))


def test_logging_in_is_told_apart() -> None:
    (seen,) = seen_by(RULE, nothing(preliminaries=(replace(MOUNTED, kind="login"),)))
    assert seen.title == "Logging in to the server takes long"


def test_less_than_a_second_and_kerberos_are_none() -> None:
    """However many mounts there were."""
    quick = replace(MOUNTED, at_once_s=0.99)
    assert seen_by(RULE, nothing(preliminaries=(quick,))) == []
    assert seen_by(RULE, nothing(preliminaries=(replace(MOUNTED, kind="context"),))) == []
