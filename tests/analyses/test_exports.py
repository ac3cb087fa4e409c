"""What calls take at each export of a server that shows several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import pcapnfs
from pcapnfs import opening
from pcapnfs.analyses.by_file.pergroup import pergroup
from pcapnfs.analyses.servers import exports as analysis
from pcapnfs.analyses.servers import stored_calls
from pcapnfs.analyses.servers.exports import READS, Exports, ExportTimes, exports
from pcapnfs.decoding import decode
from tests.analyses.test_slower_path import slow
from tests.analyses.test_tcp_stalls import CONNECTION, at
from tests.test_several_exports import A, B, captured
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, trace_of

FILES = [
    file(1, f"{A}/f", export=A, size=100),
    file(2, f"{B}/f", export=B, size=100),
    file(3, f"{B}/large", export=B, size=stored_calls.SMALL_FILE_BYTES + 1),
]
STABLE = {"stability": "stable"}


def small(first: int, number: int, took_ms: float, on: int, **columns: object) -> list[Row]:
    """So many LOOKUPs, one after the other."""
    return [
        call(each, "LOOKUP", took_ms, file=on, **columns) for each in range(first, first + number)
    ]


def stable(
    first: int, times_ms: Sequence[float], on: int, op: str = "CREATE", **columns: object
) -> list[Row]:
    """A stable call for each of these times, one after the other."""
    told = {**STABLE, **columns}
    return [
        call(first + place, op, took_ms, file=on, **told) for place, took_ms in enumerate(times_ms)
    ]


def found(calls: Sequence[Row], files: Sequence[Row] = FILES, **tables: Sequence[Row]) -> Exports:
    with trace_of(calls=calls, files=files, **tables) as trace:
        return exports(trace)


def by_name(calls: Sequence[Row], **tables: Sequence[Row]) -> dict[str, ExportTimes]:
    return {each.export: each for each in found(calls, **tables).exports}


def test_each_export_has_its_calls_and_their_medians() -> None:
    calls = [
        *small(1, 10, 1, on=1),
        *stable(11, [5] * 10, on=1),
        *small(21, 2, 2, on=2),
        *stable(23, [3, 4, 8], on=2),
        call(26, "GETATTR", 1),
    ]
    result = found(calls)
    assert result.export_count == 2
    a, b = result.exports
    assert (a.server, a.export, a.clients) == ("10.0.0.1", f"10.0.0.1:{A}", 1)
    assert (a.calls, a.stable_calls, a.small_calls) == (20, 10, 10)
    assert (a.time_s, a.clock_s) == pytest.approx((0.06, 0.06))
    assert (a.small_median_s, a.stable_median_s) == pytest.approx((0.001, 0.005))
    assert (b.calls, b.stable_calls, b.small_median_s, b.stable_median_s) == (5, 3, 0.002, 0.004)
    (kind,) = a.kinds
    assert (kind.op, kind.at_once, kind.at_server, kind.calls) == ("CREATE", 1, 1, 10)
    assert (kind.low_s, kind.median_s, kind.high_s, kind.mean_s) == pytest.approx((0.004,) * 4)
    assert (kind.time_s, kind.clock) == pytest.approx((0.04, 10.0))
    assert a.span_ns == (START_NS + 110 * MILLISECOND, START_NS + 200 * MILLISECOND)
    assert a.frames == (21, 23, 25, 27, 29)
    assert (b.kinds, b.span_ns, b.frames) == ((), None, ())


@pytest.mark.parametrize(
    "files",
    [
        [file(1, "f"), file(2, "g")],
        [file(1, "f", export=A), file(2, "g", export=A)],
        [file(1, "f", export=A), file(2, "g", export=B, server="10.0.0.9")],
    ],
)
def test_there_is_nothing_where_no_server_has_several(files: list[Row]) -> None:
    assert found(small(1, 3, 1, on=1) + small(4, 3, 1, on=2), files) == Exports()


def test_names_are_those_of_perfile_and_so_are_the_numbers() -> None:
    """Also of a name that was looked for in vain, and of a file with two handles."""
    files = [
        *FILES,
        file(4, f"{B}/missing", "absent", export=B, handle=None),
        file(5, f"{A}/f again", identity=1),
        file(6, "/x", export="/x", server="fd00::1"),
        file(7, "/y", export="/y", server="fd00::1"),
    ]
    calls = [
        *small(1, 3, 1, on=1),
        *small(4, 2, 2, on=5),
        *small(6, 2, 2, on=4, status=2),
        *stable(8, [7], on=6, server="fd00::1"),
    ]
    with trace_of(calls=calls, files=files) as trace:
        groups = pergroup(trace, "export", show_all=True).groups
        result = exports(trace)
    assert {(each.export, each.calls, each.stable_calls) for each in result.exports} == {
        (each.group, each.calls, each.stable_calls) for each in groups
    }
    assert [each.export for each in result.exports] == [
        f"10.0.0.1:{A}", "[fd00::1]:/x", f"10.0.0.1:{B}",
    ]  # fmt: skip


def test_what_a_client_is_far_away_by_is_not_the_storages() -> None:
    """Each has its own small calls at the export, or, with fewer than ten there, at the server."""
    far = {"client": "10.0.0.3"}
    calls = [
        *small(1, 10, 1, on=1),
        *stable(11, [5] * 10, on=1),
        *small(21, 10, 5, on=2, **far),
        *stable(31, [9] * 10, on=2, **far),
        *small(41, 9, 8, on=2),
        *small(50, 2, 3, on=1, **far),
        *stable(52, [6] * 10, on=1, op="MKDIR", **far),
    ]
    told = by_name(calls)
    kinds = {kind.op: kind.median_s for kind in told[f"10.0.0.1:{A}"].kinds}
    assert kinds["CREATE"] == pytest.approx(0.004)
    assert kinds["MKDIR"] == pytest.approx(0.001)
    (kind,) = told[f"10.0.0.1:{B}"].kinds
    assert kind.median_s == pytest.approx(0.004)


def test_without_small_calls_nothing_tells_what_storage_takes() -> None:
    told = by_name(small(1, 9, 1, on=1) + stable(10, [5] * 10, on=1))
    assert told[f"10.0.0.1:{A}"].kinds == ()
    assert told[f"10.0.0.1:{A}"].stable_median_s == 0.005


def at_once(first: int, number: int, took_ms: float, on: int, since_ms: int) -> list[Row]:
    """Stable calls that are sent together, a nanosecond apart."""
    rows: list[Row] = []
    for place, row in enumerate(stable(first, [took_ms] * number, on)):
        sent = START_NS + since_ms * MILLISECOND + place
        ended = sent + int(took_ms * MILLISECOND)
        rows.append({**row, "call_first_time": sent, "call_time": sent, "reply_time": ended})
    return rows


def test_calls_are_alike_by_how_many_are_under_way_at_the_export() -> None:
    """Forty at once: one came alone, two behind one or two, then 4, 8, 16, and 9 behind them."""
    calls = [*small(1, 10, 1, on=1), *stable(11, [5] * 10, on=1)]
    calls += at_once(100, 40, 41, 1, since_ms=5000)
    told = by_name(calls)[f"10.0.0.1:{A}"]
    assert {kind.at_once: kind.calls for kind in told.kinds} == {1: 11, 16: 16}
    assert {kind.at_once: kind.median_s for kind in told.kinds} == pytest.approx(
        {1: 0.004, 16: 0.04}
    )


def test_so_are_they_by_how_many_are_under_way_at_the_server() -> None:
    """Which of its exports share a disk, nothing tells."""
    calls = [*small(1, 10, 1, on=1), *at_once(100, 20, 2000, 2, since_ms=10)]
    calls += stable(11, [5] * 10, on=1)
    told = by_name(calls)[f"10.0.0.1:{A}"]
    assert [(kind.at_once, kind.at_server, kind.calls) for kind in told.kinds] == [(1, 16, 10)]


WRITES = {"op": "WRITE", "call_bytes": 8300}


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"op": "CREATE"}, ("CREATE", None)),
        ({"op": "SETATTR"}, ("SETATTR", None)),
        ({"op": "REMOVE"}, ("REMOVE", None)),
        (WRITES, ("WRITE", 16384)),
        ({**WRITES, "call_bytes": 512}, ("WRITE", 1024)),
        ({**WRITES, "call_bytes": stored_calls.SMALL_WRITE_BYTES + 1}, None),
        ({"op": "REMOVE", "on": 3}, None),
        ({"op": "COMMIT"}, None),
        ({"op": "COPY"}, None),
        ({"first_arrived": False}, None),
        ({"stability": "unknown"}, None),
    ],
)
def test_calls_that_take_as_long_as_data_is_large_tell_nothing(
    columns: dict[str, object], told: tuple[str, int | None] | None
) -> None:
    calls = [*small(1, 10, 1, on=1), *small(11, 10, 1, on=2)]
    calls += stable(21, [5] * 10, **{"on": 2, **columns})  # type: ignore[arg-type]
    (kinds,) = {each.kinds for name, each in by_name(calls).items() if name.endswith(B)}
    assert [(kind.op, kind.below_bytes) for kind in kinds] == ([] if told is None else [told])


def test_a_file_that_was_there_may_be_cut() -> None:
    """A size that is set says so, unless the file was made with it."""
    calls = [*small(1, 10, 1, on=1), *stable(11, [5] * 11, on=1, op="SETATTR")]
    calls += stable(22, [5] * 10, on=1, op="OPEN")
    cut = [{"call": 21, "op": "SETATTR", "set_size": 0}]
    cut += [{"call": number, "op": "OPEN", "set_size": 0, "created": True} for number in (22, 23)]
    told = by_name(calls, operations=cut)[f"10.0.0.1:{A}"]
    assert {kind.op: kind.calls for kind in told.kinds} == {"SETATTR": 10, "OPEN": 10}


def test_a_call_that_stood_still_is_told_elsewhere() -> None:
    calls = [*small(1, 10, 1, on=1), *stable(11, [5] * 30, on=1), *stable(1000, [2000], on=1)]
    told = by_name(calls)[f"10.0.0.1:{A}"]
    assert [kind.calls for kind in told.kinds] == [30]
    assert told.stable_calls == 31


@pytest.mark.parametrize("resent", [1, 0])
def test_so_is_one_that_stood_still_for_a_lost_segment(resent: int) -> None:
    usual = [at(number, number * 0.01, 1, file=1) for number in range(1, 11)]
    made = [at(10 + number, number * 0.01 + 1, 5, file=1) for number in range(1, 11)]
    calls = [*usual, *({**row, "op": "CREATE", **STABLE} for row in made)]
    calls.append({**at(21, 2, 216, file=1), "op": "CREATE", **STABLE})
    path = {**CONNECTION, "client_resent": resent, "server_resent": resent}
    told = by_name(calls, connections=[path])[f"10.0.0.1:{A}"]
    assert [kind.calls for kind in told.kinds] == [11 - resent]


def test_nor_does_one_tell_that_was_under_way_while_the_path_was_longer() -> None:
    calls = [*small(1, 10, 3, on=1), *stable(11, [7] * 10, on=1)]
    calls += stable(110, [300 + number for number in range(40)], on=1)
    longer = slow(200, soon=12)
    told = by_name(calls, connections=[longer])[f"10.0.0.1:{A}"]
    (kind,) = told.kinds
    assert kind.calls == 10
    assert kind.median_s == pytest.approx(0.004)


def test_of_many_exports_those_that_took_longest_are_told() -> None:
    many = [file(number, f"/home/{number}", export=f"/home/{number}") for number in range(1, 151)]
    calls = [call(number, "LOOKUP", number, file=number) for number in range(1, 151)]
    result = found(calls, many)
    assert (len(result.exports), result.export_count) == (analysis.KEPT, 150)
    assert [result.exports[place].export for place in (0, -1)] == [
        "10.0.0.1:/home/150", "10.0.0.1:/home/51",
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["capture", "merged", "views"])
def test_captures_and_traces_show_the_same(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also traces of which each has but one export."""
    if way == "merged":
        monkeypatch.setattr(opening, "IN_MEMORY_BYTES", 0)
    paths = [captured(tmp_path / "both.pcap", [A, B])]
    if way != "capture":
        paths = []
        for place, export in enumerate((A, B)):
            paths.append(str(tmp_path / f"{place}.nfstrace"))
            decode([captured(tmp_path / f"{place}.pcap", [export])], Path(paths[-1]))
    with pcapnfs.open(paths, columns=None if way == "views" else READS) as trace:
        told = exports(trace).exports
    assert [(each.export, each.calls, each.stable_calls) for each in told] == [
        (f"10.0.2.10:{A}", 5, 2), (f"10.0.2.10:{B}", 5, 2),
    ]  # fmt: skip
