"""Waiting for locks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pcapnfs.analyses.locks.lock_waits import LockWaits, lock_waits, waits
from pcapnfs.programs import PORTMAPPER
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

FILES = [file(1, "lf")]
OTHER = "10.0.0.3"


def lock(number: int, status: str, client: str = "10.0.0.2", offset: int = 0) -> tuple[Row, Row]:
    """A LOCK of ten bytes, answered after 1 ms."""
    return (
        call(number, "LOCK", 1, client=client),
        operation(number, "LOCK", status_name=status, file=1, offset=offset, requested=10),
    )


def unlock(number: int, client: str) -> tuple[Row, Row]:
    """An unlocking."""
    return call(number, "UNLOCK", 1, client=client), operation(number, "UNLOCK", file=1)


Asked = Sequence[tuple[Row, Row]]
"""Calls, each with its operation."""


def trace_from(asked: Asked) -> Trace:
    """A trace of them."""
    calls, operations = zip(*asked, strict=True)
    return trace_of(calls=calls, operations=operations, files=FILES)


def found(asked: Asked) -> LockWaits:
    """What was waited for between one client and its server."""
    with trace_from(asked) as trace:
        (pair,) = lock_waits(trace)
    return pair


def wanted(number: int, status: str | None) -> tuple[Row, Row]:
    """A LOCK that is to wait, answered after 1 ms with this status, or not in the capture."""
    srt = None if status is None else 1
    told = {"status_name": status, "file": 1, "offset": 0, "requested": 10, "lock_type": 4}
    return call(number, "LOCK", srt, connection=1), operation(number, "LOCK", **told)


def lasted(asked: Asked, replied: int | None = None) -> tuple[int, int, int, float]:
    """Waits, how many were granted, LOCKs that were refused again, and how long waits took, s."""
    calls, operations = zip(*asked, strict=True)
    time = START_NS + (replied or 0) * 10 * MILLISECOND
    reply = {"reason": "reply_without_call", "connection": 1, "time": time}
    with trace_of(
        calls=calls,
        operations=operations,
        files=FILES,
        connections=[{"connection": 1, "client": "10.0.0.2", "server": "10.0.0.1"}],
        notes=[] if replied is None else [reply],
    ) as trace:
        (pair,) = lock_waits(trace)
        assert waits(trace) is not None
    return pair.waits, pair.granted, pair.polled, pair.waited_s


def test_a_wait_lasts_until_the_lock_of_which_the_capture_lacks_one_half() -> None:
    refused = [wanted(1, "NFS4ERR_DENIED"), wanted(101, "NFS4ERR_DENIED")]
    after = unlock(502, "10.0.0.2")
    assert lasted([*refused, after]) == (1, 0, 1, 1.001)
    # Its reply, or its call.
    assert lasted([*refused, wanted(501, None), after]) == (1, 1, 1, 5.0)
    assert lasted([*refused, after], 501) == (1, 1, 1, 5.0)


def test_a_lock_of_which_the_capture_lacks_one_half_ends_no_wait_that_goes_on() -> None:
    refused = [wanted(1, "NFS4ERR_DENIED"), wanted(101, "NFS4ERR_DENIED")]
    again = [wanted(701, "NFS4ERR_DENIED"), wanted(1_001, "NFS4_OK")]
    assert lasted([*refused, wanted(501, None), *again]) == (1, 1, 2, 10.001)
    assert lasted([*refused, *again], 501) == (1, 1, 2, 10.001)
    # The client may still wait for the answer; and what comes after other calls may be theirs.
    assert lasted([*refused, wanted(501, None)]) == (1, 0, 1, 1.001)
    assert lasted([*refused, unlock(300, "10.0.0.2")], 501) == (1, 0, 1, 1.001)


def test_a_wait_lasts_from_the_first_refusal_to_the_lock() -> None:
    asked = [
        lock(1, "NFS4_OK", OTHER),
        lock(2, "NFS4ERR_DENIED"),
        lock(5, "NFS4ERR_DENIED"),
        unlock(6, OTHER),
        lock(8, "NFS4_OK"),
        lock(9, "NFS4_OK", offset=500),
    ]
    pair = found(asked)
    assert (pair.client, pair.server, pair.holders) == ("10.0.0.2", "10.0.0.1", (OTHER,))
    assert (pair.locks, pair.refused, pair.waits, pair.granted) == (4, 2, 1, 1)
    assert (pair.told, pair.polled) == (0, 1)
    assert pair.interval_s == pytest.approx(0.03)
    assert pair.waited_s == pair.longest_s == pytest.approx(0.061)
    assert pair.late_s == pytest.approx(0.021)
    assert (pair.paths, pair.frames) == (("lf",), (3,))


def by_process(asked: tuple[Row, Row]) -> tuple[Row, Row]:
    """A call on locks by the only process of its client."""
    row, told = asked
    return row, {**told, "lock_owner": row["client"]}


@pytest.mark.parametrize(
    ("between", "late_s"),
    [
        # From 60 to 100 ms, and from 130 to 201 ms; else from the last release on alone.
        ([lock(10, "NFS4_OK", OTHER), unlock(13, OTHER)], 0.040 + 0.071),
        ([lock(10, "NFS4_OK", "10.0.0.4"), unlock(13, "10.0.0.4")], 0.040 + 0.071),
        # Somebody held it all the time; or since 70 ms, and it is not known for how long.
        ([lock(5, "NFS4_OK", "10.0.0.4"), unlock(13, "10.0.0.4")], 0.071),
        ([lock(7, "NFS4_OK", "10.0.0.4"), unlock(13, OTHER)], 0.010 + 0.071),
        # Of another range of the file this one may have been held all the time.
        ([lock(10, "NFS4_OK", OTHER, offset=500), unlock(13, OTHER)], 0.071),
    ],
)
def test_a_lock_is_free_between_those_that_held_it_during_a_wait(
    between: list[tuple[Row, Row]], late_s: float
) -> None:
    asked = [
        lock(1, "NFS4_OK", OTHER),
        lock(2, "NFS4ERR_DENIED"),
        unlock(6, OTHER),
        *between,
        lock(20, "NFS4_OK"),
    ]
    asked.sort(key=lambda each: int(str(each[0]["call"])))
    assert found([by_process(each) for each in asked]).late_s == pytest.approx(late_s)


def test_nlm_grants_by_callback_and_its_answer_has_no_status() -> None:
    granted = (
        call(4, "GRANTED_MSG", 1, callback=True),
        operation(4, "GRANTED_MSG", file=1, offset=0, requested=10, status=None),
    )
    asked = [lock(2, "NLM4_BLOCKED"), granted]
    pair = found(asked)
    assert (pair.waits, pair.granted, pair.told, pair.polled) == (1, 1, 1, 0)
    assert pair.longest_s == pytest.approx(0.021)


@pytest.mark.parametrize(("number", "sought"), [(1, False), (3, True)])
def test_a_server_that_asks_the_clients_portmapper_is_about_to_call_it(
    number: int, sought: bool
) -> None:
    """Before the wait it asks for something else, as whether the client's statd is there."""
    asked = [lock(2, "NLM4_BLOCKED"), lock(5, "NLM4_GRANTED")]
    calls, operations = zip(*asked, strict=True)
    back = call(number, "GETPORT", None, client="10.0.0.1", server="10.0.0.2", program=PORTMAPPER)
    with trace_of(calls=[*calls, back], operations=operations, files=FILES) as trace:
        (pair,) = lock_waits(trace)
    assert pair.sought is sought


