"""Calls on one line of time: shares of what is waited for, and the gaps between."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs import _core
from pcapnfs.analyses.asking.objects import NO_FILE
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.analyses.times.timeline import timeline
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

PAIR = ("10.0.0.2", "10.0.0.1")
"""Client and server of the calls below, but for one."""


def at(
    number: int, begin_ms: float, end_ms: float | None, op: str = "GETATTR", **more: object
) -> Row:
    """A call from one moment to another, milliseconds after the capture's start."""
    sent = START_NS + int(begin_ms * MILLISECOND)
    times: dict[str, object] = {"call_first_time": sent, "call_time": sent}
    if end_ms is not None:
        end = START_NS + int(end_ms * MILLISECOND)
        times |= {"reply_first_time": end, "reply_time": end, "srt": end - sent}
    return call(number, op, None if end_ms is None else 1, **(times | more))


def test_time_is_shared_while_calls_overlap_and_the_clients_own_between() -> None:
    calls = [
        at(1, 0, 10, file=2),
        at(2, 4, 6, file=1),
        at(3, 20, 25, client="10.0.0.3"),
        at(4, 30, 31, program=100005, protocol="mount3", op="MNT"),
        at(5, 40, 41, callback=True),
        at(6, 50, 52, file=3),
    ]
    with trace_of(calls=calls) as trace:
        found = timeline(trace, {})
    # MOUNT and callbacks are no calls of the run: their time is the client's.
    assert len(found) == 4
    assert found.units.number.tolist() == [2, 1, NO_FILE, 3]
    assert found.units.waited_s.tolist() == pytest.approx([0.010, 0.002, 0.005, 0.002])
    assert found.units.share_s.tolist() == pytest.approx([0.009, 0.001, 0.005, 0.002])
    assert (found.waited_s, found.busy_s) == pytest.approx((0.019, 0.017))
    assert found.idle_s.tolist() == pytest.approx([0, 0, 0.010, 0.025])
    assert found.alone.tolist() == [False, False, True, True]


def test_a_call_that_comes_as_the_one_before_ends_is_behind_none() -> None:
    """By a clock that ticks every 4 ms, as the reply before; the last came while two were."""
    calls = [at(1, 0, 4), at(2, 4, 12), at(3, 12, 12), at(4, 12, 16), at(5, 16, 24), at(6, 20, 20)]
    with trace_of(calls=calls) as trace:
        found = timeline(trace, {})
    assert found.behind.tolist() == [False, False, False, False, False, True]


def test_a_capture_elsewhere_has_seen_less_than_the_client_waited() -> None:
    calls = [at(1, 10, 11, connection=3), at(2, 15, 16, connection=3)]
    with trace_of(calls=calls) as trace:
        found = timeline(trace, {PAIR: 2 * MILLISECOND})
    assert found.service_s.tolist() == pytest.approx([0.003, 0.003])
    assert found.waited_s == pytest.approx(0.006)
    assert found.idle_s.tolist() == pytest.approx([0, 0.002])


def test_calls_are_what_they_show() -> None:
    calls = [
        at(1, 0, 1, "GETATTR", file=1),
        at(2, 2, 3, "CREATE", stability="stable", file=1, directory=2),
        at(3, 4, 5, "CREATE", stability="stable", transmissions=2),
        at(4, 6, 7, "LOOKUP", transmissions=2, file=2),
        at(5, 8, 9, "ACCESS", status=10008, status_name="NFS3ERR_JUKEBOX"),
        at(6, 10, None, "GETATTR"),
        at(7, 12, 13, "READ", stability="read", file=3),
        at(8, 14, 15, "READDIR", file=2),
        at(9, 16, 17, "GETACL", program=100227, protocol="nfsacl3"),
        at(10, 18, 19, "UNLOCK", program=100021, protocol="nlm4"),
    ]
    files = [file(1, "a"), file(2, "d", "directory"), file(3, "b", identity=1)]
    with trace_of(calls=calls, files=files) as trace:
        found = timeline(trace, {})
    # A few that were sent once show the round trip better than those that were sent again.
    assert found.small.tolist() == [True, *[False] * 7, True, False]
    assert found.stable.tolist() == [False, True, True] + [False] * 7
    assert found.timed.tolist() == [False, True, True] + [False] * 7
    assert found.counted.tolist() == [True] * 9 + [False]
    assert found.operations == ("CREATE",)
    assert found.operation.tolist() == [-1, 0, 0] + [-1] * 7
    # A file with two handles is one.
    assert found.unit.tolist() == [0, 0, 1, 2, 1, 1, 0, 2, 1, 1]
    assert found.units.number.tolist() == [1, NO_FILE, 2]
    assert found.units.regular.tolist() == [True, False, False]
    assert found.units.directory.tolist() == [False, False, True]
    assert found.postponed_s == pytest.approx(0.001)
    assert found.put_off_s == found.postponed_s
    assert found.transfer_s == 0


