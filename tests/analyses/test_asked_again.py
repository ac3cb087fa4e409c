"""Files that are asked for again as soon as before: what those questions took."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching import asked_again
from pcapnfs.analyses.caching.asked_again import AskedAgain
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.mounts.mount_evidence import evidence
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

ROOT = 1
FILES = range(10, 22)
"""Twelve files."""


def seen(*rounds_s: float, op: str | None = None) -> tuple[int, tuple[AskedAgain, ...]]:
    """How many questions came early, and what is told of them.

    Args:
        rounds_s: When all files are asked for, seconds; nothing ever changes.
        op: What else is done to each in the first round.
    """
    calls: list[Row] = []
    operations: list[Row] = []

    def send(number: int, name: str, about: int) -> None:
        calls.append(call(number, name, 1, file=about))
        operations.append(operation(number, name, file=about, ctime=1, mtime=1))

    for at_s in rounds_s:
        for place, about in enumerate(FILES):
            number = round(100 * at_s) + 2 * place + 1
            send(number, "GETATTR", about)
            if op is not None and at_s == rounds_s[0]:
                send(number + 1, op, about)
    objects = [file(ROOT, ".", "directory")]
    objects += [file(about, f"f{about}", parent=ROOT) for about in FILES]
    end = START_NS + 10 * MILLISECOND * (round(100 * rounds_s[-1]) + 100)
    with (
        trace_of(meta(end_ns=end), files=objects, calls=calls, operations=operations) as trace,
        change_ids(trace) as cursor,
    ):
        (found,) = evidence(trace, cursor)
        return found.files_early, asked_again.of_learned(trace, cursor)


def test_what_came_before_doubled_timeouts_were_over_is_added_up() -> None:
    """After 4 s by default, too; then after 6 s and more, and not after 4 s again."""
    early, (found,) = seen(0, 4, 8, 12)
    assert early == 2 * len(FILES)
    assert found.asked.calls == early
    assert found.asked.time_s == pytest.approx(0.024)
    assert (found.client, found.server, found.part) == ("10.0.0.2", "10.0.0.1", None)


def test_who_waits_twice_as_long_each_time_asks_by_default() -> None:
    assert seen(0, 4, 10, 23) == (0, ())


def test_what_is_younger_than_files_are_believed_at_first_is_counted_elsewhere() -> None:
    """`Questions.early` has those of 2.8 s."""
    assert seen(0, 4, 6.8) == (len(FILES), ())


def test_of_files_that_are_opened_nothing_follows() -> None:
    assert seen(0, 4, 8, 12, op="READ") == (0, ())
