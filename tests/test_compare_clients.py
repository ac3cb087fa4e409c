"""What `compare` says of captures of several clients: of each by itself, not of all as one."""

from __future__ import annotations

import functools

import pytest

import pcapnfs
from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.comparison.clients import ClientChange
from pcapnfs.comparison.comparing import Comparison, of_sides
from pcapnfs.comparison.moved_files import MovedFiles
from pcapnfs.comparison.side import Side, gather
from pcapnfs.record import replace
from pcapnfs.views.differences import sure
from tests.diagnosis.test_sync_mount import PIECES
from tests.oracles.corpus import lab_captures, require_corpus
from tests.sides import side_of
from tests.unit.rows import (
    MILLISECOND,
    START_NS,
    Row,
    call,
    file,
    meta,
    operation,
)
from tests.views import samples

DISK, OTHER = "10.0.0.3", "10.0.0.4"


def calls_of(
    client: str, stable_ms: float, number: int = 100, *, later_ms: int = 0, other_ms: float = 1
) -> list[Row]:
    """So many calls, one every 10 ms: 40 small ones, and CREATEs behind them."""
    base = 10_000 * int(client.rsplit(".", 1)[1])
    rows: list[Row] = []
    for place in range(1, number + 1):
        small = place <= 40
        row = call(
            place,
            "GETATTR" if small else "CREATE",
            other_ms if small else stable_ms,
            client=client,
            file=1,
            stability="unstable" if small else "stable",
        )
        times = {
            key: int(str(row[key])) + later_ms * MILLISECOND for key in row if key.endswith("_time")
        }
        rows.append({**row, **times, "call": base + place})
    return rows


def side(*calls: list[Row]) -> Side:
    ends = meta(end_ns=START_NS + 4000 * MILLISECOND)
    rows = [row for client in calls for row in client]
    tcp = [{"transport": "TCP"}]
    return side_of(ends, calls=rows, files=[file(1, "a")], connections=tcp)


@functools.cache
def alike() -> Side:
    """Two clients that do the same."""
    return side(calls_of(DISK, 9), calls_of(OTHER, 9))


def with_version(minor: int, rows: list[Row]) -> list[Row]:
    return [{**row, "version": 4, "minor": minor, "protocol": f"4.{minor}"} for row in rows]


def compared(before: Side, after: Side) -> tuple[Comparison, dict[str | None, ClientChange]]:
    result = of_sides(before, after)
    return result, {row.client: row for row in result.clients}


def causes(row: ClientChange) -> dict[str, float]:
    return {part.cause: part.change_s for part in row.parts}


def test_one_client_that_became_faster_beside_one_that_did_not() -> None:
    """Taken as one, both runs are as long."""
    before = alike()
    after = side(calls_of(DISK, 1), calls_of(OTHER, 9))
    result, clients = compared(before, after)
    assert result.change_s == pytest.approx(0, abs=1e-9)
    assert result.same_clients
    assert not result.as_one
    assert (result.steps, result.foretold) == ((), ())
    assert set(clients) == {DISK, OTHER}
    disk, other = clients[DISK], clients[OTHER]
    assert disk.before is not None
    assert disk.after is not None
    assert disk.before.run_s == pytest.approx(0.999)
    assert disk.before.persist_s == pytest.approx(0.008)
    assert disk.after.persist_s == pytest.approx(0)
    # The next call begins when it did: what storage no longer takes is the client's own.
    assert causes(disk)["persistence"] == pytest.approx(-60 * 0.008)
    assert causes(disk)["client"] == pytest.approx(59 * 0.008)
    assert disk.parts[0].cause == "persistence"
    assert disk.parts[0].clear
    assert not any(part.clear for part in other.parts)
    assert [each.given for each in disk.foretold] == ["set_up", "calls"]
    assert disk.foretold[0].forecast_s == pytest.approx(0.999 - 60 * 0.008)
    assert other.foretold[0].error == pytest.approx(0)


def test_what_calls_of_a_client_wait_for_one_another_is_given_with_how_many_they_are() -> None:
    """Four of its CREATEs are under way at a time, each of which takes 40 ms instead of 9."""
    _, clients = compared(alike(), side(calls_of(DISK, 40), calls_of(OTHER, 9)))
    disk = {each.given: each for each in clients[DISK].foretold}
    assert list(disk) == ["set_up", "calls", "overlap"]
    assert disk["calls"].forecast_s == pytest.approx(0.999 + 60 * 0.031)
    assert disk["overlap"].forecast_s == pytest.approx(disk["overlap"].measured_s, rel=0.1)
    assert [each.given for each in clients[OTHER].foretold] == ["set_up", "calls"]


