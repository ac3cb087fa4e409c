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
- ctime may be of a moment at which an earlier call of the client's own was under way that may have
  moved it, however far, within what calls allow, the server's clock is from the capture's, and the
  size is the same;
- while the call that tells it was under way, the server asked this client what it had made of the
  object that was delegated to it to write (CB_GETATTR), and set the times by the answer (RFC 8881
  section 10.4.3), as Linux does where a client gives a delegation back: what it made is its own;
- no times were told, and this server's change attribute was seen to move by itself;
- what was told has nothing that can be compared, as with a mount of NFSv3 and one of NFSv4.

It is somebody else's all the same where the capture has another client's modification of the object
in that time.

To compare what was told before and after each change costs as much as the walk did. Of a server at
which there are very many, those of some time tell whether the others are worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.bitmaps import holds
from pcapnfs.analyses.asking.texts import among
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client server mount callback stability call_time reply_time",
    operations="call op executed stability file directory target_directory attributes ctime",
    files="file identity",
)
"""The columns that the queries here read, besides those of what replies said."""

TICK_S = 0.016
"""How coarse a server's times are at most: 15.6 ms with Windows, 10 ms and less with Linux."""

LOOKED_AT = 40_000
"""Changes of a server that are looked at in any case: of more, those between calls in the middle
that have about as many."""

WORTH = 0.01
"""Where a smaller share of these would be taken back, all stay what the walk took them for."""

TELLING = 100
"""So many of these tell that."""

TOUCHING = (
    "READ", "READ_PLUS", "READDIR", "READDIRPLUS", "READLINK", "CLOSE", "OPEN_DOWNGRADE",
    "DELEGRETURN", "LAYOUTCOMMIT", "LAYOUTRETURN",
)  # fmt: skip
"""Operations that modify nothing, but at which servers set access times, or write down times of
what was modified before."""

SETTING = ("WRITE", "SETATTR", "MKDIR", "SYMLINK", "MKNOD", "LINK", "ALLOCATE", "DEALLOCATE")
"""Operations that set ctime of what they are about, each time that they succeed: not so those that
may find the object as it is to be (OPEN and CREATE of a file that is there), and COMMIT."""

OWN_TIME = f"not coalesce({holds(84, 85)}, false)"
"""SQL: not a SETATTR of times of a delegation (time_deleg_access, time_deleg_modify: RFC 9754
section 5): ctime is then of when the client modified the file."""

_TICK_NS = int(TICK_S * NANOSECONDS)


