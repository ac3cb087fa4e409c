"""Listings that came in small pages."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.small_pages import SmallPages, small_pages
from tests.unit.rows import Row, call, file, operation, trace_of

NAME = "n" * 100
"""Of one entry of each page; with what belongs to it 124 bytes."""

FILES = [file(1, ".", "directory"), file(2, "d", "directory")]


def page(
    number: int, cookie: int, *, size: int = 1000, requested: int = 8192, **columns: object
) -> tuple[Row, Row]:
    """A READDIRPLUS of 2 ms with ten entries."""
    return (
        call(number, "READDIRPLUS", 2, reply_bytes=size, **columns),
        operation(
            number, "READDIRPLUS", file=2, cookie=cookie, entries=10, requested=requested, status=0
        ),
    )


def found(*pages: tuple[Row, Row]) -> tuple[SmallPages, ...]:
    calls, operations = ([each[place] for each in pages] for place in (0, 1))
    entries: list[Row] = [
        {"call": row["call"], "position": 0, "directory": 2, "name": NAME} for row in calls
    ]
    with trace_of(calls=calls, operations=operations, files=FILES, entries=entries) as trace:
        return small_pages(trace)


def test_pages_before_the_last_are_held_against_what_was_asked_for() -> None:
    (pair,) = found(
        page(1, 0, size=2048), page(2, 10, size=4096), page(3, 20, size=1024), page(4, 30)
    )
    assert (pair.client, pair.server) == ("10.0.0.2", "10.0.0.1")
    assert (pair.pages, pair.short, pair.entries) == (3, 2, 10.0)
    assert (pair.reply_bytes, pair.requested_bytes, pair.places) == (1536.0, 8192.0, ("d",))
    assert (pair.small.calls, pair.small.frames) == (2, (1, 5))
    # Three quarters and seven eighths of 2 ms each.
    assert pair.small.time_s == pytest.approx(0.00325)


def test_a_client_may_ask_for_little() -> None:
    (pair,) = found(page(1, 0, size=1024, requested=1024), page(2, 10))
    assert (pair.small.calls, pair.short) == (1, 0)
    assert found(page(1, 0, size=2048, requested=2048), page(2, 10)) == ()


@pytest.mark.parametrize(("requested", "counted"), [(992, False), (993, True), (8192, True)])
def test_what_is_full_of_names_is_as_the_client_wanted_it(requested: int, counted: bool) -> None:
    """A page of 992 bytes may hold names for 124."""
    pages = (page(1, 0, size=400, requested=requested), page(2, 10))
    assert bool(found(*pages)) is counted


@pytest.mark.parametrize(
    "second",
    [page(2, 0), page(2, 10, client="10.0.0.3")],
    ids=["listed anew", "another client"],
)
def test_the_last_page_may_be_small(second: tuple[Row, Row]) -> None:
    assert found(page(1, 0), second) == ()
