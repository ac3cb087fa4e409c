"""pNFS: traffic to data servers beside that to the metadata server, and both about the same files.

Linux with the flexible file layout (data over NFSv3 to the same address and port, on connections of
their own), and nfs4j with the file layout (data over NFSv4.1 to another port). Which connection is
which is taken from the traffic alone: layouts are asked for on one, data moves on the other.
"""

from __future__ import annotations

from collections import Counter

import pytest

import pcapnfs
from pcapnfs.analyses.captured import capture as captured

from .oracles import counters
from .oracles.corpus import Capture, other_captures, require_corpus
from .oracles.opened import opened

pytest.importorskip("pcapnfs._core")

_ASKS = "select distinct connection from calls where signature like '%LAYOUTGET%'"
"""Connections to a metadata server."""

_MOVES = f"""
    select distinct connection from calls
    where op in ('READ', 'WRITE') and connection not in ({_ASKS})
"""
"""Connections to a data server."""


def _captures(start: str = "pnfs-") -> list[Capture | None]:
    return [item for item in other_captures() if item.name.startswith(start)] or [None]


def _id(capture: Capture | None) -> str:
    return capture.name if capture else "no-corpus"


def _opened(capture: Capture | None) -> tuple[Capture, pcapnfs.Trace]:
    require_corpus()
    assert capture is not None
    return capture, opened(capture).trace


