"""The clock of each client, booked to what it waited for: every nanosecond in exactly one row."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs.analyses.captured import clocks_apart
from pcapnfs.analyses.times.budget import ROWS, Budget, budgets
from pcapnfs.analyses.times.client_calls import Clients
from pcapnfs.analyses.times.outstanding import KINDS, outstanding
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire import tcp_stalls, unreached
from pcapnfs.errors import UsageError
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, operation, trace_of


def rows_of(budget: Budget) -> dict[str, float]:
    """The rows that are not zero, in ms."""
    return {row: round(time_s * 1e3, 6) for row, time_s, _ in budget.shares() if time_s}


def total_ns(budget: Budget) -> int:
    """The sum of all rows, ns, each rounded to the nanosecond that it stands for."""
    return sum(round(time_s * 1e9) for _, time_s, _ in budget.shares())


def test_what_calls_of_all_clients_stood_still_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {"10.0.0.2": {"stable": 1.0, "client": 2.0}, "10.0.0.3": {"client": 0.5}}
    monkeypatch.setattr(tcp_stalls, "lost_by_client", lambda _: lost)
    with trace_of(calls=[call(1, "CREATE", 4, stability="stable")]) as trace:
        assert time_budget(trace).stood_still_s == {"stable": 1.0, "client": 2.5}


@pytest.mark.parametrize(("between_s", "told_s"), [(0.02, 0.05), (3e6, 3e6)])
def test_time_without_a_connection_is_of_the_clients_own(
    between_s: float, told_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between calls and behind them; no more than there is."""
    monkeypatch.setattr(unreached, "unreached_s", lambda _: {"10.0.0.2": between_s})
    monkeypatch.setattr(unreached, "in_vain_s", lambda _: {"10.0.0.2": 0.03})
    calls = [call(1, "CREATE", 4), call(9, "CREATE", 4)]
    with trace_of(calls=calls) as trace:
        found = time_budget(trace)
    assert found.unreached_s == pytest.approx(min(told_s, found.total.client_s))


def test_each_kind_of_call_has_its_row_and_the_rest_is_the_clients() -> None:
    rows = [
        call(1, "CREATE", 4, stability="stable"),
        call(2, "GETATTR", 2),
        call(3, "WRITE", 5, stability="unstable_write"),
        call(4, "READ", 6, stability="read", reply_first_time=START_NS + 45 * MILLISECOND),
        call(5, "EXCHANGE_ID", 1, stability="state"),
        call(6, "OPEN", 3, stability="unknown"),
        call(7, "OPEN", 1, status_name="NFS4ERR_DELAY"),
        call(8, "OPEN", 2, stability="stable"),
        call(9, "CB_RECALL", 9, callback=True),
    ]
    with trace_of(calls=rows) as trace:
        (budget,) = time_budget(trace).clients
    assert rows_of(budget) == {
        "stable": 6,
        "unstable": 2,
        "unstable_write": 5,
        "read": 5,
        "state": 1,
        "unknown": 3,
        "transfer": 1,
        "waiting": 10,
        "client": 10_000 - 33,
    }
    assert budget.wall_s == 10
    assert budget.calls == 8
    assert budget.concurrency == 1
    assert total_ns(budget) == 10_000 * MILLISECOND


@pytest.mark.parametrize(
    ("lacking", "waited"),
    [
        ({}, 8_000 - 20),
        # The capture may lack the reply: nothing shows that the client waits, once others are
        # answered.
        ({"missing_bytes": 1}, None),
        ({"truncated_bytes": 1}, None),
    ],
)
def test_a_call_that_nobody_answers_waits_while_others_are_answered(
    lacking: dict[str, object], waited: int | None
) -> None:
    connection = {
        "connection": 1,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS,
        "last_time": START_NS + 8_000 * MILLISECOND,
        "server_segments": 3,
        **lacking,
    }
    rows = [
        call(2, "READ", None, connection=1),
        call(200, "GETATTR", 2, connection=1),
        call(400, "GETATTR", 4, connection=1),
    ]
    told = meta(end_ns=START_NS + 10_000 * MILLISECOND)
    with trace_of(told, calls=rows, connections=[connection]) as trace:
        (budget,) = time_budget(trace).clients
    found = rows_of(budget)
    if waited is None:
        assert "waiting" not in found
        assert found["client"] == 10_000 - (2_002 - 20) - 4
    else:
        # Two calls are outstanding at once for 6 ms.
        assert found == {"waiting": waited - 3, "unstable": 3, "client": 10_000 - waited}


