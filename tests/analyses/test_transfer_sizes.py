"""What READs and WRITEs asked for, and what servers allow."""

from __future__ import annotations

from contextlib import closing

import pytest

from pcapnfs.analyses.data.asked_sizes import asked_sizes
from pcapnfs.analyses.data.transfer_sizes import (
    Allowed,
    Moved,
    allowed,
    moved,
    went_on,
    withheld,
)
from pcapnfs.trace import Trace
from tests.unit.rows import call, file, operation, trace_of


def test_reads_and_writes_are_looked_at_apart() -> None:
    calls = [call(number, "READ", 1, mount=4) for number in range(1, 5)]
    operations = [
        operation(1, "READ", offset=100, requested=50, count=20),
        operation(2, "READ_PLUS", offset=0, requested=80, count=80),
        # The offset was cut off.
        operation(3, "READ", requested=90),
        operation(4, "WRITE", offset=1000, requested=10, count=10),
        # Of no call that is known.
        operation(5, "WRITE", offset=9000, requested=900, count=900),
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        assert sorted(moved(trace), key=lambda each: each.reading) == [
            Moved(4, False, 10, 0, 10, 10, 1010),
            Moved(4, True, 100, 1, 90, 80, 150),
        ]
        assert allowed(trace) == ()


def test_what_moved_nothing_reaches_nowhere() -> None:
    calls = [call(number, "READ", 1, mount=4) for number in range(1, 4)]
    operations = [
        operation(1, "READ", offset=0, requested=4096, count=700),
        operation(2, "READ", offset=100_000, requested=4096, count=0),
        operation(3, "READ", offset=200_000, requested=4096, status=5),
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        (reads,) = moved(trace)
    assert (reads.largest_bytes, reads.reach_bytes) == (4096, 4096)


def test_a_server_allows_each_client_something() -> None:
    calls = [call(1, "FSINFO", 1, mount=4), call(2, "GETATTR", 1, mount=5), call(3, "CB", 1)]
    calls[2] = {**calls[2], "callback": True}
    operations = [
        operation(1, "FSINFO", max_read=1024, max_write=512),
        operation(2, "GETATTR", max_write=256),
        operation(3, "CB", max_read=1),
    ]
    with trace_of(calls=calls, operations=operations) as trace:
        found = sorted(allowed(trace), key=lambda each: each.mount)
        assert moved(trace) == ()
    assert found == [Allowed(4, 1024, 512), Allowed(5, None, 256)]


SUPPORTED = "00032065:00000000:00000800"
"""What Linux asks for when it mounts, with the attributes that the server supports."""


@pytest.mark.parametrize(
    ("asked", "told", "largest", "found"),
    [
        ((SUPPORTED, "00000400:00000000"), {}, 1024, {4}),
        ((SUPPORTED, "c8000400:40080000"), {}, 1024, {4}),
        ((SUPPORTED, "c8000400:40080000"), {"max_read": 65536}, 1024, set()),
        ((SUPPORTED, "00000400:00000000"), {}, 4096, set()),
        (("00000400:00000000",), {}, 1024, set()),
        ((SUPPORTED, "0010011a:0030823a"), {}, 1024, set()),
    ],
    ids=["left out", "no answer", "told", "larger all the same", "lease alone", "stat"],
)
def test_a_server_may_not_say_what_it_allows(
    asked: tuple[str, ...], told: dict[str, int], largest: int, found: set[int]
) -> None:
    calls = [call(number, "GETATTR", 1, mount=4) for number in range(1, 4)]
    operations = [
        operation(number, "GETATTR", status=0, attributes=mask, **told)
        for number, mask in enumerate(asked, start=1)
    ]
    operations.append(operation(3, "READ", offset=0, requested=largest, count=largest))
    with trace_of(calls=calls, operations=operations) as trace:
        assert withheld(trace) == found


def _asked(trace: Trace) -> dict[str, object]:
    with closing(trace.cursor()) as cursor:
        return asked_sizes(trace, cursor)[0].told(4)


@pytest.mark.parametrize(("srt_ms", "waited_for"), [(15, 0), (10, 3), (1, 3)])
def test_reads_that_go_on_are_cut_to_size_where_one_is_under_way_still(
    srt_ms: int, waited_for: int
) -> None:
    calls = [call(number, "READ", srt_ms, mount=4, file=1) for number in range(1, 5)]
    operations = [
        operation(number, "READ", file=1, offset=(number - 1) * 4096, requested=4096, count=4096)
        for number in range(1, 5)
    ]
    with trace_of(files=[file(1, "f")], calls=calls, operations=operations) as trace:
        assert went_on(trace, 4096, reading=True) == (waited_for == 0)
        told = _asked(trace)
    assert (told["reads_continued"], told["reads_waited_for"]) == (3, waited_for)


def test_of_a_reply_that_is_missing_nobody_knows_whether_it_was_waited_for() -> None:
    calls = [call(number, "READ", None, mount=4, file=1) for number in range(1, 5)]
    operations = [
        operation(number, "READ", file=1, offset=(number - 1) * 4096, requested=4096)
        for number in range(1, 5)
    ]
    with trace_of(files=[file(1, "f")], calls=calls, operations=operations) as trace:
        told = _asked(trace)
    assert (told["reads_continued"], told["reads_waited_for"]) == (3, 0)
