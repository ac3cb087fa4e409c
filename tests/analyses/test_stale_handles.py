"""Handles that the server no longer knew."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.stale_handles import StaleFile, stale_handles
from pcapnfs.record import replace
from tests.unit.rows import Row, call, file, operation, trace_of

FILES = [file(1, ".", "directory"), file(2, "a"), file(3, "b")]
STALE = {"status": 70, "status_name": "NFS3ERR_STALE"}


def test_last_use_and_remover_are_found() -> None:
    calls = [
        call(1, "LOOKUP", 1),
        call(2, "READ", 1),
        call(3, "REMOVE", 1, client="10.0.0.3"),
        call(4, "GETATTR", 1, **STALE),
        call(5, "READ", 1, **STALE),
        call(6, "READ", 1, status=10014, status_name="NFS4ERR_FHEXPIRED"),
        call(7, "READ", 1, **STALE, program=100021),
    ]
    operations = [
        operation(1, "LOOKUP", file=2, directory=1, name="a"),
        operation(2, "READ", file=2),
        operation(3, "REMOVE", directory=1, name="a"),
        operation(4, "GETATTR", file=2, status=70),
        operation(5, "READ", file=2, status=70),
        operation(6, "READ", file=3, status=10014),
    ]
    names: list[Row] = [{"call": 1, "position": 0, "directory": 1, "name": "a", "file": 2}]
    with trace_of(calls=calls, operations=operations, files=FILES, names=names) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.client, pair.server) == ("10.0.0.2", "10.0.0.1")
    assert (pair.calls, pair.files, pair.expired) == (3, 2, 1)
    first, second = pair.shown
    assert first.unused_s == pytest.approx(0.019)
    assert replace(first, unused_s=0.019) == StaleFile(
        "a", 2, ("GETATTR", "READ"), 3, 0.019, None, "10.0.0.3", "REMOVE", 5
    )
    assert second == StaleFile("b", 1, ("READ",), None, None, None, None, None, None)
    assert pair.frames == (7, 9, 11)


def test_a_removal_afterwards_is_not_why() -> None:
    calls = [call(1, "READ", 1, **STALE), call(2, "REMOVE", 1)]
    operations = [
        operation(1, "READ", file=2, status=70),
        operation(2, "REMOVE", file=2, directory=1, name="a"),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert pair.shown[0].remover is None


def test_handles_that_were_cut_off_are_calls_without_files() -> None:
    with trace_of(calls=[call(1, "READ", 1, **STALE)], files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.calls, pair.files, pair.shown) == (1, 0, ())


def test_good_handles_are_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "READ", 1)], operations=[operation(1, "READ", file=2)]) as trace:
        assert stale_handles(trace) == ()


def test_a_handle_that_works_later_is_told() -> None:
    calls = [call(1, "LINK", 1, **STALE), call(2, "READ", 1), call(3, "READ", 1)]
    operations = [
        operation(1, "LINK", file=2, status=70),
        operation(2, "READ", file=2),
        operation(3, "READ", file=2),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.shown[0].last_use_frame, pair.shown[0].next_use_frame) == (None, 3)


def test_of_a_compound_that_worked_all_did_though_its_results_were_cut() -> None:
    calls = [
        call(1, "READ", 1, status=10014, status_name="NFS4ERR_FHEXPIRED"),
        call(2, "READ", 1, status=0, undecoded="truncated"),
    ]
    operations = [
        operation(1, "READ", file=2, status=10014),
        operation(2, "READ", file=2, status=None, executed=False),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert pair.shown[0].next_use_frame == 3
    assert not pair.told


def test_an_operation_by_name_had_the_directory_refused() -> None:
    calls = [
        call(1, "LOOKUP", 1),
        call(2, "GETATTR", 1, **STALE),
        call(3, "LOOKUP", 1, **STALE),
        call(4, "RENAME", 1, **STALE),
    ]
    operations = [
        operation(1, "LOOKUP", file=3, directory=4, name="b"),
        operation(2, "GETATTR", file=2, status=70),
        operation(3, "LOOKUP", file=2, directory=4, name="a", status=70),
        # Which of the two directories is gone is not said.
        operation(4, "RENAME", file=2, directory=4, target_directory=1, name="a", status=70),
    ]
    files = [*FILES, file(4, "d", "directory")]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.calls, pair.files) == (3, 2)
    assert [(each.path, each.operations, each.last_use_frame) for each in pair.shown] == [
        ("a", ("GETATTR",), None),
        ("d", ("LOOKUP",), 1),
    ]
