"""How fast data moved each way, however many messages share the time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.wire.data_rates import DataRate, data_rates
from tests.analyses.test_loss_rate import MESSAGE, reads, writes
from tests.unit.rows import MILLISECOND, Row, trace_of

CLIENT = "10.0.0.2"

TIMES = ("call_first_time", "call_time", "reply_first_time", "reply_time")


def told(calls: list[Row]) -> tuple[DataRate, ...]:
    with trace_of(calls=calls) as trace:
        return data_rates(trace)


def other_calls(calls: Sequence[Row]) -> list[Row]:
    """The same as calls of their own."""
    return [{**row, "call": 10_000 + place} for place, row in enumerate(calls)]


def later(row: Row, delay_ms: float) -> Row:
    """The same call by so much later."""
    moved = {name: int(str(row[name])) + round(delay_ms * MILLISECOND) for name in TIMES}
    return {**row, **moved}


def test_pauses_between_messages_do_not_count() -> None:
    (found,) = told(reads((50.0,), pause_ms=30))
    assert (found.client, found.sender) == (CLIENT, "server")
    assert found.bytes_per_s == pytest.approx(MESSAGE / 0.050)


def test_messages_side_by_side_have_the_time_together() -> None:
    """Two connections that take turns on one link: each message takes twice as long."""
    first = reads((50.0,), pause_ms=0)
    half = [{**later(row, 25), "connection": 2} for row in other_calls(first)]
    (found,) = told([*first, *half])
    assert found.bytes_per_s == pytest.approx(2 * MESSAGE / 0.050, rel=0.01)


def test_each_way_is_told_by_itself_that_which_took_longer_first() -> None:
    found = told([*reads((50.0,)), *other_calls(writes())])
    assert [each.sender for each in found] == ["client", "server"]
    assert [each.bytes_per_s for each in found] == pytest.approx(
        [MESSAGE / 0.0717, MESSAGE / 0.050], rel=0.01
    )


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"reply_bytes": 8192}, id="small"),
        pytest.param({"callback": True}, id="callbacks"),
        pytest.param({"first_arrived": False}, id="sent again"),
        pytest.param({"reply_first_time": None, "reply_time": None}, id="without a reply"),
    ],
)
def test_what_tells_no_rate(changed: Row) -> None:
    assert told([{**row, **changed} for row in reads()]) == ()


def test_a_message_in_one_packet_tells_none() -> None:
    assert told([{**row, "reply_first_time": row["reply_time"]} for row in reads()]) == ()
