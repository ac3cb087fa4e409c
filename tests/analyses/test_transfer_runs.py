"""Runs of READs and WRITEs: what larger pieces, and less strict ones, would have saved."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE
from pcapnfs.analyses.data.transfer_runs import TransferRuns, transfer_runs
from tests.unit.rows import MILLISECOND, Row, call, file, operation, trace_of

LIMIT = [
    call(0, "FSINFO", 1, call_first_frame=0, call_frame=0),
    operation(0, "FSINFO", max_read=8192, max_write=16384),
]


def move(
    number: int, place: int, op: str = "WRITE", level: str = "UNSTABLE", about: int = 1
) -> list[Row]:
    """A call of 4 ms that moves 4 KiB at `place` × 4 KiB."""
    kind = {"READ": "read", "WRITE": "unstable_write"}[op] if level == "UNSTABLE" else "stable"
    wanted = {"stable_requested": level, "stability": kind} if op == "WRITE" else {}
    return [
        call(number, op, 4, file=about, stability=kind),
        operation(number, op, file=about, offset=place * 4096, requested=4096, **wanted),
    ]


def found(*steps: list[Row]) -> TransferRuns:
    """What there is to tell of these calls, of one client and server."""
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations, files=[file(1, "a"), file(2, "b")]) as trace:
        (pair,) = transfer_runs(trace)
    return pair


def test_what_the_server_allows_decides_how_many_are_left_out() -> None:
    runs = found(LIMIT, *(move(number, number) for number in range(1, 7)), move(9, 40))
    assert (runs.writes.calls, runs.writes.in_runs, runs.continued) == (7, 6, 5)
    assert (runs.writes.largest_bytes, runs.writes.allowed_bytes) == (4096, 16384)
    # Six pieces of 4 KiB in two of 16 KiB.
    assert runs.writes.merged.calls == 4
    assert runs.writes.merged.time_s == pytest.approx(0.024 * 4 / 6)
    assert runs.writes.merged.pause_s == pytest.approx(0.036 * 4 / 6)
    assert runs.writes.merged_stable_s == 0
    assert runs.writes.merged.frames == (1,)
    assert runs.sync == NONE


FAR: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "handshake": True,
    "syn_rtt": 36 * MILLISECOND,
    "ack_rtt": 0,
}
"""A connection at the client, with a round trip of 36 ms."""


def pipelined(
    numbers: range, *, op: str = "WRITE", srt_ms: float = 40, files: int = 1
) -> TransferRuns:
    """Calls 10 ms apart, each of which takes so long, in so many files in turn, at a client."""
    kind = {"READ": "read", "WRITE": "unstable_write"}[op]
    calls, operations = [LIMIT[0]], [LIMIT[1]]
    for number in numbers:
        about = 1 + number % files
        calls.append(call(number, op, srt_ms, file=about, stability=kind))
        place = number // files * 4096
        operations.append(operation(number, op, file=about, offset=place, requested=4096))
    with trace_of(calls=calls, operations=operations, connections=[FAR]) as trace:
        (pair,) = transfer_runs(trace)
    return pair


@pytest.mark.parametrize(("op", "left_out"), [("WRITE", 6), ("READ", 4)])
def test_who_sends_ahead_saves_what_the_server_does_for_each_and_no_round_trips(
    op: str, left_out: int
) -> None:
    """Of 40 ms each 36 ms are the network's, and eight in a row take 110 ms of the clock."""
    found = pipelined(range(1, 9), op=op)
    runs = found.reads if op == "READ" else found.writes
    assert (runs.calls, runs.merged.calls, runs.ahead) == (8, left_out, 8)
    assert runs.merged.time_s == pytest.approx(0.110 * 4 / 40 * left_out / 8, rel=0.01)


