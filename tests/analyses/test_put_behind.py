"""Files of one direction each that were put one behind the other."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.put_behind import put_behind
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.diagnosis.judging import findings
from pcapnfs.meta import Meta
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, Row, call, meta, trace_of

CALLS = 10


def set_back(times: int = 1, frame: int | None = CALLS + 1) -> Meta:
    facts = meta(packets=2 * CALLS)
    (file,) = facts.files
    changed = replace(file, set_back=times, set_back_ns=MILLISECOND, set_back_frame=frame)
    return replace(facts, files=(changed,))


def behind(exceptions: int = 0, calls: int = CALLS) -> list[Row]:
    """Calls, whose replies stand behind all of them but for the first few."""
    return [
        call(
            number,
            "GETATTR",
            1000,
            call_frame=number,
            reply_frame=number if number <= exceptions else calls + number,
        )
        for number in range(1, calls + 1)
    ]


def orphans() -> dict[str, list[Row]]:
    """Replies, and calls behind them, which are not taken for theirs."""
    notes: list[Row] = [
        {"reason": "reply_without_call", "frame": number, "xid": number, "connection": 0}
        for number in range(1, CALLS + 1)
    ]
    calls = [
        call(number, "GETATTR", None, call_frame=CALLS + number) for number in range(1, CALLS + 1)
    ]
    return {"calls": calls, "notes": notes}


def test_replies_behind_all_calls_are_told() -> None:
    with trace_of(set_back(), calls=behind()) as trace:
        told = trust(trace)
        assert model(trace).verdict is None
        assert not [each for each in findings(trace).findings if each.cost_s is not None]
    assert (told.put_behind, told.times_untold, told.clock_untold) == ("calls", True, False)
    assert (told.clocks_apart_s, told.complete, told.out_of_step) == (None, False, True)


def test_calls_behind_all_replies_are_told_and_neither_is_a_loss() -> None:
    with trace_of(set_back(), **orphans()) as trace:
        told, judged = trust(trace), findings(trace)
    assert (told.put_behind, told.times_untold) == ("replies", True)
    assert (told.calls_alone, told.replies_alone, told.one_way) == (0, 0, None)
    assert not [each for each in judged.findings if each.id == "capture_lossy"]


def test_one_call_in_a_hundred_may_have_gone_by_another_way() -> None:
    with trace_of(set_back(frame=201), calls=behind(2, calls=200)) as trace:
        assert put_behind(trace) == "calls"
    with trace_of(set_back(frame=201), calls=behind(3, calls=200)) as trace:
        assert put_behind(trace) is None


@pytest.mark.parametrize(
    ("facts", "rows"),
    [
        pytest.param(meta(), behind(), id="never set back"),
        pytest.param(set_back(times=2), behind(), id="set back again"),
        pytest.param(set_back(frame=None), behind(), id="among the frames of others"),
        pytest.param(set_back(frame=CALLS - 1), behind(), id="while calls were sent"),
        pytest.param(set_back(frame=8), behind(calls=7), id="few"),
    ],
)
def test_a_clock_that_was_set_back_is_no_file_behind_another(facts: Meta, rows: list[Row]) -> None:
    with trace_of(facts, calls=rows) as trace:
        assert put_behind(trace) is None
        assert trust(trace).put_behind is None
