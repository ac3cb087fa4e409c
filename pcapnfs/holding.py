"""Directories that stay intact while they are read, even if they are replaced meanwhile.

Takes a directory; gives another path to it, which leads to the same files until it is let go. A
process that replaces a directory removes the old one only if nobody holds it (`unheld`); otherwise
the last reader removes it, or the next process that replaces it. A hold is a shared lock, which the
system releases when the process ends. On systems without locks, or without paths for open
directories, nothing is promised.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ATTEMPTS = 100
"""How often opening is tried again if the directory is being replaced."""

OPEN_FILES = Path("/proc/self/fd")
"""Where Linux has paths for the open files of a process."""


@dataclass(slots=True)
class Hold:
    """A directory that is being read."""

    name: Path
    """Its path when it was opened."""
    path: Path
    """A path that leads to it even after it was renamed."""
    descriptor: int
    """The open directory; -1 once it was let go, or where the user may not list it."""

    def let_go(self, replaced: Callable[[Path], object]) -> None:
        """Release it, so that it may be removed; a second call does nothing.

        Args:
            replaced: Called with its name if that is no longer its.
        """
        if self.descriptor < 0:
            return
        descriptor, self.descriptor = self.descriptor, -1
        moved = not _is(self.name, descriptor)
        os.close(descriptor)
        if moved:
            replaced(self.name)


def hold(name: Path) -> Hold:
    """Hold a directory.

    Raises:
        OSError: It is not there, or is none.
    """
    for _ in range(ATTEMPTS):
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            return Hold(name, name, -1)  # Who knows the names in it may still read them.
        try:
            _lock(descriptor, fcntl.LOCK_SH)
        except BlockingIOError:
            os.close(descriptor)  # It is being removed: another one has its name.
            continue
        if _is(name, descriptor):
            path = OPEN_FILES / str(descriptor)
            return Hold(name, path if path.is_dir() else name, descriptor)
        os.close(descriptor)
    raise BlockingIOError(f"{name} is replaced again and again")


@contextlib.contextmanager
def unheld(path: Path) -> Iterator[bool]:
    """Tell whether nobody holds a directory, and keep it so while the context lasts.

    Raises:
        OSError: It is not there, or is none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _lock(descriptor, fcntl.LOCK_EX)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def _lock(descriptor: int, how: int) -> None:
    """Lock, or raise `BlockingIOError`; does nothing on a file system without locks."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            raise


def _is(name: Path, descriptor: int) -> bool:
    """Whether the open directory still has this name."""
    try:
        return os.path.samestat(name.stat(), os.fstat(descriptor))
    except OSError:
        return False
