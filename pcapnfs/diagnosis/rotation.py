"""Which files of a rotation were not given, as the numbers in their names tell.

Takes the paths of captures in order of time; gives numbers. `tcpdump -C` puts a number behind the
name (none behind the first without -W), dumpcap and Wireshark one before the time in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pcapnfs import naming

_BEFORE_TIME = re.compile(r"(?P<stem>.+)_(?P<number>\d{5,9})_\d{14}(?:\.\w+)?")


def not_given(files: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """The first and last of the numbers between two files that follow one another.

    A number that is lower than the one before begins the ring anew: how many it has is not known.
    """
    latest: dict[str, int] = {}
    gaps: list[tuple[int, int]] = []
    for path in files:
        name = _numbered(path)
        if name is None:
            continue
        number = int(name.number or 0)
        before = latest.get(name.stem, number)
        if number > before + 1:
            gaps.append((before + 1, number - 1))
        latest[name.stem] = number
    return tuple(gaps)


def _numbered(path: str) -> naming.Named | None:
    """The name of a file that may be of a rotation."""
    timed = _BEFORE_TIME.fullmatch(naming.unpacked(path))
    return naming.capture(path) if timed is None else naming.Named(timed["stem"], timed["number"])


def told(files: Iterable[str]) -> str:
    """That in a sentence; nothing where none is missing."""
    gaps = not_given(files)
    if not gaps:
        return ""
    one = len(gaps) == 1 and gaps[0][0] == gaps[0][1]
    return (
        f"By their names the files are of a rotation, of which {'number' if one else 'numbers'} "
        f"{', '.join(_named(gaps))} {'was' if one else 'were'} not given."
    )


def _named(gaps: Iterable[tuple[int, int]]) -> Iterator[str]:
    for first, last in gaps:
        yield str(first) if first == last else f"{first} to {last}"
