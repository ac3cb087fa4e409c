"""What READs and WRITEs asked for, and what servers allow."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.data.transfer_sizes import Allowed, Moved, allowed, moved, withheld
from tests.unit.rows import call, operation, trace_of


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
