"""Stable calls that waited for storage where their kind usually did not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from pcapnfs.analyses.servers.slow_storage import SlowStorage, shortest, slow_storage, together
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

CLIENT = "10.0.0.2"
PAIRS = 200
SLOW = range(80, 120)
"""Those of the pairs whose stable call is slow: forty of two hundred, one after the other."""

APART = 10
"""Tens of milliseconds between calls: none is under way when the next comes."""


def pairs(
    slow: Iterable[int] = SLOW,
    *,
    op: str = "CREATE",
    slow_ms: float = 30,
    small_ms: Callable[[int], float] = lambda _: 1,
    **columns: object,
) -> list[Row]:
    """A small call of a millisecond and a stable one of 1.2, or slow, again and again."""
    late = set(slow)
    rows: list[Row] = []
    for place in range(PAIRS):
        first = 1 + 2 * APART * place
        took_ms = slow_ms if place in late else 1.2
        rows.append(call(first, "GETATTR", small_ms(place)))
        rows.append(call(first + APART, op, took_ms, stability="stable", **columns))
    return rows


def found(
    calls: Sequence[Row], files: Sequence[Row] = (), operations: Sequence[Row] = ()
) -> SlowStorage | None:
    with trace_of(calls=calls, files=files, operations=operations) as trace:
        return slow_storage(trace).get(CLIENT)


def sent_ns(place: int) -> int:
    """When the stable call of a pair was sent."""
    return START_NS + (1 + 2 * APART * place + APART) * 10 * MILLISECOND


def test_a_while_of_slow_storage_is_found_with_its_time() -> None:
    slow = found(pairs())
    assert slow is not None
    assert slow.calls == 40
    assert slow.time_s == pytest.approx(40 * 0.029)
    assert slow.mean_s == pytest.approx(0.029)
    assert slow.while_ns == (sent_ns(80), sent_ns(119))


def test_a_while_holds_what_is_slow_right_before_and_after() -> None:
    slow = found(pairs([20, 75, *SLOW, 124, 150]))
    assert slow is not None
    assert slow.calls == 44
    assert slow.while_ns == (sent_ns(80), sent_ns(119))
    slow = found(pairs([76, *SLOW, 123]))
    assert slow is not None
    assert slow.while_ns == (sent_ns(76), sent_ns(123))


def test_slow_calls_that_are_scattered_have_no_while() -> None:
    slow = found(pairs(range(0, 200, 5)))
    assert slow is not None
    assert (slow.calls, slow.while_ns) == (40, None)


@pytest.mark.parametrize(
    "slow",
    [range(80, 109), range(60, 161)],
    ids=["too few to rest anything on", "as a rule: the mean tells that"],
)
def test_too_few_or_most_are_no_slow_while(slow: range) -> None:
    assert found(pairs(slow)) is None


def test_four_milliseconds_longer_are_those_of_a_disk() -> None:
    assert found(pairs(slow_ms=5.0)) is not None
    assert found(pairs(slow_ms=4.9)) is None


def far(slow_ms: float) -> list[Row]:
    """The same, over a path of 20 ms more."""
    return [{**row, "srt": nanoseconds(row) + 20 * MILLISECOND} for row in pairs(slow_ms=slow_ms)]


def nanoseconds(row: Row) -> int:
    """What a call took."""
    took = row["srt"]
    assert isinstance(took, int)
    return took


def is_slow(row: Row) -> bool:
    return nanoseconds(row) == 30 * MILLISECOND


def slow_ones() -> list[Row]:
    return [row for row in pairs() if is_slow(row)]


def test_of_a_long_path_it_is_another_round_trip() -> None:
    assert found(far(19)) is None
    assert found(far(23)) is not None


def test_where_small_calls_are_slow_meanwhile_it_is_not_the_storage() -> None:
    """A processor or a path that was slow for a while delays these as well."""
    assert found(pairs(small_ms=lambda place: 20 if place in SLOW else 1)) is None
    # Some may be, by chance.
    assert found(pairs(small_ms=lambda place: 6 if place in (81, 90) else 1)) is not None


def test_nor_where_they_are_slow_as_often_at_other_times() -> None:
    """On a path of that kind any call is late now and then."""
    assert found(pairs(small_ms=lambda place: 8 if place % 5 == 4 else 1)) is None
    assert found(pairs(small_ms=lambda place: 8 if place % 50 == 4 else 1)) is not None


def test_without_small_calls_right_before_nothing_tells() -> None:
    rows = [
        row
        for place, row in enumerate(pairs())
        if row["op"] != "GETATTR" or place // 2 not in range(61, 120)
    ]
    assert found(rows) is None


def test_calls_that_came_behind_others_may_have_waited_for_these() -> None:
    """Each slow one comes while another client's call is under way."""
    beside: list[Row] = [
        {
            **call(5000 + place, "READ", 40, client="10.0.0.9", call_time=sent_ns(place) - 1),
            "reply_time": sent_ns(place) + 35 * MILLISECOND,
        }
        for place in SLOW
    ]
    assert found(pairs() + beside) is None
    # A few of them, which waited as long as the others did meanwhile.
    slow = found(pairs(range(80, 125)) + beside[15:24])
    assert slow is not None
    assert slow.calls == 45
    # What waited longer than these did so in a queue.
    late = {sent_ns(place) for place in range(95, 104)}
    queued = [
        {**row, "srt": 60 * MILLISECOND} if row["call_time"] in late else row
        for row in pairs(range(80, 125))
    ]
    slow = found([*queued, *beside[15:24]])
    assert slow is not None
    assert slow.calls == 36
    # Where slow ones are scattered nothing tells that of them.
    scattered = [*range(0, 72, 2), *range(160, 169)]
    beside = [
        {**row, "call_time": sent_ns(place) - 1, "reply_time": sent_ns(place) + 35 * MILLISECOND}
        for place, row in zip(range(160, 169), beside, strict=False)
    ]
    slow = found(pairs(scattered) + beside)
    assert slow is not None
    assert slow.calls == 36


