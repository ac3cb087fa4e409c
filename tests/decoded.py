"""What the decoder makes of a file: its calls, its figures, the memory it took.

Memory is measured in a process of its own, against one that decodes next to nothing.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pcapnfs import _core
from tests.damage import rows

S = 1_000_000_000
MS = 1_000_000
T = 1_700_000_000 * S
"""When the captures built by tests begin, in nanoseconds since 1970."""

MEMORY_LIMIT = 200 << 20
"""Bytes beyond what an empty decode takes."""

_MEASURE = """
import json, pathlib, re, sys, time
from pcapnfs import _core
start = time.process_time()
files_bytes = int(sys.argv[2]) if len(sys.argv) > 2 else None
decoder = _core.Decoder([sys.argv[1]], files_bytes=files_bytes)
while decoder.next() is not None:
    pass
told = json.loads(decoder.finish())
taken = time.process_time() - start
status = pathlib.Path("/proc/self/status").read_text()
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024
print(json.dumps([taken, peak, told]))
"""


def cost(path: Path, files_bytes: int | None = None) -> tuple[float, int, dict[str, Any]]:
    """Seconds of the processor that a process takes to decode the file, its peak resident bytes,
    and what it was told at the end.

    With `files_bytes` for what it knows of files.
    """
    given = [] if files_bytes is None else [str(files_bytes)]
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path), *given],
        capture_output=True,
        text=True,
        check=True,
    )
    taken_s, peak, meta = json.loads(done.stdout)
    return float(taken_s), int(peak), meta


def measure(path: Path, files_bytes: int | None = None) -> tuple[int, dict[str, Any]]:
    """Peak resident bytes of a process that decodes the file, and what it was told at the end."""
    _, peak, meta = cost(path, files_bytes)
    return peak, meta


def decode(path: Path) -> dict[str, Any]:
    decoder = _core.Decoder([str(path)])
    while decoder.next() is not None:
        pass
    meta: dict[str, Any] = json.loads(decoder.finish())
    return meta


def calls(path: Path) -> list[tuple[int, bool]]:
    """The xid of each call, and whether it was answered."""
    found = rows(
        path, "SELECT xid, reply_frame IS NOT NULL FROM calls ORDER BY call_first_frame, xid"
    )
    return [(int(xid), bool(answered)) for xid, answered in found if isinstance(xid, int)]


def write(path: Path, frames: Iterable[tuple[int, bytes]]) -> Path:
    """A pcap file of Ethernet frames, faster than the builder for hundreds of thousands."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time_ns, data in frames:
            seconds, nanoseconds = divmod(time_ns, S)
            file.write(struct.pack("<IIII", seconds, nanoseconds, len(data), len(data)) + data)
    return path
