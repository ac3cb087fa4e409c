"""What a server rejected, since by the protocol it could not carry it out."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers import failures
from pcapnfs.analyses.servers.rejections import KINDS, STATUSES, Rejections, rejections
from tests.unit.rows import Row, call, file, trace_of

FILES = [file(1, ".", "directory"), file(2, "a"), file(3, "b")]


def rejected(number: int, op: str, name: str, **columns: object) -> Row:
    """A call that was answered with a status."""
    return call(number, op, 1, status=99, status_name=name, **columns)


def test_calls_are_counted_by_operation_and_kind_beside_all_of_the_operation() -> None:
    calls = [
        rejected(1, "WRITE", "NFS4ERR_OPENMODE", file=2, stability="unstable_write"),
        rejected(2, "WRITE", "NFS4ERR_OPENMODE", file=3),
        rejected(3, "WRITE", "NFS4ERR_BAD_STATEID", file=3),
        rejected(4, "WRITE", "NFS4ERR_FBIG", file=2),
        rejected(5, "OPEN", "NFS4ERR_BAD_SEQID", directory=1),
        rejected(6, "WRITE", "NFS4ERR_OPENMODE", client="10.0.0.3", file=2),
        call(7, "WRITE", 1, file=2),
        call(8, "WRITE", None, file=2),
        call(9, "OPEN", 1, file=2),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        mine, *others = rejections(trace)
    assert mine == Rejections(
        client="10.0.0.2",
        server="10.0.0.1",
        op="WRITE",
        kind="state",
        calls=3,
        of=5,
        statuses=("NFS4ERR_BAD_STATEID", "NFS4ERR_OPENMODE"),
        paths=("b", "a"),
        time_s={"unstable_write": 0.001, "unstable": 0.002},
        frames=(1, 3, 5),
    )
    assert [(each.client, each.op, each.kind, each.calls, each.of) for each in others] == [
        ("10.0.0.2", "OPEN", "state", 1, 2),
        ("10.0.0.2", "WRITE", "limit", 1, 5),
        ("10.0.0.3", "WRITE", "state", 1, 1),
    ]
    assert others[0].paths == (".",)


@pytest.mark.parametrize("kind", KINDS)
def test_each_status_is_of_its_kind(kind: str) -> None:
    for name in KINDS[kind]:
        with trace_of(calls=[rejected(1, "SETATTR", name)]) as trace:
            (found,) = rejections(trace)
        assert (found.kind, found.statuses) == (kind, (name,))


def test_rpc_rejects_with_a_status_of_its_own() -> None:
    calls = [call(1, "GETATTR", 1, status=None, status_name=None, rpc_status="GARBAGE_ARGS")]
    with trace_of(calls=calls) as trace:
        (found,) = rejections(trace)
    assert (found.kind, found.statuses) == ("arguments", ("GARBAGE_ARGS",))


def test_what_others_tell_or_programs_provoke_is_none_of_it() -> None:
    assert not set(STATUSES) & set(failures.STATUSES)
    calls = [
        rejected(1, "LOOKUP", "NFS3ERR_NOENT"),
        rejected(2, "OPEN", "NFS4ERR_DELAY"),
        rejected(3, "CB_RECALL", "NFS4ERR_BAD_STATEID", callback=True),
        rejected(4, "MNT", "PROC_UNAVAIL", program=100005),
        rejected(5, "READDIRPLUS", "NFS3ERR_NOTSUPP"),
    ]
    with trace_of(calls=calls) as trace:
        assert rejections(trace) == ()


def test_a_listing_is_rejected_as_other_calls_are_but_where_there_is_none_of_its_kind() -> None:
    calls = [
        rejected(1, "READDIRPLUS", "NFS3ERR_TOOSMALL", file=1),
        rejected(2, "READDIRPLUS", "NFS3ERR_NOTSUPP", file=1),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        (found,) = rejections(trace)
    assert (found.kind, found.calls, found.of) == ("limit", 1, 2)


@pytest.mark.parametrize("name", ["NFS3ERR_ACCES", "NFS3ERR_PERM"])
def test_links_refused_where_the_user_makes_files_are_none_of_the_servers(name: str) -> None:
    calls = [
        call(1, "CREATE", 1, directory=1, uid=0),
        rejected(2, "SYMLINK", name, directory=1, uid=0),
        rejected(3, "SYMLINK", name, directory=2, uid=7, client="10.0.0.3"),
        rejected(4, "SYMLINK", "NFS3ERR_EXIST", directory=2, uid=7),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        mine, other = rejections(trace)
        assert failures.failures(trace) == ()
    assert (mine.op, mine.kind, mine.calls, mine.of, mine.never) == (
        "SYMLINK",
        "unsupported",
        1,
        2,
        True,
    )
    assert (other.client, other.calls, other.never) == ("10.0.0.3", 1, True)


@pytest.mark.parametrize(
    "others",
    [
        [],
        [call(1, "CREATE", 1, directory=2, uid=0)],
        [call(1, "CREATE", 1, directory=1, uid=7)],
        [call(1, "MKDIR", 1, directory=1, uid=0)],
        [call(1, "CREATE", 1, directory=1, uid=0), call(9, "SYMLINK", 1, directory=2)],
        [call(1, "CREATE", 1, directory=1, uid=0), rejected(9, "SYMLINK", "NFS3ERR_ROFS")],
    ],
    ids=["nothing made", "elsewhere", "another user", "a directory", "one made", "not alike"],
)
def test_without_a_file_made_beside_links_may_be_not_allowed(others: list[Row]) -> None:
    calls = [*others, rejected(2, "SYMLINK", "NFS3ERR_ACCES", directory=1, uid=0)]
    with trace_of(calls=calls, files=FILES) as trace:
        assert rejections(trace) == ()
        assert "permission" in [pair.kind for pair in failures.failures(trace)]


def test_a_device_is_roots_to_make() -> None:
    calls = [
        call(1, "CREATE", 1, directory=1),
        rejected(2, "MKNOD", "NFS3ERR_PERM", directory=1),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        assert rejections(trace) == ()


@pytest.mark.parametrize(("made", "kind"), [(False, "unsupported"), (True, "arguments")])
def test_a_link_is_not_valid_where_none_is(made: bool, kind: str) -> None:
    calls = [rejected(1, "LINK", "NFS3ERR_INVAL", file=2)]
    if made:
        calls.append(call(2, "LINK", 1, file=3))
    with trace_of(calls=calls, files=FILES) as trace:
        (found,) = rejections(trace)
    assert (found.kind, found.never) == (kind, not made)


def test_calls_of_other_programs_have_operations_of_the_same_names() -> None:
    calls = [
        rejected(1, "LOCK", "NFS4ERR_LOCK_RANGE", file=2),
        call(2, "LOCK", 1, file=2, program=100021),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        (found,) = rejections(trace)
    assert (found.calls, found.of) == (1, 1)
