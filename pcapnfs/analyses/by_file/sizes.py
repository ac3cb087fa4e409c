"""How large the files are, held against what one packet or one call carries.

Bins double from an eighth of one frame's payload on: at an MTU of 1500, up to 184, 368, 736, 1472,
2944 … bytes. The MTU is that of the handshakes; the read and write size in use are those of the
calls where a file took more than the largest of them, in whole KiB as rsize and wsize are, and the
next call went on where one of that size ended; else what the server offers. A database writes pages
of one size here and there, or one after the other but each made sure of: that is no wsize. Where
all NFS goes by RDMA no file is held against a frame: its adapters cut messages by an MTU of their
own, and a file is no cheaper for fitting into one packet. The bins are the same there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.owners import OBJECTS
from pcapnfs.analyses.asking.values import integer, whole
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.data import transfer_sizes
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    transfer_sizes.READS,
    transfer_sizes.WENT_ON_READS,
    _untold.READS,
    columns.of(
        calls="connection program callback",
        files="file identity role size listed_only",
        connections="connection client transport segment_size",
    ),
)
"""The columns that the queries here read."""

USUAL_MTU = 1500
"""Of Ethernet, where no handshake tells."""

JUMBO_MTU = 9000
"""Of Ethernet with jumbo frames."""

HEADERS = 28
"""Of IPv4 and UDP: an MTU of 1500 leaves the 1472 bytes that people know from ping."""

KIBIBYTE = 1024
"""Clients round rsize and wsize to it; an application's own small writes seldom are."""

BINS_BELOW_A_FRAME = 3
"""Doublings from the first bin to one frame's payload."""


class SizeBin(Record):
    """Files of a range of sizes."""

    up_to_bytes: int
    """The largest size of the bin, bytes; the smallest is one more than the bin's before, or 0."""
    files: int
    """Files in it."""
    share: float
    """Their share of all files of known size, 0 to 1."""
    share_up_to: float
    """The share of the files in this bin and all before."""


class Fit(Record):
    """How many files fit a certain amount."""

    limit_bytes: int | None
    """The amount, bytes; None when the capture does not tell it, or there is none."""
    source: str
    """Where it is from: `handshake`, `assumed`, `calls`, `server` or `unknown`; `rdma` for frames
    where all NFS goes by RDMA, which has none of TCP or UDP."""
    files: int | None
    """Files that are not larger; None when the amount is not known, or no size."""
    share: float | None
    """Their share of all files of known size, 0 to 1; None when there is none, or the amount is not
    known."""


NO_FRAME = Fit(None, "rdma", None, None)
"""What nothing is held against where all NFS goes by RDMA."""


class Sizes(Record):
    """The sizes of the regular files, as last seen."""

    files: int | None
    """Regular files of known size; None when no regular file is known, but there are calls, or
    objects, that do not tell."""
    unknown: int | None
    """Regular files whose size the capture does not tell; in none of the other numbers. None
    likewise."""
    empty: int | None
    """Files of 0 bytes; they are in the first bin. None when no size is known of files that there
    are, or may be."""
    total_bytes: int | None
    """All sizes together, bytes; None likewise."""
    mean_bytes: float | None
    """Arithmetic mean; None without files."""
    p50_bytes: float | None
    """Median, exact and interpolated; None without files."""
    p95_bytes: float | None
    """95th percentile, exact and interpolated; None without files."""
    max_bytes: int | None
    """Largest; None without files."""
    mtu_bytes: int | None
    """The MTU that the frame's payload follows from, bytes; None where all NFS goes by RDMA."""
    bins: tuple[SizeBin, ...]
    """From the first bin to that of the largest file, also the empty ones between."""
    frame: Fit
    """What one frame carries."""
    jumbo_frame: Fit
    """What one jumbo frame carries."""
    read: Fit
    """What one READ brings (rsize)."""
    write: Fit
    """What one WRITE takes (wsize)."""


def sizes(trace: Trace, *, listed_too: bool = False) -> Sizes:
    """Spread the regular files over bins of sizes.

    Args:
        trace: The trace.
        listed_too: Also files known from listings alone, which no call addressed.
    """
    framed = not _by_rdma_alone(trace)
    mtu, mtu_source = _mtu(trace) if framed else (USUAL_MTU, "rdma")
    payload = mtu - HEADERS
    (rsize, rsize_source), (wsize, wsize_source) = _transfer_sizes(trace)
    population = f"""
        with {OBJECTS},
        regular as (
            select size from objects where role = 'file' and ($listed_too or not listed_only)
        )
    """
    (row,) = trace.rows(
        f"""
        {population}
        select count(size), count(*) - count(size), count(*) filter (size = 0), sum(size),
               avg(size), quantile_cont(size, 0.5), quantile_cont(size, 0.95), max(size),
               count(*) filter (size <= $frame), count(*) filter (size <= $jumbo),
               count(*) filter (size <= $rsize), count(*) filter (size <= $wsize)
        from regular
        """,
        {
            "listed_too": listed_too,
            "frame": payload,
            "jumbo": JUMBO_MTU - HEADERS,
            "rsize": rsize,
            "wsize": wsize,
        },
    )
    files, unknown, empty, total, mean, p50, p95, largest = row[:8]
    count = integer(files)
    some = count + integer(unknown)
    # Whether there are files, and whether any of those that there are, or may be, has a size.
    lacks = untold(trace)
    unless = not some and (lacks.unplaced or _untyped(trace))
    sizeless = not count and (some > 0 or unless)
    return Sizes(
        files=known(count, unless=unless),
        unknown=known(integer(unknown), unless=unless),
        empty=known(integer(empty), unless=sizeless),
        total_bytes=known(integer(total), unless=sizeless),
        mean_bytes=None if mean is None else float(mean),
        p50_bytes=None if p50 is None else float(p50),
        p95_bytes=None if p95 is None else float(p95),
        max_bytes=whole(largest),
        mtu_bytes=mtu if framed else None,
        bins=_bins(trace, population, payload, count, listed_too=listed_too),
        frame=_fit(payload, mtu_source, row[8], count, sizeless) if framed else NO_FRAME,
        jumbo_frame=_fit(JUMBO_MTU - HEADERS, "assumed", row[9], count, sizeless)
        if framed
        else NO_FRAME,
        read=_fit(rsize, rsize_source, row[10], count, sizeless),
        write=_fit(wsize, wsize_source, row[11], count, sizeless),
    )