def test_a_notice_makes_the_client_ask_again() -> None:
    notice = (
        call(4, "CB_NOTIFY_LOCK", 1, callback=True, file=1),
        operation(4, "CB_NOTIFY_LOCK", file=1),
    )
    asked = [lock(2, "NFS4ERR_DENIED"), notice, lock(5, "NFS4_OK")]
    pair = found(asked)
    assert (pair.granted, pair.told, pair.late_s) == (1, 1, 0.0)


def test_waits_at_once_count_once_and_one_may_not_end() -> None:
    asked = [
        lock(1, "NFS4ERR_DENIED"),
        lock(2, "NFS4ERR_DENIED", offset=100),
        lock(5, "NFS4_OK"),
        lock(7, "NFS4ERR_DENIED", offset=100),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted) == (2, 1)
    assert pair.waited_s == pytest.approx(0.061)


def test_locks_that_nobody_stands_in_the_way_of_are_nothing_to_tell() -> None:
    (asked, told) = lock(1, "NFS4_OK")
    with trace_of(calls=[asked], operations=[told], files=FILES) as trace:
        assert lock_waits(trace) == ()


def typed(number: int, status: str, lock_type: int | None, wait_ms: int = 0) -> tuple[Row, Row]:
    """A LOCK of a type, sent some time later than its number says."""
    sent = START_NS + (10 * number + wait_ms) * MILLISECOND
    asked, told = lock(number, status)
    times = {"call_time": sent, "reply_time": sent + MILLISECOND}
    return {**asked, **times}, {**told, "lock_type": lock_type}


