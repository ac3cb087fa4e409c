"""Directories and files that are there whole or not at all.

Takes a target; gives a place beside it, which gets the target's name once all of it is on the disk.
Promises that whatever interrupts it (a full disk, a signal, a power cut) leaves the target as it
was, absent or the old one, and that what an earlier attempt left behind is removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcapnfs import temporary
from pcapnfs.errors import UsageError, said

UNFINISHED = ".unfinished-"
"""Between the hidden name of a target and a number, in the name of a directory being filled."""

_SHOWN = 32
"""Characters of a target's name in that of its unfinished file: names have at most 255 bytes."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2)."""
_HERE = -100
"""AT_FDCWD."""


@contextmanager
def placed(target: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty directory beside the target; at the end it takes the target's place.

    With `replace`, what stood in that place is removed. Whether it may be is the caller's business.

    Raises:
        UsageError: The directory cannot be made there; without `replace`, another one has come
            there in the meantime.
        OSError: Something could not be written.
    """
    target = target.absolute()
    prefix = f".{target.name}{UNFINISHED}"
    temporary.sweep(target.parent, prefix)
    try:
        held = temporary.make(target.parent, prefix)
    except OSError as error:
        raise UsageError(f"{target}: {said(error)}") from error
    try:
        yield held.path
        held.path.chmod(0o777 & ~_umask())
        for path in [*held.path.rglob("*"), held.path]:
            _sync(path)
        _exchange(held.path, target, replace=replace)
        (target / temporary.LOCK).unlink()
        _sync(target.parent)
    finally:
        held.remove()


@contextmanager
def placed_file(target: Path) -> Iterator[Path]:
    """Give a path beside the target for a file, which takes the target's place at the end.

    Raises:
        OSError: Something could not be written.
    """
    target = target.absolute()
    prefix = f".{target.name[:_SHOWN]}{UNFINISHED}"
    handle, name = tempfile.mkstemp(prefix=prefix, dir=target.parent)
    os.close(handle)
    fresh = Path(name)
    try:
        yield fresh
        # mkstemp lets nobody else read; the result is a file like any other.
        fresh.chmod(0o666 & ~_umask())
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """Give an empty directory beside the target for what will become it; it is removed at the end.

    Raises:
        OSError: It cannot be made.
    """
    target = target.absolute()
    prefix = f".{target.name[:_SHOWN]}{UNFINISHED}"
    temporary.sweep(target.parent, prefix)
    held = temporary.make(target.parent, prefix)
    try:
        yield held.path
    finally:
        held.remove()


def _exchange(fresh: Path, target: Path, *, replace: bool) -> None:
    """Give a directory the target's name; what had it gets the other name, if there was any."""
    try:
        fresh.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        if not replace:
            raise UsageError(f"{target}: another process has made it in the meantime") from error
    else:
        return
    if _swapped(fresh, target):
        return
    # Without renameat2 there is a moment without the target; the old one is whole all the while.
    old = fresh.with_name(f"{fresh.name}.old")
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _swapped(one: Path, other: Path) -> bool:
    """Exchange two names at once, where the system can."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # Seldom needed, and heavy.

    with contextlib.suppress(AttributeError):  # A C library without it.
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
    return False


def _sync(path: Path) -> None:
    """Have a file or directory on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """What the user's files are not to allow."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