def _untyped(trace: Trace) -> bool:
    """Whether calls addressed objects whose type the capture does not tell."""
    return bool(
        trace.rows("select 1 from files where role = 'unknown' and not listed_only limit 1")
    )


def _bins(
    trace: Trace, population: str, payload: int, files: int, *, listed_too: bool
) -> tuple[SizeBin, ...]:
    rows = trace.rows(
        f"""
        {population}
        select case when size <= $payload // {1 << BINS_BELOW_A_FRAME} then 0
                    else ceil(log2(size::double * {1 << BINS_BELOW_A_FRAME} / $payload))::int end,
               count(*)
        from regular where size is not null group by 1
        """,
        {"listed_too": listed_too, "payload": payload},
    )
    counts = {integer(place): integer(count) for place, count in rows}
    bins: list[SizeBin] = []
    so_far = 0
    for place in range(max(counts, default=-1) + 1):
        so_far += counts.get(place, 0)
        bins.append(
            SizeBin(
                up_to_bytes=(payload << place) >> BINS_BELOW_A_FRAME,
                files=counts.get(place, 0),
                share=counts.get(place, 0) / files,
                share_up_to=so_far / files,
            )
        )
    return tuple(bins)


def has_rdma(trace: Trace) -> bool:
    """Whether any connection is RDMA: most captures have none."""
    return bool(trace.rows("select 1 from connections where transport = 'RDMA' limit 1"))


def _by_rdma_alone(trace: Trace) -> bool:
    """Whether all connections with calls of NFS are RDMA; MOUNT and others may go by TCP."""
    return has_rdma(trace) and not trace.rows(
        f"""
        select 1 from calls semi join (
            select connection from connections where transport <> 'RDMA'
        ) using (connection)
        where program = {NFS} and not callback limit 1
        """
    )


def _mtu(trace: Trace) -> tuple[int, str]:
    """The MTU of most connections that tell: the segment size with the headers of IP and TCP."""
    rows = trace.rows(
        """
        select segment_size + case when contains(client, ':') then 60 else 40 end as mtu
        from connections where segment_size > 0
        group by mtu order by count(*) desc, mtu limit 1
        """
    )
    mtu = integer(rows[0][0]) if rows else 0
    return (mtu, "handshake") if mtu > 2 * HEADERS else (USUAL_MTU, "assumed")


def _transfer_sizes(trace: Trace) -> tuple[tuple[int | None, str], tuple[int | None, str]]:
    """What one READ and one WRITE carries."""
    moved, allowed = transfer_sizes.moved(trace), transfer_sizes.allowed(trace)
    found: list[tuple[int | None, str]] = []
    for reading, servers in (
        (True, [each.read_bytes for each in allowed]),
        (False, [each.write_bytes for each in allowed]),
    ):
        mine = [each for each in moved if each.reading == reading]
        largest = _most(each.largest_placed_bytes for each in mine)
        reach = _most(each.reach_bytes for each in mine)
        server = _most(servers)
        if may_limit(largest, reach) and _limits(trace, largest or 0, server, reading=reading):
            found.append((largest, "calls"))
        else:
            found.append(_offered(server))
    read, write = found
    return read, write


def _most(values: Iterable[int | None]) -> int | None:
    """The largest of those that are known."""
    return max((value for value in values if value is not None), default=None)


def may_limit(largest: int | None, reach: int | None) -> bool:
    """Whether files took more than the largest call, which has a size that a mount can have."""
    if not largest or reach is None:
        return False
    return reach > largest and largest % KIBIBYTE == 0


def _limits(trace: Trace, largest: int, server: int | None, *, reading: bool) -> bool:
    """Whether the largest call was as large as any could be."""
    # What the server does not say, nothing but the largest call tells.
    return server in {None, largest} or transfer_sizes.went_on(trace, largest, reading=reading)


def _offered(server: int | None) -> tuple[int | None, str]:
    """What the server offers, if it says so."""
    return (None, "unknown") if server is None else (server, "server")


def _fit(limit: int | None, source: str, files: object, all_files: int, sizeless: bool) -> Fit:
    if limit is None:
        return Fit(None, "unknown", None, None)
    count = integer(files)
    share = count / all_files if all_files else None
    return Fit(limit, source, known(count, unless=sizeless), share)
