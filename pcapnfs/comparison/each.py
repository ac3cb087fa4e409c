"""Each of several clients as a side of its own: what calls and mounts tell of its settings.

Takes two sides and which clients are the same; gives for each client both sides as if it had been
alone, as far as settings, storage and the network are asked for. Which files its calls were about
is not told of it, but for those that it wrote: `files` are those of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.wire.network_path import NOTHING
from pcapnfs.comparison.moved_files import MovedFiles
from pcapnfs.comparison.side import Side
from pcapnfs.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pcapnfs.analyses.mounts.mount_options import Mount
    from pcapnfs.comparison.callers import SameClient

Sides = tuple[str, Side, Side]
"""A client by its address before, and what both sides say of it."""


def each(before: Side, after: Side, same: Iterable[SameClient]) -> tuple[Sides, ...]:
    """What both sides say of each of several clients.

    Args:
        before: The side before.
        after: The side after.
        same: The clients of both sides.
    """
    first, second = _mounts(before), _mounts(after)
    return tuple(
        (
            pair.before,
            _of_one(before, pair.before, first),
            _of_one(after, pair.after, second),
        )
        for pair in same
        if pair.before in before.of_each and pair.after in after.of_each
    )


def _mounts(side: Side) -> dict[str, list[Mount]]:
    """The mounts of each client."""
    found: dict[str, list[Mount]] = {}
    for mount in side.mounts:
        found.setdefault(mount.client, []).append(mount)
    return found


def _of_one(side: Side, client: str, mounts: Mapping[str, list[Mount]]) -> Side:
    """A side with what one client did; whose listings and files they were is not told."""
    return replace(
        side,
        habits=side.of_each[client],
        moved=side.moved_by.get(client, MovedFiles()),
        mounts=tuple(mounts.get(client, ())),
        commits=tuple(pair for pair in side.commits if pair.client == client),
        behind_pieces=tuple(pair for pair in side.behind_pieces if pair.client == client),
        times=side.times_of.get(client, {}),
        written_through=tuple(pair for pair in side.written_through if pair.client == client),
        caps=tuple(pair for pair in side.caps if pair.client == client),
        way=side.measured.path.ways.get(client, NOTHING),
        largest_listing_bytes=None,
    )
