"""Values handed to a query as a text come out as they were."""

from __future__ import annotations

import duckdb
import pytest

from pcapnfs.analyses.asking import given
from pcapnfs.analyses.servers import server_queue
from pcapnfs.analyses.wire import slower_path
from pcapnfs.analyses.wire.slower_path import SlowerPath
from tests.lookups import counted
from tests.unit.rows import START_NS, trace_of

MANY = 512
"""Clients, servers or mounts."""


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "uinteger"),
        ([7], "uinteger"),
        ([0, -(2**63), 2**63 - 1], "bigint"),
        ([2**64 - 1, 3, 3], "ubigint"),
        (["10.0.0.1", "fe80::1", "others"], "varchar"),
        ([True, False], "boolean"),
    ],
)
def test_values_come_back(values: list[int | str], kind: str) -> None:
    with duckdb.connect() as database:
        query = f"select {given.places('some')}, {given.rows('some', kind)}"
        found = database.execute(query, {"some": given.text(values)}).fetchall()
    assert found == list(enumerate(values))


def test_lists_side_by_side_keep_together() -> None:
    with duckdb.connect() as database:
        query = f"select {given.rows('one', 'uinteger')}, {given.rows('other', 'varchar')}"
        values = {"one": given.text(range(9000)), "other": given.text(map(str, range(9000)))}
        found = database.execute(query, values).fetchall()
    assert [(number, str(number)) for number in range(9000)] == sorted(found)


def test_clients_whose_path_became_longer_are_handed_over_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = tuple(
        SlowerPath(
            client=f"10.1.{number // 256}.{number % 256}", server="10.0.0.1", side="server",
            connections=1, from_ns=START_NS, until_ns=START_NS + 10**9, rtt_s=0.1, usual_s=0.001,
            acks=40, turns=0, full=9, soon=9, confidence="certain", calls=0, longer_s=0.0,
            time_s={}, full_bytes_per_s=None, frames=(),
        )
        for number in range(MANY)
    )  # fmt: skip
    monkeypatch.setattr(slower_path, "_paths", lambda _trace: paths)
    with trace_of() as trace:
        lookups = counted(monkeypatch)
        assert slower_path.register(trace)
        assert lookups.most < MANY


def test_servers_at_which_calls_queue_are_handed_over_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = [f"10.0.{number // 256}.{number % 256}" for number in range(MANY)]
    with trace_of() as trace:
        lookups = counted(monkeypatch)
        assert server_queue.server_queues(trace, servers) == {}
        assert lookups.most < MANY
