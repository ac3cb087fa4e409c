"""Small files that people name, or hand over: read to a limit, and never waited for unasked.

Takes a path and how large the file may be; gives its bytes. Promises to hold no more than that,
whatever is at the path: a device may have no end, and a pipe may have nobody who writes.
"""

from __future__ import annotations

import os
import stat
from typing import IO, TYPE_CHECKING

from pcapnfs import units

if TYPE_CHECKING:
    from pathlib import Path


class UnfitError(ValueError):
    """What is at the path is not what is read there; says why, to follow the path."""


def read(path: Path, limit_bytes: int) -> bytes:
    """What a file, or a pipe such as a shell's `<(…)`, holds.

    Raises:
        OSError: It cannot be read.
        UnfitError: It holds more than the limit.
    """
    with path.open("rb") as stream:
        return _to_its_end(stream, limit_bytes)


def read_regular(path: Path, limit_bytes: int) -> bytes:
    """What a regular file holds, where nobody said that there would be anything else.

    Raises:
        OSError: It cannot be read.
        UnfitError: It is no regular file, or larger than the limit.
    """
    with open(path, "rb", opener=_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise UnfitError("is no regular file")
        return _to_its_end(stream, limit_bytes)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe, too, though nobody has opened it to write."""
    return os.open(path, flags | os.O_NONBLOCK)


def _to_its_end(stream: IO[bytes], limit_bytes: int) -> bytes:
    found = stream.read(limit_bytes + 1)
    if len(found) > limit_bytes:
        raise UnfitError(f"is larger than {units.size(limit_bytes)}")
    return found
