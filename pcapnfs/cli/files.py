"""Results that go into a file of the user's choice.

Takes a path and text; writes the file whole or not at all, and never over another one unasked.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pcapnfs.errors import UsageError

STANDARD_OUTPUT = "-"
"""The path that stands for standard output."""


def refuse(path: Path, *, force: bool) -> None:
    """Say early that a file cannot be written, before the work is done for it.

    Raises:
        UsageError: The file exists and `force` is not given, something else than a file is there,
            or its directory does not exist.
    """
    if str(path) == STANDARD_OUTPUT:
        return
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no regular file; name another")
    if not path.parent.is_dir():
        raise UsageError(f"there is no directory {path.parent}")
    if path.exists() and not force:
        raise UsageError(f"{path} exists; --force overwrites it")


def replace(path: Path, text: str, *, force: bool) -> None:
    """Write the file beside its place, then move it there: nobody sees half of it.

    Raises:
        UsageError: The file has come into being meanwhile, or it cannot be written.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:32]}-")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        # A temporary file is its owner's alone; a report is as readable as any new file.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        refuse(path, force=force)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if temporary is not None:
            os.unlink(temporary)
