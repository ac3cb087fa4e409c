"""Locks: NFSv4's by the kernels' counters, NLM's by tshark, and both tied to the file locked."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest

import pcapnfs
from pcapnfs.analyses.locks.lock_calls import lock_calls
from pcapnfs.analyses.locks.lock_waits import lock_waits
from pcapnfs.synth.builder import Conversation, Packer, nfs3, rpc
from pcapnfs.synth.builder.nfs3 import Fattr3, results
from pcapnfs.trace import Trace

from . import damage
from .oracles.corpus import Capture, lab_captures, require_corpus
from .oracles.opened import opened
from .oracles.tshark import require_tshark

pytest.importorskip("pcapnfs._core")

_NLM = 100021
_NLM_NAMES = {1: "TEST", 2: "LOCK", 3: "CANCEL", 4: "UNLOCK", 5: "GRANTED", 10: "GRANTED_MSG"} | {
    15: "GRANTED_RES"
}
_MS = 1_000_000
_ROOT, _FILE = bytes(32), bytes(range(32))
_CLIENT, _SERVER = "10.0.2.11", "10.0.2.10"


def _named(version: str) -> list[Capture | None]:
    captures = [item for item in lab_captures() if f"locks-v{version}" in item.name]
    return [*captures] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _opened(capture: Capture | None) -> tuple[Capture, Trace]:
    require_corpus()
    assert capture is not None
    return capture, opened(capture).trace


# Cut off ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3", "4"])
@pytest.mark.parametrize("length", [224, 256])
def test_waits_are_those_of_the_whole_capture_where_ranges_were_cut_off(
    version: str, length: int, tmp_path: Path
) -> None:
    waited = 0
    for capture in _named(version):
        whole, trace = _opened(capture)
        file = damage.File.read(whole.files[0])
        assert file is not None
        damage.snap(length)(file).write(tmp_path / "cut.pcap")
        with pcapnfs.open(str(tmp_path / "cut.pcap")) as cut:
            found = {pair.client: pair.waited_s for pair in lock_waits(cut)}
        known = {pair.client: pair.waited_s for pair in lock_waits(trace)}
        assert found == pytest.approx(known, rel=0.01)
        waited += len(known)
    assert waited


# NFSv4 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("4"), ids=_id)
def test_locks_of_version_4_are_those_of_the_server_counters(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    rows = trace.sql(
        "select op, count(*) from operations "
        "where executed and op in ('LOCK', 'LOCKT', 'LOCKU') group by op"
    ).fetchall()
    counters = capture.truth()["nfsd_counters_delta"]["v4ops"]
    expected = {name: counters[name] for name in ("LOCK", "LOCKT", "LOCKU") if name in counters}
    assert dict(rows) == expected


@pytest.mark.parametrize("capture", [*_named("4"), *_named("3")], ids=_id)
def test_locks_belong_to_the_files_that_the_workload_locked(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    placed = trace.sql(
        """
        select path, count(*) from operations left join files using (file)
        where op in ('LOCK', 'LOCKT', 'LOCKU', 'TEST', 'UNLOCK', 'GRANTED_MSG')
        group by path order by path
        """
    ).fetchall()
    # Ranges of `lf` one by one, and flock(1) of `lf` as a whole; `log` is only written.
    assert [path for path, _ in placed] == ["lf"]
    (fileid,) = {
        row[0]
        for row in trace.sql(
            "select fileid from files where path = 'lf' and not removed"
        ).fetchall()
    }
    inodes = {path: inode for path, _, inode, _ in capture.truth()["tree_after"]}
    assert fileid == inodes["lf"]


# NLM ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _named("3"), ids=_id)
def test_locks_of_nlm_are_those_of_tshark(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    seen = _tshark(capture)
    rows = trace.sql(
        "select call_frame, op, callback from calls where program = 100021 order by call_frame"
    ).fetchall()
    assert [(frame, op) for frame, op, _ in rows] == [(frame, op) for frame, op, *_ in seen]
    assert Counter(op for _, op, _ in rows)["UNLOCK"] > 10
    assert {op for _, op, callback in rows if callback} <= {"GRANTED", "GRANTED_MSG"}
    ranges = trace.sql(
        """
        select call_frame, "offset", requested from operations join calls using (call)
        where program = 100021 and "offset" is not null order by call_frame
        """
    ).fetchall()
    assert ranges == [(frame, *bounds) for frame, _, *bounds in seen if bounds[0] is not None]


@pytest.mark.parametrize("capture", _named("3"), ids=_id)
def test_roles_are_those_of_nfs_also_when_the_server_calls(capture: Capture | None) -> None:
    _, trace = _opened(capture)
    rows = trace.sql("select distinct server from calls where program = 100021").fetchall()
    assert rows == [("10.0.0.1",)]
    statuses = trace.sql(
        "select distinct status_name from calls where program = 100021 and status is not null"
    ).fetchall()
    assert {"NLM4_GRANTED", "NLM4_BLOCKED"} <= {name for (name,) in statuses}


def _tshark(capture: Capture) -> list[tuple[int, str, int | None, int | None]]:
    """Frame, procedure, offset and length of each NLM call."""
    require_tshark()
    (path,) = capture.files
    fields = ("frame.number", "nlm.procedure_v4", "nlm.lock.l_offset64", "nlm.lock.l_len64")
    arguments = [part for field in fields for part in ("-e", field)]
    wanted = "nlm && rpc.msgtyp == 0 && nlm.procedure_v4 != 0"
    lines = subprocess.run(
        ["tshark", "-r", str(path), "-Y", wanted, "-T", "fields", *arguments],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return [
        (
            int(frame),
            _NLM_NAMES[int(procedure)],
            int(offset) if offset else None,
            int(length) if length else None,
        )
        for frame, procedure, offset, length in rows
    ]


def _lock(cookie: bytes = b"c") -> bytes:
    """`nlm4_testargs` of an exclusive lock: the arguments of GRANTED and GRANTED_MSG."""
    packer = Packer().opaque(cookie).uint(1).opaque("client").opaque(_FILE).opaque(b"owner")
    return packer.uint(7).raw((4096).to_bytes(8) + (10).to_bytes(8)).done()


def _granted(procedure: int, folder: Path, reply: bytes = b"") -> Trace:
    """A file is looked up; then its server calls the client back at a port of the client's."""
    nfs = Conversation(_CLIENT, _SERVER).open(0)
    found = results.lookup(_FILE, Fattr3(size=5), Fattr3())
    nfs.call(1, 1 * _MS, *nfs3.lookup(_ROOT, "f")).reply(1, 2 * _MS, found)
    back = Conversation(_SERVER, _CLIENT, 900, 4045, transport="udp")
    back.call(9, 10 * _MS, _NLM, 4, procedure, _lock()).reply(9, 11 * _MS, reply)
    capture = nfs.capture() + back.capture()
    return pcapnfs.open([capture.write(folder / "granted.pcap")])


