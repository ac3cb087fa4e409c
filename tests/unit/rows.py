"""A trace from rows written by hand.

Takes the columns that a test is about; all others get NULL, or zero where the schema forbids it.
The schema is the decoder's, so that a column that does not exist fails the test.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from pcapnfs import schema, temporary
from pcapnfs.meta import CaptureFile, Meta
from pcapnfs.trace import Trace
from tests.unit import engines

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]

Row = Mapping[str, object]

_ZERO = {"BOOLEAN": False, "VARCHAR": "", "BLOB": b""}
_NUMBERS = {
    "BOOLEAN": np.bool_,
    "UINTEGER": np.uint32,
    "UBIGINT": np.uint64,
    "BIGINT": np.int64,
}

MILLISECOND = 1_000_000
START_NS = 1_000_000_000_000 * MILLISECOND


def tables() -> tuple[schema.Table, ...]:
    """The tables that the core declares."""
    return engines.TABLES


def meta(**changes: object) -> Meta:
    """One capture file of ten seconds, without damage."""
    facts: dict[str, object] = {
        "path": "hand.pcap",
        "format": "pcap",
        "link_types": ("ETHERNET",),
        "packets": 20,
        "bytes": 4096,
        "start_ns": START_NS,
        "end_ns": START_NS + 10_000 * MILLISECOND,
        "snaplen": 262144,
        "truncated_packets": 0,
        "first_frame": 1,
        "last_frame": 20,
        "dropped_packets": None,
        "damage": None,
    }
    limits = changes.pop("limits_hit", {})
    assert isinstance(limits, dict)
    file = CaptureFile(**(facts | changes))  # type: ignore[arg-type]
    return Meta((file,), {"rpc": 18, "tcp": 2}, limits, 0, 0)


def call(number: int, op: str, srt_ms: float | None, **columns: object) -> Row:
    """An NFSv3 call, sent `number` × 10 ms after the start; `srt_ms` None: no reply."""
    sent = START_NS + number * 10 * MILLISECOND
    row: dict[str, object] = {
        "call": number,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "program": 100003,
        "version": 3,
        "protocol": "3",
        "op": op,
        "signature": op,
        "call_first_frame": number * 2 - 1,
        "call_frame": number * 2 - 1,
        "call_first_time": sent,
        "call_time": sent,
        "transmissions": 1,
        "flavor": "AUTH_SYS",
        "stability": "unstable",
        "operations": 1,
    }
    if srt_ms is not None:
        srt = int(srt_ms * MILLISECOND)
        row |= {
            "reply_first_frame": number * 2,
            "reply_frame": number * 2,
            "reply_first_time": sent + srt,
            "reply_time": sent + srt,
            "srt": srt,
            "rpc_status": "SUCCESS",
            "status": 0,
            "status_name": "NFS3_OK",
            "executed": 1,
        }
    row |= columns
    # Over what it was sent again, and whether anything was lost, no test of rows says otherwise.
    return {"first_arrived": row["transmissions"] == 1} | row


def operation(number: int, op: str, **columns: object) -> Row:
    """The operation of an NFSv3 call, executed."""
    return {
        "call": number,
        "op": op,
        "executed": True,
        "status": 0,
        "stability": "unstable",
    } | columns


def file(number: int, path: str, role: str = "file", **columns: object) -> Row:
    """An object with a handle."""
    kinds = {"file": "REG", "directory": "DIR"}
    return {
        "file": number,
        "identity": number,
        "server": "10.0.0.1",
        "handle": number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big"),
        "type": kinds.get(role),
        "path": path,
        "role": role,
    } | columns


def trace_of(told: Meta | None = None, /, **rows: Sequence[Row]) -> Trace:
    """A trace with the given rows, by table."""
    directory = temporary.make(prefix="pcapnfs-test-")
    database, connection = engines.take(directory.path)
    # For so few rows others have nothing to do but wait.
    connection.execute("set threads = 1")
    fill(connection, rows)
    connection.execute("reset threads")
    trace = Trace(connection, told or meta(), directory)
    engines.give_back(trace, database)
    return trace


def fill(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, Sequence[Row]]) -> None:
    """Insert rows into tables that exist."""
    declared = {table.name: table for table in tables()}
    for name, given in rows.items():
        declared_columns = declared[name].columns
        if name == "calls":
            given = [{"mount": _mount(row), **row} for row in given]
        if name == "connections":
            given = [{**_addresses(row), **row} for row in given]
        told = {key for row in given for key in row}
        unknown = told - {column.name for column in declared_columns}
        assert not unknown, f"no such column in {name}: {unknown}"
        if not given:
            continue
        # The others are NULL without being told so, each takes its time. As parameters, values take
        # ten times as long as in arrays, which DuckDB finds under their local name.
        arrays = {
            each.name: _array(each, given)
            for each in declared_columns
            if each.name in told or not each.nullable
        }
        names = ", ".join(f'"{each}"' for each in arrays)
        connection.execute(f"insert into {name} ({names}) from arrays")


def _array(column: schema.Column, given: Sequence[Row]) -> NDArray[Any]:
    """The values of a column."""
    other = None if column.nullable else _ZERO.get(column.sql, 0)
    values = [row.get(column.name, other) for row in given]
    if all(isinstance(value, str) and not value.endswith("\0") for value in values):
        # DuckDB looks for libraries with each value that may be of any type. Zeros at the end of a
        # text are none to numpy.
        return np.array(values, dtype=np.str_)
    whole = None not in values
    return np.array(values, dtype=_NUMBERS.get(column.sql, np.object_) if whole else np.object_)


def _addresses(row: Row) -> Row:
    """The addresses of a connection between these: one client and server rarely use more."""
    return {f"{side}_address": row[side] for side in ("client", "server") if side in row}


def _mount(row: Row) -> int:
    """A number for the pair of client and server, the same in every row."""
    return zlib.crc32(f"{row.get('client')} {row.get('server')}".encode())
