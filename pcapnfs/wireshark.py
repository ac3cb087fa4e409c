"""Display filters that lead from a result to its packets in Wireshark.

Takes frame numbers; gives a filter as Wireshark 3.6 and later read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pcapnfs.spilled import ordered


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
    between = "frame.number in {"
    for first, last in _spans(number for (number,) in ordered((number,) for number in numbers)):
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