@pytest.mark.parametrize(
    ("procedure", "name", "reply", "status"),
    [
        (5, "GRANTED", Packer().opaque(b"c").uint(0).done(), "NLM4_GRANTED"),
        (10, "GRANTED_MSG", b"", None),
    ],
)
def test_granted_is_a_callback_on_the_servers_file(
    procedure: int, name: str, reply: bytes, status: str | None, tmp_path: Path
) -> None:
    trace = _granted(procedure, tmp_path, reply)
    rows = trace.sql(
        "select op, callback, client, server, status_name, undecoded "
        "from calls where program = 100021"
    ).fetchall()
    assert rows == [(name, True, _CLIENT, _SERVER, status, None)]
    rows = trace.sql(
        """
        select files.name, "offset", requested, lock_type, text, lock_owner
        from operations join files using (file) where op = $name
        """,
        {"name": name},
    ).fetchall()
    assert rows == [("f", 4096, 10, 2, "client", (7).to_bytes(8) + b"owner")]


def test_the_answer_to_granted_msg_is_an_ordinary_call_with_its_status(tmp_path: Path) -> None:
    answer = Packer().opaque(b"c").uint(0).done()
    talk = Conversation(_CLIENT, _SERVER, 900, 4045, transport="udp")
    talk.call(9, 1 * _MS, _NLM, 4, 15, answer).reply(9, 2 * _MS)
    talk.call(10, 3 * _MS, _NLM, 4, 12, answer).reply(10, 4 * _MS)
    trace = pcapnfs.open([talk.capture().write(tmp_path / "results.pcap")])
    rows = trace.sql(
        "select op, callback, client, status_name, undecoded from calls order by call"
    ).fetchall()
    assert rows == [
        ("GRANTED_RES", False, _CLIENT, "NLM4_GRANTED", None),
        # Called by what is then the server.
        ("LOCK_RES", True, _SERVER, "NLM4_GRANTED", None),
    ]


