"""What calls of each row held up the clock for."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.times.outstanding import KINDS, WAITING
from pcapnfs.analyses.times.spent import Spent, divided, spent

READ, STABLE = KINDS.index("read"), KINDS.index("stable")


def test_rows_are_added_up_without_what_is_not_counted_or_only_waited() -> None:
    kind = np.array([READ, READ, STABLE, STABLE, WAITING], np.uint8)
    begin = np.array([0, 10, 20, 20, 90], np.int64) * 10**9
    end = np.array([10, 20, 60, 60, 99], np.int64) * 10**9
    share = np.array([10, 10, 20, 20, 9], np.float64) * 1e9
    which = np.array([True, True, True, False, True])
    assert spent(kind, share, begin, end, which) == {
        "read": Spent(2, 20.0, 20.0),
        "stable": Spent(1, 40.0, 20.0),
    }


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
