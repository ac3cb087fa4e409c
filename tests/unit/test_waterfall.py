"""Steps from one run time to the other, by hand where runs are simple."""

from __future__ import annotations

import functools

import pytest

from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.times.taken_out import Lost
from pcapnfs.analyses.times.timeline import BetweenCalls
from pcapnfs.comparison.foretold import foretold
from pcapnfs.comparison.waterfall import FACTORS, Step, comparable, waits, waterfall
from pcapnfs.record import replace
from pcapnfs.views import differences
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of


@functools.cache
def run(files: int, srt_ms: float, calls: int = 3, *, made: bool = True) -> Measurement:
    """Each file created, or else looked up, then asked for; calls every 10 ms."""
    rows: list[Row] = []
    for number in range(1, files * calls + 1):
        of = (number - 1) // calls + 1
        stable = made and (number - 1) % calls == 0
        rows.append(
            call(number, "CREATE", srt_ms, file=of, stability="stable")
            if stable
            else call(number, "GETATTR", 1, file=of)
        )
    with trace_of(
        calls=rows, files=[file(number, f"f{number}") for number in range(1, files + 1)]
    ) as trace:
        return measure(trace)


def changes(before: Measurement, after: Measurement) -> dict[str, float]:
    return {step.factor: step.change_s for step in waterfall(before, after)}


def test_slower_storage_is_one_step_and_what_the_client_no_longer_waits_another() -> None:
    before, after = run(40, 2), run(40, 6)
    found = changes(before, after)
    assert found.pop("persist_s") == pytest.approx(40 * 4e-3)
    # Calls are sent at set times: what storage takes longer, the client has less.
    assert found.pop("client_s") == pytest.approx(-40 * 4e-3)
    assert list(found.values()) == pytest.approx([0] * len(found), abs=1e-9)


@pytest.mark.parametrize("backwards", [False, True])
def test_calls_that_nobody_made_tell_no_other_storage(backwards: bool) -> None:
    """What they waited for goes with them."""
    sides = run(40, 6), run(40, 1, made=False)
    steps = {step.factor: step for step in waterfall(*(sides[::-1] if backwards else sides))}
    assert steps["persist_s"].change_s == 0
    assert steps["persist_s"].before == steps["persist_s"].after == pytest.approx(5e-3)
    sign = 1 if backwards else -1
    assert steps["syncops_per_file"].change_s == pytest.approx(sign * 40 * 5e-3)


def test_a_longer_round_trip_is_one_step_where_some_calls_overlap_and_others_do_not() -> None:
    """40 LOOKUPs one by one, then 20 READs at once, of 39 ms at the server: 41 round trips."""

    def mixed(rtt_ms: float) -> Measurement:
        rows = [call(number, "LOOKUP", rtt_ms, file=number) for number in range(1, 41)]
        behind = {
            "call_first_time": 42 * 10,
            "call_time": 42 * 10,
            "reply_time": 42 * 10 + 39 + rtt_ms,
        }
        times = {name: START_NS + int(ms * MILLISECOND) for name, ms in behind.items()}
        reads = [
            call(40 + number, "READ", 39 + rtt_ms, file=number, stability="read", **times)
            for number in range(1, 21)
        ]
        files = [file(number, f"f{number}") for number in range(1, 41)]
        with trace_of(calls=[*rows, *reads], files=files) as trace:
            return measure(trace)

    before, after = mixed(1), mixed(9)
    assert before.concurrency == pytest.approx(840 / 80)
    assert after.concurrency == pytest.approx(1320 / 408)
    found = changes(before, after)
    assert found["rtt_s"] == pytest.approx(41 * 8e-3, rel=0.01)
    assert found["concurrency"] == pytest.approx(0, abs=1e-3)


