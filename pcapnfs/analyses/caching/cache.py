"""Whether the client's cache works: how often it asks the server what it already knew.

For each client and file, every time that the client learns the change-ID (`change_ids`). A
*revalidation* is an explicit question: a call whose purpose is GETATTR, the GETATTR in the compound
of an OPEN, VERIFY and NVERIFY on the change attribute. Attributes that come along with READ, WRITE
and the like are observations: they can show that somebody else changed the file, but cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pcapnfs import columns, spilled, walks
from pcapnfs.analyses.asking import given, order, parts, paths, population
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.sorts import CachedSort
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.by_file.visits import TOGETHER_NS, TOGETHER_S
from pcapnfs.analyses.caching.change_ids import age_s, change_ids
from pcapnfs.analyses.caching.delegations import Delegations, delegations
from pcapnfs.analyses.caching.questions import FILE_FRESH_S
from pcapnfs.analyses.caching.told import ASKS_CHANGE
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY, any_orphan, directions
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.mounts import mounts_apart as _mounts_apart
from pcapnfs.analyses.mounts.mount_options import Mount
from pcapnfs.analyses.mounts.mounts_apart import apart
from pcapnfs.analyses.namespace import changed_directories, listings
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

READS = columns.together(
    _directions.READS,
    _mounts_apart.READS,
    _untold.READS,
    changed_directories.READS,
    listings.READS,
    moves.READS,
    traffic.READS,
    population.OPERATIONS_READS,
    columns.of(
        calls="call connection client server mount callback program version op signature "
        "status stability call_frame call_time reply_time file directory",
        operations="call position op executed status stability file directory target_directory "
        "name new_name offset requested count stable_requested change_before change_after "
        "change_atomic type size change mtime ctime before_size before_mtime before_ctime "
        "directory_mtime directory_ctime directory_before_mtime directory_before_ctime "
        "target_change_before target_change_after target_mtime target_ctime target_before_mtime "
        "target_before_ctime attributes plus cookie delegation max_read max_write",
        files="file identity handle name parent path role",
        entries="call position file type size change mtime ctime",
        names="call directory name file",
        connections="connection role",
        notes="connection reason time",
    ),
)
"""The columns that the queries here read."""

INTERVAL_EDGES_S = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 60.0)
"""Where one bin of intervals ends and the next begins: around Linux's acregmin (3 s), acdirmin (30
s) and the two maxima (60 s), and decades below."""

_FIRST = {
    "time": "time",
    "revalidations": "revalidations",
    "bytes": "bytes_reread + bytes_saved",
}
"""What the order begins with, where it is a number."""

_ORDER = {
    "time": "time desc, revalidations desc",
    "revalidations": "revalidations desc, time desc",
    "bytes": "bytes_reread + bytes_saved desc, revalidations desc",
    "name": "true",
}
"""Of equals, the first by path, client and number comes first."""


class Interval(Record):
    """Questions that came after the client's knowledge had reached a certain age."""

    from_s: float
    """Age from which on, seconds."""
    below_s: float | None
    """Age up to which, seconds, exclusive; None: no limit."""
    files: int
    """Questions about regular files and others that are no directories."""
    directories: int
    """Questions about directories."""


class FileCache(Record):
    """One object as one client saw it."""

    file: int
    """Its number in the table files."""
    path: str
    """Path, as in the table files; not escaped."""
    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    role: str
    """`file`, `directory`, `other`, `unknown`, `absent`, `untold` or `pseudo`."""
    revalidations: int
    """Questions of this client about it."""
    unchanged: int
    """Questions whose answer was what it knew."""
    changed_by_self: int
    """Questions whose answer was new by its own doing."""
    changed_by_other: int
    """Questions whose answer was new because somebody else changed the object."""
    invalidations: int
    """Times it learnt, asked or not, that somebody else changed the object."""
    interval_p50_s: float | None
    """Median age of its knowledge when it asked, seconds, exact; None when it knew nothing."""
    time_s: float
    """Service time of the calls that did nothing but ask, seconds."""
    bytes_reread: int
    """Bytes that it read again after somebody else's change."""
    bytes_saved: int
    """Bytes that it did not read again, because its cache was still valid."""
    recalls: int
    """Delegations of it that the server called back."""


