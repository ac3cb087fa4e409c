"""WRITEs that do not cover whole pages: unaligned, in the midst of a file, appended, after a READ.

Takes a trace; gives for each client and server the WRITEs by how they lie on pages of 4 KiB. A
file's last page is covered when the WRITE reaches the end of the file, unless it was written
before: small pieces that are appended each take all that there is of their page along. And what
was read before pages were written as a whole (`pages_first`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.data import pages_first as _pages_first
from pcapnfs.analyses.data import transfers as _transfers
from pcapnfs.analyses.data.pages_first import NO_PAGES, PagesFirst, pages_first
from pcapnfs.analyses.data.transfers import transfers
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(_transfers.READS, _pages_first.READS)
"""The columns that this reads."""

NEEDS = population.Operations(("WRITE",), statuses=(0,))
"""Files without a WRITE that succeeded are none of these."""


class WriteShapes(Record):
    """The WRITEs of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    writes: int
    """WRITEs that succeeded."""
    files: int
    """Files that the unaligned ones were to."""
    mean_bytes: float
    """What an unaligned one brought, mean, bytes; 0 without any."""
    unaligned: Spared
    """Those that begin within a page, or end within one before the file's end, or have the page
    again in which the one before ended, and more behind it."""
    appended: int
    """Those of them that begin where the file ended, or in its last page like that."""
    read_first: Spared
    """READs, right before such a WRITE, of the page that it begins or ends in."""
    pages_first: PagesFirst = NO_PAGES
    """READs of single pages that it wrote later as a whole."""


def write_shapes(trace: Trace) -> tuple[WriteShapes, ...]:
    """Sort the WRITEs, by client and server."""
    if not NEEDS.met(trace):
        return ()
    walked = transfers(trace)
    read_first = pages_first(trace)
    found = (
        WriteShapes(
            client=client,
            server=server,
            writes=shapes["writes"],
            files=shapes["files"],
            mean_bytes=shapes["bytes"] / (shapes["unaligned"][0] or 1),
            unaligned=spared.of_row(shapes["unaligned"]),
            appended=shapes["appended"],
            read_first=spared.of_row(shapes["read_first"]),
            pages_first=read_first.get(mount, NO_PAGES),
        )
        for mount, shapes in walked.shapes.items()
        for client, server in (walked.mounts[mount],)
    )
    return tuple(sorted(found, key=lambda shapes: (shapes.client, shapes.server)))
