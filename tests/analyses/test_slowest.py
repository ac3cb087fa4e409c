"""Slow calls: in which order, with what beside them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.times.slowest import slowest
from pcapnfs.errors import UsageError
from tests.unit.rows import call, file, trace_of


def test_the_slowest_come_first_with_what_is_usual() -> None:
    rows = [
        *(call(number, "READ", 1 + number, file=1) for number in range(1, 4)),
        call(4, "GETATTR", 9, transmissions=2),
        call(5, "READ", None),
        call(6, "CB_RECALL", 100, callback=True),
    ]
    with trace_of(calls=rows, files=[file(1, "a/b")]) as trace:
        first, second, *_ = found = slowest(trace)
        assert slowest(trace, top=2) == (first, second)
        assert slowest(trace, top=0) == found
        with pytest.raises(UsageError):
            slowest(trace, top=-1)
    assert [(each.op, each.srt_s) for each in found] == [
        ("GETATTR", 0.009),
        ("READ", 0.004),
        ("READ", 0.003),
        ("READ", 0.002),
    ]
    assert (first.path, first.transmissions, first.answered) == (None, 2, 1)
    assert (second.path, second.answered, second.p50_s) == ("a/b", 3, 0.003)
    assert second.p99_s == pytest.approx(0.00398)
    assert (second.call_frame, second.reply_frame) == (5, 6)


def test_without_answers_there_is_none() -> None:
    with trace_of(calls=[call(1, "READ", None)]) as trace:
        assert slowest(trace) == ()
