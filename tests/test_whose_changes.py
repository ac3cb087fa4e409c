"""Whose a change was, where change-IDs move by themselves: captures that are built."""

from __future__ import annotations

from pathlib import Path

import pytest

import pcapnfs
from pcapnfs.analyses.caching import whose_changes
from pcapnfs.analyses.caching.cache import Cache
from pcapnfs.synth.builder import (
    Capture,
    Compound,
    CompoundReply,
    Conversation,
    Packer,
    Stateid,
    nfs3,
    rpc,
)
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.synth.builder.nfs4 import CallbackCompound, CallbackReply, ChangeInfo, Op, bitmap4
from pcapnfs.synth.builder.rpc import Request

pytest.importorskip("pcapnfs._core")

MS = 1_000_000
SECOND = 1_000 * MS
BEGIN = 1_700_000_000 * SECOND
AHEAD = 3_600 * SECOND
"""The server's clock goes an hour fast."""
WRITTEN = AHEAD + 2 * SECOND
"""When the client wrote the file, by the server's clock since the beginning."""
FILE, FOLDER = b"the file", b"the folder"
SESSION = bytes(16)
ASKED = ("type", "change", "size", "fileid", "time_metadata", "time_modify")
SERVER_FAULT, NO_SPACE, MUCH = 10006, 28, 4096


class Client:
    """A client of one server, and what it was answered."""

    def __init__(self, address: str = "10.0.2.11", port: int = 1023) -> None:
        self.talk = Conversation(client=address, client_port=port)
        self._xid = port << 16

    def call(self, at_ns: int, request: Request, answer: bytes, *, takes_ns: int = MS) -> None:
        self._xid += 1
        self.talk.call(self._xid, BEGIN + at_ns, *request)
        self.talk.reply(self._xid, BEGIN + at_ns + takes_ns, answer)

    def compound(self, at_ns: int, request: Compound, answer: CompoundReply) -> None:
        self.call(at_ns, request.request(), answer.body())

    def ask(self, at_ns: int, told: dict[str, int], file: bytes = FILE) -> None:
        self.compound(
            at_ns,
            Compound(1).putfh(file).getattr(list(told)),
            CompoundReply().putfh().getattr(told),
        )

    def write(self, at_ns: int, told: dict[str, int]) -> None:
        self.compound(
            at_ns,
            Compound(1).putfh(FILE).write(0, b"abc").getattr(list(told)),
            CompoundReply().putfh().write(3).getattr(told),
        )

    def close(self, at_ns: int, *, takes_ns: int = MS) -> None:
        state = Stateid(1, b"twelve-bytes")
        request, answer = Compound(1).putfh(FILE).close(state), CompoundReply().putfh().close()
        self.call(at_ns, request.request(), answer.body(), takes_ns=takes_ns)

    def give_back(self, at_ns: int) -> None:
        state = Stateid(1, b"twelve-bytes")
        request = Compound(1).putfh(FILE).delegreturn(state)
        self.compound(at_ns, request, CompoundReply().putfh().delegreturn())

    def give_back_asked(self, at_ns: int, told: dict[str, int], *, before: bool = False) -> None:
        """The same with GETATTR; the server asks the client what it made of the file meanwhile."""
        self._session(at_ns - 4 * MS)
        if before:
            self._asked_back(at_ns - 2 * MS)
        state = Stateid(1, b"twelve-bytes")
        request = Compound(1).putfh(FILE).getattr(list(told)).delegreturn(state)
        answer = CompoundReply().putfh().getattr(told).delegreturn()
        self._xid += 1
        xid = self._xid
        self.talk.call(xid, BEGIN + at_ns, *request.request())
        if not before:
            self._asked_back(at_ns + 3 * MS)
        self.talk.reply(xid, BEGIN + at_ns + 10 * MS, answer.body())

    def _asked_back(self, at_ns: int) -> None:
        mine = {"change": 7, "size": MUCH}
        self._called_back(
            at_ns,
            CallbackCompound().cb_sequence(SESSION, 1).cb_getattr(FILE, list(mine)),
            CallbackReply().cb_sequence(SESSION, 1).cb_getattr(mine),
        )

    def recall(self, at_ns: int) -> None:
        self._session(at_ns - 2 * MS)
        self._called_back(
            at_ns,
            CallbackCompound().cb_sequence(SESSION, 1).cb_recall(Stateid(1, b"twelve-bytes"), FILE),
            CallbackReply().cb_sequence(SESSION, 1).cb_recall(),
        )

    def _session(self, at_ns: int) -> None:
        begin = Compound(1).create_session(1, program=0x40000000)
        self.compound(at_ns, begin, CompoundReply().create_session(SESSION))

    def _called_back(self, at_ns: int, request: CallbackCompound, answer: CallbackReply) -> None:
        self._xid += 1
        self.talk.message("server", BEGIN + at_ns, rpc.call(self._xid, *request.request()))
        self.talk.message("client", BEGIN + at_ns + MS, rpc.reply(self._xid, answer.body()))

    def set(self, at_ns: int, times: bytes, told: dict[str, int], *, takes_ns: int = MS) -> None:
        arguments = Stateid(1, b"twelve-bytes").pack(Packer()).raw(times).done()
        request = Compound(2).putfh(FILE).op(Op.SETATTR, arguments).getattr(list(told))
        answer = CompoundReply().putfh().setattr().getattr(told)
        self.call(at_ns, request.request(), answer.body(), takes_ns=takes_ns)

    def remove(self, at_ns: int, before: int, after: int) -> None:
        self.compound(
            at_ns,
            Compound(1).putfh(FOLDER).remove("x"),
            CompoundReply().putfh().remove(ChangeInfo(before, after)),
        )


