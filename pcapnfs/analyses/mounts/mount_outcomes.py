"""What came of mounts, where it is not for lack of permission or of the export that they failed.

Takes a trace; gives for each client and server the services that its portmapper does not know, the
programs and versions that it does not have, the root or directory at which an NFSv4 mount ended,
security flavours that it does not allow there, mounts that were granted and are all there is, and
those granted for other flavours than the client used.
Clients try one version after the other until one works: so each tells whether they went on.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.texts import among, kind
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.analyses.captured.untold import UNPLACED
from pcapnfs.analyses.mounts.preliminaries import APART_NS, FINDING, LOGIN
from pcapnfs.programs import MOUNT, NFS, PORTMAPPER
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    population.OPERATIONS_READS,
    columns.of(
        calls="call mount client server callback program version protocol op status status_name "
        "rpc_status flavor signature call_frame call_time reply_time file directory undecoded",
        operations="call op text flavors",
        files="file path",
        connections="connection client server sealed_bytes",
        notes="reason connection",
    ),
)
"""The columns that the queries here read."""

KINDS = {
    "version": ("PROG_MISMATCH", "NFS4ERR_MINOR_VERS_MISMATCH"),
    "program": ("PROG_UNAVAIL",),
    "flavour": ("NFS4ERR_WRONGSEC",),
    "invalid": (
        "MNT3ERR_INVAL", "MNT3ERR_NAMETOOLONG", "MNT3ERR_NOTSUPP", "EINVAL", "ENAMETOOLONG",
    ),
}  # fmt: skip
"""Statuses by kind, of RPC (RFC 5531 section 9), NFSv4 (RFC 8881 section 15.1) and MOUNT (RFC 1813
section 5.2.1, RFC 1094 section A.5); what else MNT answers is `failures`'."""

ENDS = (
    "NFS4ERR_NOENT", "NFS4ERR_ACCESS", "NFS4ERR_PERM", "NFS4ERR_NOTDIR", "NFS4ERR_NAMETOOLONG",
    "NFS4ERR_BADNAME",
)  # fmt: skip
"""How a server refuses a directory on the way from its root to what is mounted."""

ROOTS = ("PUTROOTFH", "PUTPUBFH")
"""How an NFSv4 mount begins (RFC 8881 sections 18.21 and 18.20)."""

WALK = ("LOOKUP", "GETATTR", "ACCESS", "GETFH", "READLINK", *ROOTS)
"""What a client asks on its way from there."""

AFTER_MOUNTS = ("GET_DIR_DELEGATION",)
"""What a client asks beside its GETATTRs and LOOKUPs where programs use the mount, and never on its
way there (RFC 8881 section 18.39)."""

BESIDE = (
    *LOGIN, "NULL", "SECINFO", "DESTROY_SESSION", "DESTROY_CLIENTID", "SEQUENCE", "RENEW",
    "OPEN_CONFIRM", "STARTTLS", "RPCSEC_GSS_INIT", "RPCSEC_GSS_CONTINUE_INIT",
    "RPCSEC_GSS_DESTROY",
)  # fmt: skip
"""Calls of NFS that are about no file, or, as SECINFO, ask how to get at one."""

FREE = ("NULL", "FSINFO", "FSSTAT", "PATHCONF", "GETATTR")
"""What servers answer under any flavour, so that a mount finds out (RFC 2623 section 2.3.2)."""

REFUSED_BY_STATUS = population.Calls(names=tuple(name for each in KINDS.values() for name in each))
LOOKED_FOR = population.Calls(ops=FINDING)
MOUNTED = population.Calls(ops=("MNT",))
ENDED = population.Calls(names=ENDS)
WALKED = population.Operations(ROOTS)

AGAIN = 3
"""So often a client asks the same that waits for it: one that unmounts, and one that mounts next,
each ask once, however long after one another, and what they did in between may not be captured."""

ASKED_SHOWN = 10
"""Calls that are told, of those that differ."""


