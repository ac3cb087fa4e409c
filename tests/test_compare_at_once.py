"""What is told of a limit on the calls that a client has under way at once."""

from __future__ import annotations

import functools

import pytest

from pcapnfs.analyses.wire.caps import Pair
from pcapnfs.comparison.callers import SameClient
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.causes import causes
from pcapnfs.comparison.each import each
from pcapnfs.comparison.side import Side
from pcapnfs.diagnosis.finding import Finding, Severity, Subject
from pcapnfs.record import replace
from tests.diagnosis.limits import CLIENT, PAIR, SERVER
from tests.sides import side_of
from tests.unit.rows import call
from tests.views import samples

TWO = replace(PAIR, peak=2, mean=1.9, busy_s=5.0, at_peak_s=4.5)
"""Never more than two under way."""

EIGHT = replace(PAIR, peak=8, mean=5.9)

LIMITED = "2 at most, for which others wait"


@functools.cache
def bare() -> Side:
    return side_of(calls=[call(1, "GETATTR", 1, client=CLIENT, server=SERVER)])


def waiting(rule: str = "concurrency_cap", severity: Severity = "warning") -> Finding:
    """A finding that calls wait in the client until fewer are under way."""
    return replace(
        samples.findings().findings[0],
        id=rule, severity=severity, about=(CLIENT, SERVER), alike=(), cost_s=None,
    )  # fmt: skip


def with_caps(*pairs: Pair, found: Finding | None = None) -> Side:
    return replace(bare(), caps=pairs, findings=() if found is None else (found,))


def told(before: Side, after: Side) -> list[Cause]:
    return [cause for cause in causes(before, after, ()) if cause.subject == "calls_at_once"]


@pytest.mark.parametrize("rule", ["concurrency_cap", "session_slots"])
def test_a_limit_that_calls_wait_for_on_one_side_is_told(rule: str) -> None:
    limited, free = with_caps(TWO, found=waiting(rule)), with_caps(EIGHT)
    (cause,) = told(limited, free)
    assert (cause.before, cause.after, cause.confidence) == (LIMITED, "up to 8", "likely")
    assert cause.evidence.startswith(
        "before, exactly 2 were under way for 90.0 % of the time in which any was, and never more; "
        "after, 5.90 on average: sunrpc.tcp_max_slot_table_entries of a Linux client, "
    )
    (back,) = told(free, limited)
    assert (back.before, back.after) == ("up to 8", LIMITED)
    assert back.evidence.startswith("after, exactly 2 ")


def test_another_limit_is_told() -> None:
    four = replace(PAIR, peak=4, mean=3.8)
    limited, less = with_caps(TWO, found=waiting()), with_caps(four, found=waiting())
    (cause,) = told(limited, less)
    assert (cause.before, cause.after) == (LIMITED, "4 at most, for which others wait")
    assert told(limited, limited) == []


@pytest.mark.parametrize(
    "free",
    [
        # Now and then more than two: what a client sends by itself, beside a program's pool.
        replace(EIGHT, mean=2.0),
        # nconnect: each connection has a limit of its own.
        replace(EIGHT, connections=2),
        None,
    ],
)
def test_where_hardly_more_are_under_way_it_is_not(free: Pair | None) -> None:
    limited = with_caps(TWO, found=waiting())
    assert told(limited, with_caps(*([] if free is None else [free]))) == []


def test_servers_are_held_against_themselves() -> None:
    """What goes on at another server of the same client is no matter of this one's limit."""
    busy = replace(EIGHT, server="10.0.0.8", calls=TWO.calls + 1)
    limited, same = with_caps(TWO, busy, found=waiting()), with_caps(TWO, busy)
    assert told(limited, same) == []
    assert told(limited, with_caps(EIGHT, busy)) != []
    # The only one may have got another address.
    assert told(with_caps(TWO, found=waiting()), with_caps(replace(EIGHT, server="10.0.0.8"))) != []


def test_a_flat_top_for_which_nothing_is_seen_to_wait_is_no_limit() -> None:
    """Nor is one that calls reach since they wait for a full TCP window."""
    for finding in (None, waiting(severity="note"), waiting("session_slots", "note")):
        assert told(with_caps(TWO, found=finding), with_caps(EIGHT)) == []


def test_of_several_clients_it_is_told_of_those_that_wait() -> None:
    """The finding names all of whom it says so; the others have their own calls at once."""
    other = "10.0.0.9"
    rows = [
        call(1, "GETATTR", 1, client=CLIENT, server=SERVER),
        call(2, "GETATTR", 1, client=other, server=SERVER),
    ]
    alike = tuple(Subject((client, SERVER), None, None) for client in ("10.0.0.7", CLIENT))
    finding = replace(waiting(), about=("10.0.0.7", SERVER), alike=alike)
    both = side_of(calls=rows)
    free = replace(EIGHT, client=other)
    before = replace(both, caps=(TWO, replace(TWO, client=other)), findings=(finding,))
    after = replace(both, caps=(EIGHT, free))
    same = tuple(SameClient(client, client, "address") for client in (CLIENT, other))
    (cause,) = (
        cause
        for cause in causes(before, after, (), each(before, after, same))
        if cause.subject == "calls_at_once"
    )
    assert cause.clients == (CLIENT,)