@pytest.mark.parametrize("swapped", [False, True])
def test_parts_add_up_to_each_client_and_to_all(swapped: bool) -> None:
    sides = (
        side(calls_of(DISK, 9), calls_of(OTHER, 5)),
        side(calls_of(DISK, 2, 70, other_ms=3), calls_of(OTHER, 6, later_ms=300)),
    )
    result, clients = compared(*(sides[::-1] if swapped else sides))
    for row in (*clients.values(), result.together):
        assert row is not None
        assert row.change_s is not None
        assert sum(causes(row).values()) == pytest.approx(row.change_s, abs=1e-9)
        for run, total in (
            (row.before, sum(part.before_s for part in row.parts)),
            (row.after, sum(part.after_s for part in row.parts)),
        ):
            assert run is not None
            assert total == pytest.approx(run.run_s, abs=1e-9)
    assert result.together is not None
    assert result.together.client is None
    assert result.together.change_s == pytest.approx(
        sum(row.change_s or 0 for row in clients.values())
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_what_one_side_cannot_tell_from_the_server_is_one_part_of_both(swapped: bool) -> None:
    """READs of 9 ms and nothing else, and small calls of 5 ms: no round trip became shorter."""

    def with_client(number: int, op: str, srt_ms: float, stability: str) -> Side:
        rows = [
            {**row, "op": op, "srt": int(srt_ms * MILLISECOND), "stability": stability}
            | dict.fromkeys(
                ("reply_first_time", "reply_time"),
                int(str(row["call_time"])) + int(srt_ms * MILLISECOND),
            )
            for row in calls_of(DISK, 9)
        ]
        rows = [{**row, "connection": number} for row in rows]
        late = {"connection": number, "transport": "TCP", "client": DISK, "server": "10.0.0.1"}
        late |= {"server_turns": 100, "server_turn_min": 9 * MILLISECOND}
        late |= {"server_turn_rtt": 9 * MILLISECOND, "client_acks": 100}
        late |= {"client_ack_min": 1_000, "client_ack_rtt": 20_000}
        every = [*rows, *calls_of(OTHER, 9)]
        ends = meta(end_ns=START_NS + 3000 * MILLISECOND)
        return side_of(ends, calls=every, files=[file(1, "a")], connections=[late])

    sides = with_client(7, "READ", 9, "read"), with_client(7, "GETATTR", 5, "unstable")
    _, clients = compared(*(sides[::-1] if swapped else sides))
    row = clients[DISK]
    found = {part.cause: part for part in row.parts}
    assert "round_trips" not in found
    assert abs(found["network_or_server"].change_s) == pytest.approx(100 * 0.004)
    assert sum(causes(row).values()) == pytest.approx(row.change_s, abs=1e-9)
    assert "round_trips" in {part.cause for part in clients[OTHER].parts}


def test_clients_that_ran_at_other_times_changed_in_nothing() -> None:
    before = alike()
    after = side(calls_of(DISK, 9), calls_of(OTHER, 9, later_ms=1500))
    result, clients = compared(before, after)
    assert result.change_s == pytest.approx(1.5)
    assert all(row.change_s == 0 for row in clients.values())
    assert not any(part.clear for row in clients.values() for part in row.parts)


def settings(result: Comparison) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(each.subject, each.before, each.after, each.clients) for each in result.causes]


def test_what_changed_for_one_client_is_told_of_it() -> None:
    unchanged = with_version(1, calls_of(OTHER, 9))
    before = side(with_version(1, calls_of(DISK, 9)), unchanged)
    after = side(with_version(2, calls_of(DISK, 9)), unchanged)
    result, _ = compared(before, after)
    assert settings(result) == [("version", "4.1", "4.2", (DISK,))]
    assert result.left_open == ()
    assert sure(result.causes[0], result) == f"certain, of {DISK}"


def test_what_changed_for_each_client_is_told_once() -> None:
    def both(minor: int) -> Side:
        return side(*(with_version(minor, calls_of(client, 9)) for client in (DISK, OTHER)))

    result, _ = compared(both(1), both(2))
    assert settings(result) == [("version", "4.1", "4.2", (DISK, OTHER))]
    assert sure(result.causes[0], result) == "certain, of each client"
    assert result.causes[0].evidence == f"{DISK}: 100 of 100 calls before, 100 of 100 after"


