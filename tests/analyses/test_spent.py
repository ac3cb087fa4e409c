"""What calls of each row held up the clock for."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.asking.equal_shares import Intervals, equal_shares
from pcapnfs.analyses.times.outstanding import KINDS, WAITING
from pcapnfs.analyses.times.spent import Spent, divided, spent

READ, STABLE = KINDS.index("read"), KINDS.index("stable")


def test_rows_are_added_up_without_what_is_not_counted_or_only_waited() -> None:
    kind = np.array([READ, READ, STABLE, STABLE, WAITING], np.uint8)
    which = np.array([True, True, True, False, True])
    intervals = _intervals([(0, 10), (10, 20), (20, 60), (20, 60), (90, 99)])
    assert spent(kind, intervals, equal_shares(intervals), which) == {
        "read": Spent(2, 20.0, 20.0),
        "stable": Spent(1, 40.0, 20.0),
    }


def test_what_moved_is_in_no_row() -> None:
    """Two READs wait one after the other, and their replies move at the same time."""
    kind = np.array([READ, READ, READ], np.uint8)
    intervals = _intervals([(0, 30), (10, 30), (40, 60)], [(0, 20, 30), (1, 20, 30), (2, 40, 60)])
    which = np.ones(3, np.bool_)
    rows = spent(kind, intervals, equal_shares(intervals), which)
    # The last one is nothing but transfer.
    assert rows == {"read": Spent(3, 30.0, 20.0)}
    which[1] = False
    assert spent(kind, intervals, equal_shares(intervals), which)["read"].waited_s == 20.0


def _intervals(
    spans: list[tuple[int, int]], parts: list[tuple[int, int, int]] | None = None
) -> Intervals:
    """Intervals of one group, seconds, and parts of them."""
    begin, end = (np.array(times, np.int64) * 10**9 for times in zip(*spans, strict=True))
    of, first, last = np.array(parts or np.zeros((0, 3)), np.int64).T
    return Intervals(
        begin=begin,
        end=end,
        group=np.zeros(len(spans), np.int32),
        groups=1,
        part_of=of.astype(np.int32),
        part_begin=first * 10**9,
        part_end=last * 10**9,
    )


def test_a_row_is_divided_as_its_calls_are() -> None:
    rows = {"read": Spent(10, 0.020, 0.020), "stable": Spent(10, 1.0, 0.1)}
    round_trips_s, persistence_s = divided(rows, 0.001, 0.099)
    # Half of each READ; of the WRITEs, which share the clock, a hundredth.
    assert round_trips_s == pytest.approx(0.010 + 0.001)
    assert persistence_s == pytest.approx(0.099)
    # No call holds up the clock for longer than it takes.
    assert sum(divided(rows, 10.0, 0.0)) == pytest.approx(0.12)
    assert divided({}, 0.001, 0.1) == (0.0, 0.0)
    assert Spent(0, 0.0, 0.0).part_s(1.0) == 0.0