@pytest.mark.parametrize(
    ("answered", "beside", "serial"),
    [(30, False, True), (29, False, False), (30, True, False)],
)
def test_a_call_whose_reply_was_lost_ends_before_the_next_of_a_client_that_makes_one_at_a_time(
    answered: int, beside: bool, serial: bool
) -> None:
    rows = [
        call(1, "READ", None),
        call(2, "READ", None),
        *(call(3 + 2 * number, "GETATTR", 1) for number in range(answered)),
        *([call(100, "READ", 11, stability="read"), call(101, "GETATTR", 1)] if beside else []),
    ]
    with trace_of(meta(end_ns=START_NS + 2_000 * MILLISECOND), calls=rows) as trace:
        (budget,) = time_budget(trace).clients
    # The third call is under way for 1 ms, and both others with it where nothing tells their end.
    assert rows_of(budget)["unknown"] == pytest.approx(20 if serial else 20 + 2 / 3)
    assert (budget.concurrency == 1) is serial


@pytest.mark.parametrize(
    ("others", "came", "waited"),
    [
        # The reply to the OPEN that came again, which was lost.
        ([], 501, 5_000),
        ([call(600, "OPEN", 1)], 501, 5_990),
        # It may be that of anything else.
        ([call(300, "GETATTR", 1)], 501, 1),
        # The same call is there.
        ([call(201, "OPEN", 1)], 501, 2_000),
        # Nobody waits for so long before asking again.
        ([], 6_110, 1),
    ],
)
def test_a_call_that_was_put_off_waits_until_the_reply_to_one_that_was_lost(
    others: list[Row], came: int, waited: int
) -> None:
    connection = {"connection": 1, "client": "10.0.0.2", "server": "10.0.0.1"}
    rows = [call(1, "OPEN", 1, connection=1, status_name="NFS4ERR_GRACE"), *others]
    reply = {
        "reason": "reply_without_call",
        "connection": 1,
        "time": START_NS + came * 10 * MILLISECOND,
    }
    told = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(told, calls=rows, connections=[connection], notes=[reply]) as trace:
        (budget,) = time_budget(trace).clients
    assert rows_of(budget)["waiting"] == waited


@pytest.mark.parametrize(("copied", "file", "taken"), [(0, 1, 2_000), (9, 1, 5), (0, 2, 5)])
def test_a_copy_in_the_background_lasts_until_the_server_tells_its_end(
    copied: int, file: int, taken: int
) -> None:
    rows = [
        call(1, "COPY", 5, stability="unstable_write", file=1),
        call(201, "CB_OFFLOAD", 1, callback=True),
    ]
    told = [
        operation(1, "COPY", file=1, status=0, count=copied),
        operation(201, "CB_OFFLOAD", file=file, status=0, count=9),
    ]
    with trace_of(calls=rows, operations=told) as trace:
        (budget,) = time_budget(trace).clients
    assert rows_of(budget)["unstable_write"] == taken


def test_a_clock_that_ticks_slowly_does_not_end_a_wait_at_once() -> None:
    """Call and refusal have the same time: the call is not the one that the client sent again."""
    rows = [
        call(1, "OPEN", 0, status_name="NFS4ERR_DELAY"),
        call(2, "OPEN", 3, stability="stable"),
    ]
    with trace_of(calls=rows) as trace:
        (budget,) = time_budget(trace).clients
    assert rows_of(budget) == {"waiting": 10, "stable": 3, "client": 10_000 - 13}


