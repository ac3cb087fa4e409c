"""Which files of a rotation were not given, as the numbers in their names tell.

Takes the paths of captures in order of time; gives numbers, as they are told. `tcpdump -C` puts a
number behind the name (none behind the first without -W), dumpcap and Wireshark one before the time
in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pcapnfs import naming

_BEFORE_TIME = re.compile(r"(?P<stem>.+)_(?P<number>\d{5,9})_\d{14}(?:\.\w+)?")


def not_given(files: Iterable[str]) -> tuple[str, ...]:
    """The numbers between two files that follow one another: `1`, or `2 to 3`.

    A number that is lower than the one before begins the ring anew: how many it has is not known.
    One without packets is in no order of time: it counts wherever it stands.
    """
    latest: dict[str, int] = {}
    given: dict[str, set[int]] = {}
    gaps: list[tuple[str, int, int]] = []
    for stem, number in _numbered(files):
        before = latest.get(stem, number)
        if number > before + 1:
            gaps.append((stem, before + 1, number - 1))
        latest[stem] = number
        given.setdefault(stem, set()).add(number)
    return tuple(
        str(first) if first == last else f"{first} to {last}"
        for stem, begin, end in gaps
        for first, last in _without(given[stem], begin, end)
    )


def _numbered(files: Iterable[str]) -> Iterator[tuple[str, int]]:
    """What the names of a rotation have in common, and the number of each."""
    for path in files:
        timed = _BEFORE_TIME.fullmatch(naming.unpacked(path))
        if timed is not None:
            yield timed["stem"], int(timed["number"])
        elif (name := naming.capture(path)) is not None:
            yield name.stem, int(name.number or 0)


def _without(given: set[int], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The runs of numbers from first to last that are not among those given."""
    for number in sorted(each for each in given if first <= each <= last):
        if first < number:
            yield first, number - 1
        first = number + 1
    if first <= last:
        yield first, last