def test_commits_behind_pieces_are_told_of_the_client_that_sends_them() -> None:
    """The other one has some on both sides."""
    mine, other = replace(PIECES, client=DISK), replace(PIECES, client=OTHER)
    gathered = replace(mine, written_bytes=mine.commits << 20, places=Places())
    written = {client: MovedFiles(written=frozenset((1,))) for client in (DISK, OTHER)}
    through = replace(alike(), moved_by=written, commits=(mine, other), behind_pieces=(mine, other))
    default = replace(alike(), moved_by=written, commits=(gathered, other), behind_pieces=(other,))
    assert settings(of_sides(through, default)) == [("sync", "sync", "no sync", (DISK,))]


def test_clients_that_work_more_or_less_than_before_changed_no_setting() -> None:
    """All calls together are of 4.1 before, and of 4.2 after."""
    before = side(with_version(1, calls_of(DISK, 9, 120)), with_version(2, calls_of(OTHER, 9, 10)))
    after = side(with_version(1, calls_of(DISK, 9, 10)), with_version(2, calls_of(OTHER, 9, 120)))
    result, _ = compared(before, after)
    assert not result.as_one
    assert settings(result) == []
    assert result.left_open == ()


def test_storage_is_told_of_the_clients_whose_calls_moved() -> None:
    before, after = (side(calls_of(DISK, ms, 150), calls_of(OTHER, ms, 150)) for ms in (9, 1))
    (cause,) = compared(before, after)[0].causes
    assert (cause.subject, cause.clients, cause.confidence) == ("storage", (DISK, OTHER), "likely")
    assert cause.evidence.startswith(f"{DISK}: CREATE faster: CREATE took 9.00 ms before and 1.00")
    one = side(calls_of(DISK, 1, 150), calls_of(OTHER, 9, 150))
    (cause,) = compared(before, one)[0].causes
    assert (cause.subject, cause.clients) == ("storage", (DISK,))


def test_where_no_client_has_enough_calls_storage_is_told_of_all_together() -> None:
    before, after = (side(calls_of(DISK, ms, 60), calls_of(OTHER, ms, 60)) for ms in (9, 1))
    (cause,) = compared(before, after)[0].causes
    assert (cause.subject, cause.clients) == ("storage", ())
    result = of_sides(before, side(calls_of("10.0.0.5", 1), calls_of("10.0.0.6", 1)))
    (cause,) = result.causes
    assert sure(cause, result).endswith(", of other clients on each side")


def test_clients_whose_share_of_the_work_moved_are_no_other_storage() -> None:
    """One has a slow disk, the other a fast one: taken together, calls became much faster."""
    before = side(calls_of(DISK, 9, 340), calls_of(OTHER, 1, 80))
    after = side(calls_of(DISK, 9, 80), calls_of(OTHER, 1, 340))
    result, _ = compared(before, after)
    assert not result.as_one
    moved = {row.op: row.verdict for row in result.operations}
    assert moved["CREATE"] == "faster"
    assert settings(result) == []


def with_round_trip(ms: float, clients: tuple[str, ...]) -> list[Row]:
    """A connection for each client, whose ACKs take so long."""
    return [
        {
            "connection": number,
            "transport": "TCP",
            "client": client,
            "server": "10.0.0.1",
            "server_port": 2049,
            "client_acks": 9,
            "client_ack_min": 1000,
            "client_ack_rtt": 1000,
            "server_acks": 9,
            "server_ack_min": int(ms * MILLISECOND),
            "server_ack_rtt": int(ms * MILLISECOND),
        }
        for number, client in enumerate(clients, 1)
    ]


def test_a_longer_way_is_told_of_the_client_that_has_it() -> None:
    """The other client makes more calls, and its way is that of the capture."""

    def run(far_ms: float) -> Side:
        near, far = calls_of(OTHER, 9, 150), calls_of(DISK, 9, 120)
        rows = [{**row, "connection": 1} for row in near] + [
            {**row, "connection": 2} for row in far
        ]
        ways = with_round_trip(0.2, (OTHER,)) + [
            {**row, "connection": 2} for row in with_round_trip(far_ms, (DISK,))
        ]
        ends = meta(end_ns=START_NS + 4000 * MILLISECOND)
        return side_of(ends, calls=rows, files=[file(1, "a")], connections=ways)

    result, _ = compared(run(0.2), run(5))
    assert settings(result) == [("network_rtt", "200 µs", "5.00 ms", (DISK,))]


