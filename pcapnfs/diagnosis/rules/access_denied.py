"""Calls that the server does not let the user, or the client, do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.servers.failures import ROOT
from pcapnfs.diagnosis import refused, wording
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.refused import Refused
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
    from pcapnfs.analyses.servers.withheld_rights import WithheldRights
    from pcapnfs.confidence import Confidence
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "access_denied.least", 10, "calls", "refused for lack of permission, below which nothing is "
    "reported: programs try", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and reason."""
    for pair in material.failures:
        # Other kinds are for other rules.
        tell = _TOLD.get(pair.kind)
        if tell is not None:
            yield tell(pair)
    denied = {
        (pair.client, pair.server): pair for pair in material.failures if pair.kind == "permission"
    }
    withheld = {(pair.client, pair.server): pair for pair in material.withheld_rights}
    for about in dict.fromkeys((*denied, *withheld)):
        calls, rights = denied.get(about), withheld.get(about)
        parts = [part for part in (calls, rights) if part is not None]
        seen = [] if calls is None else [wording.refused(calls)]
        if rights is not None:
            seen.append(_withheld(rights))
        told = Refused(
            about=about,
            calls=sum(part.calls for part in parts),
            frames=tuple(sorted(frame for part in parts for frame in part.frames))[:EXAMPLES],
            seen=" ".join(seen),
        )
        if told.calls < values[LEAST.name]:
            continue
        most = max(parts, key=lambda part: part.calls)
        if ROOT in most.users[:1]:
            yield _root(told, owned=calls is not None and calls.owning > 0)
        else:
            yield _permission(told, "likely" if calls is None else "certain")


def _withheld(pair: WithheldRights) -> str:
    """What was asked for in vain, before anything could be refused."""
    users = ", ".join(str(user) for user in pair.users)
    return (
        f"{units.counted(pair.calls, 'ACCESS', 'ACCESSes')}, asked by "
        f"{'user' if len(pair.users) == 1 else 'users'} {users}, granted nothing of what is needed "
        f"to open {units.counted(pair.files, 'object')}, which the same user did not read or "
        f"write then: {wording.places(pair.paths)}."
    )


def _permission(told: Refused, confidence: Confidence) -> Observed:
    return told.observed(
        "The server refuses calls for lack of permission",
        "The mode, ACL or export does not allow it to the user, as the server sees the user: "
        "with sec=sys by the numbers of the call, of at most 16 groups; with Kerberos by its name.",
        (
            Advice(
                "Compare the user's numbers on client and server (id), and mode and ACL of the "
                "example files, there."
            ),
            Advice(
                "Users in more than 16 groups: have the server look groups up itself (Linux: "
                "manage-gids in /etc/nfs.conf, section mountd; NetApp: -auth-sys-extended-groups)."
            ),
        ),
        severity="note",
        confidence=confidence,
    )


def _root(told: Refused, *, owned: bool) -> Observed:
    """What root is refused; `owned`: some of it to give files an owner."""
    owners = Advice("As root, keep owners out of it: tar --no-same-owner, rsync --no-owner.")
    return told.observed(
        "Root is refused: the server does not take it for root",
        "The server maps root to nobody (Linux: root_squash, the default of exports(5); NetApp: "
        "superuser in the export policy), so that "
        + (
            "chown fails, and files of others cannot be read or written. tar and rsync run by root "
            "give each file its owner."
            if owned
            else "files and directories of others cannot be read, listed, written or changed "
            "(chmod), and nothing can be made in them."
        ),
        (
            *((owners,) if owned else ()),
            Advice("Do it as a user who may, or on the server."),
            Advice(
                "Export with no_root_squash to this client alone, for as long as it takes.",
                "who is root on the client may then do everything in the export.",
            ),
        ),
        severity="warning",
        confidence="likely",
    )


def _owner(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server does not know the owners that the client names",
        "NFSv4 names owners as user@domain, or by numbers as text where both sides allow it. The "
        "server could not map one of these, so that chown (tar, rsync, cp -p) fails, or the "
        "client asks twice; on listings such owners show as nobody.",
        (
            Advice(
                "Have the same domain on both sides (Domain in /etc/idmapd.conf; NetApp: "
                "-v4-id-domain) and the same users in their directories; then nfsidmap -c at the "
                "client."
            ),
            Advice(
                "With sec=sys let both send numbers (Linux: nfs4_disable_idmapping=Y of the "
                "modules nfs and nfsd, the default; NetApp: -v4-numeric-ids enabled)."
            ),
            Advice(
                "If owners do not matter, keep them out of it: tar --no-same-owner, rsync "
                "--no-owner --no-group."
            ),
        ),
        severity="warning",
    )


def _read_only(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "What the client writes to is read-only on the server",
        "The export is read-only for this client (Linux: ro in exports(5)), or its file "
        "system is: "
        "mounted so, a snapshot, a replica, or made read-only after an error.",
        (
            Advice(
                "Look at the options of the export for this client (Linux: exportfs -v; the first "
                "that matches counts), and whether the file system is read-only on the server "
                "(Linux: mount, dmesg: an error may have made it so)."
            ),
        ),
        severity="warning",
    )


def _mount(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server refuses the mount",
        "The export does not name this client as the server sees it: by address, by the name that "
        "its reverse look-up gives, by netgroup; or a call from a port above 1023 is refused "
        "(Linux: secure, the default of exports(5)).",
        (
            Advice(
                "Look at what is exported to whom (Linux: exportfs -v; or showmount -e at the "
                "client), and at the server's log: on Linux mountd says why it refused. Is the "
                "client behind NAT, or does it come from another of its addresses?"
            ),
        ),
        severity="warning",
    )


def _export(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server has no such export",
        "What the mount names is no directory on the server: mistyped, moved, not there because a "
        "file system below it is not mounted, or a path of NFSv4 (below fsid=0) that was asked for "
        "with NFSv3.",
        (
            Advice(
                "Look at what is exported (showmount -e at the client, exportfs -v on a Linux "
                "server) and whether the directory is there, on the server."
            ),
        ),
        severity="warning",
    )


def _credential(pair: Failures) -> Observed:
    return refused.of(pair).observed(
        "The server refuses the client's credentials",
        "The server did not even look at the call: no export is for this client, or not any more, "
        "or exports want another flavour (sec=krb5) or a port below 1024 (Linux: secure). Programs "
        "get EACCES or EPERM, whatever the file's mode.",
        (
            Advice(
                "Compare the exports (exportfs -v on a Linux server: addresses, sec=, secure) with "
                "the address from which the client comes and its mount's sec= and resvport; look "
                "at the server's log."
            ),
            Advice(
                "If it began while the mount was in use, look for what changed: exports, the "
                "client's address, DNS or netgroups that the server could not look up."
            ),
        ),
        severity="warning",
    )


_TOLD = {
    "owner": _owner,
    "read_only": _read_only,
    "mount": _mount,
    "export": _export,
    "credential": _credential,
}
"""What is told of each kind of refusal (`failures.KINDS`) but `permission`."""

RULE = Rule(
    id="access_denied",
    title="Calls refused for lack of permission",
    origin="RFC 1813 sections 2.6 and 4.4, RFC 8881 sections 5.9 and 15.1; exports(5), root_squash",
    judge=judge,
    thresholds=(LEAST,),
)