def attributes(
    change: int, changed_ns: int = WRITTEN, modified_ns: int | None = None, size: int = MUCH
) -> dict[str, int]:
    modified_ns = changed_ns if modified_ns is None else modified_ns
    times = (BEGIN + changed_ns, BEGIN + modified_ns)
    return dict(zip(ASKED, (1, change, size, 11, *times), strict=True))


def said(folder: Path, *clients: Client) -> Cache:
    capture = Capture()
    for client in clients:
        capture += client.talk.capture()
    with pcapnfs.open(capture.write(folder / "changes.pcap")) as trace:
        return pcapnfs.cache(trace)


def answers(found: Cache) -> tuple[int | None, ...]:
    """Unchanged, changed by itself, by somebody else, by whom is not known; invalidations."""
    changed = (found.changed_by_self, found.changed_by_other, found.changed_by_unknown)
    return found.unchanged, *changed, found.invalidations


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        # As XFS counts i_version up: access times, blocks that are laid out after the WRITE.
        (attributes(8), (0, 0, 0, 1, 0)),
        # Time and number went on: somebody else's. So they have where the owner alone was changed.
        (attributes(8, WRITTEN + 2 * SECOND), (0, 0, 1, 0, 1)),
        (attributes(8, WRITTEN + 2 * SECOND, WRITTEN), (0, 0, 1, 0, 1)),
        # Longer or shorter than the client left it.
        (attributes(8, size=MUCH + 1), (0, 0, 1, 0, 1)),
        # No modification brings times back.
        (attributes(8, WRITTEN - SECOND), (0, 0, 0, 1, 0)),
        (attributes(7), (1, 0, 0, 0, 0)),
    ],
)
def test_a_change_attribute_that_moved_while_times_did_not(
    told: dict[str, int], answer: tuple[int, ...], tmp_path: Path
) -> None:
    client = Client()
    client.write(2 * SECOND, attributes(7))
    client.ask(5 * SECOND, told)
    assert answers(said(tmp_path, client)) == answer


@pytest.mark.parametrize(("after_ms", "size"), [(0, 0), (30, 0), (0, 1)])
def test_times_of_the_moment_at_which_the_client_closed_the_file(
    after_ms: int, size: int, tmp_path: Path
) -> None:
    """A server that writes down times as a file is closed; 30 ms later it was somebody else."""
    client = Client()
    client.write(2 * SECOND, attributes(7))
    client.close(3 * SECOND)
    moment = WRITTEN + SECOND + after_ms * MS
    client.ask(5 * SECOND, attributes(8, moment, size=MUCH + size))
    others = after_ms > 0 or size > 0
    assert answers(said(tmp_path, client)) == (0, 0, int(others), int(not others), int(others))


MODE = Packer().raw(bitmap4([33])).opaque(bytes(4)).done()
DELEGATED_TIME = Packer().raw(bitmap4([85])).opaque(bytes(12)).done()
"""What a SETATTR sets: the mode; when the client modified the file, under its delegation."""


@pytest.mark.parametrize("delegated", [False, True])
@pytest.mark.parametrize(("after_ms", "others"), [(95, 0), (140, 1)])
def test_where_each_reply_is_late_ctime_may_be_of_a_moment_before_the_latest(
    after_ms: int, others: int, delegated: bool, tmp_path: Path
) -> None:
    """Storage takes 25 ms after it set ctime; a delegated time is no hint at a server's clock."""
    client = Client()
    told = attributes(7, WRITTEN + 5 * MS)
    client.set(2 * SECOND, MODE, told, takes_ns=30 * MS)
    if delegated:
        client.set(2 * SECOND + 40 * MS, DELEGATED_TIME, told)
    client.close(3 * SECOND, takes_ns=100 * MS)
    client.ask(5 * SECOND, attributes(8, WRITTEN + SECOND + after_ms * MS))
    assert answers(said(tmp_path, client)) == (0, 0, others, 1 - others, others)


@pytest.mark.parametrize("recalled", [False, True])
def test_what_follows_the_return_of_a_delegation_that_was_called_back_is_somebody_else_s(
    recalled: bool, tmp_path: Path
) -> None:
    """It is called back since another client is to change the file."""
    client = Client()
    client.write(2 * SECOND, attributes(7))
    if recalled:
        client.recall(3 * SECOND - 2 * MS)
    client.give_back(3 * SECOND)
    client.ask(5 * SECOND, attributes(8, WRITTEN + SECOND))
    others = int(recalled)
    assert answers(said(tmp_path, client)) == (0, 0, others, 1 - others, others)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("size", [MUCH, MUCH + 1])
