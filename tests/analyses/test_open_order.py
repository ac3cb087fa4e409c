"""OPENs of NFSv4.0 in time."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.open_order import open_order
from tests.unit.rows import MILLISECOND, Row, call, trace_of


def step(number: int, op: str, took_ms: float, **more: object) -> Row:
    return call(number, op, took_ms, protocol="4.0", uid=1000, **more)


def test_opens_in_a_row_beside_calls_side_by_side() -> None:
    calls = [
        step(1, "OPEN", 10),
        step(2, "OPEN", 5),
        {**step(2, "READ", 20), "call": 20},
        {**step(2, "READ", 20), "call": 21},
        call(3, "OPEN", 50, protocol="4.1", uid=1000),
    ]
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert (owner.uid, owner.opens, owner.overlapping) == (1000, 2, False)
    assert owner.others_at_once == pytest.approx(2.0)
    assert owner.frames == (1, 3)


def test_opens_that_overlap() -> None:
    calls = [step(1, "OPEN", 15), step(2, "OPEN", 5)]
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert owner.overlapping
    assert owner.others_at_once == 0
    assert owner.time_s == pytest.approx(0.015)


def together(*, between_ms: float = 0) -> list[Row]:
    """Two programs that each open and close files: their calls go one after the other.

    Args:
        between_ms: What lies between an OPEN of one and the CLOSE of the other.
    """
    gap = int(between_ms * MILLISECOND)
    found: list[Row] = []
    for number in range(0, 200, 4):
        for place, (op, file, later) in enumerate(
            (("OPEN", 1, 0), ("CLOSE", 2, gap), ("OPEN", 2, 0), ("CLOSE", 1, gap))
        ):
            row = step(number + place + 1, op, 10 - between_ms, file=file, stability="state")
            times = ("call_first_time", "call_time", "reply_first_time", "reply_time")
            found.append({**row, **{time: int(str(row[time])) + later for time in times}})
    return found


def test_what_is_sent_as_soon_as_another_file_is_open_had_waited() -> None:
    with trace_of(calls=together()) as trace:
        (owner,) = open_order(trace)
    assert (owner.opens, owner.closes, owner.handed_over, owner.overlapping) == (
        100,
        100,
        100,
        False,
    )
    assert dict(owner.ordered_s) == pytest.approx({"state": 2.0})
    assert owner.between == 1


@pytest.mark.parametrize("programs", [1, 2, 4])
def test_files_that_others_open_meanwhile_show_how_many_programs_wait(programs: int) -> None:
    calls: list[Row] = []
    for number in range(40):
        calls.append(step(len(calls) + 1, "OPEN", 10, file=number))
        if number >= programs - 1:
            calls.append(step(len(calls) + 1, "CLOSE", 10, file=number - programs + 1))
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert owner.between == programs - 1


@pytest.mark.parametrize(("op", "most"), [("WRITE", 1), ("READ", 1), ("GETATTR", 4)])
def test_data_that_a_client_sends_at_once_shows_no_programs(op: str, most: int) -> None:
    """It writes back, or reads ahead, several calls for one program."""
    calls = together()
    for place in range(4):
        calls.append({**step(900, op, 10, file=1), "call": 900 + place})
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert owner.most_at_once == most


def test_what_comes_later_may_be_of_the_same_program() -> None:
    with trace_of(calls=together(between_ms=1.1)) as trace:
        (owner,) = open_order(trace)
    assert (owner.closes, owner.handed_over) == (100, 0)


def test_a_copy_closes_two_files_one_after_the_other() -> None:
    order = (("OPEN", 1), ("OPEN", 2), ("READ", 1), ("CLOSE", 2), ("CLOSE", 1))
    calls = [
        step(5 * number + place + 1, op, 10, file=10 * number + file)
        for number in range(40)
        for place, (op, file) in enumerate(order)
    ]
    with trace_of(calls=calls) as trace:
        (owner,) = open_order(trace)
    assert (owner.opens, owner.closes, owner.handed_over) == (80, 80, 0)


def test_without_nfsv40_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "OPEN", 1, protocol="4.2")]) as trace:
        assert open_order(trace) == ()
