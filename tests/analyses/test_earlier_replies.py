"""Replies that bear an earlier time than the calls before them."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.captured.earlier_replies import earlier_replies
from pcapnfs.analyses.captured.trust import trust
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

CALL = call(1, "GETATTR", None, call_frame=10, xid=7, connection=3)

REPLY: Row = {
    "reason": "reply_without_call",
    "frame": 11,
    "xid": 7,
    "connection": 3,
    "time": START_NS + MILLISECOND // 2,
}


@pytest.mark.parametrize(
    ("changed", "replies"),
    [
        ({}, 1),
        # It came later: why nobody took it for that of the call is another thing.
        ({"time": START_NS + 1_000 * MILLISECOND}, 0),
        # It was there first: its call is missing, and an xid comes again.
        ({"frame": 9}, 0),
        ({"xid": 8}, 0),
        ({"connection": 4}, 0),
        ({"reason": "duplicate_reply"}, 0),
    ],
)
def test_a_reply_behind_its_call_with_an_earlier_time_shows_a_clock(
    changed: dict[str, Any], replies: int
) -> None:
    with trace_of(calls=[CALL], notes=[{**REPLY, **changed}]) as trace:
        assert earlier_replies(trace) == trust(trace).earlier_replies == replies


def test_of_a_call_that_has_a_reply_it_is_none() -> None:
    answered = call(1, "GETATTR", 2, call_frame=10, xid=7, connection=3)
    with trace_of(calls=[answered], notes=[REPLY]) as trace:
        assert earlier_replies(trace) == 0


def test_replies_are_counted_and_not_the_calls_before_them() -> None:
    """Calls may have one xid, and more than one reply."""
    late = 1_000 * MILLISECOND
    calls = [{**CALL, "call": 1 + place, "call_frame": 8 + place} for place in range(3)]
    calls[0]["call_time"] = START_NS + late + MILLISECOND
    calls.append({**CALL, "call": 9, "call_frame": 20, "call_time": START_NS + 2 * late})
    replies = [REPLY, {**REPLY, "time": START_NS + late}, {**REPLY, "time": START_NS + 2 * late}]
    with trace_of(calls=calls, notes=replies) as trace:
        assert earlier_replies(trace) == 2