class Cache(Record):
    """Revalidations, what they found, and what they were good for.

    first_sight, unchanged, changed_by_self, changed_by_other, changed_by_unknown, for_times and
    unknown add up to revalidations; so do by_getattr, by_open and by_verify. Where nothing is known
    of what clients learnt of any object, but there are calls that do not tell, or no replies, all
    but without_file are None.
    """

    revalidations: int | None
    """Questions that were answered, by all clients about all objects; None as above."""
    by_getattr: int | None
    """GETATTR for its own sake; None as above."""
    by_open: int | None
    """The GETATTR that goes with an OPEN (NFSv4), of files that the client knew already; None as
    above."""
    by_verify: int | None
    """VERIFY and NVERIFY on the change attribute, as Solaris sends them; None as above."""
    first_sight: int | None
    """GETATTRs of objects that the client knew nothing of, as far as the capture shows; None as
    above."""
    unchanged: int | None
    """Answers equal to what the client knew: its cache stays valid; None as above."""
    unchanged_share: float | None
    """unchanged divided by all answers that could be compared, 0…1; None when there are none."""
    changed_by_self: int | None
    """Answers that were new by the client's own doing; None as above."""
    changed_by_other: int | None
    """Answers that were new because somebody else changed the object: its cache is void; None as
    above."""
    changed_by_unknown: int | None
    """Answers that were new, of which it is not known by whose doing: a call or a reply that is not
    in the capture, or whose object it does not tell, may have been the client's own; or nothing
    proves that anybody changed the object, and the server's change-IDs move by themselves; None as
    above."""
    for_times: int | None
    """Answered GETATTRs of NFSv4 that asked for times, and not for the change attribute, as Linux
    asks where it holds a delegation: their answers could not be compared; None as above."""
    unknown: int | None
    """Other answers without a change-ID: an error (STALE …), cut or encrypted; None as above."""
    without_file: int
    """GETATTRs whose object is not known, because handles were cut or encrypted; in none of the
    numbers above."""
    objects: int | None
    """Pairs of a client and an object that it asked about; None as above."""
    unasked: int | None
    """Pairs of a client and an object that it did not ask about, and learnt all the same that
    somebody else had changed it; None as above."""
    revalidation_s: float | None
    """Service time of the calls that did nothing but ask, seconds. An OPEN is sent anyway: it is
    not in it; None as above."""
    invalidations: int | None
    """Times that a client learnt, by a question or by attributes that came along, that somebody
    else changed an object; None as above."""
    not_atomic: int | None
    """Changes of directories whose `change_info4` was not taken atomically: the client cannot trust
    its copy, though nobody else may have changed it; None as above."""
    bytes_reread: int | None
    """Bytes of READs after somebody else's change that the client had read or written before it;
    None as above."""
    bytes_saved: int | None
    """Bytes that a client had read or written since somebody else's last change and did not read
    again, though it opened or revalidated the file: one saving for each visit. An estimate: a
    stat() looks like an open of NFSv3, and opens that the client answers itself are not in the
    capture; None as above."""
    intervals: tuple[Interval, ...]
    """How old the client's knowledge was when it asked again; empty where that is not known."""
    delegations: Delegations
    """NFSv4: what the server granted and took back."""
    mounts: tuple[Mount, ...]
    """Each pair of client and server: what its questions say of mount options; more than one of a
    pair where their calls show several mounts with different options (`part`)."""
    sort: str
    """What the files are sorted by: `time`, `revalidations`, `bytes` or `name`."""
    files: Sequence[FileCache]
    """The objects that were asked about most, each as one client saw it; among the last of them
    those that were not asked about. All of them add up to revalidations and invalidations."""


