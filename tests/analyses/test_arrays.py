"""Median, quantiles and distinct values are numpy's; sums and counts those of all at once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcapnfs.analyses.asking import arrays
from pcapnfs.analyses.asking.arrays import distinct, looked_up, median, quantiles
from tests.unit.rows import ROOT


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40))
def test_the_median_of_any_numbers_is_that_of_numpy(values: list[float]) -> None:
    assert median(np.array(values)) == np.median(values)


def test_of_whole_numbers_it_may_be_a_half() -> None:
    assert median(np.array([4, 1, 3, 2])) == 2.5
    assert median(np.array([7])) == 7.0


def test_of_nothing_there_is_none() -> None:
    with pytest.raises(ValueError, match="median"):
        median(np.array([]))


@given(
    st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=40)
    | st.lists(st.integers(0, 2**40), min_size=1, max_size=40),
    st.floats(0, 1),
)
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    found = quantiles(np.array(values), (share, 0.25, 0.5, 0.75))
    assert found == np.quantile(values, (share, 0.25, 0.5, 0.75)).tolist()


def test_nothing_has_no_quantiles() -> None:
    with pytest.raises(ValueError, match="quantiles"):
        quantiles(np.array([]), (0.5,))


@given(st.lists(st.integers(-9, 9), max_size=40))
def test_each_value_is_given_once_and_in_order(values: list[int]) -> None:
    found = np.array(values, np.int64)
    assert distinct(found).tolist() == sorted(set(values))
    assert found.tolist() == values


def test_a_summary_needs_no_masked_arrays() -> None:
    asked = (
        "import sys, pcapnfs\n"
        "with pcapnfs.open('samples/k61-tar-v3.pcap') as trace:\n"
        "    pcapnfs.summarize(trace)\n"
        "assert 'numpy.ma' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", asked], cwd=ROOT, check=True)


def test_values_are_looked_up_however_large_they_are() -> None:
    values = np.array([4_000_000_000, 7, 4_000_000_000, 0], np.uint32)
    found = looked_up(values, {7: 2, 4_000_000_000: -1, 0: 5, 9: 6})
    assert found.tolist() == [-1, 2, -1, 5]
    assert looked_up(np.zeros(0, np.uint32), {}).tolist() == []


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three values are looked at together."""
    monkeypatch.setattr(arrays, "PIECE", 3)


@pytest.mark.usefixtures("few")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-9, 9), st.booleans()), max_size=20))
def test_sums_and_counts_of_groups_are_those_of_all_values_together(
    rows: list[tuple[int, float, bool]],
) -> None:
    groups = np.array([group for group, _, _ in rows], np.int32)
    values = np.array([value for _, value, _ in rows], np.float64)
    which = np.array([each for _, _, each in rows], np.bool_)
    for chosen in (None, which):
        kept = np.ones(len(rows), np.bool_) if chosen is None else chosen
        expected = np.bincount(groups[kept], values[kept], 5)
        assert arrays.added(groups, values, 5, chosen).tolist() == expected.tolist()
        counts = np.bincount(groups[kept], minlength=5)
        assert arrays.counted(groups, 5, chosen).tolist() == counts.tolist()


@pytest.mark.usefixtures("few")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-1, 5), max_size=40))
def test_each_groups_places_are_found_in_order(groups: list[int]) -> None:
    found = arrays.by_group(np.array(groups, np.int8), 4)
    expected = [[place for place, of in enumerate(groups) if of == group] for group in range(4)]
    assert [each.tolist() for each in found] == expected
    assert arrays.by_group(np.array(groups, np.int8), 0) == []


def test_there_may_be_more_groups_than_have_a_place_in_few_bits() -> None:
    for number in (255, 256, 65_535, 65_536, 70_000):
        groups = np.array([number, number - 1, 0, -1, number - 1], np.int32)
        found = arrays.by_group(groups, number)
        assert (found[0].tolist(), found[-1].tolist()) == ([2], [1, 4])
        assert sum(map(len, found)) == 3


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 9))
def test_the_largest_come_from_the_largest_down_and_of_equal_ones_the_first(
    values: list[int], number: int
) -> None:
    found = arrays.largest(np.array(values, np.int64), number)
    assert found.tolist() == sorted(range(len(values)), key=lambda place: -values[place])[:number]