def test_who_waits_for_each_saves_the_round_trips() -> None:
    """Also where the next one is sent as the answer comes, or another file's is under way."""
    runs = pipelined(range(1, 9), srt_ms=10).writes
    assert (runs.merged.calls, runs.ahead) == (6, 0)
    assert runs.merged.time_s == pytest.approx(0.080 * 6 / 8)
    # Four files in turn: each waits for its own.
    runs = pipelined(range(4, 36), files=4).writes
    assert (runs.merged.calls, runs.ahead) == (24, 0)
    assert runs.merged.time_s == pytest.approx(0.350 * 24 / 32, rel=0.01)


def test_the_work_for_each_is_no_more_than_the_quickest_took() -> None:
    """Those of 100 ms wait for something else, as for the disk or for one another."""
    slow = pipelined(range(1, 42), srt_ms=100).writes
    quick = [100.0 if number % 10 else 37.0 for number in range(1, 42)]
    calls = [
        call(number, "WRITE", srt_ms, file=1, stability="unstable_write")
        for number, srt_ms in enumerate(quick, 1)
    ]
    operations = [
        operation(number, "WRITE", file=1, offset=number * 4096, requested=4096)
        for number in range(1, 42)
    ]
    with trace_of(
        calls=[LIMIT[0], *calls], operations=[LIMIT[1], *operations], connections=[FAR]
    ) as trace:
        (pair,) = transfer_runs(trace)
    assert pair.writes.merged.calls == slow.merged.calls == 30
    assert slow.merged.time_s == pytest.approx(0.500 * 64 / 100 * 30 / 41, rel=0.01)
    assert pair.writes.merged.time_s <= 0.001 * 30 + 1e-6


def test_reads_have_their_own_limit() -> None:
    runs = found(LIMIT, *(move(number, number, "READ") for number in range(1, 5)))
    assert (runs.reads.calls, runs.reads.merged.calls) == (4, 2)
    assert runs.writes.calls == 0


def test_ten_of_one_size_behind_one_another_are_a_habit() -> None:
    ten = [move(number, number, "READ") for number in range(1, 11)]
    assert found(LIMIT, *ten).reads.even == 10
    assert found(LIMIT, *ten[:9]).reads.even == 0
    first, executed = ten[0]
    smaller = [first, {**executed, "offset": 4096 * 2 - 2048, "requested": 2048}]
    last, executed = move(11, 11, "READ")
    # A run begins with smaller ones where a client begins to read ahead.
    assert found(LIMIT, smaller, *ten[1:]).reads.even == 10
    assert found(LIMIT, *ten, [last, {**executed, "requested": 100}]).reads.even == 11


def commit(number: int, status: int = 0) -> list[Row]:
    """A COMMIT of 4 ms."""
    return [
        call(number, "COMMIT", 4, file=1, stability="stable"),
        operation(number, "COMMIT", file=1, status=status, stability="stable"),
    ]


def test_who_commits_each_write_has_not_cut_it_to_size() -> None:
    """A program that calls fsync() after each write, whatever wsize is."""
    steps = [
        step for place in range(4) for step in (move(2 * place + 1, place), commit(2 * place + 2))
    ]
    runs = found(LIMIT, *steps)
    assert (runs.writes.calls, runs.writes.in_runs, runs.continued) == (4, 0, 0)
    assert runs.writes.merged == NONE
    # READs do not mind, and a COMMIT that was refused made sure of nothing.
    reads = found(LIMIT, move(1, 0, "READ"), commit(2), move(3, 1, "READ"))
    assert reads.reads.merged.calls == 1
    assert found(LIMIT, move(1, 0), commit(2, status=5), move(3, 1)).continued == 1


def test_what_is_read_behind_the_end_of_a_file_or_refused_is_in_no_run() -> None:
    first, end, refused = (move(number, number - 1, "READ") for number in range(1, 4))
    of_end, of_refused = {**end[1], "count": 0}, {**refused[1], "status": 5}
    for nothing in ([end[0], of_end], [refused[0], of_refused]):
        runs = found(LIMIT, first, nothing)
        assert (runs.reads.calls, runs.reads.in_runs, runs.reads.merged) == (1, 0, NONE)
    assert found(LIMIT, first, move(2, 1, "READ")).reads.merged.calls == 1