def cache(trace: Trace, *, top: int = 20, sort: CachedSort = "time") -> Cache:
    """Follow what each client knew of each file, and what it asked.

    Args:
        trace: The trace.
        top: Files to give; 0 for all.
        sort: What to sort them by.

    Raises:
        UsageError: `sort` is unknown, or `top` is negative.
    """
    order.check("files", top=top, sort=sort, kinds=CachedSort)
    with change_ids(trace) as cursor, apart(trace, cursor) as judged:
        return of_learned(trace, cursor, judged.mounts, top=top, sort=sort)


def of_learned(
    trace: Trace,
    cursor: duckdb.DuckDBPyConnection,
    mounts: tuple[Mount, ...],
    *,
    top: int = 20,
    sort: CachedSort = "time",
) -> Cache:
    """The same, on a connection with the tables of `change_ids`, of judged mounts."""
    moves.register(trace)
    cursor.execute(_DATA)
    cursor.execute(_MOVED)
    cursor.execute(_HELD)
    asked = "learned"
    if any_orphan(trace):
        cursor.execute(_ORPHANS)
        asked = _DOUBTED
    for rows in parts.of(
        trace, cursor, _MOVES.format(learned=asked, opened=_OPENED), by="mount, file", entries=True
    ):
        walks.put(cursor, "held", walks.held(rows, visit_s=TOGETHER_S))
    cursor.execute(_BY_FILE)
    (totals,) = by_name(cursor.execute(_TOTALS))
    compared = sum(integer(totals[name]) for name in ("unchanged", *_CHANGED))
    ((not_atomic,),) = cursor.execute(
        "select count(*) from operations "
        "where not change_atomic and executed and change_before <> change_after"
    ).fetchall()
    ((without_file,),) = cursor.execute(
        "select count(*) from calls where op = 'GETATTR' and file is null "
        "and not callback and reply_time is not null"
    ).fetchall()
    for_times = 0
    if integer(totals["unknown"]) > 0:
        ((for_times,),) = cursor.execute(_FOR_TIMES).fetchall()
    # Without anything learnt, all is nothing, or nothing is known.
    lacks, one_way = untold(trace), directions(trace).mostly
    untaught = integer(totals["learnt"]) == 0 and (lacks.unplaced or one_way)

    def count(name: str) -> int | None:
        return known(integer(totals[name]), unless=untaught)

    return Cache(
        revalidations=count("revalidations"),
        by_getattr=count("by_getattr"),
        by_open=count("by_open"),
        by_verify=count("by_verify"),
        first_sight=count("first_sight"),
        unchanged=count("unchanged"),
        unchanged_share=integer(totals["unchanged"]) / compared if compared else None,
        changed_by_self=count("changed_by_self"),
        changed_by_other=count("changed_by_other"),
        changed_by_unknown=count("changed_by_unknown"),
        for_times=known(integer(for_times), unless=untaught),
        unknown=known(integer(totals["unknown"]) - integer(for_times), unless=untaught),
        without_file=integer(without_file),
        objects=count("objects"),
        unasked=count("unasked"),
        revalidation_s=known(seconds(totals["time"]) or 0.0, unless=untaught),
        invalidations=count("invalidations"),
        not_atomic=known(integer(not_atomic), unless=untaught),
        bytes_reread=count("reread"),
        bytes_saved=count("saved"),
        intervals=() if untaught else _intervals(cursor),
        delegations=delegations(cursor, untold=lacks.unnamed),
        mounts=mounts,
        sort=sort,
        files=_files(cursor, top, sort),
    )


# A first OPEN of a file asks nothing that the client could have known.
_ASKED = "question is not null and not (question = 'open'::question and finding = 'first'::finding)"

# Lengths from a capture may be anything: kept below what a BIGINT holds.
_START = 'least("offset", 9000000000000000000)::bigint'
_STOP = f'{_START} + least("count", 1099511627776)::bigint'

_DATA = f"""
    create temp table data as
    select call, position, file, {_START} as start, {_STOP} as stop,
           reading
    from {moves.TABLE}
    where what < {moves.COMMIT} and file is not null
          and "offset" is not null and "count" > 0
"""

