"""Display filters that lead from a result to its packets in Wireshark.

Takes frame numbers; gives a filter as Wireshark 3.6 and later read it.
"""

from __future__ import annotations

from collections.abc import Iterable


def frames(numbers: Iterable[int]) -> str:
    """A filter for these frames: `frame.number in {3, 7..9}`.

    Raises:
        ValueError: There is no frame.
    """
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    if not spans:
        raise ValueError("a filter needs at least one frame")
    parts = [str(first) if first == last else f"{first}..{last}" for first, last in spans]
    return f"frame.number in {{{', '.join(parts)}}}"
