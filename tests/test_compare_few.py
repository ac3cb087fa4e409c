"""What is told of storage where few calls are stable, and of programs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.times.taken_out import Longer
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.changed_storage import (
    AS_USUAL,
    BEHIND_OTHERS,
    FOR_A_WHILE,
    FOR_SOME,
    OR_THE_SERVER,
    THE_SERVER_TOO,
)
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace
from tests.sides import side_of
from tests.unit.rows import MILLISECOND, START_NS, Row, call


def at(number: int, op: str, since_ms: float, took_ms: float, **columns: object) -> Row:
    begin, end = (START_NS + round(ms * MILLISECOND) for ms in (since_ms, since_ms + took_ms))
    times: Row = {
        "call_first_time": begin, "call_time": begin, "reply_first_time": end, "reply_time": end,
        "srt": end - begin,
    }  # fmt: skip
    return {**call(number, op, took_ms, connection=0), **times, **columns}


def of(rows: Sequence[Row]) -> Side:
    return side_of(calls=rows, connections=[{"transport": "TCP"}])


def stored(create_ms: Sequence[float], remove_ms: Sequence[float]) -> list[Row]:
    """Calls that need storage, one after the other."""
    kinds = [("CREATE", ms) for ms in create_ms] + [("REMOVE", ms) for ms in remove_ms]
    return [
        at(number, op, 1000 * number, ms, stability="stable", file=number)
        for number, (op, ms) in enumerate(kinds, 1)
    ]


def told(before: Side, after: Side) -> dict[str, tuple[str, str]]:
    operations = operation_changes(before.times, after.times)
    return {
        cause.subject: (cause.before[:6], cause.after[:6])
        for cause in causes(before, after, operations)
    }


DISK = stored([41, 52, 48, 60], [43, 47, 55, 39])
MEMORY = stored([0.4, 0.6, 0.5, 2.0], [0.3, 0.7, 0.5, 0.6])


def test_a_few_stable_calls_tell_storage_where_nearly_each_moved_far() -> None:
    disk, memory = of(DISK), of(MEMORY)
    assert told(disk, memory) == {"storage": ("slower", "faster")}
    assert told(memory, disk) == {"storage": ("faster", "slower")}


@pytest.mark.parametrize(("after_ms", "found"), [(39.9, True), (36.5, True), (35.0, False)])
def test_twice_as_slow_a_disk_is_told_whatever_its_ticks(after_ms: float, found: bool) -> None:
    """By 1.8 times, as a round trip: what lies below may be a busy day."""
    before, after = (of(stored([ms] * 120, [])) for ms in (20.0, after_ms))
    assert told(before, after) == ({"storage": ("faster", "slower")} if found else {})
    assert told(after, before) == ({"storage": ("slower", "faster")} if found else {})


def test_what_a_longer_path_took_of_most_calls_is_no_storage() -> None:
    """All calls of one run took 45 ms longer while the path did."""
    disk, memory = of(DISK), of(MEMORY)

    def longer(calls: int) -> Side:
        taken = Longer(calls_s=0.045 * calls, calls=calls)
        return replace(disk, measured=replace(disk.measured, longer=taken))

    assert "storage" not in told(longer(8), memory)
    assert "storage" not in told(memory, longer(8))
    # What it took of some says nothing of the others.
    assert told(memory, longer(4)) == {"storage": ("faster", "slower")}


@pytest.mark.parametrize(
    ("far_ms", "absorbs", "found"),
    [
        # Hardly longer than the way: there was next to no storage.
        (20.4, None, True),
        # Storage that ends calls on a clock may have hidden the way in its waits …
        (30.0, None, False),
        (30.0, True, False),
        # … which the gaps before the calls deny.
        (30.0, False, True),
    ],
)
def test_storage_that_moved_against_the_network_is_told_where_no_clock_can_hide_the_way(
    far_ms: float, absorbs: bool | None, found: bool
) -> None:
    """20 ms of way before and 1 ms after; calls take 34 ms then."""
    far, near = (
        replace(
            side,
            way=replace(side.way, rtt_s=rtt_s, floor_s=rtt_s, source="handshake"),
            measured=replace(side.measured, absorbs=absorbs),
        )
        for side, rtt_s in (
            (of(stored([far_ms] * 120, [])), 0.020),
            (of(stored([34] * 120, [])), 0.001),
        )
    )
    assert ("storage" in told(far, near)) is found
    assert ("storage" in told(near, far)) is found


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(stored([20] * 4, [21] * 4), id="not three times as fast"),
        pytest.param(stored([0.5] * 3, [0.5] * 4), id="too few"),
        pytest.param(stored([0.5, 50, 0.5, 0.5], [0.5, 0.5, 0.5, 60]), id="some as slow"),
        pytest.param(stored([0.5] * 4, [45] * 4), id="one kind alone"),
    ],
)
def test_where_they_do_not_nothing_is_told(rows: list[Row]) -> None:
    assert told(of(DISK), of(rows)) == {}


def test_a_kind_that_is_quick_on_both_sides_may_be_several_times_as_quick() -> None:
    assert told(of(stored([4] * 4, [4] * 4)), of(MEMORY)) == {}


@pytest.mark.parametrize(
    ("slow_ms", "waited", "sure"),
    [
        pytest.param((20, 60), (0.0, 0.2), "possible", id="one kind, on a side that waited"),
        pytest.param((20, 60), (0.0, 0.05), "likely", id="hardly any waited"),
        pytest.param((20, 60), (0.2, 0.2), "likely", id="as many waited before"),
        pytest.param((60, 60), (0.0, 0.2), "likely", id="every kind"),
    ],
)
def test_one_kind_that_moved_where_calls_waited_for_one_another_is_possible(
    slow_ms: tuple[float, float], waited: tuple[float, float], sure: str
) -> None:
    """Such as the SETATTRs of delegations that are given back together; CREATEs did not move."""
    fast, slow = (
        replace(side, measured=replace(side.measured, stable=StableCalls(waited_share=share)))
        for side, share in zip(
            (
                of(stored([20] * 60, [20] * 120)),
                of(stored([slow_ms[0]] * 60, [slow_ms[1]] * 120)),
            ),
            waited,
            strict=True,
        )
    )
    for before, after in ((fast, slow), (slow, fast)):
        (cause,) = causes(before, after, operation_changes(before.times, after.times))
        assert (cause.subject, cause.confidence) == ("storage", sure)
        assert (BEHIND_OTHERS in cause.evidence) is (sure == "possible")


def unpacked(stored_ms: float, *small_ms: float) -> Side:
    """120 files made behind a network of 0.2 ms, and a few calls that need no storage."""
    rows = stored([stored_ms] * 120, [])
    rows += [
        at(200 + place, "ACCESS", 1000 * (200 + place), ms, file=1)
        for place, ms in enumerate(small_ms)
    ]
    side = of(rows)
    path = side.measured.path
    path = replace(path, way=replace(path.way, rtt_s=0.0002, source="acks"))
    return replace(side, way=path.way, measured=replace(side.measured, path=path))


@pytest.mark.parametrize(
    ("slow", "found"),
    [
        pytest.param(
            (5.4, *[5.3] * 9),
            {"server_service": "possible", "storage": "possible"},
            id="all took as much longer",
        ),
        pytest.param((5.4, *[5.3] * 4), {"storage": "possible"}, id="too few to name the server"),
        pytest.param((5.4, 5.3), {"storage": "likely"}, id="one"),
        pytest.param((5.4, 0.3, *[5.3] * 8), {"storage": "likely"}, id="one as soon as ever"),
        pytest.param(
            (20, *[5.3] * 9),
            {"server_service": "possible", "storage": "likely"},
            id="storage took longer than that",
        ),
        pytest.param((20, *[0.4] * 9), {"storage": "likely"}, id="storage alone"),
    ],
)
def test_a_server_that_took_longer_for_all_of_few_small_calls_is_named_beside_storage(
    slow: tuple[float, ...], found: dict[str, str]
) -> None:
    # One of those that are fast had to wait.
    sides = unpacked(0.4, *[0.3] * 8, 9.0), unpacked(*slow)
    for before, after in (sides, sides[::-1]):
        each = causes(before, after, operation_changes(before.times, after.times))
        assert {cause.subject: cause.confidence for cause in each} == found
        (storage,) = (cause for cause in each if cause.subject == "storage")
        assert (OR_THE_SERVER in storage.evidence) is (storage.confidence == "possible")


@pytest.mark.parametrize(("stored_ms", "sure"), [(14, "possible"), (16, "likely")])
def test_storage_is_open_where_small_calls_moved_by_half_as_much(
    stored_ms: float, sure: str
) -> None:
    """By five milliseconds, and stable calls by nine or eleven more than that."""
    sides = unpacked(0.4, *[0.3] * 40), unpacked(stored_ms, *[5.3] * 40)
    for before, after in (sides, sides[::-1]):
        each = causes(before, after, operation_changes(before.times, after.times))
        (storage,) = (cause for cause in each if cause.subject == "storage")
        assert storage.confidence == sure
        assert (THE_SERVER_TOO in storage.evidence) is (sure == "possible")


def programs(
    number: int, took_ms: float = 4, op: str = "LOOKUP", each: int = 40, **columns: object
) -> list[Row]:
    """So many programs side by side, each of which asks again as it has its answer."""
    stability = "stable" if op == "CREATE" else "unstable"
    return [
        at(
            turn * number + place + 1, op, turn * (took_ms + 1) + place * 0.1, took_ms,
            stability=stability, file=100 * place + turn, **columns,
        )
        for turn in range(each)
        for place in range(number)
    ]  # fmt: skip


def test_programs_side_by_side_are_told() -> None:
    one, four = of(programs(1)), of(programs(4))
    assert (four.habits.work, four.habits.work_at_once) == (160, 4)
    assert one.habits.work_overlaps == 0
    assert told(one, four) == {"streams": ("one th", "severa")}
    assert told(four, one) == {"streams": ("severa", "one th")}
    assert told(four, of(programs(8))) == {}


@pytest.mark.parametrize(("met", "found"), [(2, True), (3, False)])
def test_programs_that_seldom_meet_are_none_that_work_one_after_the_other(
    met: int, found: bool
) -> None:
    """As those of a build whose calls are answered from memory; two are a program and its child."""
    once = [
        at(200 + place, "LOOKUP", 5000 + 0.1 * place, 0.5, stability="unstable", file=place)
        for place in range(met)
    ]
    short, long = of([*programs(1), *once]), of(programs(4))
    assert short.habits.work_at_once == met
    assert short.habits.work_overlaps < 0.01
    assert ("streams" in told(short, long)) is found
    assert ("streams" in told(long, short)) is found


def test_times_that_are_sent_with_a_delegation_are_no_program() -> None:
    """A client gives back many delegations at once."""
    one, together = "SEQUENCE PUTFH SETATTR GETATTR", "SEQUENCE PUTFH SETATTR GETATTR DELEGRETURN"
    given_back = of(programs(4, op="SETATTR", signature=together))
    assert given_back.habits.work == 0
    # What was cut off before it is not known to be one.
    for signature in (one, None):
        assert of(programs(4, op="SETATTR", signature=signature)).habits.work == 160
    beside = [*programs(1), *programs(4, op="SETATTR", signature=together)]
    rows = [{**row, "call": place} for place, row in enumerate(beside, 1)]
    assert "streams" not in told(of(programs(1)), of(rows))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(programs(2), id="two are a program and its child"),
        pytest.param(programs(4, each=7), id="few calls"),
        pytest.param(programs(4, op="READ"), id="data that is read ahead"),
        pytest.param(programs(4, op="DELEGRETURN"), id="state given back in the background"),
    ],
)
def test_what_one_program_may_do_is_not(rows: list[Row]) -> None:
    assert "streams" not in told(of(programs(1)), of(rows))


def test_calls_that_wait_for_one_another_are_no_slower_storage() -> None:
    """Four that come at once to one disk take up to four times as long."""
    one = of(programs(1, took_ms=10, op="CREATE"))
    assert set(told(one, of(programs(4, took_ms=35, op="CREATE")))) == {"streams"}
    assert set(told(one, of(programs(4, took_ms=60, op="CREATE")))) == {"streams", "storage"}


def slow_for(calls: int, *, alike: bool = True) -> Side:
    """Storage that is usually quick, and was slow for so many calls of 120."""
    rows = stored([0.5] * 120, [])
    side = of(rows)
    span = (START_NS, START_NS + 60_000 * MILLISECOND) if alike else None
    slow = SlowStorage(calls=calls, time_s=0.03 * calls, while_ns=span)
    stable = StableCalls(slow=slow, slow_part=0.9, late_part=0.9)
    return replace(side, measured=replace(side.measured, stable=stable))


def storage(before: Side, after: Side) -> list[tuple[str, str, str]]:
    operations = operation_changes(before.times, after.times)
    return [
        (cause.before, cause.after, cause.confidence)
        for cause in causes(before, after, operations)
        if cause.subject == "storage"
    ]


def test_storage_that_was_slow_for_a_while_moves_no_median_and_is_told() -> None:
    usual = of(stored([0.5] * 120, []))
    assert storage(usual, slow_for(40)) == [(AS_USUAL, FOR_A_WHILE, "possible")]
    assert storage(slow_for(100), usual) == [(FOR_A_WHILE, AS_USUAL, "likely")]
    assert storage(usual, slow_for(40, alike=False)) == [(AS_USUAL, FOR_SOME, "possible")]


def test_what_both_sides_show_did_not_change() -> None:
    assert storage(slow_for(40), slow_for(90)) == []
    # Nor does what took as long there for a reason that is not known: 10 ms a call here, 6 there.
    late = of(stored([0.5] * 120, []))
    measured = replace(late.measured, stable_mean_s=0.006, rtt_s=0.0, stable=StableCalls(
        late_part=1.0))  # fmt: skip
    assert storage(replace(late, measured=measured), slow_for(40)) == []
    few = of(stored([0.5] * 9, []))
    assert storage(few, slow_for(40)) == []


def test_a_disk_that_is_slower_throughout_is_told_as_such() -> None:
    (found,) = storage(of(stored([20.0] * 120, [])), slow_for(40))
    assert found[0].startswith("slower")