# What was read without an answer, or with one that was cut, was not spared.
_MOVED = f"""
    create temp table moved as
    select mount, data.file, reply_time as moment, call, position, start, stop, reading
    from data join calls using (call)
    where not callback and reply_time is not null;
    insert into moved
    with lost as (
        select call, position, file, coalesce({_START}, 0) as start
        from {moves.TABLE}
        where reading and file is not null and "count" is null and coalesce(status = 0, true)
    )
    select mount, lost.file, coalesce(reply_time, call_time), call, position, start, start, true
    from lost join calls using (call)
    where not callback
"""

_MOVES = """
    select mount, file, moment, call, position, start, stop, reading,
           false as asked, false as opened, null::bigint as asked_at, false as valid, false as void
    from moved
    union all
    select mount, file, reply_time, call, 0::uinteger, null, null, false,
           question is not null, coalesce({opened}, false), call_time,
           question is not null and finding = 'unchanged'::finding, finding = 'other'::finding
    from {learned} as learned semi join moved using (mount, file)
    where question is not null or finding = 'other'::finding
"""
"""For files whose data a client read or wrote: what it moved, and what it learnt."""

_OPENED = f"""
    (question = 'open'::question
     or question = 'getattr'::question
        and call_time - known_time < {int(FILE_FRESH_S * NANOSECONDS)}
        and mount in (select mount from calls where program = {NFS} and version = 3))
"""
"""SQL: a question that an open() asks. While a client of NFSv3 believes a file's attributes, a
stat() asks nothing, but an open() does (close-to-open consistency)."""

_ORPHANS = f"""
    create temp table orphans as
    select mount, notes.time
    from notes join (select distinct connection, mount from calls) as of_mount using (connection)
    where reason = '{ORPHAN_REPLY}'
"""
"""Replies whose calls are lost: any file may have been read by them."""

_DOUBTED = f"""(
    select learned.* replace (
               case when finding = 'unchanged'::finding
                         and coalesce(orphans.time - reply_time < {TOGETHER_NS}, false)
                    then null else finding end as finding
           )
    from learned asof left join orphans
         on learned.mount = orphans.mount and learned.reply_time <= orphans.time
)"""
"""SQL: what clients learnt, without what was valid where a call that followed it is lost: it may
have read the file."""

_HELD = "create temp table held (mount uinteger, file uinteger, reread bigint, saved bigint)"

_BY_FILE = """
    create temp view by_file as
    select asked_about.*, coalesce(reread, 0) as bytes_reread, coalesce(saved, 0) as bytes_saved
    from asked_about left join held using (mount, file)
"""

_CHANGED = ("changed_by_self", "changed_by_other", "changed_by_unknown")
"""Answers that were new."""

_SUMMED = (
    "revalidations", "by_getattr", "by_open", "by_verify", "first_sight", "unchanged",
    *_CHANGED, "unknown", "time", "invalidations",
)  # fmt: skip
"""What is added up over objects."""

_TOTALS = f"""
    select {", ".join(f"sum(its.{name}) as {name}" for name in _SUMMED)},
           count(*) filter (its.revalidations > 0) as objects,
           count(*) filter (its.revalidations = 0 and its.invalidations > 0) as unasked,
           (select sum(reread) from held) as reread, (select sum(saved) from held) as saved,
           count(*) as learnt
    from asked_about as its
"""


_FOR_TIMES = f"""
    select count(*)
    from learned join operations using (call, position)
    where question = 'getattr'::question and finding is null and operations.status = 0
          and operations.attributes is not null and not {ASKS_CHANGE}
          and (operations.ctime is not null or operations.mtime is not null)
"""

_AGE = "greatest(call_time - known_time, 0)"
"""SQL: how old the knowledge was, nanoseconds. A compound that asks twice is told by itself."""