def moving(size: int, own: int, other: tuple[int, ...], op: str, *, apart: int = 0) -> Side:
    """The stable calls are WRITEs, or READs, that follow one another in each file.

    Args:
        size: What those of one client ask for; the other asks for 64 KiB each.
        own: The file of its calls.
        other: Those of the other client, by turns.
        op: WRITE or READ.
        apart: Bytes that lie between them.
    """
    rows = [*calls_of(DISK, 9), *calls_of(OTHER, 9)]
    rows = [
        {
            **row,
            "op": op,
            "file": own if row["client"] == DISK else other[int(str(row["call"])) % len(other)],
        }
        if row["op"] == "CREATE"
        else row
        for row in rows
    ]
    place = dict.fromkeys(range(1, 9), 0)
    moves = []
    for row in rows:
        if row["op"] == op:
            asked, of = size if row["client"] == DISK else 65536, int(str(row["file"]))
            number = int(str(row["call"]))
            moves.append(
                operation(
                    number,
                    op,
                    file=of,
                    requested=asked,
                    offset=place[of],
                    committed="FILE_SYNC" if op == "WRITE" else None,
                )
            )
            place[of] += asked + apart
    tcp = [{"transport": "TCP"}]
    ends = meta(end_ns=START_NS + 4000 * MILLISECOND)
    files = [file(number, f"f{number}") for number in range(1, 9)]
    return side_of(ends, calls=rows, operations=moves, files=files, connections=tcp)


@pytest.mark.parametrize(
    ("mine", "others", "piece", "apart", "told"),
    [
        # Files of other clients are no evidence, for it or against it.
        ((1, 1), ((2, 3, 4), (5, 6, 7)), 40960, 0, True),
        ((1, 2), ((3, 4, 5), (3, 4, 5)), 40960, 0, False),
        # What a program moved is no size of a mount: that is a whole number of KiB.
        ((1, 1), ((2, 3, 4), (5, 6, 7)), 41472, 0, False),
        # Nor are blocks here and there.
        ((1, 1), ((2, 3, 4), (5, 6, 7)), 40960, 8192, False),
    ],
)
@pytest.mark.parametrize(("option", "op"), [("wsize", "WRITE"), ("rsize", "READ")])
def test_files_that_one_client_moved_in_pieces_tell_its_sizes(
    mine: tuple[int, int],
    others: tuple[tuple[int, ...], tuple[int, ...]],
    piece: int,
    apart: int,
    told: bool,
    option: str,
    op: str,
) -> None:
    result, _ = compared(
        moving(piece, mine[0], others[0], op, apart=apart),
        moving(65536, mine[1], others[1], op),
    )
    found = [each for each in settings(result) if each[0] == option]
    larger = "larger (64.0 KiB were moved at once)"
    assert found == ([(option, f"{option}={piece}", larger, (DISK,))] if told else [])
    for each in result.causes:
        if each.subject == option:
            assert each.confidence == "possible"
            assert each.evidence.startswith(
                f"1 file moved by {op}s of 40.0 KiB, one behind the other, and none larger; the "
                f"other capture has {op}s of 64.0 KiB for the same; "
            )


@pytest.mark.parametrize("op", ["WRITE", "READ"])
def test_a_larger_file_beside_small_ones_is_no_size_of_transfers(op: str) -> None:
    """Three files of 4 KiB are moved at once each, and so are they where another has 64 KiB."""

    def run(*sizes: int) -> Side:
        rows = [
            {**call(number, op, 1, client=DISK, file=number), "stability": "stable"}
            for number, _ in enumerate(sizes, 1)
        ]
        moves = [
            operation(number, op, file=number, requested=size, offset=0)
            for number, size in enumerate(sizes, 1)
        ]
        files = [file(number, f"f{number}") for number, _ in enumerate(sizes, 1)]
        return side_of(calls=rows, operations=moves, files=files)

    small, more = run(4096, 4096, 4096), run(4096, 4096, 4096, 65536)
    for pair in ((small, more), (more, small)):
        found = [each.subject for each in of_sides(*pair).causes]
        assert not {"rsize", "wsize"} & {*found}


def kinds(times_ms: dict[str, float], of: int = 12) -> list[Row]:
    """40 small calls, and then so many stable ones of each of these kinds, one after the other."""
    small = calls_of(DISK, 1, 40)
    rows = [
        {**call(100 + 4 * (place * len(times_ms) + kind), op, took, client=DISK, file=1),
         "stability": "stable"}
        for place in range(of)
        for kind, (op, took) in enumerate(times_ms.items())
    ]  # fmt: skip
    return [*small, *rows]


