"""What is told of a client's timer for replies: whether it sends late calls again."""

from __future__ import annotations

import pytest

from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Side
from tests.sides import side_of
from tests.unit.rows import call


def side(
    times_ms: list[float],
    *,
    again: int = 0,
    lost: bool = False,
    version: int = 3,
    transport: str = "TCP",
) -> Side:
    """READs that took so long, the first of them sent again."""
    rows = [
        call(
            number * 100,
            "READ",
            took,
            connection=0,
            file=1,
            version=version,
            protocol="4.0" if version == 4 else "3",
            transmissions=2 if number <= again else 1,
            first_arrived=number > again or not lost,
        )
        for number, took in enumerate(times_ms, 1)
    ]
    return side_of(calls=rows, connections=[{"transport": transport}])


def told(before: Side, after: Side) -> list[Cause]:
    changes = operation_changes(before.times, after.times)
    return [cause for cause in causes(before, after, changes) if cause.subject == "timeo"]


LATE = [300.0, 310.0, 320.0, 330.0, 340.0, 350.0]
"""What the server takes."""

SHORT, PATIENT = side([*LATE, 2.0], again=6), side([2.0, *LATE])
"""A client whose timer runs out meanwhile, and one that waits."""


def test_a_timer_that_no_longer_runs_out_is_told_with_its_bounds() -> None:
    (cause,) = told(SHORT, PATIENT)
    assert (cause.before, cause.after) == ("shorter than 320 ms", "330 ms or more")
    assert cause.confidence == "likely"
    assert cause.evidence == (
        "before, 6 calls came again over TCP though nothing was lost, some after less than 320 ms; "
        "after, calls that took 330 ms and more were sent once"
    )
    (back,) = told(PATIENT, SHORT)
    assert (back.before, back.after) == (cause.after, cause.before)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(SHORT, id="the same"),
        pytest.param(side([2.0] * 7), id="nothing late"),
        pytest.param(side([2.0, 2.0, 310.0, 320.0, 330.0]), id="too quick"),
        pytest.param(side([2.0, *LATE], version=4), id="a version that must not send again"),
        pytest.param(side([2.0, *LATE], transport="UDP"), id="another timer"),
    ],
)
def test_who_had_no_reason_to_send_again_may_have_the_same(other: Side) -> None:
    assert told(SHORT, other) == []
    assert told(other, SHORT) == []


@pytest.mark.parametrize(
    "short",
    [
        pytest.param(side([*LATE, 2.0], again=2), id="few"),
        pytest.param(side([*LATE, 2.0], again=6, lost=True), id="lost"),
    ],
)
def test_what_was_sent_again_for_other_reasons_tells_no_timer(short: Side) -> None:
    assert told(short, PATIENT) == []
