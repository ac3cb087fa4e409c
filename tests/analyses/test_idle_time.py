"""What time without a call is divided into."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.times.idle_time import IdleTime, divided

TIMES = st.floats(0, 1e6)


def test_each_takes_what_those_before_it_leave() -> None:
    known = {"late_s": 1.0, "locks_s": 2.0, "connecting_s": 4.0, "vain_s": 8.0}
    assert divided(20.0, **known) == IdleTime(1.0, 0.0, 2.0, 4.0, 8.0, 5.0)
    assert divided(10.0, **known) == IdleTime(1.0, 0.0, 2.0, 4.0, 3.0, 0.0)
    assert divided(2.5, **known) == IdleTime(1.0, 0.0, 1.5, 0.0, 0.0, 0.0)
    assert divided(10.0, **known).unreached_s == 7.0
    # What the path took is of the time that TCP did not wait, and before any program's.
    assert divided(4.0, path_s=2.5, **known) == IdleTime(1.0, 2.5, 0.5, 0.0, 0.0, 0.0)


@given(TIMES, TIMES, TIMES, TIMES, TIMES, TIMES)
def test_the_parts_add_up(
    time: float, late: float, path: float, locks: float, met: float, vain: float
) -> None:
    found = divided(time, late_s=late, path_s=path, locks_s=locks, connecting_s=met, vain_s=vain)
    parts = (
        found.late_s, found.path_s, found.locks_s, found.connecting_s, found.vain_s, found.client_s
    )  # fmt: skip
    assert min(parts) >= 0
    assert abs(sum(parts) - time) <= 1e-9 * max(1.0, time)
