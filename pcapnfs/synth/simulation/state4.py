"""What the client and the server of NFSv4 call things: sessions, owners, states, attributes."""

from __future__ import annotations

from typing import Any

from pcapnfs.synth.builder.nfs4 import Stateid
from pcapnfs.synth.builder.nfs4.types import NF4DIR, NF4REG
from pcapnfs.synth.simulation.exchange import Slot
from pcapnfs.synth.simulation.filesystem import Node

SESSION = b"synthetic-sessio"
"""The client's session."""

CLIENT_ID = 0x5E55_0001
"""The client, as the server calls it."""

ASKED = (
    "type change size fsid fileid mode numlinks owner owner_group rawdev space_used time_access "
    "time_metadata time_modify mounted_on_fileid"
).split()
"""What every GETATTR asks for."""

PLUS = ("type", "change", "size", "fsid", "filehandle", "fileid", "mode", "time_modify")
"""What a READDIR asks for that stands for READDIRPLUS."""

PLAIN = ("rdattr_error", "mounted_on_fileid")
"""What one asks for that does not."""

ABOVE = b"\x01\x00\x01\x00synth-server-root"
"""Handle of the server's root, above the export."""


def owner(slot: Slot) -> bytes:
    """The open owner of a thread."""
    return b"open-owner-%04d" % slot.number


def stateid(node: Node) -> Stateid:
    """The open state of a file."""
    return Stateid(1, b"open" + node.fileid.to_bytes(8, "big"))


def attributes(node: Node) -> dict[str, Any]:
    """A node's attributes as every GETATTR asks for them."""
    return {
        "type": NF4DIR if node.directory else NF4REG,
        "change": node.change,
        "size": node.size,
        "fsid": (1, 1),
        "fileid": node.fileid,
        "mode": node.mode,
        "numlinks": 2 if node.directory else 1,
        "owner": "0",
        "owner_group": "0",
        "rawdev": (0, 0),
        "space_used": -(-node.size // 4096) * 4096,
        "time_access": node.modified_ns,
        "time_metadata": node.changed_ns,
        "time_modify": node.modified_ns,
        "mounted_on_fileid": node.fileid,
    }


def listed(node: Node, *, plus: bool) -> dict[str, Any]:
    """A node's attributes as a listing shows them."""
    if not plus:
        return {"mounted_on_fileid": node.fileid}
    known = {**attributes(node), "filehandle": node.handle}
    return {name: known[name] for name in PLUS}