@functools.cache
def bursts(at_once: int, *, alone: int = 40, disk_ms: float = 5) -> Measurement:
    """SETATTRs that come one by one to a disk, and then 80 of them so many at once."""
    rows: list[Row] = []
    now_ms = 0.0

    def add(op: str, sent_ms: float, lasts_ms: float, *, of: int, stable: bool) -> None:
        sent, end = (START_NS + int(ms * MILLISECOND) for ms in (sent_ms, sent_ms + lasts_ms))
        times = {"call_time": sent, "call_first_time": sent, "reply_first_time": end}
        stability = "stable" if stable else "unstable"
        rows.append(
            call(
                len(rows) + 1, op, lasts_ms, file=of, stability=stability,
                **{**times, "reply_time": end, "srt": end - sent},
            )
        )  # fmt: skip

    for number in range(alone):
        of = number % 40 + 1
        if number < 40:
            add("LOOKUP", now_ms, 1, of=of, stable=False)
        add("SETATTR", now_ms + 2, 1 + disk_ms, of=of, stable=True)
        now_ms += 5 + disk_ms
    for first in range(0, 80, at_once):
        for place in range(at_once):
            of = (first + place) % 40 + 1
            add("SETATTR", now_ms, 1 + disk_ms * (place + 1), of=of, stable=True)
        now_ms += disk_ms * at_once + 4
    files = [file(number, f"f{number}") for number in range(1, 41)]
    with trace_of(calls=rows, files=files) as trace:
        return measure(trace)


def test_what_a_burst_waits_for_itself_is_no_other_disk() -> None:
    """A disk of 5 ms a call before and after; 80 calls come 40 at once before, and 8 after."""
    before, after = bursts(40), bursts(8)
    assert before.persist_s is not None
    assert after.persist_s is not None
    assert before.persist_s > 3 * after.persist_s
    steps = {step.factor: step for step in waterfall(before, after)}
    told = steps["persist_s"]
    assert told.alone
    assert [told.before, told.after] == pytest.approx([5e-3, 5e-3], rel=0.05)
    assert abs(told.change_s) < 0.02
    assert abs(steps["concurrency"].change_s) < 0.1
    # Nor does another disk foretell anything.
    forecasts = {each.given: each.forecast_s for each in foretold(before, after)}
    assert forecasts["set_up"] == pytest.approx(before.span_s, rel=0.03)
    assert forecasts["overlap"] == pytest.approx(after.span_s, rel=0.25)


@pytest.mark.parametrize(("alone", "share", "told"), [(320, 0.2, True), (900, 0.09, False)])
def test_what_few_wait_for_one_another_is_told_apart_where_it_is_a_tenth(
    alone: int, share: float, told: bool
) -> None:
    """A fifth of the time is what a few dozen delegations take that are returned together."""
    before, after = bursts(1, alone=alone), bursts(4, alone=alone)
    assert after.stable.waited_share == pytest.approx(share, abs=0.01)
    for sides in ((before, after), (after, before)):
        persist = next(step for step in waterfall(*sides) if step.factor == "persist_s")
        assert persist.alone is told
        if told:
            assert [persist.before, persist.after] == pytest.approx([5e-3, 5e-3], rel=0.02)


def test_less_is_waited_for_a_faster_disk() -> None:
    """As many come at once before and after: each waits for the others as much less."""
    slow, fast = bursts(8, disk_ms=20), bursts(8, disk_ms=1)
    assert waits(slow, fast)[0] > 10 * waits(slow, fast)[1] > 0
    set_up = next(each for each in foretold(slow, fast) if each.given == "set_up")
    assert set_up.forecast_s == pytest.approx(fast.span_s, rel=0.05)


def test_what_was_lost_is_a_step_of_its_own_wherever_it_was_captured() -> None:
    """The client sees a call that takes long, the server one that comes late."""
    run_s = 0.4
    at_client = replace(run(40, 5), lost=Lost(calls_s=run_s))
    at_server = replace(run(40, 5), lost=Lost(gaps_s=run_s))
    clean = run(40, 5)
    for lossy in (at_client, at_server):
        found = changes(clean, lossy)
        assert found["lost_s"] == pytest.approx(run_s)
        assert sum(found.values()) == pytest.approx(0, abs=1e-9)
    assert changes(at_client, at_server)["lost_s"] == pytest.approx(0, abs=1e-9)


def test_what_was_lost_while_bytes_moved_is_counted_once() -> None:
    """Bytes that stood still are transfer already, and no step of their own."""
    clean = replace(run(40, 5), transfer_s=0.4)
    lossy = replace(clean, lost=Lost(calls_s=0.4, transfer_s=0.3))
    steps = {step.factor: step for step in waterfall(clean, lossy)}
    assert steps["lost_s"].change_s == pytest.approx(0.1)
    assert steps["other_s"].change_s == pytest.approx(-0.1)