def test_of_a_limit_that_was_not_captured_nothing_follows() -> None:
    runs = found(move(1, 0), move(2, 1))
    assert (runs.writes.allowed_bytes, runs.writes.merged) == (None, NONE)
    # Nor of that of WRITEs for READs.
    told = [LIMIT[0], operation(0, "FSINFO", max_write=16384)]
    runs = found(told, move(1, 0, "READ"), move(2, 1, "READ"), move(3, 2))
    assert (runs.reads.allowed_bytes, runs.writes.allowed_bytes) == (None, 16384)


def test_where_the_server_allows_no_more_1_mib_is_the_measure() -> None:
    tight = [LIMIT[0], operation(0, "FSINFO", max_read=4096, max_write=4096)]
    runs = found(tight, *(move(number, number) for number in range(1, 5)))
    assert (runs.writes.allowed_bytes, runs.writes.merged.calls) == (4096, 3)


def test_the_way_of_the_bytes_is_not_saved() -> None:
    late = move(2, 2)
    late[0] = {**late[0], "call_first_time": late[0]["call_time"] - 4_000_000}  # type: ignore[operator]
    runs = found(LIMIT, move(1, 1), late)
    # Of 4 ms and 8 ms the server had 4 ms each; one of two calls would do.
    assert runs.writes.merged.time_s == pytest.approx((0.004 + 0.008 / 2) / 2)


def test_what_was_sent_again_did_not_wait_for_its_size() -> None:
    again = move(2, 2)
    again[0] = {**again[0], "transmissions": 2, "first_arrived": False}
    assert found(LIMIT, move(1, 1), again).writes.merged.time_s == pytest.approx(0.004 / 2)


def test_what_is_written_through_would_be_sent_unstable_and_committed_once() -> None:
    look = [call(20, "GETATTR", 1, file=1), operation(20, "GETATTR", file=1)]
    runs = found(LIMIT, look, *(move(number, number, level="FILE_SYNC") for number in range(1, 6)))
    assert (runs.sync.calls, runs.sync_files, runs.sync_bytes) == (5, 1, 20480)
    assert runs.sync.time_s == pytest.approx(0.020)
    # One of the five for the COMMIT, and two pieces of 16 KiB at 1 ms.
    assert runs.sync_saved_s == pytest.approx(0.016 - 0.002)
    assert runs.continued == 4


@pytest.mark.parametrize(
    ("closed", "saved_s"),
    [(1, 0.032 - 0.003), (2, 0.028 - 0.003), (4, 0.020 - 0.004), (9, 0.0)],
)
def test_one_that_is_stored_stays_for_each_time_that_a_file_was_closed(
    closed: int, saved_s: float
) -> None:
    """Pieces of 16 KiB at 1 ms, or one for each close() where these are more."""
    look = [call(20, "GETATTR", 1, file=2), operation(20, "GETATTR", file=2)]
    closes = ([call(30 + number, "CLOSE", 1, file=1, version=4)] for number in range(closed))
    moves = (move(number, number, level="FILE_SYNC") for number in range(1, 10))
    runs = found(LIMIT, look, *([*each, operation(29, "GETATTR")] for each in closes), *moves)
    assert (runs.sync.calls, runs.sync_ends) == (9, closed)
    assert runs.sync_saved_s == pytest.approx(saved_s)


@pytest.mark.parametrize(("status", "sync"), [(28, 0), (None, 5)])
def test_a_write_that_is_refused_waits_for_no_storage(status: int | None, sync: int) -> None:
    """But one whose status was cut off may have."""
    steps = [move(number, number, level="FILE_SYNC") for number in range(1, 6)]
    for step in steps:
        step[1] = {**step[1], "status": status}
    assert found(LIMIT, *steps).sync.calls == sync


