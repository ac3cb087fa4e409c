"""Calls that fail because something is wrong in the server itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis import refused
from pcapnfs.diagnosis.finding import Advice, Observed, Rule

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values

DATA = frozenset({"READ", "READ_PLUS", "WRITE", "COMMIT", "LAYOUTCOMMIT"})
"""Operations whose failure means that data cannot be read or was not stored."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.failures:
        if pair.kind != "fault":
            continue
        data = bool(DATA.intersection(pair.operations))
        yield refused.observed(
            pair,
            "The server cannot read or store data" if data else "The server reports errors",
            "The server itself says that it failed; programs get EIO, ENXIO or EREMOTEIO. "
            "Neither the network nor the client is why."
            + (" Data that was written may not be stored." if data else ""),
            (
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
            severity="problem" if data else "warning",
        )


RULE = Rule(
    id="io_errors",
    title="Errors of the server itself",
    origin="RFC 1813 section 2.6 (NFS3ERR_IO, NFS3ERR_SERVERFAULT), RFC 8881 section 15.1",
    judge=judge,
)
