"""What stable calls hold, and whether they waited for others."""

from __future__ import annotations

import numpy as np

from pcapnfs.analyses.times.stable_calls import MANY, crowded, more_operations, stable_calls
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
    found = stable_calls(np.full(3, 0.1), np.zeros(3, np.bool_), 3, 14)
    assert found.operations == 1 + 14 / 3
    assert found.several
    assert not found.single
