"""Other servers and clients: against what they counted themselves, and against tshark call by call.

NFS-Ganesha, nfs4j and go-nfs as servers; libnfs, go-nfs-client, the kernel and a client that counts
each of its calls. pNFS is in test_pnfs.py.
"""

from __future__ import annotations

import shlex
from collections import Counter

import pytest

import pcapnfs
from pcapnfs.verify.verification import settings

from .oracles import comparison, counters, headers
from .oracles.corpus import Capture, other_captures, require_corpus
from .oracles.opened import opened
from .oracles.tshark import dissect, require_tshark, tshark_cache

pytest.importorskip("pcapnfs._core")

_NFS = 100003
_EXECUTED = """
    select o.op, count(*) from operations o join calls c using (call)
    where c.program = 100003 and c.version = 4 and c.procedure = 1 and o.executed group by o.op
"""


def _having(kind: str) -> list[Capture | None]:
    """The captures whose truth holds such a count."""
    found = [
        item
        for item in other_captures()
        if kind in item.truth() or any(counters.parts(item.truth(), kind))
    ]
    return [*found] or [None]


def _all() -> list[Capture | None]:
    return [*other_captures()] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _opened(capture: Capture | None) -> tuple[Capture, pcapnfs.Trace]:
    require_corpus()
    assert capture is not None
    return capture, opened(capture).trace


def _named(name: str) -> tuple[Capture, pcapnfs.Trace]:
    require_corpus()
    return _opened(next(item for item in other_captures() if item.name == name))


def _counts(trace: pcapnfs.Trace, query: str) -> Counter[str]:
    return Counter(dict(trace.sql(query).fetchall()))


# Against tshark ----------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _all(), ids=_id)
def test_calls_are_those_of_tshark(capture: Capture | None, pytestconfig: pytest.Config) -> None:
    """Frames, times, status and operations of every call; no difference is known."""
    require_tshark()
    capture, trace = _opened(capture)
    cache, named = tshark_cache(pytestconfig), settings(trace)
    theirs = dissect(capture.files, capture.ports, cache, named=named)
    found = comparison.differences(comparison.decoded_of(trace), comparison.dissected(theirs))
    assert found.counts() == {}
    assert theirs.repeated == theirs.orphans == ()


def test_every_capture_has_a_count_or_is_named_here() -> None:
    """What no side counted is held against tshark alone."""
    require_corpus()
    kinds = ("server_statistics", "calls_sent", "library_calls", "mountstats_delta_total")
    counted = {item.name for kind in kinds for item in _having(kind) if item is not None}
    assert {item.name for item in other_captures() if item.name not in counted} == {
        # Counters of kernels stand with each client: see test_pnfs.py.
        "pnfs-flex-v41",
        "pnfs-flex-v42",
    }


