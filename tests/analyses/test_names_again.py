"""LOOKUPs of what a client had found: which of them nothing but the client explains."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.mounts.mount_evidence import MountEvidence, evidence
from pcapnfs.analyses.namespace import names_again
from pcapnfs.analyses.namespace.names_again import NamesAgain
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

ROOT, DIRECTORY, OTHER = 1, 2, 3
FILES = range(10, 40)


class Client:
    """Calls of one client, each 20 ms after the one before."""

    def __init__(self) -> None:
        self.rows: list[tuple[Row, Row]] = []
        self.entries: list[Row] = []
        self.now = START_NS

    def call(self, op: str, target: int, directory: int | None, **facts: object) -> None:
        number = len(self.rows) + 1
        self.now += 20 * MILLISECOND
        times = {
            "call_time": self.now,
            "call_first_time": self.now,
            "reply_time": self.now + MILLISECOND,
            "reply_first_time": self.now + MILLISECOND,
        }
        kind = {"stability": "stable"} if op in ("MKDIR", "REMOVE") else {}
        place: dict[str, object] = {"file": target, "directory": directory}
        self.rows.append(
            (
                call(number, op, 1, **(place | times | kind)),
                operation(number, op, **(place | kind | facts)),
            )
        )

    def sleep(self, pause_s: float) -> None:
        self.now += int(1000 * pause_s) * MILLISECOND

    def listing(self, *, attributes: bool) -> None:
        """List the directory with its thirty files."""
        self.call("READDIRPLUS", DIRECTORY, None)
        self.entries += [
            {
                "call": len(self.rows),
                "directory": DIRECTORY,
                "name": f"f{number}",
                "file": number if attributes else None,
                "ctime": 1 if attributes else None,
            }
            for number in FILES
        ]

    def walk(self, *, keeps_names: bool) -> None:
        """Look up thirty files of a directory by their paths."""
        for target in FILES:
            if not keeps_names or target == FILES[0]:
                self.call("LOOKUP", DIRECTORY, ROOT)
            self.call("LOOKUP", target, DIRECTORY)

    def seen(self) -> tuple[MountEvidence, tuple[NamesAgain, ...]]:
        objects = [file(ROOT, ".", "directory"), file(DIRECTORY, "d", "directory", parent=ROOT)]
        objects += [file(OTHER, "e", "directory", parent=ROOT)]
        objects += [file(number, f"d/f{number}", parent=DIRECTORY) for number in FILES]
        span = meta(end_ns=self.now + 1000 * MILLISECOND)
        calls, operations = ([row[place] for row in self.rows] for place in (0, 1))
        with (
            trace_of(
                span, files=objects, calls=calls, operations=operations, entries=self.entries
            ) as trace,
            change_ids(trace) as cursor,
        ):
            (found,) = evidence(trace, cursor)
            return found, names_again.of_learned(trace, cursor)


def test_every_step_through_an_unchanged_directory_is_counted() -> None:
    client = Client()
    client.walk(keeps_names=False)
    seen, (again,) = client.seen()
    assert (seen.returns, seen.returns_looked_up) == (29, 29)
    assert seen.frames["returns"] == (7, 11, 15)
    assert (again.lookups, again.calls, again.needless.calls) == (60, 60, 29)
    assert again.needless.time_s > 0


def test_names_that_are_kept_are_looked_up_once() -> None:
    client = Client()
    client.walk(keeps_names=True)
    seen, again = client.seen()
    assert (seen.returns, seen.returns_looked_up, again) == (0, 0, ())


def test_what_a_client_looks_up_in_a_directory_that_it_changed_is_no_proof() -> None:
    client = Client()
    client.call("MKDIR", OTHER, ROOT)
    client.walk(keeps_names=False)
    seen, (again,) = client.seen()
    assert seen.returns_looked_up == 0
    # But it would be spared: there was no change after the first of them.
    assert again.needless.calls == 29


def test_each_change_of_its_own_explains_one_lookup() -> None:
    client = Client()
    for _ in range(3):
        client.walk(keeps_names=False)
        client.call("MKDIR", OTHER, ROOT)
    _, (again,) = client.seen()
    # Of the directory 29 in each walk, of its files all but in the first.
    assert again.needless.calls == 3 * 29 + 2 * 30


def test_a_change_that_is_not_answered_explains_all_after_it() -> None:
    client = Client()
    client.walk(keeps_names=False)
    client.call("MKDIR", OTHER, ROOT)
    row, of = client.rows[-1]
    client.rows[-1] = ({**row, "reply_time": None, "reply_first_time": None}, of)
    client.walk(keeps_names=False)
    _, (again,) = client.seen()
    assert again.needless.calls == 29 + 30


@pytest.mark.parametrize(("known", "found"), [(1, 2), (2, 1)])
def test_a_change_by_somebody_else_explains_one_lookup(known: int, found: int) -> None:
    """So does one of which it is not known by whom: times that go back."""
    client = Client()
    client.call("GETATTR", ROOT, None, ctime=known, mtime=known)
    client.walk(keeps_names=False)
    client.call("GETATTR", ROOT, None, ctime=found, mtime=found)
    client.walk(keeps_names=False)
    _, (again,) = client.seen()
    # Thirty times the directory, but for the first time of each walk; of the files all again.
    assert again.needless.calls == 2 * 29 + 30


def test_names_that_are_made_again_do_not_count_as_steps() -> None:
    """Linux looks a name up before it makes a directory of that name (mkdir -p)."""
    client = Client()
    for target in FILES:
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("MKDIR", target, DIRECTORY)
    seen, _ = client.seen()
    assert (seen.returns, seen.returns_looked_up) == (0, 0)


def test_what_lies_in_a_directory_under_a_delegation_need_not_be_looked_up() -> None:
    """Linux 7.2 asks for delegations of directories: with lookupcache=none these show nothing."""
    client = Client()
    client.walk(keeps_names=False)
    client.call("GET_DIR_DELEGATION", ROOT, None, delegation="READ")
    client.walk(keeps_names=True)
    seen, _ = client.seen()
    assert (seen.returns, seen.returns_looked_up) == (29, 29)
    client.call("DELEGRETURN", ROOT, None)
    client.walk(keeps_names=True)
    seen, _ = client.seen()
    # But for the way to the first, for which the directory is looked up again.
    assert (seen.returns, seen.returns_looked_up) == (29 + 30, 30)


def test_a_delegation_of_a_directory_that_is_not_available_changes_nothing() -> None:
    client = Client()
    client.walk(keeps_names=False)
    client.call("GET_DIR_DELEGATION", ROOT, None, delegation="NONE")
    client.walk(keeps_names=True)
    seen, _ = client.seen()
    assert (seen.returns, seen.returns_looked_up) == (29 + 30, 30)


def test_a_dozen_lookups_tell_nothing() -> None:
    client = Client()
    for target in FILES[:12]:
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("LOOKUP", target, DIRECTORY)
    seen, again = client.seen()
    assert (seen.returns, again) == (0, ())


def test_files_looked_up_again_and_again_are_counted_though_the_client_made_their_directory() -> (
    None
):
    client = Client()
    client.call("MKDIR", DIRECTORY, ROOT)
    for _ in range(3):
        client.walk(keeps_names=False)
    seen, _ = client.seen()
    assert (seen.returns_looked_up, seen.settled_looked_up, seen.settled_returns) == (0, 89, 89)
    assert seen.files_again == len(FILES)


def test_files_looked_up_once_more_are_not_looked_up_again_and_again() -> None:
    client = Client()
    client.walk(keeps_names=False)
    client.walk(keeps_names=False)
    seen, _ = client.seen()
    assert (seen.returns_looked_up, seen.files_again) == (59, 0)


def kept(client: Client) -> tuple[int, int]:
    """LOOKUPs of what had been found, and what keeping names would have spared."""
    _, (again,) = client.seen()
    return again.needless.calls, again.kept.calls


def test_steps_of_ways_are_spared_whole_where_names_are_kept() -> None:
    client = Client()
    client.walk(keeps_names=False)
    assert kept(client) == (29, 29)
    # Nor does it matter that the directory was opened once.
    client.listing(attributes=False)
    client.walk(keeps_names=False)
    assert kept(client) == (29 + 60, 29 + 60)


def test_a_lookup_before_an_open_is_replaced_by_its_question() -> None:
    """Who walks a tree examines each directory, and then opens it: two LOOKUPs of the same."""
    client = Client()
    client.walk(keeps_names=False)
    client.call("READDIRPLUS", DIRECTORY, None)
    for _ in range(5):
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("LOOKUP", FILES[0], DIRECTORY)
    assert kept(client) == (29 + 15, 29 + 10)


def test_one_of_a_directory_that_was_never_opened_is_no_open() -> None:
    client = Client()
    client.walk(keeps_names=False)
    for _ in range(5):
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("LOOKUP", DIRECTORY, ROOT)
        client.call("LOOKUP", FILES[0], DIRECTORY)
    assert kept(client) == (29 + 15, 29 + 15)


def test_files_that_were_read_may_be_opened_again_once_a_second() -> None:
    client = Client()
    client.walk(keeps_names=False)
    for target in FILES[20:]:
        client.call("READ", target, None)
    client.sleep(1)
    client.walk(keeps_names=False)
    client.call("LOOKUP", FILES[29], DIRECTORY)  # too soon after the one before
    assert kept(client) == (29 + 60 + 1, 29 + 60 + 1 - 10)
    for target in FILES[:10]:
        client.call("WRITE", target, None)
    assert kept(client) == (29 + 60 + 1, 29 + 60 + 1 - 20)


def test_attributes_of_files_expire_ever_later_all_the_same() -> None:
    """Known at 0 s, asked for after 3 s and after 9 s."""
    client = Client()
    for _ in range(6):
        client.walk(keeps_names=True)
        client.sleep(2 - 31 * 0.02)
    # At 0, 2, 4, 6, 8 and 10 s: of six LOOKUPs those at 4 and 10 s are replaced.
    assert kept(client) == (5 * 31, 5 * 31 - 2 * 30)


@pytest.mark.parametrize(("attributes", "more"), [(True, 30), (False, 0)])
def test_names_that_a_listing_with_attributes_told_are_not_looked_up_at_all(
    *, attributes: bool, more: int
) -> None:
    client = Client()
    client.listing(attributes=attributes)
    client.walk(keeps_names=False)
    assert kept(client) == (29, 29 + more)


def test_they_are_where_the_directory_changed_meanwhile_or_long_after() -> None:
    changed, late = Client(), Client()
    for client in (changed, late):
        client.listing(attributes=True)
    changed.call("MKDIR", OTHER, DIRECTORY)
    late.sleep(30)
    for client in (changed, late):
        client.walk(keeps_names=False)
        assert kept(client) == (29, 29)