@pytest.mark.parametrize("lock_type", [1, 2])
def test_who_only_tries_waits_for_nothing(lock_type: int) -> None:
    asked = [
        typed(1, "NFS4ERR_DENIED", lock_type),
        typed(2, "NFS4ERR_DENIED", lock_type),
        typed(3, "NFS4_OK", lock_type),
    ]
    with trace_from(asked) as trace:
        assert lock_waits(trace) == ()
        waited = waits(trace)
    assert waited is None or not len(waited.begin_ns)


def test_a_try_in_between_ends_no_wait() -> None:
    asked = [
        typed(1, "NFS4ERR_DENIED", 4),
        typed(2, "NFS4ERR_DENIED", 2),
        typed(3, "NFS4ERR_DENIED", 4),
        typed(4, "NFS4_OK", 4),
    ]
    pair = found(asked)
    assert (pair.locks, pair.refused, pair.waits, pair.granted) == (4, 2, 1, 1)
    assert pair.waited_s == pytest.approx(0.031)


@pytest.mark.parametrize(("lock_type", "waited_s"), [(4, 60.011), (None, 0.001)])
def test_where_no_type_is_known_a_minute_is_too_long_for_one_wait(
    lock_type: int | None, waited_s: float
) -> None:
    asked = [typed(1, "NFS4ERR_DENIED", lock_type), typed(2, "NFS4_OK", lock_type, 60_000)]
    pair = found(asked)
    assert pair.waited_s == pytest.approx(waited_s)


def cut(asked: tuple[Row, Row], *known: str) -> tuple[Row, Row]:
    """The same where a snaplen cut off the range and the type, and what else is not known."""
    it, told = asked
    hidden = {"file", "offset", "requested", "lock_type"} - set(known)
    return it, {**told, **dict.fromkeys(hidden)}


def granted(number: int, offset: int = 0) -> tuple[Row, Row]:
    """The server's callback that tells of a lock."""
    told = operation(number, "GRANTED_MSG", file=1, offset=offset, requested=10, status=None)
    return call(number, "GRANTED_MSG", 1, callback=True), told


def test_locks_of_one_file_are_of_one_wait_where_their_range_was_cut_off() -> None:
    asked = [
        cut(lock(1, "NFS4ERR_DENIED"), "file"),
        cut(lock(2, "NFS4ERR_DENIED"), "file"),
        cut(lock(5, "NFS4_OK"), "file"),
    ]
    pair = found(asked)
    assert (pair.refused, pair.untyped, pair.waits, pair.granted) == (2, 2, 1, 1)
    assert pair.paths == ("lf",)
    assert pair.waited_s == pytest.approx(0.041)


@pytest.mark.parametrize("known", [(), ("file",), ("file", "offset", "requested")])
def test_a_grant_whose_file_was_cut_off_is_of_the_lock_that_was_blocked_last(
    known: tuple[str, ...],
) -> None:
    asked = [
        cut(lock(1, "NLM4_BLOCKED"), *known),
        cut(granted(3)),
        cut(lock(4, "NLM4_GRANTED"), *known),
        cut(granted(5)),
    ]
    pair = found(asked)
    assert (pair.untyped, pair.waits, pair.granted, pair.told) == (0, 1, 1, 1)
    assert pair.waited_s == pytest.approx(0.021)
    assert pair.paths == (("lf",) if known else ())


@pytest.mark.parametrize("status", ["NLM4_DENIED", "NFS4ERR_DENIED"])
def test_a_refusal_of_which_nothing_tells_the_file_is_no_wait(status: str) -> None:
    asked = [cut(lock(1, status)), cut(lock(2, status)), cut(lock(3, "NLM4_GRANTED"))]
    with trace_from(asked) as trace:
        assert lock_waits(trace) == ()
        waited = waits(trace)
    assert waited is None or not len(waited.begin_ns)


