"""The rank test: by hand where it is small, and by its promise where neighbours are alike."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.comparison.rank_test import BLOCKS, corrected, shift, two_sided


def test_a_shift_by_a_constant_is_found_exactly() -> None:
    before = np.random.default_rng(0).permutation(40.0 + np.arange(40))
    found = shift(before, before + 100)
    assert found.shift_s == 100
    assert found.superiority == 1
    assert found.p < 1e-4


def test_equal_times_are_equal() -> None:
    found = shift(np.full(40, 2.0), np.full(50, 2.0))
    assert (found.shift_s, found.superiority, found.p) == (0, 0.5, 1)


def test_pairs_are_counted_with_half_of_the_ties() -> None:
    before, after = np.repeat([1.0, 2.0], 20), np.repeat([2.0, 3.0], 20)
    # Of four kinds of pairs three go up, and one is a tie.
    assert shift(before, after).superiority == pytest.approx((3 + 0.5) / 4)


def test_sides_exchanged_change_the_sign_only() -> None:
    generator = np.random.default_rng(1)
    before, after = generator.exponential(1, 300), generator.exponential(1.2, 200)
    there, back = shift(before, after), shift(after, before)
    assert there.shift_s == pytest.approx(-back.shift_s)
    assert there.superiority == pytest.approx(1 - back.superiority)
    assert there.p == pytest.approx(back.p)


def test_a_tail_decides_nothing() -> None:
    generator = np.random.default_rng(2)
    before, after = generator.normal(10, 1, 500), generator.normal(10, 1, 500)
    after[::50] = 1e6
    assert abs(shift(before, after).shift_s) < 0.3


def test_many_times_are_compared_by_quantiles() -> None:
    generator = np.random.default_rng(3)
    before = generator.exponential(1, 30_000)
    assert shift(before, before + 0.25).shift_s == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(("alike", "most"), [(1, 0.05), (10, 0.05), (40, 0.08)])
def test_nothing_is_found_where_nothing_is(alike: int, most: float) -> None:
    """Also where what slows one call slows its neighbours: a plain test finds something there."""
    generator = np.random.default_rng(4)

    def run() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        slow = np.repeat(generator.normal(0, 1, 400 // alike), alike)
        return np.exp(slow + generator.normal(0, 0.2, 400))

    found = [shift(run(), run()).p < 0.01 for _ in range(400)]
    assert np.mean(found) <= most


def test_blocks_widen_what_chance_may_do() -> None:
    slow = np.repeat([1.0, 5.0], 100)
    assert shift(slow, slow[::-1]).inflation > 10
    assert shift(np.tile([1.0, 5.0], 100), np.tile([5.0, 1.0], 100)).inflation == 1


@pytest.mark.parametrize(
    ("distance", "freedom", "probability"),
    # Tables of Student's distribution.
    [(2.101, 18, 0.05), (2.878, 18, 0.01), (4.303, 2, 0.05), (0.0, 18, 1.0), (-2.101, 18, 0.05)],
)
def test_students_distribution(distance: float, freedom: int, probability: float) -> None:
    assert two_sided(distance, freedom) == pytest.approx(probability, abs=2e-5)
    assert two_sided(1e9, 2 * BLOCKS - 2) == pytest.approx(0, abs=1e-12)


def test_the_correction_for_several_tests() -> None:
    assert corrected([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.6, 0.7]) == [1.0, 1.0]
    assert corrected([]) == []
