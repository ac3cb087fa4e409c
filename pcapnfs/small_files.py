"""Small files: read to a limit.

Takes a path and how large the file may be; gives its bytes. Promises to hold no more than that,
whatever is at the path: a device may have no end.
"""

from __future__ import annotations

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


def _to_its_end(stream: IO[bytes], limit_bytes: int) -> bytes:
    found = stream.read(limit_bytes + 1)
    if len(found) > limit_bytes:
        raise UnfitError(f"is larger than {units.size(limit_bytes)}")
    return found