def test_kinds_that_overlap_share_the_clock() -> None:
    rows = [
        call(1, "WRITE", 20, stability="stable"),
        call(2, "READ", 20, stability="read", client="10.0.0.2"),
        call(3, "READ", 20, stability="read", client="10.0.0.3"),
    ]
    with trace_of(calls=rows) as trace:
        found = time_budget(trace)
    assert [rows_of(budget) for budget in found.clients] == [
        {"stable": 15, "read": 15, "client": 9_970},
        {"read": 20, "client": 9_980},
    ]
    assert [budget.concurrency for budget in found.clients] == [pytest.approx(4 / 3), 1]
    assert rows_of(found.total) == {"stable": 15, "read": 35, "client": 19_950}
    assert (found.total.wall_s, found.total.client, found.total.clients) == (20, None, 2)
    assert found.total.concurrency == pytest.approx(1.2)


def test_who_waited_longest_comes_first_and_the_total_has_everybody() -> None:
    rows = [call(number, "READ", number, client=f"10.0.1.{number}") for number in range(1, 6)]
    with trace_of(calls=rows) as trace:
        found = time_budget(trace, top=2)
        assert len(time_budget(trace, top=0).clients) == 5
        with pytest.raises(UsageError, match="cannot be negative"):
            time_budget(trace, top=-1)
        with pytest.raises(UsageError, match="there are never 9223372036854775808 clients"):
            time_budget(trace, top=2**63)
    assert [budget.client for budget in found.clients] == ["10.0.1.5", "10.0.1.4"]
    assert rows_of(found.total) == {"unstable": 15, "client": 49_985}


def test_under_tls_nobody_knows_what_was_outstanding() -> None:
    """One call in the clear asks for TLS; all others are sealed. Another client has no TLS."""
    tls = {"client": "10.0.0.2", "client_bytes": 600, "server_bytes": 400, "sealed_bytes": 990}
    clear = {"client": "10.0.0.3", "client_bytes": 600, "server_bytes": 400}
    rows = [call(1, "NULL", 4), call(2, "GETATTR", 2, client="10.0.0.3")]
    told = meta(end_ns=START_NS + 100 * MILLISECOND)
    with trace_of(told, calls=rows, connections=[tls, clear]) as trace:
        found = time_budget(trace)
    sealed, seen = found.clients
    assert rows_of(sealed) == {"unstable": 4.0, "unknown": 96.0}
    assert rows_of(seen) == {"unstable": 2.0, "client": 98.0}
    assert rows_of(found.total) == {"unstable": 6.0, "unknown": 96.0, "client": 98.0}
    assert all("client" not in rows_of(phase.budget) for phase in found.phases[:1])


def test_a_capture_without_calls_has_no_clients_and_no_time() -> None:
    with trace_of() as trace:
        found = time_budget(trace)
    assert found.clients == ()
    assert found.total.concurrency is None
    assert found.total.shares()[0] == ("stable", 0, None)


def test_a_part_of_the_capture_holds_what_was_outstanding_then() -> None:
    rows = [
        call(1, "WRITE", 20, stability="stable", reply_first_time=START_NS + 26 * MILLISECOND),
        call(2, "READ", 20, stability="read"),
        call(5, "READ", 20, client="10.0.0.3"),
    ]
    with trace_of(calls=rows) as trace:
        calls = outstanding(trace)
    part = Clients(calls).client(0).within(24 * MILLISECOND, 44 * MILLISECOND)
    _, (budget,) = budgets(part)
    assert rows_of(budget) == {"stable": 1, "transfer": 2, "read": 13, "client": 4}
    assert part.call.tolist() == [1, 2]


MICROSECOND = 1000


@dataclass(frozen=True)
class Drawn:
    """A call of the property below; times are microseconds after the start."""

    client: int
    server: int
    begin: int
    sending: int
    kind: str
    refused: bool
    srt: int | None
    answering: int

    def row(self, number: int) -> Row:
        """As the table calls has it."""
        sent = START_NS + (self.begin + self.sending) * MICROSECOND
        row: dict[str, object] = {
            "call": number,
            "client": f"10.0.0.{self.client}",
            "server": f"10.0.1.{self.server}",
            # No two are the same call, so that none is taken for another's repetition.
            "op": f"OP{number}",
            "call_first_time": START_NS + self.begin * MICROSECOND,
            "call_time": sent,
            "stability": self.kind,
            "transmissions": 1,
        }
        if self.srt is not None:
            row |= {
                "reply_first_time": sent + (self.srt - self.answering) * MICROSECOND,
                "reply_time": sent + self.srt * MICROSECOND,
                "srt": self.srt * MICROSECOND,
                "status_name": "NFS4ERR_DELAY" if self.refused else "NFS4_OK",
            }
        return row


