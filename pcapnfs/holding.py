"""Directories that stay whole for who reads them, also when something else gets their name.

Takes a directory; gives another path to it, which leads to the same files until it is let go. Who
replaces a directory removes the old one only when nobody holds it (`unheld`); what is left for that
reason is removed by who lets go of it, or by the next who replaces. The system lets go for a
process that ends. Where it has no locks, or no names for open directories, nothing is promised.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ATTEMPTS = 100
"""How often a directory is looked for that is replaced at this very moment."""

OPEN_FILES = Path("/proc/self/fd")
"""Where Linux has names for what a process has open."""


@dataclass(slots=True)
class Hold:
    """A directory that somebody reads."""

    name: Path
    """What it was called."""
    path: Path
    """Where it is reached, whatever it is called now."""
    descriptor: int
    """The open directory; -1 once it was let go, or where the user may not list it."""

    def let_go(self, replaced: Callable[[Path], object]) -> None:
        """Let it be removed; a second time does nothing.

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
    """Tell whether nobody holds a directory, and keep it so for the time of the context.

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
    """Lock, or fail with `BlockingIOError`; where there are no locks, do nothing."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            raise


def _is(name: Path, descriptor: int) -> bool:
    """Whether what is open has this name."""
    try:
        return os.path.samestat(name.stat(), os.fstat(descriptor))
    except OSError:
        return False
