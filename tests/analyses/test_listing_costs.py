"""Listings without attributes and the calls that they caused; listings with them, and what for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.namespace.listing_costs import ListingCosts, listing_costs
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


def test_a_call_that_the_server_does_not_have_lists_nothing() -> None:
    """Clients ask with attributes first, and then without."""
    calls = [at(1, 0.0, "READDIRPLUS", file=1), at(2, 0.1, "READDIR", file=1)]
    for status, counted in ((10004, (0, 1)), (13, (1, 0))):
        operations = [
            operation(1, "READDIRPLUS", file=1, status=status),
            operation(2, "READDIR", file=1),
        ]
        with trace_of(
            meta(end_ns=START_NS + 1000 * MILLISECOND),
            calls=calls,
            operations=operations,
            files=FILES,
        ) as trace:
            (pair,) = listing_costs(trace)
        assert (pair.plus_calls, pair.plus_unsupported) == counted
        assert (pair.plain_calls, pair.listed_both_ways) == (1, counted[0])


def told(
    *calls: Row,
    plus: bool = False,
    bare: Sequence[str] = (),
    version: int = 3,
    names_of: Sequence[Row] = (),
) -> ListingCosts:
    """Call 1 lists d; the others follow.

    Args:
        calls: The others.
        plus: Whether it asks for attributes.
        bare: Entries of which the server gives none.
        version: That of NFS.
        names_of: Rows of the table names.
    """
    listing = {3: "READDIRPLUS" if plus else "READDIR", 4: "READDIR"}[version]
    handles = (2, 3, 4) if plus else (None, None, None)
    names = (".", "..", "a", "b", "s")
    entries = [
        {
            "call": 1,
            "directory": 1,
            "name": name,
            "file": handle,
            "type": "REG" if plus and name not in bare else None,
        }
        for name, handle in zip(names, (1, None, *handles), strict=True)
    ]
    operations = [
        operation(1, listing, file=1, entries=5, plus=plus if version == 4 else None),
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
        names=names_of,
    ) as trace:
        (pair,) = listing_costs(trace)
    return pair


def look(number: int, s: float, about: int, op: str = "LOOKUP") -> Row:
    return at(number, s, op, file=about, directory=1 if op == "LOOKUP" else None)


def test_a_file_that_had_another_name_when_it_was_listed_is_found_by_that() -> None:
    named = {"position": 0, "directory": 1, "file": 2}
    names = [named | {"call": 2, "name": "b"}, named | {"call": 4, "name": "a"}]
    found = told(
        look(3, 1.0, 2, "GETATTR"),
        at(4, 1.1, "RENAME", file=2, directory=1),
        names_of=names,
    )
    assert (found.followed.calls, found.asked_entries) == (1, 1)
    assert (
        told(
            look(3, 1.0, 2, "GETATTR"), names_of=[names[0] | {"name": "x"}, names[1]]
        ).followed.calls
        == 0
    )


def test_the_first_call_about_each_entry_is_spared_and_what_follows_at_once() -> None:
    found = told(
        look(2, 1.0, 2),
        look(3, 1.1, 2, "GETATTR"),
        look(4, 1.2, 3),
        look(5, 5.0, 3, "GETATTR"),  # the attributes would have expired
        look(6, 5.1, 4),  # those of a directory are believed longer
        look(7, 5.2, 4, "GETATTR"),  # an open of the directory asks in any case
    )
    assert (found.plain_calls, found.plain_entries, found.plus_calls) == (1, 3, 0)
    assert found.plain_versions == (3,)
    assert found.asked == found.followed
    assert (found.followed.calls, found.asked_entries) == (4, 3)
    assert found.followed.frames == (3, 5, 7, 11)
    assert found.followed.time_s == pytest.approx(0.004)
    assert found.fewer == 4
    assert found.places == ("d",)


def test_entries_that_the_server_told_bare_count_as_told_without_attributes() -> None:
    """They were asked for: it is free to leave them out, of each entry (RFC 1813, 3.3.17)."""
    asked = (look(2, 1.0, 2), look(3, 1.1, 3), look(4, 1.2, 4))
    some = told(*asked, plus=True, bare=("a", "b"))
    assert (some.plain_calls, some.plus_calls, some.listed_both_ways) == (0, 1, 0)
    assert (some.plain_entries, some.plus_entries, some.bare_entries) == (2, 1, 2)
    assert (some.bare_calls, some.asked_entries, some.followed.calls) == (1, 2, 2)
    none = told(*asked, plus=True)
    assert (none.plain_entries, none.bare_entries, none.bare_calls) == (0, 0, 0)
    assert none.followed.calls == 0
    # Who does not ask is not refused; where the bitmap was cut, it is not known whether it asked.
    plain = told(*asked)
    assert (plain.plain_entries, plain.bare_entries, plain.bare_calls) == (3, 0, 0)
    cut = told(*asked, plus=True, bare=("a", "b", "s"), version=4)
    assert (cut.plus_entries, cut.bare_entries) == (3, 0)


@pytest.mark.parametrize(("use", "spared"), [("READ", 2), ("ACCESS", 2), ("GETATTR", 3)])
def test_what_an_open_of_nfsv3_asks_is_asked_with_attributes_as_well(use: str, spared: int) -> None:
    """Close-to-open consistency: it asks, however lately the client has been told."""
    found = told(
        look(2, 1.0, 2),
        look(3, 1.1, 2, "GETATTR"),
        at(4, 1.2, use, file=2 if use != "GETATTR" else 1),
        look(5, 1.3, 3),
    )
    assert (found.followed.calls, found.asked_entries) == (spared, 2)


def test_what_comes_when_attributes_have_expired_is_asked_for_but_not_spared() -> None:
    found = told(look(2, 2.0, 2), look(3, 3.1, 3), look(4, 29.0, 4))
    assert (found.asked.calls, found.asked_entries) == (3, 3)
    assert found.followed.frames == (3, 7)  # the directory s is believed for longer than b
    assert told(look(2, 3.1, 2), look(3, 29.9, 4)).followed.calls == 0


@pytest.mark.parametrize(("between_ms", "spared"), [(0, 9), (1500, 2)])
def test_the_clock_runs_without_the_calls_that_are_spared(between_ms: int, spared: int) -> None:
    """Each takes 2 s; what else takes time between them would have taken it in any case."""
    names = [f"f{number}" for number in range(9)]
    step = 2000 + between_ms
    calls = [
        at(2 + place, 1.0 + place * step / 1000, "LOOKUP", 2000, file=10 + place, directory=1)
        for place in range(9)
    ]
    with trace_of(
        meta(end_ns=START_NS + 100_000 * MILLISECOND),
        calls=[at(1, 0.0, "READDIR", 10, file=1), *calls],
        operations=[
            operation(1, "READDIR", file=1),
            *(operation(2 + place, "LOOKUP", file=10 + place) for place in range(9)),
        ],
        files=[
            file(1, "d", "directory"),
            *(
                file(10 + place, f"d/{name}", parent=1, name=name)
                for place, name in enumerate(names)
            ),
        ],
        entries=[{"call": 1, "directory": 1, "name": name, "file": None} for name in names],
    ) as trace:
        (pair,) = listing_costs(trace)
    assert (pair.asked.calls, pair.followed.calls) == (9, spared)


def test_calls_that_follow_one_another_may_take_long_but_a_pause_ends_them() -> None:
    slow = told(look(2, 25.0, 2), look(3, 50.0, 3))
    assert slow.asked.calls == 2
    paused = told(look(2, 5.0, 2), look(3, 50.0, 3), look(4, 51.0, 4))
    assert paused.asked.calls == 1
    assert told(look(2, 31.0, 2)).asked.calls == 0


@pytest.mark.parametrize(
    ("plus", "entries", "spared"),
    [(True, None, 1), (None, None, 1), (True, 0, 2), (False, None, 2)],
)
def test_a_listing_that_was_cut_may_have_told_the_attributes(
    plus: bool | None, entries: int | None, spared: int
) -> None:
    """One entry is asked for before the directory is listed again, and one after."""
    again = at(3, 1.5, "READDIR", file=1, version=4, undecoded="truncated")
    calls = [at(1, 0.0, "READDIR", 10, file=1, version=4), look(2, 1.0, 2), again, look(4, 2.0, 3)]
    with trace_of(
        meta(end_ns=START_NS + 100_000 * MILLISECOND),
        calls=calls,
        operations=[
            operation(1, "READDIR", file=1, plus=False, entries=3),
            operation(2, "LOOKUP", file=2),
            operation(3, "READDIR", file=1, plus=plus, entries=entries),
            operation(4, "LOOKUP", file=3),
        ],
        files=FILES,
        entries=[{"call": 1, "directory": 1, "name": name, "file": None} for name in "abs"],
    ) as trace:
        (pair,) = listing_costs(trace)
    assert pair.followed.calls == spared


def walked_again(*more: Row, version: int = 3, attributes: str | None = None) -> ListingCosts:
    """A tree, d and d/s in it, is listed at 0 s and walked at 1 s and 11 s; 200 calls from 20 s on.

    Calls 1 and 2 list, 10 to 14 are the first walk, 20 to 24 the second.
    """
    listings = [
        at(1, 0.0, "READDIR", file=1, version=version),
        at(2, 0.1, "READDIR", file=4, version=version),
    ]
    walks = [
        each
        for first, s in ((10, 1.0), (20, 11.0))
        for each in (
            at(first, s, "GETATTR", file=1),
            at(first + 1, s + 0.1, "GETATTR", file=2),
            at(first + 2, s + 0.2, "GETATTR", file=3),
            at(first + 3, s + 0.3, "GETATTR", file=4),
            at(first + 4, s + 0.4, "GETATTR", file=5),
        )
    ]
    calls = [*listings, *walks, *more]
    entries = [
        {"call": 1, "directory": 1, "name": name, "file": None} for name in (".", "a", "b", "s")
    ] + [{"call": 2, "directory": 4, "name": "c", "file": None}]
    operations = [
        operation(
            row["call"],  # type: ignore[arg-type]
            str(row["op"]),
            file=row["file"],
            attributes=attributes,
            plus=False if version == 4 and row["op"] == "READDIR" else None,
        )
        for row in calls
    ]
    with trace_of(
        meta(end_ns=START_NS + 100_000 * MILLISECOND),
        calls=calls,
        operations=operations,
        files=[*FILES, file(5, "d/s/c", parent=4, name="c")],
        entries=entries,
    ) as trace:
        (pair,) = listing_costs(trace)
    return pair


def test_later_walks_over_a_tree_may_only_have_wanted_types() -> None:
    found = walked_again()
    assert (found.followed.calls, found.asked_entries) == (4, 4)
    # Not the directory s: it is opened in any case.
    assert (found.untyped.calls, found.untyped.frames) == (3, (41, 43, 47))
    assert found.untyped.time_s == pytest.approx(0.003)
    assert found.untyped.half().time_s == pytest.approx(0.0015)


def test_what_was_asked_more_about_is_wanted_for_more_than_its_type() -> None:
    used = walked_again(at(30, 12.0, "READ", file=2), at(31, 12.1, "GETACL", file=5))
    assert (used.untyped.calls, used.untyped.frames) == (1, (43,))


def test_who_looks_for_a_few_files_walks_no_tree() -> None:
    some = walked_again(at(30, 50.0, "GETATTR", file=1), at(31, 50.1, "GETATTR", file=2))
    assert some.untyped.calls == 3
    unopened = walked_again(at(31, 50.1, "GETATTR", file=2), at(32, 50.2, "GETATTR", file=3))
    assert unopened.untyped.calls == 3


def test_a_directory_alone_is_not_walked_for_types() -> None:
    alone = told(
        look(2, 1.0, 2),
        look(3, 1.1, 3),
        at(4, 11.0, "GETATTR", file=1),
        look(5, 11.1, 2, "GETATTR"),
        look(6, 11.2, 3, "GETATTR"),
    )
    assert (alone.followed.calls, alone.untyped.calls) == (2, 0)


@pytest.mark.parametrize(("asked", "untyped"), [("00000802", 0), ("00000800", 3)])
def test_nfsv4_lists_types_where_it_asks_for_them(asked: str, untyped: int) -> None:
    found = walked_again(version=4, attributes=f"{asked}:00800000:00000000")
    assert found.untyped.calls == untyped


def test_another_client_did_not_list() -> None:
    assert told(at(2, 1.0, "LOOKUP", file=2, directory=1, client="10.0.0.3")).followed.calls == 0


def test_listings_with_attributes_cause_nothing_and_show_what_was_used() -> None:
    found = told(look(2, 1.0, 2, "GETATTR"), look(3, 1.1, 2, "GETATTR"), plus=True)
    assert (found.plus_calls, found.plus_entries, found.plus_objects, found.touched) == (1, 3, 3, 1)
    assert (found.asked.calls, found.followed.calls) == (0, 0)
    # 10 ms, beyond the 1 ms of a usual call.
    assert found.plus_extra_s == pytest.approx(0.009)


def test_nfsv4_says_what_it_asks_for() -> None:
    assert told(version=4, plus=True).plus_calls == 1
    assert told(version=4, plus=False).plain_calls == 1


def test_nothing_is_said_of_a_listing_of_which_it_was_cut_off_what_it_asked_for() -> None:
    listing = {"file": 1, "version": 4}
    with trace_of(
        calls=[at(1, 0.0, "READDIR", 10, **listing), at(2, 0.1, "READDIR", 10, **listing)],
        operations=[operation(1, "READDIR", file=1, plus=False), operation(2, "READDIR", file=1)],
        files=FILES,
    ) as trace:
        (pair,) = listing_costs(trace)
    assert (pair.plain_calls, pair.plus_calls) == (1, 0)


def test_without_listings_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1)]) as trace:
        assert listing_costs(trace) == ()


@pytest.mark.parametrize(("first", "asked"), [(1, 1), (2, 2)])
def test_within_a_tick_of_the_clock_frames_tell_what_came_first(first: int, asked: int) -> None:
    """By a clock of seconds b is asked for while d is listed with attributes, or before."""
    calls = [
        at(1, 0.0, "READDIR", 0, file=1),
        look(2, 1.0, 2),
        at(3, 1.0, "READDIRPLUS", 0, file=1, call_frame=10 * first, reply_frame=10 * first + 1),
        {**look(4, 1.0, 3), "call_frame": 15, "reply_frame": 16},
        *(at(number, number, "GETATTR", 0, file=1) for number in range(10, 70)),
    ]
    with trace_of(
        meta(packets=200, end_ns=START_NS + 100_000 * MILLISECOND),
        calls=[{**each, "reply_time": each["call_time"], "srt": 0} for each in calls],
        operations=[
            operation(1, "READDIR", file=1, entries=3),
            operation(2, "LOOKUP", file=2),
            operation(3, "READDIRPLUS", file=1, entries=3),
            operation(4, "LOOKUP", file=3),
        ],
        files=FILES,
        entries=[
            {"call": listing, "directory": 1, "name": name, "file": None, "type": kind}
            for listing, kind in ((1, None), (3, "REG"))
            for name in "abs"
        ],
    ) as trace:
        (pair,) = listing_costs(trace)
    assert pair.asked.calls == asked
