"""Calls that come one after the other, and forecasts with streams that wait for one another."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.serial_calls import NONE, SerialCalls, serial_calls
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.namespace.exclusive_creates import EXCLUSIVE
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.timeline import timeline
from pcapnfs.record import replace
from pcapnfs.units import NANOSECONDS
from pcapnfs.views.forecasts import about_what_if
from tests.unit.rows import MILLISECOND, Row, call, file, operation, trace_of

MANY = 60
"""Files that are made, or opened: three calls of each, of 10 ms, one after the other."""


def made(
    *,
    directories: int = 1,
    exclusive: bool = False,
    beside: str = "",
    others: int = 0,
    clients: int = 1,
    given: Overrides | None = None,
) -> Model:
    """What is told of a program that looks for files, makes them, and sets their attributes.

    Args:
        directories: So many of them, in turn.
        exclusive: With an exclusive create, which the SETATTR completes.
        beside: The kind of call next to which the first of another program is sent.
        others: So many READs are under way all the time.
        clients: So many of them, in turn.
        given: Inputs that are given.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    for number in range(MANY):
        for place, op in enumerate(("LOOKUP", "CREATE", "SETATTR"), 1):
            stability = "unstable" if op == "LOOKUP" else "stable"
            client = f"10.0.0.{2 + number % clients}"
            row = call(3 * number + place, op, 10, file=1000 + number, stability=stability)
            calls.append({**row, "client": client})
        parent = 1 + number % directories
        operations.append(creating(3 * number + 2, 1000 + number, parent, exclusive=exclusive))
        operations.append(operation(3 * number + 3, "SETATTR", file=1000 + number))
    for number in range(others):
        row = call(1, "READ", 30 * MANY, file=1000, stability="read")
        calls.append({**row, "call": 2000 + number})
    if beside:
        early = call(3 if beside == "SETATTR" else 2, "CREATE", 10, file=2000, stability="stable")
        late = 5 * MILLISECOND
        times = ("call_first_time", "call_time", "reply_first_time", "reply_time")
        moved = {name: int(str(early[name])) + late for name in times}
        calls.append({**early, **moved, "call": 1000})
        operations.append(creating(1000, 2000, 1, exclusive=False))
    files = [file(number, f"d{number}", "directory") for number in range(1, directories + 1)]
    files += [file(1000 + number, f"f{number}") for number in range(MANY)]
    with trace_of(calls=calls, operations=operations, files=[*files, file(2000, "g")]) as trace:
        return model(trace, given)


def creating(number: int, about: int, parent: int, *, exclusive: bool) -> Row:
    mode = EXCLUSIVE if exclusive else 0
    return operation(number, "CREATE", file=about, directory=parent, created=True, create_mode=mode)


def streams(found: Model) -> Scenario:
    return next(each for each in found.what_if if each.change == "streams")


def in_directory(calls: int) -> SerialCalls:
    return SerialCalls(of="directory", calls=calls, stable_calls=calls, time_s=0.01 * calls)


def test_streams_take_as_long_as_changes_of_one_directory() -> None:
    found = made()
    assert found.serial == in_directory(MANY)
    told = streams(found)
    assert told.forecast_s == pytest.approx(0.01 * MANY)
    assert told.serial
    assert "wait for one another there: 60 calls took 600 ms" in " ".join(about_what_if(found))


