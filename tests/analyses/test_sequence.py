"""Which file is meant, and its calls in order of time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pcapnfs.analyses.asking import lookup
from pcapnfs.analyses.by_file import sequence as sequences
from pcapnfs.analyses.by_file.call_operations import Operation, call_operations
from pcapnfs.analyses.by_file.sequence import sequence
from pcapnfs.errors import UsageError
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from tests.unit.rows import call, file, meta, operation, trace_of

HANDLE = bytes(range(1, 21))


@pytest.fixture
def trace() -> Iterator[Trace]:
    with trace_of(
        files=[
            file(1, ".", "directory", export="/srv"),
            file(2, "src/main.c", handle=HANDLE, fileid=7, size=100, export="/srv"),
            file(3, "src/main.h", handle=b"\x01\x02other handle", identity=2, export="/srv"),
            file(4, "src", "directory", export="/srv"),
            file(5, "src/main.o", "absent", handle=None, export="/srv"),
            file(6, "doc/main.c", export="/srv"),
            file(7, "doc", "directory", export="/srv"),
            file(8, "only\\listed", listed_only=True),
            file(9, "doc/a\x1b[2J\nb", export="/srv"),
        ],
        calls=[
            call(1, "LOOKUP", 1, file=2, directory=4, status=2, status_name="NFS3ERR_NOENT"),
            call(2, "CREATE", 5, file=2, directory=4, stability="stable", uid=1000),
            call(3, "WRITE", 15, file=3, stability="stable", transmissions=2),
            call(4, "WRITE", None, file=2, client="10.0.0.3"),
            call(5, "RENAME", 2, file=2, directory=4, stability="stable"),
            call(6, "GETATTR", 1, file=6),
            call(7, "CB_RECALL", 1, file=2, callback=True),
        ],
        operations=[
            operation(2, "CREATE", file=2, name="new.c", directory=4),
            operation(
                3,
                "WRITE",
                file=3,
                offset=4096,
                requested=200,
                count=100,
                stable_requested="UNSTABLE",
                committed="FILE_SYNC",
            ),
            operation(4, "PUTFH", file=2, position=0),
            operation(4, "WRITE", file=2, executed=False, status=None, position=1),
            operation(5, "RENAME", file=2, name="new.c", new_name="main.c"),
        ],
        names=[
            {"call": 2, "directory": 4, "name": "new.c", "file": 2},
            {"call": 5, "directory": 4, "name": "new.c", "file": None},
            {"call": 5, "directory": 4, "name": "main.c", "file": 2},
        ],
    ) as opened:
        yield opened


def test_the_calls_of_all_handles_are_in_order_with_gaps(trace: Trace) -> None:
    result = sequence(trace, file="src/main.c")
    assert (result.matches, result.others) == (1, ())
    (found,) = result.files
    assert [step.step for step in found.steps] == [
        "LOOKUP!",
        "CREATE",
        "WRITE[FILE_SYNC]",
        "WRITE?",
        "RENAME",
    ]
    assert [step.gap_s for step in found.steps] == [
        None,
        pytest.approx(0.009),
        pytest.approx(0.005),
        pytest.approx(-0.005),
        pytest.approx(0.005),
    ]
    assert [step.srt_s for step in found.steps] == [0.001, 0.005, 0.015, None, 0.002]
    assert (found.calls, found.stable_calls) == (5, 3)
    assert (found.time_s, found.stable_s) == pytest.approx((0.023, 0.022))
    assert found.lifetime_s == pytest.approx(0.042)
    assert len(found.handles) == 2
    lookup_failed, created, written, unanswered, _ = found.steps
    assert (lookup_failed.status, created.status) == ("NFS3ERR_NOENT", None)
    assert (created.uid, created.start_s, created.reply_frame) == (1000, 0.02, 4)
    assert (written.transmissions, unanswered.client) == (2, "10.0.0.3")
    assert (unanswered.reply_frame, unanswered.reply_first_frame) == (None, None)


def test_operations_of_a_call_say_what_was_asked_and_done(trace: Trace) -> None:
    _, created, written, unanswered, renamed = sequence(trace, file="src/main.c").files[0].steps
    (create,) = created.operations
    (write,) = written.operations
    assert create.name == "new.c"
    assert (write.offset_bytes, write.requested_bytes, write.done_bytes) == (4096, 200, 100)
    assert (write.requested_level, write.committed_level) == ("UNSTABLE", "FILE_SYNC")
    assert [(each.op, each.executed) for each in unanswered.operations] == [
        ("PUTFH", True),
        ("WRITE", False),
    ]
    assert renamed.operations[0].new_name == "main.c"


def test_names_are_told_with_their_time(trace: Trace) -> None:
    first, second = sequence(trace, file="src/main.c").files[0].names
    assert (first.path, first.from_frame, first.until_frame) == ("src/new.c", 4, 10)
    assert (first.from_s, first.until_s) == pytest.approx((0.025, 0.052))
    assert (second.path, second.from_frame, second.until_frame) == ("src/main.c", 10, None)


@pytest.mark.parametrize(
    "wanted",
    [
        "src/main.c",
        "/src/main.c",
        "./src/main.c",
        "/srv/src/main.c",
        "src/new.c",
        "main.h",
        HANDLE.hex(),
        "0x" + HANDLE.hex().upper(),
        HANDLE.hex()[:8],
        f"0x{zlib.crc32(HANDLE):08x}",
        f"[0x{zlib.crc32(HANDLE):08x}]",
    ],
)
def test_a_file_is_found_by_path_end_former_name_or_handle(trace: Trace, wanted: str) -> None:
    assert lookup.named(trace, wanted) == (2,)


def test_an_end_that_several_paths_have_gives_them_in_order_of_time(trace: Trace) -> None:
    result = sequence(trace, file="main.c", top=1)
    assert result.matches == 2
    assert [each.path for each in result.files] == ["src/main.c"]
    assert result.others == ("doc/main.c",)


def test_patterns_match_names_or_with_a_slash_paths(trace: Trace) -> None:
    assert lookup.matching(trace, "*.c") == (2, 6)
    assert lookup.matching(trace, "main.[ch]") == (2, 6)
    assert lookup.matching(trace, "doc/m*") == (6,)
    assert lookup.matching(trace, "*.o") == (5,)
    assert lookup.matching(trace, "only*") == (8,)


@pytest.mark.parametrize(
    "shown", [r"doc/a\x1b[2J\x0ab", r"a\x1b[2J\x0ab", r"/srv/doc/a\x1b[2J\x0ab"]
)
def test_a_name_is_found_as_screens_show_it(trace: Trace, shown: str) -> None:
    assert lookup.named(trace, shown) == (9,)


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        (". (export root)", (1,)),
        ("src/main.c (removed)", (2,)),
        ("s…in.c", (2,)),
        ("…ain.c (removed)", (2, 6)),
        (r"do…[2J\x0ab", (9,)),
        ("only\\l…d", (8,)),
    ],
)
def test_a_path_is_found_with_what_screens_put_to_it(
    trace: Trace, shown: str, meant: tuple[int, ...]
) -> None:
    """Shortened in its middle where there is no room for it, marked as removed."""
    assert lookup.named(trace, shown) == meant


def test_a_pattern_may_hold_what_screens_show(trace: Trace) -> None:
    assert lookup.matching(trace, r"doc/a\x1b*") == (9,)
    with pytest.raises(UsageError, match=r"like 'a\\x07\*' in the capture"):
        lookup.matching(trace, "a\x07*")


def test_a_slash_may_follow_a_name(trace: Trace) -> None:
    """As shells complete that of a directory."""
    for name in ("src/", "/src//"):
        assert [found.path for found in sequence(trace, file=name).files] == ["src"]
    with pytest.raises(UsageError, match="no file '/' in the capture"):
        sequence(trace, file="/")


def test_an_unknown_file_is_answered_with_the_nearest(trace: Trace) -> None:
    with pytest.raises(UsageError, match=r"no file 'src/mian\.c' in the capture; the nearest: src"):
        sequence(trace, file="src/mian.c")
    with pytest.raises(UsageError, match="nor any like it"):
        sequence(trace, file="§")
    with pytest.raises(UsageError, match="no file is named like"):
        sequence(trace, name="*.zip")


@pytest.mark.parametrize(
    ("nameless", "told"),
    [
        (0, "perfile lists them"),
        (1, "them; 1 file is known by handle alone: the capture does not tell its name"),
        (2, "them; 2 files are known by handle alone: the capture does not tell their names"),
    ],
)
def test_that_names_were_told_before_the_capture_is_said(nameless: int, told: str) -> None:
    files = [file(1, "[0x00000001]", "directory"), file(2, "[0x00000001]/a", name="a")]
    files += [file(number, f"[0x0000000{number}]") for number in range(3, 3 + nameless)]
    with trace_of(files=files) as late, pytest.raises(UsageError, match=f"{told}$"):
        sequence(late, file="§")


def test_exactly_one_way_to_say_which_and_no_negative_numbers(trace: Trace) -> None:
    with pytest.raises(UsageError, match="say which file"):
        sequence(trace)
    with pytest.raises(UsageError, match="say which file"):
        sequence(trace, file="a", name="b")
    with pytest.raises(UsageError, match="negative"):
        sequence(trace, file="src/main.c", calls=-1)


def test_only_the_first_calls_are_given_and_all_are_counted(trace: Trace) -> None:
    (found,) = sequence(trace, file="src/main.c", calls=2).files
    assert (len(found.steps), found.calls) == (2, 5)
    (listed,) = sequence(trace, name="only*").files
    assert (listed.steps, listed.calls, listed.lifetime_s) == ((), 0, None)


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_many_files_are_asked_for_at_once_and_each_is_what_it_is_alone(
    trace: Trace, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    asked: list[str] = []
    rows = Trace.rows

    def counted(self: Trace, query: str, params: Mapping[str, object] | None = None) -> list[Any]:
        asked.append(query)
        return rows(self, query, params)

    sequence(trace, name="*")  # What is asked once of a trace.
    monkeypatch.setattr(Trace, "rows", counted)
    found = sequence(trace, name="*", top=0, calls=calls).files
    several, asked[:] = len(asked), []
    assert len(found) > 4
    sequence(trace, name="doc/main.c", top=0, calls=calls)
    assert several == len(asked)
    alone = [tuple(sequences.of_files(trace, [each.file], calls=calls)) for each in found]
    assert list(found) == [each for (each,) in alone]
    monkeypatch.setattr(sequences, "STEPS_TOGETHER", 1)
    assert sequence(trace, name="*", top=0, calls=calls).files == found
    monkeypatch.setattr(sequences, "TOGETHER", 2)
    assert sequence(trace, name="*", top=0, calls=calls).files == found


def test_of_many_files_all_calls_are_looked_at_no_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    rows = Trace.rows

    def counted(self: Trace, query: str, params: Mapping[str, object] | None = None) -> list[Any]:
        asked.append(query)
        return rows(self, query, params)

    def questions(files: int) -> int:
        numbers = range(1, files + 1)
        with trace_of(
            replace(meta(), calls=files),
            calls=[call(number, "GETATTR", 1, file=number) for number in numbers],
            operations=[operation(number, "GETATTR", file=number) for number in numbers],
            files=[file(number, f"f{number}") for number in numbers],
        ) as trace:
            list(sequences.of_files(trace, [1], calls=0))  # What is asked once of a trace.
            asked.clear()
            told = list(sequences.of_files(trace, list(numbers), calls=0))
            assert [(one.file, len(one.steps)) for one in told] == [(n, 1) for n in numbers]
            return len(asked)

    for name, value in (("TOGETHER", 1), ("STEPS_TOGETHER", 1), ("PASSES", 5)):
        monkeypatch.setattr(sequences, name, value)
    monkeypatch.setattr(Trace, "rows", counted)
    assert questions(40) == questions(5) == 5 * questions(1)


@pytest.mark.parametrize("files", [1, 10])
def test_of_compounds_of_many_operations_few_are_held_at_a_time(
    files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten calls three have two hundred operations each, so that two are as many as may be."""
    numbers = range(1, 11)
    many = {number: 200 if number in (3, 4, 8) else 1 for number in numbers}
    asked: list[int] = []

    def counted(trace: Trace, calls: list[int]) -> dict[int, tuple[Operation, ...]]:
        asked.append(sum(many[each] for each in calls))
        return call_operations(trace, calls)

    monkeypatch.setattr(sequences, "STEPS_TOGETHER", 400 // sequences.OPERATIONS)
    monkeypatch.setattr(sequences, "call_operations", counted)
    of = {number: 1 + number % files for number in numbers}
    with trace_of(
        replace(meta(), calls=len(numbers)),
        calls=[call(number, "GETATTR", 1, file=of[number]) for number in numbers],
        operations=[
            {**operation(number, "GETATTR", file=of[number]), "position": position}
            for number in numbers
            for position in range(many[number])
        ],
        files=[file(each, f"f{each}") for each in set(of.values())],
    ) as trace:
        found = sequence(trace, name="*", top=0, calls=0).files
    told = {step.call: len(step.operations) for each in found for step in each.steps}
    assert told == many
    assert sum(asked) == sum(many.values())
    assert max(asked) < 400


def test_a_copy_in_the_background_is_told_with_what_it_came_to() -> None:
    """Its reply says nothing of that, the callback at its end does."""
    calls = [
        call(1, "COPY", 5, file=1),
        call(2, "COPY", 5, file=1),
        call(50, "CB_OFFLOAD", 1, callback=True, file=1),
    ]
    done = [
        operation(1, "COPY", file=1, requested=900, count=300, committed="FILE_SYNC"),
        operation(2, "COPY", file=1, requested=900, count=0, committed="UNSTABLE"),
        operation(50, "CB_OFFLOAD", file=1, count=900, committed="DATA_SYNC"),
    ]
    with trace_of(calls=calls, operations=done, files=[file(1, "a")]) as trace:
        steps = sequence(trace, file="a").files[0].steps
    copies = [step.operations[0] for step in steps]
    assert [(copy.done_bytes, copy.committed_level) for copy in copies] == [
        (300, "FILE_SYNC"),
        (900, "DATA_SYNC"),
    ]