@pytest.mark.parametrize("capture", _captures(), ids=_id)
def test_all_data_moves_on_connections_of_its_own(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    kinds = trace.sql(
        f"""
        select distinct connection in ({_ASKS}), protocol, server_port
        from calls join connections using (connection)
        where op in ('READ', 'WRITE', 'COMMIT') order by all
        """
    ).fetchall()
    assert kinds == [(False, "3", 2049) if "flex" in capture.name else (False, "4.1", 2052)]
    asks, moves = (trace.sql(query).fetchall() for query in (_ASKS, _MOVES))
    # Two mounts with the flexible file layout, one with that of files.
    assert len(asks) == len(moves) == (2 if "flex" in capture.name else 1)


@pytest.mark.parametrize("capture", _captures(), ids=_id)
def test_connections_to_data_servers_are_named_as_such(capture: Capture | None) -> None:
    """By the device that GETDEVICEINFO describes; nfs4j says of its servers that they are both."""
    capture, trace = _opened(capture)
    roles = "select connection from connections where role = 'data server' order by all"
    assert trace.sql(roles).fetchall() == sorted(trace.sql(_MOVES).fetchall())
    others = trace.sql(
        f"select distinct role from connections where connection in ({_ASKS})"
    ).fetchall()
    flex = "flex" in capture.name
    assert others == [("metadata server" if flex else "metadata and data server",)]
    told = captured.capture(trace)
    assert (told.data_servers, told.data_connections) == (("10.0.0.1",), 2 if flex else 1)
    calls = trace.sql(f"select count(*) from calls where connection in ({_MOVES})").fetchone()
    assert calls == (told.data_calls,)


@pytest.mark.parametrize("capture", _captures(), ids=_id)
def test_data_belongs_to_the_file_whose_layout_was_granted(capture: Capture | None) -> None:
    """The data server knows a file by the handle that the metadata server gave it, so that both
    kinds of calls are about one file, with the path that only the metadata server tells.
    """
    capture, trace = _opened(capture)
    rows = trace.sql(
        f"""
        with granted as (
            select o.file, c.client, min(c.reply_time) as time
            from operations o join calls c using (call)
            where o.op = 'LAYOUTGET' and o.status = 0 group by all
        )
        select f.path, f.type, bool_and(c.call_time > granted.time), count(*)
        from calls c left join files f using (file) left join granted using (file, client)
        where c.op in ('READ', 'WRITE', 'COMMIT') and c.connection in ({_MOVES})
        group by all order by all
        """
    ).fetchall()
    total = counters.mountstats(capture.truth())
    assert sum(number for *_, number in rows) == total["READ"] + total["WRITE"] + total["COMMIT"]
    assert {(kind, later) for _, kind, later, _ in rows} == {("REG", True)}
    left = {path for path, kind, *_ in capture.truth()["tree_after"] if kind == "f"}
    # Every file that is left was written through its layout; others were removed.
    assert left <= {path for path, *_ in rows}
    assert all("[" not in path for path, *_ in rows)


@pytest.mark.parametrize("capture", _captures("pnfs-flex"), ids=_id)
def test_counts_and_bytes_are_those_of_the_kernels(capture: Capture | None) -> None:
    """One kernel is metadata and data server: its counters hold both."""
    capture, trace = _opened(capture)
    told = capture.truth()["nfsd_counters_delta"]
    assert _counts(
        trace, "select op, count(*) from calls where version = 3 group by op"
    ) == Counter(told["v3"])
    executed = """
        select o.op, count(*) from operations o join calls c using (call)
        where c.program = 100003 and c.version = 4 and c.procedure = 1 and o.executed group by o.op
    """
    assert _counts(trace, executed) == Counter(told["v4ops"])
    moved = "select op, sum(count)::bigint from operations where count > 0 group by op"
    assert _counts(trace, moved) == Counter(
        {"READ": told["io"]["read_bytes"], "WRITE": told["io"]["write_bytes"]}
    )


@pytest.mark.parametrize("capture", _captures("pnfs-flex"), ids=_id)
def test_the_kernels_client_counts_both_servers_as_one_mount(capture: Capture | None) -> None:
    capture, trace = _opened(capture)
    spans = " or ".join(
        f"call_time between {start} and {end}" for start, end in counters.mounted(capture.truth())
    )
    rows = trace.sql(
        f"""
        select version, count(*) from calls
        where program = 100003 and not callback and procedure <> 0 and ({spans}) group by version
        """
    ).fetchall()
    told = counters.mountstats(capture.truth())
    data = told["READ"] + told["WRITE"] + told["COMMIT"]
    assert dict(rows) == {3: data, 4: told.total() - data}


@pytest.mark.parametrize("capture", _captures("pnfs-flex"), ids=_id)
def test_the_data_server_is_spoken_to_as_the_layout_says(capture: Capture | None) -> None:
    """Writes as the layout's user, reads as the one after it."""
    _, trace = _opened(capture)
    rows = trace.sql(
        f"select distinct op, uid from calls where connection in ({_MOVES}) and uid is not null"
    ).fetchall()
    assert {row for row in rows if row[0] != "COMMIT"} == {("READ", 1), ("WRITE", 0)}


@pytest.mark.parametrize("capture", _captures("pnfs-flex"), ids=_id)
def test_layouts_are_counted_with_their_outcome(capture: Capture | None) -> None:
    """Granted, refused with a delegation's state that was just given back, and returned."""
    capture, trace = _opened(capture)
    rows = trace.sql(
        """
        select op, status_name, count(*) from operations
        where op in ('LAYOUTGET', 'LAYOUTRETURN', 'GETDEVICEINFO') and executed group by all
        """
    ).fetchall()
    told = Counter({(op, status): number for op, status, number in rows})
    counted = capture.truth()["nfsd_counters_delta"]["v4ops"]
    for name in ("LAYOUTGET", "LAYOUTRETURN", "GETDEVICEINFO"):
        assert sum(told[key] for key in told if key[0] == name) == counted[name]
    assert told["LAYOUTGET", "NFS4_OK"] == told["LAYOUTRETURN", "NFS4_OK"] == 17
    assert told["LAYOUTGET", "NFS4ERR_BAD_STATEID"] == 2


@pytest.mark.parametrize("capture", _captures("pnfs-flex"), ids=_id)
def test_recalls_belong_to_the_file_that_a_step_changed(capture: Capture | None) -> None:
    """CB_RECALL names the file by its handle alone, and comes while a step changes that file."""
    capture, trace = _opened(capture)
    rows = trace.sql(
        """
        select path, call_time
        from operations o join calls c using (call) join files f on f.file = o.file
        where o.op = 'CB_RECALL' and c.callback order by call_frame
        """
    ).fetchall()
    assert [path for path, _ in rows] == ["f1", "big"]
    for path, time in rows:
        (command,) = (
            step["command"]
            for step in capture.truth()["steps"]
            if "command" in step and step["start_ns"] <= time <= step["end_ns"]
        )
        assert path in command


def _counts(trace: pcapnfs.Trace, query: str) -> Counter[str]:
    return Counter(dict(trace.sql(query).fetchall()))
