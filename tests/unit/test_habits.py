"""What calls have in common: of each client by itself, and of all of them added up."""

from __future__ import annotations

from pcapnfs.comparison.habits import Habits, by_client, together
from tests.unit.rows import Row, call, operation, trace_of

FIRST, SECOND = "10.0.0.11", "10.0.0.12"

WRITES = [
    (FIRST, 4096, "UNSTABLE"),
    (FIRST, 4096, "FILE_SYNC"),
    (FIRST, 512, "FILE_SYNC"),
    (SECOND, 4096, "FILE_SYNC"),
]
"""WRITEs: whose, how many bytes, and what was promised."""

FLAVORS = {FIRST: "AUTH_SYS", SECOND: "RPCSEC_GSS/krb5"}


def habits(writes: list[tuple[str, int, str]]) -> dict[str, Habits]:
    calls: list[Row] = []
    operations: list[Row] = []
    for number, (client, length, committed) in enumerate(writes, 1):
        calls.append(
            call(number, "WRITE", 1.0, client=client, connection=0, flavor=FLAVORS[client])
        )
        operations.append(operation(number, "WRITE", requested=length, committed=committed))
    connections: list[Row] = [{"connection": 0, "transport": "TCP"}]
    with trace_of(calls=calls, operations=operations, connections=connections) as trace:
        return by_client(trace)


def test_each_client_has_those_of_its_calls() -> None:
    found = habits(WRITES)
    assert [*found] == [FIRST, SECOND]
    assert found[FIRST].flavors == {"AUTH_SYS": 3}
    assert found[FIRST].largest_write_bytes == 4096
    assert (found[FIRST].writes_stable, found[FIRST].writes_unstable) == (2, 1)
    assert found[SECOND].writes_stable == 1


def test_the_only_client_has_the_same_as_beside_others() -> None:
    for client in (FIRST, SECOND):
        alone = habits([each for each in WRITES if each[0] == client])
        assert alone == {client: habits(WRITES)[client]}


def test_together_calls_add_up_and_the_largest_count() -> None:
    all_of_them = together(habits(WRITES).values())
    assert all_of_them.flavors == {"AUTH_SYS": 3, "RPCSEC_GSS/krb5": 1}
    assert all_of_them.versions == {"3": 4}
    assert all_of_them.largest_write_bytes == 4096
    assert (all_of_them.writes_stable, all_of_them.writes_unstable) == (3, 1)
    assert all_of_them.largest_read_bytes is None
    small = together(habits([*WRITES[2:3], WRITES[3]]).values())
    assert small.largest_write_bytes == 4096


def test_without_clients_there_are_none() -> None:
    assert together(()).largest_write_bytes is None
