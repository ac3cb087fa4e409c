"""What finding services, mounting, logging in and Kerberos take."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.mounts.preliminaries import Preliminary, preliminaries
from tests.unit.rows import call, operation, trace_of


def test_calls_are_added_up_by_kind() -> None:
    """The rows stand 10 ms apart, so that calls of less do not overlap."""
    calls = [
        call(1, "GETPORT", 1, program=100000, transmissions=2),
        call(2, "MNT", 8, program=100005, stability="state"),
        call(3, "EXCHANGE_ID", 2, stability="state"),
        call(4, "RPCSEC_GSS_INIT", 4),
        call(5, "RPCSEC_GSS_INIT", 2),
        call(6, "GETATTR", 1, rpc_status="RPCSEC_GSS_CTXPROBLEM"),
        call(7, "MNT", None, program=100005),
        call(8, "CB_NULL", 9, program=100003, callback=True),
    ]
    with trace_of(calls=calls) as trace:
        mount, context, login = preliminaries(trace)
    assert (mount.kind, mount.calls) == ("mount", 2)
    assert mount.operations == (
        Preliminary("MNT", 1, 0.008, 0),
        Preliminary("GETPORT", 1, 0.001, 1),
    )
    assert mount.time_s == pytest.approx({"state": 0.008, "unstable": 0.001})
    assert mount.at_once_s == pytest.approx(0.009)
    assert mount.frames == (3, 1)
    assert (context.kind, context.calls, context.refused) == ("context", 2, 1)
    assert context.operations == (Preliminary("RPCSEC_GSS_INIT", 2, 0.004, 0),)
    assert login.kind == "login"
    assert login.time_s == pytest.approx({"state": 0.002})


def test_logins_that_were_put_off_are_waits_of_another_kind() -> None:
    put_off = {"status": 10008, "status_name": "NFS4ERR_DELAY", "stability": "state"}
    calls = [
        call(1, "EXCHANGE_ID", 1, protocol="4.1", **put_off),
        call(200, "EXCHANGE_ID", 2, protocol="4.1", stability="state"),
    ]
    with trace_of(calls=calls) as trace:
        (login,) = preliminaries(trace)
    assert (login.calls, login.frames) == (1, (399,))
    assert login.at_once_s == pytest.approx(0.002)


def test_calls_for_files_are_none() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1), call(2, "FSINFO", 1)]) as trace:
        assert preliminaries(trace) == ()


def test_what_belongs_to_no_mount_is_none() -> None:
    calls = [
        call(1, "UMNT", 5, program=100005),
        call(2, "EXPORT", 5, program=100005),
        call(3, "DUMP", 5, program=100005),
        call(4, "DUMP", 5, program=100000),
        call(5, "GETPORT", 5, program=100000),
    ]
    asked = [operation(5, "GETPORT", text="100021 v4 tcp")]
    with trace_of(calls=calls, operations=asked) as trace:
        assert preliminaries(trace) == ()


@pytest.mark.parametrize("service", ["100003 v3 tcp", "100005 v3 udp"])
def test_the_services_of_a_mount_are_looked_for(service: str) -> None:
    asked = [operation(1, "GETPORT", text=service)]
    with trace_of(calls=[call(1, "GETPORT", 5, program=100000)], operations=asked) as trace:
        (mount,) = preliminaries(trace)
    assert (mount.kind, mount.calls) == ("mount", 1)


def test_mounts_that_are_apart_are_not_added_up() -> None:
    """As autofs makes them."""
    calls = [call(number, "MNT", 2, program=100005, stability="state") for number in (1, 50, 200)]
    with trace_of(calls=calls) as trace:
        (mount,) = preliminaries(trace)
    assert sum(mount.time_s.values()) == pytest.approx(0.006)
    assert mount.at_once_s == pytest.approx(0.002)


def test_one_that_is_tried_again_soon_is_added_up() -> None:
    refused = {"status": 13, "status_name": "MNT3ERR_ACCES"}
    calls = [
        call(number, "MNT", 2, program=100005, stability="state", **(refused if again else {}))
        for number, again in ((1, True), (50, True), (90, False), (300, True))
    ]
    with trace_of(calls=calls) as trace:
        (mount,) = preliminaries(trace)
    assert mount.at_once_s == pytest.approx(0.006)


def test_nor_are_mounts_that_follow_one_another() -> None:
    """As a script makes them, or a machine that starts: each takes 3 + 2 + 4 ms."""
    calls = [
        call(3 * number + at, op, ms, program=100000 if op == "GETPORT" else 100005)
        for number in range(20)
        for at, op, ms in ((1, "GETPORT", 3), (2, "MNT", 2), (3, "NULL", 4))
    ]
    with trace_of(calls=calls) as trace:
        (mount,) = preliminaries(trace)
    assert sum(mount.time_s.values()) == pytest.approx(20 * 0.009)
    # What stands between two MNTs may be of either.
    assert mount.at_once_s == pytest.approx(0.003 + 0.004 + 0.002 + 0.003 + 0.004)


def test_mounts_that_wait_side_by_side_take_as_long_as_each_of_them() -> None:
    calls = [call(number, "MNT", 500, program=100005, stability="state") for number in range(1, 6)]
    with trace_of(calls=calls) as trace:
        (mount,) = preliminaries(trace)
    assert sum(mount.time_s.values()) == pytest.approx(0.54)
    assert mount.at_once_s == pytest.approx(0.5)
