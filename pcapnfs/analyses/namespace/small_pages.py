"""Listings that came in small pages: in more calls, one after the other, than they needed.

Takes a trace; gives for each client and server the pages (READDIR, READDIRPLUS) that another one
of the same listing followed, and those of them that were small: they brought less than half of what
the client had asked for, or of what any client could ask for. The server says with FSINFO how much
it prefers (dtpref, RFC 1813 section 3.3.19), and puts in as much as it likes; but each page costs a
round trip, since it tells where the next one begins, and some servers read the directory anew for
each.

With attributes a client also says how much of a page names may take (dircount). That is not in the
tables; clients allow an eighth of the page and more (Linux: fs/nfs/nfs3xdr.c, nfs4xdr.c). Where the
names took that, the server may have done as it was told, and the page does not count as small.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import listings
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    listings.READS,
    shares.READS,
    traffic.READS,
    columns.of(files="file path", entries="call name"),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(listings.LISTING)
"""Only these list."""

ROOM_BYTES = 4096
"""What any page may hold, if the client asks for less: a page of memory, as most clients ask for at
least."""

NAMES_SHARE = 8
"""A page has room for names, with what belongs to each, for this part of it at least."""

NAME_BYTES = 24
"""What belongs to a name in a page: fileid, cookie, the length of the name and whether another
entry follows (RFC 1813 section 3.3.17)."""

PLACES_SHOWN = 3
"""Directories that are told."""


class SmallPages(Record):
    """Those of one client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    pages: int
    """Pages that another one of the same listing followed."""
    small: Spared
    """Those of them that were small; with the part of their time that full ones would have
    spared."""
    short: int
    """Those of these that held less than half of what the client had asked for: the server made
    them small."""
    entries: float
    """The median of their entries."""
    reply_bytes: float
    """The median size of their replies, bytes."""
    requested_bytes: float
    """The median of what they were asked for, bytes."""
    places: tuple[str, ...]
    """The directories with most of them; paths, not escaped."""


def small_pages(trace: Trace) -> tuple[SmallPages, ...]:
    """Count, for each client and server with a small page, in the order of addresses."""
    if not NEEDS.met(trace):
        return ()
    listings.register(trace)
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_FOLLOWED)
        cursor.execute(_SMALL)
        rows = cursor.execute(_BY_MOUNT).fetchall()
        asked = {"places": PLACES_SHOWN, **traffic.named(trace)}
        most = cursor.execute(_PLACES, asked).fetchnumpy()
        told = paths.most(cursor, most, PLACES_SHOWN)
    mounts = traffic.mounts(trace)
    places = {mounts[mount]: of_mount for mount, of_mount in told.items()}
    found = [
        SmallPages(
            client=mounts[mount][0],
            server=mounts[mount][1],
            pages=integer(pages),
            small=spared.of_row(values),
            short=integer(short),
            entries=float(entries),
            reply_bytes=float(size),
            requested_bytes=float(requested),
            places=tuple(places.get(mounts[mount], ())),
        )
        for mount, pages, short, entries, size, requested, *values in rows
    ]
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


# What follows a page with a cookie goes on with the listing; without one it begins anew.
_FOLLOWED = f"""
    create temp table followed as
    select call, mount, directory, entries, requested, reply_bytes,
           greatest(requested, {ROOM_BYTES}) as room,
           reply_bytes < requested / 2 as short, version = 3 and not plus as names_alone
    from {listings.TABLE}
    where directory is not null and entries is not null
    qualify lead(cookie) over (
                partition by mount, directory order by call_time, call, position
            ) > 0
"""

_SMALL = f"""
    create temp table pages as
    with named as (
        select call, sum(strlen(name) + {NAME_BYTES}) as names
        from entries semi join (from followed where short and not names_alone) as short using (call)
        group by call
    )
    select followed.*,
           coalesce(reply_bytes < room / 2
                    and (not short or names_alone or names * {NAMES_SHARE} < requested), false)
               as small
    from followed left join named using (call)
"""

_BY_MOUNT = f"""
    with timed as (
        select pages.mount, small, entries, requested, reply_bytes,
               small and short as short, call_frame,
               (share * (1 - reply_bytes / room))::bigint as share,
               (pause * (1 - reply_bytes / room))::bigint as pause
        from pages join (select call, call_frame from calls) as calls using (call)
                   join (select call, share, pause from shares) as shares using (call)
    )
    select mount, count(*), count(*) filter (short), median(entries) filter (small),
           median(reply_bytes) filter (small), median(requested) filter (small),
           {spared.columns("small")}
    from timed group by mount having bool_or(small)
"""

_PLACES = f"""
    select first_value(mount) over pair as key, directory as file, times
    from (
        select client, server, directory, min(mount) as mount, count(*) as times
        from pages join {traffic.NAMED} using (mount) where small group by all
    )
    window pair as (partition by client, server order by mount)
    qualify rank() over (partition by client, server order by times desc) <= $places
"""
