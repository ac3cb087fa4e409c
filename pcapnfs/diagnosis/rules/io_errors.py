"""Calls that fail because something is wrong in the server itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.analyses.servers.failures import OF_DIRECTORY
from pcapnfs.diagnosis import refused
from pcapnfs.diagnosis.finding import Advice, Observed, Rule

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values

READING = frozenset({"READ", "READ_PLUS"})
"""Operations whose failure means that data cannot be read."""

NAMES = frozenset({"RMDIR", "REMOVE", "RENAME", "LINK"})
"""Operations on names, which have refusals of their own that some servers do not tell apart."""

STORING = frozenset({"WRITE", "COMMIT", "LAYOUTCOMMIT"})
"""Operations whose failure means that data was not stored."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each client and server, and of both kinds."""
    for pair in material.failures:
        if pair.kind == "session":
            yield _session(pair)
        if pair.kind == "no_locks":
            yield _locks(pair)
        if pair.kind != "fault":
            continue
        stored = not STORING.isdisjoint(pair.operations)
        failed = [
            verb
            for verb, operations in (("read", READING), ("store", STORING))
            if not operations.isdisjoint(pair.operations)
        ]
        yield refused.of(pair, material.restarts).observed(
            f"The server cannot {' or '.join(failed)} data"
            if failed
            else "The server reports errors",
            "The server itself says that it failed; programs get EIO, ENXIO or EREMOTEIO. "
            "Neither the network nor the client is why."
            + (" Data that was written may not be stored." if stored else ""),
            (
                *_other_errors(pair),
                Advice(
                    "Look at the server's log around that time, at its disks and its file system "
                    "(dmesg, smartctl, zpool status, mdadm --detail; an appliance's event log), "
                    "before anything is changed at the client."
                ),
                Advice(
                    "If one kind of call is always refused and all else works, the server or its "
                    "file system may not support it: show the vendor the example frames."
                ),
            ),
            severity="problem" if failed else "warning",
        )


def _other_errors(pair: Failures) -> tuple[Advice, ...]:
    """What the server may mean, where it failed to do nothing but what it may refuse."""
    ops = set(pair.operations)
    names, directories = ops & NAMES, {op for op in ops if op.endswith(OF_DIRECTORY)}
    if not ops or names | directories != ops:
        return ()
    meant = []
    if names:
        meant.append(
            "a directory that is not empty cannot be removed or replaced (NOTEMPTY), nor a link "
            "made to one (ISDIR)"
        )
    if directories:
        meant.append("a directory has no data to read or write (ISDIR)")
    return (
        Advice(
            f"See first whether the server means another error: {'; '.join(meant)}. One that "
            "answers so does not keep to the RFC, and nothing is wrong with its disks."
        ),
    )


def _session(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server has no room for the client's session",
        "The server keeps what it last answered for each slot of each session, and records of its "
        "clients; it says that it can make no more of these. Its file systems need not be full.",
        (
            Advice(
                "See how many clients and sessions the server has (Linux: /proc/fs/nfsd/clients) "
                "and how much memory; old ones go when their leases run out."
            ),
            Advice("Let clients ask for fewer slots (Linux: max_session_slots of the module nfs)."),
        ),
        severity="warning",
    )


def _locks(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server gives no locks",
        'Programs get ENOLCK ("No locks available"). Nobody else holds these locks: the server '
        "could not make a record of the client. Mostly the status monitor (rpc.statd), which has "
        "to watch a client before it may lock, does not run on the server, cannot be reached, or "
        "cannot find the client by its name.",
        (
            Advice(
                "On the server, see that rpc.statd runs (`rpcinfo -p` lists program 100024, "
                "status) and what it and lockd log; an appliance has a setting for locks of NFSv3."
            ),
            Advice(
                "Let the server and the client find each other by name and address, and reach each "
                "other's rpcbind and statd through every firewall."
            ),
            Advice("Mount with NFSv4: its locks need neither statd nor other ports."),
            Advice(
                "If only programs of one client lock these files, mount there with nolock (or "
                "local_lock=all).",
                "locks of other clients are not seen: files may be corrupted if there are any.",
            ),
        ),
    )


RULE = Rule(
    id="io_errors",
    title="Errors of the server itself",
    origin="RFC 1813 sections 2.6 (NFS3ERR_IO, NFS3ERR_SERVERFAULT) and 6.1.2 "
    "(NLM4_DENIED_NOLOCKS), RFC 8881 sections 15.1, 18.36",
    judge=judge,
)
