"""Files that clients use by turns."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.shared_files import SharedFile, shared_files
from tests.unit.rows import Row, call, file, operation, trace_of

ONE, TWO = "10.0.0.2", "10.0.0.3"
FILES = [file(1, "log"), file(2, "d", "directory"), file(3, "mine"), file(4, "only-read")]


def use(number: int, client: str, op: str, which: int = 1, **columns: object) -> tuple[Row, Row]:
    """A call of 2 ms."""
    stability = {"READ": "read", "WRITE": "stable"}.get(op, "unstable")
    return (
        call(number, op, 2, client=client, stability=stability, file=which),
        operation(number, op, file=which, **columns),
    )


def test_a_turn_is_a_use_after_anothers_change() -> None:
    used = [
        use(1, ONE, "WRITE", count=10),
        use(2, TWO, "GETATTR"),
        use(3, TWO, "READ", count=10),
        use(4, TWO, "WRITE", count=5),
        use(5, ONE, "READ", count=15),
        use(6, ONE, "GETATTR"),
        use(7, ONE, "SETATTR", set_size=0),
        use(8, TWO, "READ", count=0),
        use(9, ONE, "WRITE", 3, count=9),
        use(10, ONE, "GETATTR", 2),
        use(11, TWO, "GETATTR", 2),
        use(12, ONE, "READ", 4, count=7),
        use(13, TWO, "READ", 4, count=7),
    ]
    calls, operations = zip(*used, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (shared,) = shared_files(trace)
    assert shared.server == "10.0.0.1"
    assert (shared.files, shared.turns) == (1, 3)
    assert shared.shown == (SharedFile("log", (ONE, TWO), 3),)
    # The first use ever by the second client was no news lost.
    assert shared.time_s == {"read": pytest.approx(0.004)}
    assert shared.frames == (3, 9, 15)


def test_whoever_changed_the_file_is_named_too() -> None:
    used = [use(1, TWO, "WRITE", count=10), use(2, ONE, "READ", count=10)]
    calls, operations = zip(*used, strict=True)
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (shared,) = shared_files(trace)
    assert shared.shown == (SharedFile("log", (ONE, TWO), 1),)
    assert shared.time_s == {}


def test_one_client_shares_nothing() -> None:
    (asked, told) = use(1, ONE, "WRITE", count=10)
    with trace_of(calls=[asked], operations=[told], files=FILES) as trace:
        assert shared_files(trace) == ()
