"""Directories and files that are there whole or not at all.

Takes a target; gives a place beside it, which gets the target's name once all of it is on the disk.
Promises that whatever interrupts it (a full disk, a signal, a power cut) leaves the target as it
was, absent or the old one, and that what an earlier attempt left behind is removed. A directory
that is replaced stays whole for who reads it at that moment (`holding.py`). A device or a
pipe keeps its name, and gets the bytes at the end: `-o /dev/stdout` must not put a file there. A
link keeps its name as well: the file behind it is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pcapnfs import temporary
from pcapnfs.errors import UsageError

if TYPE_CHECKING:
    from typing import BinaryIO

STANDARD_OUTPUT = "-"
"""The path that stands for standard output, which has no place."""

UNFINISHED = ".unfinished-"
"""Between the hidden name of a target and a number, in the name of a directory being filled."""

_SHOWN = 32
"""Characters of a target's name in that of its unfinished file: names have at most 255 bytes."""

_STANDARD = (1, 2)
"""Standard output and standard error: `/dev/stdout` may be a link to an ordinary file."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2)."""
_HERE = -100
"""AT_FDCWD."""


@contextmanager
def placed(target: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty directory beside the target; at the end it takes the target's place.

    With `replace`, what stood in that place is removed, once nobody reads it any more. Whether it
    may be is the caller's business.

    Raises:
        UsageError: Without `replace`, another one has come there in the meantime.
        OSError: The directory cannot be made there, or something could not be written.
    """
    target = target.absolute()
    sweep(target)
    held = temporary.make(target.parent, _prefix(target))
    try:
        yield held.path
        held.path.chmod(0o777 & ~_umask())
        for path in [*held.path.rglob("*"), held.path]:
            _sync(path)
        old = _exchange(held.path, target, replace=replace)
        (target / temporary.LOCK).unlink()
        _sync(target.parent)
        if old is not None:
            old.remove()
    finally:
        held.remove()


def sweep(target: Path) -> None:
    """Remove what attempts to write the target left behind, and what it was before."""
    temporary.sweep(target.absolute().parent, _prefix(target))


def _prefix(target: Path) -> str:
    """How the names begin of what is to become the target."""
    return f".{target.name[:_SHOWN]}{UNFINISHED}"


def only_written_to(target: Path) -> bool:
    """Whether the target is there and no file to replace: a device, a pipe, a standard stream."""
    try:
        found = target.stat()
    except OSError:
        return False
    if stat.S_ISREG(found.st_mode):
        return _stream(found) is not None
    return not stat.S_ISDIR(found.st_mode)


def _stream(found: os.stat_result) -> int | None:
    """The standard stream that leads to what was found; None: none does."""
    for descriptor in _STANDARD:
        with contextlib.suppress(OSError):  # It is closed.
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _sink(target: Path) -> BinaryIO:
    """What is only written to, open. A stream of this process goes on where it is: `>>` appends."""
    stream = _stream(target.stat())
    return target.open("wb") if stream is None else os.fdopen(os.dup(stream), "wb")


@contextmanager
def placed_file(target: Path) -> Iterator[Path]:
    """Give a path beside the target for a file, which takes the target's place at the end.

    It lets those read and write it who could the old one. What is only written to gets the bytes.
    Of a link the target is what it leads to.

    Raises:
        OSError: Something could not be written.
    """
    if only_written_to(target):
        with temporary.scratch() as directory:
            fresh = directory / "whole"
            fresh.touch()
            yield fresh
            with fresh.open("rb") as source, _sink(target) as sink:
                shutil.copyfileobj(source, sink)
        return
    target = behind_links(target).absolute()
    with beside(target) as directory:
        fresh = directory / "whole"
        fresh.touch()
        yield fresh
        fresh.chmod(_mode(target))
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """Give an empty directory beside the target for what will become it; it is removed at the end.

    Of what is only written to it is elsewhere, and of a link beside what it leads to.

    Raises:
        OSError: It cannot be made.
    """
    if only_written_to(target):
        with temporary.scratch() as directory:
            yield directory
        return
    target = behind_links(target).absolute()
    sweep(target)
    held = temporary.make(target.parent, _prefix(target))
    try:
        yield held.path
    finally:
        held.remove()


def behind_links(target: Path) -> Path:
    """Where a file of this name is to stand: the name itself, unless it is a link.

    The system is asked whether it would write there: it refuses a link that somebody else has put
    into a directory that is open to everybody, such as /tmp.

    Raises:
        OSError: It would not, or the links lead nowhere.
    """
    if not target.is_symlink():
        return target
    with contextlib.suppress(FileNotFoundError):  # The link may be there first.
        os.close(os.open(target, os.O_WRONLY))
    return Path(os.path.realpath(target))


def _exchange(fresh: Path, target: Path, *, replace: bool) -> temporary.Held | None:
    """Give a directory the target's name; gives what had it, under another name, if there was any.

    That one is marked at once: who is killed before it is removed leaves it to the next.
    """
    try:
        fresh.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        if not replace:
            raise UsageError(f"{target}: another process has made it in the meantime") from error
    else:
        return None
    if _swapped(fresh, target):
        return temporary.take(fresh)
    # Without renameat2 there is a moment without the target; the old one is whole all the while.
    old = fresh.with_name(f"{fresh.name}.old")
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    return temporary.take(old)


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


def _mode(target: Path) -> int:
    """What a file of this name allows whom: what the one allows that is there, or any new one."""
    with contextlib.suppress(OSError):
        found = target.lstat()
        if stat.S_ISREG(found.st_mode):
            return found.st_mode & 0o777
    return 0o666 & ~_umask()


def _umask() -> int:
    """What the user's files are not to allow."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
