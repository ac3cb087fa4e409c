"""Rights that were asked for again, and given as before."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.repeated_access import RepeatedAccess, repeated_access
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of


def ask(number: int, *, granted: int = 31, rights: int = 31, **columns: object) -> list[Row]:
    """An ACCESS of 2 ms by user 1000."""
    who: dict[str, object] = {"uid": 1000, "gid": 100, "file": 1}
    row = call(number, "ACCESS", 2, **(who | columns))
    asked = operation(
        number, "ACCESS", file=row["file"], access_requested=rights, access_granted=granted
    )
    return [row, asked]


def found(*steps: list[Row]) -> RepeatedAccess:
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=[file(1, "."), file(2, "b")]) as trace:
        (pair,) = repeated_access(trace)
    return pair


def test_the_same_answer_to_the_same_question_is_told() -> None:
    pair = found(ask(1), ask(2), ask(3, file=2), ask(4), ask(5, file=2))
    assert (pair.calls, pair.accesses, pair.objects) == (5, 5, 2)
    assert (pair.repeated.calls, pair.repeated.frames) == (3, (3, 7, 9))
    assert pair.repeated.time_s == pytest.approx(0.006)
    assert pair.places == (".", "b")


def test_those_that_came_before_any_timeout_are_counted() -> None:
    late = START_NS + 10_000 * MILLISECOND
    steps = [ask(1), ask(2), ask(3, call_time=late + 2_999 * MILLISECOND)]
    steps += [ask(4, call_time=late + 5_999 * MILLISECOND), ask(5, file=2)]
    pair = found(*steps)
    assert (pair.repeated.calls, pair.soon) == (3, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"granted": 1},
        {"rights": 1},
        {"uid": 0},
        {"gid": 5},
        {"file": 2},
        {"client": "10.0.0.3"},
        {"uid": None},
    ],
)
def test_another_question_is_none(other: dict[str, object]) -> None:
    steps = (ask(1), ask(2, **other))  # type: ignore[arg-type]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=[file(1, "."), file(2, "b")]) as trace:
        assert [pair.repeated.calls for pair in repeated_access(trace)] in ([0], [0, 0])


def changed(number: int, before: int, *, atomic: bool = True, **columns: object) -> list[Row]:
    """A file made in the directory, with its change_info4."""
    row = call(number, "OPEN", 1, **columns)
    info: dict[str, object] = {
        "directory": columns.get("directory", 1),
        "change_before": before,
        "change_after": before + 1,
        "change_atomic": atomic,
        "executed": True,
    }
    return [row, operation(number, "OPEN", **info)]


def told(number: int, change: int) -> list[Row]:
    """Attributes of the directory."""
    return [call(number, "GETATTR", 1), operation(number, "GETATTR", file=1, change=change)]


@pytest.mark.parametrize(
    ("between", "untrusted"),
    [
        ([changed(2, 7, atomic=False)], 1),
        ([changed(2, 7)], 0),
        ([changed(2, 7, atomic=False, directory=2)], 0),
        ([changed(2, 7, atomic=False, client="10.0.0.3")], 0),
        ([changed(2, 7), *(told(each, 100 + each) for each in (3, 4, 5))], 1),
        ([changed(2, 7), *(told(each, 100 + each) for each in (3, 4))], 0),
        ([changed(2, 7), told(3, 8), *(told(each, 100 + each) for each in (4, 5))], 0),
    ],
    ids=[
        "not atomic", "atomic", "another directory", "another client", "other values",
        "too few values", "a common value",
    ],
)  # fmt: skip
def test_changes_that_the_client_cannot_trust_make_it_ask(
    between: list[list[Row]], untrusted: int
) -> None:
    pair = found(ask(1), *between, ask(9), ask(10))
    assert (pair.repeated.calls, pair.untrusted) == (2, untrusted)


def test_without_access_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1)]) as trace:
        assert repeated_access(trace) == ()
