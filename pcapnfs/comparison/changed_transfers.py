"""How clients move data: sizes of READs and WRITEs, and WRITEs that are on stable storage at once.

Takes two sides; gives the settings that differ, each with what says so. A setting is named only
where both sides tell it: what one of them leaves open is not known to have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.by_file.sizes import KIBIBYTE
from pcapnfs.analyses.mounts.mount_sizes import SMALL_LISTING_BYTES
from pcapnfs.comparison.cause import Cause, weaker
from pcapnfs.comparison.changed_protocol import MAINLY
from pcapnfs.comparison.said import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pcapnfs.comparison.moved_files import Sizes
    from pcapnfs.comparison.side import Side

MOST = 0.5
"""Share of the paths written on either side that must be written on both."""

GATHERED = 2
"""Times as much is written before a COMMIT, on average, by a client that gathers what is written as
by one that writes through: a program that makes sure of each piece may write larger ones than
before. A file of as few as three pieces has three times as much."""

FEW = 3
"""READs or WRITEs, or calls that begin a listing, below which there is no habit."""

ONE_PAGE = 4096
"""Bytes of a page of memory, mostly: what some kernels (Linux 5.18) begin a listing with, whatever
rsize is. Where rsize limits listings, they ask for whole pages."""

CAUSED_BY = {
    "rsize": (
        "READ",
        "a smaller read-ahead of the client, or a program that reads past its cache,",
    ),
    "wsize": ("WRITE", "a program that makes sure of each piece"),
}
"""The calls that an option limits, and what else makes them smaller."""


def transfer_size(option: str, before: Side, after: Side) -> Iterator[Cause]:
    """A size of transfers: limited on one side, exceeded or limited otherwise on the other."""
    first, second = verdicts(before, f"{option}="), verdicts(after, f"{option}=")
    names = [
        " and ".join(dict.fromkeys(each.options[0] for each in found)) for found in (first, second)
    ]
    if not any(names):
        told = tuple(_pieces(option, before, after))
        yield from told or (_listed(before, after) if option == "rsize" else ())
    if names[0] == names[1]:
        return
    if all(names):
        sure = weaker(*(each.confidence for each in (*first, *second)))
        yield Cause(option, names[0], names[1], sure, second[0].evidence)
        return
    said = (first or second)[0]
    other = after if first else before
    limit, largest = int(said.options[0].partition("=")[2]), _largest(option, other)
    if largest is None or largest <= limit:
        return
    beyond = f"larger ({units.size(largest)} were moved at once)"
    yield Cause(
        option,
        said.options[0] if first else beyond,
        beyond if first else said.options[0],
        said.confidence,
        f"{said.evidence}; the other capture has {units.size(largest)}",
    )


def _pieces(option: str, before: Side, after: Side) -> Iterator[Cause]:
    """Files of both sides that were moved in smaller pieces on one of them."""
    first, second = _moved_at_once(option, before), _moved_at_once(option, after)
    if first is None or second is None or first == second:
        return
    smaller, larger = (before, after) if first < second else (after, before)
    least, most = min(first, second), max(first, second)
    if (
        # What goes out at each write() is as large as the program makes it.
        (
            option == "wsize"
            and any(
                _waits(verdict.options) for mount in smaller.mounts for verdict in mount.verdicts
            )
        )
        # No client has a size of another kind: the program moved so much, or the client cut,
        # elsewhere.
        or least % KIBIBYTE
    ):
        return
    pieces, whole = _sizes(option, smaller).pieces, _sizes(option, larger).widest
    common = pieces & whole
    if not common or _sizes(option, smaller).calls < FEW:
        return
    words = [
        f"{option}={size}" if size == least else f"larger ({units.size(size)} were moved at once)"
        for size in (first, second)
    ]
    call, others = CAUSED_BY[option]
    yield Cause(
        option,
        words[0],
        words[1],
        "possible",
        f"{units.counted(len(common), 'file')} moved by {call}s of {units.size(least)}, one behind "
        f"the other, and none larger; the other capture has {call}s of {units.size(most)} for the "
        f"same; {others} does that as well",
    )


def _listed(before: Side, after: Side) -> Iterator[Cause]:
    """Listings of NFSv3 that one side asked for in smaller pieces: on Linux, rsize limits them.

    Some kernels ask for more when a listing goes on, so that only calls that begin one tell. What
    servers prefer differs, so that it must be one on both sides, by its address and by what it
    allows; and so do clients.
    """
    if any(side.habits.listings_begun < FEW for side in (before, after)):
        return
    limit = before.habits.max_read_bytes
    if limit is None or limit != after.habits.max_read_bytes:
        return
    first, second = before.habits.listing_bytes, after.habits.listing_bytes
    if first is None or second is None:
        return
    least, most = min(first, second), max(first, second)
    smaller = before if first < second else after
    if (
        not ONE_PAGE < least < SMALL_LISTING_BYTES <= most
        or least >= limit
        or least % ONE_PAGE
        or (smaller.habits.largest_read_bytes or 0) > least
        or not set(before.servers) & set(after.servers)
        or not before.callers.keys() & after.callers.keys()
    ):
        return
    words = [
        f"rsize={size}" if size == least else f"larger ({units.size(size)} were asked for at once)"
        for size in (first, second)
    ]
    calls = [side.habits.listings_begun for side in (before, after)]
    yield Cause(
        "rsize",
        words[0],
        words[1],
        "possible",
        f"{units.counted(calls[0], 'listing')} began with {units.size(first)} before, "
        f"{units.count(calls[1])} with {units.size(second)} after, and no READ asked for more than "
        f"{units.size(least)} {'before' if smaller is before else 'after'}; the server allows "
        f"{units.size(limit)} on both sides; another kernel of the client, or another size that "
        "the server prefers for listings, does that as well",
    )


def _moved_at_once(option: str, side: Side) -> int | None:
    """The most that a READ, or a WRITE, asked for."""
    habits = side.habits
    return habits.largest_write_bytes if option == "wsize" else habits.largest_read_bytes


def _sizes(option: str, side: Side) -> Sizes:
    return side.moved.writes if option == "wsize" else side.moved.reads


def _waits(options: Sequence[str]) -> bool:
    """Whether one of these options has each write() wait for the server."""
    return any(option == "noac" or "sync" in option.split(",") for option in options)


def _largest(option: str, side: Side) -> int | None:
    """The most that was asked for at once: on Linux, rsize also limits listings."""
    if option == "wsize":
        return side.habits.largest_write_bytes
    sizes = (side.habits.largest_read_bytes, side.largest_listing_bytes)
    return max((size for size in sizes if size is not None), default=None)


def stable_writes(before: Side, after: Side) -> Iterator[Cause]:
    """Whether data is on stable storage when a WRITE is answered."""
    shares = []
    for side in (before, after):
        writes = side.habits.writes_stable + side.habits.writes_unstable
        if writes < FEW:
            return
        shares.append(side.habits.writes_stable / writes)
    if not min(shares) <= 1 - MAINLY or not max(shares) >= MAINLY:
        return
    words = ["stable" if share >= MAINLY else "unstable, with COMMIT" for share in shares]
    yield Cause(
        "stable_writes",
        words[0],
        words[1],
        "certain",
        f"{units.share(shares[0])} of the WRITEs were answered stable before, "
        f"{units.share(shares[1])} after",
    )


def pieces_committed(before: Side, after: Side) -> Iterator[Cause]:
    """`sync` where a COMMIT makes sure of each piece, as Linux does with what does not fit a WRITE.

    The other side wrote the same files, and more of them before each COMMIT than such a piece has.
    """
    if bool(before.behind_pieces) == bool(after.behind_pieces) or any(
        _waits(verdict.options)
        for side in (before, after)
        for mount in side.mounts
        for verdict in mount.verdicts
    ):
        return  # Both or none do so; or what is known of an option says it.
    through, other = (before, after) if before.behind_pieces else (after, before)
    places = [pair.places for pair in through.behind_pieces]
    pieces = sum(each.pieces for each in places)
    piece_bytes = sum(each.piece_bytes for each in places) / pieces
    commits = sum(pair.commits for pair in other.commits)
    if not commits or any(pair.places.pieces for pair in other.commits):
        return
    gathered_bytes = sum(pair.written_bytes for pair in other.commits) / commits
    if gathered_bytes < GATHERED * piece_bytes or not _written_on_both(through, other):
        return
    words = ["sync" if side is through else "no sync" for side in (before, after)]
    yield Cause(
        "sync",
        words[0],
        words[1],
        "possible",
        f"{units.count(pieces)} of "
        f"{units.counted(sum(pair.commits for pair in through.behind_pieces), 'COMMIT')} "
        f"{'before' if through is before else 'after'} came behind pieces of "
        f"{units.size(piece_bytes)}, and the file's next WRITE only after the reply; on the other "
        f"side {units.size(gathered_bytes)} were written before a COMMIT, to the same files; "
        "programs that open with O_SYNC or O_DSYNC, or fsync after each write, do the same",
    )


def gathers(through: Side, other: Side) -> bool:
    """Whether the other client gathers what is written: in WRITEs that need a COMMIT, or of more.

    A small file it sends in one WRITE that needs none, which is larger than the pieces in which
    one that writes through sends the same file.
    """
    pieces, gathered = through.habits.largest_write_bytes, other.habits.largest_write_bytes
    return other.habits.writes_unstable >= FEW or (
        pieces is not None
        and gathered is not None
        and pieces < gathered
        and _written_on_both(through, other) > 0
    )


def _written_on_both(before: Side, after: Side) -> int:
    """Paths that were written on both sides; 0 where those are not most of them."""
    common = len(before.moved.written & after.moved.written)
    return (
        common if common >= MOST * max(len(before.moved.written), len(after.moved.written)) else 0
    )