@pytest.mark.parametrize(("later_ms", "last"), [(40, True), (9_000, False)])
def test_a_call_without_a_reply_may_be_the_last_that_was_outstanding(
    later_ms: int, last: bool
) -> None:
    """Until a later call is answered, or to the end."""
    others = [at(1, 0, 1), at(2, 100, 102, client="10.0.0.3")]
    waits = at(3, 50, None, "READ")
    with trace_of(calls=[*others, waits, at(4, later_ms, later_ms + 1)]) as trace:
        assert timeline(trace, {}).unanswered_last.tolist() == [last, False]


def test_calls_that_were_sent_again_are_left_out_where_enough_are_left() -> None:
    calls = [
        at(number, 10 * number, 10 * number + 1, transmissions=2 if number > 30 else 1)
        for number in range(1, 41)
    ]
    with trace_of(calls=calls) as trace:
        assert timeline(trace, {}).small.tolist() == [True] * 30 + [False] * 10
    with trace_of(calls=calls[29:]) as trace:
        found = timeline(trace, {})
        assert found.small.tolist() == [True] + [False] * 10
        assert not found.small_enough
    with trace_of(calls=calls[30:]) as trace:
        assert timeline(trace, {}).small.tolist() == [True] * 10


def asked(calls: int, *, client: int = 2, server: int = 1) -> list[Row]:
    """Calls of a client to a server, on a connection of their own."""
    first = 1000 * (server + 10 * client)
    between = {"client": f"10.0.0.{client}", "server": f"10.0.1.{server}", "connection": first}
    return [{**at(first + number, number, number + 1), **between} for number in range(calls)]


def test_few_calls_of_each_of_several_pairs_are_few_together() -> None:
    with trace_of(calls=[*asked(29), *asked(29, server=2), *asked(29, client=3)]) as trace:
        found = timeline(trace, {})
    assert not found.small_enough
    assert found.small.all()
    assert found.own_small.all()
    assert not found.own_enough.any()


def test_where_a_pair_has_enough_calls_the_round_trip_is_of_such_pairs() -> None:
    with trace_of(calls=[*asked(30), *asked(29, server=2), *asked(5, client=3)]) as trace:
        found = timeline(trace, {})
    assert found.small_enough
    assert int(found.small.sum()) == 30
    # What the other client's own calls show is the little that they are.
    assert int(found.own_small.sum()) == 30 + 5
    assert found.own_enough.tolist() == [True, False]


def test_nothing_is_no_failure() -> None:
    with trace_of() as trace:
        assert len(timeline(trace, {})) == 0


def test_small_operations_are_those_of_the_operation_table() -> None:
    import json

    small = {row["name"] for row in json.loads(_core.operations()) if row["small"]}
    assert set(SMALL_OPERATIONS) == small


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)), min_size=1, max_size=30),
    st.integers(0, 20),
)
def test_shares_and_gaps_add_up_to_the_span(spans: list[tuple[int, int]], more_ms: int) -> None:
    calls = [
        at(number, 100 + begin, 100 + begin + length, file=number)
        for number, (begin, length) in enumerate(spans, 1)
    ]
    with trace_of(calls=calls) as trace:
        found = timeline(trace, {PAIR: more_ms * MILLISECOND})
    begin = min(begin for begin, _ in spans)
    end = max(begin + length for begin, length in spans)
    units = found.units
    total = float(units.share_s.sum() + found.idle_s.sum())
    assert total == pytest.approx((end - begin + more_ms) / 1000)
    assert (units.share_s <= units.waited_s + 1e-12).all()
