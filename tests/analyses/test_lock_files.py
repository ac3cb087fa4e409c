"""Waiting for lock files."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.lock_files import EXIST, LockFiles, lock_files, waits
from pcapnfs.analyses.locks.lock_gaps import lock_gaps
from pcapnfs.analyses.times.outstanding import outstanding
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

OTHER = "10.0.0.3"

Step = tuple[Row, Row]


def make(
    number: int, status: int, op: str = "LINK", client: str = "10.0.0.2", name: str = "box.lock"
) -> Step:
    """A try to make a name in the directory 1, answered after 1 ms."""
    return (
        call(number, op, 1, client=client, status=status),
        operation(number, op, status=status, directory=1, name=name, file=2),
    )


def free(number: int, client: str) -> Step:
    return (
        call(number, "REMOVE", 1, client=client),
        operation(number, "REMOVE", directory=1, name="box.lock"),
    )


def found(*steps: Step) -> tuple[LockFiles, ...]:
    calls, operations = zip(*steps, strict=True)
    with trace_of(calls=calls, operations=operations, files=[file(1, ".", "directory")]) as trace:
        return lock_files(trace)


@pytest.mark.parametrize("op", ["LINK", "CREATE", "OPEN", "MKDIR", "SYMLINK"])
def test_a_wait_lasts_from_the_first_refusal_until_the_name_is_made(op: str) -> None:
    (pair,) = found(
        make(1, 0, op, OTHER),
        make(2, EXIST, op),
        make(5, EXIST, op),
        free(6, OTHER),
        make(8, 0, op),
        make(9, EXIST, op, name="else"),
    )
    assert (pair.client, pair.server, pair.holders) == ("10.0.0.2", "10.0.0.1", (OTHER,))
    assert (pair.waits, pair.refused, pair.names, pair.frames) == (1, 2, ("box.lock",), (3,))
    assert pair.waited_s == pair.longest_s == pytest.approx(0.061)
    assert pair.interval_s == pytest.approx(0.03)


def test_who_goes_on_without_the_name_waits_for_nothing() -> None:
    # mkdir -p of what is there, again and again.
    assert found(*(make(number, EXIST, "MKDIR") for number in range(1, 9))) == ()
    # It looks whether the name is there, and makes it later.
    assert found(make(1, EXIST), free(2, OTHER), make(3, 0)) == ()
    # Minutes lie between.
    assert found(make(1, EXIST), make(2, EXIST), make(6003, 0)) == ()
    # Each is of a name of its own.
    assert found(make(1, EXIST), make(2, EXIST, name="a"), make(3, 0), make(4, 0, name="a")) == ()


def test_waits_at_the_same_time_are_counted_once() -> None:
    (pair,) = found(
        *(make(number, EXIST, name=name) for number, name in enumerate("abab", 1)),
        make(5, 0, name="a"),
        make(6, 0, name="b"),
    )
    assert pair.waits == 2
    assert pair.waited_s == pytest.approx(0.051)
    assert pair.names == ("a", "b")


def test_waiting_for_a_name_is_no_time_of_the_client_itself() -> None:
    steps = [make(2, EXIST), make(5, EXIST), make(8, 0)]
    calls, operations = zip(*steps, strict=True)
    with trace_of(calls=calls, operations=operations, files=[file(1, ".", "directory")]) as trace:
        each = waits(trace)
        (gaps,) = lock_gaps(trace, outstanding(trace))
    assert each is not None
    assert each.begin_ns.tolist() == [START_NS + 20 * MILLISECOND]
    assert each.locks.tolist() == [2, 5, 8]
    # 61 ms, of which three calls took one each.
    assert gaps.time_s == pytest.approx(0.058)
