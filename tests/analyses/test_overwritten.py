"""Appends that wrote over those of another client."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.caching.overwritten import Overwritten, OverwrittenFile, overwritten
from tests.unit.rows import Row, call, file, operation, trace_of

ONE, TWO = "10.0.0.2", "10.0.0.3"

Step = tuple[Row, Row]


def asks(number: int, client: str, size: int, op: str = "GETATTR", **columns: object) -> Step:
    """A client is told the size of the file."""
    return (
        call(number, op, 2, client=client, file=1),
        operation(number, op, file=1, size=size, **columns),
    )


def appends(
    number: int, client: str, at: int, count: int = 10, size: int | None = None, takes_ms: float = 2
) -> Step:
    """A client writes; it is told the size behind, or the one that is given."""
    return (
        call(number, "WRITE", takes_ms, client=client, file=1, stability="stable"),
        operation(number, "WRITE", file=1, offset=at, count=count, size=size or at + count),
    )


def of_file(number: int, *steps: Step) -> list[Step]:
    """The same of another file."""
    return [({**each, "file": number}, {**done, "file": number}) for each, done in steps]


def told(*steps: Step) -> tuple[Overwritten, ...]:
    calls, operations = zip(*steps, strict=True)
    with trace_of(calls=calls, operations=operations, files=[file(1, "log")]) as trace:
        return overwritten(trace)


def test_two_that_are_told_the_same_end_write_to_the_same_place() -> None:
    (found,) = told(
        asks(1, ONE, 100),
        asks(2, TWO, 100),
        appends(3, ONE, 100),
        appends(4, TWO, 100),
        # The second time one writes the whole page, as a client without locks does.
        asks(5, ONE, 110),
        asks(6, TWO, 110),
        appends(7, TWO, 110),
        appends(8, ONE, 0, 120),
        asks(9, TWO, 120),
        appends(10, TWO, 120),
    )
    assert (found.server, found.appends, found.writes) == ("10.0.0.1", 5, 2)
    assert found.shown == (OverwrittenFile("log", (ONE, TWO), 2),)
    assert found.frames == (5, 7, 13, 15)


def test_who_is_told_the_new_end_writes_behind_it() -> None:
    assert (
        told(
            asks(1, ONE, 100),
            asks(2, TWO, 100),
            appends(3, ONE, 100),
            asks(4, TWO, 110),
            appends(5, TWO, 110),
        )
        == ()
    )


def test_who_rewrites_what_is_there_means_to() -> None:
    """Also over the end of what it has just written, by turns that something else decides."""
    assert (
        told(
            asks(1, ONE, 100),
            asks(2, TWO, 100),
            appends(3, ONE, 0, 100, size=100),
            appends(4, TWO, 0, 100, size=100),
            appends(5, ONE, 200),
            appends(6, TWO, 200),
        )
        == ()
    )


def test_one_client_writes_over_its_own() -> None:
    assert (
        told(asks(1, ONE, 100), asks(2, TWO, 100), appends(3, ONE, 100), appends(4, ONE, 95)) == ()
    )


def test_an_empty_file_may_be_meant_to_be_written_anew_by_each() -> None:
    assert told(asks(1, ONE, 0), asks(2, TWO, 0), appends(3, ONE, 0), appends(4, TWO, 0)) == ()


@pytest.mark.parametrize("cutter", [ONE, TWO])
def test_what_was_cut_in_between_is_written_anew(cutter: str) -> None:
    """The reply does not tell the size."""
    cut = (
        call(4, "SETATTR", 2, client=cutter, file=1),
        operation(4, "SETATTR", file=1, set_size=0),
    )
    assert (
        told(
            asks(1, ONE, 100), asks(2, TWO, 100), appends(3, ONE, 100), cut, appends(5, TWO, 0, 120)
        )
        == ()
    )


def test_what_grew_again_to_the_same_size_was_not_written_over() -> None:
    """Somebody whom the capture does not show cuts the file, as logrotate on the server."""
    assert (
        told(
            asks(1, ONE, 100),
            asks(2, TWO, 50),
            appends(3, ONE, 100),
            asks(4, TWO, 100),
            appends(5, TWO, 100),
        )
        == ()
    )


def test_a_file_with_locks_is_left_to_those() -> None:
    lock = (call(1, "LOCK", 2, client=ONE, file=1), operation(1, "LOCK", file=1))
    assert (
        told(lock, asks(2, ONE, 100), asks(3, TWO, 100), appends(4, ONE, 100), appends(5, TWO, 100))
        == ()
    )


def test_all_files_count_and_some_are_told() -> None:
    """Those with most of them, of equals the ones that came first; frames are theirs."""
    steps = [
        step
        for number in range(4)
        for step in of_file(
            number,
            asks(4 * number + 1, ONE, 100),
            asks(4 * number + 2, TWO, 100),
            appends(4 * number + 3, ONE, 100),
            appends(4 * number + 4, TWO, 100),
        )
    ]
    steps += of_file(3, appends(17, ONE, 110), appends(18, TWO, 110))
    calls, operations = zip(*steps, strict=True)
    files = [file(number, f"log-{number}") for number in range(4)]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (found,) = overwritten(trace)
    assert (found.appends, found.writes) == (10, 5)
    assert [(each.path, each.writes) for each in found.shown] == [
        ("log-3", 2), ("log-0", 1), ("log-1", 1)
    ]  # fmt: skip
    assert len(found.frames) == EXAMPLES