# Answers that are calls --------------------------------------------------------------------------

_ANSWER = {7: 12, 9: 14, 10: 15}
"""Procedures by which NLM's asynchronous calls are answered."""


def _of(cookie: bytes, status: int) -> bytes:
    """`nlm4_res`."""
    return Packer().opaque(cookie).uint(status).done()


def _asked(cookie: bytes, *, svid: int = 7) -> bytes:
    """`nlm4_lockargs` of an exclusive lock of the whole file, to be waited for."""
    packer = Packer().opaque(cookie).uint(1).uint(1).opaque("client").opaque(_FILE)
    return packer.opaque(b"owner").uint(svid).hypers(0, 0).uint(0).uint(1).done()


def _unlocked(cookie: bytes, svid: int) -> bytes:
    """`nlm4_unlockargs` of the same."""
    packer = Packer().opaque(cookie).opaque("client").opaque(_FILE).opaque(b"owner")
    return packer.uint(svid).hypers(0, 0).done()


def _told(cookie: bytes, svid: int) -> bytes:
    """`nlm4_testargs` of the same: what the server calls the client with."""
    packer = Packer().opaque(cookie).uint(1).opaque("client").opaque(_FILE).opaque(b"owner")
    return packer.uint(svid).hypers(0, 0).done()


@pytest.mark.parametrize("empty_ms", [None, 3, 30])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_call_that_another_call_answers_has_its_status_and_time(
    empty_ms: int | None, transport: Literal["tcp", "udp"], tmp_path: Path
) -> None:
    """Many send no empty reply; some after the answer. A host counts its cookies for itself."""
    captures = []
    for client, status in ((_CLIENT, 3), ("10.0.2.12", 0)):
        asking = Conversation(client, _SERVER, 900, 4045, transport=transport)
        answering = Conversation(_SERVER, client, 901, 4045, transport=transport)
        for talk in (asking, answering) if transport == "tcp" else ():
            talk.open(0)
        asking.call(9, 1 * _MS, _NLM, 4, 7, _asked(b"c1"))
        answering.call(5, 11 * _MS, _NLM, 4, 12, _of(b"c1", status))
        if empty_ms is not None:
            asking.reply(9, empty_ms * _MS)
            answering.reply(5, 12 * _MS)
        captures += [asking.capture(), answering.capture()]
    path = sum(captures[1:], captures[0]).write(tmp_path / "asynchronous.pcap")
    with pcapnfs.open([path]) as trace:
        rows = trace.sql(
            "select client, status_name, srt, undecoded from calls where op = 'LOCK_MSG' "
            "order by client"
        ).fetchall()
        notes = trace.sql("select reason from notes").fetchall()
    assert rows == [
        (_CLIENT, "NLM4_BLOCKED", 10 * _MS, None),
        ("10.0.2.12", "NLM4_GRANTED", 10 * _MS, None),
    ]
    assert notes == []


