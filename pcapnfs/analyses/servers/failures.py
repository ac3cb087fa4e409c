"""What the server refused for good: no space, no permission, errors of its own, state it took away.

Takes a trace; gives for each client, server and kind of refusal its calls. What programs provoke
themselves (names that are not there, or there already) is none of it, nor what goes over by itself
(DELAY, GRACE), tells of a restart (`restarts`) or of files that are gone (`stale_handles`), or is
what the server never makes, whoever asks (`unmade`).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.bitmaps import holds
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.texts import among, kind
from pcapnfs.analyses.asking.values import integer, whole
from pcapnfs.analyses.data.moves import MOVING, READ_OPERATIONS
from pcapnfs.analyses.servers import unmade as _unmade
from pcapnfs.analyses.servers.unmade import UNMADE, unmade
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    _unmade.READS,
    columns.of(
        calls="call client server callback op status_name rpc_status call_frame call_time uid file "
        "directory undecoded",
        operations="call op text attributes",
        files="file path role",
    ),
)
"""The columns that the queries here read."""

KINDS = {
    "space": ("NFSERR_NOSPC", "NFS3ERR_NOSPC", "NFS4ERR_NOSPC"),
    "quota": ("NFSERR_DQUOT", "NFS3ERR_DQUOT", "NFS4ERR_DQUOT"),
    "fault": (
        "NFSERR_IO", "NFS3ERR_IO", "NFS4ERR_IO", "NFSERR_NXIO", "NFS3ERR_NXIO", "NFS4ERR_NXIO",
        "NFS3ERR_SERVERFAULT", "NFS4ERR_SERVERFAULT", "MNT3ERR_IO", "MNT3ERR_SERVERFAULT",
        "EIO", "SYSTEM_ERR",
    ),
    "permission": (
        "NFSERR_PERM", "NFS3ERR_PERM", "NFS4ERR_PERM", "NFSERR_ACCES", "NFS3ERR_ACCES",
        "NFS4ERR_ACCESS",
    ),
    "mount": ("MNT3ERR_PERM", "MNT3ERR_ACCES", "EPERM", "EACCES"),
    "export": ("MNT3ERR_NOENT", "MNT3ERR_NOTDIR", "ENOENT", "ENOTDIR"),
    "read_only": ("NFSERR_ROFS", "NFS3ERR_ROFS", "NFS4ERR_ROFS"),
    "credential": (
        "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF", "AUTH_TOOWEAK",
        "AUTH_FAILED",
    ),
    "owner": ("NFS4ERR_BADOWNER",),
    "revoked": ("NFS4ERR_EXPIRED", "NFS4ERR_ADMIN_REVOKED", "NFS4ERR_DELEG_REVOKED"),
    "unreclaimed": ("NFS4ERR_RECLAIM_BAD", "NFS4ERR_RECLAIM_CONFLICT", "NFS4ERR_NO_GRACE"),
    "in_use": ("NFS4ERR_CLID_INUSE",),
    "no_locks": ("LCK_DENIED_NOLOCKS", "NLM4_DENIED_NOLOCKS"),
}  # fmt: skip
"""Statuses by kind (RFC 1813 sections 2.6, 5.2.1 and 6.1.2, RFC 1094 sections 2.3.1 and A.5, RFC
8881 section 15.1, RFC 5531 section 9). Contexts of Kerberos that a server knows no longer are made
anew and not among them."""

STATUSES = tuple(name for names in KINDS.values() for name in names)
"""All of them."""

NO_ERROR = """(
    status_name = 'NFS4ERR_NXIO' and (op = 'SEEK' or op = 'COMPOUND' and undecoded is not null)
    or op = 'STARTTLS'
)"""
"""How SEEK says that there is no more data (RFC 7862 section 15.11.3), also where a snaplen cut off
which operation it was; and a server that it has no TLS (RFC 9289 section 4.1)."""

DATA = (*MOVING, "COMMIT")
"""Operations on file data."""

SESSIONS = (
    "EXCHANGE_ID", "CREATE_SESSION", "BIND_CONN_TO_SESSION", "BACKCHANNEL_CTL", "SETCLIENTID",
    "SETCLIENTID_CONFIRM",
)  # fmt: skip
"""Operations that store nothing in a file system: NFS4ERR_NOSPC says of them that the server has no
room for a client or its session (RFC 8881 section 18.36)."""

GIVING = ("CREATE", "MKDIR", "MKNOD", "SYMLINK", "OPEN")
"""Operations that may give a file its owner as they make it: then PERM is the answer, and ACCES
where nothing may be made in the directory."""

OWNERS = (36, 37)
"""The attributes owner and owner_group (RFC 8881 section 5.8.2)."""

NEEDS = population.Calls(names=STATUSES)
"""Without a call that was answered so there is none."""

OF_DIRECTORY = " of a directory"
"""Behind an operation on file data that was asked of a directory: no server can carry it out."""

OF_UNKNOWN = " of what was cut off"
"""Behind a READ whose object a snaplen cut off: it may be a directory, which no server reads."""

USERS_SHOWN = 3
"""Users that are told."""


ROOT = 0
"""The user whom servers map to nobody unless told otherwise."""


class Failures(Record):
    """What one server refused one client for one kind of reason."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    kind: str
    """`space`, `quota`, `fault`, `permission`, `mount`, `export`, `read_only`, `credential`,
    `owner`, `revoked`, `unreclaimed`, `in_use` or `no_locks` (`KINDS`), or `session`
    (NFS4ERR_NOSPC of `SESSIONS`)."""
    calls: int
    """Calls that were refused."""
    statuses: tuple[str, ...]
    """The RFC's names of their statuses, the most frequent first."""
    operations: tuple[str, ...]
    """Their main operations, the most frequent first; with `OF_DIRECTORY` behind it one on file
    data that was asked of a directory, with `OF_UNKNOWN` a READ that does not tell of what."""
    users: tuple[int, ...]
    """AUTH_SYS users that asked, the most frequent first; empty where no call tells."""
    paths: tuple[str, ...]
    """Objects that were asked for, or the directories in which they were named, or exports (MNT),
    the most frequent first; not escaped."""
    frames: tuple[int, ...]
    """Frames of the first of them."""
    from_ns: int | None = None
    """When the first of them was sent, nanoseconds since 1970; None where that is not known."""
    until_ns: int | None = None
    """When the last of them was sent, likewise; None like `from_ns`."""
    owning: int = 0
    """Those of them by which root was to give a file an owner or a group: SETATTRs, and PERM of
    what makes a file with one. What others may not give away tells nothing of root."""


