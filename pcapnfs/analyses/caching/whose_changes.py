"""Which changes of objects are known to be somebody else's.

Takes a connection with the tables `mounts` and `learned` (`change_ids`); gives those rows of
`learned` whose change the walk took for somebody else's, though nothing proves that anybody made
it. A change-ID also moves by itself: servers keep it in what they also count up for access times,
for blocks that are laid out after a WRITE was answered, or as a file is closed; or tell another
one after a modification than the object gets. An object that somebody changed shows it in its
times as well: time_metadata and ctime move with every modification (RFC 8881 section 5.8.2, RFC
1813 section 2.6), and never back. So nothing is said where

- the change attribute moved, and ctime, mtime and size did not;
- ctime went back, or, where no times were told, the change attribute: NFS4_CHANGE_TYPE_UNDEFINED
  apart, its values never do (RFC 7862 section 12.2.3);
- ctime is of a moment at which an earlier call of the client's own was under way that may have
  moved it, and the size is the same;
- no times were told, and this server's change attribute was seen to move by itself;
- what was told has nothing that can be compared, as with a mount of NFSv3 and one of NFSv4.

It is somebody else's all the same where the capture has another client's modification of the object
in that time.

To compare what was told before and after each change costs as much as the walk did. Of a server at
which there are very many, some of the objects tell whether the others are worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.service_time import NANOSECONDS
from pcapnfs.analyses.asking.texts import among

if TYPE_CHECKING:
    import duckdb

READS = columns.of(
    calls="call client server mount callback stability call_time reply_time",
    operations="call op executed stability file directory target_directory ctime",
    files="file identity",
)
"""The columns that the queries here read, besides those of what replies said."""

TICK_S = 0.016
"""How coarse a server's times are at most: 15.6 ms with Windows, 10 ms and less with Linux."""

LOOKED_AT = 10_000
"""Changes of a server that are looked at in any case, or somewhat more: of more, those of some of
the objects."""

WORTH = 0.01
"""Where a smaller share of these would be taken back, all stay what the walk took them for."""

TOUCHING = (
    "READ", "READ_PLUS", "READDIR", "READDIRPLUS", "READLINK", "CLOSE", "OPEN_DOWNGRADE",
    "DELEGRETURN", "LAYOUTCOMMIT", "LAYOUTRETURN",
)  # fmt: skip
"""Operations that modify nothing, but at which servers set access times, or write down times of
what was modified before."""

_TICK_NS = int(TICK_S * NANOSECONDS)


def review(cursor: duckdb.DuckDBPyConnection, *, raw: str, modifying: tuple[str, ...]) -> None:
    """Make the table `unproven`: `row` of `learned`, and `finding`, `unknown` or `unchanged`.

    Args:
        cursor: A connection with `mounts` and `learned`.
        raw: SQL: a `with` clause with `raw`, what replies said of objects.
        modifying: The values of `stability` of what may modify an object.
    """
    parts.whole(cursor)
    cursor.execute(_PARTS, {"looked_at": LOOKED_AT})
    _compare(cursor, raw, modifying)
    if cursor.execute(_WORTH, {"least": WORTH}).fetchone() is not None:
        _compare(cursor, raw, modifying)
    cursor.execute(_NOT_WORTH)
    if cursor.execute("select 1 from unproven limit 1").fetchone() is not None:
        cursor.execute(_PROVEN)


def _compare(cursor: duckdb.DuckDBPyConnection, raw: str, modifying: tuple[str, ...]) -> None:
    """Make the table `unproven` of changes of those objects that the table `looked_at` names."""
    cursor.execute(_SUSPECTS)
    cursor.execute(f"create or replace temp table telling as {raw} {_TELLING}")
    cursor.execute(_compared(modifying))
    cursor.execute(_acts(modifying))
    cursor.execute(_UNPROVEN)


# Of a server, every so manyth object is looked at.
_PARTS = """
    create temp table looked_at as
    select mount, client, server,
           (sum(changes) over (partition by server) // $looked_at + 1)::ubigint as each
    from (
        select mount, count(*) as changes from learned
        where finding = 'other'::finding group by mount
    ) join mounts using (mount)
"""

_WORTH = """
    update looked_at set each = 1
    from (
        select suspects.server,
               count(unproven.row) >= $least * count(*) as many
        from suspects left join unproven on suspects.row = unproven.row
        group by suspects.server
    ) as found
    where looked_at.server = found.server and many and each > 1
    returning looked_at.server
"""

_NOT_WORTH = """
    delete from unproven where row in (
        select row from suspects join looked_at using (mount) where each > 1
    )
"""

