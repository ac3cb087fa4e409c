"""Handles that the server no longer knew."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.namespace.stale_handles import StaleFile, stale_handles
from pcapnfs.record import replace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, operation, trace_of

FILES = [file(1, ".", "directory"), file(2, "a"), file(3, "b")]
STALE = {"status": 70, "status_name": "NFS3ERR_STALE"}


def test_last_use_and_remover_are_found() -> None:
    calls = [
        call(1, "LOOKUP", 1),
        call(2, "READ", 1),
        call(3, "REMOVE", 1, client="10.0.0.3"),
        call(4, "GETATTR", 1, **STALE),
        call(5, "READ", 1, **STALE),
        call(6, "READ", 1, status=10014, status_name="NFS4ERR_FHEXPIRED"),
        call(7, "READ", 1, **STALE, program=100021),
    ]
    operations = [
        operation(1, "LOOKUP", file=2, directory=1, name="a"),
        operation(2, "READ", file=2),
        operation(3, "REMOVE", directory=1, name="a"),
        operation(4, "GETATTR", file=2, status=70),
        operation(5, "READ", file=2, status=70),
        operation(6, "READ", file=3, status=10014),
    ]
    names: list[Row] = [{"call": 1, "position": 0, "directory": 1, "name": "a", "file": 2}]
    with trace_of(calls=calls, operations=operations, files=FILES, names=names) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.client, pair.server) == ("10.0.0.2", "10.0.0.1")
    assert (pair.calls, pair.files, pair.expired) == (3, 2, 1)
    first, second = pair.shown
    assert first.unused_s == pytest.approx(0.019)
    assert first.after_removal_s == pytest.approx(0.019)
    assert replace(first, unused_s=0.019, after_removal_s=None) == StaleFile(
        "a", 2, ("GETATTR", "READ"), 3, 0.019, None, "10.0.0.3", "REMOVE", 5
    )
    assert second == StaleFile("b", 1, ("READ",), None, None, None, None, None, None)
    assert pair.frames == (7, 9, 11)


@pytest.mark.parametrize(
    ("moved_away", "status", "remover"),
    [(False, 0, "10.0.0.3"), (True, 0, None), (False, 66, None)],
)
def test_a_rename_onto_its_name_removes_a_file(
    moved_away: bool, status: int, remover: str | None
) -> None:
    """Not one that had the name before, and was renamed itself; nor does a RENAME that failed."""
    renamed = {"directory": 1, "target_directory": 1}
    calls = [
        call(1, "READ", 1),
        call(2, "RENAME", 1),
        call(3, "RENAME", 1, client="10.0.0.3", status=status),
        call(4, "READ", 1, **STALE),
    ]
    operations = [
        operation(1, "READ", file=2),
        operation(2, "RENAME", file=2, name="a.old", new_name="a", **renamed),
        operation(3, "RENAME", file=3, name="b", new_name="a", status=status, **renamed),
        operation(4, "READ", file=2, status=70),
    ]
    names: list[Row] = [{"call": 2, "position": 4, "directory": 1, "name": "a", "file": 2}]
    if moved_away:
        # Within one call, the last counts.
        names.append({"call": 2, "position": 5, "directory": 1, "name": "a", "file": None})
    with trace_of(calls=calls, operations=operations, files=FILES, names=names) as trace:
        (pair,) = stale_handles(trace)
    (told,) = pair.shown
    assert (told.remover, told.remover_op) == (remover, remover and "RENAME")
    assert (told.remover_frame, told.renamed_frame) == (remover and 5, 3)


def test_a_removal_afterwards_is_not_why() -> None:
    calls = [call(1, "READ", 1, **STALE), call(2, "REMOVE", 1)]
    operations = [
        operation(1, "READ", file=2, status=70),
        operation(2, "REMOVE", file=2, directory=1, name="a"),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert pair.shown[0].remover is None


@pytest.mark.parametrize(("took_ms", "remover"), [(9.9, None), (12, "10.0.0.2")])
def test_a_removal_that_the_refused_call_met_is_why(took_ms: float, remover: str | None) -> None:
    calls = [call(1, "READ", took_ms, **STALE), call(2, "REMOVE", 3)]
    operations = [
        operation(1, "READ", file=2, status=70),
        operation(2, "REMOVE", file=2, directory=1, name="a"),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    (told,) = pair.shown
    assert told.remover == remover
    assert told.after_removal_s == (remover and pytest.approx(-0.013))


def test_handles_that_were_cut_off_are_calls_without_files() -> None:
    with trace_of(calls=[call(1, "READ", 1, **STALE)], files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.calls, pair.files, pair.shown) == (1, 0, ())


def test_good_handles_are_nothing_to_tell() -> None:
    with trace_of(calls=[call(1, "READ", 1)], operations=[operation(1, "READ", file=2)]) as trace:
        assert stale_handles(trace) == ()


def test_a_handle_that_works_later_is_told() -> None:
    calls = [call(1, "LINK", 1, **STALE), call(2, "READ", 1), call(3, "READ", 1)]
    operations = [
        operation(1, "LINK", file=2, status=70),
        operation(2, "READ", file=2),
        operation(3, "READ", file=2),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.shown[0].last_use_frame, pair.shown[0].next_use_frame) == (None, 3)


def test_a_handle_that_only_a_compound_named_was_not_used() -> None:
    calls = [
        call(1, "READ", 1, **STALE),
        call(2, "OPEN", 1, status=10022, status_name="NFS4ERR_STALE_CLIENTID"),
    ]
    operations = [
        operation(1, "READ", file=2, status=70),
        operation(2, "PUTFH", file=2),
        operation(2, "OPEN", position=1, directory=2, name="a", status=10022),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert pair.shown[0].next_use_frame is None


def test_another_handle_of_a_renamed_file_is_not_the_one_refused() -> None:
    calls = [
        call(1, "READ", 1),
        call(2, "RENAME", 1),
        call(3, "GETATTR", 1, **STALE),
        call(4, "LOOKUP", 1),
    ]
    operations = [
        operation(1, "READ", file=2),
        operation(2, "RENAME", file=2, directory=1, target_directory=1, name="x"),
        operation(3, "GETATTR", file=2, status=70),
        operation(4, "LOOKUP", file=4, directory=1, name="a"),
    ]
    files = [*FILES, file(4, "a")]
    files[1] = {**files[1], "identity": 4}
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (pair,) = stale_handles(trace)
    (told,) = pair.shown
    assert (told.path, told.last_use_frame, told.renamed_frame) == ("a", 1, 3)
    assert (told.next_use_frame, told.other_frame) == (None, 7)


def test_what_has_no_name_cannot_be_missing() -> None:
    unfound = {"status": 2, "status_name": "NFS3ERR_NOENT"}
    calls = [
        call(1, "GETATTR", 1, **unfound),
        call(2, "LOOKUP", 1, **unfound),
        call(3, "READ", 1, **STALE),
    ]
    operations = [
        operation(1, "GETATTR", file=2, status=2),
        operation(2, "LOOKUP", file=3, directory=1, name="b", status=2),
        operation(3, "READ", file=2, status=70),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.calls, pair.unfound, pair.files) == (2, 1, 1)
    with trace_of(calls=calls[1:2], operations=operations[1:2], files=FILES) as trace:
        assert stale_handles(trace) == ()


def began(number: int, begun_ms: int, **columns: object) -> Row:
    """A connection that began so long after the start."""
    return {
        "connection": number,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "server_port": 2049,
        "first_time": START_NS + begun_ms * MILLISECOND,
        **columns,
    }


@pytest.mark.parametrize(
    ("forgotten", "change"),
    [
        (True, {}),
        (True, {"reset": False, "fin": True, "refusals": 1}),
        (False, {"reset": False, "fin": True}),
        (False, {"reset": False}),
        (False, {"known": False}),
        (False, {"survivor": 3}),
        (True, {"survivor": 1}),
        (False, {"first": True}),
    ],
    ids=[
        "reset", "refused", "idle", "at once", "never worked", "another works", "a root works",
        "the connection before",
    ],
)  # fmt: skip
def test_handles_of_before_a_restart(forgotten: bool, change: dict[str, object]) -> None:
    calls = [
        call(1, "GETATTR", 1, connection=0),
        call(2, "READ", 1, connection=0),
        call(3, "GETATTR", 1, connection=0),
        call(6, "GETATTR", 1, connection=0 if change.get("first") else 1, **STALE),
        call(7, "GETATTR", 1, connection=1),
    ]
    operations = [
        operation(1, "PUTROOTFH", file=1),
        operation(1, "GETATTR", position=1, file=1),
        operation(2, "READ", file=2 if change.get("known", True) else 3),
        operation(3, "GETATTR", file=3),
        operation(6, "GETATTR", file=2, status=70),
        operation(7, "GETATTR", file=change.get("survivor", 1)),
    ]
    at = START_NS + 40 * MILLISECOND
    connections = [
        began(
            0,
            0,
            server_rst_time=at if change.get("reset", True) else None,
            server_fin_time=at if change.get("fin") else None,
        ),
        began(1, 50, refusals=change.get("refusals", 0)),
    ]
    with trace_of(
        calls=calls, operations=operations, files=FILES, connections=connections
    ) as trace:
        (pair,) = stale_handles(trace)
    assert pair.forgotten is forgotten


def test_of_a_compound_that_worked_all_did_though_its_results_were_cut() -> None:
    calls = [
        call(1, "READ", 1, status=10014, status_name="NFS4ERR_FHEXPIRED"),
        call(2, "READ", 1, status=0, undecoded="truncated"),
    ]
    operations = [
        operation(1, "READ", file=2, status=10014),
        operation(2, "READ", file=2, status=None, executed=False),
    ]
    with trace_of(calls=calls, operations=operations, files=FILES) as trace:
        (pair,) = stale_handles(trace)
    assert pair.shown[0].next_use_frame == 3
    assert not pair.told


def test_an_operation_by_name_had_the_directory_refused() -> None:
    calls = [
        call(1, "LOOKUP", 1),
        call(2, "GETATTR", 1, **STALE),
        call(3, "LOOKUP", 1, **STALE),
        call(4, "RENAME", 1, **STALE),
    ]
    operations = [
        operation(1, "LOOKUP", file=3, directory=4, name="b"),
        operation(2, "GETATTR", file=2, status=70),
        operation(3, "LOOKUP", file=2, directory=4, name="a", status=70),
        # Which of the two directories is gone is not said.
        operation(4, "RENAME", file=2, directory=4, target_directory=1, name="a", status=70),
    ]
    files = [*FILES, file(4, "d", "directory")]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (pair,) = stale_handles(trace)
    assert (pair.calls, pair.files) == (3, 2)
    assert [(each.path, each.operations, each.last_use_frame) for each in pair.shown] == [
        ("a", ("GETATTR",), None),
        ("d", ("LOOKUP",), 1),
    ]