def _intervals(cursor: duckdb.DuckDBPyConnection) -> tuple[Interval, ...]:
    """How old the knowledge was at each question that could be compared with something."""
    bins = " ".join(
        f"when age < {int(edge * NANOSECONDS)} then {place}"
        for place, edge in enumerate(INTERVAL_EDGES_S)
    )
    rows = cursor.execute(
        f"""
        with ages as (
            select file, {_AGE} as age from learned
            where known_time is not null and {_ASKED}
        ),
        objects as (select file, role in ('directory', 'pseudo') as listed from files)
        select case {bins} else {len(INTERVAL_EDGES_S)} end as bin,
               count(*) filter (not listed), count(*) filter (listed)
        from ages join objects using (file)
        group by bin
        """
    ).fetchall()
    found = {integer(place): (integer(files), integer(dirs)) for place, files, dirs in rows}
    bounds = (0.0, *INTERVAL_EDGES_S, None)
    return tuple(
        Interval(float(begin or 0.0), end, *found.get(place, (0, 0)))
        for place, (begin, end) in enumerate(pairwise(bounds))
    )


_LISTED = "(revalidations > 0 or invalidations > 0)"


def _files(cursor: duckdb.DuckDBPyConnection, top: int, sort: CachedSort) -> Sequence[FileCache]:
    first = _FIRST.get(sort) if top else None
    enough = f"""
        and {first} >= (
            select min(least) from (
                select {first} as least from by_file where {_LISTED}
                order by least desc limit {top}
            )
        )
    """
    # Where very many stand alike, intervals of all of them would be more than memory holds.
    ages = _AGES.format(which="most")
    shown = paths.best(
        cursor,
        f"""
        with most as (
            select *, rank() over (order by {_ORDER[sort]}) as standing
            from by_file where {_LISTED} {enough if first else ""}
            {f"qualify standing <= {top}" if top else ""}
        ),
        recalls as (
            select mount, operations.file, count(*) as recalls
            from operations join calls using (call)
            where callback and operations.op = 'CB_RECALL' and operations.file is not null
            group by all
        )
        select standing, mount, file, client, server, role, revalidations, unchanged,
               changed_by_self, changed_by_other, invalidations, time, bytes_reread, bytes_saved,
               coalesce(recalls, 0) as recalls {"" if top else ", median"}
        from most join mounts using (mount) join (select file, role from files) using (file)
             left join recalls using (mount, file)
             {"" if top else f"left join ({ages}) using (mount, file)"}
        """,
        top,
        then=("client", "file"),
    )
    if not top:
        return spilled.listed(
            (_file_cache(row, path, row["median"]) for row, path in shown), FileCache
        )
    told = list(shown)
    asked = {
        "mounts": given.text(row["mount"] for row, _ in told),
        "files": given.text(row["file"] for row, _ in told),
    }
    medians = {
        (mount, file): median
        for mount, file, median in cursor.execute(_AGES.format(which=_TOLD), asked).fetchall()
    }
    return spilled.listed(
        (_file_cache(row, path, medians.get((row["mount"], row["file"]))) for row, path in told),
        FileCache,
    )


_AGES = f"""
    select mount, file, quantile_cont({age_s(_AGE)}, 0.5) as median
    from learned semi join {{which}} using (mount, file)
    where known_time is not null and {_ASKED}
    group by mount, file
"""

_TOLD = f"""(
    select {given.rows("mounts", "uinteger")} as mount, {given.rows("files", "uinteger")} as file
)"""


def _file_cache(row: Row, path: str, median: float | None) -> FileCache:
    """Read a row of the query in `_files`."""
    return FileCache(
        file=integer(row["file"]),
        path=path,
        client=str(row["client"]),
        server=str(row["server"]),
        role=str(row["role"]),
        revalidations=integer(row["revalidations"]),
        unchanged=integer(row["unchanged"]),
        changed_by_self=integer(row["changed_by_self"]),
        changed_by_other=integer(row["changed_by_other"]),
        invalidations=integer(row["invalidations"]),
        interval_p50_s=median,
        time_s=seconds(row["time"]) or 0.0,
        bytes_reread=integer(row["bytes_reread"]),
        bytes_saved=integer(row["bytes_saved"]),
        recalls=integer(row["recalls"]),
    )
