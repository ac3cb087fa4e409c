"""Names looked for in vain."""

from __future__ import annotations

from pcapnfs.analyses.not_found import MissingName, not_found
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
    assert pair.time_s == 0.008
    assert pair.frames == (1, 3, 5, 7)


def test_a_name_that_comes_into_being_was_not_looked_for_in_vain() -> None:
    looks = [look(1, "new", 1), look(2, "new", 2)]
    calls, operations = zip(*looks, strict=True)
    names: list[Row] = [{"call": 3, "position": 0, "directory": 1, "name": "new", "file": 9}]
    with trace_of(calls=calls, operations=operations, files=DIRECTORIES, names=names) as trace:
        (pair,) = not_found(trace)
    assert (pair.lookups, pair.missing) == (2, 1)
    assert pair.names == (MissingName("new", 1, 1, ("usr/bin",)),)


def test_without_a_name_missing_there_is_nothing_to_tell() -> None:
    (looked, operated) = look(1, "there", 1, found=True)
    with trace_of(calls=[looked], operations=[operated], files=DIRECTORIES) as trace:
        assert not_found(trace) == ()