def test_a_kind_that_is_slow_as_a_rule_was_not_slow_for_a_while() -> None:
    """Every fifth stable call is a RENAME, which takes as long whenever it is asked for."""
    rows = pairs(range(0, 200, 5))
    assert found([{**row, "op": "RENAME"} if is_slow(row) else row for row in rows]) is None


def test_what_takes_as_long_as_data_is_large_tells_nothing() -> None:
    assert found(pairs(op="COMMIT")) is None
    assert found(pairs(op="WRITE", call_bytes=20_000)) is not None
    assert found(pairs(op="WRITE", call_bytes=20_001)) is None
    assert found(pairs(op="REMOVE", file=1), [file(1, "f", size=1 << 20)]) is not None
    assert found(pairs(op="REMOVE", file=1), [file(1, "f", size=(1 << 20) + 1)]) is None
    cut = [{**operation(0, "SETATTR", set_size=0), "call": row["call"]} for row in slow_ones()]
    assert found(pairs(op="SETATTR")) is not None
    assert found(pairs(op="SETATTR"), operations=cut) is None


def test_what_is_told_elsewhere_is_left_out() -> None:
    """Calls that were sent again, or put off, or came while a delegation was called back."""
    slow, rest = slow_ones(), [row for row in pairs() if not is_slow(row)]
    assert (
        found([*rest, *({**row, "transmissions": 2, "first_arrived": False} for row in slow)])
        is None
    )
    late = {"status_name": "NFS3ERR_JUKEBOX"}
    assert found([*rest, *({**row, **late} for row in slow)]) is None
    recalls = [
        call(5000 + place, "CB_RECALL", 1, callback=True, call_time=row["call_time"])
        for place, row in enumerate(slow)
    ]
    assert found([*rest, *slow, *recalls]) is None


def test_several_are_slow_for_a_while_where_each_is() -> None:
    one, other = SlowStorage(2, 0.2, (5, 9)), SlowStorage(3, 0.4, (7, 12))
    assert together([]) is None
    assert together([one]) == one
    both = together([one, other])
    assert both is not None
    assert (both.calls, both.while_ns) == (5, (5, 12))
    assert both.time_s == pytest.approx(0.6)
    scattered = together([one, SlowStorage(3, 0.4)])
    assert scattered is not None
    assert scattered.while_ns is None


def test_the_shortest_stretch_with_most_of_the_weight() -> None:
    times = np.array([0, 50, 51, 52, 53, 54, 100], np.int64)
    assert shortest(times, np.array([1, 4, 4, 4, 4, 4, 1], np.int64)) == (1, 5)
    assert shortest(times[:1], np.array([7], np.int64)) == (0, 0)
    assert shortest(times, np.array([90, 1, 1, 1, 1, 1, 1], np.int64)) == (0, 0)
