"""Calls that the server rejects again and again, since by the protocol it cannot carry them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.servers.failures import DATA
from pcapnfs.analyses.servers.unmade import NOT_ALLOWED
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Explanation, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.rejections import Rejections
    from pcapnfs.diagnosis.finding import Severity
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "rejected_calls.least", 10, "calls",
    "rejected for one kind of reason, below which nothing is reported", "default of this tool",
)  # fmt: skip
SHARE = Threshold(
    "rejected_calls.share", 0.1, "share", "of the operation's calls that are rejected",
    "default of this tool",
)  # fmt: skip

MOSTLY = 0.5
"""Share of an operation's calls from which on it mostly fails."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server, operation and kind."""
    for pair in material.rejections:
        if pair.calls < values[LEAST.name] or pair.calls < values[SHARE.name] * pair.of:
            continue
        if pair.kind == "state" and _taken_away(material, pair):
            continue
        claims = by_row(pair.time_s)
        told = _told(pair)
        yield Observed(
            severity=_severity(pair, by_cost(material, claims, sure=False)),
            at_most="warning",
            title=f"{pair.op}: {told.title}",
            seen=_seen(pair),
            why=told.why,
            advice=told.advice,
            calls=pair.calls,
            confidence="likely" if pair.never else "certain",
            data=units.counted(pair.of, f"{pair.op} call"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _severity(pair: Rejections, cost: Severity) -> Severity:
    """Data that mostly cannot be read or stored is a problem, whatever that costs.

    An exclusive create costs time alone: the client asks for another.
    """
    if pair.calls < MOSTLY * pair.of or _exclusive(pair):
        return cost
    return "problem" if pair.op in DATA else "warning"


def _taken_away(material: Material, pair: Rejections) -> bool:
    """Whether another finding says why the server does not know this client's state."""
    return (
        any(
            server.server == pair.server and (server.lost_state or server.changes)
            for server in material.restarts
        )
        or any(
            pair.server == names.server and pair.client in names.clients
            for names in material.shared_names
        )
        or any(
            (refused.client, refused.server) == (pair.client, pair.server)
            and refused.kind in {"credential", "revoked", "unreclaimed"}
            for refused in material.failures
        )
    )


def _seen(pair: Rejections) -> str:
    told = (
        f"{units.count(pair.calls)} of {units.counted(pair.of, f'{pair.op} call')} "
        f"{'was' if pair.calls == 1 else 'were'} answered "
        f"{' or '.join(_answer(pair, status) for status in pair.statuses)}"
    )
    told += f": {wording.places(pair.paths)}." if pair.paths else "."
    if pair.never:
        told += (
            " None of any client succeeded"
            + (
                ", though the same user made other things there"
                if not set(NOT_ALLOWED).isdisjoint(pair.statuses)
                else ""
            )
            + "."
        )
    return told


def _told(pair: Rejections) -> Explanation:
    """What is said of it."""
    if _exclusive(pair):
        return _NO_EXCLUSIVE_CREATES
    if pair.kind == "unsupported" and pair.op in _UNMADE:
        return _UNMADE[pair.op]
    if pair.op == "CLOSE" and "NFS4ERR_OLD_STATEID" in pair.statuses:
        return _OVERTAKEN
    return _EXPLAINED[pair.kind]


def _exclusive(pair: Rejections) -> bool:
    """Whether it is exclusive creates that the server does not support: it makes other files."""
    return pair.op == "CREATE" and pair.statuses == ("NFS3ERR_NOTSUPP",) and pair.calls < pair.of


def _answer(pair: Rejections, status: str) -> str:
    """A status, and what it means."""
    if pair.op == "CREATE" and status == "NFS3ERR_NOTSUPP":
        meant: str | None = "it makes no files exclusively, RFC 1813 section 3.3.8"
    else:
        meant = MEANINGS.get(status.partition("ERR_")[2] or status)
    return f"{status} ({meant})" if meant else status


MEANINGS = {
    "OPENMODE": "the file is not open for that",
    "BAD_STATEID": "there is no such open or lock",
    "OLD_STATEID": "there is a newer state of that open or lock",
    "BAD_SEQID": "not the next call of this owner of opens or locks",
    "SEQ_MISORDERED": "not the next call of this slot",
    "SEQ_FALSE_RETRY": "another call had this number in its slot",
    "RETRY_UNCACHED_REP": "the answer to this call was not kept",
    "BADSLOT": "the session has no such slot",
    "BAD_HIGH_SLOT": "the session has no such slot",
    "LOCKS_HELD": "there are locks on the file",
    "WRONG_CRED": "somebody else made this session or open",
    "INVAL": "an argument is not valid",
    "BADHANDLE": "that is no handle of this server",
    "NOFILEHANDLE": "no handle was named",
    "BADXDR": "the server cannot decode the call",
    "GARBAGE_ARGS": "the server cannot decode the call",
    "WRONG_TYPE": "not for an object of this type",
    "BADCHAR": "the name has a character that the server does not take",
    "BADNAME": "the server does not take that name",
    "NAMETOOLONG": "the name is longer than the file system takes",
    "ATTRNOTSUPP": "the file system has no such attribute",
    "BADTYPE": "the file system has no such type of object",
    "LOCK_NOTSUPP": "no such change of a lock",
    "LOCK_RANGE": "no locks of parts of what is locked",
    "UNION_NOTSUPP": "no such form of the arguments",
    "OP_ILLEGAL": "there is no such operation",
    "PROC_UNAVAIL": "there is no such procedure",
    "FBIG": "the file would be larger than the server allows",
    "MLINK": "the file has as many links as it can",
    "XATTR2BIG": "the attribute is larger than the file system takes",
    "TOOSMALL": "what was asked for is less than the server can send",
    "RESOURCE": "more than the server can do in one call",
    "TOO_MANY_OPS": "more operations than the session allows in one call",
    "REQ_TOO_BIG": "the call is larger than the session allows",
    "REP_TOO_BIG": "the answer would be larger than the session allows",
    "REP_TOO_BIG_TO_CACHE": "the answer is larger than the session keeps",
    "XDEV": "the other name is in another file system",
    "LOCKED": "somebody else locked that part of the file",
    "SHARE_DENIED": "somebody else has it open and shares it with nobody",
    "FILE_OPEN": "it is open, and the server does not remove or rename what is",
}
"""What statuses mean, by their names without the protocol (RFC 1813 section 2.6, RFC 8881 section
15.1); NOTSUPP says it itself."""

_SHOW = Advice(
    "Look for updates of client and server, and show their vendors the example frames: one of them "
    "does not keep to the RFC, or to what the other expects."
)

_EXPLAINED = {
    "state": Explanation(
        "client and server disagree about what is open",
        "The server does not accept the open, lock or slot that the call names. Programs get EIO "
        "or EBADF, or the client asks again, which costs round trips. Neither network nor storage "
        "is why.",
        (
            _SHOW,
            Advice(
                "Try another minor version: vers=4.1 in place of 4.0, which alone numbers the "
                "opens of a client, or the other way round."
            ),
        ),
    ),
    "arguments": Explanation(
        "the server does not accept what is asked",
        "Programs get EINVAL, ENAMETOOLONG or EIO, and try again or go on without; each of these "
        "calls is a round trip for nothing.",
        (
            Advice(
                "See what the program wants (strace at the client): names may be too long or hold "
                "bytes that this server's file system does not take (as of encrypted names, or of "
                "other character sets)."
            ),
            _SHOW,
        ),
    ),
    "unsupported": Explanation(
        "the server does not support what is asked",
        "The client or the program does without, but asks again the next time: each of these calls "
        "is a round trip for nothing.",
        (
            Advice(
                "See whether it can be switched off where it is asked for (a mount option, an "
                "option of the program, as cp --no-preserve=xattr or rsync without -X and -A), or "
                "switched on at the server."
            ),
            Advice("Otherwise use another file system, server or protocol version."),
        ),
    ),
    "limit": Explanation(
        "calls go beyond a limit of the server",
        "Where the client cannot ask for less at a time, programs get EFBIG, EMLINK, E2BIG or EIO, "
        "and what they wrote is not stored.",
        (
            Advice(
                "Look for the limit at the server: the largest file that its file system or the "
                "user may have, links to one file, what one call or session may hold (at a Linux "
                "client rsize, wsize and max_session_slots decide how much that is)."
            ),
            _SHOW,
        ),
    ),
    "across": Explanation(
        "names and links cannot go from one file system to another",
        "What looks like one tree is several file systems at the server. A program that moves a "
        "file there copies it and removes the old one, so that all of its data goes over the "
        "network twice (mv, git, rsync with --temp-dir).",
        (
            Advice(
                "Keep what is moved within one file system (volume, dataset, qtree, subvolume): "
                "put temporary directories (TMPDIR, --temp-dir) beside where files end up."
            ),
        ),
    ),
    "in_use": Explanation(
        "somebody else has the files open or locked",
        "The server keeps this client out. Mostly the other one is a client of another protocol "
        "(SMB), whose opens and locks shut others out.",
        (
            Advice(
                "Find out at the server who has these files open (Samba: smbstatus -L; Windows: "
                "Get-SmbOpenFile; NetApp: vserver cifs session file show, vserver locks show): "
                "often a virus scanner, an indexer or a backup."
            ),
        ),
    ),
}
"""What is said of each kind."""

_OVERTAKEN = Explanation(
    "processes that open and close one file at a time get ahead of one another",
    "A CLOSE names the open as the client knew it when it sent the call. Where several processes "
    "of a client open and close a file at the same moment (parallel builds), another OPEN or CLOSE "
    "may be carried out first: the server answers OLD_STATEID, or BAD_STATEID where that one "
    "closed the file for all of them. Programs notice nothing but the round trips.",
    (
        Advice(
            "Nothing needs to be done. If no two processes open these files at the same time, look "
            "for updates of client and server, and show their vendors the example frames."
        ),
    ),
)
"""What is said of CLOSEs that name an open as it was (RFC 8881 section 8.2.2)."""

_MAKE_IT = (
    "See whether the server can, and it is switched off: its file system, or the gateway or "
    "library that serves it, may have an option for it."
)

_UNMADE = {
    "SYMLINK": Explanation(
        "the server makes no symbolic links",
        "The server, or where it keeps files, has no such thing (object storage, FAT, a gateway "
        "in user space). The mode of the directory and the user's rights are not why. Programs get "
        "an error for each: archives, package managers and git leave the links out, or give up.",
        (
            Advice(f"{_MAKE_IT} Otherwise keep what needs symbolic links on another server."),
            Advice(
                "Have the program store what a link leads to, or a file in its place: cp -L, "
                "rsync -L, tar -h as it packs; git config core.symlinks false."
            ),
        ),
    ),
    "LINK": Explanation(
        "the server makes no hard links",
        "The server, or where it keeps files, has no second names for them (object storage, FAT, "
        "a gateway in user space). The names that were asked for are not why. Programs get an "
        "error for each: some copy the file instead, others give up.",
        (
            Advice(f"{_MAKE_IT} Otherwise keep what needs hard links on another server."),
            Advice(
                "Have the program make copies: rsync without -H and --link-dest, tar "
                "--hard-dereference as it packs, cp without -l and --preserve=links (-a has it); "
                "mail and lock files that are made by link need another way of locking."
            ),
        ),
    ),
    "MKNOD": Explanation(
        "the server makes no devices, sockets or pipes",
        "The server, or where it keeps files, has no such thing (object storage, FAT, a gateway "
        "in user space). The mode of the directory and the user's rights are not why. Programs get "
        "an error for each.",
        (
            Advice(
                "Keep sockets and pipes on a local file system (TMPDIR, XDG_RUNTIME_DIR): those "
                "on NFS serve programs of one host alone."
            ),
            Advice(f"{_MAKE_IT} rsync leaves them out without -D, which -a has."),
        ),
    ),
}
"""What is said where the server does not support an operation that makes something; programs on
the client have no other one for it."""

_NO_EXCLUSIVE_CREATES = Explanation(
    "the server makes no files exclusively",
    "A client asks for an exclusive create where the program wants the file to be new (O_CREAT "
    "with O_EXCL, as tar, cp and mktemp use it). Where the server cannot, Linux asks for a guarded "
    "one instead (RFC 1813 section 3.3.8), so that programs notice nothing but the time: a "
    "round trip more for each new file.",
    (
        Advice(
            "Nothing needs to be done. If new files are what takes the time, look for a version of "
            "the server that makes files exclusively, or for another server."
        ),
        Advice(
            "If the application can do without O_EXCL (tar --overwrite, cp over files that exist, "
            "rsync --inplace), let it.",
            "a file of that name that another program makes at the same time goes unnoticed.",
        ),
    ),
)
"""A CREATE is nothing that a server could not support at all."""

RULE = Rule(
    id="rejected_calls",
    title="Calls that the server rejects again and again",
    origin="RFC 1813 section 2.6, RFC 7530 section 13.1, RFC 8881 section 15.1, RFC 5531 section 9",
    judge=judge,
    thresholds=(LEAST, SHARE),
)