class MountOutcome(Record):
    """What one client's mounts from one server met with."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    kind: str
    """`unregistered` (the portmapper knows no such service), `version`, `program`, `flavour`,
    `invalid` (`KINDS`), `path` (an NFSv4 mount ended at a name: `ENDS`); where MNT granted it,
    `unused` (for flavours with which the client made no call of NFS, nor reached a file otherwise),
    or `alone`: no call of NFS is there nor was cut, and the flavours, if they are told, hold
    AUTH_SYS. Neither where the client made calls that are not in the capture, or under TLS."""
    calls: int
    """Calls that were answered so."""
    asked: tuple[str, ...]
    """What they asked for, the first first: a service as the portmapper names it, else an
    operation and its protocol."""
    statuses: tuple[str, ...]
    """The RFCs' names of their statuses, the first first; empty for `unregistered`."""
    paths: tuple[str, ...]
    """Exports or names that were asked for, the first first; not escaped."""
    flavours: tuple[str, ...]
    """`unused` and `alone`: the flavours that MNT granted, the first first; empty where it names
    none, and for other kinds."""
    went_on: bool
    """The client mounted from this server later, or reached files there, or calls that do not tell
    may have; of `flavour` with another one."""
    tried_s: float
    """For how long the client asked the same three times or more, and met with these answers
    alone, from the first to the last, seconds; where a call in between reached a file, or MOUNT did
    what it was asked for, each stretch for itself, added up."""
    frames: tuple[int, ...]
    """Frames of the first of them."""


def mount_outcomes(trace: Trace) -> tuple[MountOutcome, ...]:
    """Put together, for each client, server and kind, the first first."""
    refused, walked = REFUSED_BY_STATUS.met(trace), ENDED.met(trace) and WALKED.met(trace)
    mounted, looked_for = MOUNTED.met(trace), LOOKED_FOR.met(trace)
    if not (refused or walked or looked_for or mounted):
        return ()
    met = _MET.format(
        walks=_WALKS if walked else _NO_WALKS,
        any_refused=refused,
        any_sought=looked_for,
        any_mounted=mounted,
    )
    with closing(trace.cursor()) as cursor:
        cursor.execute(met)
        if cursor.execute("select 1 from met limit 1").fetchone() is None:
            return ()
        asked = {"asked": ASKED_SHOWN, "examples": EXAMPLES}
        rows = list(by_name(cursor.execute(_OUTCOMES, asked)))
        known = paths.of(cursor, (place["file"] for row in rows for place in row["places"]))
    return tuple(
        MountOutcome(
            client=row["client"],
            server=row["server"],
            kind=row["kind"],
            calls=integer(row["calls"]),
            asked=tuple(dict.fromkeys(row["asked"]))[:ASKED_SHOWN],
            statuses=tuple(dict.fromkeys(row["answers"])),
            paths=tuple(
                dict.fromkeys(known.get(place["file"], place["text"]) for place in row["places"])
            )[:ASKED_SHOWN],
            flavours=tuple(dict.fromkeys(" ".join(row["allowed"]).split())),
            went_on=row["went_on"],
            tried_s=integer(row["tried"]) / NANOSECONDS,
            frames=tuple(row["frames"]),
        )
        for row in rows
        # Packets that were cut may hold calls that nobody can know.
        if row["kind"] != "alone" or not any(each.truncated_packets for each in trace.meta.files)
    )


# What was cut, lost or sealed before it tells its file, or its status, may have reached one.
_MAY_REACH = f"""(reply_time is not null and coalesce(rpc_status, 'SUCCESS') = 'SUCCESS'
               and (status = 0 or status is null and undecoded is not null)
               and (file is not null
                    or {UNPLACED} and not coalesce({among("op", BESIDE)}, false)))"""

# Versions that nobody has are of protocol `other`.
_ASKED = f"""op || ' ' || case when protocol <> 'other' then protocol when program = {MOUNT}
               then 'mount' || version else version::varchar end"""

