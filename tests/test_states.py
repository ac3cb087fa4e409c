"""Server restarts, two clients, sparse files and extended attributes: what the lab knows of them.

The truth is what was done and said on the machines: commands, their output and times, and the tree
on the server. Counts are compared in test_lab.py, bytes and errors in test_mountstats.py.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import pcapnfs

from .oracles.corpus import Capture, lab_captures, require_corpus
from .oracles.opened import opened

pytest.importorskip("pcapnfs._core")

_CLIENTS = {"client1": "10.0.0.11", "client2": "10.0.0.12"}


def _captures(pattern: str) -> list[Capture | None]:
    found = [item for item in lab_captures() if re.search(pattern, item.name)]
    return [*found] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _opened(capture: Capture | None) -> tuple[Capture, pcapnfs.Trace]:
    require_corpus()
    assert capture is not None
    return capture, opened(capture).trace


def _step(capture: Capture, label: str) -> dict[str, Any]:
    (step,) = (step for step in capture.truth()["steps"] if step["label"] == label)
    return dict(step)


def _tree(capture: Capture, kind: str = "f") -> dict[str, tuple[int, int]]:
    """File number and size by path, as the server had it at the end."""
    return {
        path: (inode, size)
        for path, seen, inode, size in capture.truth()["tree_after"]
        if seen == kind
    }


def _files(trace: pcapnfs.Trace) -> dict[str, tuple[int, int]]:
    rows = trace.sql(
        "select path, fileid, size from files where role = 'file' and not removed"
    ).fetchall()
    return {path: (fileid, size) for path, fileid, size in rows}


# Restart -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _captures("-restart-"), ids=_id)
def test_one_call_waits_for_the_server_to_come_back(capture: Capture | None) -> None:
    """Sent while the server went down, and again on another connection when it was back."""
    capture, trace = _opened(capture)
    restart = _step(capture, "restart")
    (row,) = trace.sql(
        """
        select call_time, reply_time, transmissions, connection from calls
        where transmissions > 1 and program = 100003
        """
    ).fetchall()
    called, replied, transmissions, connection = row
    assert transmissions >= 2
    # `sleep 0.4; rpc.nfsd 0; sleep 2; …; rpc.nfsd 8`: the pause lies between call and reply.
    assert restart["start_ns"] < called < restart["end_ns"]
    assert replied - called > 2_000_000_000
    # The row names the connection that brought the reply: a new one.
    began = trace.sql(
        "select first_time from connections where connection = $connection",
        {"connection": connection},
    ).fetchall()
    assert called < began[0][0] < replied


@pytest.mark.parametrize("capture", _captures("-restart-"), ids=_id)
def test_nothing_is_answered_while_the_server_is_down(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    restart = _step(capture, "restart")
    times = [
        time
        for (time,) in trace.sql(
            "select reply_time from calls where program = 100003 and reply_time is not null "
            "order by reply_time"
        ).fetchall()
    ]
    pause, start = max((after - before, before) for before, after in pairwise(times))
    assert pause > 2_000_000_000
    if capture.version == "3":
        # Of NFSv4 the grace period, in which only reclaims are answered, is longer.
        assert restart["start_ns"] < start < restart["end_ns"]


_AFTER_RESTART = {
    "3": {},
    # RFC 7530 section 9.6.2: the client's id and states are gone, others wait for the grace period.
    "4.0": {"NFS4ERR_STALE_CLIENTID": 2, "NFS4ERR_STALE_STATEID": 1, "NFS4ERR_GRACE": 7},
    # RFC 8881 section 8.4.2: so is the session. WRONGSEC is of the mount, before the restart.
    "4.2": {
        "NFS4ERR_BADSESSION": 2,
        "NFS4ERR_STALE_CLIENTID": 1,
        "NFS4ERR_GRACE": 7,
        "NFS4ERR_WRONGSEC": 2,
    },
}


@pytest.mark.parametrize("capture", _captures("-restart-"), ids=_id)
def test_errors_of_a_restart_have_their_names(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    rows = trace.sql(
        "select status_name, count(*) from calls where status <> 0 and program = 100003 group by 1"
    ).fetchall()
    assert dict(rows) == _AFTER_RESTART[capture.version]
    restart = _step(capture, "restart")["start_ns"]
    early = trace.sql(
        "select distinct status_name from calls where status <> 0 and call_time < $restart",
        {"restart": restart},
    ).fetchall()
    assert {name for (name,) in early} <= {"NFS4ERR_WRONGSEC"}


@pytest.mark.parametrize("capture", _captures("-restart-"), ids=_id)
def test_every_file_is_known_behind_a_restart(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    assert len(_tree(capture)) == capture.truth()["facts"]["files"] == 60
    assert _files(trace) == _tree(capture)


# Two clients -------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _captures("two-clients-v4.*-server"), ids=_id)
def test_recalls_go_to_the_client_that_holds_the_delegation(capture: Capture | None) -> None:
    """The other client's step makes the server recall; the holder gives back, whichever connection
    the callback came on. The file is that of the step's command, by a later name if it was renamed.
    """
    capture, trace = _opened(capture)
    recalled = trace.sql(
        """
        select c.client, n.name, c.call_time, c.reply_time, o.file
        from operations o join calls c using (call)
        join (select file, arg_min(name, call) as name from names where file is not null
              group by file) n on n.file = o.file
        where o.op = 'CB_RECALL' order by c.call_time
        """
    ).fetchall()
    assert [name for _, name, *_ in recalled] == ["shared", "other", "held"]
    changed_by = {"shared": "client2", "other": "client2", "held": "client1"}
    for client, name, called, replied, file in recalled:
        assert client != _CLIENTS[changed_by[name]]
        assert replied > called
        held = trace.sql(
            """
            select count(*) from operations join calls using (call)
            where operations.file = $file and client = $client and call_time < $called
                and delegation in ('READ', 'WRITE')
            """,
            {"file": file, "client": client, "called": called},
        ).fetchall()
        assert held[0][0] >= 1, name
        returned = trace.sql(
            """
            select min(call_time) from operations join calls using (call)
            where operations.file = $file and client = $client and call_time > $called
                and operations.op = 'DELEGRETURN' and operations.status = 0
            """,
            {"file": file, "client": client, "called": called},
        ).fetchall()
        assert returned[0][0] - called < 1_000_000_000, name
    steps = [_step(capture, label) for label in ("c2-append", "c2-truncate")]
    for step, (_, name, called, *_) in zip(steps, recalled, strict=False):
        assert step["start_ns"] < called < step["end_ns"]
        assert name in step["command"]


@pytest.mark.parametrize("capture", _captures("two-clients-v4.*-server"), ids=_id)
def test_an_open_that_waits_for_a_recall_is_told_to(capture: Capture | None) -> None:
    """The server answers DELAY until the delegation is back; mountstats counts as many."""
    capture, trace = _opened(capture)
    rows = trace.sql(
        """
        select client, calls.op, count(*) from calls
        where status_name = 'NFS4ERR_DELAY' group by all
        """
    ).fetchall()
    events = capture.truth()["clients"]["client2"]["mountstats_delta_total"]["events"]
    assert rows == [(_CLIENTS["client2"], "OPEN", events["delay"])]


@pytest.mark.parametrize("capture", _captures("two-clients-.*-server"), ids=_id)
def test_the_captures_of_both_clients_are_that_of_the_server(capture: Capture | None) -> None:
    """Calls of both, in one trace, merged by time: only times and frames are of each its own."""
    capture, trace = _opened(capture)
    query = """
        select client, xid, program, calls.op, signature, call_bytes, reply_bytes, calls.status,
            callback, flavor, undecoded
        from calls
    """
    server = Counter(trace.sql(query).fetchall())
    parts = [
        path
        for item in lab_captures()
        if item.traffic == capture.traffic and item.vantage in item.clients
        for path in item.files
    ]
    if not parts:
        assert capture.version == "4.0", "captures of each client are missing"
        return
    with pcapnfs.open(parts) as both:
        assert Counter(both.sql(query).fetchall()) == server
        names = both.sql("select distinct name from names order by 1").fetchall()
    assert names == trace.sql("select distinct name from names order by 1").fetchall()


@pytest.mark.parametrize("capture", _captures("two-clients-.*-server"), ids=_id)
def test_the_steps_are_found_in_the_calls_of_their_client(capture: Capture | None) -> None:
    """Renames, removals and what was written, by client and within the time of the step."""
    capture, trace = _opened(capture)
    for label, client, op, name, new_name in (
        ("c2-rename", "client2", "RENAME", "other", "other2"),
        ("c1-rename", "client1", "RENAME", "shared", "shared"),
        ("c2-rm", "client2", "REMOVE", "other2", None),
        ("c2-rm", "client2", "REMOVE", "shared", None),
    ):
        step = _step(capture, label)
        rows = trace.sql(
            """
            select client, o.status from operations o join calls c using (call)
            where o.op = $op and o.name = $name and o.new_name is not distinct from $new
                and call_time between $start and $end
            """,
            {
                "op": op,
                "name": name,
                "new": new_name,
                "start": step["start_ns"],
                "end": step["end_ns"],
            },
        ).fetchall()
        assert rows == [(_CLIENTS[client], 0)], label


# Sparse files ------------------------------------------------------------------------------------


def test_sparse_operations_are_those_of_the_commands() -> None:
    """`fallocate -l`, `fallocate -p -o -l`, lseek's output, `cp --reflink`, copy_file_range."""
    capture, trace = _opened(*_captures("^sparse-v42$"))
    rows = trace.sql(
        """
        select o.op, path, "offset", requested, count, o.status_name
        from operations o join calls c using (call) join files f on f.file = o.file
        where o.op in ('ALLOCATE', 'DEALLOCATE', 'CLONE', 'COPY') order by c.call_frame
        """
    ).fetchall()
    length = re.search(r"-l (\d+) a", _step(capture, "alloc")["command"])
    hole = re.search(r"-p -o (\d+) -l (\d+) b", _step(capture, "punch")["command"])
    assert length is not None
    assert hole is not None
    size = _tree(capture)["b"][1]
    assert rows == [
        ("ALLOCATE", "a", 0, int(length[1]), None, "NFS4_OK"),
        ("DEALLOCATE", "b", int(hole[1]), int(hole[2]), None, "NFS4_OK"),
        # 0 means to the end (RFC 7862 section 15.13.3).
        ("CLONE", "c", 0, 0, None, "NFS4_OK"),
        ("COPY", "e", 0, size, size, "NFS4_OK"),
    ]


