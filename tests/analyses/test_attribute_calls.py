"""SETATTRs that set attributes of new files one by one."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.namespace.attribute_calls import attribute_calls
from tests.unit.rows import Row, call, file, operation, trace_of

MODE, OWNER, TIMES = "00000000:00000002", "00000000:00000030", "00000000:00410000"


def create(number: int, about: int, mode: int = 0, **changes: object) -> list[Row]:
    return [
        call(number, "CREATE", 3, file=about, stability="stable"),
        operation(number, "CREATE", file=about, create_mode=mode, **changes),
    ]


def setattr_(
    number: int,
    about: int,
    *,
    signature: str = "SETATTR",
    status: int = 0,
    **changes: object,
) -> list[Row]:
    told: dict[str, object] = {"signature": signature, "status": status}
    return [
        call(number, "SETATTR", 4, file=about, stability="stable", **told),
        operation(number, "SETATTR", file=about, **changes),
    ]


def found(*steps: list[Row]) -> tuple[int, int, int]:
    """Files made, those on which attributes were set, and with how many calls."""
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        told = attribute_calls(trace)
    if not told:
        return 0, 0, 0
    (pair,) = told
    assert pair.calls.time_s == pytest.approx(0.004 * pair.calls.calls)
    return pair.made, pair.files, pair.calls.calls


def test_what_is_set_on_new_files_counts() -> None:
    assert found(
        create(1, 1), setattr_(2, 1), setattr_(3, 1), create(4, 2), setattr_(5, 2), create(6, 3)
    ) == (3, 2, 3)


def test_on_files_that_were_there_before_it_is_the_users_wish() -> None:
    assert found(create(1, 1), setattr_(2, 2)) == (0, 0, 0)
    assert found(setattr_(1, 1), create(2, 1)) == (0, 0, 0)
    assert found(create(1, 1, created=False), setattr_(2, 1)) == (0, 0, 0)
    assert found(create(1, 1, status=17), setattr_(2, 1)) == (0, 0, 0)


def test_what_an_exclusive_create_needs_is_not_the_programs() -> None:
    assert found(create(1, 1, 2), setattr_(2, 1), setattr_(3, 1)) == (1, 1, 1)
    assert found(create(1, 1, 2), setattr_(200, 1)) == (1, 1, 1)  # Later than a second.
    assert found(
        create(1, 1, 3), setattr_(2, 1, attributes=TIMES), setattr_(3, 1, attributes=TIMES)
    ) == (1, 1, 1)
    assert found(create(1, 1, 3), setattr_(2, 1, attributes=MODE)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({}, 1),
        ({"attributes": MODE}, 1),
        ({"attributes": OWNER}, 1),
        ({"attributes": f"{TIMES}:00000000"}, 1),
        ({"set_size": 0}, 0),
        ({"attributes": "00001000"}, 0),
        ({"attributes": "00000000:00000000:00300000"}, 0),
    ],
    ids=["NFSv3", "mode", "owner", "times", "size", "ACL", "delegated times"],
)
def test_size_and_acl_are_no_attributes_that_are_kept(changes: dict[str, Any], calls: int) -> None:
    assert found(create(1, 1), setattr_(2, 1, **changes))[2] == calls


def test_times_that_come_with_a_delegation_back_are_the_clients() -> None:
    back = "PUTFH SETATTR GETATTR DELEGRETURN"
    assert found(create(1, 1), setattr_(2, 1, signature=back, attributes=TIMES))[2] == 0


def test_what_failed_set_nothing() -> None:
    assert found(create(1, 1), setattr_(2, 1), setattr_(3, 1, status=13))[2] == 1


def test_what_is_set_is_told_where_nfsv4_tells_it() -> None:
    steps = [
        create(1, 1),
        setattr_(2, 1, attributes=TIMES),
        setattr_(3, 1, attributes=OWNER),
        setattr_(4, 1, attributes="00000000:00000012"),
    ]
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = attribute_calls(trace)
    assert (pair.times, pair.owners, pair.modes) == (1, 2, 1)
    assert (pair.client, pair.server, pair.calls.frames) == ("10.0.0.2", "10.0.0.1", (3, 5, 7))


def test_names_tell_files_that_are_made_again_and_journals() -> None:
    steps = [
        create(1, 1), setattr_(2, 1), setattr_(3, 1), create(4, 2), setattr_(5, 2),
        create(6, 3), setattr_(7, 3), create(8, 4), setattr_(9, 4),
    ]  # fmt: skip
    calls, operations = ([step[place] for step in steps] for place in (0, 1))
    files = [
        file(1, "b.db-journal", name="b.db-journal", parent=9),
        file(2, "b.db-journal", name="b.db-journal", parent=9),
        file(3, "d/-journal", name="-journal", parent=8),
    ]
    with trace_of(calls=calls, operations=operations, files=files) as trace:
        (pair,) = attribute_calls(trace)
    # Of the fourth file no name is known.
    assert (pair.files, pair.names, pair.journals) == (4, 3, 3)
    assert pair.most == "b.db-journal"
    with trace_of(calls=calls, operations=operations) as trace:
        (pair,) = attribute_calls(trace)
    assert (pair.names, pair.journals, pair.most) == (4, 0, None)