DRAWN = st.builds(
    Drawn,
    client=st.integers(0, 2),
    server=st.integers(0, 1),
    begin=st.integers(0, 40),
    sending=st.integers(0, 4),
    kind=st.sampled_from(KINDS),
    refused=st.booleans(),
    srt=st.none() | st.integers(-3, 20),
    answering=st.integers(0, 5),
)

SPAN = 80
"""Length of the capture, microseconds."""


def naive(drawn: list[Drawn], client: int) -> dict[str, Fraction]:
    """The budget of a client by its definition, instant by instant, in microseconds."""
    booked: dict[str, Fraction] = defaultdict(Fraction)
    for instant in range(SPAN):
        doing = []
        for each in drawn:
            sent = each.begin + each.sending
            if each.srt is None:
                later = [
                    other.begin + other.sending + max(other.srt, 0)
                    for other in drawn
                    if (other.client, other.server) == (each.client, each.server)
                    and other.srt is not None
                    and other.begin + other.sending > sent
                ]
                answering = answered = min(later, default=SPAN)
            else:
                answered = sent + max(each.srt, 0)
                answering = max(sent, min(answered, sent + each.srt - each.answering))
            if each.client == client and each.begin <= instant < answered:
                refused = each.refused and each.srt is not None
                moving = instant < sent or instant >= answering
                kind = "unknown" if each.srt is None else each.kind
                doing.append("waiting" if refused else "transfer" if moving else kind)
        for kind in doing:
            booked[kind] += Fraction(1, len(doing))
        if not doing:
            booked["client"] += 1
    return booked


@settings(max_examples=20)
# Of more calls, some less than nothing long tell that the clocks of the directions are apart.
@given(st.lists(DRAWN, min_size=1, max_size=clocks_apart.FEW - 1))
def test_every_nanosecond_is_in_the_row_of_its_definition(drawn: list[Drawn]) -> None:
    span = meta(end_ns=START_NS + SPAN * MICROSECOND)
    with trace_of(span, calls=[each.row(number) for number, each in enumerate(drawn)]) as trace:
        found = time_budget(trace)
    clients = sorted({each.client for each in drawn})
    assert sorted(budget.client or "" for budget in found.clients) == [
        f"10.0.0.{client}" for client in clients
    ]
    for budget in found.clients:
        expected = naive(drawn, int((budget.client or "").rpartition(".")[2]))
        assert total_ns(budget) == SPAN * MICROSECOND
        for row, time_s, _ in budget.shares():
            # The share of each call, and of each part of it, is rounded to whole nanoseconds.
            assert abs(time_s * 1e9 - expected[row] * MICROSECOND) <= 2 * len(drawn), row
    assert total_ns(found.total) == SPAN * len(clients) * MICROSECOND
    for row in ROWS:
        parts = sum(round(getattr(budget, f"{row}_s") * 1e9) for budget in found.clients)
        assert round(getattr(found.total, f"{row}_s") * 1e9) == parts


def test_where_the_clocks_of_the_directions_are_apart_nothing_is_told() -> None:
    """Replies come 4 ms before their calls: neither waiting nor idling is known."""
    rows = [
        call(number, "GETATTR", -4)
        if number % 5
        else call(number, "CREATE", -3, stability="stable")
        for number in range(1, 51)
    ]
    with trace_of(meta(packets=100), calls=rows) as trace:
        found = time_budget(trace)
    for each in (found.total, *found.clients, *(phase.budget for phase in found.phases)):
        assert each.untold
        assert each.unknown_s == each.wall_s
        assert total_ns(each) == round(each.wall_s * 1e9)
        assert each.concurrency is None
    assert found.total.calls == 50
    (phase,) = found.phases
    assert phase.name == "GETATTR"
    assert [(each.op, each.calls, each.time_s) for each in phase.operations] == [
        ("GETATTR", 40, None),
        ("CREATE", 10, None),
    ]
