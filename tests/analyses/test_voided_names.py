"""Names that a client knew, looked up since somebody else had changed their directory."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.voided_names import VoidedNames, voided_names
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

DIRECTORY, A, B, SUB = 1, 2, 3, 4

FILES = [
    file(DIRECTORY, "d", "directory"),
    file(A, "d/a", parent=DIRECTORY, name="a"),
    file(B, "d/b", parent=DIRECTORY, name="b"),
    file(SUB, "d/s", "directory", parent=DIRECTORY, name="s"),
]


class Client:
    """Calls of one client, the first of which lists a directory of three, or asks for it."""

    def __init__(self, *, op: str = "READDIRPLUS") -> None:
        self.calls: list[Row] = []
        self.operations: list[Row] = []
        self.entries: list[Row] = []
        if op == "GETATTR":
            self.changed(0.0, 1)
        else:
            self.list(0.0, op=op)

    def call(self, s: float, op: str, about: int, **columns: object) -> None:
        """A call so many seconds after the start that is answered a millisecond later.

        Args:
            s: Seconds.
            op: Its operation.
            about: The file.
            columns: Of the call, and those of the operation that only that has.
        """
        number = len(self.calls) + 1
        sent = START_NS + round(s * 1000) * MILLISECOND
        kind = {"stability": "stable"} if op == "REMOVE" else {}
        place = {"directory": DIRECTORY} if op in ("LOOKUP", "REMOVE") else {}
        times = {
            f"{what}_{which}": sent + (what == "reply") * MILLISECOND
            for what in ("call", "reply")
            for which in ("first_time", "time")
        }
        told = {"ctime", "mtime", "directory_ctime", "directory_mtime"}
        told |= {"directory_before_ctime", "directory_before_mtime"}
        of_call = {name: value for name, value in columns.items() if name not in told}
        of_operation = {name: value for name, value in columns.items() if name in told}
        self.calls.append(call(number, op, 1, **({"file": about} | place | times | kind | of_call)))
        self.operations.append(
            operation(number, op, **({"file": about} | place | kind | of_operation))
        )

    def list(self, s: float, *, op: str = "READDIRPLUS", changed: int = 1) -> None:
        """List the directory; its times are `changed`."""
        self.call(s, op, DIRECTORY, ctime=changed, mtime=changed)
        plus = op == "READDIRPLUS"
        self.entries += [
            {
                "call": len(self.calls), "directory": DIRECTORY, "name": name,
                "file": number if plus else None,
                "type": "REG" if plus else None,
            }
            for name, number in (("a", A), ("b", B), ("s", SUB))
        ]  # fmt: skip

    def changed(self, s: float, changed: int = 2) -> None:
        """Learn from a GETATTR that the times of the directory are these."""
        self.call(s, "GETATTR", DIRECTORY, ctime=changed, mtime=changed)

    def remove(self, s: float, before: int) -> None:
        """Remove something; the times of the directory were these, and are one more."""
        times = {"directory_before_ctime": before, "directory_before_mtime": before}
        times |= {"directory_ctime": before + 1, "directory_mtime": before + 1}
        self.call(s, "REMOVE", 9, **times)

    def found(self) -> tuple[VoidedNames, ...]:
        span = meta(end_ns=START_NS + 100_000 * MILLISECOND)
        with trace_of(
            span, calls=self.calls, operations=self.operations, files=FILES, entries=self.entries
        ) as trace:
            return voided_names(trace)


def test_what_is_looked_up_since_somebody_else_changed_the_directory_is_counted() -> None:
    client = Client()
    client.changed(0.5)
    for s, about in ((1.0, A), (1.1, B), (1.2, SUB)):
        client.call(s, "LOOKUP", about)
    (found,) = client.found()
    assert (found.calls, found.changes, found.directories, found.places) == (5, 1, 1, ("d",))
    assert found.asked.calls == 3
    assert found.kept == found.asked
    assert found.asked.frames == (5, 7, 9)
    assert found.asked.time_s == pytest.approx(0.003)


def test_without_a_change_nobody_is_blamed() -> None:
    client = Client()
    client.call(1.0, "LOOKUP", A)
    client.changed(2.0)
    assert client.found() == ()


def test_a_change_that_a_lookup_tells_voids_what_comes_after_it() -> None:
    client = Client()
    client.call(1.0, "LOOKUP", A, directory_ctime=2, directory_mtime=2)
    client.call(1.1, "LOOKUP", B, directory_ctime=2, directory_mtime=2)
    (found,) = client.found()
    assert (found.asked.calls, found.asked.frames) == (1, (5,))


def test_a_change_explains_one_lookup_of_each_name() -> None:
    """What comes again is that of a client which keeps no names: another rule's."""
    client = Client()
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A)
    client.call(1.1, "LOOKUP", A)
    (found,) = client.found()
    assert (found.asked.calls, found.changes) == (1, 1)


def test_what_was_told_again_since_the_change_is_not_void() -> None:
    client = Client()
    client.changed(0.5)
    client.list(0.6, changed=2)
    client.call(1.0, "LOOKUP", A)
    assert client.found() == ()


def test_a_change_that_the_listing_tells_itself_voids_its_names() -> None:
    """The client keeps them as of before the call."""
    client = Client()
    client.list(0.5, changed=2)
    client.call(1.0, "LOOKUP", A)
    (found,) = client.found()
    assert found.asked.calls == 1


def test_after_a_change_of_its_own_nobody_else_is_blamed() -> None:
    client = Client()
    client.changed(0.5)
    client.call(0.6, "REMOVE", 9)
    client.call(1.0, "LOOKUP", A)
    assert client.found() == ()


