"""What must have been changed: mount options, the server's storage, the network.

Takes two sides and how their operations moved; gives the settings that differ, each with what says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pcapnfs.comparison import (
    changed_at_once,
    changed_caching,
    changed_delegations,
    changed_options,
    changed_protocol,
    changed_storage,
    changed_times,
    changed_transfers,
    changed_turns,
    changed_windows,
)
from pcapnfs.comparison.cause import once, words

if TYPE_CHECKING:
    from pcapnfs.comparison.cause import Cause
    from pcapnfs.comparison.each import Sides
    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.side import Side


KEEPS_SERVER = frozenset(
    (
        "version", "connections", "streams", "calls_at_once", "path", "bandwidth", "loss",
        "network_or_server", "server_service", "server_in_turn", "server_reads", "storage",
    )
)  # fmt: skip
"""Subjects of causes for which calls wait at a server as well, or seem to: it has others, or more
of them at once, each takes it longer, or they stand before a link. Where one is told, it is the
cause."""


def causes(
    before: Side,
    after: Side,
    operations: tuple[OperationChange, ...],
    clients: Sequence[Sides] = (),
) -> tuple[Cause, ...]:
    """Name what must have been changed, in the order from protocol to storage.

    Delegations that the length of the runs alone may explain stand last.

    Args:
        before: The side before.
        after: The side after.
        operations: How their operations moved.
        clients: Several clients of both sides, each by itself: what differs of all their calls
            together need not have changed for any.
    """

    def told(ask: Callable[[Side, Side], Iterator[Cause]]) -> Iterator[Cause]:
        return _of_each(ask, clients) if clients else ask(before, after)

    granted = tuple(told(changed_delegations.delegations))
    found = (
        *told(changed_protocol.protocol),
        *told(changed_protocol.connections),
        *told(changed_protocol.layouts),
        *told(changed_protocol.streams),
        *told(changed_at_once.calls_at_once),
        *changed_protocol.software_of_hosts(
            "client_software", before.software.clients, after.software.clients
        ),
        *changed_protocol.software_of_hosts(
            "server_software", before.software.servers, after.software.servers
        ),
        *(cause for cause in granted if cause.confidence != "possible"),
        *told(changed_caching.attribute_cache),
        *told(changed_caching.name_cache),
        *told(partial(changed_transfers.transfer_size, "rsize")),
        *told(partial(changed_transfers.transfer_size, "wsize")),
        *changed_options.listings(before, after),
        *told(changed_options.acls),
        *told(changed_options.local_locks),
        *told(changed_options.timer),
        *told(partial(changed_options.option, "sync")),
        *told(changed_transfers.written_through),
        *told(changed_transfers.pieces_committed),
        *told(partial(changed_options.option, "nocto")),
        *told(changed_transfers.stable_writes),
        *(changed_times.networks(clients) if clients else changed_times.network(before, after)),
        *(changed_times.services(clients) if clients else changed_times.service(before, after)),
        *changed_windows.window(before, after),
        *changed_times.one_sided(before, after),
        *changed_times.bandwidth(before, after),
        *changed_times.lock_waits(before, after),
        *changed_turns.in_turn(before, after),
        *changed_storage.storages(before, after, operations, clients),
        *changed_storage.reads(before, after, operations, clients),
    )
    if not KEEPS_SERVER & {cause.subject for cause in found}:
        found = (*found, *changed_turns.queues(before, after))
    # What comes of the length of the runs alone stands behind what made one of them longer.
    return (*found, *(cause for cause in granted if cause.confidence == "possible"))


def _of_each(
    ask: Callable[[Side, Side], Iterator[Cause]], clients: Sequence[Sides]
) -> Iterator[Cause]:
    """What changed for some clients, once for all of whom the same did."""
    return once(((client, ask(before, after)) for client, before, after in clients), words)
