"""Cuts where the mixture of symbols changes, and nowhere else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.asking import mixture


def changes(symbols: np.ndarray, pauses: dict[int, int] | None = None) -> list[int]:
    """The changes of symbols that came without pauses, but for those given by place."""
    before = np.zeros(len(symbols), np.int64)
    for place, length in (pauses or {}).items():
        before[place] = length
    return mixture.changes(symbols, before)


def repeated(cycle: list[int], length: int) -> list[int]:
    """The first symbols of a cycle, as files are made: the same calls again and again."""
    return list(itertools.islice(itertools.cycle(cycle), length))


@pytest.mark.parametrize("length", [30, 400, 5_000])
def test_cuts_between_two_ways_of_working(length: int) -> None:
    made, removed = repeated([0, 1, 2, 1], length), repeated([3], length // 2)
    assert changes(np.array(made + removed)) == [0, length]


def test_a_short_piece_between_two_alike_is_found() -> None:
    made, listed = repeated([0, 1, 2, 1], 200), repeated([4, 5], 30)
    assert changes(np.array(made + listed + made)) == [0, 200, 230]


@pytest.mark.parametrize("length", [1, 2, 100, 20_000])
def test_one_way_of_working_is_one_piece(length: int) -> None:
    assert changes(np.array(repeated([0, 1, 2, 1], length))) == [0]
    random = np.random.default_rng(1)
    assert changes(random.choice(40, length, p=np.arange(1, 41) / 820)) == [0]


def test_a_slight_drift_is_no_change() -> None:
    random = np.random.default_rng(2)
    share = np.linspace(0.4, 0.6, 50_000)
    assert changes((random.random(50_000) < share).astype(int)) == [0]


def test_there_are_never_more_pieces_than_can_be_read() -> None:
    ways = [repeated([way, way + 1], 100) for way in range(0, 60, 2)]
    assert 2 < len(changes(np.array([symbol for way in ways for symbol in way]))) <= mixture.PIECES


def test_a_cut_moves_to_a_pause_that_would_do_as_well() -> None:
    """The last symbol before the pause is one that both pieces have."""
    made, both, read = repeated([0, 1, 2, 4], 200), [4, 4], repeated([4, 5], 100)
    for place in (200, 201, 202):
        assert changes(np.array(made + both + read), {place: 5, 100: 9, 290: 9}) == [0, place]


def test_nothing_has_no_pieces() -> None:
    assert changes(np.zeros(0, np.int64)) == []


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200))
def test_pieces_are_in_order_and_not_empty(symbols: list[int]) -> None:
    found = changes(np.array(symbols))
    assert found[0] == 0
    assert found == sorted(set(found))
    assert found[-1] < len(symbols)
