"""A mount that came to nothing, or late, and why; or that is all there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.confidence import Confidence
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Observed, Rule, Severity
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.programs import MOUNT, NFS

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_outcomes import MountOutcome
    from pcapnfs.diagnosis.material import Material

LATE = Threshold(
    "mount_outcome.late", 1.0, "s", "for how long a client that went on met with nothing else; "
    "below, what the portmapper does not know is no finding, and the rest a note",
    "default of this tool: users notice a second",
)  # fmt: skip

SERVICES = {str(NFS): "NFS", str(MOUNT): "MOUNT"}
"""Programs that the portmapper is asked for, by their number as text."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and reason; of what a client went on without, one in all.

    That Linux's `umount` asks for a MOUNT by UDP, which few servers have, concerns nobody.
    """
    went_on: dict[tuple[str, str], list[MountOutcome]] = {}
    for met in material.mount_outcomes:
        if not met.went_on:
            yield _JUDGED[met.kind](met)
        elif met.tried_s >= values[LATE.name]:
            yield _late(met)
        elif met.kind not in ("flavour", "unregistered"):  # That is how clients find out.
            went_on.setdefault((met.client, met.server), []).append(met)
    for several in went_on.values():
        yield _negotiated(several)


def _observed(
    met: MountOutcome,
    title: str,
    why: str,
    advice: tuple[Advice, ...],
    *,
    severity: Severity = "warning",
    confidence: Confidence = "certain",
) -> Observed:
    return Observed(
        severity=severity,
        title=title,
        seen=_seen(met) + ("" if severity == "note" else _no_way(met)),
        why=why,
        advice=advice,
        calls=met.calls,
        confidence=confidence,
        data=units.counted(met.calls, "call"),
        frames=met.frames,
        about=(met.client, met.server),
    )


def _seen(met: MountOutcome) -> str:
    if met.kind == "unregistered":
        asked = wording.several([_service(each) for each in met.asked])
        return (
            f"The portmapper answered {units.counted(met.calls, 'call')} with 'not registered': "
            f"{asked}."
        )
    asked = wording.several([_operation(each) for each in met.asked])
    verb = "was" if met.calls == 1 else "were"
    text = (
        f"{units.counted(met.calls, 'call')} ({asked}) {verb} answered {' or '.join(met.statuses)}"
    )
    if met.paths:
        text += f": {wording.places(met.paths[: wording.NAMED])}"
    if met.flavours:
        text += f", for {', '.join(met.flavours)}"
    return f"{text}."


def _no_way(met: MountOutcome) -> str:
    """That the client did not get on otherwise."""
    how = {"flavour": " with another flavour", "unused": " with any of these"}.get(met.kind, "")
    return f" The client reached no file{how} after it."


def _service(asked: str) -> str:
    """As the portmapper names it, 100003 v3 tcp, for people."""
    program, *rest = asked.split()
    return " ".join([SERVICES.get(program, program), *rest])


def _operation(asked: str) -> str:
    """An operation and its protocol."""
    op, _, protocol = asked.partition(" ")
    version = protocol.removeprefix("mount")
    if op.isdigit():
        op = f"procedure {op}"
    return f"{op} of {'NFSv' if version == protocol else 'MOUNT v'}{version}"


def _unregistered(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "The server's portmapper does not know the service that the mount needs",
        "A service registers with the portmapper when it starts. It does not run, it is switched "
        "off for that version or transport, or the portmapper was restarted after it.",
        (
            Advice(
                "See what is registered (rpcinfo -p SERVER), and start NFS and mountd on the "
                "server, or again (Linux: systemctl restart nfs-server), or switch the version on "
                "(Linux: vers3=y in /etc/nfs.conf, section nfsd; NetApp: vserver nfs modify -v3 "
                "enabled)."
            ),
            Advice("NFSv4 needs neither the portmapper nor MOUNT: mount with vers=4.2 or 4.1."),
        ),
    )


VERSIONS = ("4.2", "4.1", "4.0", "3")
"""What may be named to a mount (vers=)."""


def _version(met: MountOutcome) -> Observed:
    asked = {each.partition(" ")[2] for each in met.asked}
    others = [each for each in VERSIONS if not {each, each.partition(".")[0]} & asked]
    versions = f"vers={', '.join(others)}; mountvers=3" if others else "mountvers=3"
    return _observed(
        met,
        "The server does not have the version that the mount asks for",
        "The service is there and has other versions; it says which ones, and a client that is "
        "not told to use a certain one tries the next.",
        (
            Advice(
                f"Mount with a version that the server has ({versions}), or leave vers= out, so "
                "that the client finds out."
            ),
            Advice(
                "Or switch the version on at the server (Linux: /etc/nfs.conf, section nfsd, and "
                "/proc/fs/nfsd/versions for what is on; NetApp: vserver nfs show -fields "
                "v3,v4.0,v4.1)."
            ),
        ),
    )


def _program(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "What answers on the port is not the service that the mount needs",
        "An RPC service listens there and does not have the program: NFS is switched off or not "
        "started yet, or the port (port=, mountport=) is that of another service.",
        (
            Advice(
                "See what is registered (rpcinfo -p SERVER) and whether NFS runs on the server; "
                "compare port= and mountport= of the mount with it."
            ),
        ),
    )


def _flavour(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "The export wants another security flavour than the mount has",
        "NFS4ERR_WRONGSEC: this directory, or one on the way to it, allows other flavours than "
        "the client's. A client asks which ones (SECINFO), and gives up when it has none of them; "
        "with sec= in its mount it tries no other.",
        _OTHER_FLAVOUR,
    )


def _invalid(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "The server does not take what the mount asks for",
        "It is not for lack of permission: INVAL and NAMETOOLONG are about the path as it stands "
        "in the call (not absolute, too long, characters that the server does not know), NOTSUPP "
        "about mounting by NFSv3 at all, or this export.",
        (
            Advice(
                "Compare the path with what is exported (showmount -e), and look at the server's "
                "log: mountd says why it refused. Try NFSv4 (vers=4.2), which needs no MOUNT."
            ),
        ),
    )


def _path(met: MountOutcome) -> Observed:
    missing = not any("ACCESS" in status or status.endswith("_PERM") for status in met.statuses)
    return _observed(
        met,
        "The server does not have the directory that the mount asks for"
        if missing
        else "The server does not let the client into the directory that the mount asks for",
        "An NFSv4 mount begins at the root of all exports and goes down name by name. It ended "
        "here: "
        + (
            "no export has that path for this client, it is mistyped, or it begins with the path "
            "of the export that is the root (fsid=0), which it must leave out."
            if missing
            else "the export, or one above it, is not for this client, or the mode of a directory "
            "on the way does not let its user pass."
        ),
        (
            Advice(
                "Look at what is exported to whom (exportfs -v on a Linux server; showmount -e at "
                "the client where there is NFSv3 as well), and at the modes of all directories "
                "down to it. Mount SERVER:/ and go down from there: what shows is what there is."
            ),
        ),
        confidence="likely",
    )


def _unused(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "The mount was granted for security flavours that the client did not use",
        "The reply of MNT names the flavours with which the export may be used (RFC 1813 section "
        "5.2.1). A client that has none of them gives the mount up by itself ('access denied by "
        "server'), or its calls are refused.",
        _OTHER_FLAVOUR,
        confidence="likely",
    )


def _alone(met: MountOutcome) -> Observed:
    return _observed(
        met,
        "The mount was granted, and no call for files follows",
        "The server gave a handle for what was to be mounted; nothing that the capture has of this "
        "client comes after it.",
        (
            Advice(
                "If the mount failed all the same, look at what came after: capture the port of "
                "NFS as well (2049), and until the mount has ended."
            ),
        ),
        severity="note",
    )


def _late(met: MountOutcome) -> Observed:
    tried = units.duration(met.tried_s)
    return Observed(
        severity="warning",
        title="The client got on only after the server did not have what it asked for",
        seen=f"{_seen(met)} The client met with nothing else for {tried}.",
        why="It asked again until the server had what it needs, or until it tried another way: a "
        "service that was not started yet, or a version, transport or flavour that is switched "
        "off. All that is done on the mount comes after it.",
        advice=(
            Advice(
                "If the server was starting, let clients mount after it (Linux: _netdev, "
                "x-systemd.automount); see what is registered now (rpcinfo -p SERVER)."
            ),
            Advice(
                "Else name in the mount what the server has (vers=, mountvers=, proto=, sec=), so "
                "that nothing is tried."
            ),
        ),
        calls=met.calls,
        confidence="certain",
        data=units.counted(met.calls, "call"),
        frames=met.frames,
        about=(met.client, met.server),
    )


def _negotiated(several: list[MountOutcome]) -> Observed:
    calls = sum(met.calls for met in several)
    first = several[0]
    return Observed(
        severity="note",
        title="The client tried what the server does not have, and got on without",
        seen=" ".join(_seen(met) for met in several),
        why="That is how clients find out what a server has: each try costs a round trip or two as "
        "something is mounted or unmounted, and files are reached all the same.",
        advice=(
            Advice(
                "To be sure of the version, or to spare the tries, name it in the mount (vers=, "
                "mountvers=)."
            ),
        ),
        calls=calls,
        confidence="certain",
        data=units.counted(calls, "call"),
        frames=tuple(frame for met in several for frame in met.frames)[:EXAMPLES],
        about=(first.client, first.server),
    )


_OTHER_FLAVOUR = (
    Advice(
        "Mount with a flavour that the export allows (sec=krb5, krb5i, krb5p or sys), or leave "
        "sec= out; for Kerberos the client needs its keytab and rpc.gssd."
    ),
    Advice(
        "Or allow the flavour at the server, for the export and for all above it (Linux: "
        "sec=sys:krb5 in /etc/exports; NetApp: -rorule and -rwrule of the export policy)."
    ),
)

_JUDGED = {
    "unregistered": _unregistered,
    "version": _version,
    "program": _program,
    "flavour": _flavour,
    "invalid": _invalid,
    "path": _path,
    "unused": _unused,
    "alone": _alone,
}

RULE = Rule(
    id="mount_outcome",
    title="What came of a mount",
    origin="RFC 1833 section 3.2, RFC 5531 section 9 (PROG_MISMATCH, PROG_UNAVAIL), RFC 8881 "
    "sections 2.6, 7 and 15.1; practice: 'requested NFS version or transport protocol is not "
    "supported'",
    judge=judge,
    thresholds=(LATE,),
)
