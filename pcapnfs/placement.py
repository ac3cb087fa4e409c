"""Files and directories that are written atomically: complete, or not there.

Takes a target; gives a temporary path beside it, which is renamed to the target once everything is
on disk. Promises that an interruption (full disk, signal, power cut) leaves the target as it was,
absent or the old one, and that leftovers of an earlier attempt are removed. A directory that is
replaced stays intact for processes that are reading it (`holding.py`). A device or pipe is not
replaced but written to at the end: `-o /dev/stdout` must not create a file there. A symbolic link
is kept as well: the file that it points to is replaced.
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
from pcapnfs.errors import WriteError

if TYPE_CHECKING:
    from typing import BinaryIO

STANDARD_OUTPUT = "-"
"""The path that stands for standard output, which has no directory."""

UNFINISHED = ".unfinished-"
"""Between the hidden name of a target and a number, in the name of a directory being filled."""

_SHOWN = 32
"""Characters of a target's name in that of its unfinished file: names have at most 255 bytes."""

_STANDARD = (1, 2)
"""Standard output and standard error: `/dev/stdout` may be a link to an ordinary file."""

_NOT_GIVEN = (errno.EPERM, errno.EINVAL, errno.EOPNOTSUPP)
"""What chown(2) says of an owner or group that a file cannot be given: only root may; the user
namespace or the file server does not know it; the file system has none."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2(2)."""
_HERE = -100
"""AT_FDCWD."""


@contextmanager
def placed(target: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty directory beside the target; at the end it is renamed to the target.

    With `replace`, the old target is removed once nobody reads it any more; whether it may be
    removed is for the caller to decide.

    Raises:
        WriteError: Without `replace`, the target has come into being meanwhile.
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
    """Remove leftovers beside the target of attempts to write it or another, and old targets.

    Nobody may ever write the same one again. Those that are still written or read stay.
    """
    temporary.sweep(target.absolute().parent, ".", containing=UNFINISHED)


def _prefix(target: Path) -> str:
    """Prefix of the names of temporary paths for the target."""
    return f".{target.name[:_SHOWN]}{UNFINISHED}"


def only_written_to(target: Path) -> bool:
    """Whether the target exists and is not replaced: a device, a pipe or a standard stream."""
    try:
        found = target.stat()
    except OSError:
        return False
    if stat.S_ISREG(found.st_mode):
        return _stream(found) is not None
    return not stat.S_ISDIR(found.st_mode)


def _stream(found: os.stat_result) -> int | None:
    """The standard stream that is this file; None if none is."""
    for descriptor in _STANDARD:
        with contextlib.suppress(OSError):  # It is closed.
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _sink(target: Path) -> BinaryIO:
    """Open such a target. A standard stream keeps its position, so that `>>` appends."""
    stream = _stream(target.stat())
    return target.open("wb") if stream is None else os.fdopen(os.dup(stream), "wb")


@contextmanager
def placed_file(target: Path) -> Iterator[Path]:
    """Give a path beside the target for a file, which is renamed to the target at the end.

    It gets the permissions of the old file and, where the system lets it, its owner and group:
    root does not take a file away from the user who reads it. A device, pipe or standard stream
    gets the bytes instead. If the target is a symbolic link, the file that it points to is
    replaced.

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
        _take_over(fresh, target)
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """Give an empty directory beside the target for temporary files; it is removed at the end.

    For a device, pipe or standard stream it is elsewhere; for a symbolic link, beside the file that
    it points to.

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
    """The path of the file itself: that behind symbolic links, if the name is one.

    It is opened for writing, since the system refuses to follow a link that another user has put
    into a world-writable directory such as /tmp.

    Raises:
        OSError: The system refuses, or the links lead nowhere.
    """
    if not target.is_symlink():
        return target
    with contextlib.suppress(FileNotFoundError):  # The link may be there first.
        os.close(os.open(target, os.O_WRONLY))
    return Path(os.path.realpath(target))


def _exchange(fresh: Path, target: Path, *, replace: bool) -> temporary.Held | None:
    """Rename a directory to the target; gives the old target under its new name, if there was one.

    The old one is marked as temporary at once: if this process is killed, the next removes it.
    """
    try:
        fresh.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        if not replace:
            raise WriteError(f"{target}: another process has made it in the meantime") from error
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
    """Flush a file or directory to disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_over(fresh: Path, target: Path) -> None:
    """Give a file the owner, group and permissions of the existing one, or those of any new one.

    A user who is not root cannot give the owner away, and a group only if they are in it. Another
    group than the old one may do no more than others: what was for the old one is not for it.
    """
    old = None
    with contextlib.suppress(OSError):
        found = target.lstat()
        old = found if stat.S_ISREG(found.st_mode) else None
    if old is None:
        fresh.chmod(0o666 & ~_umask())
        return
    now, mode = fresh.stat(), old.st_mode & 0o777
    if old.st_gid != now.st_gid and not _given(fresh, -1, old.st_gid):
        mode = (mode & 0o707) | (mode & 0o007) << 3
    fresh.chmod(mode)
    if old.st_uid != now.st_uid:
        _given(fresh, old.st_uid, -1)


def _given(file: Path, owner: int, group: int) -> bool:
    """Whether the system lets a file have this owner or group (-1: as it is)."""
    try:
        os.chown(file, owner, group)
    except OSError as error:
        if error.errno not in _NOT_GIVEN:
            raise
        return False
    return True


def _umask() -> int:
    """The umask of this process."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
