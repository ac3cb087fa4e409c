"""A client's calls cut into what it did one after the other."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.phases import begun, phases
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of


class Script:
    """Calls of a client one after the other, 1 ms for each and 1 ms in between."""

    def __init__(self, client: str = "10.0.0.2", first: int = 1) -> None:
        """Begin at the capture's start."""
        self.rows: list[Row] = []
        self._client = client
        self._next = first
        self._now = 0.0

    def does(self, *operations: str, times: int, srt_ms: float = 1, **columns: object) -> Script:
        """The operations on one file after the other."""
        for each in range(times):
            for op in operations:
                answered = self.now_ns + round(srt_ms * MILLISECOND)
                moments = {
                    "call_first_time": self.now_ns,
                    "call_time": self.now_ns,
                    "reply_first_time": answered,
                    "reply_time": answered,
                }
                named = {"client": self._client, "file": each}
                self.rows.append(call(self._next, op, srt_ms, **moments, **named, **columns))
                self._next += 1
                self._now += srt_ms + 1
        return self

    def pauses(self, ms: int) -> Script:
        """Nothing for a while."""
        self._now += ms
        return self

    @property
    def now_ns(self) -> int:
        """When the next call is sent."""
        return START_NS + round(self._now * MILLISECOND)


def traced(*scripts: Script) -> Trace:
    """A trace of scripts, whose files are all regular but for the first."""
    files = [file(number, f"{number}") for number in range(1, 70)]
    calls = [row for script in scripts for row in script.rows]
    return trace_of(calls=calls, files=[file(0, ".", "directory"), *files])


def script() -> Script:
    """Makes 40 files, lists them, and removes them after a pause."""
    made = Script().does("CREATE", "WRITE", times=40, srt_ms=3, stability="stable")
    listed = made.does("READDIRPLUS", times=20)
    return listed.pauses(500).does("REMOVE", times=40, srt_ms=2, stability="stable")


def test_a_script_falls_into_what_it_did() -> None:
    with traced(script()) as trace:
        found = phases(trace)
        started = begun(trace)
    assert [(phase.name, phase.calls, phase.files) for phase in found] == [
        ("CREATE, WRITE", 80, 39),
        ("READDIRPLUS", 20, 19),
        ("REMOVE", 40, 39),
    ]
    assert [phase.start_s for phase in found] == [0, 0.32, 0.86]
    assert [phase.budget.wall_s for phase in found] == [0.319, 0.039, 0.119]
    assert [phase.pause_s for phase in found] == [0, 0.001, 0.501]
    made, listed, _ = (phase.budget for phase in found)
    assert (made.stable_s, made.client_s) == (0.24, 0.079)
    assert (listed.unstable_s, listed.client_s) == (0.02, 0.019)
    operations = found[0].operations
    assert [(part.op, part.calls) for part in operations] == [("CREATE", 40), ("WRITE", 40)]
    assert [part.time_s for part in operations] == pytest.approx([0.12, 0.12])
    assert tuple(phase for phase, _ in started) == found
    assert [call for _, call in started] == [1, 81, 101]
    assert found[2].start == "2001-09-09T01:46:40.860000000Z"


def one_after_the_other(pairs: int, slow_ms: float, client: Script) -> None:
    """GETATTRs of a millisecond, and as many CREATEs that need storage."""
    for _ in range(pairs):
        client.does("GETATTR", times=1)
        client.does("CREATE", times=1, srt_ms=slow_ms, stability="stable")


@pytest.mark.parametrize(("pairs", "cut"), [(40, True), (29, False)])
def test_a_while_of_slow_storage_is_a_phase_though_the_calls_are_the_same(
    pairs: int, *, cut: bool
) -> None:
    client = Script()
    one_after_the_other(60, 1.2, client)
    one_after_the_other(pairs, 30, client)
    one_after_the_other(60, 1.2, client)
    with traced(client) as trace:
        found = phases(trace)
    calls = [phase.calls for phase in found]
    # From the first slow call, before which a quick one is, to the last.
    assert calls == ([121, 2 * pairs - 1, 120] if cut else [240 + 2 * pairs])
    assert sum(phase.budget.stable_s for phase in found) == pytest.approx(0.144 + 0.03 * pairs)
    if cut:
        assert found[1].budget.stable_s == pytest.approx(1.2)


