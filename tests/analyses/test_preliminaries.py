"""What finding services, mounting, logging in and Kerberos take."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.preliminaries import Preliminary, preliminaries
from tests.unit.rows import call, trace_of


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
    assert mount.frames == (3, 1)
    assert (context.kind, context.calls, context.refused) == ("context", 2, 1)
    assert context.operations == (Preliminary("RPCSEC_GSS_INIT", 2, 0.004, 0),)
    assert login.kind == "login"
    assert login.time_s == pytest.approx({"state": 0.002})


def test_calls_for_files_are_none() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1), call(2, "FSINFO", 1)]) as trace:
        assert preliminaries(trace) == ()
