"""The calls that listed directories."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace import listings
from tests.unit.rows import Row, call, operation, trace_of


def _listing(of_call: Row, of_operation: Row, columns: str) -> list[tuple[object, ...]]:
    with trace_of(calls=[of_call], operations=[of_operation]) as trace:
        listings.register(trace)
        listings.register(trace)
        return trace.sql(f"select {columns} from {listings.TABLE}").fetchall()


@pytest.mark.parametrize(
    ("op", "version", "asked", "plus", "untyped"),
    [
        ("READDIR", 3, {}, False, True),
        ("READDIRPLUS", 3, {}, True, False),
        ("READDIR", 4, {"plus": True, "attributes": "0000001a"}, True, False),
        # The eighth digit has the lowest four bits of the bitmap's first word: bit 1 is the type.
        ("READDIR", 4, {"plus": False, "attributes": "00000800"}, False, True),
        ("READDIR", 4, {"plus": False}, False, None),
    ],
)
def test_a_listing_tells_attributes_and_types(
    op: str, version: int, asked: dict[str, object], plus: bool, untyped: bool | None
) -> None:
    found = _listing(
        call(1, op, 2, version=version), operation(1, op, file=3, **asked), "plus, untyped"
    )
    assert found == [(plus, untyped)]


def test_times_are_of_calls_that_only_list() -> None:
    columns = "directory, srt, reply_bytes"
    listing = operation(1, "READDIR", file=3)
    assert _listing(call(1, "READDIR", 2, reply_bytes=90), listing, columns) == [(3, 2_000_000, 90)]
    assert _listing(call(1, "OPEN", 2, reply_bytes=90), listing, columns) == [(3, None, None)]


@pytest.mark.parametrize("other", [{"callback": True}, {"program": 100005}])
def test_other_programs_list_nothing(other: dict[str, object]) -> None:
    of_call = {**call(1, "READDIR", 2), **other}
    assert _listing(of_call, operation(1, "READDIR", file=3), "call") == []