def test_seeks_are_those_that_the_program_saw() -> None:
    """Each answer is where the program asks next: data and holes in turn, to the end."""
    capture, trace = _opened(*_captures("^sparse-v42$"))
    step = _step(capture, "seek")
    edges = [
        int(number) for number in re.findall(r"\b\d+\b", step["output_tail"].split("no more")[0])
    ]
    rows = trace.sql(
        """
        select "offset", o.status_name from operations o join calls c using (call)
        where o.op = 'SEEK' and call_time between $start and $end order by call_frame
        """,
        {"start": step["start_ns"], "end": step["end_ns"]},
    ).fetchall()
    asked = [offset for offset, _ in rows]
    assert sorted({*asked}) == sorted({*edges})
    assert [name for _, name in rows] == ["NFS4_OK"] * (len(rows) - 1) + ["NFS4ERR_NXIO"]


def test_holes_are_read_as_part_of_the_file() -> None:
    capture, trace = _opened(*_captures("^sparse-v42$"))
    rows = trace.sql(
        """
        select path, sum(count)::bigint, bool_or(eof) from operations join files using (file)
        where op = 'READ_PLUS' group by path order by path
        """
    ).fetchall()
    tree = _tree(capture)
    assert rows == [(path, tree[path][1], True) for path in ("b", "c", "d")]
    assert _files(trace) == tree


