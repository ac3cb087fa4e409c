"""READs and WRITEs that a client sends while others of their file are under way.

Takes a trace, and the runs of which larger pieces would leave some out (the table `fewer` of
`transfer_runs`); makes a table of their files. Who waits for each answer before it sends the next
piece saves the round trip of each that is left out. Who sends ahead has many bytes under way, waits
for their round trips together, and has as many bytes under way with larger pieces: what these spare
is what the server does for each call, whatever it brings. No more than that is told: the part of a
call's time that is not the network's, and no more than the quickest took at the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, joined
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.analyses.servers import server_times
from pcapnfs.analyses.servers.server_times import timed
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.analyses.wire.network_path import network_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    moves.READS,
    server_times.TIMED_READS,
    shares.READS,
    _network_path.READS,
    columns.of(calls="call mount callback op call_time reply_time srt first_arrived"),
)
"""The columns that the queries here read."""

TABLE = "sent_ahead"
"""The table that `register` makes: of each `mount`, `file` and whether it is `reading`, how many
`calls` and how many of them were `ahead`; the part of their shares that was of others, `alone`; and
what the server's work for those ahead takes of the clock, `work`, ns."""

QUICK = 0.05
"""The quantile of the times at the server that bounds the work for each call: that is in the
quickest as well, while others wait for the disk, for their bytes or for one another. The very
quickest are those of which the network took less than usual."""


def register(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, mounts: Mapping[int, tuple[str, str]]
) -> None:
    """Make the table on a connection that has the table `fewer`.

    Args:
        trace: The trace.
        cursor: The connection, where `calls.mount` may be the number of a part.
        mounts: Addresses of client and server by that number.
    """
    if not any_cut(cursor):
        cursor.execute(_NOTHING)
        return
    moves.register(trace)
    shares.register(trace)
    measured, values = timed(trace, _MOVED, mounts)
    added = network_path(trace).added_ns
    cursor.execute(
        _AHEAD.format(measured=measured),
        values
        | {
            "beyond": given.text(mounts),
            "added": given.text(added.get(pair, 0) for pair in mounts.values()),
            "quick": QUICK,
        },
    )


def any_cut(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether any run would need fewer: of most captures none, and to measure calls takes long."""
    found = cursor.execute("select 1 from fewer where left_out > 0 limit 1").fetchone()
    return found is not None


_MOVED = f"{among('op', MOVING)} and srt is not null and first_arrived"

_NOTHING = f"""
    create temp table {TABLE} as
    select mount, file, reading, 0::bigint as calls, 0::bigint as ahead, 1.0::double as alone,
           0.0::double as work
    from fewer where false
"""

_AHEAD = f"""
    create temp table {TABLE} as
    with {{measured}},
    cut as (select distinct mount, file, reading from fewer where left_out > 0),
    moved as (select distinct call, file, reading from moves where what <> {moves.COMMIT}),
    asked as (
        select call, mount, callback, call_time, reply_time,
               if(first_arrived, share, 0) as share
        from calls join shares using (call)
        where {
    joined.condition(f"not callback and reply_time is not null and {among('op', MOVING)}", "share")
}
    ),
    pieces as (
        select call, mount, file, reading, share,
               coalesce(max(reply_time) over (earlier rows between unbounded preceding
                                              and 1 preceding) > call_time, false)
               or coalesce(lead(call_time) over earlier < reply_time, false) as ahead
        from asked join moved using (call) semi join cut using (mount, file, reading)
        window earlier as (partition by mount, file, reading order by call_time, call)
    ),
    beyond as (
        select {given.rows("beyond", "uinteger")} as mount, {given.rows("added", "bigint")} as added
    ),
    worked as (
        select pieces.*, least(took / greatest(srt + coalesce(added, 0), 1), 1) as part,
               quantile_cont(took, $quick) filter (ahead) over (partition by mount, reading)
                   as quick
        from pieces left join (select call, took, srt from timed) using (call)
             left join beyond using (mount)
    )
    select mount, file, reading, count(*) as calls, count(*) filter (ahead) as ahead,
           coalesce(sum(if(ahead, 0, share)) / nullif(sum(share), 0), 1)::double as alone,
           coalesce(sum(least(share * part, quick)) filter (ahead), 0)::double as work
    from worked group by mount, file, reading
"""
"""What was held up by a loss or a longer path has no time at the server: no part in the work."""
