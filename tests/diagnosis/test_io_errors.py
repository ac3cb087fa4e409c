"""The rule for errors of the server itself."""

from __future__ import annotations

from pcapnfs.diagnosis.rules.io_errors import RULE
from pcapnfs.diagnosis.rules.no_space import RULE as FULL
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.refused import REFUSED, kinds_told, of_kind


def test_data_that_cannot_be_stored_is_a_problem() -> None:
    (seen,) = of_kind(RULE, "fault")
    assert (seen.severity, seen.title) == ("problem", "The server cannot store data")
    assert seen.why.endswith("Data that was written may not be stored.")


def test_data_that_cannot_be_read_is_no_loss_of_what_is_written() -> None:
    (seen,) = of_kind(RULE, "fault", operations=("READ", "GETATTR"))
    assert (seen.severity, seen.title) == ("problem", "The server cannot read data")
    assert "written" not in seen.why
    (seen,) = of_kind(RULE, "fault", operations=("COMMIT", "READ_PLUS"))
    assert seen.title == "The server cannot read or store data"
    assert "written" in seen.why


def test_a_read_that_may_be_of_a_directory_is_a_warning() -> None:
    (seen,) = of_kind(RULE, "fault", operations=("READ of what was cut off",))
    assert (seen.severity, seen.title) == ("warning", "The server reports errors")


def test_errors_of_other_calls_are_a_warning() -> None:
    (seen,) = of_kind(RULE, "fault", operations=("SETATTR",))
    assert (seen.severity, seen.title) == ("warning", "The server reports errors")


def test_what_a_server_may_refuse_is_asked_for_first() -> None:
    (seen,) = of_kind(RULE, "fault", operations=("RMDIR", "READ of a directory"))
    assert (seen.severity, seen.title) == ("warning", "The server reports errors")
    assert seen.advice[0].action.startswith("See first whether the server means another error")
    assert "NOTEMPTY" in seen.advice[0].action
    assert "no data to read" in seen.advice[0].action
    (seen,) = of_kind(RULE, "fault", operations=("RMDIR",))
    assert "no data to read" not in seen.advice[0].action
    (seen,) = of_kind(RULE, "fault", operations=("RMDIR", "SETATTR"))
    assert seen.advice[0].action.startswith("Look at the server's log")


def test_a_session_without_room_is_no_full_file_system() -> None:
    pair = replace(REFUSED, kind="session", operations=("CREATE_SESSION",), users=(), paths=())
    (seen,) = seen_by(RULE, nothing(failures=(pair,)))
    assert (seen.severity, seen.title) == (
        "warning",
        "The server has no room for the client's session",
    )
    assert seen_by(FULL, nothing(failures=(pair,))) == []


def test_a_server_without_locks_is_no_lock_of_somebody_else() -> None:
    (seen,) = of_kind(RULE, "no_locks", operations=("LOCK",), paths=("a/b",))
    assert (seen.severity, seen.title) == ("problem", "The server gives no locks")
    assert seen.seen == (
        "12 calls (LOCK) were answered NLM4_DENIED_NOLOCKS, asked by users 7, 9: a/b."
    )
    assert "statd" in seen.why


def test_nothing_else_is() -> None:
    assert kinds_told(RULE) == {"fault", "no_locks"}
