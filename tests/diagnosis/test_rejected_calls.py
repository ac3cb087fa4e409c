"""The rule for calls that the server rejects again and again."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.failures import Failures
from pcapnfs.analyses.servers.rejections import KINDS, Rejections
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.rejected_calls import MEANINGS, RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.refused import REFUSED
from tests.diagnosis.restarted import RESTARTED

MANY = Rejections(
    client="10.0.0.2",
    server="10.0.0.1",
    op="OPEN",
    kind="state",
    calls=10,
    of=100,
    statuses=("NFS4ERR_BAD_SEQID",),
    paths=("a/b", "."),
    time_s={"unstable": 0.4},
    frames=(3, 5),
)


def test_a_tenth_of_an_operation_is_told() -> None:
    (seen,) = seen_by(RULE, nothing(rejections=(MANY,)))
    assert seen.title == "OPEN: client and server disagree about what is open"
    assert seen.seen == (
        "10 of 100 OPEN calls were answered NFS4ERR_BAD_SEQID (not the next call of this owner of "
        "opens or locks): a/b, the root of the export."
    )
    assert (seen.severity, seen.confidence, seen.calls) == ("note", "certain", 10)
    assert seen.claims == (Claim("unstable", 0.4),)
    assert (seen.frames, seen.about) == ((3, 5), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(
    ("op", "statuses", "overtaken"),
    [
        ("CLOSE", ("NFS4ERR_BAD_STATEID", "NFS4ERR_OLD_STATEID"), True),
        ("CLOSE", ("NFS4ERR_BAD_STATEID",), False),
        ("WRITE", ("NFS4ERR_OLD_STATEID",), False),
    ],
)
def test_parallel_closes_of_a_file_are_no_quarrel(
    op: str, statuses: tuple[str, ...], overtaken: bool
) -> None:
    changed = replace(MANY, op=op, statuses=statuses)
    (seen,) = seen_by(RULE, nothing(rejections=(changed,)))
    assert ("get ahead of one another" in seen.title) is overtaken
    assert ("disagree" in seen.title) is not overtaken


@pytest.mark.parametrize("change", [{"calls": 9, "of": 9}, {"of": 101}])
def test_a_little_less_is_not(change: dict[str, int]) -> None:
    changed = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(rejections=(changed,))) == []


@pytest.mark.parametrize(
    ("op", "calls", "severity"),
    [
        ("WRITE", 50, "problem"),
        ("READ", 50, "problem"),
        ("WRITE", 49, "note"),
        ("OPEN", 50, "warning"),
    ],
)
def test_data_that_mostly_cannot_be_moved_is_a_problem(op: str, calls: int, severity: str) -> None:
    changed = replace(MANY, op=op, calls=calls)
    (seen,) = seen_by(RULE, nothing(rejections=(changed,)))
    assert seen.severity == severity


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_and_status_is_explained(kind: str) -> None:
    changed = replace(MANY, kind=kind, statuses=KINDS[kind])
    (seen,) = seen_by(RULE, nothing(rejections=(changed,)))
    assert seen.why
    assert seen.advice
    for status in KINDS[kind]:
        assert status.endswith("NOTSUPP") or (status.partition("ERR_")[2] or status) in MEANINGS


@pytest.mark.parametrize(("calls", "exclusive"), [(50, True), (100, False)])
def test_a_create_that_is_not_supported_is_an_exclusive_one(calls: int, exclusive: bool) -> None:
    changed = replace(
        MANY, op="CREATE", kind="unsupported", statuses=("NFS3ERR_NOTSUPP",), calls=calls
    )
    (seen,) = seen_by(RULE, nothing(rejections=(changed,)))
    assert "(it makes no files exclusively, RFC 1813 section 3.3.8)" in seen.seen
    assert (seen.title == "CREATE: the server makes no files exclusively") is exclusive
    assert (seen.severity == "note") is exclusive
    assert ("xattr" in str(seen.advice)) is not exclusive


@pytest.mark.parametrize(
    ("op", "status", "title"),
    [
        ("SYMLINK", "NFS3ERR_ACCES", "SYMLINK: the server makes no symbolic links"),
        ("LINK", "NFS3ERR_INVAL", "LINK: the server makes no hard links"),
        ("MKNOD", "NFS3ERR_ACCES", "MKNOD: the server makes no devices, sockets or pipes"),
    ],
)
def test_what_a_server_never_makes_is_said_so(op: str, status: str, title: str) -> None:
    changed = replace(
        MANY, op=op, kind="unsupported", statuses=(status,), calls=10, of=10, never=True
    )
    (seen,) = seen_by(RULE, nothing(rejections=(changed,)))
    assert (seen.title, seen.severity, seen.confidence) == (title, "warning", "likely")
    assert "None of any client succeeded" in seen.seen
    assert ("though the same user made" in seen.seen) is status.endswith("ACCES")
    said = replace(changed, statuses=("NFS3ERR_NOTSUPP",), never=False)
    (seen,) = seen_by(RULE, nothing(rejections=(said,)))
    assert (seen.title, seen.confidence) == (title, "certain")


@pytest.mark.parametrize("kind", ["credential", "revoked", "unreclaimed", "permission"])
def test_state_that_was_taken_away_is_no_disagreement(kind: str) -> None:
    other: Failures = replace(REFUSED, kind=kind)
    silent = kind != "permission"
    assert bool(seen_by(RULE, nothing(rejections=(MANY,), failures=(other,)))) is not silent
    elsewhere = replace(other, server="10.0.0.9")
    assert seen_by(RULE, nothing(rejections=(MANY,), failures=(elsewhere,)))
    limit = replace(MANY, kind="limit", statuses=("NFS4ERR_FBIG",))
    assert seen_by(RULE, nothing(rejections=(limit,), failures=(other,)))


def test_a_server_that_forgot_its_clients_does_not_disagree() -> None:
    for server, silent in ((RESTARTED, True), (replace(RESTARTED, server="10.0.0.9"), False)):
        assert server.lost_state or server.changes
        found = seen_by(RULE, nothing(rejections=(MANY,), restarts=(server,)))
        assert (not found) is silent
