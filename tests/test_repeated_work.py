"""The same, tens of thousands of times over, takes time in proportion and not its square."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing

import pytest

from pcapnfs.analyses.caching.cache import cache
from pcapnfs.analyses.locks.lock_gaps import lock_gaps
from pcapnfs.analyses.namespace.not_found import not_found
from pcapnfs.analyses.servers.restarts import restarts
from pcapnfs.analyses.servers.stalled_calls import stalled_calls
from pcapnfs.analyses.servers.unanswered import unanswered
from pcapnfs.analyses.times.outstanding import WAITING, outstanding
from pcapnfs.trace import Trace
from tests.processor import in_time, seconds
from tests.unit.rows import MILLISECOND, ROOT, START_NS, call, file, operation, trace_of

_COUNTED_ROWS = re.compile(
    r"count\(\*\)\s+filter\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s+over\b"
)

SECONDS = 4.0
"""Of the processor: each takes less than half of one, and would take a quarter of a minute if it
grew by the square."""


LATER = {
    name: f"{name} + n * {20 * MILLISECOND}"
    for name in ("call_first_time", "call_time", "reply_first_time", "reply_time")
}
"""Columns of the table calls, each time 20 ms later."""


def repeat(trace: Trace, table: str, times: int, **columns: str) -> None:
    """Have the rows of a table again and again; `n` counts the times in the SQL of columns."""
    changed = ", ".join(f'{value} as "{name}"' for name, value in columns.items())
    trace._connection.execute(
        f"insert into {table} select * exclude (n) replace ({changed}) "
        f"from {table}, range(1, {times}) as numbers(n)"
    )


def lock_file() -> Trace:
    """A file that is looked for, made and removed."""
    trace = trace_of(
        calls=[
            call(1, "LOOKUP", 2, status=2),
            call(2, "CREATE", 2, stability="stable", file=2, directory=1, status=0),
            call(3, "REMOVE", 2, stability="stable", directory=1, status=0),
        ],
        operations=[
            operation(1, "LOOKUP", status=2, directory=1, name="lock"),
            operation(2, "CREATE", status=0, directory=1, name="lock", file=2, stability="stable"),
            operation(3, "REMOVE", status=0, directory=1, name="lock", stability="stable"),
        ],
        files=[file(1, ".", "directory"), file(2, "lock")],
        names=[{"call": 2, "directory": 1, "name": "lock", "file": 2}],
    )
    for table in ("calls", "operations", "names"):
        repeat(trace, table, 25_000, call="call + 3 * n")
    return trace


def frozen_server() -> Trace:
    """Many clients, a call of each of which waits for the same second and a half."""
    usual = [call(number, "GETATTR", 1) for number in range(1, 13)]
    late = call(20, "GETATTR", 1500, reply_time=START_NS + 1700 * MILLISECOND)
    trace = trace_of(calls=[*usual, late], files=[file(1, "a")])
    repeat(trace, "calls", 10_000, call="call + 100 * n", client="'client ' || n", mount="n")
    return trace


def forgetful_server() -> Trace:
    """A new verifier in every reply, and errors of a full file system between them."""
    told = {"stable_requested": "UNSTABLE", "committed": "UNSTABLE", "file": 1}
    trace = trace_of(
        calls=[
            call(1, "WRITE", 2, stability="unstable_write"),
            call(2, "WRITE", 2, stability="stable", status=28, status_name="NFS3ERR_NOSPC"),
        ],
        operations=[
            operation(1, "WRITE", verifier=1, status=0, offset=0, requested=8, **told),
            operation(2, "WRITE", status=28, status_name="NFS3ERR_NOSPC", offset=0, file=1),
        ],
        files=[file(1, "a")],
    )
    repeat(trace, "calls", 20_000, call="call + 2 * n", **LATER)
    repeat(trace, "operations", 20_000, call="call + 2 * n", verifier="verifier + n")
    return trace


def busy_server() -> Trace:
    """Every other time it is not ready for the same call."""
    trace = trace_of(
        calls=[
            call(1, "READ", 2, file=1, status=10008, status_name="NFS3ERR_JUKEBOX"),
            call(2, "READ", 2, file=1),
        ],
        files=[file(1, "a")],
    )
    repeat(trace, "calls", 30_000, call="call + 2 * n", **LATER)
    return trace


def delegated_file() -> Trace:
    """A file that a client opens under a delegation, and gives back."""
    about = {"version": 4, "minor": 2, "protocol": "4.2", "file": 1, "status": 0}
    trace = trace_of(
        calls=[call(1, "OPEN", 2, **about), call(2, "DELEGRETURN", 2, **about)],
        operations=[
            operation(1, "OPEN", status=0, file=1, delegation="READ"),
            operation(2, "DELEGRETURN", status=0, file=1),
        ],
        files=[file(1, "a")],
    )
    repeat(trace, "calls", 20_000, call="call + 2 * n", **LATER)
    repeat(trace, "operations", 20_000, call="call + 2 * n")
    return trace


def waiting_clients() -> Trace:
    """Many clients, each of which is refused a lock and asks again."""
    trace = trace_of(
        calls=[call(number, "LOCK", 1, version=4) for number in (1, 5)],
        operations=[
            operation(number, "LOCK", status_name=status, file=1, offset=0, requested=10)
            for number, status in ((1, "NFS4ERR_DENIED"), (5, "NFS4_OK"))
        ],
        files=[file(1, "a")],
    )
    repeat(trace, "calls", 10_000, call="call + 10 * n", client="'client ' || n", mount="n")
    repeat(trace, "operations", 10_000, call="call + 10 * n")
    return trace


def shared_file() -> Trace:
    """A file of the same size that two clients write at the same time, and ask for afterwards."""
    clients = ({"client": "10.0.0.2", "mount": 0}, {"client": "10.0.0.3", "mount": 1})
    about = {"version": 4, "minor": 2, "protocol": "4.2", "file": 1, "status": 0}
    sent = {1: 0.0, 2: 0.2, 3: 3.0, 4: 4.0}
    calls, operations = [], []
    for number, begins_ms in sent.items():
        op = "WRITE" if number < 3 else "GETATTR"
        begin = START_NS + int(begins_ms * MILLISECOND)
        times = dict.fromkeys(("call_first_time", "call_time"), begin)
        times |= dict.fromkeys(("reply_first_time", "reply_time"), begin + MILLISECOND)
        stability = "stable" if number < 3 else "unstable"
        whose = clients[(number - 1) % 2]
        calls.append(call(number, op, 1, stability=stability, **about, **times, **whose))
        ctime = START_NS + int((0.5 if number == 1 else 0.3) * MILLISECOND)
        told = {"change": min(number, 2), "ctime": ctime, "mtime": ctime, "size": 4096}
        operations.append(operation(number, op, status=0, file=1, stability=stability, **told))
    trace = trace_of(calls=calls, operations=operations, files=[file(1, "a")])
    repeat(trace, "calls", 20_000, call="call + 4 * n", **LATER)
    moved = {name: f"{name} + n * {20 * MILLISECOND}" for name in ("ctime", "mtime")}
    repeat(trace, "operations", 20_000, call="call + 4 * n", change="change + 2 * n", **moved)
    return trace


def mounted_again() -> Trace:
    """A file system that is mounted all the time, and asked for all the time, after a pause too."""
    sent = {1: ("FSINFO", 0), 2: ("GETATTR", 1000), 3: ("GETATTR", 1810), 4: ("ACCESS", 1810.1)}
    calls, operations = [], []
    for number, (op, begin_s) in sent.items():
        begin = START_NS + int(begin_s * 1000) * MILLISECOND
        times = dict.fromkeys(("call_first_time", "call_time"), begin)
        times |= dict.fromkeys(("reply_first_time", "reply_time"), begin + MILLISECOND)
        calls.append(call(number, op, 1, file=2 if op == "ACCESS" else 1, **times))
        if op == "GETATTR":
            operations.append(operation(number, op, file=1, status=0, ctime=1, mtime=1, size=1))
    files = [file(1, ".", "directory"), file(2, "a", parent=1)]
    trace = trace_of(calls=calls, operations=operations, files=files)
    repeat(trace, "calls", 20_000, call="call + 4 * n", **LATER)
    repeat(trace, "operations", 20_000, call="call + 4 * n")
    return trace


def hung_slot() -> Trace:
    """A slot of a session in which no call gets an answer, while another one's do."""
    session: dict[str, object] = {"session": b"session", "version": 4, "protocol": "4.1"}
    connection = {
        "connection": 1,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS,
        "last_time": START_NS + 1_000_000 * MILLISECOND,
        "server_segments": 3,
    }
    trace = trace_of(
        calls=[
            call(1, "GETATTR", 1, connection=1, slot=1, **session),
            call(2, "READ", None, connection=1, slot=0, **session),
        ],
        connections=[connection],
    )
    repeat(trace, "calls", 40_000, call="call + 2 * n", xid="call + 2 * n", **LATER)
    return trace


