"""What is told of locks of NFSv3: whether the server is asked for them."""

from __future__ import annotations

import pytest

from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.changed_options import NOT_ASKED
from pcapnfs.comparison.operations import OperationChange, operation_changes
from pcapnfs.comparison.side import Side
from pcapnfs.programs import NLM
from tests.sides import side_of
from tests.unit.rows import Row, call


def side(
    writes: int, locks: int, *, tests: int = 0, version: int = 3, released: int | None = None
) -> Side:
    """So many WRITEs; so many locks around them, and as many unlocked; some only tested."""
    protocol = f"{version}.0" if version == 4 else "3"
    ops = [("WRITE", 3)] * writes
    ops += [("LOCK", 4)] * locks + [("UNLOCK", 4)] * (locks if released is None else released)
    ops += [("TEST", 4)] * tests
    rows: list[Row] = []
    for number, (op, nlm) in enumerate(ops, 1):
        columns: dict[str, object] = {"version": version, "protocol": protocol}
        if op != "WRITE":
            columns = {"program": NLM, "version": nlm, "protocol": "nlm4"}
        rows.append(call(number, op, 1, connection=0, file=1, **columns))
    return side_of(calls=rows, connections=[{"transport": "TCP"}])


def told(before: Side, after: Side) -> list[Cause]:
    changes = operation_changes(before.times, after.times)
    return [cause for cause in causes(before, after, changes) if cause.subject == "local_lock"]


def test_a_client_that_no_longer_asks_the_server_keeps_locks_itself() -> None:
    asks, keeps = side(40, 10), side(40, 0)
    (cause,) = told(asks, keeps)
    assert (cause.before, cause.after) == ("asked of the server (20 LOCK and UNLOCK)", NOT_ASKED)
    assert cause.confidence == "possible"
    assert cause.evidence.startswith("20 calls of NLM that lock or unlock before, 0 after, while")
    (back,) = told(keeps, asks)
    assert (back.before, back.after) == (cause.after, cause.before)


@pytest.mark.parametrize(
    ("released", "writes", "tests", "version"),
    [
        pytest.param(9, 40, 0, 3, id="few"),
        pytest.param(10, 40, 1, 3, id="the server is asked"),
        pytest.param(10, 10, 0, 3, id="other work"),
        pytest.param(10, 40, 0, 4, id="a version without them"),
    ],
)
def test_who_locks_less_need_not(released: int, writes: int, tests: int, version: int) -> None:
    asks = side(40, 10, released=released)
    keeps = side(writes, 0, tests=tests, version=version)
    assert told(asks, keeps) == []
    assert told(keeps, asks) == []


def test_locks_are_operations() -> None:
    asks, keeps = side(40, 30), side(40, 0)

    def row(before: Side, after: Side) -> OperationChange:
        changes = operation_changes(before.times, after.times)
        (found,) = (change for change in changes if change.op == "LOCK")
        return found

    gone, same = row(asks, keeps), row(asks, asks)
    assert (gone.version, gone.calls_before, gone.calls_after) == ("nlm", 30, 0)
    assert (gone.verdict, gone.stable, same.verdict) == ("gone", False, "same")
