"""The tcpdump command that would have made a better capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SERVERS_NAMED = 3
"""Servers that a filter names; with more, it goes by port."""

NFS_PORT = 2049
"""The port of NFS (RFC 7530 section 3.1)."""


def command(material: Material, *, where: str = "eth0") -> str:
    """The command, with a filter for the servers of this capture.

    Whole packets, a large buffer (KiB), and a ring of ten files of 1 GB. NFSv3 has mounts and locks
    on other ports than NFS.
    """
    servers = material.capture.servers
    if 0 < len(servers) <= SERVERS_NAMED:
        hosts = " or ".join(f"host {server}" for server in servers)
        chosen = hosts if len(servers) == 1 else f"({hosts})"
        if not any(name.startswith(("2", "3", "nlm", "mount")) for name in _protocols(material)):
            chosen += f" and port {NFS_PORT}"
    else:
        chosen = f"port {NFS_PORT}"
    return f"tcpdump -i {where} -s 0 -B 65536 -C 1000 -W 10 -w nfs.pcap '{chosen}'"


def _protocols(material: Material) -> tuple[str, ...]:
    return material.capture.protocols
