"""What of the clock calls waited for, moved, and stood still."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.asking.equal_shares import equal_shares
from pcapnfs.analyses.times.clocked import Clocked, clocked
from pcapnfs.analyses.times.outstanding import Outstanding, outstanding
from pcapnfs.analyses.times.timeline import timeline
from pcapnfs.analyses.wire.slower_path import Slowed
from pcapnfs.analyses.wire.tcp_stalls import Stalled
from pcapnfs.record import replace
from tests.analyses.test_timeline import at
from tests.unit.rows import MILLISECOND, START_NS, Row, trace_of

SECOND = 1000


def _times(calls: list[Row]) -> Clocked:
    with trace_of(calls=calls) as trace:
        return timeline(trace, {}).clocked


def test_two_that_wait_at_once_hold_up_the_clock_once() -> None:
    refused: Row = {"status": 10008, "status_name": "NFS3ERR_JUKEBOX"}
    grace: Row = {"status": 10013, "status_name": "NFS4ERR_GRACE", "protocol": "4.2"}
    found = _times(
        [
            {**at(1, 0, 1 * SECOND), **refused},
            {**at(2, 0, 1 * SECOND), **refused},
            {**at(3, 2 * SECOND, 3 * SECOND, "LOOKUP"), **grace},
            at(4, 4 * SECOND, 5 * SECOND, "ACCESS"),
        ]
    )
    assert (found.waiting_s, found.put_off_s) == pytest.approx((2.0, 1.0))
    assert found.held_s == pytest.approx(1.0)
    assert found.transfer_s == 0


def test_replies_that_move_at_once_hold_up_the_clock_once() -> None:
    begins = {"reply_first_time": START_NS + 200 * MILLISECOND}
    found = _times([at(1, 0, 1000, "READ", **begins), at(2, 0, 1000, "READ", **begins)])
    assert found.transfer_s == pytest.approx(0.8)
    assert found.waiting_s == 0


def test_what_mounts_is_none_of_it() -> None:
    begins = {"reply_first_time": START_NS + 200 * MILLISECOND}
    of_mount = {"program": 100005, "protocol": "mount3"}
    found = _times([at(1, 0, 1000, "MNT", **(of_mount | begins)), at(2, 2000, 2001)])
    assert found == Clocked()


def _outstanding() -> tuple[Outstanding, dict[str, np.ndarray]]:
    """Two calls of 6 s, one of which begins when the other is half over."""
    with trace_of(calls=[at(1, 0, 6 * SECOND), at(2, 3 * SECOND, 9 * SECOND)]) as trace:
        calls = outstanding(trace)
    no = np.zeros(2, np.bool_)
    return calls, {"chosen": ~no, "refused": no, "put_off": no}


def test_no_call_stands_still_for_more_than_its_share_of_the_clock() -> None:
    calls, which = _outstanding()
    still = Stalled(
        call=np.array([1, 2], np.uint64),
        transfer=np.array([False, True]),
        longer_ns=np.array([2, 9]) * 10**9,
        inside_ns=np.array([2, 9]) * 10**9,
        late_ns=np.zeros(2, np.int64),
    )
    shares = equal_shares(calls.intervals)
    found = clocked(calls, shares, still=still, slow=None, **which)
    # Each has 4.5 s of it.
    assert (found.lost_s, found.lost_transfer_s, found.cut_s) == pytest.approx((6.5, 4.5, 4.5))
    moved = replace(found, transfer_s=5.0)
    assert moved.moved_s == pytest.approx(0.5)


def test_a_longer_path_has_the_part_of_a_share_that_it_has_of_a_call() -> None:
    calls, which = _outstanding()
    slow = Slowed(
        call=np.array([1, 2], np.uint64),
        inside_ns=np.array([4, 2]) * 10**9,
        moving=np.array([False, True]),
    )
    shares = equal_shares(calls.intervals)
    found = clocked(calls, shares, still=None, slow=slow, **which)
    assert (found.longer_s, found.full_s) == pytest.approx((3.0, 1.5))
    which["chosen"] = np.array([False, True])
    assert clocked(calls, shares, still=None, slow=slow, **which).longer_s == 0