_REFUSED = f"""
    refused as (
        select call, client, server, {kind("answer", KINDS)} as kind, answer, {_ASKED} as asked,
               call_frame, call_time, reply_time, file, directory, flavor,
               program = {NFS} as of_files
        from (
                 select *, coalesce(status_name, rpc_status) as answer from calls
                 where {{any_refused}} and program in ({NFS}, {MOUNT}) and not callback
             ) as answered
        where kind is not null
    ),
    sought as (
        select call, client, server, 'unregistered' as kind, null as answer, text as asked,
               call_frame, call_time, reply_time, null as file, null as directory, flavor,
               false as of_files
        from (
                 select * from calls
                 where {{any_sought}} and program = {PORTMAPPER} and {among("op", FINDING)}
                       and not callback
                       and rpc_status = 'SUCCESS' and undecoded is null
             ) as calls join (
                 select operations.call, text from operations where text is not null
             ) as wanted using (call)
        where split_part(text, ' ', 1) in ('{NFS}', '{MOUNT}') and text not like '% port %'
    ),
    -- Connections without any call are not known: such replies may be to whom a mount was granted.
    unseen as (
        select client, server from connections where sealed_bytes > 0
        union
        select client, server
        from (select notes.connection from notes where reason = '{ORPHAN_REPLY}') as answered
             left join connections using (connection)
    ),
    mounted as materialized (
        select call, client, server, 'alone' as kind,
               coalesce(status_name, rpc_status) as answer,
               {_ASKED} as asked, call_frame, call_time, file, directory, flavor,
               false as of_files, flavors as allowed
        from calls left join (
                 select operations.call, flavors from operations where flavors is not null
             ) as told using (call)
        where {{any_mounted}} and program = {MOUNT} and op = 'MNT' and status = 0 and not callback
              and not exists (
                  from unseen
                  where unseen.client is null
                        or unseen.client = calls.client and unseen.server = calls.server
              )
    ),
    used as (
        select client, server,
               bool_or(coalesce(flavor like 'AUTH_SYS%', false)) as by_system,
               bool_or(coalesce(flavor like 'RPCSEC_GSS%', false)) as by_kerberos,
               bool_or(coalesce(flavor, 'unknown') = 'unknown'
                       or {_MAY_REACH} and not coalesce({among("op", FREE)}, false)) as reached,
               bool_or(op <> 'NULL') as tried
        from calls semi join mounted using (client, server)
        where program = {NFS} and not callback group by client, server
    ),
    judged as (
        select mounted.* exclude (kind),
               not coalesce(by_system and contains(allowed, 'AUTH_SYS'), false)
               and not coalesce(by_kerberos and regexp_matches(allowed, 'KRB5|RPCSEC_GSS'), false)
               and not coalesce(reached, false) as unused,
               tried,
               coalesce(regexp_matches(allowed, 'AUTH_(SYS|NONE)'), true) as open_to_all
        from mounted left join used using (client, server)
    ),
    granted as (
        select * exclude (unused, tried, open_to_all),
               case when tried is null and open_to_all then 'alone' else 'unused' end as kind
        from judged
        where tried is null or (unused and allowed is not null and (tried or not open_to_all))
    )
"""

_FOR_FILES = f"""program = {NFS} and protocol like '4.%' and not callback
              and not coalesce({among("op", BESIDE)}, false)"""

# Only the last call for a file can end a mount: who goes on has reached what it looked for, or
# goes without. Unless it begins at the root again, and ends in the same way: then each was a mount.
# A mount goes down to the first name that is refused. Who asks for another one then, or whether the
# root changed since, has the root mounted, and a program looks for names there.
_WALKS = f"""
    ends as (
        select any_value(client) as client, any_value(server) as server from calls
        where {_FOR_FILES} group by mount
        having max(call_time) = max(call_time)
                   filter ({among("coalesce(status_name, rpc_status)", ENDS)})
    ),
    walked as materialized (
        select call, client, server, op, signature, protocol, flavor, call_frame, call_time,
               reply_time, file, directory, coalesce(status_name, rpc_status) as answer
        from calls semi join ends using (client, server)
        where {_FOR_FILES}
    ),
    roots as (
        select distinct call from operations where {among("op", ROOTS)}
    ),
    numbered as (
        select walked.*, count(roots.call) over (
                   partition by client, server order by call_time, call
               ) as walk
        from walked left join roots using (call)
    ),
    steps as (
        select *, call_time - lag(reply_time) over (
                   partition by client, server, walk order by call_time, call
               ) as pause,
               first_value(file) over (
                   partition by client, server, walk order by call_time, call
               ) as root,
               count(case when op = 'LOOKUP' then 1 end) over (
                   partition by client, server, walk order by call_time, call
                   rows unbounded preceding
               ) as looked
        from numbered where walk > 0
    ),
    judged_walks as (
        select client, server, walk,
               bool_and({among("op", WALK)}) and coalesce(max(pause) <= {APART_NS}, true)
               and not bool_or({" or ".join(f"contains(signature, '{op}')" for op in AFTER_MOUNTS)})
               and not coalesce(bool_or(looked > 0 and op = 'GETATTR' and file = root), false)
               and count(distinct (directory, file)) filter ({among("answer", ENDS)}) = 1
               and coalesce({among("arg_max(answer, (call_time, call))", ENDS)}, false) as refused
        from steps group by client, server, walk
    ),
    walks as (
        select client, server, walk from judged_walks
        qualify bool_and(refused) over (partition by client, server order by walk desc)
    ),
    ended as (
        select call, client, server, 'path' as kind, answer, op || ' ' || protocol as asked,
               call_frame, call_time, file, directory, flavor, true as of_files
        from steps semi join walks using (client, server, walk)
        qualify row_number() over (
                    partition by client, server, walk order by call_time desc, call desc
                ) = 1
    )
"""

