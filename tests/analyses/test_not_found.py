"""Names looked for in vain."""

from __future__ import annotations

from collections.abc import Sequence

from pcapnfs.analyses.namespace.not_found import MissingName, SearchOrder, not_found
from tests.unit.rows import Row, call, file, operation, trace_of

DIRECTORIES = [file(1, "bin", "directory"), file(2, "usr/bin", "directory")]


def look(number: int, name: str, directory: int, *, found: bool = False) -> tuple[Row, Row]:
    """A LOOKUP of 2 ms."""
    status = 0 if found else 2
    return (
        call(number, "LOOKUP", 2, status=status),
        operation(number, "LOOKUP", status=status, directory=directory, name=name),
    )


def test_a_search_path_is_told_in_its_order() -> None:
    looks = [
        look(1, "cc", 2),
        look(2, "cc", 1),
        look(3, "ld", 2),
        look(4, "cc", 2),
        look(5, "as", 1, found=True),
    ]
    calls, operations = zip(*looks, strict=True)
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES) as trace:
        (pair,) = not_found(trace)
    assert (pair.client, pair.server) == ("10.0.0.2", "10.0.0.1")
    assert (pair.lookups, pair.missing, pair.again) == (5, 4, 1)
    assert pair.names == (
        MissingName("cc", 3, 2, ("usr/bin", "bin")),
        MissingName("ld", 1, 1, ("usr/bin",)),
    )
    assert pair.orders == (SearchOrder(("usr/bin", "bin"), 1, 1),)
    assert (pair.searched, pair.climbing) == (2, 0)
    assert (pair.time_s, pair.pause_s) == (0.008, 0.024)
    assert pair.frames == (1, 3, 5, 7)


def searched(*between: tuple[Row, Row], names: Sequence[Row] = ()) -> tuple[int, int]:
    """Steps and orders told where a name is missing in one directory and then in another."""
    tree = [*DIRECTORIES, file(3, "bin/cc", parent=1), file(4, "etc/cc.conf", parent=5)]
    looks = [look(1, ".ignore", 1), *between, look(9, ".ignore", 2)]
    calls, operations = zip(*looks, strict=True)
    with trace_of(calls=calls, operations=operations, files=tree, names=names) as trace:
        (pair,) = not_found(trace)
    return pair.searched, len(pair.orders)


def use(number: int, op: str, **columns: object) -> tuple[Row, Row]:
    return call(number, op, 2), operation(number, op, **columns)


def test_a_name_asked_for_in_each_directory_that_is_worked_in_is_no_search() -> None:
    assert searched() == (2, 1)
    # Listed, or a file of the directory that it comes from, or goes to, was used.
    assert searched(use(4, "READDIRPLUS", file=1)) == (0, 0)
    assert searched(use(4, "READ", file=3)) == (0, 0)
    assert searched(use(4, "READDIR", file=2)) == (0, 0)
    there = {"call": 0, "position": 0, "directory": 2, "name": "hard link", "file": 4}
    assert searched(use(4, "READ", file=4), names=[there]) == (0, 0)


def test_a_search_goes_on_beside_work_in_other_directories() -> None:
    assert searched(use(4, "READ", file=4), use(5, "ACCESS", file=2)) == (2, 1)
    assert searched(use(4, "LOOKUP", directory=1, name="lib", file=2)) == (2, 1)
    refused = call(4, "READ", 2, status=13), operation(4, "READ", file=3, status=13)
    assert searched(refused) == (2, 1)


def test_files_of_extended_attributes_are_counted() -> None:
    looks = [look(1, "._cc", 2), look(2, "._", 1), look(3, ".cc", 2), look(4, "._ld", 2)]
    calls, operations = zip(*looks, strict=True)
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES) as trace:
        (pair,) = not_found(trace)
    assert (pair.missing, pair.apple_double) == (4, 2)