def test_what_was_lost_in_pauses_is_no_pause() -> None:
    """Nor the client's own time between calls, of which it may have just as much."""
    calm = replace(run(40, 5), pauses_s=3.0)
    lossy = replace(calm, lost=Lost(gaps_s=0.1, pauses_s=0.8))
    assert calm.client_s > 0.9
    found = changes(calm, lossy)
    assert found["lost_s"] == pytest.approx(0.9)
    assert found["client_s"] == pytest.approx(-0.1)
    assert found["pauses_s"] == pytest.approx(-0.8)
    assert sum(found.values()) == pytest.approx(0, abs=1e-9)


def test_calls_wait_for_others_no_longer_than_for_the_storage() -> None:
    """Their share is of their whole time, of which a long round trip may be most."""
    before, after = (
        replace(run(40, 2), stable=StableCalls(waited_share=share)) for share in (0.9, 0.0)
    )
    assert before.persist_s is not None
    assert before.stable_mean_s is not None
    assert before.persist_s < 0.9 * before.stable_mean_s
    assert waits(before, after) == (before.persist_s, 0.0)


def test_round_trips_that_hold_up_the_clock_for_longer_are_a_step_of_the_calls_at_once() -> None:
    """As many calls at once on both sides on average, but other ones: one by one those that ask."""
    before = run(40, 5)
    sums = replace(before.sums, turns=before.sums.turns * 1.2)
    after = replace(before, sums=sums)
    assert before.concurrency == after.concurrency
    found = changes(before, after)
    longer = after.costs().turns - before.costs().turns
    assert longer > 0.1
    assert found.pop("concurrency") == pytest.approx(120 * (before.rtt_s or 0.0) * longer)
    assert sum(found.values()) == pytest.approx(-120 * (before.rtt_s or 0.0) * longer)


def test_what_was_waited_for_locks_is_a_step_of_its_own() -> None:
    """In gaps between calls and in pauses, which are the client's own without it."""
    free, locked = run(40, 5), replace(run(40, 5), locked=BetweenCalls(gaps_s=0.2))
    found = changes(free, locked)
    assert found["locks_s"] == pytest.approx(0.2)
    assert found["client_s"] == pytest.approx(-0.2)
    paused = replace(free, pauses_s=3.0)
    found = changes(free, replace(paused, locked=BetweenCalls(pauses_s=2.5)))
    assert found["locks_s"] == pytest.approx(2.5)
    assert found["pauses_s"] == pytest.approx(0.5)
    assert sum(found.values()) == pytest.approx(3.0)


def test_a_server_that_is_not_ready_makes_clients_wait_once_however_many_files() -> None:
    """As after its restart: the wait is no part of what each file takes."""
    waited = replace(run(20, 5), postponed_s=0.05)
    found = changes(waited, run(40, 5))
    assert found["waiting_s"] == pytest.approx(-0.05)
    steps = {step.factor: step for step in waterfall(waited, run(40, 5))}
    assert steps["waiting_s"].before == pytest.approx(0.05)
    assert steps["waiting_s"].after == 0


def test_what_was_lost_is_not_clear_where_the_captures_are_from_different_places() -> None:
    clean, lossy = run(40, 5), replace(run(40, 5), lost=Lost(calls_s=0.4))
    there = replace(lossy, path=replace(lossy.path, vantage="server"))
    for after, clear in ((lossy, True), (there, False)):
        steps = {step.factor: step for step in waterfall(clean, after)}
        assert steps["lost_s"].clear is clear


