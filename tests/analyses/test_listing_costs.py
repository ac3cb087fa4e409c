"""Listings without attributes and the calls that they caused; listings with them, and what for."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.listing_costs import ListingCosts, listing_costs
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

FILES = [
    file(1, "d", "directory"),
    file(2, "d/a", parent=1, name="a"),
    file(3, "d/b", parent=1, name="b"),
    file(4, "d/s", "directory", parent=1, name="s"),
]


def at(number: int, s: float, op: str, srt_ms: float = 1, **columns: object) -> Row:
    """A call so many seconds after the start."""
    sent = START_NS + round(s * 1000) * MILLISECOND
    until = sent + round(srt_ms * MILLISECOND)
    times = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": until,
        "reply_time": until,
    }
    return call(number, op, srt_ms, **(times | columns))


def told(*calls: Row, plus: bool = False, version: int = 3) -> ListingCosts:
    """Call 1 lists d; the others follow."""
    listing = {3: "READDIRPLUS" if plus else "READDIR", 4: "READDIR"}[version]
    handles = (2, 3, 4) if plus else (None, None, None)
    names = (".", "..", "a", "b", "s")
    entries = [
        {"call": 1, "directory": 1, "name": name, "file": handle}
        for name, handle in zip(names, (1, None, *handles), strict=True)
    ]
    operations = [
        operation(1, listing, file=1, plus=plus if version == 4 else None),
        *(
            operation(row["call"], str(row["op"]), file=row["file"])  # type: ignore[arg-type]
            for row in calls
        ),
    ]
    with trace_of(
        meta(end_ns=START_NS + 100_000 * MILLISECOND),
        calls=[at(1, 0.0, listing, 10, file=1, version=version), *calls],
        operations=operations,
        files=FILES,
        entries=entries,
    ) as trace:
        (pair,) = listing_costs(trace)
    return pair


def look(number: int, s: float, about: int, op: str = "LOOKUP") -> Row:
    return at(number, s, op, file=about, directory=1 if op == "LOOKUP" else None)


def test_the_first_call_about_each_entry_is_spared_and_what_follows_at_once() -> None:
    found = told(
        look(2, 1.0, 2),
        look(3, 1.1, 2, "GETATTR"),
        look(4, 1.2, 3),
        look(5, 5.0, 3, "GETATTR"),  # the attributes would have expired
        look(6, 5.1, 4),
        look(7, 5.2, 4, "GETATTR"),  # an open of the directory asks in any case
    )
    assert (found.plain_calls, found.plain_entries, found.plus_calls) == (1, 3, 0)
    assert (found.followed.calls, found.followed_entries) == (4, 3)
    assert found.followed.frames == (3, 5, 7, 11)
    assert found.followed.time_s == pytest.approx(0.004)
    assert found.places == ("d",)


def test_calls_that_follow_one_another_may_take_long_but_a_pause_ends_them() -> None:
    slow = told(look(2, 25.0, 2), look(3, 50.0, 3))
    assert slow.followed.calls == 2
    paused = told(look(2, 5.0, 2), look(3, 50.0, 3), look(4, 51.0, 4))
    assert paused.followed.calls == 1
    assert told(look(2, 31.0, 2)).followed.calls == 0


def test_another_client_did_not_list() -> None:
    assert told(at(2, 1.0, "LOOKUP", file=2, directory=1, client="10.0.0.3")).followed.calls == 0


def test_listings_with_attributes_cause_nothing_and_show_what_was_used() -> None:
    found = told(look(2, 1.0, 2, "GETATTR"), look(3, 1.1, 2, "GETATTR"), plus=True)
    assert (found.plus_calls, found.plus_entries, found.plus_objects, found.touched) == (1, 3, 3, 1)
    assert found.followed.calls == 0
    # 10 ms, beyond the 1 ms of a usual call.
    assert found.plus_extra_s == pytest.approx(0.009)


def test_nfsv4_says_what_it_asks_for() -> None:
    assert told(version=4, plus=True).plus_calls == 1
    assert told(version=4, plus=False).plain_calls == 1


def test_without_listings_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1)]) as trace:
        assert listing_costs(trace) == ()
