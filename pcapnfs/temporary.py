"""Temporary directories that do not outlive their process, however it ends.

Takes a parent directory and a prefix; gives a directory. A killed process cannot remove its own, so
the next one does. A lock on a file inside shows whether the owner is alive: the system releases it
when the process ends. (Process numbers would not do: each container has its own.) Directories of
other users, those without such a file, and those that are being read are never touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pcapnfs import holding

PREFIX = "pcapnfs-"
"""How the names of temporary directories begin."""

LOCK = "in-use"
"""The file that the owner keeps locked."""


@dataclass(slots=True)
class Held:
    """A directory of this process."""

    path: Path
    """Where it is."""
    descriptor: int
    """The open lock file; -1 once it was closed."""

    def remove(self) -> None:
        """Remove the directory; what cannot be removed is left to the next run."""
        with contextlib.suppress(OSError):  # It is not there any more.
            _clear(self.path)
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def make(parent: Path | None = None, prefix: str = PREFIX) -> Held:
    """Make a directory that only this user can read, and mark it as in use.

    Args:
        parent: Where; None: the system's place for temporary files.
        prefix: How its name begins; the process number follows.

    Raises:
        OSError: It cannot be made.
    """
    path = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent))
    try:
        return take(path)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def take(path: Path) -> Held:
    """Mark an existing directory as temporary, to be removed by this process or the next.

    Raises:
        OSError: It cannot be written to.
    """
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # A file system without locks only costs the cleaning after a crash.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # What is empty is not locked yet, and nobody touches it.
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return Held(path, descriptor)


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a directory that goes away at the end.

    Raises:
        OSError: It cannot be made.
    """
    held = make()
    try:
        yield held.path
    finally:
        held.remove()


def sweep(parent: Path | None = None, prefix: str = PREFIX, *, containing: str = "") -> None:
    """Remove the directories that processes of this user left behind when they were killed.

    Args:
        parent: Where they are; None: where temporary files are.
        prefix: What their names begin with.
        containing: What their names contain.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    try:
        found = [
            entry
            for entry in os.scandir(place)
            if entry.name.startswith(prefix) and containing in entry.name
        ]
    except OSError:
        return  # It cannot be listed: what is there was not left by us.
    for entry in found:
        # Whatever hinders, another process may be at the same: the next run tries again.
        with contextlib.suppress(OSError):
            _remove_if_left(Path(entry.path))


def _remove_if_left(path: Path) -> None:
    facts = path.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
        return
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Fails while the owner lives.
        if os.fstat(descriptor).st_size > 0:
            _clear(path)
    finally:
        os.close(descriptor)


def _clear(path: Path) -> None:
    """Remove a directory that nobody reads, and what marks it last: this may be killed, too."""
    with holding.unheld(path) as free:
        if not free:
            return
        for entry in path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != LOCK:
                with contextlib.suppress(OSError):
                    entry.unlink()
        shutil.rmtree(path, ignore_errors=True)