def test_twice_the_files_cost_all_that_a_file_costs() -> None:
    before, after = run(40, 5), run(80, 5)
    found = changes(before, after)
    assert found["files"] == pytest.approx(after.span_s - before.span_s, rel=0.02)
    steps = {step.factor: step for step in waterfall(before, after)}
    assert (steps["files"].before, steps["files"].after, steps["files"].clear) == (40, 80, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((40, 5), (30, 1, 5)),
        ((12, 9), (11, 9)),
        ((5, 1), (50, 1)),
        ((40, 5), (0, 5)),
        ((0, 5), (0, 5)),
    ],
)
def test_the_steps_add_up_and_only_change_their_sign(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    one, other = run(*before), run(*after)
    there, back = changes(one, other), changes(other, one)
    assert sum(there.values()) == pytest.approx(other.span_s - one.span_s, abs=1e-9)
    assert there == pytest.approx({name: -value for name, value in back.items()}, abs=1e-9)
    assert set(there) <= {*FACTORS, "rtt_s"}


def test_calls_that_a_client_makes_more_cost_none_of_the_time_of_its_program() -> None:
    """As with `noac`: twice the calls of a millisecond for each file, and as much work of it."""
    before, after = run(40, 5), run(40, 5, calls=6)
    after = replace(after, client_s=before.client_s)
    steps = {step.factor: step for step in waterfall(before, after)}
    assert steps["rpcs_per_file"].change_s == pytest.approx(40 * 3 * 1e-3, rel=0.02)
    assert steps["client_s"].change_s == pytest.approx(0, abs=1e-9)
    assert steps["client_s"].before == pytest.approx(before.client_s / 40)


def test_a_step_lies_in_its_interval() -> None:
    """Also where few calls show the round trip, which may be longer than TCP's in any resample."""
    before, after = (replace(run(40, srt_ms), rtt_source="handshake") for srt_ms in (5, 3))
    before = replace(before, small_median_s=2 * (before.rtt_s or 0.0))
    for step in waterfall(before, after):
        assert step.low_s is not None
        assert step.high_s is not None
        assert step.low_s <= step.change_s <= step.high_s


def test_a_step_is_clear_from_what_is_asked_for() -> None:
    before, after = run(40, 5), run(80, 5)

    def clear(steps: tuple[Step, ...]) -> bool:
        return {step.factor: step for step in steps}["files"].clear

    assert clear(waterfall(before, after))
    assert clear(waterfall(before, after, clear_from=0.4))
    assert not clear(waterfall(before, after, clear_from=0.6))
    assert not clear(waterfall(before, after, broken_off=True))


def test_with_few_files_there_is_no_interval() -> None:
    assert {step.low_s for step in waterfall(run(5, 1), run(50, 1))} == {None}
    assert None not in {step.low_s for step in waterfall(run(40, 1), run(50, 1))}


@pytest.mark.parametrize(
    ("before", "after", "by_file"),
    [((40, 2), (10, 8), False), ((10, 8), (40, 2), False), ((40, 2), (10, 2), True),
     ((40, 2), (11, 8), True), ((40, 2), (10, 7), True), ((9, 2), (36, 2), False),
     ((9, 2), (35, 2), True)],
)  # fmt: skip
def test_runs_are_taken_as_wholes_where_calls_do_not_go_with_files(
    before: tuple[int, int], after: tuple[int, int], by_file: bool
) -> None:
    """Who believes what it knows asks for few of the same files, and no more of these.

    What a few files took is no mean for many times as many, either.
    """
    sides = [run(files, 5, calls=calls) for files, calls in (before, after)]
    assert comparable(*sides) is by_file
    steps = {step.factor: step for step in waterfall(*sides)}
    assert (steps["files"].before == 1) is not by_file
    total = sum(step.change_s for step in steps.values())
    assert total == pytest.approx(sides[1].span_s - sides[0].span_s)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_round_trip_that_may_be_the_servers_is_a_step_of_both(swapped: bool) -> None:
    known = run(40, 5)
    way = replace(known.path.way, rtt_s=0.001, source="gaps", by_answers=True)
    bounded = replace(known, rtt_source="gaps", path=replace(known.path, way=way))
    undivided = replace(way, undivided=True)
    untold = replace(bounded, path=replace(known.path, way=undivided))
    for other, told in ((bounded, "rtt_s"), (untold, "rtt_or_server_s")):
        sides = (other, known) if swapped else (known, other)
        factors = {step.factor for step in waterfall(*sides)}
        assert factors & {"rtt_s", "rtt_or_server_s", "network_rtt_s", "server_s"} == {told}
        assert told in differences.FACTORS


def test_runs_are_taken_as_wholes_where_one_shows_no_file() -> None:
    before, after = run(40, 5), run(0, 5)
    assert not comparable(before, after)
    steps = {step.factor: step for step in waterfall(before, after)}
    assert (steps["files"].before, steps["files"].after) == (1, 1)
    assert (steps["rpcs_per_file"].before, steps["rpcs_per_file"].after) == (120, 0)
