"""Each of several clients as a side of its own: what calls and mounts tell of its settings.

Takes two sides and which clients are the same; gives for each client both sides as if it had been
alone, as far as settings, storage and the network are asked for. Which files its calls were about
is not told of it, but for those that it wrote: `files` are those of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from pcapnfs.analyses.wire.network_path import NOTHING
from pcapnfs.comparison.moved_files import MovedFiles
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pcapnfs.comparison.callers import SameClient


class _OfClient(Protocol):
    """A row about one client."""

    @property
    def client(self) -> str: ...


Row = TypeVar("Row", bound=_OfClient)

Sides = tuple[str, Side, Side]
"""A client by its address before, and what both sides say of it."""


def each(before: Side, after: Side, same: Iterable[SameClient]) -> tuple[Sides, ...]:
    """What both sides say of each of several clients.

    Args:
        before: The side before.
        after: The side after.
        same: The clients of both sides.
    """
    first, second = _of_one(before), _of_one(after)
    return tuple(
        (pair.before, first(pair.before), second(pair.after))
        for pair in same
        if pair.before in before.of_each and pair.after in after.of_each
    )


def _of_one(side: Side) -> Callable[[str], Side]:
    """Gives a side with what one client did; whose listings and files they were is not told."""
    mounts, caps = _by_client(side.mounts), _by_client(side.caps)
    commits, behind_pieces = _by_client(side.commits), _by_client(side.behind_pieces)
    written_through = _by_client(side.written_through)
    return lambda client: replace(
        side,
        habits=side.of_each[client],
        moved=side.moved_by.get(client, MovedFiles()),
        mounts=mounts(client),
        commits=commits(client),
        behind_pieces=behind_pieces(client),
        times=side.times_of.get(client, {}),
        written_through=written_through(client),
        caps=caps(client),
        way=side.measured.path.ways.get(client, NOTHING),
        largest_listing_bytes=None,
    )


def _by_client(rows: Iterable[Row]) -> Callable[[str], tuple[Row, ...]]:
    """Gives those of a client: of many clients each has few, so that they are not sought."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.client, []).append(row)
    return lambda client: tuple(found.get(client, ()))
