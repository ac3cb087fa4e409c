"""Waiting for locks."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.lock_waits import lock_waits
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(1, "lf")]
OTHER = "10.0.0.3"


def lock(number: int, status: str, client: str = "10.0.0.2", offset: int = 0) -> tuple[Row, Row]:
    """A LOCK of ten bytes, answered after 1 ms."""
    return (
        call(number, "LOCK", 1, client=client),
        operation(number, "LOCK", status_name=status, file=1, offset=offset, requested=10),
    )


def unlock(number: int, client: str) -> tuple[Row, Row]:
    """An unlocking."""
    return call(number, "UNLOCK", 1, client=client), operation(number, "UNLOCK", file=1)


def test_a_wait_lasts_from_the_first_refusal_to_the_lock() -> None:
    asked = [
        lock(1, "NFS4_OK", OTHER),
        lock(2, "NFS4ERR_DENIED"),
        lock(5, "NFS4ERR_DENIED"),
        unlock(6, OTHER),
        lock(8, "NFS4_OK"),
        lock(9, "NFS4_OK", offset=500),
    ]
    calls, operations = zip(*asked, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = lock_waits(trace)
    assert (pair.client, pair.server, pair.holders) == ("10.0.0.2", "10.0.0.1", (OTHER,))
    assert (pair.locks, pair.refused, pair.waits, pair.granted) == (4, 2, 1, 1)
    assert (pair.told, pair.polled) == (0, 1)
    assert pair.interval_s == pytest.approx(0.03)
    assert pair.waited_s == pair.longest_s == pytest.approx(0.061)
    assert pair.late_s == pytest.approx(0.021)
    assert (pair.paths, pair.frames) == (("lf",), (3,))


def test_nlm_grants_by_callback_and_its_answer_has_no_status() -> None:
    granted = (
        call(4, "GRANTED_MSG", 1, callback=True),
        operation(4, "GRANTED_MSG", file=1, offset=0, requested=10, status=None),
    )
    asked = [lock(2, "NLM4_BLOCKED"), granted]
    calls, operations = zip(*asked, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = lock_waits(trace)
    assert (pair.waits, pair.granted, pair.told, pair.polled) == (1, 1, 1, 0)
    assert pair.longest_s == pytest.approx(0.021)


def test_a_notice_makes_the_client_ask_again() -> None:
    notice = (
        call(4, "CB_NOTIFY_LOCK", 1, callback=True, file=1),
        operation(4, "CB_NOTIFY_LOCK", file=1),
    )
    asked = [lock(2, "NFS4ERR_DENIED"), notice, lock(5, "NFS4_OK")]
    calls, operations = zip(*asked, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = lock_waits(trace)
    assert (pair.granted, pair.told, pair.late_s) == (1, 1, 0.0)


def test_waits_at_once_count_once_and_one_may_not_end() -> None:
    asked = [
        lock(1, "NFS4ERR_DENIED"),
        lock(2, "NFS4ERR_DENIED", offset=100),
        lock(5, "NFS4_OK"),
        lock(7, "NFS4ERR_DENIED", offset=100),
    ]
    calls, operations = zip(*asked, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = lock_waits(trace)
    assert (pair.waits, pair.granted) == (2, 1)
    assert pair.waited_s == pytest.approx(0.061)


def test_locks_that_nobody_stands_in_the_way_of_are_nothing_to_tell() -> None:
    (asked, told) = lock(1, "NFS4_OK")
    with trace_of(calls=[asked], operations=[told], files=FILES) as trace:
        assert lock_waits(trace) == ()
