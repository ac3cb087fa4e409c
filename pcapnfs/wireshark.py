"""Display filters that lead from a result to its packets in Wireshark.

Takes frame numbers; gives a filter as Wireshark 3.6 and later read it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pcapnfs.spilled import ordered

if TYPE_CHECKING:
    from pcapnfs.meta import Stream


def frames(numbers: Iterable[int]) -> str:
    """A filter for these frames: `frame.number in {3, 7..9}`.

    Raises:
        ValueError: There is no frame.
    """
    return "".join(pieces(numbers))


def pieces(numbers: Iterable[int]) -> Iterator[str]:
    """The same piece by piece, of any number of frames.

    Raises:
        ValueError: There is no frame.
    """
    return _pieces(number for (number,) in ordered((number,) for number in numbers))


def by_stream(
    numbers: Iterable[int], streams: Sequence[Stream]
) -> Iterator[tuple[Stream, Iterator[str]]]:
    """The same for each stream of packets that has some of the frames, by its own numbers.

    The pieces of one are to be taken before the next is asked for.
    """
    begins = [stream.frames_before for stream in streams]
    # Of those that begin alike all but the last are without packets.
    sorted_ = (number for (number,) in ordered((number,) for number in numbers))
    for place, own in groupby(sorted_, lambda number: max(1, bisect_left(begins, number)) - 1):
        stream = streams[place]
        yield stream, _pieces(number - stream.frames_before for number in own)


def _pieces(numbers: Iterable[int]) -> Iterator[str]:
    """The filter for frames in ascending order."""
    between = "frame.number in {"
    for first, last in _spans(numbers):
        yield f"{between}{first}" if first == last else f"{between}{first}..{last}"
        between = ", "
    if between != ", ":
        raise ValueError("a filter needs at least one frame")
    yield "}"


def _spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of numbers that follow each other, of ascending ones."""
    begin = last = None
    for number in numbers:
        if begin is None or last is None:
            begin = number
        elif number > last + 1:
            yield begin, last
            begin = number
        last = number
    if begin is not None and last is not None:
        yield begin, last
