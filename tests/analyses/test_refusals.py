"""Calls that the server put off, and the waits that they make up."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.refusals import refusals
from tests.unit.rows import Row, call, file, operation, trace_of

DELAY = {"status": 10008, "status_name": "NFS4ERR_DELAY", "version": 4}
FILES = [file(1, "a"), file(2, "b"), file(3, ".", "directory")]


def test_a_wait_lasts_to_the_answer_that_puts_off_no_more() -> None:
    calls = [
        call(1, "OPEN", 1, file=1, **DELAY),
        call(2, "OPEN", 1, file=2, **DELAY),
        call(3, "OPEN", 1, file=1, **DELAY),
        call(6, "OPEN", 1, file=1, version=4),
        call(7, "READ", 1, file=2, version=4),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert (pair.client, pair.server, pair.status) == ("10.0.0.2", "10.0.0.1", "NFS4ERR_DELAY")
    assert (pair.calls, pair.waits, pair.unfinished, pair.recalled) == (3, 2, 1, 0)
    assert (pair.operations, pair.paths) == (("OPEN",), ("a", "b"))
    assert pair.longest_s == pytest.approx(0.051)
    # From 10 ms to 60 ms the client waits for one or the other.
    assert pair.time_s == pytest.approx(0.050)
    assert pair.frames == (1, 3)


def test_a_compound_stops_at_what_was_put_off() -> None:
    calls = [call(number, "OPEN", took, file=1, **DELAY) for number, took in ((1, 1), (2, 5))]
    calls += [call(3, "READ", 3, file=2, **DELAY), call(6, "OPEN", 1, file=1, version=4)]
    steps = [
        {**operation(number, op), "position": position, "executed": executed}
        for number, ops in ((1, ("PUTFH", "OPEN")), (2, ("PUTFH", "OPEN")), (3, ("PUTFH", "READ")))
        for position, (op, executed) in enumerate(zip(ops, (True, number == 3), strict=True))
    ]
    with trace_of(calls=calls, operations=steps, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert pair.stopped_at == ("PUTFH", "READ")
    assert pair.refused_s == pytest.approx(0.003)


def test_a_call_without_an_object_is_put_off_as_well() -> None:
    calls = [
        call(1, "CREATE_SESSION", 1, **DELAY),
        call(3, "CREATE_SESSION", 1, version=4),
        call(4, "OPEN", 1, directory=3, **DELAY),
    ]
    with trace_of(calls=calls, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.paths, set(pair.operations)) == (2, (".",), {"CREATE_SESSION", "OPEN"})


def test_a_recall_of_the_same_file_is_why() -> None:
    calls = [
        call(1, "OPEN", 1, file=1, **DELAY),
        call(2, "CB_RECALL", 1, client="10.0.0.3", callback=True, file=1),
        call(5, "OPEN", 1, file=1, version=4),
    ]
    with trace_of(
        calls=calls, operations=[operation(2, "CB_RECALL", file=1)], files=FILES
    ) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.recalled) == (1, 1)
    assert pair.recalled_s == pair.time_s


def test_a_name_that_was_put_off_is_the_file_whose_delegation_was_recalled() -> None:
    """The other client had it open before the capture began: its handle tells no name."""
    calls = [
        call(1, "OPEN", 1, file=9, **DELAY),
        call(2, "CB_RECALL", 1, client="10.0.0.3", callback=True, file=1),
        call(5, "OPEN", 1, file=1, version=4),
    ]
    files = [*FILES, {**file(9, "a"), "identity": 1, "role": "absent"}]
    with trace_of(
        calls=calls, operations=[operation(2, "CB_RECALL", file=1)], files=files
    ) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.unfinished, pair.recalled) == (1, 0, 1)


def test_after_a_minute_it_is_another_wait() -> None:
    late = call(2, "OPEN", 1, file=1, **DELAY)
    later = {
        key: value + 61_000_000_000
        for key, value in late.items()
        if key.endswith("_time") and isinstance(value, int)
    }
    rows: list[Row] = [call(1, "OPEN", 1, file=1, **DELAY), {**late, **later}]
    with trace_of(calls=rows, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.unfinished, pair.longest_s) == (2, 2, None)


def test_a_grace_period_is_not_asked_here() -> None:
    grace = {"status": 10013, "status_name": "NFS4ERR_GRACE"}
    with trace_of(calls=[call(1, "OPEN", 1, **grace)]) as trace:
        assert refusals(trace) == ()


@pytest.mark.parametrize(
    ("of_call", "of_recall", "recalled"),
    [
        # The name behind the cut; then the file of the recall; then what the callback asks for.
        ({"directory": 3, "undecoded": "truncated"}, {"file": 1}, 1),
        ({"file": 1}, {"undecoded": "truncated"}, 1),
        ({"file": 1}, {"undecoded": "truncated", "op": "COMPOUND"}, 1),
        # Another file, as far as both tell, and a call that is about none.
        ({"file": 2}, {"file": 1}, 0),
        ({}, {"file": 1}, 0),
    ],
)
def test_what_was_cut_off_may_be_of_the_same_file(
    of_call: Row, of_recall: Row, recalled: int
) -> None:
    recall = {**call(2, "CB_RECALL", 1, client="10.0.0.3", callback=True), **of_recall}
    known = [operation(2, "CB_RECALL", file=of_recall.get("file"))] * (recall["op"] != "COMPOUND")
    calls = [{**call(1, "OPEN", 1, **DELAY), **of_call}, recall]
    with trace_of(calls=calls, operations=known, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.recalled) == (1, recalled)


@pytest.mark.parametrize(("of_recall", "recalled"), [(1, 1), (2, 0)])
def test_the_answer_that_puts_off_no_more_tells_what_was_cut_off(
    of_recall: int, recalled: int
) -> None:
    calls = [
        call(1, "OPEN", 1, undecoded="truncated", signature="PUTFH OPEN", **DELAY),
        call(2, "CB_RECALL", 1, client="10.0.0.3", callback=True, file=of_recall),
        call(5, "OPEN", 1, file=1, version=4, signature="PUTFH OPEN GETATTR"),
    ]
    known = [operation(2, "CB_RECALL", file=of_recall)]
    with trace_of(calls=calls, operations=known, files=FILES) as trace:
        (pair,) = refusals(trace)
    assert (pair.waits, pair.unfinished, pair.recalled) == (1, 0, recalled)
