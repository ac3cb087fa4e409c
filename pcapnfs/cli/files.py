"""Results that go into a file of the user's choice.

Takes a path and text; writes the file whole or not at all, over another one only where that is
asked for, and never over a capture.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pcapnfs import placement
from pcapnfs.errors import UsageError, WriteError, not_written


def refuse(path: Path, *, force: bool) -> None:
    """Say early that a file cannot be written, before the work is done for it.

    Raises:
        UsageError: The file exists and `force` is not given, or it is a capture; or a directory is
            there.
        WriteError: Its directory does not exist, or it is a link that is not followed.
    """
    from pcapnfs import rewriting

    if str(path) == placement.STANDARD_OUTPUT or placement.only_written_to(path):
        return
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory; name a file")
    try:
        directory = placement.behind_links(path).parent
    except OSError as error:
        raise WriteError(not_written(path, error)) from error
    if not os.path.isdir(directory):
        raise WriteError(f"there is no directory {directory}")
    rewriting.demand_no_capture(path)
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} exists; --force overwrites it")


def replace(path: Path, pieces: Iterable[str], *, force: bool) -> None:
    """Write the pieces of a file beside its place, then move it there: nobody sees half of it.

    Raises:
        UsageError: The file has come into being meanwhile.
        WriteError: It cannot be written.
    """
    try:
        with placement.placed_file(path) as fresh:
            with fresh.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pieces)
            refuse(path, force=force)
    except OSError as error:
        raise WriteError(not_written(path, error)) from error
