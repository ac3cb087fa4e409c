"""Stable calls that are to be held against one another: each takes as long as others of its kind.

Gives SQL: which these are, of what size, and without those whose time is told elsewhere. What takes
as long as data is large, as to free a large file or to cut one, tells of that and not of storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.servers import stalled_calls
from pcapnfs.analyses.wire import slower_path, tcp_stalls

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    slower_path.READS,
    stalled_calls.CALLS_READS,
    tcp_stalls.STALLED_READS,
    columns.of(
        calls="call op file call_bytes", files="file size", operations="call op set_size created"
    ),
)
"""The columns that these queries read."""

NAMES = ("CREATE", "LINK", "MKDIR", "MKNOD", "OPEN", "RENAME", "RMDIR", "SETATTR", "SYMLINK")
"""Operations on names and attributes, which take as long whatever a file holds; those that set a
size excepted, unless they made the file."""

SMALL_FILE_BYTES = 1 << 20
"""To free a file of so many bytes takes no longer than its name: REMOVE counts for these."""

SMALL_WRITE_BYTES = 20_000
"""Calls of stable WRITEs up to here are compared, each with those of its size: pages of databases.
They take less than 2 ms of 100 Mbit/s."""

SETS = f"""
    resized as (
        select call from operations
        where set_size is not null and op in ('OPEN', 'SETATTR') and not coalesce(created, false)
    ),
    small_files as (select file as small_file from files where size <= {SMALL_FILE_BYTES})
"""
"""SQL for a `with`: calls that are none of these since they set a size, and files that are small.
`SIMILAR` wants a left join of the latter on the file."""

SIMILAR = f"""
    ({among("op", NAMES)} or op = 'REMOVE' and small_file is not null
     or op = 'WRITE' and call_bytes <= {SMALL_WRITE_BYTES})
"""
"""SQL: whether a call may be one, with an anti join of `resized`."""

PERHAPS = f"""
    ({among("op", (*NAMES, "REMOVE"))} or op = 'WRITE' and call_bytes <= {SMALL_WRITE_BYTES})
"""
"""SQL: the same where it is not asked how large files are."""

SIZE_CLASS = "case when op = 'WRITE' then floor(log2(greatest(call_bytes, 1))) end"
"""SQL: of a WRITE, how large it is, to a factor of two; with the operation that is its kind."""


def left_out(trace: Trace) -> str:
    """SQL behind a join of calls: without those whose time is told elsewhere."""
    joins = tcp_stalls.left_out(trace)
    for apart in (slower_path, stalled_calls):
        if apart.register(trace):
            joins += f" anti join (select call from {apart.TABLE}) using (call)"
    return joins