@pytest.mark.parametrize(
    ("procedure", "cookie", "called"),
    [(12, b"c2", _CLIENT), (14, b"c1", _CLIENT), (12, b"c1", "10.0.2.12")],
)
def test_an_answer_is_of_the_call_with_its_cookie_and_procedure_between_its_hosts(
    procedure: int, cookie: bytes, called: str, tmp_path: Path
) -> None:
    """Without one, the empty reply is all there is."""
    asking = Conversation(_CLIENT, _SERVER, 900, 4045, transport="udp")
    asking.call(9, 1 * _MS, _NLM, 4, 7, _asked(b"c1")).reply(9, 2 * _MS)
    asking.call(10, 20 * _MS, _NLM, 4, 7, _asked(b"c9"))
    answering = Conversation(_SERVER, called, 901, 4045, transport="udp")
    answering.call(5, 11 * _MS, _NLM, 4, procedure, _of(cookie, 0)).reply(5, 12 * _MS)
    path = (asking.capture() + answering.capture()).write(tmp_path / "another.pcap")
    with pcapnfs.open([path]) as trace:
        rows = trace.sql(
            "select xid, status_name, srt from calls where op = 'LOCK_MSG' order by xid"
        ).fetchall()
    assert rows == [(9, None, _MS), (10, None, None)]


def test_an_xid_that_is_used_again_is_of_another_call(tmp_path: Path) -> None:
    """The empty reply to the first one never came: what comes now is no late one."""
    asking = Conversation(_CLIENT, _SERVER, 900, 4045, transport="udp")
    asking.call(9, 1 * _MS, _NLM, 4, 7, _asked(b"c1"))
    answering = Conversation(_SERVER, _CLIENT, 901, 4045, transport="udp")
    answering.call(5, 11 * _MS, _NLM, 4, 12, _of(b"c1", 0))
    asking.call(9, 9_000_000 * _MS, _NLM, 4, 2, _asked(b"c2"))
    asking.reply(9, 9_000_001 * _MS, _of(b"c2", 0))
    path = (asking.capture() + answering.capture()).write(tmp_path / "again.pcap")
    with pcapnfs.open([path]) as trace:
        rows = trace.sql("select op, status_name, srt from calls where xid = 9").fetchall()
        notes = trace.sql("select reason from notes").fetchall()
    assert rows == [("LOCK_MSG", "NLM4_GRANTED", 10 * _MS), ("LOCK", "NLM4_GRANTED", _MS)]
    assert notes == []


def test_a_call_that_is_sent_again_on_a_new_connection_has_its_answer(tmp_path: Path) -> None:
    asked = _asked(b"c1")
    first = Conversation(_CLIENT, _SERVER, 900, 4045).open(0)
    first.call(9, 1 * _MS, _NLM, 4, 7, asked)
    second = Conversation(_CLIENT, _SERVER, 902, 4045, isns=(7, 9)).open(5_000 * _MS)
    second.call(9, 5_001 * _MS, _NLM, 4, 7, asked)
    answering = Conversation(_SERVER, _CLIENT, 901, 4045).open(0)
    answering.call(5, 5_011 * _MS, _NLM, 4, 12, _of(b"c1", 3))
    captures = first.capture() + second.capture() + answering.capture()
    with pcapnfs.open([captures.write(tmp_path / "moved.pcap")]) as trace:
        rows = trace.sql(
            "select status_name, srt, transmissions from calls where op = 'LOCK_MSG'"
        ).fetchall()
    assert rows == [("NLM4_BLOCKED", 5_010 * _MS, 2)]


def test_a_refused_call_has_no_other_answer(tmp_path: Path) -> None:
    asking = Conversation(_CLIENT, _SERVER, 900, 4045, transport="udp")
    asking.call(9, 1 * _MS, _NLM, 4, 7, _asked(b"c1"))
    asking.message("server", 2 * _MS, rpc.reply_failed(9, 3))
    answering = Conversation(_SERVER, _CLIENT, 901, 4045, transport="udp")
    answering.call(5, 11 * _MS, _NLM, 4, 12, _of(b"c1", 0))
    path = (asking.capture() + answering.capture()).write(tmp_path / "refused.pcap")
    with pcapnfs.open([path]) as trace:
        rows = trace.sql(
            "select rpc_status, status_name, srt from calls where op = 'LOCK_MSG'"
        ).fetchall()
    assert rows == [("PROC_UNAVAIL", None, _MS)]


