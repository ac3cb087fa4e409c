"""Which rsize and wsize a client's transfers and listings let one infer.

Takes what was counted of a client and a server (`mount_evidence`); gives verdicts, as
`mount_options` does of the other options.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH, FEW, MountVerdict, concluded

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_evidence import MountEvidence

SMALL_LISTING_BYTES = 32768
"""Listings ask for less only when rsize or the server says so (Linux: 8 pages, later more)."""

SMALL_READ_BYTES = 32768
"""Larger READs may be as large as the client's read-ahead begins, whatever rsize is."""

BY_PROGRAM = 0.8
"""Share of the READs that others go on after, from which on the program waits for each: it has cut
them, and reads past the cache (O_DIRECT, libraries). A client that reads ahead has several under
way: in the laboratory, with rsize of 4 to 64 KiB, a fifth were waited for at most."""

SMALL_WRITE_BYTES = 65536
"""Larger WRITEs may be as large as what had been written when the client sent it."""

EAGER = "write=eager"
"""The option with which the client sends what a program writes at once, whatever wsize is."""


def read_size(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`rsize` limits READ and, on Linux, what a listing asks for."""
    read, listing = seen.read_bytes, seen.listing_bytes
    if (
        read is not None
        and read <= SMALL_READ_BYTES
        and _limited(read, seen.max_read_bytes, seen.reads_continued, ENOUGH)
        and seen.reads_waited_for < BY_PROGRAM * seen.reads_continued
    ):
        if listing is None or listing <= read:
            yield concluded(
                (f"rsize={read}",),
                "likely" if listing == read and seen.listings_continued else "possible",
                f"no READ asked for more than {units.size(read)}, "
                f"{units.count(seen.reads_continued)} of that size were continued by the next"
                f"{_allowed(seen.max_read_bytes)}",
                seen.frames["read"],
            )
    elif listing is not None and _small_listing(seen, listing):
        yield concluded(
            (f"rsize={listing}",),
            "likely" if seen.listings_continued >= FEW else "possible",
            f"listings asked for {units.size(listing)} at a time, though "
            f"{units.counted(seen.listings_continued, 'call')} had to go on; no READ or WRITE was "
            f"larger{_allowed(seen.max_read_bytes)}",
            seen.frames["listing"],
        )


def _small_listing(seen: MountEvidence, listing: int) -> bool:
    """Whether listings were in small pieces, and transfers as large but no larger."""
    largest = max(seen.read_bytes or 0, seen.write_bytes or 0)
    return (
        listing < SMALL_LISTING_BYTES
        and seen.listings_continued > 0
        and seen.reads + seen.writes >= ENOUGH
        and largest == listing
        and largest != seen.max_read_bytes
    )


def write_size(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`wsize` limits WRITE: data that the client may send in one piece goes out in several.

    With `write=eager` (Linux 5.12, nfs(5)) so it does in the pieces that programs write.
    """
    write, listing = seen.write_bytes, seen.listing_bytes
    if write is None:
        return
    if write <= SMALL_WRITE_BYTES and _limited(
        write, seen.max_write_bytes, seen.writes_continued, FEW
    ):
        lazy = _gathers(seen)
        yield concluded(
            (f"wsize={write}",) if lazy else (f"wsize={write}", EAGER),
            "likely" if lazy and in_many_pieces(seen) else "possible",
            f"no WRITE brought more than {units.size(write)}, "
            f"{units.count(seen.writes_continued)} of that size were continued by the next"
            f"{_allowed(seen.max_write_bytes)}",
            seen.frames["write"],
        )
    elif listing == write and _small_listing(seen, write) and seen.writes >= ENOUGH:
        yield concluded(
            (f"wsize={write}",),
            "possible",
            f"none of {units.counted(seen.writes, 'WRITE')} brought more than {units.size(write)}, "
            f"which is also what listings asked for{_allowed(seen.max_write_bytes)}",
            seen.frames["write"],
        )


def in_many_pieces(seen: MountEvidence) -> bool:
    """Whether enough WRITEs went on at a size for which an option is the only common reason."""
    return bool(seen.max_write_bytes) and seen.writes_continued >= ENOUGH


def _gathers(seen: MountEvidence) -> bool:
    """Whether the client shows that it keeps what is written until there is enough to send.

    Only then it sends a file that is no larger than a WRITE in one that asks for stable storage. Or
    its READs or listings are limited to the same size: a mount or a client has one for all.
    """
    same = f"rsize={seen.write_bytes}"
    return seen.writes_alone >= FEW or any(same in each.options for each in read_size(seen))


def _limited(size: int, allowed: int | None, continued: int, needed: int) -> bool:
    """Whether transfers went on at a size that is not the server's limit.

    Where the limit is not known, many of them are needed.
    """
    if allowed is None:
        return continued >= ENOUGH
    return size < allowed and continued >= needed


def _allowed(limit: int | None) -> str:
    if limit is None:
        return "; what the server allows was not captured"
    return f"; the server allows {units.size(limit)}"
