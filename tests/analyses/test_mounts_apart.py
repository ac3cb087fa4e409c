"""Several mounts of one client and one server: told apart where their calls show it, only there."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.cache import cache
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.caching.questions import Questions, of_learned, questions
from pcapnfs.analyses.data.transfer_runs import transfer_runs
from pcapnfs.analyses.mounts.mount_options import Mount
from pcapnfs.analyses.mounts.mounts_apart import apart
from pcapnfs.diagnosis import judging
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

V42 = {"version": 4, "minor": 2, "protocol": "4.2"}

ASKS = "00000018:00300000"
"""A bitmap with change and size."""

CHILDREN = 30
"""Files of a directory."""

FIRST, SECOND = 1, 101
"""The directories of two file systems; their files have the numbers behind."""


class Client:
    """Calls of one client at one server, each 10 ms after the one before."""

    def __init__(self) -> None:
        self.calls: list[Row] = []
        self.operations: list[Row] = []
        self.entries: list[Row] = []

    def call(self, op: str, target: int, directory: int | None = None, /, **facts: object) -> None:
        number = len(self.calls) + 1
        now = START_NS + number * 10 * MILLISECOND
        protocol = facts.pop("protocol", "3")
        version: dict[str, object] = dict(V42) if protocol == "4.2" else {}
        connection = facts.pop("connection", 0)
        times = {"call_time": now, "call_first_time": now, "reply_time": now + MILLISECOND}
        about = {"file": target, "directory": directory}
        self.calls.append(call(number, op, 1, connection=connection, **about, **times, **version))
        known: dict[str, object] = {"ctime": 1, "mtime": 1, "size": 1}
        if version:
            known = {"change": 1, "attributes": ASKS} if op == "GETATTR" else {}
        self.operations.append(operation(number, op, **about, **(known | facts)))

    def walk(self, directory: int, *, asks: bool, **facts: object) -> None:
        """Look at the files of a directory: one that keeps nothing asks for both, twice."""
        self.call("GETATTR", directory, **facts)
        for child in range(directory + 1, directory + 1 + CHILDREN):
            if asks:
                self.call("GETATTR", directory, **facts)
            self.call("ACCESS", child, directory, **facts)
            self.call("GETATTR", child, **facts)
            if asks:
                self.call("GETATTR", child, **facts)
                self.call("GETATTR", child, **facts)

    def overlap(self, directory: int, **facts: object) -> None:
        """Look at the files of a directory as several processes do that keep nothing.

        They ask for it as often as they use it, though not by turns.
        """
        self.call("GETATTR", directory, **facts)
        for child in range(directory + 1, directory + 1 + CHILDREN):
            if child % 2:
                self.call("GETATTR", directory, **facts)
                self.call("GETATTR", directory, **facts)
            self.call("ACCESS", child, directory, **facts)
            for _ in range(3):
                self.call("GETATTR", child, **facts)

    def write(self, target: int, piece: int, pieces: int, **facts: object) -> None:
        """Write a file in pieces."""
        for place in range(pieces):
            self.call(
                "WRITE",
                target,
                offset=place * piece,
                requested=piece,
                count=piece,
                stable_requested="UNSTABLE",
                committed="UNSTABLE",
                **facts,
            )

    def limits(self) -> None:
        """Ask what the server allows."""
        self.call("FSINFO", FIRST, max_read=1 << 20, max_write=1 << 20)

    def trace(self, **system: object) -> Trace:
        """The trace; what is said of the second file system beside its number."""
        top = str(system.pop("path", "."))
        absent = system.pop("absent", ())
        assert isinstance(absent, range | tuple)
        first: dict[str, object] = {"fsid_major": 1, "fsid_minor": 0, "export": "/one"}
        second: dict[str, object] = {"fsid_major": 2, "fsid_minor": 0, "export": "/two"}
        objects = []
        for directory, path, facts in ((FIRST, ".", first), (SECOND, top, second | system)):
            objects.append({**file(directory, path, "directory"), **facts})
            objects += [
                {
                    **file(number, f"{path}/{number}.txt", parent=directory, name=f"{number}.txt"),
                    **facts,
                }
                for number in range(directory + 1, directory + 1 + CHILDREN)
            ]
        objects += [
            {
                **file(number, f"{number}.h", "absent", parent=FIRST, name=f"{number}.h"),
                "export": "/one",
            }
            for number in absent
        ]
        return trace_of(
            connections=[{"connection": 7, "role": "data server"}],
            files=objects,
            calls=self.calls,
            operations=self.operations,
            entries=self.entries,
        )


def told(trace: Trace) -> dict[str | None, list[str]]:
    """The options that are told, by part."""
    found = cache(trace).mounts
    assert len({each.part for each in found}) == len(found)
    return {each.part: [verdict.title for verdict in each.verdicts] for each in found}


def asked(trace: Trace) -> tuple[tuple[Mount, ...], tuple[Questions, ...]]:
    """Mounts, and what was asked on them."""
    with change_ids(trace) as cursor, apart(trace, cursor) as judged:
        return judged.mounts, of_learned(trace, judged.cursor, judged.division)


def test_a_file_system_that_is_always_asked_for_is_told_from_one_that_is_not() -> None:
    """Taken as one, both are asked for too rarely for any option."""
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=True)
    with client.trace() as trace:
        assert told(trace) == {"/one": [], "/two": ["noac or actimeo=0"]}
        (pair,) = questions(trace)
        mounts, parts = asked(trace)
        assert [mount.part for mount in mounts] == [each.part for each in parts[::-1]]
        by_part = {each.part: each for each in parts}
        assert sum(each.calls for each in parts) == pair.calls
        assert by_part["/one"].fresh_directories.calls == 0
        assert by_part["/two"].fresh_directories == pair.fresh_directories


def test_many_calls_are_told_apart_as_few_are() -> None:
    """They are walked over some at a time."""
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=True)
    with client.trace() as trace:
        few = asked(trace)
    with client.trace() as trace:
        trace.walked = 20
        assert asked(trace) == few


def test_which_option_it_is_may_be_open() -> None:
    """Directories are always asked for, and files once, as by an open."""
    client = Client()
    client.walk(FIRST, asks=False)
    for child in range(SECOND + 1, SECOND + 1 + CHILDREN):
        client.call("GETATTR", SECOND)
        client.call("LOOKUP", child, SECOND)
        client.call("GETATTR", child)
    with client.trace() as trace:
        assert told(trace) == {"/one": [], "/two": ["acdirmin=0 or noac or actimeo=0"]}


def test_what_several_processes_ask_for_is_told_of_its_export() -> None:
    """Programs that open directories may do the same, but do so behind both exports."""
    client = Client()
    for _ in range(6):
        client.walk(FIRST, asks=False)
    client.overlap(SECOND)
    client.overlap(SECOND)
    with client.trace() as trace:
        assert told(trace) == {"/one": [], "/two": ["noac or actimeo=0"]}
        assert [
            verdict.confidence for each in cache(trace).mounts for verdict in each.verdicts
        ] == ["possible"]


@pytest.mark.parametrize(
    "system",
    [{"export": "/one"}, {"export": "/one/two"}, {"export": "/"}, {"export": None}],
    ids=["crossed into", "perhaps crossed into", "perhaps above it", "not known"],
)
def test_of_one_mount_what_the_other_file_system_shows_denies_it(system: dict[str, object]) -> None:
    client = Client()
    for _ in range(6):
        client.walk(FIRST, asks=False)
    client.overlap(SECOND)
    client.overlap(SECOND)
    with client.trace(**system, path="sub") as trace:
        assert told(trace) == {None: []}


def test_where_all_exports_are_asked_for_alike_they_are_one_mount() -> None:
    client = Client()
    client.overlap(FIRST)
    client.overlap(SECOND)
    with client.trace() as trace:
        assert told(trace) == {None: ["noac or actimeo=0"]}


def test_the_finding_speaks_of_that_part_alone() -> None:
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=True)
    with client.trace() as trace:
        found = {each.id: each for each in judging.findings(trace).findings}
    said = found["no_attribute_cache"]
    assert said.evidence.startswith("Of several mounts with different options, this is about /two.")
    assert "of its 151 calls" in said.evidence


@pytest.mark.parametrize("asks", [False, True])
def test_file_systems_that_show_the_same_are_one_mount(asks: bool) -> None:
    """One that is crossed into has the options of the mount above it."""
    client = Client()
    client.walk(FIRST, asks=asks)
    client.walk(SECOND, asks=asks)
    with client.trace() as trace:
        assert told(trace) == {None: ["noac or actimeo=0"] if asks else []}


def test_what_shows_too_little_is_not_told_apart() -> None:
    """Of the first, 20 moves in which it did not ask would be needed."""
    client = Client()
    client.call("GETATTR", FIRST)
    for child in range(FIRST + 1, FIRST + 1 + 20):
        client.call("ACCESS", child, FIRST)
    client.walk(SECOND, asks=True)
    with client.trace() as trace:
        assert list(told(trace)) == [None]
    client.call("ACCESS", FIRST + 21, FIRST)
    client.call("ACCESS", FIRST + 22, FIRST)
    client.walk(FIRST, asks=False)
    with client.trace() as trace:
        assert list(told(trace)) == ["/one", "/two"]


def test_names_that_were_not_found_are_of_the_file_system_of_their_directory() -> None:
    """A mount without cache looks for them one after the other, and asks for nothing else."""
    absent = range(41, 41 + CHILDREN)
    client = Client()
    client.walk(FIRST, asks=True)
    for name in absent:
        client.call("LOOKUP", name, FIRST)
    client.walk(FIRST, asks=True)
    with client.trace(absent=absent) as trace:
        assert list(told(trace)) == [None]


def test_versions_of_nfs_are_mounts_of_their_own_also_on_the_same_files() -> None:
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(FIRST, asks=True, protocol="4.2")
    with client.trace() as trace:
        assert told(trace) == {"/one (NFSv3)": [], "/one (NFSv4.2)": ["noac or actimeo=0"]}


def test_two_mounted_directories_of_one_file_system_are_told_apart() -> None:
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=True)
    with client.trace(fsid_major=1) as trace:
        assert told(trace) == {"/one": [], "/two": ["noac or actimeo=0"]}


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ({"export": "/one", "path": "sub"}, "/one/sub"),
        ({"export": None, "fsid_major": 0x1F}, "file system 1f"),
    ],
)
def test_a_part_is_named_by_its_path_or_number(system: dict[str, object], name: str) -> None:
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=True)
    with client.trace(**system) as trace:
        assert told(trace)[name] == ["noac or actimeo=0"]


def test_pieces_that_another_mount_exceeds_are_a_wsize_of_their_part() -> None:
    """Of all WRITEs together, some are as large as the server allows: nothing limits them."""
    client = Client()
    client.limits()
    client.walk(FIRST, asks=False)
    client.write(FIRST + 1, 1 << 20, 30)
    client.walk(SECOND, asks=False)
    client.write(SECOND + 1, 4096, 60)
    with client.trace() as trace:
        assert told(trace) == {"/one": [], "/two": ["wsize=4096 or write=eager"]}
        (pair,) = transfer_runs(trace)
        assert pair.writes.merged.calls == 0
        with change_ids(trace) as cursor, apart(trace, cursor) as judged:
            parts = {each.part: each for each in transfer_runs(trace, judged.division)}
        assert parts["/one"].writes.merged.calls == 0
        assert parts["/two"].writes.merged.calls == 59
        assert parts["/two"].writes.allowed_bytes == 1 << 20
        found = {each.id: each for each in judging.findings(trace).findings}
    assert "/two" in found["small_wsize"].evidence


@pytest.mark.parametrize("connection", [7, 8])
def test_what_goes_to_a_data_server_is_no_mount_of_its_own(connection: int) -> None:
    """With pNFS the data may go by another version, in pieces of another size."""
    client = Client()
    client.limits()
    client.walk(FIRST, asks=False, protocol="4.2")
    client.write(FIRST + 1, 1 << 20, 30, protocol="4.2")
    client.write(FIRST + 2, 4096, 60, connection=connection)
    with client.trace() as trace:
        parts = told(trace)
    assert len(parts) == (1 if connection == 7 else 2)


def test_directories_that_are_listed_with_attributes_are_of_another_mount() -> None:
    client = Client()
    client.walk(FIRST, asks=False)
    client.walk(SECOND, asks=False)
    for child in range(1, 24):
        client.call("READDIRPLUS", FIRST + child, cookie=0, requested=4096)
        client.call("READDIR", SECOND + child, cookie=0, requested=4096)
    with client.trace() as trace:
        assert told(trace) == {"/one": [], "/two": ["nordirplus"]}
