"""Which objects count as files, and what one of them costs."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.by_file.files import files
from tests.unit.rows import call, file, operation, trace_of


def test_counts_addressed_files_and_spreads_calls_over_them() -> None:
    with trace_of(
        files=[
            file(1, "a"),
            file(2, "b"),
            file(3, "never touched", listed_only=True),
            file(4, ".", "directory"),
            file(5, "/", "pseudo"),
            file(6, "missing", "absent"),
            file(7, "link", "other", type="LNK"),
            file(8, "handle seen in a compound"),
        ],
        calls=[
            call(1, "CREATE", 1, file=1, directory=4, stability="stable"),
            call(2, "WRITE", 1, file=1, stability="stable"),
            call(3, "GETATTR", 1, file=1),
            call(4, "READ", 1, file=2, stability="read"),
            call(5, "READ", 1, file=2, stability="read"),
            call(6, "READ", None, file=2, stability="read"),
            call(7, "GETATTR", 1, file=4),
            call(8, "CB_RECALL", 1, file=1, callback=True),
        ],
        operations=[
            operation(2, "WRITE", file=1, count=1000, requested=4096),
            operation(4, "READ", file=2, count=300),
            operation(5, "READ_PLUS", file=2, count=200),
            operation(7, "READDIR", file=4, count=77),
        ],
    ) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories, counted.other) == (3, 1, 1)
    assert (counted.listed_only, counted.absent_names, counted.untold_names) == (1, 1, 0)
    assert counted.calls_per_file.mean == pytest.approx(2)  # 3, 3 and 0
    assert (counted.calls_per_file.p50, counted.calls_per_file.max) == (3, 3)
    assert counted.stable_per_file.mean == pytest.approx(2 / 3)
    assert (counted.bytes_read, counted.bytes_written) == (500, 1000)


def test_without_regular_files_the_distribution_is_unknown() -> None:
    with trace_of(files=[file(1, ".", "directory")]) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories) == (0, 1)
    assert (counted.calls_per_file.mean, counted.calls_per_file.max) == (None, None)
    assert (counted.bytes_read, counted.bytes_written) == (0, 0)


def test_none_is_not_known_of_what_was_cut_before_it_told_its_object() -> None:
    cut = {"undecoded": "truncated", "program": 100003}
    with trace_of(
        calls=[call(1, "CREATE", 1, **cut), call(2, "WRITE", 1, **cut)],
        operations=[operation(1, "CREATE"), operation(2, "WRITE", status=None)],
    ) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories, counted.other) == (None, None, None)
    assert (counted.listed_only, counted.absent_names) == (None, None)
    assert (counted.bytes_read, counted.bytes_written) == (0, None)  # There is no READ.


def test_a_name_without_an_answer_was_not_looked_for_in_vain() -> None:
    with trace_of(files=[file(1, "a"), file(2, "b", "untold"), file(3, "c", "untold")]) as trace:
        counted = files(trace)
    assert (counted.regular, counted.other) == (1, 0)
    assert (counted.absent_names, counted.untold_names) == (None, 2)


def test_what_is_known_beside_it_counts() -> None:
    with trace_of(
        files=[file(1, "a")],
        calls=[
            call(1, "WRITE", 1, file=1),
            call(2, "WRITE", 1, file=1, undecoded="truncated"),
            call(3, "COMPOUND", 1, undecoded="truncated"),
        ],
        operations=[operation(1, "WRITE", count=10), operation(2, "WRITE", status=None)],
    ) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories) == (1, None)
    assert (counted.bytes_read, counted.bytes_written) == (None, 10)


def test_objects_of_unknown_type_may_be_files() -> None:
    with trace_of(files=[file(1, "a", "unknown")]) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories, counted.other) == (None, None, 1)
    assert (counted.listed_only, counted.bytes_read) == (0, 0)


def test_nothing_is_known_of_what_is_under_tls() -> None:
    with trace_of(connections=[{"connection": 1, "tls": True, "sealed_bytes": 9}]) as trace:
        counted = files(trace)
    assert (counted.regular, counted.directories, counted.other) == (None, None, None)
    assert (counted.bytes_read, counted.bytes_written) == (None, None)


def test_of_readers_that_were_refused_nothing_was_read() -> None:
    calls = [call(1, "READ", 1, file=1, status=13)]
    reads = [operation(1, "READ", file=1, status=13)]
    with trace_of(files=[file(1, "a")], calls=calls, operations=reads) as trace:
        assert files(trace).bytes_read == 0