SLOW = {"CREATE": 20.0, "SETATTR": 18.0, "REMOVE": 30.0}
FAST = {"CREATE": 1.0, "SETATTR": 1.5, "REMOVE": 2.0}


def test_storage_is_told_of_few_calls_of_each_kind_where_all_of_them_moved() -> None:
    """Of 12 each, no kind is enough for a test of its own."""
    for before, after, became in ((SLOW, FAST, "faster"), (FAST, SLOW, "slower")):
        (cause,) = compared(side(kinds(before)), side(kinds(after)))[0].causes
        assert (cause.subject, cause.confidence) == ("storage", "possible")
        assert cause.after.startswith(became)
        assert "REMOVE" in cause.evidence
        assert "CREATE" in cause.evidence


@pytest.mark.parametrize(
    ("after", "of"),
    [
        pytest.param(FAST, 2, id="too few"),
        pytest.param({**FAST, "SETATTR": 18.0}, 12, id="one kind did not move"),
        pytest.param({**FAST, "SETATTR": 9.0, "REMOVE": 20.0}, 12, id="two moved by less"),
    ],
)
def test_of_a_few_calls_that_moved_otherwise_storage_is_not_told(
    after: dict[str, float], of: int
) -> None:
    before = {op: SLOW[op] for op in after}
    assert settings(compared(side(kinds(before, of)), side(kinds(after, of)))[0]) == []


@functools.cache
def reading(took_ms: float, largest: int = 8192, of: int = 120) -> Side:
    """40 small calls, and then so many READs that take so long."""
    rows = calls_of(DISK, 1, 40)
    rows += [
        {**call(100 + place, "READ", took_ms, client=DISK, file=1), "stability": "read"}
        for place in range(of)
    ]
    reads = [operation(100 + place, "READ", requested=largest) for place in range(of)]
    tcp = [{"transport": "TCP"}]
    return side_of(
        meta(end_ns=START_NS + 4000 * MILLISECOND),
        calls=rows,
        operations=reads,
        files=[file(1, "a")],
        connections=tcp,
    )


def test_what_the_server_had_in_memory_on_one_side_alone_is_told() -> None:
    """The second of two runs finds warm what the first had to wait for."""
    cold, warm = reading(25), reading(1.5)
    for before, after, became in ((cold, warm, "fast: from its"), (warm, cold, "slow: from its")):
        (cause,) = compared(before, after)[0].causes
        assert (cause.subject, cause.confidence) == ("server_reads", "likely")
        assert cause.after.startswith(became)
        assert "READ took" in cause.evidence
    assert compared(reading(25, of=90), warm)[0].causes[0].confidence == "possible"


def test_reads_that_moved_by_less_than_a_millisecond_are_possible_at_most() -> None:
    """The finding that a server is slow is lent to the slower side, which has none."""
    slow = replace(reading(1.1), findings=reading(25).findings)
    (cause,) = compared(slow, reading(0.2))[0].causes
    assert (cause.subject, cause.confidence) == ("server_reads", "possible")
    slow = replace(reading(1.3), findings=reading(25).findings)
    (cause,) = compared(slow, reading(0.2))[0].causes
    assert (cause.subject, cause.confidence) == ("server_reads", "likely")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Neither is slow.
        pytest.param((4, 8192), (1.5, 8192), id="from memory, both"),
        pytest.param((25, 65536), (1.5, 8192), id="more bytes take longer"),
        pytest.param((25, 8192), (20, 8192), id="hardly faster"),
    ],
)
def test_reads_that_another_reason_may_have_moved_tell_nothing_of_the_server(
    before: tuple[float, int], after: tuple[float, int]
) -> None:
    assert compared(reading(*before), reading(*after))[0].causes == ()


@pytest.mark.parametrize(
    ("rule", "told"),
    [("tcp_loss", "TCP sends segments again"), ("rdma_loss", "RDMA sends packets again")],
)
def test_loss_that_came_or_went_is_told(rule: str, told: str) -> None:
    without = reading(1.5)
    lost = replace(
        samples.findings().findings[0],
        id=rule,
        evidence="20 of 2 110 segments with data (0.9 %) were sent again. No call stood still.",
    )
    lossy = replace(without, findings=(lost,), lost_segments=20)
    (cause,) = compared(without, lossy)[0].causes
    assert (cause.subject, cause.after) == ("loss", told)
    assert cause.evidence == "after, 20 of 2 110 segments with data (0.9 %) were sent again"
    (back,) = compared(lossy, without)[0].causes
    assert (back.before, back.after) == (told, "none that cost time")
    # Both lose some, or it cost no time.
    assert compared(lossy, lossy)[0].causes == ()
    free = replace(without, findings=(replace(lost, cost_s=None),))
    assert compared(without, free)[0].causes == ()