def test_what_the_server_asks_the_client_meanwhile_is_the_clients_own(
    before: bool, size: int, tmp_path: Path
) -> None:
    """It sets the times by the answer; where it asked before, they are of a moment behind that."""
    client = Client()
    client.write(2 * SECOND, attributes(7))
    told = attributes(8, WRITTEN + 3 * SECOND + 8 * MS, size=size)
    client.give_back_asked(5 * SECOND, told, before=before)
    assert said(tmp_path, client).invalidations == before


def test_what_another_client_is_seen_to_write_is_its_own_all_the_same(tmp_path: Path) -> None:
    mine, other = Client(), Client("10.0.2.12", 1024)
    mine.write(2 * SECOND, attributes(7))
    other.write(3 * SECOND, attributes(8, WRITTEN + SECOND))
    mine.give_back_asked(5 * SECOND, attributes(8, WRITTEN + SECOND))
    assert said(tmp_path, mine, other).invalidations == 1


@pytest.mark.parametrize("shown", [True, False])
def test_another_client_that_the_capture_shows_is_known(shown: bool, tmp_path: Path) -> None:
    """Within a tick of the server's clock."""
    mine, other = Client(), Client("10.0.2.12", 1024)
    mine.write(2 * SECOND, attributes(7))
    if shown:
        other.write(2 * SECOND + 2 * MS, attributes(8))
    mine.ask(5 * SECOND, attributes(8))
    other.ask(6 * SECOND, attributes(8))
    found = answers(said(tmp_path, mine, other))
    assert found[2:] == ((1, 0, 1) if shown else (0, 1, 0))


@pytest.mark.parametrize("moving", [True, False])
def test_where_a_server_tells_no_times_its_other_files_tell_what_its_numbers_are_worth(
    moving: bool, tmp_path: Path
) -> None:
    client = Client()
    client.write(2 * SECOND, attributes(7))
    client.ask(4 * SECOND, attributes(7))
    client.ask(5 * SECOND, attributes(8 if moving else 7))
    client.remove(6 * SECOND, 20, 21)
    client.remove(7 * SECOND, 25, 26)
    assert said(tmp_path, client).invalidations == (0 if moving else 1)


@pytest.mark.parametrize(("before", "others"), [(20, 0), (25, 1)])
def test_a_number_that_goes_back_is_no_change(before: int, others: int, tmp_path: Path) -> None:
    """A server that tells the time of the day for what a REMOVE left behind."""
    client = Client()
    client.remove(6 * SECOND, 15, 22)
    client.remove(7 * SECOND, before, 29)
    found = said(tmp_path, client)
    assert found.invalidations == others
    assert [(row.revalidations, row.invalidations) for row in found.files] == [(0, 1)] * others
    assert (found.objects, found.unasked) == (0, others)


@pytest.mark.parametrize("status", [SERVER_FAULT, NO_SPACE, 30])
def test_a_call_that_a_server_failed_in_may_have_changed_the_object(
    status: int, tmp_path: Path
) -> None:
    client = Client()
    old, new = (Fattr3(type=2, fileid=9, mtime_ns=BEGIN + at, ctime_ns=BEGIN + at) for at in (1, 2))
    client.call(SECOND, nfs3.getattr_(FOLDER), results.getattr_(old))
    client.call(2 * SECOND, nfs3.symlink(FOLDER, "l", "to"), results.symlink(status=status))
    client.call(3 * SECOND, nfs3.getattr_(FOLDER), results.getattr_(new))
    clear = int(status not in (SERVER_FAULT, NO_SPACE))
    assert answers(said(tmp_path, client)) == (0, 0, clear, 1 - clear, clear)


@pytest.mark.parametrize("moved", [True, False])
def test_mounts_of_two_versions_compare_by_times(moved: bool, tmp_path: Path) -> None:
    client = Client()
    client.write(2 * SECOND, attributes(7))
    at = BEGIN + WRITTEN + (2 * SECOND if moved else 0)
    told = Fattr3(size=MUCH, fileid=11, mtime_ns=at, ctime_ns=at)
    client.call(5 * SECOND, nfs3.getattr_(FILE), results.getattr_(told))
    assert answers(said(tmp_path, client)) == ((0, 0, 1, 0, 1) if moved else (1, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("worth", "telling", "unknown"),
    # Looked at are ten, or so few that they tell nothing.
    [(0.01, 5, 60), (2.0, 5, 0), (2.0, 50, 60)],
)
def test_of_very_many_changes_some_tell_whether_the_others_are_worth_it(
    worth: float, telling: int, unknown: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whose_changes, "LOOKED_AT", 10)
    monkeypatch.setattr(whose_changes, "WORTH", worth)
    monkeypatch.setattr(whose_changes, "TELLING", telling)
    client = Client()
    for place in range(60):
        file = b"file %02d" % place
        client.ask((1 + 2 * place) * SECOND, attributes(7), file)
        client.ask((2 + 2 * place) * SECOND, attributes(8), file)
    assert answers(said(tmp_path, client))[2:4] == (60 - unknown, unknown)
