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
        (option == "wsize" and _goes_out_at_once(smaller))
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


def _goes_out_at_once(side: Side) -> bool:
    """Whether data goes out at each write(), by an option, or by what a rule says."""
    return bool(side.written_through or side.behind_pieces) or any(
        _waits(verdict.options) for mount in side.mounts for verdict in mount.verdicts
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
    """Whether data is on stable storage when a WRITE is answered.

    WRITEs tell it, or what they brought, where the same files were written: a client sends a small
    file in one WRITE that needs no COMMIT, however it is mounted, and many of these beside a large
    file are most of its WRITEs.
    """
    habits = before.habits, after.habits
    if any(each.writes_stable + each.writes_unstable < FEW for each in habits):
        return
    whole, shares = (
        "the WRITEs",
        [_part(each.writes_stable, each.writes_unstable) for each in habits],
    )
    if not _apart(shares) and _written_on_both(before, after):
        whole = "what WRITEs brought"
        shares = [_part(each.stable_bytes, each.unstable_bytes) for each in habits]
    if not _apart(shares):
        return
    words = ["stable" if share >= MAINLY else "unstable, with COMMIT" for share in shares]
    yield Cause(
        "stable_writes",
        words[0],
        words[1],
        "certain",
        f"{units.share(shares[0])} of {whole} {'were' if whole == 'the WRITEs' else 'was'} "
        f"answered stable before, {units.share(shares[1])} after",
    )


def _part(stable: int, unstable: int) -> float:
    """The stable part; of nothing none is known to be."""
    return stable / (stable + unstable) if stable + unstable else 0.5


def _apart(shares: Sequence[float]) -> bool:
    """Whether nearly all is stable on one side, and hardly any on the other."""
    return min(shares) <= 1 - MAINLY and max(shares) >= MAINLY


def written_through(before: Side, after: Side) -> Iterator[Cause]:
    """`sync` where WRITEs of one side wait for stable storage one after the other.

    In fewer files than tell the option itself it may be a program that opens them so: then it is
    possible, if the other side wrote the same files, and gathered what it wrote.
    """
    if bool(before.written_through) == bool(after.written_through) or _known_to_wait(before, after):
        return
    through, other = (before, after) if before.written_through else (after, before)
    if other.behind_pieces or not _written_on_both(through, other) or not gathers(through, other):
        return
    calls = sum(pair.sync.calls for pair in through.written_through)
    continued = sum(pair.writes.in_runs for pair in through.written_through)
    files = sum(pair.sync_files for pair in through.written_through)
    yield _sync(
        through is before,
        f"{units.count(calls)} of {units.counted(continued, 'WRITE')} that continue one another "
        f"asked for stable storage {'before' if through is before else 'after'}, in "
        f"{units.counted(files, 'file')}; on the other side what was written to the same files was "
        "gathered",
    )


def _sync(first: bool, evidence: str) -> Cause:
    words = "sync", "no sync"
    return Cause(
        "sync",
        *(words if first else words[::-1]),
        "possible",
        f"{evidence}; programs that open with O_SYNC or O_DSYNC, or fsync after each write, do the "
        "same",
    )


def _known_to_wait(before: Side, after: Side) -> bool:
    """Whether what is known of an option says of either side that each write() waits."""
    return any(
        _waits(verdict.options)
        for side in (before, after)
        for mount in side.mounts
        for verdict in mount.verdicts
    )


def pieces_committed(before: Side, after: Side) -> Iterator[Cause]:
    """`sync` where a COMMIT makes sure of each piece, as Linux does with what does not fit a WRITE.

    The other side wrote the same files, and more of them before each COMMIT than such a piece has.
    """
    if bool(before.behind_pieces) == bool(after.behind_pieces) or _known_to_wait(before, after):
        return
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
    yield _sync(
        through is before,
        f"{units.count(pieces)} of "
        f"{units.counted(sum(pair.commits for pair in through.behind_pieces), 'COMMIT')} "
        f"{'before' if through is before else 'after'} came behind pieces of "
        f"{units.size(piece_bytes)}, and the file's next WRITE only after the reply; on the other "
        f"side {units.size(gathered_bytes)} were written before a COMMIT, to the same files",
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
