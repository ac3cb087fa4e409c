"""What of a client's own time it waited for locks."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.verdict import Verdict
from pcapnfs.analyses.locks.lock_gaps import lock_gaps
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.time_budget import time_budget
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

WAITER, HOLDER = "10.0.0.2", "10.0.0.3"

SECOND = meta(end_ns=START_NS + 1000 * MILLISECOND)
"""A capture of that length."""


def small(number: int, client: str = WAITER) -> tuple[Row, Row]:
    """A GETATTR of 1 ms, at `number` × 10 ms."""
    return call(number, "GETATTR", 1, client=client), operation(number, "GETATTR")


def lock(number: int, status: str) -> tuple[Row, Row]:
    """A LOCK of ten bytes, likewise."""
    return (
        call(number, "LOCK", 1, client=WAITER, file=1),
        operation(number, "LOCK", status_name=status, file=1, offset=0, requested=10),
    )


def judged(*asked: tuple[Row, Row]) -> tuple[Verdict, dict[str, float]]:
    calls, operations = zip(*asked, strict=True)
    rows = {"calls": calls, "operations": operations, "files": [file(1, "lf")]}
    with trace_of(SECOND, **rows) as trace:
        verdict, gaps = model(trace).verdict, lock_gaps(trace, outstanding(trace))
        assert time_budget(trace).lock_gaps == measure(trace).lock_gaps == gaps
    assert verdict is not None
    return verdict, {each.client: each.time_s for each in gaps}


def times(verdict: Verdict) -> dict[str, float]:
    return {each.cause: each.time_s for each in verdict.causes}


def test_time_in_which_a_lock_is_waited_for_is_not_the_clients_own() -> None:
    verdict, gaps = judged(
        small(1), lock(10, "NFS4ERR_DENIED"), lock(40, "NFS4ERR_DENIED"), lock(70, "NFS4_OK"),
        small(80),
    )  # fmt: skip
    # From 101 to 400 and from 401 to 700 ms.
    assert gaps == {WAITER: pytest.approx(0.598)}
    assert times(verdict)["locks"] == pytest.approx(0.598)
    assert times(verdict)["client"] == pytest.approx(0.089 + 0.099)
    assert verdict.named == ("locks",)
    assert "waiting for locks 75.6 % (refused at first; no call was under way" in verdict.sentence


def test_waits_for_locks_are_told_apart_from_the_clients_own_time_in_forecasts() -> None:
    asked = [
        *(small(number) for number in range(1, 41)),
        lock(50, "NFS4ERR_DENIED"), lock(60, "NFS4ERR_DENIED"), lock(260, "NFS4_OK"), small(270),
    ]  # fmt: skip
    calls, operations = zip(*asked, strict=True)
    rows = {"calls": calls, "operations": operations, "files": [file(1, "lf")]}
    with trace_of(meta(end_ns=START_NS + 2800 * MILLISECOND), **rows) as trace:
        found, given = model(trace), model(trace, Overrides(client_s=0.009))
    # From 501 to 600 ms, and from 601 ms on the pause to 2600 ms.
    assert found.locked_s == pytest.approx(0.099 + 1.999)
    # 39 gaps of 9 ms, and two of 99 ms around the waits.
    assert found.client_s == pytest.approx(39 * 0.009 + 2 * 0.099)
    assert found.pauses_s == pytest.approx(0.0)
    forecasts = {each.change: each.forecast_s for each in found.what_if}
    assert forecasts["measured"] - forecasts["unlocked"] == pytest.approx(found.locked_s)
    assert {each.part: each.time_s for each in found.left_out}["locked"] == found.locked_s
    # What is given is all of the client's time.
    assert given.locked_s == 0
    assert "unlocked" not in {each.change for each in given.what_if}


def test_granted_ends_it() -> None:
    granted = (
        call(40, "GRANTED_MSG", 1, client=WAITER, callback=True),
        operation(40, "GRANTED_MSG", file=1, offset=0, requested=10, status=None),
    )
    verdict, _ = judged(lock(10, "NLM4_BLOCKED"), granted, small(80))
    # From 101 to 401 ms, when the client has answered.
    assert times(verdict)["locks"] == pytest.approx(0.300)
    assert times(verdict)["client"] == pytest.approx(0.399)


def test_other_programs_pauses_between_calls_are_the_clients_own() -> None:
    busy = [small(number) for number in (*range(11, 40), *range(41, 70))]
    verdict, gaps = judged(lock(10, "NFS4ERR_DENIED"), *busy, lock(70, "NFS4_OK"), small(80))
    # All gaps are of 9 ms, but for one of 19 ms: too short to be anything but a call's, other than
    # those next to a LOCK.
    assert gaps == {WAITER: pytest.approx(0.018)}
    assert times(verdict)["client"] == pytest.approx(56 * 0.009 + 0.019 + 0.099)


def test_each_of_several_clients_has_its_own() -> None:
    verdict, gaps = judged(
        lock(10, "NFS4ERR_DENIED"), small(20, HOLDER), small(60, HOLDER), lock(70, "NFS4_OK")
    )
    assert gaps == {WAITER: pytest.approx(0.599)}
    by_client = {each.client: each for each in verdict.clients}
    shares = {
        client: {each.cause: each.time_s for each in told.causes}
        for client, told in by_client.items()
    }
    assert shares[WAITER]["locks"] == pytest.approx(0.599)
    assert shares[HOLDER]["locks"] == 0
    assert by_client[WAITER].named == ("locks",)
    assert by_client[HOLDER].named == ("client",)


def test_who_waited_for_a_lock_waited_longest() -> None:
    long = call(50, "GETATTR", 100, client=HOLDER), operation(50, "GETATTR")
    asked = (lock(10, "NFS4ERR_DENIED"), lock(40, "NFS4_OK"), long)
    verdict, gaps = judged(*asked)
    assert gaps == {WAITER: pytest.approx(0.299)}
    assert [each.client for each in verdict.clients] == [WAITER, HOLDER]
    waiter = verdict.clients[0].sentence
    assert waiter.startswith(f"The time of {WAITER}, which waited longest of 2 clients, went into ")
    assert waiter.endswith("it waited 2.00 ms for calls and 299 ms for locks.")
    calls, operations = zip(*asked, strict=True)
    with trace_of(SECOND, calls=calls, operations=operations, files=[file(1, "lf")]) as trace:
        (first,) = time_budget(trace, top=1).clients
    assert first.client == WAITER


def test_taken_as_one_they_wait_while_neither_has_a_call() -> None:
    asked = [
        lock(10, "NFS4ERR_DENIED"), small(20, HOLDER), small(60, HOLDER), lock(70, "NFS4_OK"),
    ]  # fmt: skip
    calls, operations = zip(*asked, strict=True)
    with trace_of(SECOND, calls=calls, operations=operations, files=[file(1, "lf")]) as trace:
        locked = measure(trace).locked
    assert locked.gaps_s == pytest.approx(0.597)
    assert locked.pauses_s == 0