def _waits(folder: Path, *, asynchronous: bool, calls_from: str = _SERVER) -> Trace:
    """A client waits four times for a lock that another one has for a second, and gets it."""
    captures = []
    talks = {}
    for number, client in enumerate((_CLIENT, "10.0.2.12")):
        nfs = Conversation(client, _SERVER, 800).open(0)
        found = results.lookup(_FILE, Fattr3(size=5), Fattr3())
        nfs.call(1, 1 * _MS, *nfs3.lookup(_ROOT, "db")).reply(1, 2 * _MS, found)
        to = Conversation(client, _SERVER, 900, 4045, transport="udp")
        back = Conversation(calls_from, client, 901 + number, 4045, transport="udp")
        talks[client] = to, back
        captures += [nfs.capture()]
    xid = 100

    def ask(client: str, procedure: int, body: bytes, cookie: bytes, status: int, ms: int) -> None:
        nonlocal xid
        xid += 1
        way, other = talks[client] if procedure != 5 else reversed(talks[client])
        if not asynchronous:
            way.call(xid, ms * _MS, _NLM, 4, procedure, body)
            way.reply(xid, (ms + 1) * _MS, _of(cookie, status))
            return
        way.call(xid, ms * _MS, _NLM, 4, procedure + 5, body)
        other.call(xid, (ms + 1) * _MS, _NLM, 4, _ANSWER[procedure + 5], _of(cookie, status))

    for turn in range(4):
        start, cookie = 100 + 2_000 * turn, b"%d" % turn
        ask(_CLIENT, 2, _asked(cookie, svid=1), cookie, 0, start)
        ask("10.0.2.12", 2, _asked(cookie, svid=2), cookie, 3, start + 10)
        ask(_CLIENT, 4, _unlocked(cookie, 1), cookie, 0, start + 1_000)
        ask("10.0.2.12", 5, _told(cookie, 2), cookie, 0, start + 1_009)
        ask("10.0.2.12", 4, _unlocked(cookie, 2), cookie, 0, start + 1_100)
    for to, back in talks.values():
        captures += [to.capture(), back.capture()]
    return pcapnfs.open([sum(captures[1:], captures[0]).write(folder / "waits.pcap")])


@pytest.mark.parametrize(
    ("asynchronous", "calls_from"), [(False, _SERVER), (True, _SERVER), (False, "10.0.2.99")]
)
def test_waits_are_the_same_in_both_forms_and_from_wherever_the_server_calls(
    asynchronous: bool, calls_from: str, tmp_path: Path
) -> None:
    """A server with several addresses need not call its client from the one that was mounted."""
    with _waits(tmp_path, asynchronous=asynchronous, calls_from=calls_from) as trace:
        (pair,) = lock_waits(trace)
        (locking,) = lock_calls(trace)
        callbacks = trace.sql(
            "select distinct client, server from calls where callback and op like 'GRANTED%'"
        ).fetchall()
    assert (pair.client, pair.server, pair.holders) == ("10.0.2.12", _SERVER, (_CLIENT,))
    assert (pair.locks, pair.refused, pair.waits, pair.granted, pair.told) == (4, 4, 4, 4, 4)
    assert pair.waited_s == pytest.approx(4.0)
    assert (locking.client, locking.locks, locking.nlm) == (_CLIENT, 4, 8)
    assert callbacks == [("10.0.2.12", _SERVER)]


# Ports -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [True, False])
def test_a_port_that_the_portmapper_names_is_believed(told: bool, tmp_path: Path) -> None:
    """A reply without its call proves no RPC by itself; on a port that was named it is one."""
    asked = Packer().uints(100003, 3, 6, 0).done()
    port = Packer().uint(12049 if told else 12050).done()
    portmap = Conversation(_CLIENT, _SERVER, 999, 111, transport="udp")
    portmap.call(1, 1 * _MS, 100000, 2, 3, asked).reply(1, 2 * _MS, port)
    late = Conversation(_CLIENT, _SERVER, 998, 12049)
    late.reply(5, 10 * _MS, results.getattr_(Fattr3()))
    capture = portmap.capture() + late.capture()
    trace = pcapnfs.open([capture.write(tmp_path / "ports.pcap")])
    rows = trace.sql("select count(*) from notes where reason = 'reply_without_call'").fetchall()
    assert rows == [(int(told),)]
    text = f"100003 v3 tcp port {12049 if told else 12050}"
    assert trace.sql("select op, text from operations").fetchall() == [("GETPORT", text)]
