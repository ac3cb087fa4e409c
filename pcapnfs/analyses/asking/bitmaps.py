"""Attributes in the bitmaps of NFSv4 (RFC 8881 section 3.3.7), as the column `attributes` has them.

Takes attributes by number; gives SQL. A bitmap is words of 32 bits in hexadecimal, eight digits
each, the first word first, joined by colons.
"""

from __future__ import annotations

from pcapnfs.analyses.asking.texts import among

DIGITS = 8
"""Hexadecimal digits of a word; a colon follows."""


def holds(*attributes: int, column: str = "attributes") -> str:
    """SQL: a bitmap holds any of these attributes; NULL where the column is.

    Args:
        attributes: Their numbers.
        column: A column of bitmaps.
    """
    masks: dict[int, int] = {}
    for attribute in attributes:
        word, bit = divmod(attribute, 4 * DIGITS)
        place = word * (DIGITS + 1) + DIGITS - bit // 4
        masks[place] = masks.get(place, 0) | 1 << bit % 4
    digits = (
        among(
            f"substr({column}, {place}, 1)",
            (f"{digit:x}" for digit in range(16) if digit & mask),
        )
        for place, mask in masks.items()
    )
    return f"({' or '.join(digits)})"
