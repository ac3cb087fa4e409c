"""Layouts that were asked for, and data that went past them."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.data.layouts import Layouts, layouts
from tests.unit.rows import Row, call, operation, trace_of

MDS, DS = 1, 2

CALLS: list[Row] = [
    call(1, "OPEN", 1, connection=MDS),
    call(2, "LAYOUTGET", 1, connection=MDS),
    call(3, "WRITE", 1, connection=MDS),
    call(4, "READ", 1, connection=MDS),
    call(5, "READ", 1, connection=DS, server="10.0.0.9"),
]
OPERATIONS: list[Row] = [
    operation(1, "LAYOUTGET", status=0, status_name="NFS4_OK"),
    operation(2, "LAYOUTGET", status=10059, status_name="NFS4ERR_LAYOUTUNAVAILABLE"),
    operation(3, "WRITE", status=0, status_name="NFS4_OK", count=100),
    operation(4, "READ", status=0, status_name="NFS4_OK", count=20),
    operation(5, "READ", status=0, status_name="NFS4_OK", count=4000),
]


@pytest.mark.parametrize("role", ["metadata server", None])
def test_data_over_the_connection_that_asks_is_told_apart(role: str | None) -> None:
    roles: list[Row] = [
        {"connection": MDS, "role": role},
        {"connection": DS, "role": "data server"},
    ]
    with trace_of(calls=CALLS, operations=OPERATIONS, connections=roles) as trace:
        assert layouts(trace) == (
            Layouts(
                client="10.0.0.2",
                server="10.0.0.1",
                asked=2,
                granted=1,
                statuses=("NFS4ERR_LAYOUTUNAVAILABLE",),
                through=2,
                through_bytes=120,
                apart=1,
                frames=(5, 7),
                vain=Spared(1, 0.001, 0.009, (3,)),
                there=0,
                got=NONE,
            ),
        )


def test_a_server_of_its_own_data_may_be_meant() -> None:
    roles: list[Row] = [{"connection": MDS, "role": "metadata and data server"}]
    with trace_of(calls=CALLS, operations=OPERATIONS, connections=roles) as trace:
        (pair,) = layouts(trace)
    assert (pair.through, pair.apart, pair.there) == (0, 3, 0)


def test_data_goes_by_layouts_over_connections_to_a_data_server_at_the_same_address() -> None:
    """As a Linux server gives them: its own address, for NFSv3."""
    over = [*CALLS[:4], call(5, "READ", 1, connection=DS)]
    roles: list[Row] = [
        {"connection": MDS, "role": "metadata server"},
        {"connection": DS, "role": "data server"},
    ]
    with trace_of(calls=over, operations=OPERATIONS, connections=roles) as trace:
        (pair,) = layouts(trace)
    assert (pair.through, pair.apart, pair.frames) == (2, 1, (5, 7))
    assert (pair.there, pair.got) == (1, NONE)


def test_calls_for_a_layout_alone_that_get_it() -> None:
    operations = [
        operation(2, "LAYOUTGET", status=0, status_name="NFS4_OK"),
        *OPERATIONS[2:],
    ]
    with trace_of(calls=CALLS, operations=operations) as trace:
        (pair,) = layouts(trace)
    assert (pair.granted, pair.vain, pair.got) == (1, NONE, Spared(1, 0.001, 0.009, (3,)))


def test_without_layouts_there_is_nothing_to_tell() -> None:
    with trace_of(calls=CALLS[2:], operations=OPERATIONS[2:]) as trace:
        assert layouts(trace) == ()
