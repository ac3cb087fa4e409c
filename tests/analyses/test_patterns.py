"""Files folded into classes: how a call is written, what makes files alike, and the totals."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.by_file.patterns import LONGEST, patterns
from pcapnfs.errors import UsageError
from pcapnfs.trace import Trace
from tests.unit.rows import Row, call, file, operation, trace_of


def a_file(number: int, writes: int) -> list[Row]:
    """CREATE, some WRITEs, COMMIT, GETATTR; calls are numbered by file and place."""
    ops = ["CREATE", *["WRITE"] * writes, "COMMIT", "GETATTR"]
    return [
        call(
            number * 100 + place,
            op,
            2,
            file=number,
            stability="unstable" if op in ("WRITE", "GETATTR") else "stable",
        )
        for place, op in enumerate(ops)
    ]


def levels(calls: list[Row], level: str = "UNSTABLE") -> list[Row]:
    return [
        operation(int(str(row["call"])), "WRITE", file=row["file"], committed=level)
        for row in calls
        if row["op"] == "WRITE"
    ]


def folded(*calls: Row) -> list[str]:
    """The patterns of a trace in which every file is regular."""
    numbers = {row["file"] for row in calls if row.get("file") is not None}
    with trace_of(
        calls=calls,
        files=[file(int(str(number)), f"f{number}") for number in numbers],
    ) as trace:
        return [each.pattern for each in patterns(trace, top=0).classes]


def trace_with_two_kinds() -> Trace:
    one, two, three = a_file(1, 2), a_file(2, 5), a_file(3, 1)
    return trace_of(
        calls=[
            *one,
            *two,
            *three,
            call(900, "GETATTR", 1, file=4),
            call(901, "NULL", 1),
            call(902, "CB_RECALL", 50, file=1, callback=True),
        ],
        operations=[*levels(one), *levels(two), *levels(three, "FILE_SYNC")],
        files=[file(1, "a"), file(2, "b"), file(3, "c"), file(4, "d", "directory")],
    )


def test_runs_of_any_length_are_one_pattern_and_levels_are_not() -> None:
    with trace_with_two_kinds() as trace:
        result = patterns(trace)
    first, second, third = result.classes
    assert first.pattern == "CREATE WRITE[UNSTABLE] COMMIT GETATTR"
    assert [(run.step, run.least, run.most) for run in first.runs] == [
        ("CREATE", 1, 1),
        ("WRITE[UNSTABLE]", 2, 5),
        ("COMMIT", 1, 1),
        ("GETATTR", 1, 1),
    ]
    assert (first.files, first.calls, first.stable_calls) == (2, 13, 4)
    assert (first.calls_per_file, first.stable_per_file) == (6.5, 2.0)
    assert (first.time_s, first.stable_s) == pytest.approx((0.026, 0.008))
    assert first.time_per_file_s == pytest.approx(0.013)
    assert first.lifetime_s == pytest.approx((0.042 + 0.072) / 2)
    assert (first.example.path, first.example.first_frame, first.example.last_frame) == (
        "a",
        199,
        208,
    )
    assert first.slowest.path == "b"
    assert first.slowest.time_s == pytest.approx(0.016)
    assert second.pattern == "CREATE WRITE[FILE_SYNC] COMMIT GETATTR"
    assert (third.kind, third.pattern, third.files_share) == ("directory", "GETATTR", 0.25)
    assert sum(each.time_share or 0 for each in result.classes) == pytest.approx(35 / 36)


def test_of_files_whose_calls_do_not_tell_it_is_not_known_how_many_were_stable() -> None:
    calls = [
        call(1, "READ", 1, file=1),
        call(2, "OPEN", None, file=2, stability="unknown"),
        call(3, "OPEN", None, file=3, stability="unknown"),
        call(4, "SETATTR", 1, file=3, stability="stable"),
    ]
    with trace_of(calls=calls, files=[file(number, f"f{number}") for number in (1, 2, 3)]) as trace:
        result = patterns(trace)
    assert {each.pattern: (each.stable_calls, each.stable_per_file) for each in result.classes} == {
        "READ": (0, 0.0),
        "OPEN?": (None, None),
        "OPEN? SETATTR": (1, 1.0),
    }
    assert result.shown.stable_calls == result.total.stable_calls == 1


def test_nor_where_most_calls_are_sealed() -> None:
    """Those of the file may be among them."""
    sealed = {"stability": "unknown", "undecoded": "encrypted"}
    calls = [call(number, "COMPOUND", 1, **sealed) for number in range(2, 9)]
    with trace_of(calls=[call(1, "CLOSE", 1, file=1), *calls], files=[file(1, "a")]) as trace:
        (found,) = patterns(trace).classes
    assert (found.stable_calls, found.stable_per_file) == (0, None)


def test_totals_hold_every_call_of_a_client_once() -> None:
    with trace_with_two_kinds() as trace:
        result = patterns(trace, top=1)
    assert (len(result.classes), result.class_count) == (1, 3)
    assert (result.shown.files, result.shown.calls) == (2, 13)
    assert (result.others.files, result.others.calls, result.others.stable_calls) == (2, 5, 2)
    assert (result.without_file.files, result.without_file.calls) == (0, 1)
    assert (result.total.files, result.total.calls) == (4, 19)
    assert result.total.time_s == pytest.approx(0.036)


def test_failures_and_missing_replies_are_marked() -> None:
    assert folded(
        call(1, "LOOKUP", 1, file=1, status=2),
        call(2, "LOOKUP", 1, file=1),
        call(3, "READ", 1, file=1, rpc_status="GARBAGE_ARGS", status=None),
        call(4, "READ", None, file=1),
    ) == ["LOOKUP! LOOKUP READ! READ?"]


def test_a_compound_is_written_by_its_main_operation_and_what_sets_it_apart() -> None:
    assert folded(
        call(1, "OPEN", 1, file=1, signature="SEQUENCE PUTFH OPEN(create) GETFH"),
        call(2, "OPEN", 1, file=1, signature="SEQUENCE PUTFH OPEN GETFH"),
        call(3, "READDIR", 1, file=1, signature="SEQUENCE PUTFH READDIR(plus)"),
        call(4, "READDIR", 1, file=1, signature="SEQUENCE PUTFH READDIR"),
        call(5, "READDIR", 1, file=1, signature="SEQUENCE PUTFH READDIR(plus?)"),
    ) == ["OPEN(create) OPEN READDIR(plus) READDIR READDIR(plus?)"]


def test_calls_are_taken_in_order_of_time_not_of_replies() -> None:
    late = call(1, "CREATE", 1, file=1, call=9)
    early = call(2, "WRITE", 1, file=1, call=1)
    assert folded(early, late) == ["CREATE WRITE"]


def test_endless_patterns_are_cut_and_then_alike() -> None:
    def walked(number: int, times: int) -> list[Row]:
        ops = ["GETATTR", "ACCESS"] * times
        return [call(number * 1000 + place, op, 1, file=number) for place, op in enumerate(ops)]

    exact, longer, longest = walked(1, LONGEST // 2), walked(2, 50), walked(3, 80)
    assert folded(*exact, *longer, *longest) == [
        " ".join(["GETATTR ACCESS"] * (LONGEST // 2)) + " …",
        " ".join(["GETATTR ACCESS"] * (LONGEST // 2)),
    ]


def test_a_file_with_two_handles_is_one() -> None:
    with trace_of(
        calls=[call(1, "CREATE", 1, file=1), call(2, "READ", 1, file=2)],
        files=[file(1, "old", identity=2), file(2, "new")],
    ) as trace:
        (only,) = patterns(trace).classes
    assert (only.pattern, only.files, only.example.path) == ("CREATE READ", 1, "new")


def test_an_empty_trace_has_no_patterns() -> None:
    with trace_of() as trace:
        result = patterns(trace)
        with pytest.raises(UsageError, match="negative"):
            patterns(trace, top=-1)
    assert (result.classes, result.class_count, result.total.calls) == ((), 0, 0)
