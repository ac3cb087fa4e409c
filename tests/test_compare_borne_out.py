"""Which steps stay clear: those that single calls bear out, and no mean that moved alone."""

from __future__ import annotations

import pytest

from pcapnfs.comparison.borne_out import borne_out
from pcapnfs.comparison.side import Side
from pcapnfs.comparison.waterfall import Step
from pcapnfs.record import replace
from tests.test_compare_few import at, of, stored


def clear(factor: str, before_ms: float, after_ms: float, *sides: Side) -> bool:
    """Whether a step from one mean to the other stays clear, and so does the way back."""
    before, after = sides
    values = before_ms / 1000, after_ms / 1000
    step = Step(factor, *values, 1.0, None, None, clear=True)
    back = Step(factor, *values[::-1], -1.0, None, None, clear=True)
    (there,), (again,) = borne_out((step,), before, after), borne_out((back,), after, before)
    assert there.clear == again.clear
    return there.clear


def asked(*took_ms: float) -> Side:
    return of([at(number, "GETATTR", 1000 * number, ms) for number, ms in enumerate(took_ms, 1)])


def behind(side: Side, rtt_ms: float, floor_ms: float) -> Side:
    way = replace(side.way, rtt_s=rtt_ms / 1000, floor_s=floor_ms / 1000, source="acks")
    return replace(side, way=way)


def disk(took_ms: float, calls: int = 120) -> Side:
    return of(stored([took_ms] * calls, []))


@pytest.mark.parametrize("factor", ["server_s", "rtt_s"])
def test_one_slow_call_is_no_slower_server(factor: str) -> None:
    usual = asked(*[1.0] * 100)
    assert not clear(factor, 1.0, 3.1, usual, asked(*[1.0] * 99, 215.0))
    assert clear(factor, 1.0, 3.0, usual, asked(*[3.0] * 100))
    # Of a mean that moved for another reason, not half.
    assert not clear(factor, 1.0, 3.0, usual, asked(*[1.9] * 100))
    assert not clear(factor, 3.0, 1.0, usual, asked(*[3.0] * 100))


def test_what_waits_behind_data_on_the_link_is_no_slower_server() -> None:
    """A third of the small calls, which make the mean seven times as long."""
    usual, some = asked(*[1.0] * 90), asked(*[1.0] * 60, *[20.0] * 30)
    assert clear("server_s", 1.0, 7.0, usual, some)

    def moving(side: Side, part: float) -> Side:
        measured = side.measured
        return replace(side, measured=replace(measured, moving_s=part * measured.busy_s))

    assert not clear("server_s", 1.0, 7.0, usual, moving(some, 0.5))
    assert clear("server_s", 1.0, 7.0, usual, moving(some, 0.49))
    # What moves on the side whose calls took less keeps none of the others waiting.
    assert clear("server_s", 1.0, 7.0, moving(usual, 0.9), some)
    # A server that is slow for all of them is so behind data as well.
    assert clear("server_s", 1.0, 7.0, usual, moving(asked(*[7.0] * 90), 0.9))


def test_a_few_late_answers_are_no_longer_network() -> None:
    usual = behind(disk(20), 0.5, 0.4)
    assert not clear("network_rtt_s", 0.5, 3.0, usual, behind(disk(20), 3.0, 0.5))
    assert clear("network_rtt_s", 0.5, 3.0, usual, behind(disk(20), 3.0, 2.0))
    unknown = replace(usual, way=replace(usual.way, floor_s=None))
    assert clear("network_rtt_s", 0.5, 3.0, unknown, behind(disk(20), 3.0, 0.5))


@pytest.mark.parametrize(
    ("took_ms", "calls", "rtt_ms", "floor_ms", "stays"),
    [
        pytest.param(27, 120, 1, 1, True, id="each call is slower"),
        pytest.param(20, 120, 1, 1, False, id="none is"),
        pytest.param(21, 120, 1, 1, False, id="by less than a tenth"),
        pytest.param(13, 120, 1, 1, False, id="they are faster"),
        pytest.param(27, 120, 8, 8, False, id="the network is"),
        pytest.param(27, 120, 8, 1, False, id="some answers of the network are"),
        pytest.param(20, 29, 1, 1, True, id="too few to say"),
    ],
)
def test_persistence_moved_where_stable_calls_did(
    took_ms: float, calls: int, rtt_ms: float, floor_ms: float, stays: bool
) -> None:
    before, after = behind(disk(20), 1, 1), behind(disk(took_ms, calls), rtt_ms, floor_ms)
    assert clear("persist_s", 19, 26, before, after) is stays


def test_calls_of_another_version_bear_it_out_as_well() -> None:
    """An OPEN that creates, of NFSv4, and a CREATE, of NFSv3: both need a new file on the disk."""

    def opened(took_ms: float) -> Side:
        rows = [
            {
                **row, "op": "OPEN", "version": 4, "protocol": "4.1",
                "signature": "SEQUENCE PUTFH OPEN(create) GETFH",
            }
            for row in stored([took_ms] * 120, [])
        ]  # fmt: skip
        side = of(rows)
        assert [*side.times] == [("4", "OPEN(create)")]
        return side

    assert not clear("persist_s", 12, 8, disk(20), opened(20))
    assert clear("persist_s", 12, 8, disk(20), opened(14))


def test_other_steps_are_as_they_were() -> None:
    assert clear("client_s", 1, 2, disk(20), disk(20))
    step = Step("persist_s", 0.01, 0.02, 0.1, None, None, clear=False)
    assert borne_out((step,), disk(20), disk(20)) == (step,)
