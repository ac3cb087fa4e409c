"""READs of single pages that were then written: read, modify, write."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.data.pages_first import NO_PAGES, PagesFirst, pages_first
from pcapnfs.analyses.data.write_shapes import write_shapes
from tests.unit.rows import Row, call, operation, trace_of

PAGE = 4096


def read(number: int, page: int, *, about: int = 1, **columns: object) -> list[Row]:
    """A READ of 2 ms of one page."""
    told = {"requested": PAGE, "count": PAGE} | columns
    return [
        call(number, "READ", 2, file=about),
        operation(number, "READ", file=about, offset=page * PAGE, **told),
    ]


def write(number: int, page: int, size: int = PAGE, *, about: int = 1) -> list[Row]:
    """A WRITE from the begin of a page on."""
    return [
        call(number, "WRITE", 2, file=about),
        operation(number, "WRITE", file=about, offset=page * PAGE, requested=size, count=size),
    ]


def found(*steps: list[Row]) -> PagesFirst:
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        told = pages_first(trace)
        assert [each.pages_first for each in write_shapes(trace)] in ([*told.values()], [NO_PAGES])
    return next(iter(told.values()), NO_PAGES)


def test_pages_that_are_written_as_a_whole_after_they_were_read_count() -> None:
    """However much later, and alone or with their neighbours."""
    pages = found(
        read(1, 10),
        read(2, 50),
        read(3, 30),
        write(500, 10),
        write(501, 50),
        write(502, 29, 2 * PAGE),
    )
    assert (pages.reads.calls, pages.files) == (3, 1)
    assert pages.reads.time_s == pytest.approx(0.006)
    assert pages.reads.frames == (1, 3, 5)


def test_the_last_page_is_written_to_the_end_of_the_file() -> None:
    pages = found(read(1, 10), read(2, 50, count=100), write(500, 10), write(501, 50, 120))
    assert pages.reads.calls == 2
    pages = found(read(1, 10), read(2, 50, count=100), write(500, 10), write(501, 50, 90))
    assert pages == NO_PAGES


def test_who_reads_pages_and_writes_some_of_them_wants_to_know_them() -> None:
    reads = [read(number, 5 * number) for number in range(1, 11)]
    nine = [write(100 + number, 5 * number) for number in range(1, 10)]
    assert found(*reads, *nine).reads.calls == 9
    assert found(*reads, *nine[:8]) == NO_PAGES


@pytest.mark.parametrize(
    "near",
    [
        # Pages in a row: a program reads the file in order.
        [read(1, 10), read(2, 11), write(500, 10), write(501, 11)],
        # More than a page was wanted.
        [read(1, 10, requested=PAGE + 1), read(2, 50, requested=PAGE + 1), write(500, 10)],
        [read(1, 10), read(2, 50), write(500, 40, 17 * PAGE), write(501, 10)],
        # Written before, and not after.
        [write(1, 10), write(2, 50), read(3, 10), read(4, 50)],
        # A part of it was written, as by a client that has not read it.
        [read(1, 10), read(2, 50), write(500, 10, 100), write(501, 50, 100)],
        # Read again before it was written.
        [read(1, 10), read(2, 50), read(3, 10), read(4, 50), write(500, 10)],
        # Another file.
        [read(1, 10), read(2, 50), write(500, 10, about=2), write(501, 50, about=2)],
        # Behind the end, there was nothing to read.
        [read(1, 10, count=0), read(2, 50, count=0), write(500, 10), write(501, 50)],
    ],
)
def test_what_is_near(near: list[list[Row]]) -> None:
    assert found(*near) == NO_PAGES


def test_a_record_that_is_read_and_written_again_and_again_counts_once() -> None:
    """As under a lock, which voids what the client has."""
    steps = [
        step
        for number in range(20)
        for step in (read(10 * number + 1, number % 2 * 7), write(10 * number + 5, number % 2 * 7))
    ]
    assert found(*steps).reads.calls == 2
