"""SETATTRs that an exclusive create makes necessary."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.exclusive_creates import exclusive_creates
from tests.unit.rows import Row, call, operation, trace_of


def create(number: int, about: int, mode: int = 2, status: int = 0) -> list[Row]:
    return [
        call(number, "CREATE", 3, file=about, stability="stable", status=status),
        operation(number, "CREATE", file=about, create_mode=mode, status=status),
    ]


def setattr_(
    number: int, about: int, srt_ms: float | None = 4, attributes: str | None = None
) -> list[Row]:
    return [
        call(number, "SETATTR", srt_ms, file=about, stability="stable"),
        operation(number, "SETATTR", file=about, attributes=attributes),
    ]


def write(number: int, about: int, op: str = "WRITE") -> list[Row]:
    return [
        call(number, op, 4, file=about, stability="stable"),
        operation(number, op, file=about),
    ]


def test_the_first_setattr_after_an_exclusive_create_counts() -> None:
    steps = [
        create(1, 1),
        setattr_(2, 1),
        setattr_(3, 1),
        create(4, 2, mode=0),
        setattr_(5, 2),
        create(6, 3, status=17),
        setattr_(7, 3),
        create(8, 4),
        setattr_(200, 4),
    ]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = exclusive_creates(trace)
    assert (pair.creates, pair.all_creates) == (2, 3)
    assert (pair.followed.calls, pair.followed.frames) == (1, (3,))
    assert pair.followed.time_s == pytest.approx(0.004)


def test_a_setattr_without_reply_says_nothing_of_what_one_takes() -> None:
    steps = [create(1, 1), setattr_(2, 1), create(3, 2), setattr_(4, 2, None), create(90, 3)]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = exclusive_creates(trace)
    assert (pair.creates, pair.followed.calls) == (3, 1)
    assert pair.followed.time_s == pytest.approx(0.004)


def test_what_one_stood_still_for_is_not_the_price_of_a_create() -> None:
    steps = [
        step
        for file in range(1, 6)
        for step in (create(2 * file - 1, file), setattr_(2 * file, file, 400 if file == 3 else 4))
    ]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    calls[6:] = [  # Behind the slow one.
        {
            name: int(str(value)) + 10**9 if name.endswith("_time") else value
            for name, value in row.items()
        }
        for row in calls[6:]
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = exclusive_creates(trace)
    assert pair.followed.calls == 5
    assert pair.followed.time_s == pytest.approx(4 * 0.004 + 0.04)


TIMES = "00000000:00410000:00000000"


@pytest.mark.parametrize(
    ("next_steps", "followed"),
    [
        ([setattr_(2, 1, attributes=TIMES), setattr_(3, 1, attributes=TIMES)], 1),
        ([setattr_(2, 1, attributes="00000000:00410000")], 1),
        ([write(2, 1), setattr_(3, 1, attributes=TIMES)], 0),
        ([write(2, 1, op="DELEGRETURN"), setattr_(3, 1, attributes=TIMES)], 1),
        ([setattr_(2, 1, attributes="00000000:00410002:00000000")], 0),
        ([setattr_(2, 1, attributes="00000010:00410000:00000000")], 0),
        ([setattr_(2, 1, attributes="00000000:00410000:00000002")], 0),
        ([setattr_(2, 1)], 0),
    ],
    ids=[
        "as Linux does",
        "short",
        "after data",
        "behind a delegation",
        "mode",
        "size",
        "umask",
        "not known",
    ],
)
def test_behind_exclusive4_1_it_is_the_one_that_sets_the_times(
    next_steps: list[list[Row]], followed: int
) -> None:
    steps = [create(1, 1, mode=3), *next_steps]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = exclusive_creates(trace)
    assert (pair.creates, pair.with_attributes, pair.all_creates) == (1, 1, 1)
    assert pair.followed.calls == followed


def test_without_exclusive_creates_there_is_nothing_to_tell() -> None:
    called, operated = create(1, 1, mode=1)
    with trace_of(calls=[called], operations=[operated]) as trace:
        assert exclusive_creates(trace) == ()
