"""Calls that were never answered."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.unanswered import Unanswered, unanswered
from pcapnfs.meta import Vain
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, trace_of


def connection(number: int, last_ms: int, **columns: object) -> Row:
    """A TCP connection whose handshake was captured."""
    row: Row = {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_time": START_NS,
        "last_time": START_NS + last_ms * MILLISECOND,
        "syn_rtt": 200_000,
        "server_segments": 3,
    }
    return {**row, **columns}


def orphan(at_ms: int, **columns: object) -> Row:
    """A reply without its call."""
    row: Row = {
        "reason": "reply_without_call",
        "time": START_NS + at_ms * MILLISECOND,
        "connection": 1,
        "xid": 99,
    }
    return {**row, **columns}


CALLS = [call(1, "GETATTR", 5, connection=1), call(2, "READ", None, connection=1, xid=7)]


def asked(*connections: Row, notes: tuple[Row, ...] = (), **of_call: object) -> list[Unanswered]:
    """What is found where the second of two calls, sent after 20 ms, has no answer."""
    calls = [CALLS[0], {**CALLS[1], **of_call}]
    with trace_of(calls=calls, connections=connections, notes=notes) as trace:
        return list(unanswered(trace))


def test_a_call_waits_until_the_last_packet_of_its_connection() -> None:
    (pair,) = asked(connection(1, 2_020), connection(2, 60_000))
    assert (pair.calls, pair.asked, pair.answered, pair.longest_s) == (1, 2, 1, 2.0)
    assert asked(connection(1, 30), connection(2, 60_000)) == []


@pytest.mark.parametrize(
    ("syn_s", "waited_s"),
    [
        (5.0, 4.98),
        (8.02, 8.0),  # The timer doubles: after 2 s, TCP sends again after 2 more, or is late.
        (8.03, 2.0),
        (1.0, 2.0),  # It asked for that beside this one.
    ],
)
def test_a_client_that_connects_again_in_vain_had_not_given_up(
    syn_s: float, waited_s: float
) -> None:
    first_ns = START_NS + round(syn_s * 1000) * MILLISECOND
    syns = Vain("10.0.0.2", "10.0.0.1", 2049, 1, 3, 0, first_ns, first_ns + 1, 9)
    lost = connection(1, 2_020, client_resent=2, client_unacked=500, server_port=2049)

    def longest_s(syns: Vain, lost: Row) -> float:
        with trace_of(replace(meta(), vain=(syns,)), calls=CALLS, connections=[lost]) as trace:
            (pair,) = unanswered(trace)
        return pair.longest_s

    assert longest_s(syns, lost) == pytest.approx(waited_s)
    # Another port is of something else; and who hung up had given up.
    assert longest_s(replace(syns, port=111), lost) == pytest.approx(2.0)
    ended = {**lost, "client_fin_time": START_NS + 2_020 * MILLISECOND}
    assert longest_s(syns, ended) == pytest.approx(2.0)


@pytest.mark.parametrize("end", ["server_rst_time", "server_fin_time"])
def test_a_server_that_ends_the_connection_answers_no_more(end: str) -> None:
    sent = START_NS + 20 * MILLISECOND
    ended = connection(1, 60, **{end: sent + 3 * MILLISECOND})
    (pair,) = asked(ended, connection(2, 60_000))
    assert (pair.calls, pair.ended_at_once, pair.cut_short) == (1, 1, 1)
    assert pair.longest_s == pytest.approx(0.003)
    assert asked(ended, connection(2, 60_000), transmissions=2)[0].ended_at_once == 0
    assert asked({**ended, "missing_bytes": 1}, connection(2, 60_000)) == []
    # The client hung up first.
    assert asked({**ended, "client_fin_time": sent + MILLISECOND}, connection(2, 60_000)) == []
    # It had waited for long before.
    late = connection(1, 5_000, server_rst_time=sent + 4_000 * MILLISECOND)
    (pair,) = asked(late, connection(2, 60_000))
    assert (pair.cut_short, pair.ended_at_once) == (1, 0)


@pytest.mark.parametrize(
    ("again", "replayed"),
    [
        ({}, 1),
        ({"slot": 1}, 0),
        ({"session": b"other"}, 0),
        ({"op": "WRITE"}, 0),  # The client let the slot go.
        ({"file": 4}, 0),
        ({"file": None, "directory": 5}, 1),  # Which file it is about is not told.
        ({"call_bytes": 248}, 0),
        ({"xid": 7}, 0),
        ({"reply_time": None}, 0),
    ],
)
def test_a_call_whose_slot_is_used_for_the_same_on_another_connection_was_sent_again(
    again: Row, replayed: int
) -> None:
    slot: Row = {"session": b"session", "slot": 0, "version": 4, "protocol": "4.1"}
    whole: Row = {"file": 3, "call_bytes": 244}
    calls = [
        {**CALLS[0], **slot},
        {**CALLS[1], **slot, **whole},
        {**call(300, "READ", 5, connection=2, xid=9), **slot, **whole, **again},
        {**call(301, "READ", 5, connection=2, xid=10), **slot},
    ]
    # What uses the slot after that is another call.
    if again.keys() & {"slot", "session"}:
        del calls[3]
    connections = [connection(1, 2_020), connection(2, 60_000)]
    files = [file(3, "a"), file(4, "b"), file(5, ".", "directory")]
    with trace_of(calls=calls, connections=connections, files=files) as trace:
        (pair,) = unanswered(trace)
    assert pair.replayed == replayed


@pytest.mark.parametrize(("xid", "counted"), [(7, 1), (8, 0)])
def test_a_call_with_the_xid_of_one_that_was_answered(xid: int, counted: int) -> None:
    calls = [{**CALLS[0], "xid": xid}, CALLS[1]]
    with trace_of(calls=calls, connections=[connection(1, 60_000)]) as trace:
        (pair,) = unanswered(trace)
    assert (pair.same_xid, pair.same_xid_answered) == (counted, 0)


def test_calls_with_one_xid_may_all_be_answered() -> None:
    xid: dict[str, object] = {"xid": 7, "connection": 1}
    calls = [
        {**call(1, "READ", 1), **xid},
        {**call(2, "READ", 1), **xid},
        {**call(3, "READ", 1), **xid},
        {**call(4, "READ", None), **xid},
    ]
    with trace_of(calls=calls, connections=[connection(1, 60_000)]) as trace:
        (pair,) = unanswered(trace)
    assert (pair.calls, pair.same_xid, pair.same_xid_answered) == (1, 1, 2)


def test_one_that_was_sent_again_until_the_last_of_either_side() -> None:
    (pair,) = asked(connection(1, 30), connection(2, 60_020), transmissions=2)
    assert (pair.repeated, pair.resent, pair.longest_s) == (1, 0, 60.0)


@pytest.mark.parametrize(
    ("resent", "transmissions", "last_ms", "counted"),
    [
        (4, 1, 6_000, 4),
        (2, 1, 6_000, 0),  # Its timer doubles: these were others.
        (4, 2, 6_000, 0),  # RPC repeated it on a connection that TCP had not cut.
    ],
)
def test_segments_that_say_that_it_did_not_arrive(
    resent: int, transmissions: int, last_ms: int, counted: int
) -> None:
    (pair,) = asked(connection(1, last_ms, client_resent=resent), transmissions=transmissions)
    assert pair.resent == counted


@pytest.mark.parametrize(("resent", "counted"), [(4, 4), (2, 0)])
def test_a_call_that_moved_is_judged_by_the_time_of_its_new_connection(
    resent: int, counted: int
) -> None:
    """On which it is cut off as well, after 34 s on the first."""
    moved = START_NS + 34_000 * MILLISECOND
    (pair,) = asked(
        connection(1, 14_000, client_resent=6),
        connection(2, 40_000, first_time=moved, client_resent=resent),
        connection=2,
        transmissions=2,
    )
    assert (pair.repeated, pair.resent) == (1, counted)


def test_a_call_that_later_ones_overtook_arrived() -> None:
    calls = [*CALLS, call(3, "GETATTR", 5, connection=1)]
    with trace_of(calls=calls, connections=[connection(1, 6_000, client_resent=4)]) as trace:
        (pair,) = unanswered(trace)
    assert (pair.resent, pair.answered_later) == (0, 1)


def test_what_the_server_sent_and_never_came() -> None:
    (pair,) = asked(connection(1, 6_000, server_lost=4_096))
    assert (pair.unreceived, pair.unreceived_bytes) == (1, 4_096)
    calls = [*CALLS, call(3, "GETATTR", 5, connection=1)]
    with trace_of(calls=calls, connections=[connection(1, 6_000, server_lost=4_096)]) as trace:
        (pair,) = unanswered(trace)
    assert (pair.unreceived, pair.unreceived_bytes) == (0, 0)


def test_an_answer_that_the_client_never_acknowledged_is_none() -> None:
    calls = [
        call(1, "GETATTR", 5, connection=1),
        call(2, "READ", 1, connection=1),
        call(400, "GETATTR", 1, connection=1),
    ]
    # The first was acknowledged after 16 ms, and nothing since; the READ was sent after 20 ms.
    since = START_NS + 16 * MILLISECOND
    deaf = connection(
        1, 6_020, server_unacked=8_000, server_unacked_time=since, server_resent=7, client_unacked=0
    )

    def told(its: Row) -> list[Unanswered]:
        with trace_of(calls=calls, connections=[its]) as trace:
            return list(unanswered(trace))

    (pair,) = told(deaf)
    assert (pair.calls, pair.asked, pair.answered, pair.answered_later) == (2, 3, 1, 0)
    assert (pair.undelivered, pair.undelivered_bytes) == (2, 8_000)
    assert pair.longest_s == 6.0
    # Until the client hangs up.
    ended = START_NS + 5_020 * MILLISECOND
    (pair,) = told({**deaf, "client_rst_time": ended})
    assert (pair.longest_s, pair.given_up) == (5.0, 2)
    # Then the answers were received, or the server does not send them again.
    for received in ({"server_unacked": 0}, {"server_resent": 4}):
        assert told({**deaf, **received}) == []


@pytest.mark.parametrize(("called_ms", "lost"), [(None, True), (10, True), (30, False)])
def test_an_answer_of_which_the_end_was_never_acknowledged_is_none(
    called_ms: int | None, lost: bool
) -> None:
    """The client acknowledged what it got of the READ after all of it had been sent.

    Behind a callback that came later it is this one's end.
    """
    calls = [call(1, "GETATTR", 5, connection=1), call(2, "READ", 1, connection=1)]
    if called_ms is not None:
        at = {"call_time": START_NS + called_ms * MILLISECOND, "callback": True}
        calls.append(call(3, "CB_RECALL", None, connection=1, **at))
    deaf = connection(
        1, 6_020, server_unacked=8_000, server_unacked_time=START_NS + 25 * MILLISECOND,
        server_resent=7, client_resent=3, client_unacked=0,
    )  # fmt: skip
    with trace_of(calls=calls, connections=[deaf]) as trace:
        assert [pair.undelivered for pair in unanswered(trace)] == ([1] if lost else [])


def test_a_connection_whose_answers_are_lost_waits_until_the_capture_ends() -> None:
    """It is silent from the last ACK on: what the server sends again is lost as well."""
    silent = connection(1, 300, server_lost=14_480, client_unacked=0)
    (pair,) = asked(silent)
    assert pair.longest_s == 9.98
    assert asked({**silent, "server_lost": 0}) == []
    assert asked({**silent, "client_unacked": 120}) == []
    calls = [*CALLS, call(3, "GETATTR", 5, connection=1)]
    with trace_of(calls=calls, connections=[silent]) as trace:
        assert unanswered(trace) == ()


@pytest.mark.parametrize(("came_ms", "found"), [(20, 1), (150, 1), (19, 0)])
def test_so_does_one_after_which_nobody_can_read_what_comes(came_ms: int, found: int) -> None:
    silent = connection(1, 300, client_unacked=0)
    stray = orphan(came_ms, reason="desynchronised", xid=None)
    pairs = asked(silent, notes=(stray,))
    assert [(pair.misframed, pair.longest_s) for pair in pairs] == [(1, 9.98)] * found
    # On another connection, and where a later call was answered, it says nothing.
    assert asked(silent, connection(2, 300), notes=({**stray, "connection": 2},)) == []
    calls = [*CALLS, call(3, "GETATTR", 5, connection=1)]
    with trace_of(calls=calls, connections=[silent], notes=[stray]) as trace:
        assert unanswered(trace) == ()


def test_what_other_services_answer_is_told_apart() -> None:
    calls = [*CALLS, call(3, "GETPORT", 5, connection=2, program=100000)]
    connections = [connection(1, 6_000), connection(2, 40)]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = unanswered(trace)
    assert (pair.answered_later, pair.answered_elsewhere) == (0, 1)


def test_datagrams_count_where_they_were_sent_again() -> None:
    udp = connection(1, 9_000, transport="UDP", syn_rtt=None)
    assert asked(udp) == []
    (pair,) = asked(udp, transmissions=3)
    assert pair.datagrams
    assert (pair.resent, pair.repeated) == (0, 2)


@pytest.mark.parametrize("transmissions", [1, 2])
@pytest.mark.parametrize("lack", ["bytes", "call", "dropped"])
def test_where_the_capture_lacks_packets_only_calls_that_were_sent_again(
    lack: str, transmissions: int
) -> None:
    """Wherever client and server lack them."""
    missing = 100 if lack == "bytes" else 0
    told = meta(dropped_packets=3) if lack == "dropped" else meta()
    calls = [CALLS[0], {**CALLS[1], "transmissions": transmissions}]
    notes = [orphan(3_000)] if lack == "call" else []
    connections = [connection(1, 6_000), connection(2, 6_000, missing_bytes=missing)]
    with trace_of(told, calls=calls, connections=connections, notes=notes) as trace:
        assert [pair.lossy for pair in unanswered(trace)] == [True] * (transmissions - 1)


def test_tcp_that_falls_silent_shows_that_the_capture_lacks_packets() -> None:
    """What was not acknowledged is sent again a second later at most."""
    got = {"client_unacked": 0, "client_resent": 0}
    waits = connection(1, 30, **got)
    mute = {"client_unacked": 1448, "client_resent": 0}
    assert asked(waits, connection(2, 2_000, **mute), connection(3, 6_000, **got)) == []
    for other in (
        connection(2, 5_500, **mute),
        connection(2, 2_000, **got),
        connection(2, 2_000, **mute | {"client_resent": 3}),
        connection(2, 2_000, **mute | {"client_rst_time": START_NS}),
        connection(2, 2_000, **mute | {"transport": "UDP"}),
        connection(2, 2_000, **mute | {"client_unacked": None}),
    ):
        (pair,) = asked(waits, other, connection(3, 6_000, **got))
        assert pair.longest_s == pytest.approx(5.98)


def test_a_reply_as_the_capture_begins_is_no_loss() -> None:
    (pair,) = asked(connection(1, 6_000), notes=(orphan(1),))
    assert not pair.lossy


def test_a_call_whose_reply_stands_before_it_was_answered() -> None:
    """Some ways to capture mix up the order of both directions."""
    assert asked(connection(1, 6_000), notes=(orphan(1, xid=7),)) == []


def after(late_ms: int) -> int:
    return START_NS + late_ms * MILLISECOND


@pytest.mark.parametrize(
    ("ends", "waited_s", "given_up", "cut_short"),
    [
        ({}, 6.0, 0, 0),
        ({"client_fin_time": after(3_020)}, 3.0, 1, 0),
        ({"client_rst_time": after(3_020), "server_rst_time": after(3_021)}, 3.0, 1, 0),
        ({"server_fin_time": after(2_020), "client_fin_time": after(3_020)}, 2.0, 0, 1),
        ({"server_rst_time": after(2_020)}, 2.0, 0, 1),
        # The call was sent on a connection that the server had ended.
        ({"server_fin_time": after(10)}, 6.0, 0, 0),
    ],
)
def test_a_call_waits_until_a_side_ends_its_connection(
    ends: dict[str, int], waited_s: float, given_up: int, cut_short: int
) -> None:
    (pair,) = asked(connection(1, 6_020, **ends))
    assert pair.longest_s == waited_s
    assert (pair.given_up, pair.cut_short) == (given_up, cut_short)


def test_one_that_is_given_up_at_once_is_none() -> None:
    assert asked(connection(1, 6_020, client_fin_time=after(900))) == []


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"client_unacked": 0}, True),
        ({"client_unacked": 44}, False),
        ({}, False),
        ({"client_unacked": 0, "client_rst_time": after(5)}, False),
    ],
)
def test_where_the_server_got_all_other_connections_show_that_it_is_silent(
    columns: dict[str, int], told: bool
) -> None:
    """Those of the same two hosts: of others the capture may go on alone."""
    quiet = connection(1, 25, **columns)
    found = asked(quiet, connection(2, 4_020))
    assert [pair.longest_s for pair in found] == [4.0] * told
    assert asked(quiet, connection(2, 4_020, client="10.0.0.3")) == []
    assert asked(quiet, connection(2, 4_020, missing_bytes=10)) == []


@pytest.mark.parametrize(
    ("on", "counted"),
    # The connection of the silent call is last seen after 5 s.
    [({"connection": 1}, (1, 0)), ({"connection": 2}, (0, 1))],
)
def test_what_is_answered_after_its_connection_is_told_apart(
    on: dict[str, object], counted: tuple[int, int]
) -> None:
    at = 300 if on["connection"] == 1 else 700
    calls = [*CALLS, call(at, "GETATTR", 5, **on)]
    connections = [connection(1, 5_000), connection(2, 9_000)]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = unanswered(trace)
    assert (pair.answered_later, pair.answered_again) == counted
