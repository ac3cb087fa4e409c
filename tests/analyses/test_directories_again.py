"""Directories that a client looked up though it knew them to be there."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.directories_again import DirectoriesAgain, directories_again
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

ROOT, TREE, LIB, A, B = 1, 2, 3, 4, 5

FILES = [
    file(ROOT, ".", "directory"),
    file(TREE, "tree", "directory", parent=ROOT, name="tree"),
    file(LIB, "tree/lib", "directory", parent=TREE, name="lib"),
    file(A, "tree/lib/a", parent=LIB, name="a"),
    file(B, "tree/lib/b", parent=LIB, name="b"),
]

PARENTS = {TREE: ROOT, LIB: TREE, A: LIB, B: LIB}


class Client:
    """Calls of one client, a tenth of a second after one another."""

    def __init__(self) -> None:
        self.calls: list[Row] = []
        self.operations: list[Row] = []
        self.now = 0.0

    def call(self, op: str, about: int, *, pause: float = 0.1, **told: object) -> None:
        """A call that is answered a millisecond later; of a name, in its directory.

        Args:
            op: Its operation.
            about: The file.
            pause: Seconds since the one before.
            told: Columns of its operation.
        """
        self.now += pause
        number = len(self.calls) + 1
        sent = START_NS + round(self.now * 1000) * MILLISECOND
        times = {
            f"{what}_{which}": sent + (what == "reply") * MILLISECOND
            for what in ("call", "reply")
            for which in ("first_time", "time")
        }
        named = op not in ("GETATTR", "READDIR", "WRITE")
        columns = {"file": about} | ({"directory": PARENTS[about]} if named else {})
        self.calls.append(call(number, op, 1, **(times | columns)))
        self.operations.append(operation(number, op, **columns, **told))

    def look_up(self, times: int, *about: int) -> None:
        for _ in range(times):
            for each in about:
                self.call("LOOKUP", each)

    def found(self) -> tuple[DirectoriesAgain, ...]:
        span = meta(end_ns=START_NS + 100_000 * MILLISECOND)
        with trace_of(span, calls=self.calls, operations=self.operations, files=FILES) as trace:
            return directories_again(trace)


def test_what_it_had_found_or_made_counts_from_the_second_time_on() -> None:
    client = Client()
    client.call("MKDIR", TREE)
    client.look_up(11, TREE, LIB)
    (found,) = client.found()
    assert (found.calls, found.again.calls, found.directories) == (23, 21, 2)
    assert (found.places, found.most) == (("tree", "tree/lib"), 11)
    assert found.again.frames == (3, 7, 9, 11, 13)
    assert found.again.time_s == pytest.approx(0.021)


def test_few_are_nothing_to_tell() -> None:
    client = Client()
    client.look_up(20, TREE)
    assert client.found() == ()
    client.look_up(1, TREE)
    assert client.found()[0].again.calls == 20


def test_what_it_may_have_forgotten_does_not_count() -> None:
    client = Client()
    client.look_up(21, TREE)
    client.call("LOOKUP", TREE, pause=30.0)
    assert client.found()[0].again.calls == 20


def test_after_a_change_by_somebody_else_it_has_to_ask() -> None:
    client = Client()
    client.call("GETATTR", ROOT, ctime=1, mtime=1)
    client.look_up(21, TREE)
    client.call("GETATTR", ROOT, ctime=2, mtime=2)
    client.look_up(2, TREE)
    assert client.found()[0].again.calls == 21


def test_what_a_listing_follows_is_an_open() -> None:
    client = Client()
    client.look_up(22, TREE)
    client.call("READDIR", TREE)
    assert client.found()[0].again.calls == 20


def test_files_are_counted_apart() -> None:
    client = Client()
    client.look_up(21, TREE)
    client.look_up(3, A, B)
    (found,) = client.found()
    assert (found.again.calls, found.files) == (20, 4)


@pytest.mark.parametrize(
    ("steps", "entered"),
    [
        ((("OPEN", A), ("OPEN", B)), 1),
        ((("OPEN", A), ("LOOKUP", LIB), ("OPEN", B)), 0),
        ((("LOOKUP", A), ("CREATE", A)), 0),
        ((("CREATE", A), ("WRITE", A), ("RENAME", A)), 1),
        ((("LOOKUP", A), ("REMOVE", A)), 0),
    ],
)
def test_a_name_by_which_it_enters_without_a_lookup_shows_that_it_keeps_names(
    steps: tuple[tuple[str, int], ...], entered: int
) -> None:
    """What is looked up before it is made, or removed, is one access."""
    client = Client()
    client.look_up(21, LIB)
    for op, about in steps:
        client.call(op, about)
    assert client.found()[0].entered == entered
