"""What stable calls hold, and whether they waited for others."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.times.stable_calls import (
    MANY,
    StableCalls,
    crowded,
    more_operations,
    stable_calls,
    uneven_part,
    waited_share,
)
from tests.unit.rows import call, operation, trace_of


def test_calls_that_came_alone_waited_for_none() -> None:
    assert not crowded(np.full(100, 0.03), np.zeros(100, np.bool_))
    assert not crowded(np.zeros(0), np.zeros(0, np.bool_))


def test_those_behind_others_may_have_waited_unless_the_rest_took_as_long() -> None:
    behind = np.arange(100) >= 40
    times = np.where(behind, 0.03, 0.01)
    assert crowded(times, behind)
    assert not crowded(np.full(100, 0.03), behind)
    assert not crowded(times, ~behind), "most came alone"


def test_too_few_that_came_alone_tell_nothing() -> None:
    behind = np.arange(100) >= 29
    assert crowded(np.full(100, 0.03), behind)
    assert not crowded(np.full(100, 0.03), behind, untold=False), "those of all clients told it"


def test_what_calls_behind_others_took_longer_than_those_of_their_kind_is_told() -> None:
    """A burst of 30 that are done one after the other, beside 70 that came alone."""
    behind = np.arange(100) >= 70
    kinds = np.where(np.arange(100) % 2, 1, 0).astype(np.int16)
    times = np.where(behind, 0.03 * (1 + np.arange(100) - 70), 0.03)
    share = waited_share(times, behind, kinds)
    assert share == pytest.approx((sum(range(1, 31)) - 30) / (sum(range(1, 31)) + 70))
    assert StableCalls(waited_share=share).waits
    assert not StableCalls(waited_share=share).single
    assert not crowded(times, behind), "most came alone"


@pytest.mark.parametrize(("quick", "told"), [(15, True), (14, False)])
def test_where_a_quarter_of_a_kind_is_as_fast_as_small_calls_its_time_is_no_disks(
    quick: int, *, told: bool
) -> None:
    times = np.where(np.arange(60) < quick, 0.00129, 0.010)
    kinds = np.zeros(60, np.int16)
    assert uneven_part(times, kinds, ("CREATE",), 0.001) == (1.0 if told else 0.0)
    nobody, every = np.zeros(60, np.bool_), np.ones(60, np.bool_)
    given = (times, nobody, kinds, 60, 0, every)
    found = stable_calls(*given, operations=("CREATE",), small_s=0.001)
    assert found.uneven_part == (1.0 if told else 0.0)
    assert stable_calls(*given, operations=("CREATE",)).uneven_part == 0.0


@pytest.mark.parametrize(("kind", "part"), [("MKDIR", 10 / 50), ("SETATTR", 0.0), ("COMMIT", 0.0)])
def test_a_kind_that_often_has_nothing_to_store_says_nothing_of_others(
    kind: str, part: float
) -> None:
    """Half of 20 calls change nothing; the other half, and 40 WRITEs, take 9 ms."""
    kinds = (np.arange(60) >= 20).astype(np.int16)
    times = np.where(np.arange(60) < 10, 0.001, 0.010)
    assert uneven_part(times, kinds, (kind, "WRITE"), 0.001) == pytest.approx(part)


def test_few_calls_tell_nothing_of_all() -> None:
    times = np.where(np.arange(60) % 2, 0.001, 0.010)
    assert uneven_part(times[:9], np.zeros(9, np.int16), ("CREATE",), 0.001) == 0.0
    for many, part in ((42, 1.0), (48, 0.0)):
        kinds = (np.arange(60) < many).astype(np.int16)
        assert uneven_part(times, kinds, ("CREATE", "SETATTR"), 0.001) == part
    assert uneven_part(np.full(20, 0.001), np.zeros(20, np.int16), ("CREATE",), 0.001) == 0.0


def test_calls_of_a_kind_that_takes_long_by_itself_waited_for_none() -> None:
    """COMMITs behind WRITEs take as long as COMMITs alone."""
    behind = np.arange(100) % 2 == 0
    kinds = (np.arange(100) >= 50).astype(np.int16)
    assert waited_share(np.where(kinds, 0.3, 0.03), behind, kinds) == 0.0
    few = np.arange(100) >= 71
    assert waited_share(np.where(few, 1.0, 0.03), few, np.zeros(100, np.int16)) == 0.0
    # Of a kind that never came alone nothing is known.
    assert waited_share(np.where(kinds, 0.3, 0.03), kinds == 1, kinds) == 0.0
    assert waited_share(np.full(100, 0.03), np.arange(100) >= 9, np.zeros(100, np.int16)) is None
    assert waited_share(np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.int16)) is None


def test_stable_operations_of_long_compounds_are_counted() -> None:
    rows = [
        call(number, "WRITE", 1, stability="stable", executed=MANY if number < 3 else 4)
        for number in (1, 2, 3)
    ]
    operations = [
        operation(number, "WRITE", position=place, stability=kind, executed=place < MANY - 1)
        for number in (1, 2, 3)
        for place, kind in enumerate(["state", *["stable"] * (MANY - 1)])
    ]
    with trace_of(calls=rows, operations=operations) as trace:
        more = more_operations(trace)
    assert list(more.values()) == [2 * (MANY - 3)]
    found = stable_calls(
        np.full(3, 0.1), np.zeros(3, np.bool_), np.zeros(3, np.int16), 3, 14, np.ones(3, np.bool_)
    )
    assert found.operations == 1 + 14 / 3
    assert found.several
    assert not found.single


def test_the_part_of_slow_calls_is_of_what_all_took_beyond_a_round_trip() -> None:
    times = np.array([0.002] * 90 + [0.005] + [0.011] * 9)
    none = np.zeros(100, np.bool_)
    slow = SlowStorage(calls=9, time_s=0.09)
    found = stable_calls(
        times, none, none.astype(np.int16), 100, 0, ~none, rtt_s=0.001, slow=slow
    )  # fmt: skip
    whole = 0.09 + 0.004 + 0.09
    assert found.slow == slow
    assert found.slow_part == pytest.approx(0.09 / whole)
    assert found.late_part == pytest.approx(0.094 / whole)
    plain = stable_calls(np.full(3, 0.001), none[:3], np.zeros(3, np.int16), 3, 0, ~none[:3],
                         rtt_s=0.001)  # fmt: skip
    assert (plain.slow, plain.slow_part, plain.late_part) == (None, 0.0, 0.0)
