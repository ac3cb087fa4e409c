"""What calls have in common: of each client by itself, and of all of them added up."""

from __future__ import annotations

import pytest

from pcapnfs.comparison.changed_protocol import BY_LAYOUT, THROUGH, connections, layouts
from pcapnfs.comparison.habits import Habits, by_client, together
from pcapnfs.comparison.side import Side, gather
from pcapnfs.record import replace
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
    assert (found[FIRST].stable_bytes, found[FIRST].unstable_bytes) == (4608, 4096)
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
    assert (all_of_them.stable_bytes, all_of_them.unstable_bytes) == (8704, 4096)
    assert all_of_them.largest_read_bytes is None
    small = together(habits([*WRITES[2:3], WRITES[3]]).values())
    assert small.largest_write_bytes == 4096


def test_without_clients_there_are_none() -> None:
    assert together(()).largest_write_bytes is None


def of_connections(
    *used: tuple[int, str, str], roles: tuple[str | None, ...] = (None, None)
) -> Habits:
    """Calls by turns over connections: number, operation and version, twenty of each."""
    calls: list[Row] = []
    operations: list[Row] = []
    for turn in range(20):
        for place, (connection, op, version) in enumerate(used):
            number = 1 + turn * len(used) + place
            calls.append(
                call(
                    number, op, 1.0, client=FIRST, connection=connection, protocol=version,
                    version=int(version[0]),
                )
            )  # fmt: skip
            operations.append(operation(number, op, status=0))
    rows: list[Row] = [
        {"connection": number, "transport": "TCP", "role": role}
        for number, role in enumerate(roles)
    ]
    with trace_of(calls=calls, operations=operations, connections=rows) as trace:
        return by_client(trace)[FIRST]


def test_a_connection_for_security_contexts_alone_is_none_of_the_mount() -> None:
    """Linux has rpc.gssd begin each context over a connection of its own."""
    mount = (0, "GETATTR", "4.2")
    for op in ("RPCSEC_GSS_INIT", "RPCSEC_GSS_DESTROY"):
        assert of_connections(mount, (1, op, "4")).connections == 1
    # One that only asked who is there will be used; one that a mount uses may end its context.
    assert of_connections(mount, (1, "NULL", "4")).connections == 2
    assert of_connections((0, "GETATTR", "4.2"), (1, "READ", "4.2")).connections == 2
    both = (mount, (1, "RPCSEC_GSS_DESTROY", "4"), (1, "READ", "4.2"))
    assert of_connections(*both).connections == 2


def test_what_goes_to_a_data_server_tells_no_version_and_no_connection_of_the_mount() -> None:
    roles = ("metadata server", "data server")
    used = ((0, "LAYOUTGET", "4.2"), (1, "WRITE", "3"))
    found = of_connections(*used, roles=roles)
    assert (found.versions, found.connections) == ({"4.2": 20}, 1)
    assert (found.layouts, found.data_apart) == (20, 20)
    # Two mounts, or a capture at a data server.
    found = of_connections(*used)
    assert (found.versions, found.connections) == ({"3": 20, "4.2": 20}, 2)
    assert (found.layouts, found.data_apart) == (20, 0)
    assert of_connections(used[1], roles=("metadata server", "data server")).versions == {"3": 20}


def listing(*asked: tuple[int, int, int | None], client: str = FIRST) -> dict[str, Habits]:
    """Listings: the version, the cookie, and what they ask for."""
    calls: list[Row] = []
    operations: list[Row] = []
    for number, (version, cookie, size) in enumerate(asked, 1):
        op = "READDIR" if version == 4 else "READDIRPLUS"
        calls.append(call(number, op, 1.0, client=client, connection=0, version=version))
        operations.append(operation(number, op, requested=size, cookie=cookie))
    connections: list[Row] = [{"connection": 0, "transport": "TCP"}]
    with trace_of(calls=calls, operations=operations, connections=connections) as trace:
        return by_client(trace)


def test_what_listings_begin_with_is_told_where_all_of_them_ask_for_as_much() -> None:
    """Not what they go on with, what NFSv4 asks for, and what was cut off."""
    asked = ((3, 0, 16384), (3, 7, 32768), (4, 0, 65448), (3, 0, None), (3, 0, 16384))
    found = listing(*asked)
    assert (found[FIRST].listings_begun, found[FIRST].listing_bytes) == (2, 16384)
    other = listing((3, 0, 16384), (3, 0, 8192), client=SECOND)
    assert (other[SECOND].listings_begun, other[SECOND].listing_bytes) == (2, None)
    both = together((found[FIRST], other[SECOND]))
    assert (both.listings_begun, both.listing_bytes) == (4, None)
    # A client that lists nothing is no other size.
    both = together((found[FIRST], habits(WRITES)[SECOND]))
    assert (both.listings_begun, both.listing_bytes) == (2, 16384)


@pytest.mark.parametrize(
    ("limits", "told"),
    [((1 << 20, 1 << 20), 1 << 20), ((1 << 20, 65536), None), ((1 << 20, None), None)],
)
def test_what_servers_allow_is_told_of_clients_where_it_is_one(
    limits: tuple[int, int | None], told: int | None
) -> None:
    one, other = (replace(having().habits, max_read_bytes=limit) for limit in limits)
    assert together((one, other)).max_read_bytes == told


def test_what_a_server_allows_a_read_is_told() -> None:
    calls = [
        call(number, "FSINFO", 1.0, client=client, connection=0)
        for number, client in enumerate((FIRST, SECOND), 1)
    ]
    asked = [operation(1, "FSINFO", max_read=65536), operation(2, "FSINFO")]
    connections: list[Row] = [{"connection": 0, "transport": "TCP"}]
    with trace_of(calls=calls, operations=asked, connections=connections) as trace:
        found = by_client(trace)
    assert (found[FIRST].max_read_bytes, found[SECOND].max_read_bytes) == (65536, None)


def having(granted: int = 0, apart: int = 0, read: int | None = 4096) -> Side:
    """A client that reads, with so many layouts, and so many READs and WRITEs to data servers."""
    with trace_of(calls=[call(1, "READ", 1.0)]) as trace:
        side = gather(trace)
    habits = replace(
        side.habits, largest_read_bytes=read, connections=1, layouts=granted, data_apart=apart
    )
    return replace(side, habits=habits)


def test_layouts_that_one_side_has_are_told() -> None:
    through, apart = having(), having(20, 40)
    (cause,) = layouts(through, apart)
    assert (cause.before, cause.after, cause.confidence) == (THROUGH, BY_LAYOUT, "certain")
    assert cause.evidence == (
        "after, 20 layouts were granted, and 40 READs and WRITEs went to data servers; on the "
        "other side no layout was granted"
    )
    (back,) = layouts(apart, through)
    assert (back.before, back.after) == (BY_LAYOUT, THROUGH)
    assert [*connections(through, apart)] == []


@pytest.mark.parametrize(("granted", "apart", "read"), [(1, 0, 4096), (5, 3, 4096), (0, 0, None)])
def test_layouts_are_not_told_where_the_other_side_has_them_or_moves_nothing(
    granted: int, apart: int, read: int | None
) -> None:
    has, other = having(20, 40), having(granted, apart, read)
    assert [*layouts(other, has)] == []
    assert [*layouts(has, other)] == []
