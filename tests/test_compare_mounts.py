"""What is told where one side was not mounted: captures of calls by hand."""

from __future__ import annotations

import pytest

from pcapnfs.comparison.comparing import of_sides
from pcapnfs.comparison.side import Side
from pcapnfs.views.run_time_changed import in_a_sentence
from tests.analyses.test_mount_outcomes import FILES, ended
from tests.sides import side_of
from tests.unit.rows import Row, call, operation


def mount(*rest: Row) -> Side:
    """A mount of NFSv4 from its root on, and what came of it."""
    calls = [
        call(1, "EXCHANGE_ID", 1, protocol="4.1"),
        call(2, "GETATTR", 1, protocol="4.1", file=1),
        call(3, "ACCESS", 1, protocol="4.1", file=1),
        *rest,
    ]
    operations = [operation(2, "PUTROOTFH"), operation(2, "GETATTR")]
    return side_of(calls=calls, operations=operations, files=FILES)


def read(number: int) -> Row:
    return call(number, "READ", 1, protocol="4.1", file=3)


def test_a_mount_that_was_refused_is_no_run() -> None:
    whole, refused = mount(*map(read, range(10, 90))), mount(ended(4))
    assert (whole.refused, refused.refused) == (False, True)
    for before, after, title in ((whole, refused, "AFTER"), (refused, whole, "BEFORE")):
        result = of_sides(before, after)
        assert (result.steps, result.foretold, result.factor) == ((), (), None)
        told = in_a_sentence(result)
        assert told.startswith(f"{title} holds a mount that came to nothing, and no call for files")


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param([read(4), ended(5)], id="a client that has files otherwise"),
        pytest.param([], id="nothing was refused"),
        pytest.param([ended(4), read(5)], id="it got on"),
    ],
)
def test_a_mount_that_came_to_something_is_one(rest: list[Row]) -> None:
    assert not mount(*rest).refused
