"""Captures that do not tell what calls were about: what is unknown is None, and not nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.by_file.files import files
from pcapnfs.analyses.by_file.patterns import patterns
from pcapnfs.analyses.by_file.perfile import perfile
from pcapnfs.analyses.by_file.pergroup import pergroup
from pcapnfs.analyses.by_file.sizes import sizes
from pcapnfs.analyses.caching.cache import cache
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.namespace.readdir import readdir
from pcapnfs.analyses.times.phases import phases
from pcapnfs.trace import Trace
from tests.unit.rows import Row, call, file, operation, trace_of

CUT = {"undecoded": "truncated"}


def of(rows: Sequence[Row], **tables: Sequence[Row]) -> Trace:
    return trace_of(calls=rows, **tables)


def sealed(number: int) -> Row:
    """A compound of which nothing is known but that it was answered."""
    return call(
        number, "COMPOUND", 1, version=4, protocol="4.2", stability="unknown",
        undecoded="encrypted", status=None, status_name=None,
    )  # fmt: skip


def test_a_call_on_nobody_knows_what_leaves_files_unknown() -> None:
    with of([call(1, "GETATTR", 1, **CUT)]) as trace:
        found = model(trace)
        told = {each.name: each.value for each in found.inputs}
        assert (found.files, told["files"]) == (None, None)
        assert files(trace).regular is None
        assert [each.files for each in phases(trace)] == [None]
        by_size = sizes(trace)
        assert (by_size.files, by_size.empty, by_size.total_bytes) == (None, None, None)
        assert by_size.frame.files is None
        assert patterns(trace).class_count is None
        assert patterns(trace).total.files is None
        costs = perfile(trace)
        assert (costs.listed.files, costs.total.files) == (None, None)
        assert pergroup(trace, "client").total.files is None
        known = cache(trace)
        assert (known.revalidations, known.bytes_saved, known.without_file) == (None, None, 1)
        # READDIR is a procedure of NFSv3, which even a cut or sealed call tells.
        assert readdir(trace).readdir_calls == 0


def test_calls_without_a_file_leave_nothing_unknown() -> None:
    with of([call(1, "NULL", 1)]) as trace:
        assert model(trace).files == 0
        assert [each.files for each in phases(trace)] == [0]
        assert sizes(trace).files == 0
        assert patterns(trace).class_count == 0
        assert perfile(trace).total.files == 0
        assert cache(trace).revalidations == 0


def test_sealed_compounds_may_have_been_listings_and_stable() -> None:
    with of([sealed(number) for number in range(1, 41)]) as trace:
        found, listed, known = model(trace), readdir(trace), cache(trace)
    assert (listed.readdir_calls, listed.entries, listed.after_plain) == (None, None, None)
    assert (known.delegations.opens, known.delegations.recall_s) == (None, None)
    assert (found.stable_calls, found.syncops_per_file) == (None, None)
    assert "outcomes" in found.missing


def test_of_sealed_files_it_is_not_known_how_many_calls_were_stable() -> None:
    rows = [{**sealed(number), "file": 1} for number in range(1, 41)]
    with of(rows, files=[file(1, "a")]) as trace:
        found = files(trace)
    assert (found.calls_per_file.mean, found.stable_per_file.mean) == (40, None)


def test_a_listing_without_its_reply_tells_no_entries() -> None:
    rows = [call(1, "READDIRPLUS", None, file=1)]
    asked = [operation(1, "READDIRPLUS", file=1, cookie=0, executed=False, status=None)]
    with of(rows, operations=asked, files=[file(1, "d", "directory")]) as trace:
        found = readdir(trace)
    assert (found.readdirplus_calls, found.listings, found.directories) == (1, 1, 1)
    assert (found.entries, found.bytes, found.time_s, found.follow_ups) == (None,) * 4
    (shown,) = found.shown
    assert (shown.entries, shown.follow_ups, shown.revalidations) == (None, None, 0)


def test_a_listing_that_was_refused_has_none() -> None:
    rows = [call(1, "READDIR", 1, file=1, status=70, reply_bytes=40)]
    asked = [operation(1, "READDIR", file=1, cookie=0, status=70)]
    with of(rows, operations=asked, files=[file(1, "d", "directory")]) as trace:
        found = readdir(trace)
    assert (found.entries, found.follow_ups) == (0, 0)
    assert found.time_s == pytest.approx(0.001)


def test_a_listing_of_nobody_knows_what_has_no_directory() -> None:
    rows = [call(1, "READDIR", 1, **CUT)]
    with of(rows, operations=[operation(1, "READDIR", entries=3)]) as trace:
        found = readdir(trace)
    assert (found.readdir_calls, found.entries) == (1, 3)
    assert (found.directories, found.plus_lost, found.revalidations) == (None, None, None)


def test_data_of_reads_without_reply_is_unknown_file_by_file() -> None:
    rows = [call(1, "READ", None, file=1), call(2, "GETATTR", 1, file=2)]
    asked = [operation(1, "READ", file=1, executed=False, status=None)]
    with of(rows, operations=asked, files=[file(1, "a"), file(2, "b")]) as trace:
        moved = {each.path: (each.bytes_read, each.bytes_written) for each in perfile(trace).files}
        (group,) = pergroup(trace, "client").groups
    assert moved == {"a": (None, 0), "b": (0, 0)}
    assert (group.bytes_read, group.bytes_written) == (None, 0)


def test_one_reply_that_tells_is_enough() -> None:
    rows = [call(1, "READ", None, file=1), call(2, "READ", 1, file=1)]
    asked = [
        operation(1, "READ", file=1, executed=False, status=None),
        operation(2, "READ", file=1, count=100),
    ]
    with of(rows, operations=asked, files=[file(1, "a")]) as trace:
        (cost,) = perfile(trace).files
    assert cost.bytes_read == 100