A, B, C = b"lock id:a", b"lock id:b", b"lock id:c"
STATE_A, STATE_B, STATE_C = b"state-of-a", b"state-of-b", b"state-of-c"
OPEN = b"the-open"


def owned(
    number: int,
    op: str,
    status: str,
    owner: bytes | None = None,
    stateid: bytes | None = None,
    undecoded: str | None = None,
) -> tuple[Row, Row]:
    """A LOCK or LOCKU of the whole file, by one of the client's processes."""
    whole = {"file": 1, "offset": 0, "requested": 10}
    of = {"lock_owner": owner, "stateid": stateid} | ({"lock_type": 4} if op == "LOCK" else {})
    return (
        call(number, op, 1, undecoded=undecoded),
        operation(number, op, status_name=status, **whole, **of),
    )


def test_the_lock_of_another_process_ends_no_wait() -> None:
    """A client's processes wait each for itself; meanwhile who had the lock has it again."""
    asked = [
        owned(1, "LOCK", "NFS4_OK", B, STATE_B),
        owned(2, "LOCK", "NFS4ERR_DENIED", A, OPEN),
        owned(3, "LOCKU", "NFS4_OK", None, STATE_B),
        owned(4, "LOCK", "NFS4_OK", None, STATE_B),
        owned(5, "LOCKU", "NFS4_OK", None, STATE_B),
        owned(9, "LOCK", "NFS4_OK", A, STATE_A),
        owned(10, "LOCKU", "NFS4_OK", None, STATE_A),
        owned(11, "LOCK", "NFS4_OK", None, STATE_A),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted, pair.polled) == (1, 1, 0)
    assert pair.longest_s == pair.waited_s == pytest.approx(0.071)
    # Its own client had it, but not between its two locks, nor since the last unlocking.
    assert pair.holders == ("10.0.0.2",)
    assert pair.late_s == pytest.approx(0.010 + 0.041)


def test_a_process_whose_lock_came_before_the_capture_is_known_by_its_stateid() -> None:
    asked = [
        owned(1, "LOCK", "NFS4_OK", None, STATE_B),
        owned(2, "LOCK", "NFS4ERR_DENIED", None, STATE_A),
        owned(4, "LOCK", "NFS4_OK", None, STATE_B),
        owned(9, "LOCK", "NFS4_OK", None, STATE_A),
    ]
    pair = found(asked)
    assert pair.waits == 1
    assert pair.longest_s == pytest.approx(0.071)


def test_where_owners_were_cut_off_a_client_is_one() -> None:
    """The stateid of a refused LOCK may then be the open's."""
    asked = [
        owned(2, "LOCK", "NFS4ERR_DENIED", None, OPEN, "truncated"),
        owned(4, "LOCK", "NFS4_OK", B, STATE_B),
    ]
    pair = found(asked)
    assert (pair.waits, pair.holders) == (1, ())
    assert pair.longest_s == pytest.approx(0.021)


@pytest.mark.parametrize(("owner", "longest_s"), [(A, 0.021), (B, None), (None, 0.021)])
def test_granted_ends_the_wait_of_the_process_that_it_names(
    owner: bytes | None, longest_s: float | None
) -> None:
    granted = (
        call(4, "GRANTED", 1, callback=True),
        operation(4, "GRANTED", file=1, offset=0, requested=10, lock_owner=owner),
    )
    asked = [owned(2, "LOCK", "NLM4_BLOCKED", A), granted]
    pair = found(asked)
    assert pair.longest_s == (None if longest_s is None else pytest.approx(longest_s))


def test_what_was_free_for_two_waits_at_once_was_free_once() -> None:
    asked = [
        owned(1, "LOCK", "NFS4ERR_DENIED", A, OPEN),
        owned(2, "LOCK", "NFS4ERR_DENIED", B, OPEN),
        owned(3, "LOCKU", "NFS4_OK", None, b"another"),
        owned(7, "LOCK", "NFS4_OK", A, STATE_A),
        owned(8, "LOCK", "NFS4_OK", B, STATE_B),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted) == (2, 2)
    assert pair.waited_s == pytest.approx(0.071)
    assert pair.late_s == pytest.approx(0.051)


