"""Names that are not there, looked for again and again: captures that are built."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.synth.builder import Conversation, nfs3
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.synth.builder.rpc import Request

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
BEGIN = 1_700_000_000_000 * MS
ROOT, FOLDER = b"the root", b"the folder"
NOT_FOUND = 2
PROGRAMS = ("env", "ls", "true")


class Client:
    """Calls of one client, each 5 ms after the one before."""

    def __init__(self) -> None:
        self.talk = Conversation()
        self.changed = 1
        self._now, self._xid = BEGIN, 0

    def call(self, request: Request, answer: bytes) -> None:
        self._now, self._xid = self._now + 5 * MS, self._xid + 1
        self.talk.call(self._xid, self._now, *request)
        self.talk.reply(self._xid, self._now + MS, answer)

    def folder(self, fileid: int = 2) -> Fattr3:
        return Fattr3(type=2, fileid=fileid, mtime_ns=self.changed, ctime_ns=self.changed)

    def enter(self) -> None:
        root = Fattr3(type=2, fileid=1, mtime_ns=1, ctime_ns=1)
        self.call(nfs3.lookup(ROOT, "bin"), results.lookup(FOLDER, self.folder(), root))

    def miss(self, name: str) -> None:
        answer = results.lookup(status=NOT_FOUND, directory=self.folder())
        self.call(nfs3.lookup(FOLDER, name), answer)

    def make(self, name: str) -> None:
        before, self.changed = self.changed, self.changed + 1
        made = Fattr3(type=2, fileid=90 + before, mtime_ns=1, ctime_ns=1)
        self.call(nfs3.mkdir(FOLDER, name), results.mkdir(b"made " + name.encode(), made))

    def options(self, folder: Path) -> list[tuple[str, ...]]:
        with pcapnfs.open(self.talk.capture().write(folder / "names.pcap")) as trace:
            (mount,) = pcapnfs.cache(trace).mounts
        return [verdict.options for verdict in mount.verdicts]


@pytest.mark.parametrize(
    ("entered", "told"), [(True, "lookupcache=none"), (False, "lookupcache=positive")]
)
def test_a_search_that_is_made_anew_each_time_shows_which_names_are_kept(
    entered: bool, told: str, tmp_path: Path
) -> None:
    client = Client()
    client.enter()
    for _ in range(30):
        if entered:
            client.enter()
        for name in PROGRAMS:
            client.miss(name)
    assert client.options(tmp_path) == [(told,)]


def test_other_names_each_time_or_too_few_show_nothing(tmp_path: Path) -> None:
    client = Client()
    client.enter()
    for place in range(90):
        client.miss(f"name {place}")
    for name in PROGRAMS:
        client.miss(name)
        client.miss(name)
    assert client.options(tmp_path) == []


def test_who_makes_something_in_the_directory_asks_by_default(tmp_path: Path) -> None:
    client = Client()
    client.enter()
    for place in range(30):
        for name in PROGRAMS:
            client.miss(name)
        client.make(f"made {place}")
    assert client.options(tmp_path) == []


def test_so_it_is_where_somebody_else_changes_it(tmp_path: Path) -> None:
    client = Client()
    client.enter()
    for _ in range(30):
        for name in PROGRAMS:
            client.miss(name)
        client.changed += 1_000_000_000
    assert client.options(tmp_path) == []
