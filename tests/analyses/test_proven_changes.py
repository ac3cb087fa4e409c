"""Which changes another client's modification proves, however many there are of both."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs import database
from pcapnfs.analyses.caching import whose_changes

Moment = int


class Act(NamedTuple):
    client: str
    server: str
    identity: int
    call_time: Moment
    reply_time: Moment
    modifying: bool


class Change(NamedTuple):
    client: str
    server: str
    identity: int
    reply_time: Moment
    known_call_time: Moment


_CLIENTS, _SERVERS, _IDENTITIES = st.sampled_from("abc"), st.sampled_from("st"), st.integers(1, 2)
_MOMENTS = st.integers(0, 12)
_ACTS = st.builds(
    lambda client, server, identity, begin, lasts, modifying: Act(
        client, server, identity, begin, begin + lasts, modifying
    ),
    _CLIENTS, _SERVERS, _IDENTITIES, _MOMENTS, st.sampled_from((0, 1, 3, 12)), st.booleans(),
)  # fmt: skip
_CHANGES = st.builds(
    lambda client, server, identity, end, before: Change(
        client, server, identity, end, end - before
    ),
    _CLIENTS, _SERVERS, _IDENTITIES, _MOMENTS, st.sampled_from((0, 1, 3, 12)),
)  # fmt: skip


def _proves(act: Act, change: Change) -> bool:
    """Another client's modification of the object, under way in the time of the change."""
    return (
        act.modifying
        and act.client != change.client
        and (act.server, act.identity) == (change.server, change.identity)
        and act.call_time <= change.reply_time
        and act.reply_time >= change.known_call_time
    )


@settings(max_examples=50)
@given(st.lists(_ACTS, max_size=25), st.lists(_CHANGES, min_size=1, max_size=15))
def test_a_change_is_proven_where_any_modification_of_another_client_was_under_way(
    acts: list[Act], changes: list[Change]
) -> None:
    with closing(database.connect()) as cursor:
        cursor.execute(
            "create table acts (client varchar, server varchar, identity integer, "
            "call_time bigint, reply_time bigint, modifying boolean)"
        )
        cursor.execute(
            'create table unproven ("row" bigint, client varchar, server varchar, '
            "identity integer, reply_time bigint, known_call_time bigint)"
        )
        for act in acts:
            cursor.execute("insert into acts values (?, ?, ?, ?, ?, ?)", act)
        for row, change in enumerate(changes):
            cursor.execute("insert into unproven values (?, ?, ?, ?, ?, ?)", (row, *change))
        cursor.execute(whose_changes._PROVEN)
        left = {row for (row,) in cursor.execute('select "row" from unproven').fetchall()}
    assert left == {
        row for row, change in enumerate(changes) if not any(_proves(act, change) for act in acts)
    }
