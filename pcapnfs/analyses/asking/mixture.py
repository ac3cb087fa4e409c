"""Where a sequence of symbols changes its mixture.

Takes symbols in order; gives the places at which a new mixture begins. The sequence is cut into the
pieces that describe it in the fewest bits: the symbols of a piece by the frequencies within that
piece (Krichevsky and Trofimov's estimator, which makes each new piece pay for learning them), and a
charge for each cut. The best cuts are found exactly (dynamic programming) among at most `BLOCKS`
places, and then moved to the very symbol, or to the longest pause among those that would do as
well. Promises the same cuts for the same symbols, at most
`PIECES` pieces, and time in proportion to the length. Knows nothing of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import distinct

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Floats = NDArray[np.float64]

BLOCKS = 256
"""Places at which a cut is looked for at first; the time grows with their square."""

PIECES = 10
"""Pieces at most: what is to be read at a glance."""

SYMBOLS = 32
"""Symbols that are told apart, the most frequent; all others count as one."""

NEARBY = 16
"""Symbols on either side of a cut, at least, to which it may be moved."""

LEAST_GAIN = 0.02
"""What a cut must save at least, as a share of the bits of the whole sequence. In a long sequence
the slightest drift of the mixture saves bits; this asks for a change that is worth telling."""


def changes(symbols: NDArray[Any], pauses: NDArray[Any]) -> list[int]:
    """The places at which a piece begins, 0 first; empty without symbols.

    Args:
        symbols: Numbers from 0 up.
        pauses: For each symbol, how long the pause before it was, in any unit.
    """
    length = len(symbols)
    if not length:
        return []
    folded = _folded(symbols)
    bits = _Bits(length, int(folded.max()) + 1)
    edges = distinct(np.linspace(0, length, min(length, BLOCKS) + 1).astype(np.int64))
    cuts = edges[_cuts(bits, bits.counted(folded, edges), length)]
    moved = [0]
    for place in range(1, len(cuts) - 1):
        beside = np.searchsorted(edges, cuts[place])
        low = min(edges[beside - 1], cuts[place] - NEARBY)
        high = max(edges[beside + 1], cuts[place] + NEARBY)
        first, last = moved[-1], int(cuts[place + 1])
        between = np.arange(max(first + 1, low), min(last - 1, high) + 1)
        moved.append(bits.best(folded, pauses, (first, last), between))
    return moved


def _folded(symbols: NDArray[Any]) -> Numbers:
    """The most frequent symbols numbered by rank, all others under the last number."""
    counts = np.bincount(symbols)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    folded: Numbers = np.minimum(rank, SYMBOLS - 1)[symbols]
    return folded


class _Bits:
    """How many bits a piece takes, by the number of its symbols of each kind."""

    def __init__(self, length: int, kinds: int) -> None:
        """Sums of logarithms for pieces up to a length."""
        self.kinds = kinds
        self._of_kind = self._sums(length, 0.5)
        self._of_all = self._sums(length, kinds / 2)

    @staticmethod
    def _sums(length: int, start: float) -> Floats:
        """For each n, the logarithm of start × (start + 1) × … of n factors."""
        return np.concatenate(([0.0], np.cumsum(np.log2(np.arange(length) + start))))

    def counted(self, symbols: Numbers, edges: Numbers) -> Numbers:
        """Symbols of each kind before each of the places given, which ascend."""
        block = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        inside = symbols[edges[0] : edges[-1]]
        cells = np.bincount(block * self.kinds + inside, minlength=(len(edges) - 1) * self.kinds)
        rows = np.cumsum(cells.reshape(-1, self.kinds), axis=0)
        return np.concatenate((np.zeros((1, self.kinds), np.int64), rows))

    def of(self, counts: Numbers) -> Floats:
        """Bits of pieces with the counts in the last axis."""
        bits: Floats = self._of_all[counts.sum(axis=-1)] - self._of_kind[counts].sum(axis=-1)
        return bits

    def best(
        self, symbols: Numbers, pauses: NDArray[Any], ends: tuple[int, int], between: Numbers
    ) -> int:
        """The best cut of the symbols between two ends, at one of the places given.

        A cut is known to the bits that it takes to name its place; whatever costs no more than
        that above the cheapest may be the right one.
        """
        counts = self.counted(symbols, np.concatenate(([ends[0]], between, [ends[1]])))
        bits = self.of(counts[1:-1]) + self.of(counts[-1] - counts[1:-1])
        likely = np.flatnonzero(bits <= bits.min() + np.log2(len(symbols)))
        longest = np.lexsort((bits[likely], -pauses[between[likely]]))[0]
        return int(between[likely[longest]])


def _cuts(bits: _Bits, counts: Numbers, length: int) -> list[int]:
    """The cheapest cuts among the edges that the counts stand for, with both ends."""
    blocks = len(counts) - 1
    cost = np.full((blocks + 1, blocks + 1), np.inf)
    for begin in range(blocks):
        cost[begin, begin + 1 :] = bits.of(counts[begin + 1 :] - counts[begin])
    charge = np.log2(length) + LEAST_GAIN * cost[0, -1]
    # best[end]: bits of the cheapest pieces up to there; one piece more in each round.
    best, begins, totals = cost[0], [], [cost[0, -1]]
    for pieces in range(2, PIECES + 1):
        paths = best[:, None] + cost
        begins.append(paths.argmin(axis=0))
        best = paths.min(axis=0)
        totals.append(best[-1] + (pieces - 1) * charge)
    cuts = [blocks]
    for round_ in reversed(range(int(np.argmin(totals)))):
        cuts.append(int(begins[round_][cuts[-1]]))
    return [0, *reversed(cuts)]