def windowed(window_bytes: int | None) -> Side:
    """With a full window of the client, and the finding on it."""
    run = replace(reading(1.5), windows_told=True, moved_bytes=1 << 20)
    run = replace(run, measured=replace(run.measured, moving_s=4.0))
    if window_bytes is None:
        return run
    full = replace(samples.full_window(), window_bytes=window_bytes, busy_connections=1)
    found = replace(samples.findings().findings[0], id="full_window")
    measured = replace(run.measured, full_windows=(full,))
    return replace(run, measured=measured, findings=(found,))


def test_a_window_that_was_full_on_one_side_or_is_another_is_told() -> None:
    (cause,) = compared(windowed(5_120), windowed(None))[0].causes
    assert (cause.subject, cause.confidence) == ("window", "likely")
    assert (cause.before, cause.after) == ("the client's, full at 5.00 KiB", "none that was full")
    assert cause.evidence == (
        "the server stood for 1.50 s before and no time after since that window was full"
    )
    (cause,) = compared(windowed(5_120), windowed(10_240))[0].causes
    assert cause.after == "the client's, full at 10.0 KiB"
    (cause,) = compared(windowed(None), windowed(5_120))[0].causes
    assert cause.before == "none that was full"


def test_windows_that_are_alike_or_not_known_tell_nothing() -> None:
    assert compared(windowed(5_120), windowed(10_239))[0].causes == ()
    unknown = replace(windowed(None), windows_told=False)
    assert compared(windowed(5_120), unknown)[0].causes == ()
    full = windowed(5_120)
    less = replace(windowed(None), moved_bytes=full.moved_bytes // 2 - 1)
    assert compared(full, less)[0].causes == ()
    # 250 KiB a second, which the other side moved as well: another change left it as the limit.
    limit = round((1 << 18) * samples.full_window().turn_s)
    assert compared(windowed(limit - 1), windowed(None))[0].causes != ()
    assert compared(windowed(limit + 1), windowed(None))[0].causes == ()
    # Over four connections, or a path a quarter as long, as much goes through four times as fast.
    four = replace(windowed(None), habits=replace(full.habits, connections=4))
    near = replace(windowed(None), way=replace(full.way, rtt_s=0.005))
    for other in (four, near):
        assert compared(windowed(limit // 4 - 1), other)[0].causes != ()
        found = compared(windowed(limit // 4 + 1), other)[0].causes
        assert "window" not in [cause.subject for cause in found]
    # It took no time that is worth a word.
    assert compared(replace(full, findings=()), windowed(None))[0].causes == ()


@pytest.mark.parametrize(
    ("segments", "title", "told"),
    [
        (1, "TCP sent again what had arrived", False),
        (4, "TCP had to send segments again", False),
        (5, "TCP had to send segments again", True),
        (4, "The path let nothing through for a while", True),
    ],
)
def test_a_few_segments_tell_nothing_of_the_networks_loss(
    segments: int, title: str, told: bool
) -> None:
    """Though they took much of a short run: the next may lose none."""
    without = reading(1.5)
    lost = replace(samples.findings().findings[0], id="tcp_loss", title=title)
    lossy = replace(without, findings=(lost,), lost_segments=segments)
    causes = compared(without, lossy)[0].causes
    assert [cause.subject for cause in causes] == (["loss"] if told else [])


@pytest.mark.parametrize(
    ("segments", "only_null", "title", "told"),
    [
        # Of 400 segments each, 20 of 2 110 would have lost some in nearly every run.
        (400, False, "TCP had to send segments again", True),
        (300, False, "TCP had to send segments again", False),
        (4, False, "The path let nothing through for a while", True),
        (400, True, "TCP had to send segments again", False),
    ],
)
def test_no_loss_among_a_few_segments_tells_nothing(
    segments: int, only_null: bool, title: str, told: bool
) -> None:
    """As of a mount alone, beside a whole run."""
    run = replace(reading(1.5), segments=2110)
    lost = replace(samples.findings().findings[0], id="tcp_loss", title=title)
    lossy = replace(run, findings=(lost,), lost_segments=20)
    other = replace(run, segments=segments, only_null=only_null)
    for before, after in ((lossy, other), (other, lossy)):
        found = [cause.subject for cause in compared(before, after)[0].causes]
        assert found == (["loss"] if told else [])


def locked(waited_s: float, calls: int = 100) -> Side:
    """Two clients, one of which waited for locks of others; both are active for 10 s."""
    told = alike()
    found = replace(samples.findings().findings[0], id="lock_contention", cost_s=waited_s)
    clients = told.measured.clients
    assert clients is not None
    each = tuple(
        replace(
            clock, locked_s=waited_s if clock.client == DISK else 0.0, active_s=10.0, calls=calls
        )
        for clock in clients.each
    )
    measured = replace(told.measured, clients=replace(clients, each=each))
    return replace(told, findings=(found,), measured=measured)


def test_locks_that_both_sides_wait_for_are_told_where_one_waits_longer() -> None:
    (cause,) = compared(locked(6), locked(1))[0].causes
    assert (cause.subject, cause.before) == ("locks", "clients waited 6.00 s for those of others")
    assert (cause.after, cause.confidence) == ("1.00 s", "possible")
    assert "6.00 s of 20.0 s before and 1.00 s of 20.0 s after" in cause.evidence
    (back,) = compared(locked(1), locked(6))[0].causes
    assert back.after == "6.00 s"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((3, 100), (2, 100), id="not much longer"),
        pytest.param((0.9, 100), (0.1, 100), id="a small part of the run"),
        pytest.param((6, 600), (1, 100), id="for as many more calls"),
    ],
)
def test_locks_are_not_told_where_they_cost_about_as_much(
    before: tuple[float, int], after: tuple[float, int]
) -> None:
    one, other = locked(*before), locked(*after)
    assert compared(one, other)[0].causes == ()
    assert compared(other, one)[0].causes == ()


@pytest.mark.parametrize(
    ("rule", "title", "subject", "words"),
    [
        (
            "lock_contention",
            "Programs wait for a lock file",
            "locks",
            "clients or programs wait for those of others",
        ),
        ("slower_path", "The link to the server was full for a while", "path", "a link was full"),
        ("slower_path", "The link to the server is narrow", "path", "a link is narrow"),
        (
            "slower_path",
            "The path to the server was longer for a while",
            "path",
            "longer for a while than otherwise",
        ),
        (
            "slower_path",
            "The path to the server became longer, and stayed so",
            "path",
            "longer from some time on",
        ),
        (
            "grace_period",
            "Clients wait for the grace period of a",
            "grace",
            "calls wait for its end",
        ),
    ],
)
def test_what_a_finding_tells_of_one_side_alone_is_told(
    rule: str, title: str, subject: str, words: str
) -> None:
    without = reading(1.5)
    told = replace(
        samples.findings().findings[0],
        id=rule,
        title=title,
        severity="warning",
        evidence="Five waits took 6.03 s. The longest took 2 s.",
    )
    waiting = replace(without, findings=(told,))
    (cause,) = compared(waiting, without)[0].causes
    assert (cause.subject, cause.before) == (subject, words)
    assert cause.evidence == "before, five waits took 6.03 s"
    (back,) = compared(without, waiting)[0].causes
    assert (back.subject, back.after) == (subject, words)
    assert compared(waiting, waiting)[0].causes == ()
    # A note is not what made a run slow.
    noted = replace(without, findings=(replace(told, severity="note"),))
    assert compared(noted, without)[0].causes == ()


def test_a_server_that_no_longer_works_on_one_call_at_a_time_is_told() -> None:
    """Where small calls are fast beside stable ones that take long, and several are under way."""
    without = reading(1.5)
    told = replace(
        samples.findings().findings[0],
        id="slow_service",
        title="The server 10.0.0.1 works on one call at a time",
        evidence="Median 30 ms. They stand in one queue: none overtook.",
    )
    queued = replace(without, findings=(told,))
    usual = replace(without.measured, small_median_s=0.001, stable_median_s=0.04, stable_calls=100)
    beside = replace(without, measured=replace(usual, busy_s=usual.busy_s / 2))
    assert beside.measured.concurrency >= 1.2

    def causes_after(after: Side) -> list[str]:
        return [cause.subject for cause in compared(queued, after)[0].causes]

    assert "server_in_turn" in causes_after(beside)
    fast = replace(beside, measured=replace(beside.measured, stable_median_s=0.004))
    assert "server_in_turn" not in causes_after(fast)
    alone = replace(beside, measured=replace(usual, busy_s=usual.busy_s * 2))
    assert "server_in_turn" not in causes_after(alone)
    assert "server_in_turn" not in causes_after(queued)


def asking_acls(getacls: int, nulls: int, mounted: int) -> Side:
    rows = calls_of(DISK, 1, 40)
    asked = [("GETACL", 100227)] * getacls + [("NULL", 100227)] * nulls
    asked += [("FSINFO", 100003)] * mounted
    rows += [
        {**call(100 + place, op, 1, client=DISK, file=1), "program": program, "version": 3}
        for place, (op, program) in enumerate(asked)
    ]
    return side(rows)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ((0, 0, 2), True),
        # That client may ask.
        ((0, 1, 2), False),
        ((1, 1, 2), False),
        # Its mount was not captured.
        ((0, 0, 0), False),
    ],
)
def test_a_mount_that_does_not_ask_for_acls_is_told(
    other: tuple[int, int, int], told: bool
) -> None:
    asking, silent = asking_acls(30, 1, 2), asking_acls(*other)
    for before, after in ((asking, silent), (silent, asking)):
        found = [each for each in settings(compared(before, after)[0]) if each[0] == "acls"]
        assert bool(found) is told
        for _, was, became, _ in found:
            said = (was, became) if before is asking else (became, was)
            assert said == ("asked for", "not even asked whether there are any (noacl)")


def test_a_client_of_one_side_is_held_against_nothing() -> None:
    both, alone = alike(), side(calls_of(DISK, 9))
    for before, after, where in ((both, alone, "went"), (alone, both, "came")):
        result, clients = compared(before, after)
        assert clients[OTHER].where == where
        assert clients[OTHER].change_s is None
        assert (clients[OTHER].parts, clients[OTHER].foretold) == ((), ())
        assert clients[DISK].change_s == 0
        assert result.together is None
        assert (result.same_clients, result.as_one, result.factor) == (False, False, None)
        assert (result.steps, result.foretold) == ((), ())


def test_other_clients_are_not_taken_for_the_same() -> None:
    result, clients = compared(
        alike(),
        side(calls_of("10.0.0.5", 9), calls_of("10.0.0.6", 9)),
    )
    assert {row.where for row in clients.values()} == {"came", "went"}
    assert not result.same_clients
    assert result.factor is None


def test_the_only_client_is_the_same_under_another_address() -> None:
    result, clients = compared(side(calls_of(DISK, 9)), side(calls_of(OTHER, 1)))
    assert set(clients) == {DISK}
    assert clients[DISK].matched_by == "alone"
    assert result.same_clients
    assert result.as_one
    assert result.steps


def test_a_client_with_hardly_a_call_makes_no_several() -> None:
    """`showmount`, or a look at the root, beside the run that was captured."""
    with_it = side(calls_of(DISK, 9), calls_of(OTHER, 9, 2))
    result, clients = compared(with_it, side(calls_of(DISK, 1)))
    assert clients[OTHER].where == "went"
    assert result.same_clients
    assert result.as_one
    assert result.steps


def test_where_stable_calls_are_too_few_nothing_is_foretold() -> None:
    before, after = (side(calls_of(DISK, 9, 60), calls_of(OTHER, 9, 60)) for _ in range(2))
    _, clients = compared(before, after)
    assert all(row.foretold == () for row in clients.values())
    assert all(row.parts for row in clients.values())


def test_what_captures_lack_leaves_parts_open() -> None:
    before, after = alike(), side(calls_of(DISK, 9))
    lossy = replace(before, trust=replace(before.trust, dropped_packets=10**6))
    _, clients = compared(lossy, after)
    assert clients[DISK].parts == ()
    assert clients[DISK].change_s == 0


@pytest.mark.parametrize("version", ["v3", "v42"])
def test_a_client_took_as_long_by_its_own_capture_as_by_the_server_s(version: str) -> None:
    require_corpus()
    files = {capture.name: capture.files for capture in lab_captures()}
    sides = []
    for where in ("server", "client1"):
        with pcapnfs.open(files[f"k61-two-clients-{version}-{where}"]) as trace:
            sides.append(gather(trace))
    # When files were opened, and what calls took, differs by the way from where one was captured to
    # the other.
    served, own = sides[0].of_each["10.0.0.11"], sides[1].habits
    assert replace(served, delegated={}, once_s=None) == replace(own, delegated={}, once_s=None)
    granted, same = (
        {purpose: (each.asked, each.granted) for purpose, each in habits.delegated.items()}
        for habits in (served, own)
    )
    assert granted == same
    result, clients = compared(*sides)
    (both,) = [row for row in clients.values() if row.where == "both"]
    assert both.before is not None
    assert both.before.run_s == pytest.approx(both.after.run_s if both.after else 0, rel=1e-3)
    assert not any(part.clear for part in both.parts)
    assert not result.same_clients
