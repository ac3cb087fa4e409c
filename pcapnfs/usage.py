"""What may be asked of captures, ports and places: refused before any work begins.

Takes what was named; raises a `UsageError` with one sentence where it cannot be meant.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from pcapnfs import meta, store
from pcapnfs.errors import UsageError

STDIN = 0
"""The descriptor of standard input, from which the core reads."""

PathLike = str | os.PathLike[str]
"""How a capture is named."""


def named(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """The names of one file or several.

    Raises:
        UsageError: There is none, one is named twice, or a name is empty.
    """
    names = [
        os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)
    ]
    if not names:
        raise UsageError("name at least one capture")
    if "" in names:
        raise UsageError("the name of a capture is empty")
    demand_read_once(names)
    demand_once(names)
    return names


def demand_once(paths: Sequence[PathLike]) -> None:
    """Refuse a file or trace that is named twice, also by another path: its calls would count so.

    Raises:
        UsageError: There is one.
    """
    before: dict[tuple[int, int], str] = {}
    for path in [os.fspath(path) for path in paths]:
        try:
            found = Path(path).stat()
        except OSError:
            continue  # Who opens it says what is wrong.
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            continue
        file = found.st_dev, found.st_ino
        if file in before:
            first = before[file]
            raise UsageError(
                f"{path}: it is named twice; everything in it would count double"
                if first == path
                else f"{path}: that is {first} once more; everything in it would count double"
            )
        before[file] = path


def demand_ports(ports: Sequence[int]) -> None:
    """Refuse numbers that no port has.

    Raises:
        UsageError: There is one.
    """
    for port in ports:
        if not 0 < port < 1 << 16:
            raise UsageError(f"{port} is no port; ports go from 1 to 65535")


def demand_read_once(paths: Sequence[PathLike]) -> None:
    """Refuse to read standard input twice, and to wait for a capture that somebody would type.

    Raises:
        UsageError: It is named more than once, or is a terminal.
    """
    named = [os.fspath(path) for path in paths].count(meta.STANDARD_INPUT)
    if named > 1:
        raise UsageError("-: standard input can be read once; it is named more often")
    if named and os.isatty(STDIN):
        raise UsageError(
            "-: standard input is the terminal; pipe a capture in (tcpdump -U -w - … | pcapnfs …), "
            "or name a file"
        )


def demand_files(paths: Iterable[PathLike]) -> None:
    """Refuse what cannot be read a second time: standard input, pipes, devices.

    Raises:
        UsageError: There is one.
    """
    for source in paths:
        path = os.fspath(source)
        if path == meta.STANDARD_INPUT or (
            os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
        ):
            raise UsageError(f"{path}: the capture is read twice, so it must be a file")


def demand_outside(target: Path) -> None:
    """Refuse to write into a trace: its directory is replaced as one, with all that is in it.

    Raises:
        UsageError: The target lies in one.
    """
    if (trace := store.around(target)) is not None:
        raise UsageError(f"{target} is in the trace {trace}; choose another place")