@pytest.mark.parametrize(
    ("made", "question", "number"),
    [
        pytest.param(lock_file, lambda trace: len(not_found(trace)), 0, id="a lock file"),
        pytest.param(
            frozen_server, lambda trace: len(stalled_calls(trace)), 1, id="a server that freezes"
        ),
        pytest.param(
            forgetful_server, lambda trace: len(restarts(trace)), 0, id="a verifier for each reply"
        ),
        pytest.param(
            busy_server,
            lambda trace: int((outstanding(trace).kind == WAITING).sum()),
            30_000,
            id="a server that is not ready",
        ),
        pytest.param(
            waiting_clients,
            lambda trace: len(lock_gaps(trace, outstanding(trace))),
            10_000,
            id="clients that wait for a lock",
        ),
        pytest.param(
            delegated_file,
            lambda trace: cache(trace).delegations.returned,
            20_000,
            id="delegations",
        ),
        pytest.param(
            shared_file, lambda trace: cache(trace).invalidations, 20_000, id="a shared file"
        ),
        pytest.param(
            mounted_again, lambda trace: cache(trace).unchanged, 39_999, id="mounts of one root"
        ),
        pytest.param(
            hung_slot,
            lambda trace: sum(pair.calls for pair in unanswered(trace)),
            40_000,
            id="a slot without answers",
        ),
    ],
)
def test_what_is_repeated_takes_time_in_proportion(
    made: Callable[[], Trace], question: Callable[[Trace], int], number: int
) -> None:
    def taken_s() -> float:
        found = []
        with made() as trace:
            taken = seconds(lambda: found.append(question(trace)))
        assert found == [number]
        return taken

    assert in_time(SECONDS, taken_s)


def test_no_window_counts_rows_that_a_filter_chose() -> None:
    """DuckDB goes through all rows before for each: of a column it counts them as they come."""
    sources = list((ROOT / "pcapnfs").rglob("*.py"))
    assert len(sources) > 300
    assert _COUNTED_ROWS.search("count(*) filter (a = min(b)) over (partition by c)")
    found = {source: _COUNTED_ROWS.findall(source.read_text()) for source in sources}
    assert {source: windows for source, windows in found.items() if windows} == {}


def test_no_connection_to_a_trace_expects_so_few_rows_that_it_compares_each_with_all() -> None:
    with trace_of(calls=[call(1, "READ", 1)]) as trace, closing(trace.cursor()) as cursor:
        for asked in (trace._connection, cursor):
            setting = "select current_setting('asof_loop_join_threshold')"
            assert asked.execute(setting).fetchall() == [(0,)]
