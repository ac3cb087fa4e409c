"""Numbers by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcapnfs.analyses.asking.chance import Chance

DRAWS = 60_000


def far(parts: int) -> float:
    """Five standard deviations of a count in one of so many equal parts."""
    return 5 * math.sqrt(DRAWS / parts * (1 - 1 / parts))


@pytest.mark.parametrize(("below", "parts"), [(1, 1), (2, 2), (7, 7), (1000, 10), (2**32, 8)])
def test_whole_numbers_lie_in_their_range_and_are_as_frequent_each(below: int, parts: int) -> None:
    found = Chance(3).whole(below, DRAWS)
    assert len(found) == DRAWS
    assert found.min() >= 0
    assert found.max() < below
    counts = np.bincount(found // (below // parts), minlength=parts)
    assert abs(counts - DRAWS / parts).max() <= far(parts)


def test_parts_lie_between_0_and_1_and_spread_evenly() -> None:
    found = Chance(4).parts(DRAWS)
    assert found.min() >= 0
    assert found.max() < 1
    counts = np.bincount((found * 10).astype(int), minlength=10)
    assert abs(counts - DRAWS / 10).max() <= far(10)


def test_numbers_that_follow_one_another_have_nothing_to_do_with_each_other() -> None:
    found = Chance(5).parts(DRAWS)
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.03


def test_the_seed_decides() -> None:
    one, same, other = (Chance(seed).whole(1000, 100) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_numbers_are_those_of_the_published_generator() -> None:
    # The first two outputs of splitmix64.c for this seed; of each the upper half is drawn.
    published = [6457827717110365317, 3203168211198807973]
    chance = Chance(1234567)
    found = [int(chance.whole(2**32, 1)[0]) for _ in published]
    assert found == [number >> 32 for number in published]
