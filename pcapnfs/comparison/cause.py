"""A setting that differs, and how it is told of several clients.

Takes what is told of each; gives it once for all of whom it is alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from pcapnfs.confidence import Confidence
from pcapnfs.record import Record, replace


class Cause(Record):
    """A setting that differs."""

    subject: str
    """`version`, `transport`, `security`, `connections` (of a client with a server at once),
    `pnfs` (whether data moves by layouts), `streams` (what programs do at the same time),
    `calls_at_once` (how many may be under way); `client_software`, `server_software` (what they say
    they are); `delegations` (what the server grants them for); `attribute_cache`, `name_cache`,
    `rsize`, `wsize`, `readdirplus`, `acls`, `local_lock`, `timeo`, `sync`, `nocto` (mount
    options);
    `stable_writes` (what the client asks of the server for data); `storage` (sync or async export,
    or how fast it is), `server_reads` (from its disks, or from its memory), `server_in_turn`
    (whether it works on one call at a time, or small calls wait for others), `server_service` (what
    it takes for calls that need no storage), `network_rtt`, `network_or_server` (the same where it
    may be the server's storage), `path` (longer for a while, or full), `bandwidth` (how fast data
    moves), `window` (of a TCP receiver, that was full), `loss` (of segments), `locks` (that others
    hold), `grace` (the grace period of a server that restarted)."""
    before: str
    """What it was, in words."""
    after: str
    """What it became."""
    confidence: Confidence
    """`certain`: the packets say so themselves; `likely`: they have no other common cause;
    `possible`: there is another one, or there is little data."""
    evidence: str
    """What says so, in a sentence; of several clients, of the first of them."""
    clients: tuple[str, ...] = ()
    """Of several clients those of which it is told, by their addresses before; empty where it is
    told of all calls together."""


def words(cause: Cause) -> tuple[str, ...]:
    """What is said of a setting, by which that of clients is alike."""
    return cause.subject, cause.before, cause.after


def once(
    told: Iterable[tuple[str, Iterator[Cause]]], alike: Callable[[Cause], Hashable]
) -> Iterator[Cause]:
    """What is told of some clients, once for all of whom it is alike."""
    found: dict[Hashable, list[tuple[str, Cause]]] = {}
    for client, its_causes in told:
        for cause in its_causes:
            found.setdefault(alike(cause), []).append((client, cause))
    for group in found.values():
        (first, cause), *more = group
        yield replace(
            cause,
            confidence=weaker(*(each.confidence for _, each in group)),
            evidence=f"{first}: {cause.evidence}" if more else cause.evidence,
            clients=tuple(client for client, _ in group),
        )


def weaker(*all_of: Confidence) -> Confidence:
    """The least sure of several."""
    order: tuple[Confidence, ...] = ("possible", "likely", "certain")
    return min(all_of, key=order.index)
