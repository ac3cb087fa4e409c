"""The tcpdump command that would have made a better capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.programs import NFS_PORT

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SERVERS_NAMED = 3
"""Servers that a filter names; with more, it goes by port where it can."""

SERVERS_LIMIT = 32
"""Servers that it names where it cannot; with more, it lets everything through."""

PORTS_NAMED = 4
"""Ports that a filter names; with more, it goes without."""

TAGS_NAMED = 2
"""VLAN tags that a filter looks behind; with more, it goes without."""

ON_OTHER_PORTS = ("2", "3", "nlm", "mount")
"""How the protocols begin that have ports of their own, which change from one mount to another:
mounts and locks of NFSv3."""


def capture_again(how: str, material: Material) -> str:
    """What to do otherwise, with the command; a disk must have the room for what that writes."""
    return f"{how} (writes up to 10 GB, then over the oldest): {command(material)}"


def command(material: Material) -> str:
    """The command, with a filter that loses nothing that was seen of NFS in this capture.

    Whole packets, a large buffer (KiB), and a ring of ten files of 1 GB.
    """
    chosen = _tagged(_filter(material), material.capture.vlan_tags)
    everything = material.capture.hidden or material.capture.vlan_tags > TAGS_NAMED
    quoted = "" if everything else f" '{chosen}'"
    return f"tcpdump -i eth0 -s 0 -B 65536 -C 1000 -W 10 -w nfs.pcap{quoted}"


def _filter(material: Material) -> str:
    servers, ports = material.capture.servers, _ports(material)
    named = ports is not None and "port" in ports
    if len(servers) > (SERVERS_NAMED if named else SERVERS_LIMIT):
        return ports or "tcp or udp"
    if not servers:
        return f"port {NFS_PORT}"
    hosts = " or ".join(f"host {server}" for server in servers)
    conditions = [hosts] if ports is None else [hosts, ports]
    return " and ".join(f"({each})" if " or " in each else each for each in conditions)


def _tagged(chosen: str, tags: int) -> str:
    """The filter for packets without VLAN tags, and with up to so many.

    What follows `vlan` is looked for behind one more tag (pcap-filter(7)), so that it comes last.
    """
    if not tags:
        return chosen
    alone = " or " not in chosen and " and " not in chosen
    first = chosen if alone or _is_group(chosen) else f"({chosen})"
    behind = f"({chosen})" if " or " in chosen and not _is_group(chosen) else chosen
    return " or ".join([first, *[f"(vlan and {behind})"] * tags])


def _is_group(chosen: str) -> bool:
    return chosen.startswith("(") and chosen.find(")") == len(chosen) - 1


def _ports(material: Material) -> str | None:
    """The condition on ports; None where there can be none."""
    protocols = material.capture.protocols
    if any(name.startswith(ON_OTHER_PORTS) for name in protocols):
        return None
    # The server calls NFSv4.0's clients back on ports that they choose (RFC 7530 section 16.33).
    if "4.0" in protocols or len(material.filter_ports) > PORTS_NAMED:
        return "tcp" if all(name.startswith("4") for name in protocols) else None
    return " or ".join(f"port {port}" for port in material.filter_ports or (NFS_PORT,))
