"""When nobody used a mount: before its first use and behind its last, but not amid work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.mounts.first_use import ALWAYS, MOST, MountIdle, Use, uses
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.times.timeline import timeline
from pcapnfs.analyses.wire.handshakes import handshakes
from pcapnfs.analyses.wire.unreached import unreached_s
from pcapnfs.comparison.comparing import compare
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

V4: dict[str, object] = {"version": 4, "protocol": "4.1"}
V2: dict[str, object] = {"version": 2, "protocol": "2"}
MOUNTD: dict[str, object] = {"program": 100005, "protocol": "mount3"}
PORTMAPPER: dict[str, object] = {"program": 100000, "protocol": "portmap2"}
ROOT: dict[str, object] = V4 | {"signature": "SEQUENCE PUTROOTFH GETFH GETATTR"}
OTHER: dict[str, object] = {"client": "10.0.0.3"}
DIRECTORY, REGULAR = 1, 2

Asked = tuple[float, str, dict[str, object]]

MOUNTED: tuple[Asked, ...] = ((0.0, "FSINFO", {}), (0.01, "PATHCONF", {}), (0.02, "GETATTR", {}))
"""What Linux sends of NFSv3 to mount, until 0.03 s."""

LOGGED_IN: tuple[Asked, ...] = (
    (0.0, "EXCHANGE_ID", V4),
    (0.01, "CREATE_SESSION", V4),
    (0.02, "GETATTR", ROOT),
)
"""The same of NFSv4."""


def rows(asked: Sequence[Asked]) -> list[Row]:
    """Calls at these seconds, each of which takes 10 ms."""
    return [
        call(number, op, 10.0, **_at(at_s, more))
        for number, (at_s, op, more) in enumerate(asked, start=1)
    ]


def _at(at_s: float, more: dict[str, object]) -> dict[str, object]:
    sent = START_NS + round(at_s * 1000) * MILLISECOND
    came = sent + 10 * MILLISECOND
    times = {"call_first_time": sent, "call_time": sent}
    return times | {"reply_first_time": came, "reply_time": came} | more


def traced(*asked: Asked, end_s: float = 100.0) -> Trace:
    """A capture of these calls."""
    files = [file(DIRECTORY, "/", "directory"), file(REGULAR, "/a")]
    told = meta(end_ns=START_NS + round(end_s * 1000) * MILLISECOND)
    calls = rows(asked)
    operations = [
        operation(number, op)
        for number, row in enumerate(calls, start=1)
        for op in str(row["signature"]).split()
    ]
    return trace_of(told, calls=calls, operations=operations, files=files)


def use_of(trace: Trace, client: int | None = None) -> Use:
    """When a client used what it mounted, or any."""
    calls = outstanding(trace)
    found = uses(trace, calls)
    if client is None:
        return found.of_all()
    return found.of_client(client, np.flatnonzero(calls.intervals.group == client))


def idle(*asked: Asked) -> tuple[float, float]:
    """What lies before the first use, and behind the last, seconds; alike for all and the only."""
    with traced(*asked) as trace:
        found, own = use_of(trace), use_of(trace, 0)
        assert found == own
    return round(found.idle.before_s, 6), round(found.idle.after_s, 6)


@pytest.mark.parametrize(
    ("asked", "before_s"),
    [
        ((*MOUNTED, (2.03, "ACCESS", {}), (9.0, "READ", {})), 2.0),
        ((*MOUNTED, (2.03, "GETATTR", {}), (9.0, "READ", {})), 2.0),
        ((*LOGGED_IN, (2.03, "OPEN", V4)), 2.0),
        # A mount of a client that is known to the server.
        (((0.0, "GETATTR", ROOT), (2.01, "OPEN", V4)), 2.0),
        # Down to the directory that is mounted.
        (
            (
                *LOGGED_IN,
                (0.03, "ACCESS", V4 | {"file": DIRECTORY}),
                (0.04, "LOOKUP", V4 | {"file": DIRECTORY}),
                (2.05, "ACCESS", V4 | {"file": DIRECTORY}),
                (9.0, "OPEN", V4),
            ),
            2.0,
        ),
        (((0.0, "MNT", MOUNTD), (0.01, "GETATTR", V2), (2.02, "READ", V2)), 2.0),
        # It is idle while its lease is renewed.
        ((*LOGGED_IN, (2.03, "SEQUENCE", V4), (3.04, "SEQUENCE", V4), (3.05, "OPEN", V4)), 3.0),
        # Two mounts; what the second one takes until it is there is no such gap.
        (
            (
                *LOGGED_IN,
                (2.03, "EXCHANGE_ID", V4),
                (5.0, "CREATE_SESSION", V4),
                (5.01, "GETATTR", ROOT),
                (6.02, "OPEN", V4),
            ),
            3.0,
        ),
    ],
)
def test_what_lies_between_mount_and_first_use_is_in_no_run(
    asked: tuple[Asked, ...], before_s: float
) -> None:
    assert idle(*asked) == (before_s, 0.0)


@pytest.mark.parametrize(
    "asked",
    [
        # It goes on at once.
        (*MOUNTED, (0.049, "ACCESS", {})),
        # The capture begins amid work.
        ((0.0, "GETATTR", {}), (2.0, "READ", {})),
        ((0.0, "NULL", {}), (0.01, "GETATTR", {}), (2.0, "READ", {})),
        # A program thinks before it goes on.
        (*MOUNTED, (0.03, "ACCESS", {}), (5.0, "READ", {})),
        (*LOGGED_IN, (0.03, "GETATTR", V4 | {"file": REGULAR}), (5.0, "OPEN", V4)),
        (*LOGGED_IN, (0.03, "DELEGRETURN", V4), (5.0, "OPEN", V4)),
        # The mount is not there yet.
        ((0.0, "NULL", V4), (4.0, "EXCHANGE_ID", V4), (8.0, "GETATTR", ROOT), (8.01, "OPEN", V4)),
        ((0.0, "MNT", MOUNTD), (4.0, "FSINFO", {}), (4.01, "ACCESS", {})),
        # Nobody ever used it.
        (*MOUNTED, (2.0, "NULL", {})),
    ],
)
def test_a_pause_amid_work_or_before_a_mount_is_there_stays(asked: tuple[Asked, ...]) -> None:
    assert idle(*asked) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("asked", "after_s"),
    [
        ((("DESTROY_SESSION", V4), ("DESTROY_CLIENTID", V4)), 2.0),
        ((("DELEGRETURN", V4), ("DESTROY_SESSION", V4)), 2.0),
        ((("SEQUENCE", V4),), 2.0),
        ((("GETPORT", PORTMAPPER), ("UMNT", MOUNTD)), 2.0),
        ((("GETATTR", V4),), 0.0),
        # It found its session gone, and goes on.
        ((("DESTROY_SESSION", V4), ("EXCHANGE_ID", V4), ("CREATE_SESSION", V4)), 0.0),
    ],
)
def test_what_lies_between_last_use_and_unmount_is_in_no_run(
    asked: tuple[tuple[str, dict[str, object]], ...], after_s: float
) -> None:
    ending = tuple((2.01 + 0.01 * place, op, more) for place, (op, more) in enumerate(asked))
    assert idle((0.0, "WRITE", V4), *ending) == (0.0, after_s)


def test_a_call_that_is_under_way_is_no_pause() -> None:
    long = {"reply_time": START_NS + 3000 * MILLISECOND, "srt": 2000 * MILLISECOND}
    assert idle((1.0, "WRITE", V4 | long), (3.01, "DESTROY_SESSION", V4)) == (0.0, 0.0)


def within(begin_s: float, end_s: float) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """That the client waited for a connection in this time."""
    begin, end = (np.array([round(at_s * 1000) * MILLISECOND]) for at_s in (begin_s, end_s))
    return {"10.0.0.2": (begin, end)}


def test_what_a_client_waited_for_is_no_such_gap() -> None:
    """The gap is from 0.03 to 2.03 s."""
    with traced(*MOUNTED, (2.03, "ACCESS", {}), (2.04, "READ", {})) as trace:
        found = uses(trace, outstanding(trace))
        resent = replace(found, waited_ns={4: 500 * MILLISECOND}).of_all()
        connecting = replace(found, unreached=within(0.5, 2.0)).of_all()
        before_it = replace(found, unreached=within(0.0, 1.03)).of_client(0, np.arange(5))
        both = replace(
            found, waited_ns={4: 500 * MILLISECOND}, unreached=within(0.549, 2.03)
        ).of_all()
    assert resent.idle == MountIdle(before_s=1.5)
    assert connecting.idle == MountIdle(before_s=0.5)
    assert before_it.idle == MountIdle(before_s=1.0)
    assert both == ALWAYS


def test_a_connection_that_was_late_elsewhere_takes_nothing_from_it() -> None:
    """Work begins 2 s behind the mount, and waits for a connection for 1.5 s amid its calls."""
    late: Row = {
        "connection": 2,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "syns": 2,
        "syn_time": START_NS + 4_500 * MILLISECOND,
        "syn_acks": 1,
        "syn_ack_time": START_NS + 5_999 * MILLISECOND,
        "ack_rtt": MILLISECOND,
    }
    asked: tuple[Asked, ...] = (
        *MOUNTED,
        (2.03, "ACCESS", {}),
        (2.04, "READ", {}),
        (6.0, "READ", {"connection": 2}),
    )
    with trace_of(calls=rows(asked), connections=[late]) as trace:
        calls = outstanding(trace)
        assert unreached_s(trace) == {"10.0.0.2": pytest.approx(1.5)}
        found = uses(trace, calls)
        use, own = found.of_all(), found.of_client(0, np.arange(len(asked)))
    assert use == own
    assert use.idle == MountIdle(before_s=2.0)


def opened(connection: int, begin_s: float, end_s: float) -> Row:
    """A connection with its handshake in this time."""
    begin, end = (START_NS + round(at_s * 1000) * MILLISECOND for at_s in (begin_s, end_s))
    return {
        "connection": connection,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "syn_time": begin,
        "syn_ack_time": end - MILLISECOND,
        "ack_rtt": MILLISECOND,
    }


def mounted_over(*begins_s: float) -> tuple[list[Asked], list[Row]]:
    """A mount, over whose further connections a question for the root goes as soon as each is open.

    Each handshake takes 40 ms.
    """
    connections = [
        opened(number, at_s, at_s + 0.04) for number, at_s in enumerate(begins_s, start=2)
    ]
    asked: list[Asked] = [
        (at_s + 0.04, "GETATTR", {"file": DIRECTORY, "connection": number})
        for number, at_s in enumerate(begins_s, start=2)
    ]
    return [*MOUNTED, *asked], connections


@pytest.mark.parametrize(
    "begins_s",
    [
        (0.03, 0.08, 0.13),
        # The client asks for the port before, over a connection that the capture lacks.
        (0.11, 0.24, 0.37),
    ],
)
def test_a_mount_with_several_connections_is_done_when_all_of_them_are_open(
    begins_s: tuple[float, ...],
) -> None:
    asked, connections = mounted_over(*begins_s)
    done_s = begins_s[-1] + 0.05
    with trace_of(
        calls=rows([*asked, (done_s + 2, "ACCESS", {}), (done_s + 5, "READ", {})]),
        connections=connections,
    ) as trace:
        use = use_of(trace)
        assert use == use_of(trace, 0)
    assert use.idle == MountIdle(before_s=2.0)


def test_a_question_over_a_connection_that_was_opened_for_it_is_a_use() -> None:
    """The former one had been idle for so long that the server closed it."""
    asked, connections = mounted_over(2.03)
    with trace_of(calls=rows([*asked, (9.0, "READ", {})]), connections=connections) as trace:
        use = use_of(trace)
    assert use.idle == MountIdle(before_s=2.0)


def test_handshakes_are_told_as_the_client_saw_them() -> None:
    """Of a capture at the server the client sent everything half a round trip earlier."""
    connection = {
        **opened(2, 0.05, 0.09),
        "syn_rtt": MILLISECOND,
        "syn_ack_time": START_NS + 50 * MILLISECOND,
        "ack_rtt": 40 * MILLISECOND,
    }
    with trace_of(calls=rows(MOUNTED), connections=[connection]) as trace:
        (stretches,) = handshakes(trace, 100 * MILLISECOND).values()
        begun_before = handshakes(trace, 49 * MILLISECOND)
    assert [times.tolist() for times in stretches] == [[30 * MILLISECOND], [70 * MILLISECOND]]
    assert begun_before == {}


def test_whoever_asks_all_the_time_uses_the_mount() -> None:
    watching = [(0.03 + 0.001 * place, "GETATTR", dict[str, object]()) for place in range(MOST)]
    assert idle(*MOUNTED, *watching, (20.0, "READ", {})) == (0.0, 0.0)


def test_of_several_clients_each_has_its_own() -> None:
    """One works, while the other one mounts and waits."""
    waiting = [(at_s + 1, op, more | OTHER) for at_s, op, more in MOUNTED]
    asked = [(0.0, "READ", {}), *waiting, (3.5, "READ", {}), (4.03, "READ", OTHER)]
    with traced(*asked) as trace:
        assert use_of(trace) == ALWAYS
        assert use_of(trace, 0) == ALWAYS
        own = use_of(trace, 1)
        clocks = measure(trace).clients
    assert own.idle == MountIdle(before_s=3.0)
    assert clocks is not None
    worked = {clock.client: clock.active_s for clock in clocks.each}
    assert worked == pytest.approx({"10.0.0.2": 3.51, "10.0.0.3": 0.04})


def test_nobody_had_begun_where_all_only_mounted() -> None:
    theirs = [(at_s + 1, op, more | OTHER) for at_s, op, more in MOUNTED]
    with traced(*MOUNTED, *theirs, (3.03, "READ", {}), (6.0, "READ", OTHER)) as trace:
        found, measured = use_of(trace), measure(trace)
    # Between both mounts, and until the first of them was used.
    assert found.idle == MountIdle(before_s=2.97)
    assert measured.worked_s == pytest.approx(6.01 - 2.97)


WORK: tuple[Asked, ...] = tuple(
    (2.03 + 0.02 * place, "GETATTR", {"file": REGULAR}) for place in range(40)
)
"""Work of 0.79 s, half of which is round trips."""


def test_neither_verdict_nor_forecast_holds_it() -> None:
    with traced(*MOUNTED, *WORK, end_s=2.82) as trace:
        found, measured, budget = model(trace), measure(trace), time_budget(trace)
        calls = outstanding(trace)
        line = timeline(trace, {}, calls, use_of(trace))
    assert found.measured_s == pytest.approx(0.82)
    assert found.mount_idle == budget.mount_idle == MountIdle(before_s=2.0)
    assert found.verdict is not None
    assert found.verdict.sentence.startswith(
        "The time went into round trips 52.4 % (43 calls at a round trip of 10.0 ms) and the "
        "client itself or the network 47.6 % (no call under way; "
    )
    assert found.verdict.sentence.endswith(
        "Counted: 820 ms from the first call to the last reply. Not counted: 2.00 s between mount "
        "and first use."
    )
    assert found.what_if[0].forecast_s == pytest.approx(0.82)
    # It is no pause of another kind, either, and in the clock of the capture.
    assert (measured.pauses_s, measured.few_pauses_s) == (0.0, 0.0)
    assert budget.total.client_s == pytest.approx(2.39)
    # No other call was under way when the first use came.
    assert line.idle_s[3] == 0.0
    assert not line.behind[3]


def test_it_is_left_out_once_where_it_is_long() -> None:
    """A minute between mount and first use is a long pause as well."""
    later = [(at_s + 58, op, more) for at_s, op, more in WORK]
    with traced(*MOUNTED, *later) as trace:
        measured = measure(trace)
    assert measured.mount_idle == MountIdle(before_s=60.0)
    assert measured.away_s == 0.0
    assert measured.worked_s == pytest.approx(0.82)


def test_a_pause_of_the_mount_stays_one_that_work_does_not_hold() -> None:
    waiting = [(0.0, "NULL", V4), *((at_s + 4, op, more) for at_s, op, more in LOGGED_IN)]
    later = [(at_s + 4, op, more) for at_s, op, more in WORK]
    with traced(*waiting, *later) as trace:
        measured = measure(trace)
    assert measured.mount_idle == MountIdle(before_s=2.0)
    assert measured.rest_s == pytest.approx(3.99)
    assert measured.worked_s == pytest.approx(4.82)


def test_two_runs_differ_by_none_of_it() -> None:
    """Somebody was slower to type."""
    soon = [(at_s - 1, op, more) for at_s, op, more in WORK]
    with traced(*MOUNTED, *WORK) as before, traced(*MOUNTED, *soon) as after:
        found = compare(before, after)
    assert found.before.run_s == pytest.approx(found.after.run_s)
    assert (found.before.mount_idle.before_s, found.after.mount_idle.before_s) == (2.0, 1.0)
    assert not any(step.clear for step in found.steps)