def test_what_was_free_between_holds_was_free_once_for_two_waits_at_once() -> None:
    """The second of them ends first, and its process holds the lock within the first's wait."""
    asked = [
        owned(1, "LOCK", "NFS4_OK", C, STATE_C),
        owned(2, "LOCK", "NFS4ERR_DENIED", A, OPEN),
        owned(3, "LOCK", "NFS4ERR_DENIED", B, OPEN),
        owned(4, "LOCKU", "NFS4_OK", None, STATE_C),
        owned(8, "LOCK", "NFS4_OK", B, STATE_B),
        owned(9, "LOCKU", "NFS4_OK", None, STATE_B),
        owned(12, "LOCK", "NFS4_OK", A, STATE_A),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted) == (2, 2)
    assert pair.waited_s == pytest.approx(0.101)
    assert pair.late_s == pytest.approx(0.041 + 0.031)


def test_what_was_free_before_a_wait_began_counts_from_there() -> None:
    asked = [
        owned(1, "LOCK", "NFS4_OK", C, STATE_C),
        owned(3, "LOCKU", "NFS4_OK", None, STATE_C),
        owned(5, "LOCK", "NFS4ERR_DENIED", B, OPEN),
        owned(7, "LOCK", "NFS4_OK", A, STATE_A),
        owned(8, "LOCKU", "NFS4_OK", None, STATE_A),
        owned(9, "LOCK", "NFS4_OK", B, STATE_B),
    ]
    assert found(asked).late_s == pytest.approx(0.020 + 0.011)


def cancel(number: int, owner: bytes, status: str | None = "NLM4_GRANTED") -> tuple[Row, Row]:
    """The client withdraws what one of its processes asked for."""
    whole = {"file": 1, "offset": 0, "requested": 10, "lock_type": 4, "lock_owner": owner}
    srt = None if status is None else 1
    return call(number, "CANCEL", srt), operation(number, "CANCEL", status_name=status, **whole)


@pytest.mark.parametrize("status", ["NLM4_GRANTED", "NLM4_DENIED", None])
def test_a_wait_ends_without_the_lock_when_the_client_withdraws_it(status: str | None) -> None:
    """What it is answered, if at all, changes nothing for who waited."""
    asked = [
        owned(1, "LOCK", "NLM4_BLOCKED", A),
        cancel(11, A, status),
        owned(501, "LOCK", "NLM4_BLOCKED", A),
        cancel(521, A, status),
        # Who asks anew does not go on with a wait that is over.
        owned(901, "LOCK", "NLM4_GRANTED", A),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted, pair.withdrawn, pair.polled) == (2, 0, 2, 0)
    assert (pair.locks, pair.refused, pair.interval_s) == (3, 2, None)
    assert pair.waited_s == pytest.approx(0.3)
    with trace_from(asked) as trace:
        waited = waits(trace)
    assert waited is not None
    assert len(waited.locks) == 2


def test_the_wait_of_another_process_goes_on_when_one_withdraws_its_own() -> None:
    asked = [
        owned(1, "LOCK", "NLM4_BLOCKED", A),
        cancel(11, B),
        owned(21, "LOCK", "NLM4_GRANTED", A),
    ]
    pair = found(asked)
    assert (pair.waits, pair.granted, pair.withdrawn) == (1, 1, 0)
    assert pair.longest_s == pytest.approx(0.201)


@pytest.mark.parametrize(
    ("protocol", "flags", "told"),
    [
        ("4.2", (False, True), True),
        ("4.1", (False, False), False),
        ("4.2", (None,), None),
        ("4.0", (False,), None),
    ],
)
def test_an_answer_to_an_open_tells_whether_the_server_may_call(
    protocol: str, flags: tuple[bool | None, ...], told: bool | None
) -> None:
    """Of NFSv4.0, which has no such callback, none does."""
    opened = [
        (
            call(number, "OPEN", 1, protocol=protocol),
            operation(number, "OPEN", may_notify_lock=flag),
        )
        for number, flag in enumerate(flags, 1)
    ]
    asked = [lock(10, "NFS4ERR_DENIED"), unlock(15, "10.0.0.3"), lock(20, "NFS4_OK")]
    assert found([*opened, *asked]).may_notify is told
