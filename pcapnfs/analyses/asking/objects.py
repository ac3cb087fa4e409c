"""What the objects of calls are, as arrays: to look one up takes less than to join it.

Takes a trace; gives for each number of the table files which object stands for it, and of which
kind that number is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.of(files="file identity role")
"""The columns that this reads."""

NO_FILE = -1
"""The number of no object: it leads to the last element of each array, which says so."""


class Objects(Record):
    """Arrays with an element for each number of the table files, and one for `NO_FILE`."""

    identity: NDArray[np.int32]
    """The number of the object that stands for this one."""
    regular: NDArray[np.bool_]
    """It is a regular file."""
    directory: NDArray[np.bool_]
    """It is a directory."""


def objects(trace: Trace, numbers: NDArray[np.signedinteger[Any]]) -> Objects:
    """Ask the trace.

    Args:
        trace: The trace.
        numbers: Those that will be looked up, or `NO_FILE`.
    """
    rows = trace.arrays(
        """
        select file, identity, role = 'file' as regular, role = 'directory' as directory
        from files
        """
    )
    number = np.asarray(rows["file"])
    length = max(int(number.max(initial=0)), int(numbers.max(initial=0))) + 2
    identity = np.arange(length, dtype=np.int32)
    identity[number] = rows["identity"]
    identity[NO_FILE] = NO_FILE
    regular, directory = np.zeros(length, np.bool_), np.zeros(length, np.bool_)
    regular[number], directory[number] = rows["regular"], rows["directory"]
    return Objects(identity, regular, directory)