# Extended attributes -----------------------------------------------------------------------------


def test_extended_attributes_are_those_of_the_commands() -> None:
    """On the wire the name space `user.` is not part of the name (RFC 8276 section 2)."""
    capture, trace = _opened(*_captures("^xattr-v42$"))
    rows = trace.sql(
        """
        select o.op, path, text, o.status_name, count(*)
        from operations o join calls c using (call) join files f on f.file = o.file
        where o.op in ('SETXATTR', 'GETXATTR', 'REMOVEXATTR') group by all
        """
    ).fetchall()
    found = {(op, path, name, status): number for op, path, name, status, number in rows}
    files = [f"f{number}" for number in range(1, 6)]
    expected = Counter(
        {("SETXATTR", path, name, "NFS4_OK"): 1 for path in files for name in ("color", "note")}
    )
    expected["SETXATTR", "f1", "big", "NFS4_OK"] += 1
    expected["SETXATTR", "f1", "color", "NFS4_OK"] += 1
    expected["GETXATTR", "f5", "nosuch", "NFS4ERR_NOXATTR"] += 1
    # After the remount; before it they were in the client's cache.
    expected.update(
        ("GETXATTR", path, name, "NFS4_OK") for path in files for name in ("color", "note")
    )
    for path in ("f1", "f2"):
        expected["REMOVEXATTR", path, "note", "NFS4_OK"] += 1
    expected["REMOVEXATTR", "f3", "nosuch", "NFS4ERR_NOXATTR"] += 1
    assert found == dict(expected)
    assert _files(trace) == _tree(capture)


def test_names_of_extended_attributes_are_no_entries() -> None:
    _, trace = _opened(*_captures("^xattr-v42$"))
    listings = trace.sql(
        """
        select distinct entries, cookie, eof, status_name from operations where op = 'LISTXATTRS'
        """
    ).fetchall()
    assert listings == [(None, None, None, "NFS4_OK")]


def test_stability_of_extended_attributes_follows_their_success() -> None:
    _, trace = _opened(*_captures("^xattr-v42$"))
    rows = trace.sql(
        """
        select distinct op, status = 0, stability from operations
        where op in ('SETXATTR', 'REMOVEXATTR', 'GETXATTR', 'LISTXATTRS') order by all
        """
    ).fetchall()
    assert rows == [
        ("GETXATTR", False, "unstable"),
        ("GETXATTR", True, "unstable"),
        ("LISTXATTRS", True, "unstable"),
        ("REMOVEXATTR", False, "unstable"),
        ("REMOVEXATTR", True, "stable"),
        ("SETXATTR", True, "stable"),
    ]