# Against the server ------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _having("server_statistics"), ids=_id)
def test_counts_are_those_of_the_server(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    if capture.version == "3":
        # Executed: not NULL, which Ganesha does not count, and not refused.
        found = _counts(
            trace,
            """
            select op, count(*) from calls
            where program = 100003 and version = 3 and procedure <> 0 and rpc_status = 'SUCCESS'
            group by op
            """,
        )
    else:
        found = _counts(trace, _EXECUTED)
    assert found == counters.server_statistics(capture.truth(), capture.version[0])


@pytest.mark.parametrize("capture", _having("server_statistics"), ids=_id)
def test_no_call_is_faster_than_its_server(capture: Capture | None) -> None:
    """The server's own time is part of the service time; both are means over the same calls."""
    capture, trace = _opened(capture)
    rows = trace.sql(
        "select op, avg(srt) / 1e6 from calls where program = 100003 and version = 3 group by op"
    ).fetchall()
    server = counters.server_latencies_ms(capture.truth())
    assert {op: (mean, server[op]) for op, mean in rows if mean < server.get(op, 0)} == {}
    assert server or capture.version != "3"


# Against the client ------------------------------------------------------------------------------


def _between(trace: pcapnfs.Trace, columns: str, spans: list[tuple[int, int]]) -> Counter[object]:
    """Calls of NFS in spans of time by these columns."""
    where = " or ".join(f"call_time between {start} and {end}" for start, end in spans)
    rows = trace.sql(
        f"""
        select {columns}, count(*) from calls
        where program = 100003 and not callback and procedure <> 0 and ({where}) group by all
        """
    ).fetchall()
    return Counter({row[0] if len(row) == 2 else row[:-1]: row[-1] for row in rows})


def _span(part: counters.Truth) -> list[tuple[int, int]]:
    return [(int(part["start_ns"]), int(part["end_ns"]))]


@pytest.mark.parametrize("capture", _having("calls_sent"), ids=_id)
def test_counts_are_those_of_the_client_that_counts(capture: Capture | None) -> None:
    """In each part of its run, by procedure; so are the failures, by status."""
    capture, trace = _opened(capture)
    parts = list(counters.parts(capture.truth(), "calls_sent"))
    assert len(parts) == 10
    for part in parts:
        found = _between(trace, "op", _span(part))
        sent = counters.calls_sent(part)
        # The client calls it by its number, as the RFC has no name for it; the ninth version of
        # NFS is "other" to pcapnfs, and no NULL of version 3.
        found["(procedure 77)"] = found.pop("77", 0)
        assert +found == sent - Counter({"NULL": 1}), part["label"]
        failed = {
            key: number
            for key, number in _between(trace, "op, status", _span(part)).items()
            if isinstance(key, tuple) and key[1]
        }
        assert failed == counters.failures(part), part["label"]


@pytest.mark.parametrize("capture", _having("library_calls"), ids=_id)
def test_counts_are_those_of_the_calls_into_the_library(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    compared: Counter[str] = Counter()
    for part in counters.parts(capture.truth(), "library_calls"):
        expected = counters.library_calls(part, capture.version)
        if expected is None:
            continue
        found = _between(trace, "op", _span(part))
        assert {name: found[name] for name in expected} == expected, part["label"]
        compared += expected
    assert len(compared) >= 4, compared


@pytest.mark.parametrize("capture", _having("mountstats_delta_total"), ids=_id)
def test_counts_are_those_of_the_kernels_client(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    told = counters.mountstats(capture.truth())
    spans = counters.mounted(capture.truth())
    if capture.version == "3":
        assert _between(trace, "op", spans) == told
    else:
        found = _between(trace, "stability <> 'state'", spans)
        assert found[True] == told.total()
        # With a data server of its own the client makes a session while mounted.
        assert found[False] == (4 if capture.name == "pnfs-nfs4j-files-v41" else 0)


@pytest.mark.parametrize("capture", _having("mountstats_delta_total"), ids=_id)
def test_bytes_are_those_of_the_kernels_client(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    found = trace.sql(
        "select op, sum(count)::bigint from operations where op in ('READ', 'WRITE') group by op"
    )
    assert dict(found.fetchall()) == counters.bytes_moved(capture.truth())


# Against the tree --------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", _having("tree_after"), ids=_id)
def test_what_is_left_has_its_path_size_and_file_number(capture: Capture | None) -> None:
    """Every object on the server at the end, as far as the traffic named it.

    With nfs4j the file number is a hash of 64 bits and no inode. Of an object with two names the
    tables keep one: the other is looked up among the names that were taught.
    """
    capture, trace = _opened(capture)
    files = _files_by_path(trace)
    names: dict[str, set[int]] = {}
    for name, file in trace.sql("select name, file from names where file is not null").fetchall():
        names.setdefault(name, set()).add(file)
    linked = {
        file for (file,) in trace.sql("select file from operations where op = 'LINK'").fetchall()
    }
    tree = capture.truth()["tree_after"]
    found = 0
    for path, kind, inode, size in tree:
        rows = [row for ending, row in files if ending == path or ending.endswith(f"/{path}")]
        if not rows:
            # Another name of a file that was linked, or nothing that the traffic went to.
            assert not names.get(path.rpartition("/")[2], set()) - linked, path
            continue
        found += 1
        if "nfs4j" not in capture.name:
            assert inode in {fileid for fileid, _ in rows}, path
        if kind == "f":
            assert size in {seen for _, seen in rows}, path
    assert found >= len(tree) - 2 or capture.name == "libnfs-utils-ganesha-v3"
    assert found > 6


def _files_by_path(trace: pcapnfs.Trace) -> list[tuple[str, tuple[int | None, int | None]]]:
    """File number and size by the path from the root of the server's name space."""
    rows = trace.sql(
        """
        select case when export is null or export = '/' then path
                    when path = '.' then export
                    else export || '/' || path end,
               fileid, size
        from files where role not in ('absent', 'pseudo')
        """
    ).fetchall()
    return [(path, (fileid, size)) for path, fileid, size in rows]


def test_file_numbers_of_64_bits_are_unsigned() -> None:
    _, trace = _named("nfs4j-kernel61-v41")
    largest = trace.sql("select max(fileid) from files").fetchall()[0][0]
    assert largest > 1 << 63


# What is special about single captures -----------------------------------------------------------


@pytest.mark.parametrize("name", ["libnfs-ganesha-v3", "libnfs-ganesha-v40"])
def test_many_calls_outstanding_are_matched(name: str) -> None:
    """The program keeps up to a number of calls outstanding that it is told last."""
    capture, trace = _named(name)
    limit = int(shlex.split(capture.truth()["steps"][0]["command"])[-1])
    (asynchronous,) = (
        part
        for part in counters.parts(capture.truth(), "library_calls")
        if part["label"] == "async: many lstat at once"
    )
    ((start, end),) = _span(asynchronous)
    outstanding, calls, unmatched = trace.sql(
        f"""
        with called as (
            select * from calls where program = {_NFS} and call_time between {start} and {end}
        ), steps as (
            select call_time as time, 1 as step from called
            union all select reply_time, -1 from called
        )
        select (select max(depth) from
                (select sum(step) over (order by time, step) as depth from steps)),
               count(*), count(*) filter (reply_frame is null)
        from called
        """
    ).fetchall()[0]
    assert limit * 3 / 4 < outstanding <= limit
    assert calls >= asynchronous["library_calls"]["nfs_lstat64_async"]
    assert unmatched == 0


def test_every_message_over_udp_is_a_datagram() -> None:
    _, trace = _named("ganesha-udp-v3")
    rows = trace.sql("select distinct transport from connections").fetchall()
    assert rows == [("UDP",)]
    assert dict(trace.meta.packets) == {"udp": 2 * trace.meta.calls}


def test_records_in_fragments_of_100_bytes_are_put_together() -> None:
    """The marks are counted in the bytes: those of a fragment of 100 bytes that others follow."""
    capture, trace = _named("ganesha-frag-v3")
    marks = sum(
        packet.count(bytes.fromhex("00000064")) for packet in headers.packets(capture.files[0])
    )
    long, calls = trace.sql(
        "select sum((call_bytes - 1) // 100), count(*) "
        "from calls join connections using (connection) where server_port = 2049"
    ).fetchall()[0]
    assert calls == 340
    assert long > 300
    # Some file handles and sizes hold the same four bytes.
    assert marks >= long


def test_wrong_calls_are_told_as_the_server_takes_them() -> None:
    """Arguments of two bytes: refused over TCP, a bad handle over UDP, whatever they mean."""
    for name, outcome in (
        ("ganesha-frag-v3", ("GARBAGE_ARGS", None)),
        ("ganesha-udp-v3", ("SUCCESS", "NFS3ERR_BADHANDLE")),
    ):
        _, trace = _named(name)
        rows = trace.sql(
            "select protocol, op, rpc_status, status_name, undecoded from calls "
            "where undecoded is not null order by call_frame"
        ).fetchall()
        assert rows == [
            ("other", "NULL", "PROG_MISMATCH", None, "unsupported"),
            ("3", "77", "PROC_UNAVAIL", None, "unsupported"),
            ("3", "GETATTR", *outcome, "malformed"),
        ]


def test_replies_that_are_not_valid_are_told() -> None:
    """go-nfs: LINK's error without attributes (RFC 1813 section 3.3.15), refusals without versions
    (RFC 5531 section 9), FSSTAT with four bytes too many (RFC 1813 section 3.3.18).
    """
    _, trace = _named("gonfs-kernel61-v3")
    rows = trace.sql(
        "select n.reason, n.layer, c.op, c.status_name, c.rpc_status, "
        "n.needed::bigint - n.available "
        "from notes n join calls c using (call) order by n.frame"
    ).fetchall()
    assert rows == [
        ("malformed", "rpc", "NULL", None, "PROG_MISMATCH", 4),
        ("malformed", "reply", "LINK", "NFS3ERR_INVAL", "SUCCESS", 4),
        ("trailing", "reply", "FSSTAT", "NFS3_OK", "SUCCESS", -4),
        ("trailing", "reply", "FSSTAT", "NFS3_OK", "SUCCESS", -4),
    ]


@pytest.mark.parametrize("capture", _all(), ids=_id)
def test_nfs_is_found_on_the_ports_that_it_was_served_on(capture: Capture | None) -> None:
    """Also on 12049 and 13049, with MOUNT on the same port, and on the data server's 2052."""
    capture, trace = _opened(capture)
    rows = trace.sql(
        f"""
        select distinct server_port from connections
        where connection in (select connection from calls where program = {_NFS})
        """
    ).fetchall()
    expected = {
        "gonfs": {12049},
        "nfs4j-libnfs": {13049},
        "pnfs-nfs4j": {2049, 2052},
    }
    wanted = next((ports for start, ports in expected.items() if start in capture.name), {2049})
    assert {port for (port,) in rows} == wanted


def test_each_process_has_connections_of_its_own() -> None:
    """48 processes: each asks the portmapper twice and mounts; the 47 that could opened NFS."""
    _, trace = _named("libnfs-utils-ganesha-v3")
    rows = dict(
        trace.sql("select server_port, count(*) from connections group by server_port").fetchall()
    )
    assert rows == {111: 95, 20048: 48, 2049: 47}
    mounts = trace.sql("select count(*), count(distinct connection) from calls where op = 'MNT'")
    assert mounts.fetchall() == [(48, 48)]


def test_delegations_of_nfs4j_are_given_back() -> None:
    _, trace = _named("nfs4j-kernel61-v41")
    rows = dict(
        trace.sql(
            """
            select delegation, count(distinct stateid) from operations
            where op = 'OPEN' and executed and status = 0 group by delegation
            """
        ).fetchall()
    )
    returned = trace.sql(
        "select count(*) from operations where op = 'DELEGRETURN' and status = 0"
    ).fetchall()
    assert rows["READ"] > 0
    assert returned == [(42,)]


def test_names_are_kept_byte_for_byte() -> None:
    """UTF-8, blanks, both quotes and a tab in the names that the server has at the end."""
    capture, trace = _named("ganesha-frag-v3")
    names = {name for (name,) in trace.sql("select name from names").fetchall()}
    left = [path.rpartition("/")[2] for path, *_ in capture.truth()["tree_after"]]
    assert set(left) <= names
    assert {"ä000", "名前016", "q\"uo'te008", "sp ace 012", "tab\t004"} <= set(left)
