"""Numbers by chance, the same ones for the same seed.

SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): each number is its place in the row, mixed. That is
good enough for resampling, and four operations on an array; numpy's own generators take 9 ms to
import, as much as several questions to a small capture. Arithmetic, knows no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 32
"""Of each number: more than the values that anybody draws from here, by far."""

STEP = 0x9E3779B97F4A7C15
"""From place to place: 2^64 divided by the golden ratio, odd."""

FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Of the mixing."""

WORD = 2**64
"""Arithmetic is modulo this, as that of unsigned arrays is."""


class Chance:
    """A source of numbers, each drawn from the same range with the same probability."""

    def __init__(self, seed: int) -> None:
        """Begin where the seed says."""
        self._state = seed % WORD

    def whole(self, below: int, count: int) -> NDArray[np.int64]:
        """So many whole numbers from 0 up to, and without, `below` (32 bits at most)."""
        return (self._bits(count) * np.uint64(below) >> np.uint64(BITS)).astype(np.int64)

    def parts(self, count: int) -> NDArray[np.float64]:
        """So many numbers from 0 up to, and without, 1."""
        return self._bits(count) / 2.0**BITS

    def _bits(self, count: int) -> NDArray[np.uint64]:
        drawn = np.arange(1, count + 1, dtype=np.uint64)
        drawn *= np.uint64(STEP)
        drawn += np.uint64(self._state)
        self._state = (self._state + count * STEP) % WORD
        for shift, factor in ((30, FIRST_FACTOR), (27, SECOND_FACTOR)):
            drawn ^= drawn >> np.uint64(shift)
            drawn *= np.uint64(factor)
        drawn ^= drawn >> np.uint64(31)
        return drawn >> np.uint64(64 - BITS)