_NO_WALKS = "ended as (select * from refused where false)"

_MET = f"""
    create temp table met as
    with {_REFUSED}, {{walks}}
    from refused union all by name from sought union all by name from granted
    union all by name from ended
"""

_OUTCOMES = f"""
    with told as (
        select met.* exclude (file), text,
               case when text is null then coalesce(file, directory) end as file
        from met
             left join (
                 select operations.call, text from operations
                 where operations.op = 'MNT' and text is not null
             ) as mounted using (call)
    ),
    worked as materialized (
        select client, server, call, call_time, flavor,
               program = {NFS} or op = 'MNT' and status = 0 as reached
        from calls semi join (select distinct client, server from met) as pairs
             using (client, server)
        where not callback
              and (program = {NFS} and {_MAY_REACH}
                   or program = {MOUNT} and op <> 'NULL' and rpc_status = 'SUCCESS'
                      and coalesce(status, 0) = 0)
    ),
    repeated as (
        select told.client, told.server, kind, asked, worked.call_time as since,
               max(greatest(coalesce(reply_time, told.call_time), told.call_time))
               - min(told.call_time) as lasted, count(*) as times
        from told asof left join worked
             on told.client = worked.client and told.server = worked.server
                and told.call_time >= worked.call_time
        group by told.client, told.server, kind, asked, worked.call_time
    ),
    stretches as (
        select client, server, kind, max(lasted) filter (times >= {AGAIN}) as lasted
        from repeated group by client, server, kind, since
    ),
    tries as (
        select client, server, kind, coalesce(sum(lasted), 0)::bigint as tried
        from stretches group by client, server, kind
    ),
    together as (
        select client, server, kind, count(*) as calls,
               (list(asked order by call_frame, call))[:10 * $asked] as asked,
               coalesce((list(answer order by call_frame, call)
                    filter (answer is not null))[:10 * $asked], []) as answers,
               coalesce((list({{'text': text, 'file': file}} order by call_frame, call)
                    filter (text is not null or file is not null))[:10 * $asked], []) as places,
               coalesce((list(allowed order by call_frame, call)
                    filter (allowed is not null))[:$asked], []) as allowed,
               list_sort(list_distinct(
                   list(call_frame order by call_frame)[:2 * $examples]))[:$examples] as frames,
               max((call_time, call)) as latest, bool_or(of_files) as of_files,
               list_distinct(list(flavor)) as flavors
        from told group by client, server, kind
    )
    select client, server, kind, calls, asked, answers, places, allowed,
           kind not in ('path', 'alone', 'unused') and exists (
               from worked
               where reached
                     and worked.client = together.client and worked.server = together.server
                     and ((worked.call_time, worked.call) > latest or not of_files)
                     and (kind <> 'flavour' or not list_contains(flavors, worked.flavor))
           ) as went_on, tried, frames
    from together join tries using (client, server, kind)
    order by frames[1], client, server, kind
"""