def test_a_few_calls_before_a_while_of_slow_storage_are_no_phase() -> None:
    client = Script()
    one_after_the_other(7, 1.2, client)
    one_after_the_other(40, 30, client)
    one_after_the_other(60, 1.2, client)
    with traced(client) as trace:
        assert [phase.calls for phase in phases(trace)] == [94, 120]


def test_what_takes_long_names_the_phase() -> None:
    rows = Script().does("SETATTR", times=5, srt_ms=20).does("GETATTR", "LOOKUP", times=20)
    with traced(rows) as trace:
        first, second = phases(trace)
    assert (first.name, second.name) == ("SETATTR", "GETATTR, LOOKUP")


def test_a_long_pause_divides_what_is_alike() -> None:
    rows = Script().does("GETATTR", times=20).pauses(60).does("GETATTR", times=20)
    with traced(rows) as trace:
        first, second = phases(trace)
    assert (first.calls, second.calls) == (20, 20)
    assert second.pause_s == pytest.approx(0.061)
    rows = Script()
    for _ in range(10):
        rows.does("GETATTR", times=20).pauses(60)
    with traced(rows) as trace:
        assert [phase.calls for phase in phases(trace)] == [200]


def at_once(op: str, first: int, times: int, at_ms: int) -> list[Row]:
    """Calls that all came and were answered at the same tick of the capture's clock."""
    now = START_NS + at_ms * MILLISECOND
    moments = dict.fromkeys(("call_first_time", "call_time", "reply_first_time", "reply_time"), now)
    return [call(first + each, op, 0, **moments) for each in range(times)]


def test_calls_at_one_tick_of_the_clock_are_one_phase() -> None:
    with trace_of(calls=at_once("GETATTR", 1, 400, 1)) as trace:
        (only,) = phases(trace)
    assert (only.name, only.calls, only.budget.untold) == ("GETATTR", 400, True)


def test_a_tick_of_the_clock_is_one_phase_beside_others_too() -> None:
    """Of a clock that goes on by single ticks no more than four pauses are long."""
    rows = Script().does("LOOKUP", times=20).rows
    for tick in range(12):
        rows += at_once("GETATTR", 100 + 40 * tick, 40, 100 + tick)
    with trace_of(calls=rows) as trace:
        assert [(phase.name, phase.calls) for phase in phases(trace)] == [
            ("LOOKUP", 20),
            ("GETATTR", 480),
        ]


def test_ticks_apart_are_divided_where_the_pause_is_long() -> None:
    rows = at_once("GETATTR", 1, 100, 1) + at_once("GETATTR", 101, 100, 3)
    with trace_of(calls=rows) as trace:
        first, second = phases(trace)
    assert (first.calls, second.calls) == (100, 100)
    assert second.pause_s == pytest.approx(0.002)


def test_phases_of_one_client_know_nothing_of_another() -> None:
    other = Script("10.0.0.3", 500).pauses(100).does("READ", times=60, stability="read", srt_ms=9)
    with traced(script(), other) as trace:
        found = phases(trace)
        (only,) = phases(trace, clients=["10.0.0.3"])
        assert time_budget(trace, top=1).phases == (only,)
    assert [(phase.client, phase.name) for phase in found] == [
        ("10.0.0.2", "CREATE, WRITE"),
        ("10.0.0.2", "READDIRPLUS"),
        ("10.0.0.2", "REMOVE"),
        ("10.0.0.3", "READ"),
    ]
    assert found[-1] == only


def test_phases_and_pauses_follow_one_another_though_calls_overlap() -> None:
    """A call that goes on for long belongs to the phase that it began in, and takes its share."""
    rows = script().rows
    late = START_NS + 340 * MILLISECOND
    rows[0] = {**rows[0], "reply_first_time": late, "reply_time": late}
    with trace_of(calls=rows) as trace:
        calls = outstanding(trace)
        found = phases(trace, calls)
    assert sum(phase.calls for phase in found) == len(rows)
    until = 0.0
    for phase in found:
        assert phase.pause_s >= 0
        assert phase.start_s == pytest.approx(until + phase.pause_s)
        until = phase.start_s + phase.budget.wall_s
    made, listed, _ = found
    assert made.budget.client_s == 0
    assert listed.budget.stable_s == pytest.approx(0.015)


def test_a_capture_without_calls_has_no_phases() -> None:
    with trace_of() as trace:
        assert phases(trace) == ()