def test_names_that_are_searched_alike_are_told_together_and_climbs_are_counted() -> None:
    tree = [
        file(1, ".", "directory"),
        file(2, "a", "directory", parent=1),
        file(3, "a/b", "directory", parent=2),
        file(4, "c", "directory", parent=1),
    ]
    looks = [
        *(look(1 + place, "node_modules", where) for place, where in enumerate((3, 2, 1))),
        *(look(4 + place, "node_modules", where) for place, where in enumerate((3, 2, 1))),
        look(7, "x", 4),
        look(8, "x", 2),
        look(9, "y", 4),
        look(10, "y", 2),
        look(11, "z", 4),
    ]
    calls, operations = zip(*looks, strict=True)
    with trace_of(calls=calls, operations=operations, files=tree) as trace:
        (pair,) = not_found(trace)
    assert pair.orders == (
        SearchOrder(("a/b", "a", "."), 2, 1),
        SearchOrder(("c", "a"), 2, 2),
    )
    assert pair.climbing == 2


def test_a_name_that_comes_into_being_was_not_looked_for_in_vain() -> None:
    looks = [look(1, "new", 1), look(2, "new", 2)]
    calls, operations = zip(*looks, strict=True)
    names: list[Row] = [{"call": 3, "position": 0, "directory": 1, "name": "new", "file": 9}]
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES, names=names) as trace:
        (pair,) = not_found(trace)
    assert (pair.lookups, pair.missing) == (2, 1)
    assert pair.names == (MissingName("new", 1, 1, ("usr/bin",)),)


def test_a_name_that_was_to_be_made_and_was_refused_was_not_looked_for_in_vain() -> None:
    """Root is squashed: the LOOKUP is that of the CREATE behind it."""
    looks = [look(1, "new", 1), look(2, "new", 2), look(3, "old", 1)]
    refused = (
        call(4, "CREATE", 2, status=13),
        operation(4, "CREATE", status=13, directory=1, name="new", stability="unstable"),
    )
    calls, operations = zip(*looks, refused, strict=True)
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES) as trace:
        (pair,) = not_found(trace)
    assert {missing.name: missing.places for missing in pair.names} == {
        "new": ("usr/bin",),
        "old": ("bin",),
    }


def missed(*later: tuple[Row, Row]) -> list[tuple[str, int]]:
    """What counts of two names looked for in two directories, and what they were looked for."""
    looks = [look(2, "a", 1), look(3, "b", 1), look(4, "a", 2), look(5, "b", 2), *later]
    calls, operations = zip(*looks, strict=True)
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES) as trace:
        return [(each.name, each.directories) for pair in not_found(trace) for each in pair.names]


def make(number: int, op: str, **columns: object) -> tuple[Row, Row]:
    return call(number, op, 1), operation(number, op, stability="stable", **columns)


def test_a_name_that_may_have_come_into_being_was_not_looked_for_in_vain_for_certain() -> None:
    assert missed() == [("a", 2), ("b", 2)]
    # The name was cut off, or the directory as well, or all that would tell.
    assert missed(make(6, "OPEN", directory=1)) == [("a", 1), ("b", 1)]
    assert missed(make(6, "RENAME", directory=1, name="z", target_directory=2)) == [
        ("a", 1),
        ("b", 1),
    ]
    assert missed(make(6, "OPEN")) == []
    hidden = call(6, "COMPOUND", 1, version=4, stability="unknown", status=0)
    assert missed((hidden, operation(6, "PUTFH"))) == []
    # Of another server, or before, or it told that it made nothing.
    assert len(missed((call(6, "OPEN", 1, server="10.0.0.9"), make(6, "OPEN")[1]))) == 2
    assert missed(make(1, "OPEN", directory=1)) == missed()
    assert missed((call(6, "OPEN", 1), operation(6, "OPEN", directory=1))) == missed()
    failed = call(6, "COMPOUND", 1, version=4, stability="unknown", status=2)
    assert missed((failed, operation(6, "PUTFH"))) == missed()


def test_what_came_of_a_call_without_reply_is_not_known() -> None:
    lost = {"executed": False, "status": None}
    assert missed(make(6, "CREATE", directory=1, name="a", **lost)) == [("b", 2), ("a", 1)]
    # An OPEN by handle makes nothing.
    assert missed(make(6, "OPEN", file=7, **lost)) == missed()


def test_without_a_name_missing_there_is_nothing_to_tell() -> None:
    (looked, operated) = look(1, "there", 1, found=True)
    with trace_of(calls=[looked], operations=[operated], files=DIRECTORIES) as trace:
        assert not_found(trace) == ()
