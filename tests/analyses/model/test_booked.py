"""What the only client's run went into, where calls of one kind come at once and others do not."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.trace import Trace
from tests.analyses.model.runs import TIMES, connection, objects, run
from tests.unit.rows import MILLISECOND, Row, call, trace_of

READS = 100
WRITES = 100


def _read_modify_write() -> list[Row]:
    """40 small calls and 100 READs one by one, 1 ms each; then 100 stable WRITEs at once, 100 ms.

    So a program changes parts of pages and calls fsync: the client has to read each page first.
    """
    rows = run(stable=(), small=("GETATTR",))
    now = max(int(str(row["reply_time"])) for row in rows)
    for number in range(READS):
        rows.append(_timed(1000 + number, "READ", "read", now, 1))
        now += MILLISECOND
    return rows + [
        _timed(2000 + number, "WRITE", "stable", now, 100, nearer=number)
        for number in range(WRITES)
    ]


def _timed(number: int, op: str, stability: str, sent: int, lasts_ms: int, nearer: int = 0) -> Row:
    """A call, which begins some nanoseconds later where several begin at once."""
    begin, end = sent + nearer, sent + lasts_ms * MILLISECOND
    times = dict.fromkeys(TIMES[:2], begin) | dict.fromkeys(TIMES[2:], end)
    return call(number, op, lasts_ms, file=1, stability=stability, **(times | {"srt": end - begin}))


def _opened() -> Trace:
    return trace_of(files=objects(), calls=_read_modify_write(), connections=[connection(0.8, 0.0)])


def test_writes_at_once_do_not_take_the_time_of_reads_one_by_one() -> None:
    with _opened() as trace:
        found = model(trace).verdict
        budget = time_budget(trace).total
    assert found is not None
    times = {each.cause: each.time_s for each in found.causes}
    # 140 calls at 1 ms each, and one turn of storage, of which each WRITE has a hundredth.
    assert times["round_trips"] == pytest.approx(0.141, abs=0.002)
    assert times["persistence"] == pytest.approx(0.099, abs=0.002)
    assert times["persistence"] <= budget.stable_s
    assert sum(times.values()) == pytest.approx(0.240 + 39 * 0.002, abs=0.002)
    assert found.named[0] == "round_trips"


def test_a_forecast_goes_into_what_the_run_did() -> None:
    with _opened() as trace:
        same = model(trace, Overrides(rtt_s=0.0008)).verdict
        cached = model(trace, Overrides(persist_s=0.0)).verdict
        alone = model(trace, Overrides(streams=1)).verdict
    assert same is not None
    assert cached is not None
    assert alone is not None
    times = {each.cause: each.time_s for each in same.causes}
    assert times["persistence"] == pytest.approx(0.099, abs=0.002)
    assert times["round_trips"] == pytest.approx(0.141, abs=0.002)
    times = {each.cause: each.time_s for each in cached.causes}
    assert times["persistence"] == pytest.approx(0.0, abs=0.002)
    assert times["round_trips"] == pytest.approx(0.141, abs=0.002)
    # One after the other, each waits for the storage by itself.
    times = {each.cause: each.time_s for each in alone.causes}
    assert times["persistence"] == pytest.approx(9.9, abs=0.1)


def _not_ready(status: str = "NFS3ERR_JUKEBOX") -> list[Row]:
    """40 small calls one by one, 1 ms each; two that the server is not ready for, 1 s at once."""
    rows = run(stable=(), small=("GETATTR",))
    now = max(int(str(row["reply_time"])) for row in rows)
    refused = {"status": 10008, "status_name": status}
    return rows + [
        {**_timed(3000 + number, "ACCESS", "unstable", now, 1000, nearer=number), **refused}
        for number in range(2)
    ]


def test_the_wait_for_a_server_is_what_the_budget_has_of_it() -> None:
    """The mean overlap of all calls is nearly two, as of these; that of the others is one."""
    with trace_of(files=objects(), calls=_not_ready(), connections=[connection(0.8, 0.0)]) as trace:
        found = model(trace)
        budget = time_budget(trace).total
        twice = model(trace, Overrides(files=80))
    assert found.verdict is not None
    assert found.concurrency == pytest.approx(2.04 / 1.04, rel=0.01)
    times = {each.cause: each.time_s for each in found.verdict.causes}
    assert budget.waiting_s == pytest.approx(1.0)
    assert times["waiting"] == pytest.approx(budget.waiting_s)
    assert found.waiting_s == pytest.approx(budget.waiting_s)
    assert times["round_trips"] == pytest.approx(0.040, abs=0.001)
    assert sum(times.values()) == pytest.approx(found.measured_s)
    left = {each.part: each.time_s for each in found.left_out}
    assert left["waiting"] == pytest.approx(budget.waiting_s)
    # Of twice the files it is waited for twice as long.
    left = {each.part: each.time_s for each in twice.left_out}
    assert left["waiting"] == pytest.approx(2 * budget.waiting_s)


def test_streams_wait_for_a_server_as_long_as_one_did() -> None:
    """By the mean overlap it would be longer than it was."""
    with trace_of(
        files=objects(), calls=_not_ready("NFS4ERR_GRACE"), connections=[connection(0.8, 0.0)]
    ) as trace:
        many = model(trace, Overrides(streams=1000, client_s=0.0))
    assert many.forecast_s == pytest.approx(1.0, abs=0.01)


def _mixed_reads() -> list[Row]:
    """40 READs wait 3 ms each one by one; ten replies then move at once, for 100 ms."""
    rows = run(stable=(), small=("GETATTR",))
    now = max(int(str(row["reply_time"])) for row in rows)
    for number in range(40):
        rows.append(_timed(1000 + number, "READ", "read", now, 3))
        now += 3 * MILLISECOND
    for number in range(10):
        moving = _timed(2000 + number, "READ", "read", now, 101, nearer=number)
        rows.append({**moving, "reply_first_time": now + MILLISECOND})
    return rows


def test_round_trips_have_nothing_of_what_moved() -> None:
    with trace_of(
        files=objects(), calls=_mixed_reads(), connections=[connection(0.8, 0.0)]
    ) as trace:
        found = model(trace).verdict
        budget = time_budget(trace).total
    assert found is not None
    times = {each.cause: each.time_s for each in found.causes}
    assert times["transfer"] == pytest.approx(budget.transfer_s) == pytest.approx(0.1)
    # A round trip of each of 80 calls that came one by one, and of ten at once: of READs, the part
    # that it is of their mean.
    assert times["round_trips"] == pytest.approx(0.081, abs=0.006)
    assert times["server"] == pytest.approx(0.080, abs=0.006)


def test_the_sum_is_what_the_run_took() -> None:
    with _opened() as trace:
        measured = measure(trace)
    costs = measured.costs()
    assert measured.booked(costs).forecast_s == pytest.approx(costs.forecast_s)
    assert measured.booked(costs).forecast_s == pytest.approx(measured.span_s)
