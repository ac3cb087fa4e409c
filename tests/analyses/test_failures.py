"""What a server refused for good."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.failures import KINDS, Failures, failures
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(1, ".", "directory"), file(2, "a"), file(3, "b")]


def refused(number: int, op: str, name: str, **columns: object) -> Row:
    """A call that was answered with a status."""
    return call(number, op, 1, status=99, status_name=name, **columns)


def test_calls_are_counted_by_kind_with_users_and_files() -> None:
    calls = [
        refused(1, "WRITE", "NFS3ERR_NOSPC", uid=7, file=3),
        refused(2, "WRITE", "NFS3ERR_NOSPC", uid=7, file=3),
        refused(3, "CREATE", "NFS3ERR_NOSPC", uid=0, directory=1),
        refused(4, "COMMIT", "NFS3ERR_IO", file=2),
        refused(5, "WRITE", "NFS3ERR_NOSPC", client="10.0.0.3", file=2),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        full, broken, other = failures(trace)
    assert full == Failures(
        client="10.0.0.2",
        server="10.0.0.1",
        kind="space",
        calls=3,
        statuses=("NFS3ERR_NOSPC",),
        operations=("WRITE", "CREATE"),
        users=(7, 0),
        paths=("b", "."),
        frames=(1, 3, 5),
        from_ns=int(str(calls[0]["call_time"])),
        until_ns=int(str(calls[2]["call_time"])),
    )
    assert (broken.kind, broken.calls, broken.users, broken.paths) == ("fault", 1, (), ("a",))
    assert (other.client, other.kind, other.calls) == ("10.0.0.3", "space", 1)


@pytest.mark.parametrize(
    ("op", "name", "attributes", "user", "owning"),
    [
        ("SETATTR", "NFS3ERR_PERM", "00000000:00000010", 0, 1),
        ("SETATTR", "NFS4ERR_ACCESS", "00000000:00000020", 0, 1),
        ("SETATTR", "NFS3ERR_PERM", "00000010:00400002", 0, 0),  # size, times and mode
        ("SETATTR", "NFS3ERR_PERM", None, 0, 0),
        ("CREATE", "NFS3ERR_PERM", "00000000:00000010", 0, 1),
        ("CREATE", "NFS3ERR_ACCES", "00000000:00000010", 0, 0),
        ("OPEN", "NFS4ERR_PERM", "00000000:00000002", 0, 0),
        ("SETATTR", "NFS3ERR_PERM", "00000000:00000010", 7, 0),
        ("SETATTR", "NFS3ERR_PERM", "00000000:00000010", None, 0),
    ],
)
def test_owners_are_those_that_root_sets(
    op: str, name: str, attributes: str | None, user: int | None, owning: int
) -> None:
    """A chmod, or a file that nobody may make, gives no owner; and others may give none."""
    call_ = refused(1, op, name, file=2, uid=user)
    asked = operation(1, op, attributes=attributes, file=2)
    with trace_of(calls=[call_], operations=[asked], files=FILES) as trace:
        (pair,) = failures(trace)
    assert pair.owning == owning


def test_data_of_a_directory_cannot_be_read() -> None:
    calls = [
        refused(1, "READ", "NFS3ERR_IO", file=1),
        refused(2, "GETATTR", "NFS3ERR_IO", file=1),
        refused(3, "READ", "NFS3ERR_IO", file=2),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        (pair,) = failures(trace)
    assert pair.operations == ("READ of a directory", "GETATTR", "READ")


def test_a_refused_mount_is_told_by_its_export() -> None:
    calls = [refused(1, "MNT", "MNT3ERR_ACCES", program=100005)]
    with trace_of(calls=calls, operations=[operation(1, "MNT", text="/export")]) as trace:
        (pair,) = failures(trace)
    assert (pair.kind, pair.paths) == ("mount", ("/export",))


@pytest.mark.parametrize("kind", KINDS)
def test_each_status_is_of_its_kind(kind: str) -> None:
    for name in KINDS[kind]:
        with trace_of(calls=[refused(1, "SETATTR", name)]) as trace:
            (pair,) = failures(trace)
        assert (pair.kind, pair.statuses) == (kind, (name,))


def test_rpc_refuses_with_a_status_of_its_own() -> None:
    calls = [
        call(1, "GETATTR", 1, status=None, status_name=None, rpc_status="AUTH_TOOWEAK"),
        call(2, "GETATTR", 1, status=None, status_name=None, rpc_status="RPCSEC_GSS_CTXPROBLEM"),
        call(3, "STARTTLS", 1, status=None, status_name=None, rpc_status="AUTH_REJECTEDCRED"),
    ]
    with trace_of(calls=calls) as trace:
        (pair,) = failures(trace)
    assert (pair.kind, pair.calls, pair.statuses) == ("credential", 1, ("AUTH_TOOWEAK",))


def test_what_programs_provoke_or_goes_over_is_none_of_it() -> None:
    calls = [
        refused(1, "LOOKUP", "NFS3ERR_NOENT"),
        refused(2, "MKDIR", "NFS3ERR_EXIST"),
        refused(3, "OPEN", "NFS4ERR_DELAY"),
        refused(4, "GETATTR", "NFS3ERR_STALE"),
        refused(5, "SEEK", "NFS4ERR_NXIO"),
        # A snaplen cut off that it is a SEEK.
        refused(8, "COMPOUND", "NFS4ERR_NXIO", undecoded="truncated"),
        refused(6, "CB_RECALL", "NFS4ERR_SERVERFAULT", callback=True),
        refused(7, "LOCK", "NFS4ERR_DENIED"),
    ]
    with trace_of(calls=calls) as trace:
        assert failures(trace) == ()


@pytest.mark.parametrize(
    ("op", "kind"),
    [("CREATE_SESSION", "session"), ("EXCHANGE_ID", "session"), ("LAYOUTGET", "space")],
)
def test_a_session_that_has_no_room_fills_no_file_system(op: str, kind: str) -> None:
    with trace_of(calls=[refused(1, op, "NFS4ERR_NOSPC")]) as trace:
        (pair,) = failures(trace)
    assert (pair.kind, pair.statuses) == (kind, ("NFS4ERR_NOSPC",))


def test_what_was_read_may_be_a_directory_where_that_was_cut_off() -> None:
    calls = [
        refused(1, "READ", "NFS3ERR_IO", undecoded="truncated"),
        refused(2, "READ", "NFS3ERR_IO", file=1, undecoded="truncated"),
        refused(3, "WRITE", "NFS3ERR_IO", undecoded="truncated"),
    ]
    with trace_of(calls=calls, files=[file(1, "a")]) as trace:
        (pair,) = failures(trace)
    assert set(pair.operations) == {"READ of what was cut off", "READ", "WRITE"}
