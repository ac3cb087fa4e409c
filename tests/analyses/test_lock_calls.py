"""Calls about locks that nobody had to wait for."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.lock_calls import SQLITE, LockCalls, lock_calls
from pcapnfs.programs import NLM
from tests.unit.rows import Row, call, file, operation, trace_of

Step = tuple[Row, Row]


def step(
    number: int, op: str, status_name: str | None, client: str = "10.0.0.2", **of: object
) -> Step:
    """A call of NFSv4 about the file 1, or as told, answered after 2 ms."""
    mount = 0 if client == "10.0.0.2" else 1
    about = {"file": 1, "status_name": status_name} | of
    return (
        call(
            number,
            op,
            2,
            client=client,
            mount=mount,
            protocol="4.2",
            file=about["file"],
            status_name=status_name,
        ),
        operation(number, op, status_name=status_name, **({"file": 1} | of)),
    )


def found(*steps: Step) -> tuple[LockCalls, ...]:
    calls, operations = zip(*steps, strict=True)
    files = [file(1, "a.db"), file(2, "mail/box")]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        return lock_calls(trace)


def test_locks_that_were_granted_are_counted_with_what_frees_and_tests_them() -> None:
    (pair,) = found(
        step(1, "LOCK", "NFS4_OK"),
        step(2, "LOCKU", "NFS4_OK"),
        step(3, "LOCKT", "NFS4ERR_DENIED", file=2),
        step(4, "LOCK", "NFS4ERR_DENIED"),
        step(5, "GETATTR", "NFS4_OK"),
        step(6, "LOCK", "NFS4_OK"),
    )
    assert pair.asking.calls == 0
    assert (pair.client, pair.server, pair.calls) == ("10.0.0.2", "10.0.0.1", 6)
    assert (pair.locking.calls, pair.locks, pair.nlm, pair.sqlite) == (4, 2, 0, 0)
    assert pair.locking.time_s == pytest.approx(0.008)
    assert pair.locking.frames == (1, 3, 5, 11)
    assert (pair.files, pair.places) == (2, ("a.db", "mail/box"))


def test_what_is_asked_since_a_lock_was_got_is_counted_beside_it() -> None:
    (pair,) = found(
        step(1, "LOCK", "NFS4_OK"),
        step(2, "GETATTR", "NFS4_OK"),
        step(3, "LOCKU", "NFS4_OK"),
        step(4, "GETATTR", "NFS4_OK"),
    )
    assert (pair.locking.calls, pair.asking.calls, pair.asking.frames) == (2, 1, (3,))
    assert pair.asking.time_s == pytest.approx(0.002)


def test_what_the_server_keeps_of_a_lock_is_freed_by_calls_of_its_own() -> None:
    (pair,) = found(
        step(1, "LOCK", "NFS4_OK"),
        step(2, "LOCKU", "NFS4_OK"),
        step(3, "FREE_STATEID", "NFS4_OK", file=None),
        step(4, "RELEASE_LOCKOWNER", "NFS4_OK", file=None),
        step(5, "FREE_STATEID", "NFS4_OK", "10.0.0.3", file=None),
    )
    assert (pair.locking.calls, pair.files, pair.places) == (4, 1, ("a.db",))
    # What was revoked is freed likewise.
    (pair,) = found(
        step(1, "LOCK", "NFS4_OK"),
        step(2, "LOCKU", "NFS4_OK"),
        step(3, "FREE_STATEID", "NFS4_OK", file=None),
        step(4, "FREE_STATEID", "NFS4_OK", file=None),
    )
    assert pair.locking.calls == 2


def test_those_of_nlm_count_beside_the_calls_of_nfs() -> None:
    calls = [
        call(1, "LOCK", 1, program=NLM, protocol="nlm4"),
        call(2, "UNLOCK", 1, program=NLM, protocol="nlm4"),
        call(3, "GETATTR", 1),
    ]
    operations = [
        operation(1, "LOCK", status_name="NLM4_GRANTED", file=1),
        operation(2, "UNLOCK", status_name="NLM4_GRANTED", file=1),
        operation(3, "GETATTR", file=1),
    ]
    with trace_of(calls=calls, operations=operations, files=[file(1, "a")]) as trace:
        (pair,) = lock_calls(trace)
    assert (pair.calls, pair.locking.calls, pair.nlm, pair.locks) == (3, 2, 2, 1)


@pytest.mark.parametrize(
    ("offset", "sqlite"),
    [(SQLITE[0] - 1, 0), (SQLITE[0], 1), (SQLITE[1] - 1, 1), (SQLITE[1], 0), (None, 0)],
)
def test_the_bytes_that_sqlite_locks_are_known(offset: int | None, sqlite: int) -> None:
    (pair,) = found(step(1, "LOCK", "NFS4_OK", offset=offset))
    assert pair.sqlite == sqlite


DATABASE = SQLITE[0]


@pytest.mark.parametrize(
    ("name", "bytes_locked", "sqlite"),
    [
        # Known by its name, though the last program to use it has removed it.
        ("a.db-shm", (120, 123, 128), 3),
        ("redacted", (120, 123, 128), 0),
        ("redacted", (120, 123, DATABASE), 3),
        # Another byte: whatever it is, it is none of these.
        ("a.db-shm", (120, 119, DATABASE), 1),
        ("a.db-shm", (120, 129, DATABASE), 1),
        ("redacted", (120, None, DATABASE), 1),
    ],
)
def test_a_write_ahead_log_has_its_locks_in_the_file_of_shared_memory(
    name: str, bytes_locked: tuple[int | None, ...], sqlite: int
) -> None:
    steps = [
        step(number, "LOCK", "NFS4_OK", offset=offset, file=1 if offset == DATABASE else 3)
        for number, offset in enumerate(bytes_locked, 1)
    ]
    calls, operations = zip(*steps, strict=True)
    files = [file(1, "a.db"), file(3, ".nfs000000000000001400000001")]
    named: list[Row] = [{"call": 1, "directory": 2, "name": name, "file": 3}]
    with trace_of(calls=calls, operations=operations, files=files, names=named) as trace:
        (pair,) = lock_calls(trace)
    assert (pair.locks, pair.sqlite) == (len(bytes_locked), sqlite)


def test_each_client_is_one_of_its_own_and_who_locks_most_comes_first() -> None:
    first, second = found(
        step(1, "LOCK", "NFS4_OK"),
        step(2, "LOCK", "NFS4_OK", "10.0.0.3"),
        step(3, "LOCKU", "NFS4_OK", "10.0.0.3"),
    )
    assert (first.client, first.locking.calls) == ("10.0.0.3", 2)
    assert (second.client, second.locking.calls) == ("10.0.0.2", 1)


def test_what_the_server_was_not_ready_for_is_another_rule_s() -> None:
    (pair,) = found(
        step(1, "LOCK", "NFS4ERR_GRACE"),
        step(2, "LOCK", "NFS4_OK"),
        step(3, "LOCKU", "NFS4ERR_DELAY"),
        step(4, "LOCKU", "NFS4_OK"),
    )
    assert (pair.locking.calls, pair.locks) == (2, 1)


def test_who_was_granted_nothing_works_with_no_locks() -> None:
    assert found(step(1, "LOCK", "NFS4ERR_DENIED"), step(2, "LOCKT", "NFS4_OK")) == ()


def test_a_compound_with_two_locks_is_one_call() -> None:
    calls = [call(1, "LOCK", 2, protocol="4.2")]
    operations = [
        operation(1, "LOCK", status_name="NFS4_OK", file=1),
        operation(1, "LOCK", status_name="NFS4_OK", file=1, position=1),
    ]
    with trace_of(calls=calls, operations=operations, files=[file(1, "a")]) as trace:
        (pair,) = lock_calls(trace)
    assert (pair.locking.calls, pair.locks) == (1, 1)
    assert pair.locking.time_s == pytest.approx(0.002)