def test_a_listing_without_attributes_is_another_rule() -> None:
    client = Client(op="READDIR")
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A)
    assert client.found() == ()
    client = Client()
    client.list(0.3, op="READDIR")
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A)
    assert client.found() == ()


def test_when_attributes_have_expired_a_getattr_takes_its_place() -> None:
    client = Client()
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A)
    client.call(5.0, "LOOKUP", B)
    client.call(5.1, "LOOKUP", SUB)  # those of a directory are believed longer
    (found,) = client.found()
    assert (found.asked.calls, found.kept.calls, found.kept.frames) == (3, 2, (5, 9))


def test_a_walk_ends_with_a_long_pause() -> None:
    client = Client()
    client.changed(0.5)
    client.call(29.0, "LOOKUP", A)
    client.call(58.0, "LOOKUP", B)
    client.call(89.0, "LOOKUP", SUB)
    (found,) = client.found()
    assert found.asked.calls == 2


@pytest.mark.parametrize(
    ("op", "version", "kept"), [("READ", 3, 1), ("READ", 4, 2), ("GETATTR", 3, 2)]
)
def test_an_open_asks_in_any_case(op: str, version: int, kept: int) -> None:
    """That of a file by NFSv4 has its name."""
    client = Client()
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A, version=version)
    client.call(1.1, op, A, version=version)
    client.call(1.2, "LOOKUP", B)
    (found,) = client.found()
    assert (found.asked.calls, found.kept.calls) == (2, kept)


def test_what_the_client_had_looked_up_itself_counts_after_each_change() -> None:
    client = Client(op="GETATTR")
    for place in range(3):
        client.call(0.1 + place, "LOOKUP", A)
        client.changed(0.5 + place, 2 + place)
    (found,) = client.found()
    assert (found.changes, found.directories, found.places) == (2, 1, ("d",))
    assert (found.asked.calls, found.asked.frames) == (2, (7, 11))
    assert found.kept == found.asked


def test_what_a_call_taught_that_made_something_counts_likewise() -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "OPEN", A, directory=DIRECTORY, version=4)
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A, version=4)
    (found,) = client.found()
    assert found.asked.frames == (7,)


@pytest.mark.parametrize(("s", "about"), [(1.0, B), (30.0, A)])
def test_what_it_did_not_know_or_may_have_forgotten_does_not(s: float, about: int) -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "LOOKUP", A)
    client.changed(0.5)
    client.call(s, "LOOKUP", about)
    assert client.found() == ()


@pytest.mark.parametrize(("removed", "asked"), [(2, 0), (3, 1)])
def test_changes_of_its_own_count_unless_names_are_seen_to_survive_them(
    removed: int, asked: int
) -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "LOOKUP", A)
    for place in range(removed):
        client.remove(0.2 + place / 10, 1 + place)
    client.remove(0.9, 7)  # 7: somebody else changed it before
    client.call(1.0, "LOOKUP", A)
    assert sum(found.asked.calls for found in client.found()) == asked


@pytest.mark.parametrize(("needless", "asked"), [(1, 4), (2, 0)])
def test_who_looks_names_up_in_any_case_does_so_for_nobody(needless: int, asked: int) -> None:
    client = Client(op="GETATTR")
    for place in range(5):
        client.call(0.1 + place / 10, "LOOKUP", A)
        client.changed(0.15 + place / 10, 2 + place)
    client.call(0.6, "LOOKUP", B)
    for place in range(needless):
        client.call(0.7 + place / 10, "LOOKUP", B)
    assert sum(found.asked.calls for found in client.found()) == asked


@pytest.mark.parametrize(("about", "kept"), [(A, 2), (SUB, 3)])
def test_when_attributes_have_expired_a_getattr_would_have_come_once(about: int, kept: int) -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "LOOKUP", about)
    for place, s in enumerate((1.0, 4.0, 5.0)):
        client.changed(s - 0.5, 2 + place)
        client.call(s, "LOOKUP", about)
    (found,) = client.found()
    assert (found.asked.calls, found.kept.calls) == (3, kept)


@pytest.mark.parametrize(("op", "version", "kept"), [("READ", 3, 0), ("READ", 4, 1)])
def test_an_open_would_have_asked_in_any_case(op: str, version: int, kept: int) -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "LOOKUP", A, version=version)
    client.changed(0.5)
    client.call(1.0, "LOOKUP", A, version=version)
    client.call(1.1, op, A, version=version)
    (found,) = client.found()
    assert (found.asked.calls, found.kept.calls) == (1, kept)


def test_what_a_listing_told_since_is_its_own() -> None:
    client = Client(op="GETATTR")
    client.call(0.1, "LOOKUP", A)
    client.changed(0.5)
    client.list(0.6, changed=2)
    client.call(1.0, "LOOKUP", A)
    assert client.found() == ()


def test_a_change_of_nobody_known_is_theirs_who_change_more_often() -> None:
    """The last may be that of a call without a reply."""
    asked = []
    for others in (1, 2):
        client = Client(op="GETATTR")
        client.call(0.1, "LOOKUP", A)
        for place in range(others):
            client.changed(0.2 + place / 20, 2 + place)
        for place in range(3):
            client.remove(0.3 + place / 20, 1 + others + place)
        client.call(0.5, "LOOKUP", A)
        client.call(0.6, "REMOVE", 9, reply_time=None, reply_frame=None, srt=None, status=None)
        client.changed(0.8, 9)
        client.call(1.0, "LOOKUP", A)
        asked.append(sum(found.asked.calls for found in client.found()))
    assert asked == [1, 2]