# What the walk compared for each change: what it knew, and what it found.
_SUSPECTS = """
    create or replace temp table suspects as
    with chosen as materialized (
        select learned.rowid as row, mount, client, server, file, call, position, modified,
               call_time, reply_time, known_call, known_position, known_time
        from learned join looked_at using (mount)
        where finding = 'other'::finding and (each = 1 or hash(file) % each = 0)
    )
    select chosen.*, identity, calls.call_time as known_call_time
    from chosen join files using (file) join calls on calls.call = known_call
"""

# A listing may have a file twice, by two names.
_TELLING = """
    select call, position, file, any_value(change) as change, any_value(ctime) as ctime,
           any_value(mtime) as mtime, any_value(size) as size,
           any_value(before_change) as before_change, any_value(before_ctime) as before_ctime,
           any_value(before_mtime) as before_mtime, any_value(before_size) as before_size
    from raw
    where file in (select file from suspects)
          and call in (select call from suspects union all select known_call from suspects)
    group by call, position, file
"""


def _compared(modifying: tuple[str, ...]) -> str:
    """SQL: how each suspect's change shows; `ahead` is the server's clock before the capture's.

    No time that a server sets lies in its future, so that it is ahead by what the latest is beyond
    the reply that tells it. Times of a capture may be any number.
    """
    return f"""
        create or replace temp table compared as
        with clocks as (
            select server, max(ctime::hugeint - reply_time) as ahead
            from operations join calls using (call)
            where {among("calls.stability", modifying)} and not callback
                  and reply_time is not null and ctime is not null
                  and server in (select server from suspects)
            group by server
        ),
        pairs as (
            select suspects.*, known.change as known_change, known.ctime as known_ctime,
                   known.mtime as known_mtime, known.size as known_size,
                   if(modified, found.before_change, found.change) as change,
                   if(modified, found.before_ctime, found.ctime) as ctime,
                   if(modified, found.before_mtime, found.mtime) as mtime,
                   if(modified, found.before_size, found.size) as size
            from suspects
                 left join telling as found
                 on found.call = suspects.call and found.position = suspects.position
                    and found.file = suspects.file
                 left join telling as known
                 on known.call = known_call and known.position = known_position
                    and known.file = suspects.file
        )
        select row, client, server, identity, call_time, reply_time, known_call_time,
               change is null and ctime is null as untold,
               change is not null and known_change is not null as numbered,
               change < known_change as number_back,
               ctime is not null and known_ctime is not null as timed,
               ctime < known_ctime as time_back,
               coalesce(size = known_size, true) as as_long,
               as_long and ctime = known_ctime and coalesce(mtime = known_mtime, true) as still,
               known_time + ahead - known_ctime > {_TICK_NS} as settled,
               ctime - ahead as moment
        from pairs left join clocks using (server)
    """


def _acts(modifying: tuple[str, ...]) -> str:
    """SQL: what clients did to these objects, by which their times may have moved."""
    places = ("file", "directory", "target_directory")
    about = " or ".join(f"{place} in (select file from alike)" for place in places)
    return f"""
        create or replace temp table acts as
        with alike as (
            select file, identity from files
            where identity in (select identity from suspects)
        ),
        done as (
            select call, {among("stability", modifying)} as modifying,
                   unnest([{", ".join(places)}]) as file
            from operations
            where executed and ({among("stability", modifying)} or {among("op", TOUCHING)})
                  and ({about})
        )
        select client, server, identity, call_time, reply_time, bool_or(modifying) as modifying
        from done join alike using (file) join calls using (call)
        where not callback and reply_time is not null
        group by call, client, server, identity, call_time, reply_time
    """


_UNPROVEN = f"""
    create or replace temp table unproven as
    with changes as (
        select *, server in (
                   select server from compared where numbered and still and settled
               ) as restless
        from compared
    ),
    own as (
        select client, server, identity, call_time - {_TICK_NS} as since,
               max(reply_time) over earlier as until
        from acts
        window earlier as (partition by client, server, identity order by call_time
                           rows between unbounded preceding and current row)
    ),
    judged as (
        select changes.*,
               case when still and not numbered then 'unchanged'
                    when still or timed and (time_back or as_long and until >= moment)
                    then 'unknown'
                    when timed or untold and not restless then null
                    when number_back or not numbered or restless then 'unknown' end as finding
        from changes asof left join own
             on changes.client = own.client and changes.server = own.server
                and changes.identity = own.identity
                and least(moment, changes.call_time - {_TICK_NS + 1}) >= own.since
    )
    select row, client, server, identity, reply_time, known_call_time, finding::finding as finding
    from judged where finding is not null
"""

_PROVEN = """
    delete from unproven where row in (
        select row
        from unproven join acts
             on acts.server = unproven.server and acts.identity = unproven.identity
                and acts.client <> unproven.client
                and acts.call_time <= unproven.reply_time
                and acts.reply_time >= known_call_time
        where acts.modifying
    )
"""