def failures(trace: Trace) -> tuple[Failures, ...]:
    """Put together, for each client, server and kind, most calls first."""
    if not NEEDS.met(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(
            _FAILURES,
            {
                "files": FILES_SHOWN,
                "users": USERS_SHOWN,
                "examples": EXAMPLES,
                "unmade": unmade(trace),
            },
        ).fetchall()
        # Of exports there are no files: MNT told them.
        known = paths.of(cursor, (place["file"] for row in rows for place in row[7]))
    return tuple(
        Failures(
            client=client,
            server=server,
            kind=kind,
            calls=integer(calls),
            statuses=tuple(statuses),
            operations=tuple(operations),
            users=tuple(integer(user) for user in users),
            paths=tuple(known.get(place["file"], place["text"]) for place in places),
            frames=tuple(frames),
            from_ns=whole(times[0]),
            until_ns=whole(times[1]),
            owning=integer(times[2]),
        )
        for client, server, kind, calls, statuses, operations, users, places, frames, *times in rows
    )


def _kind() -> str:
    """SQL: the kind of a call, by its status."""
    session = f"status_name = 'NFS4ERR_NOSPC' and {among('op', SESSIONS)}"
    return kind("status_name", KINDS, before=f"when {session} then 'session'")


def _most(value: str, limit: str) -> str:
    """SQL: the values of a column by client, server and kind, the most frequent first.

    Of equals the first to come by: redaction replaces names, and is to change nothing else.
    """
    return f"""
        (select list(value order by calls desc, first)[:{limit}] from (
             select {value} as value, count(*) as calls,
                    min((call_frame, {value})) as first
             from failed
             where failed.client = told.client and failed.server = told.server
                   and failed.kind = told.kind and {value} is not null
             group by {value}
         ))"""


_PLACES = """
    (select list({'text': text, 'file': file} order by calls desc, first)[:$files] from (
         select any_value(text) as text, min(file) as file, count(*) as calls,
                min((call_frame, file)) as first
         from failed
         where failed.client = told.client and failed.server = told.server
               and failed.kind = told.kind and place is not null
         group by place
     ))"""
"""SQL: the objects or exports that were asked for, likewise."""

_FAILURES = f"""
    with failed as materialized (
        select client, server, {_kind()} as kind, status_name, uid, call_frame, call_time,
               case when {among("op", DATA)} and directories.file is not null
                    then op || '{OF_DIRECTORY}'
                    when {among("op", READ_OPERATIONS)} and refused.file is null
                         and undecoded is not null
                    then op || '{OF_UNKNOWN}' else op end as op,
               text, case when text is null then named.file end as file,
               case when text is null then place else hash(text) end as place,
               coalesce(refused.op = 'SETATTR' or ends_with(status_name, '_PERM'), false)
                   and owners.call is not null as owning
        from (
                 select * replace (coalesce(status_name, rpc_status) as status_name) from calls
                 where {among("coalesce(status_name, rpc_status)", STATUSES)}
                       and not callback and not coalesce({NO_ERROR}, false)
                       and not coalesce({UNMADE}, false)
             ) as refused
             left join {paths.HASHED} as named
                  on named.file = coalesce(refused.file, refused.directory)
             left join (select file from files where role = 'directory') as directories
                  on directories.file = refused.file
             left join (
                 select operations.call, text from operations
                 where operations.op = 'MNT' and text is not null
             ) as mounted using (call)
             left join (
                 select distinct call from operations
                 where {among("op", ("SETATTR", *GIVING))} and {holds(*OWNERS)}
             ) as owners using (call)
    ),
    told as (
        select client, server, kind, count(*) as calls,
               list_sort(list_distinct(
                   list(call_frame order by call_frame)[:2 * $examples]))[:$examples] as frames,
               min(call_time) as from_time, max(call_time) as until_time,
               count(*) filter (owning and uid = {ROOT}) as owning
        from failed group by client, server, kind
    )
    select client, server, kind, calls, {_most("status_name", "10")}, {_most("op", "10")},
           coalesce({_most("uid", "$users")}, []), coalesce({_PLACES}, []), frames,
           from_time, until_time, owning
    from told order by calls desc, client, server, kind
"""
