"""Delegations called back."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.recalls import recalls
from pcapnfs.analyses.servers.refusals import refusals
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

HOLDER = {"client": "10.0.0.3", "version": 4}
OTHER = {"client": "10.0.0.2", "version": 4}
FILES = [file(1, "a"), file(2, "b")]


def recall(number: int, which: int) -> tuple[Row, Row]:
    """A CB_RECALL to the holder."""
    return (
        call(number, "CB_RECALL", 0.5, callback=True, file=which, **HOLDER),
        operation(number, "CB_RECALL", file=which),
    )


def returned(number: int, which: int) -> tuple[Row, Row]:
    """A DELEGRETURN of 1 ms."""
    return (
        call(number, "DELEGRETURN", 1, file=which, **HOLDER),
        operation(number, "DELEGRETURN", file=which),
    )


def test_who_waits_for_whom() -> None:
    delayed = {"status": 10008, "status_name": "NFS4ERR_DELAY", "file": 1}
    asked = [recall(2, 1), returned(4, 1), recall(9, 2)]
    held = {
        "call_first_time": START_NS,
        "call_time": START_NS,
        "reply_first_time": START_NS + 45 * MILLISECOND,
        "reply_time": START_NS + 45 * MILLISECOND,
    }
    calls = [
        call(1, "OPEN", 1, **OTHER, **delayed),
        # Held back by the server until the delegation is back: from 20 ms to 41 ms of it count.
        call(12, "SETATTR", 45, file=1, stability="stable", **held, **OTHER),
        call(8, "OPEN", 1, file=1, **OTHER),
        call(10, "GETATTR", 1, file=2, **HOLDER),
        *(each for each, _ in asked),
    ]
    with trace_of(calls=calls, operations=[each for _, each in asked], files=FILES) as trace:
        (pair,) = recalls(trace)
    assert (pair.holder, pair.server) == ("10.0.0.3", "10.0.0.1")
    assert (pair.recalled, pair.files, pair.returned) == (2, 2, 1)
    assert pair.total_s == pair.longest_s == pytest.approx(0.021)
    assert (pair.waiting, pair.calls) == (("10.0.0.2",), 2)
    # 0…45 ms SETATTR, 10…80 ms put off and the pause: half of 35 ms and 35 ms alone.
    assert pair.time_s == {
        "waiting": pytest.approx(0.0525),
        "stable": pytest.approx(0.021),
    }
    assert pair.paths == ("a", "b")
    assert pair.frames == (3, 17)


def test_without_recalls_there_is_nothing_to_tell() -> None:
    (asked, told) = returned(1, 1)
    with trace_of(calls=[asked], operations=[told], files=FILES) as trace:
        assert recalls(trace) == ()


def test_what_was_answered_meanwhile_did_not_wait() -> None:
    """Nor what came after a recall that is never answered, however long it took."""
    asked = [recall(2, 1), returned(9, 1), recall(11, 2)]
    calls = [
        call(4, "READ", 30, file=1, **OTHER),
        call(20, "READ", 50, file=2, **OTHER),
        *(each for each, _ in asked),
    ]
    with trace_of(calls=calls, operations=[each for _, each in asked], files=FILES) as trace:
        (pair,) = recalls(trace)
    assert (pair.waiting, pair.calls, pair.time_s) == ((), 0, {})


def test_the_call_that_a_recall_is_for_waits_also_without_a_return() -> None:
    first, told = recall(2, 1)
    calls = [call(1, "OPEN", 500, file=1, **OTHER), first]
    with trace_of(calls=calls, operations=[told], files=FILES) as trace:
        (pair,) = recalls(trace)
    assert pair.calls == 1
    assert pair.time_s == {"unstable": pytest.approx(0.49)}


def test_a_name_that_was_put_off_is_the_file_that_was_recalled() -> None:
    """The holder had it open before the capture began: its handle tells no name."""
    delayed = {"status": 10008, "status_name": "NFS4ERR_DELAY", "file": 3}
    asked = [recall(2, 1), returned(4, 1)]
    calls = [
        call(1, "OPEN", 1, **OTHER, **delayed),
        call(8, "OPEN", 1, file=1, **OTHER),
        *(each for each, _ in asked),
    ]
    files = [*FILES, {**file(3, "a"), "identity": 1, "role": "absent"}]
    with trace_of(calls=calls, operations=[each for _, each in asked], files=files) as trace:
        (pair,) = recalls(trace)
    assert (pair.waiting, pair.calls, pair.paths) == (("10.0.0.2",), 1, ("a",))


@pytest.mark.parametrize(
    ("moved_away", "op", "waiting"),
    [(False, "RENAME", ("10.0.0.2",)), (True, "RENAME", ()), (False, "LINK", ())],
)
def test_a_rename_waits_for_the_file_that_it_replaces(
    moved_away: bool, op: str, waiting: tuple[str, ...]
) -> None:
    """Not for one that had the name before, and was renamed meanwhile."""
    delayed = {"status": 10008, "status_name": "NFS4ERR_DELAY", "file": 2}
    asked = [recall(4, 1), returned(5, 1)]
    again = {"file": 2, "directory": 3, "target_directory": 3, "name": "b", "new_name": "a"}
    calls = [
        call(1, "OPEN", 1, file=1, **OTHER),
        call(3, op, 1, **OTHER, **delayed),
        call(8, op, 1, file=2, **OTHER),
        *(each for each, _ in asked),
    ]
    operations = [
        *(each for _, each in asked),
        operation(3, op, **{**again, "status": 10008}),
        operation(8, op, **again),
    ]
    names: list[Row] = [{"call": 1, "position": 2, "directory": 3, "name": "a", "file": 1}]
    if moved_away:
        names.append({"call": 2, "position": 4, "directory": 3, "name": "a", "file": None})
    files = [*FILES, file(3, ".", "directory")]
    with trace_of(calls=calls, operations=operations, files=files, names=names) as trace:
        (pair,) = recalls(trace)
        refused = refusals(trace)
    assert pair.waiting == waiting
    assert [each.recalled for each in refused] == [len(waiting)]


@pytest.mark.parametrize("put_off", [0, 1, 2])
def test_a_compound_of_several_renames_is_put_off_once(put_off: int) -> None:
    """For the file that the one replaces at which it stopped, and no other's."""
    delayed = {"status": 10008, "status_name": "NFS4ERR_DELAY", "file": 2}
    # What the second one replaces was recalled two seconds before.
    asked = [recall(1, 4), recall(204, 1), returned(205, 1)]
    calls = [
        call(202, "RENAME", 1, **OTHER, **delayed),
        call(208, "RENAME", 1, file=2, **OTHER),
        *(each for each, _ in asked),
    ]
    renamed = {"file": 2, "directory": 3, "target_directory": 3, "name": "b"}
    operations = [each for _, each in asked]
    for place in range(3):
        status = 10008 if place == put_off else 0 if place < put_off else None
        new_name = "c" if place == 1 else "a"
        operations += [
            {**operation(number, "RENAME", **renamed, status=status), "position": place}
            | {"new_name": new_name}
            for number, status in ((202, status), (208, 0))
        ]
    names: list[Row] = [
        {"call": 0, "position": 2, "directory": 3, "name": "a", "file": 1},
        {"call": 0, "position": 4, "directory": 3, "name": "c", "file": 4},
    ]
    files = [*FILES, file(3, ".", "directory"), file(4, "c")]
    with trace_of(calls=calls, operations=operations, files=files, names=names) as trace:
        (pair,) = refusals(trace)
    assert (pair.calls, pair.waits) == (1, 1)
    assert pair.time_s == pytest.approx(0.060)
    assert pair.recalled == (0 if put_off == 1 else 1)


def test_a_rename_of_which_both_files_are_recalled_waits_once() -> None:
    asked = [recall(2, 1), recall(3, 2), returned(4, 1), returned(5, 2)]
    renamed = {"file": 2, "directory": 3, "target_directory": 3, "name": "b", "new_name": "a"}
    calls = [call(1, "RENAME", 50, file=2, **OTHER), *(each for each, _ in asked)]
    operations = [operation(1, "RENAME", **renamed), *(each for _, each in asked)]
    names: list[Row] = [{"call": 0, "position": 2, "directory": 3, "name": "a", "file": 1}]
    files = [*FILES, file(3, ".", "directory")]
    with trace_of(calls=calls, operations=operations, files=files, names=names) as trace:
        (pair,) = recalls(trace)
    assert (pair.calls, pair.waiting) == (1, ("10.0.0.2",))
