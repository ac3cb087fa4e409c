"""Writes that the server refuses because its file system is full, or a quota used up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis import refused
from pcapnfs.diagnosis.finding import Advice, Observed, Rule

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each client, server and of both reasons."""
    for pair in material.failures:
        if pair.kind == "space":
            yield refused.of(pair, material.restarts).observed(
                "The server's file system is full, or a limit on it is reached", _ROOM, _FULL
            )
        elif pair.kind == "quota":
            yield refused.of(pair, material.restarts).observed(
                "A quota on the server is used up", _WHY, _QUOTA
            )


_WHY = (
    "What was not stored is lost unless the program notices: a client that writes behind, as Linux "
    "does, tells of the error only at a later write, fsync or close, and many programs do not look "
    "there."
)

_ROOM = (
    "NOSPC is also the answer where a limit of a directory is reached (XFS project quotas, limits "
    f"of some appliances): then df on the server has room. {_WHY}"
)

_CHECK = Advice(
    "Check the files written at that time (perfile --sort written): they may be short or empty."
)

_FULL = (
    Advice(
        "Make room on the server, or extend the file system. Look at inodes as well as at bytes "
        "(df -h, df -i; NetApp: volume show -fields percent-used,files,files-used), and at "
        "snapshots and reserves that hold space."
    ),
    Advice(
        "If there is room, look for a limit of the directory or project that was written to "
        "(XFS: xfs_quota -x -c 'report -p'; an appliance's quotas of directories)."
    ),
    Advice(
        "Keep some of it free: file systems that never overwrite (ZFS, btrfs, WAFL) become slow "
        "before they are full."
    ),
    _CHECK,
)

_QUOTA = (
    Advice(
        "Look at the quota of the user, the group and the directory on the server (repquota -a, "
        "quota -u, xfs_quota, zfs userspace; NetApp: volume quota report): files count as well "
        "as bytes. The quota is that of the identity which the server maps the user to: root may "
        "count as nobody (root_squash)."
    ),
    _CHECK,
)

RULE = Rule(
    id="no_space",
    title="Writes refused for lack of space or quota",
    origin="RFC 1813 section 2.6 (NFS3ERR_NOSPC, NFS3ERR_DQUOT), RFC 8881 section 15.1.4",
    judge=judge,
)