@pytest.mark.parametrize(
    ("op", "version", "ends"),
    [
        ("CLOSE", 4, 2),
        ("OPEN_DOWNGRADE", 4, 2),
        ("LOCKU", 4, 2),
        ("UNLOCK", 4, 2),
        ("OPEN", 4, 2),
        ("GETATTR", 3, 2),
        ("GETATTR", 4, 0),
        ("ACCESS", 3, 0),
    ],
)
def test_what_a_client_sends_before_it_closes_or_unlocks(op: str, version: int, ends: int) -> None:
    """NFSv3 says neither; its clients ask when they open a file."""
    between = [
        [call(number, op, 1, file=about, version=version), operation(number, op, file=about)]
        for number, about in ((2, 1), (4, 1), (5, 2))
    ]
    writes = [move(number, number // 2, level="FILE_SYNC") for number in (1, 3)]
    assert found(*writes, *between).sync_ends == ends


def test_what_several_have_open_at_once_is_closed_as_often_as_it_was_opened() -> None:
    """NFSv4 has one CLOSE behind the last of them, NFSv3 none; and some files have more CLOSEs."""
    calls = [(2, "OPEN", 1), (3, "OPEN", 1), (4, "OPEN", 1), (6, "CLOSE", 1)]
    calls += [(8, "OPEN", 2), (9, "OPEN_DOWNGRADE", 2), (10, "CLOSE", 2)]
    between = [
        [call(number, op, 1, file=about), operation(number, op, file=about)]
        for number, op, about in calls
    ]
    writes = [
        move(number, place, level="FILE_SYNC", about=about)
        for number, place, about in ((1, 0, 1), (5, 1, 1), (7, 0, 2), (11, 1, 2))
    ]
    assert found(*writes, *between).sync_ends == 3 + 2


def test_a_file_of_one_write_is_not_written_through() -> None:
    runs = found(move(1, 0, level="FILE_SYNC"), move(2, 0, level="FILE_SYNC", about=2))
    assert (runs.sync, runs.continued) == (NONE, 0)


def test_without_transfers_there_is_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "GETATTR", 1)]) as trace:
        assert transfer_runs(trace) == ()


def append(number: int, start: int, stop: int, level: str = "FILE_SYNC") -> list[Row]:
    """A WRITE of these bytes, of 4 ms."""
    kind = "unstable_write" if level == "UNSTABLE" else "stable"
    return [
        call(number, "WRITE", 4, file=1, stability=kind),
        operation(
            number, "WRITE", file=1, offset=start, requested=stop - start, stable_requested=level,
            stability=kind,
        ),
    ]  # fmt: skip


LINES = [(0, 2000), (0, 4000), (0, 4100), (4096, 6000), (4096, 8100)]
"""Lines behind one another, each sent with what the client has of their page."""


def test_lines_that_are_appended_for_stable_storage_continue_one_another() -> None:
    runs = found(LIMIT, *(append(n, *line) for n, line in enumerate(LINES, 1)))
    assert (runs.writes.in_runs, runs.continued, runs.sync.calls) == (5, 4, 5)
    # What may be gathered was not cut to size: it had been written out meanwhile.
    runs = found(LIMIT, *(append(n, *line, "UNSTABLE") for n, line in enumerate(LINES, 1)))
    assert (runs.writes.calls, runs.continued) == (5, 0)


@pytest.mark.parametrize("second", [(0, 2000), (0, 1000), (100, 1900), (0, 1)])
def test_what_is_written_again_without_more_behind_it_continues_nothing(
    second: tuple[int, int],
) -> None:
    assert found(LIMIT, append(1, 0, 2000), append(2, *second)).continued == 0


def test_pages_that_are_written_again_continue_nothing() -> None:
    """A database writes several pages from the one of before on."""
    assert found(LIMIT, append(1, 0, 8192), append(2, 4096, 16384)).continued == 0