def review(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, *, raw: str, modifying: tuple[str, ...]
) -> None:
    """Make the table `unproven`: `row` of `learned`, and `finding`, `unknown` or `unchanged`.

    Args:
        trace: The trace.
        cursor: A connection to it with `mounts` and `learned`.
        raw: SQL: a `with` clause with `raw`, what replies said of objects.
        modifying: The values of `stability` of what may modify an object.
    """
    cursor.execute(_MOUNTS, {"looked_at": LOOKED_AT})
    most = cursor.execute(_MOST).fetchone()
    if most is not None:
        first, last, fewest = most
        around, width = (first + last) // 2, (last - first) * LOOKED_AT // fewest
        with parts.only(trace, cursor, range(around - width // 2, around + width // 2 + 1)):
            _compare(cursor, raw, modifying, "many")
        cursor.execute(_WORTH, {"least": WORTH, "telling": TELLING})
    parts.whole(cursor)
    _compare(cursor, raw, modifying, "not many")
    if cursor.execute("select 1 from unproven limit 1").fetchone() is not None:
        cursor.execute(_PROVEN)


def _compare(
    cursor: duckdb.DuckDBPyConnection, raw: str, modifying: tuple[str, ...], mounts: str
) -> None:
    """Make the table `unproven` of changes at some mounts, those of which a condition holds."""
    cursor.execute(_SUSPECTS.format(mounts=mounts))
    if cursor.execute("select 1 from suspects limit 1").fetchone() is None:
        cursor.execute(_NONE)
        return
    cursor.execute(f"create or replace temp table told_then as {raw} {_THEN}")
    cursor.execute(f"create or replace temp table told_before as {raw} {_BEFORE}")
    cursor.execute(_clocks(modifying))
    cursor.execute(_COMPARED)
    cursor.execute(_acts(modifying))
    cursor.execute(_ASKED_BACK)
    cursor.execute(_UNPROVEN)


_MOUNTS = """
    create temp table looked_at as
    select mount, client, server, first, last, changes,
           sum(changes) over (partition by server) > $looked_at as many
    from (
        select mount, min(call) as first, max(call) as last, count(*) as changes
        from learned where finding = 'other'::finding group by mount
    ) join mounts using (mount)
"""

# As if they came evenly, and so many of the server that has the fewest.
_MOST = """
    select min(first), max(last), min(changes)::bigint from (
        select min(first) as first, max(last) as last, sum(changes) as changes
        from looked_at where many group by server
    )
    having count(*) > 0
"""

_WORTH = """
    update looked_at set many = false
    where many and server not in (
        select suspects.server
        from suspects left join unproven on suspects.row = unproven.row
        group by suspects.server
        having count(*) >= $telling and count(unproven.row) < $least * count(*)
    )
"""

# What the walk compared for each change: what it knew, and what it found.
_SUSPECTS = """
    create or replace temp table suspects as
    with chosen as materialized (
        select learned.rowid as row, mount, client, server, file, call, position, modified,
               call_time, reply_time, known_call, known_position, known_time
        from learned join looked_at using (mount)
        where finding = 'other'::finding and {mounts}
              and of_stretch(learned.call) and of_stretch(known_call)
    )
    select chosen.*, identity, calls.call_time as known_call_time
    from chosen join files using (file) join calls on calls.call = known_call
"""

# What was told is looked for twice, and each time what is needed of it: all at once, of half a
# million changes, is more than a tight limit holds. A listing may have a file twice, by two names.
_THEN = """
    select row, any_value(if(suspects.modified, before_change, change)) as change,
           any_value(if(suspects.modified, before_ctime, ctime)) as ctime,
           any_value(if(suspects.modified, before_mtime, mtime)) as mtime,
           any_value(if(suspects.modified, before_size, size)) as size
    from raw join suspects using (call, position, file)
    group by row
"""
"""What each suspect's call told of the time before it,"""

_BEFORE = """
    select row, any_value(change) as known_change, any_value(ctime) as known_ctime,
           any_value(mtime) as known_mtime, any_value(size) as known_size
    from raw join suspects
         on raw.call = known_call and raw.position = known_position and raw.file = suspects.file
    group by row
"""
"""and what its client knew."""


def _clocks(modifying: tuple[str, ...]) -> str:
    """SQL: how far servers' clocks are from the capture's.

    The server's clock is `ahead` of the capture's, and may be `at_most`. No time that a server sets
    lies in its future, so that it is ahead by what the latest is beyond the reply that tells it, or
    more: if each reply is late, as storage is slow, by as much more as the fastest was late. Nor is
    the time that a call sets before that call, but for a tick, so that it is not ahead by more. One
    that is before the call by the smaller figure already is of something else, or the clock was set
    or drifts, and tells nothing. Times of a capture may be any number.
    """
    return f"""
        create or replace temp table server_clocks as
        with timed as materialized (
            select server, ctime::hugeint - reply_time as least,
                   case when call in (
                                 select call from operations
                                 where {among("op", SETTING)} and executed and {OWN_TIME}
                                       and of_stretch(call)
                             )
                        then ctime::hugeint - call_time + {_TICK_NS} end as most
            from operations join calls using (call)
            where {among("calls.stability", modifying)} and not callback
                  and reply_time is not null and ctime is not null
                  and server in (select server from suspects)
                  and of_stretch(operations.call) and of_stretch(calls.call)
        )
        select server, ahead, coalesce(min(most) filter (most >= ahead), ahead) as at_most
        from timed join (
            select server, max(least) as ahead from timed group by server
        ) using (server)
        group by server, ahead
    """


_COMPARED = f"""
    create or replace temp table compared as
    with pairs as (
        from suspects left join told_then using (row) left join told_before using (row)
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
           ctime - ahead as moment, ctime - at_most as earliest
    from pairs left join server_clocks using (server)
"""
"""How each suspect's change shows.

By the capture's clock it was at `moment` at the latest, and at the `earliest` maybe before.
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
        -- Called back it is for somebody else's sake: what follows is theirs.
        recalled as (
            select file from operations
            where op = 'CB_RECALL' and file in (select file from alike)
        ),
        done as (
            select call, {among("stability", modifying)} as modifying,
                   unnest([{", ".join(places)}]) as file
            from operations
            where of_stretch(call) and executed and ({about})
                  and ({among("stability", modifying)} or {among("op", TOUCHING)}
                       and not (op = 'DELEGRETURN' and file in (select file from recalled)))
        )
        select client, server, identity, call_time, reply_time, bool_or(modifying) as modifying
        from done join alike using (file) join calls using (call)
        where of_stretch(call) and not callback and reply_time is not null
        group by call, client, server, identity, call_time, reply_time
    """


_ASKED_BACK = """
    create or replace temp table asked_back as
    select client, server, identity, call_time as asked_time
    from (select call, file from operations where op = 'CB_GETATTR' and of_stretch(call))
         join (
             select file, identity from files
             where identity in (select identity from suspects)
         ) using (file)
         join calls using (call)
    where of_stretch(calls.call)
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
                    when asked_time >= changes.call_time then 'unknown'
                    when still or timed and (time_back or as_long and until >= earliest)
                    then 'unknown'
                    when timed or untold and not restless then null
                    when number_back or not numbered or restless then 'unknown' end as finding
        from changes asof left join own
             on changes.client = own.client and changes.server = own.server
                and changes.identity = own.identity
                and least(moment, changes.call_time - {_TICK_NS + 1}) >= own.since
             asof left join asked_back
             on changes.client = asked_back.client and changes.server = asked_back.server
                and changes.identity = asked_back.identity
                and changes.reply_time >= asked_time
    )
    select row, client, server, identity, reply_time, known_call_time, finding::finding as finding
    from judged where finding is not null
"""

_NONE = """
    create or replace temp table unproven as
    select row, client, server, identity, reply_time, known_call_time,
           'unknown'::finding as finding
    from suspects where false
"""

# Of a file that several clients change all the time, each change cannot be held against each
# modification. It is enough to know, of those that began before the reply came, which was under way
# for longest, and which of those of other clients than that one's. Where another client takes the
# lead, the one that had it is the longest of the others.
_PROVEN = """
    with modifications as (
        select server, identity, client, call_time, max(reply_time) as until
        from acts where modifying group by all
    ),
    led as (
        select *, max(until) over earlier as longest, arg_max(client, until) over earlier as leader
        from modifications
        window earlier as (partition by server, identity order by call_time, client
                           rows between unbounded preceding and current row)
    ),
    followed as (
        select *, lag(longest) over by_time as longest_before,
               coalesce(leader <> lag(leader) over by_time, true) as anew
        from led window by_time as (partition by server, identity order by call_time, client)
    ),
    leads as (
        select *, sum(anew::integer) over (partition by server, identity
                                           order by call_time, client) as lead
        from followed
    ),
    longest_two as (
        select server, identity, call_time, client, leader, longest,
               greatest(first_value(longest_before) over since,
                        max(until) filter (client <> leader) over since) as next_longest
        from leads
        window since as (partition by server, identity, lead order by call_time, client
                         rows between unbounded preceding and current row)
        qualify row_number() over (partition by server, identity, call_time
                                   order by client desc) = 1
    )
    delete from unproven where row in (
        select row
        from unproven asof join longest_two as found
             on unproven.server = found.server and unproven.identity = found.identity
                and unproven.reply_time >= found.call_time
        where if(leader <> unproven.client, longest, next_longest) >= known_call_time
    )
"""