def test_of_several_directories_that_counts_which_takes_longest() -> None:
    found = made(directories=2)
    assert found.serial == in_directory(MANY // 2)
    assert streams(found).forecast_s == pytest.approx(0.01 * MANY / 2)


def test_streams_that_wait_for_less_than_they_take_are_not_held_up() -> None:
    found = made(directories=3)
    assert found.serial == NONE
    told = streams(found)
    assert told.forecast_s == pytest.approx(0.03 * MANY / 8)
    assert not told.serial
    assert "wait for one another there" not in " ".join(about_what_if(found))


def test_an_exclusive_create_holds_the_directory_until_it_is_complete() -> None:
    assert made(exclusive=True).serial == in_directory(2 * MANY)


def test_it_does_not_where_the_directory_was_changed_before_that() -> None:
    found = made(exclusive=True, beside="SETATTR").serial
    assert found == in_directory(MANY + 1)


def test_a_client_that_changes_a_directory_twice_at_once_has_no_such_order() -> None:
    assert made(beside="CREATE").serial == NONE


@pytest.mark.parametrize(("others", "told"), [(6, True), (7, False)])
def test_where_as_many_ran_it_is_not_asked(others: int, *, told: bool) -> None:
    assert (made(others=others).serial == in_directory(MANY)) is told


def test_each_client_has_an_order_of_its_own() -> None:
    assert made(clients=2).serial == in_directory(MANY // 2)


def test_what_is_given_changes_these_calls_as_all_others() -> None:
    found = made(given=Overrides(streams=1000, persist_s=0.005))
    assert found.forecast_s == pytest.approx(0.015 * MANY)
    assert found.concurrency == pytest.approx((0.03 + 2 * 0.005) / 0.015)
    used = next(each for each in found.inputs if each.name == "concurrency")
    assert (used.value, used.source) == (1000, "given")
    # No stream that is given is foretold once more, though fewer calls are under way.
    assert "streams" not in {each.change for each in found.what_if}


@pytest.mark.parametrize("rpcs", [0.5, 1.0])
def test_calls_that_are_given_away_hold_up_no_streams(rpcs: float) -> None:
    """The more streams there are, the shorter it is, whatever else is given."""
    given = Overrides(rpcs_per_file=rpcs)
    alone, many = made(given=given).forecast_s, made(given=replace(given, streams=8)).forecast_s
    assert alone is not None
    assert many is not None
    assert many < alone


def test_what_is_outstanding_long_after_the_next_one_came_counts_once() -> None:
    """The client asks again for what was put off; others of the user go on meanwhile."""
    rows = [
        call(number, "OPEN", 10, file=number, protocol="4.0", uid=1000, stability="state")
        for number in range(1, MANY + 1)
    ]
    operations = [operation(number, "OPEN") for number in range(1, MANY + 1)]
    with trace_of(calls=rows, operations=operations) as trace:
        found = outstanding(trace)
        begin, end = found.intervals.begin, found.intervals.end
        put_off = end + np.where(np.arange(MANY) < 10, 5_000 * MILLISECOND, 0)
        longer = replace(found, intervals=replace(found.intervals, end=put_off))
        told = serial_calls(trace, longer, timeline(trace, {}, found))
    assert told.calls == MANY
    assert told.time_s == pytest.approx(float(put_off.max() - begin.min()) / NANOSECONDS)


def opened(*, uid: int | None = 1000, protocol: str = "4.0", together: bool = False) -> Model:
    """What is told of a program that opens files, looks at them and closes them."""
    calls: list[Row] = []
    for number in range(MANY):
        for place, op in enumerate(("OPEN", "GETATTR", "CLOSE"), 1):
            stability = "unstable" if op == "GETATTR" else "state"
            row = call(3 * number + place, op, 10, file=1 + number, stability=stability)
            calls.append({**row, "protocol": protocol, "uid": uid})
    if together:
        calls.append({**calls[0], "call": 1000, "file": 2})
    with trace_of(
        calls=calls,
        operations=[operation(number, "OPEN") for number in range(1, 3 * MANY, 3)],
        files=[file(number, f"f{number}") for number in range(1, MANY + 1)],
    ) as trace:
        return model(trace)


def test_opens_and_closes_of_a_user_of_nfs_4_0_come_one_after_the_other() -> None:
    found = opened()
    took_s = 0.02 * MANY
    assert found.serial == SerialCalls("owner", calls=2 * MANY, stable_calls=0, time_s=took_s)
    assert streams(found).forecast_s == pytest.approx(took_s)
    assert "OPENs and CLOSEs wait for one another: 120 calls" in " ".join(about_what_if(found))


@pytest.mark.parametrize("other", [{"uid": None}, {"protocol": "4.1"}, {"together": True}], ids=str)
def test_those_of_users_who_are_not_named_or_of_other_versions_need_not(
    other: dict[str, object],
) -> None:
    assert opened(**other).serial == NONE  # type: ignore[arg-type]  # Each of its own type.


def moved(
    *, systems: int = 1, clients: int = 1, within: bool = False, together: bool = False
) -> Model:
    """What is told of a program that looks files up and renames them, each in another directory.

    Args:
        systems: So many file systems hold the directories, in turn.
        clients: So many of them, in turn.
        within: The new name is in the same directory.
        together: The first two are under way at once.
    """
    calls: list[Row] = []
    operations: list[Row] = []
    directories: list[Row] = []
    for number in range(MANY):
        for place, op in enumerate(("LOOKUP", "GETATTR", "RENAME"), 1):
            stability = "stable" if op == "RENAME" else "unstable"
            row = call(3 * number + place, op, 10, file=1000 + number, stability=stability)
            calls.append({**row, "client": f"10.0.0.{2 + number % clients}"})
        source, target = 1 + number, 1 + number if within else 101 + number
        about = {"file": 1000 + number, "directory": source, "target_directory": target}
        operations.append(operation(3 * number + 3, "RENAME", **about))
        on = {"fsid_major": 8, "fsid_minor": number % systems}
        directories += [
            file(each, f"d{each}", "directory", **on) for each in {source: None, target: None}
        ]
    if together:
        times = ("call_first_time", "call_time", "reply_first_time", "reply_time")
        late = {name: int(str(calls[2][name])) + 5 * MILLISECOND for name in times}
        calls[5] = {**calls[5], **late}
    files = [file(1000 + number, f"f{number}") for number in range(MANY)]
    with trace_of(calls=calls, operations=operations, files=[*directories, *files]) as trace:
        return model(trace)


def moves(calls: int) -> SerialCalls:
    return SerialCalls(of="moves", calls=calls, stable_calls=calls, time_s=0.01 * calls)


def test_streams_take_as_long_as_the_moves_between_directories() -> None:
    found = moved()
    assert found.serial == moves(MANY)
    assert streams(found).forecast_s == pytest.approx(0.01 * MANY)
    assert "moves one at a time in a file system: 60 calls took 600 ms" in " ".join(
        about_what_if(found)
    )


def test_each_file_system_and_each_client_moves_one_at_a_time() -> None:
    assert moved(systems=2).serial == moves(MANY // 2)
    assert moved(clients=2).serial == moves(MANY // 2)


def test_names_changed_within_their_directories_or_moved_at_once_need_not_wait() -> None:
    assert moved(within=True).serial == NONE
    assert moved(together=True).serial == NONE
