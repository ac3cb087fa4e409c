"""The rule for what came of mounts."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.mount_outcomes import MountOutcome
from pcapnfs.diagnosis.finding import Observed
from pcapnfs.diagnosis.rules.mount_outcome import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

MET = MountOutcome(
    client="10.0.0.2",
    server="10.0.0.1",
    kind="version",
    calls=1,
    asked=("NULL 3",),
    statuses=("PROG_MISMATCH",),
    paths=(),
    flavours=(),
    went_on=False,
    tried_s=0.0,
    frames=(4,),
)


def told(*met: MountOutcome) -> list[Observed]:
    """What the rule says of these."""
    return seen_by(RULE, nothing(mount_outcomes=met))


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("unregistered", "The server's portmapper does not know the service that the mount needs"),
        ("version", "The server does not have the version that the mount asks for"),
        ("program", "What answers on the port is not the service that the mount needs"),
        ("flavour", "The export wants another security flavour than the mount has"),
        ("invalid", "The server does not take what the mount asks for"),
        ("path", "The server does not have the directory that the mount asks for"),
        ("unused", "The mount was granted for security flavours that the client did not use"),
    ],
)
def test_what_a_mount_failed_for(kind: str, title: str) -> None:
    (seen,) = told(replace(MET, kind=kind))
    assert (seen.severity, seen.title) == ("warning", title)
    assert "reached no file" in seen.seen


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        (("NULL 3",), "4.2, 4.1, 4.0;"),
        (("EXCHANGE_ID 4.2", "EXCHANGE_ID 4.1"), "4.0, 3;"),
        (("NULL 4", "NULL 3"), ""),
        (("NULL mount1",), "4.2, 4.1, 4.0, 3;"),
    ],
)
def test_a_version_that_was_refused_is_not_recommended(asked: tuple[str, ...], others: str) -> None:
    (seen,) = told(replace(MET, asked=asked))
    assert (f"(vers={others}" in seen.advice[0].action) is bool(others)


def test_flavours_that_were_granted_are_told() -> None:
    met = replace(MET, kind="unused", asked=("MNT mount3",), statuses=("MNT3_OK",))
    (seen,) = told(replace(met, paths=("/srv",), flavours=("KRB5", "KRB5I", "KRB5P", "6")))
    assert seen.seen == (
        "1 call (MNT of MOUNT v3) was answered MNT3_OK: /srv, for KRB5, KRB5I, KRB5P, 6. The "
        "client reached no file with any of these after it."
    )


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("NULL 3", "NULL of NFSv3"),
        ("EXCHANGE_ID 4.2", "EXCHANGE_ID of NFSv4.2"),
        ("MNT mount3", "MNT of MOUNT v3"),
        ("77 3", "procedure 77 of NFSv3"),
    ],
)
def test_operations_are_told_with_their_version(asked: str, shown: str) -> None:
    (seen,) = told(replace(MET, asked=(asked,), paths=("/srv",)))
    assert seen.seen.startswith(f"1 call ({shown}) was answered PROG_MISMATCH: /srv.")


def test_services_are_told_as_the_portmapper_has_them() -> None:
    (seen,) = told(replace(MET, kind="unregistered", asked=("100005 v3 udp", "100003 v3 tcp")))
    assert seen.seen.startswith(
        "The portmapper answered 1 call with 'not registered': MOUNT v3 udp, NFS v3 tcp."
    )


@pytest.mark.parametrize("status", ["NFS4ERR_ACCESS", "NFS4ERR_PERM"])
def test_a_directory_that_is_there_may_be_closed(status: str) -> None:
    (seen,) = told(replace(MET, kind="path", statuses=(status,)))
    assert seen.title.startswith("The server does not let the client into the directory")
    assert seen.confidence == "likely"


def test_versions_that_were_tried_first_are_a_note_and_other_tries_none() -> None:
    tried = replace(MET, went_on=True)
    (seen,) = told(
        tried,
        replace(tried, kind="flavour"),
        replace(tried, kind="unregistered", asked=("100003 v3 udp",), statuses=(), frames=(9,)),
        replace(tried, kind="program", asked=("UMNT mount3",), frames=(12,)),
    )
    assert (seen.severity, seen.calls, seen.frames) == ("note", 2, (4, 12))
    assert "reached no file" not in seen.seen


def test_a_transport_that_an_unmount_asks_for_is_none() -> None:
    """Linux' umount asks for MOUNT by UDP first, and then by TCP."""
    asked = replace(MET, kind="unregistered", asked=("100005 v3 udp",), statuses=(), calls=2)
    assert told(replace(asked, went_on=True, tried_s=0.16)) == []
    (seen,) = told(asked)
    assert seen.severity == "warning"


@pytest.mark.parametrize("kind", ["unregistered", "version", "program", "flavour", "invalid"])
@pytest.mark.parametrize(("tried_s", "late"), [(1.0, True), (0.99, False)])
def test_what_delayed_a_mount_is_told(kind: str, tried_s: float, late: bool) -> None:
    found = told(replace(MET, kind=kind, went_on=True, tried_s=tried_s))
    assert [seen.severity for seen in found].count("warning") == late
    for seen in found:
        assert ("met with nothing else for 1.00 s" in seen.seen) is late


def test_a_mount_alone_is_a_note() -> None:
    (seen,) = told(replace(MET, kind="alone", statuses=("MNT3_OK",), paths=("/srv",)))
    assert (seen.severity, seen.title) == (
        "note",
        "The mount was granted, and no call for files follows",
    )
    assert "reached no file" not in seen.seen


def test_without_mounts_nothing_is_said() -> None:
    assert told() == []
