"""What was read: files, packets, time span, and who talked to whom in which protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.captured import traffic
from pcapnfs.meta import Stream
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS, timestamp

if TYPE_CHECKING:
    from pcapnfs.meta import CaptureFile
    from pcapnfs.trace import Trace

READS = columns.together(
    traffic.READS,
    columns.of(
        calls="protocol connection",
        connections="connection server role",
    ),
)
"""The columns that the queries here read."""


class Capture(Record):
    """The captures of a trace, taken together."""

    files: tuple[str, ...]
    """Paths as they were named; `-` is standard input."""
    streams: tuple[Stream, ...]
    """The same by stream of packets: one where captures were named together; each of several traces
    and of independent captures is one of its own. Frames are counted on from one to the next."""
    format: str | None
    """File format; several formats are joined by a comma; None without files."""
    link_types: tuple[str, ...]
    """Link types of all interfaces."""
    packets: int
    """Packets read."""
    packet_kinds: Mapping[str, int]
    """Packets by what they turned out to be; adds up to `packets`."""
    bytes: int
    """Bytes of the packets on the wire, whether captured or cut off."""
    start: str | None
    """Time of the earliest packet, ISO 8601 in UTC; None without packets that have one."""
    end: str | None
    """Time of the latest packet, ISO 8601 in UTC; None without packets that have one."""
    duration_s: float | None
    """From the earliest to the latest packet, seconds; None likewise."""
    snaplen: int | None
    """Bytes kept of each packet, the smallest of all files, as their headers say; None when no
    file sets a limit."""
    truncated_packets: int
    """Packets that were longer on the wire than in the file."""
    cut_to: int | None
    """The length that they were cut to, bytes, the smallest of all files with such packets; None
    without any, and where a file names no limit, or one above what its packets can have had."""
    dropped_packets: int | None
    """Packets that the capturing host says it lost; None when no file tells."""
    damage: tuple[str, ...]
    """For each file that breaks off or contradicts itself: where and why, and what was read all the
    same."""
    followers: int
    """Captures that follow the first one in the same file, as `cat` puts them there; Wireshark
    reads the first alone."""
    trailing_bytes: int
    """Bytes behind the compressed data of files that begin no more of it; zeros do not count."""
    vlan_tags: int
    """The most VLAN tags (IEEE 802.1Q) that a packet of NFS's own ports had; 0 as a rule."""
    hidden: bool
    """Packets of these ports lay in tunnels, in fragments or behind other labels: a filter for
    hosts and ports does not see them."""
    copies_apart: int
    """Packets that another file holds as well, by a clock that is apart; they are left out, and
    count as `duplicate` among the kinds. 0 as a rule."""
    apart_s: float | None
    """How much later these copies came on average, seconds; None without any."""
    limits_hit: Mapping[str, int]
    """How often each of the decoder's limits was reached, by its code; empty as a rule."""
    clients: tuple[str, ...]
    """Addresses of the NFS clients."""
    servers: tuple[str, ...]
    """Addresses of the NFS servers."""
    protocols: tuple[str, ...]
    """Protocols that calls were made in: `3`, `4.2`, `nfsacl3`, `mount3` …"""
    data_servers: tuple[str, ...]
    """Addresses of the servers that hold data for a metadata server (pNFS); empty without."""
    data_connections: int
    """Connections to data servers; those that lead to a metadata server too are not among them."""
    data_calls: int
    """Calls on these connections."""


def capture(trace: Trace) -> Capture:
    """Put together what the decoder says of its files, and the two sides of all calls."""
    meta = trace.meta
    start, end = meta.start_ns, meta.end_ns
    clients, servers = traffic.sides(trace)
    protocols = {protocol for (protocol,) in trace.rows("select distinct protocol from calls")}
    data_servers, data_connections, data_calls = trace.rows(_DATA_SERVERS)[0]
    dropped = [file.dropped_packets for file in meta.files if file.dropped_packets is not None]
    return Capture(
        files=tuple(file.path for file in meta.files),
        streams=meta.streams,
        format=", ".join(_distinct(file.format for file in meta.files if file.format)) or None,
        link_types=_distinct(name for file in meta.files for name in file.link_types),
        packets=sum(file.packets for file in meta.files),
        packet_kinds=dict(meta.packets),
        bytes=sum(file.bytes for file in meta.files),
        start=timestamp(start),
        end=timestamp(end),
        duration_s=None if start is None or end is None else (end - start) / NANOSECONDS,
        snaplen=min(
            (file.snaplen for file in meta.files if file.snaplen is not None), default=None
        ),
        truncated_packets=sum(file.truncated_packets for file in meta.files),
        cut_to=_cut_to([file for file in meta.files if file.truncated_packets]),
        dropped_packets=sum(dropped) if dropped else None,
        damage=tuple(
            f"{file.path}: {file.damage}" for file in meta.files if file.damage is not None
        ),
        followers=sum(file.followers for file in meta.files),
        trailing_bytes=sum(file.trailing_bytes for file in meta.files),
        vlan_tags=meta.vlan_tags,
        hidden=meta.hidden,
        copies_apart=meta.copies_apart,
        apart_s=None if meta.apart_ns is None else meta.apart_ns / NANOSECONDS,
        limits_hit=dict(meta.limits_hit),
        clients=tuple(sorted(clients)),
        servers=tuple(sorted(servers)),
        protocols=tuple(sorted(protocols)),
        data_servers=tuple(sorted(data_servers or ())),
        data_connections=data_connections,
        data_calls=data_calls,
    )


def _cut_to(cut: Sequence[CaptureFile]) -> int | None:
    """The limit of these files.

    Programs that shorten packets may leave the header as it was (262,144), or write none. A packet
    is longer on the wire than the limit that it was cut to: a limit is not believed where all
    packets together are shorter than that many would have to be.
    """
    limits = [
        file.snaplen
        for file in cut
        if file.snaplen and file.truncated_packets * (file.snaplen + 1) <= file.bytes
    ]
    return min(limits) if cut and len(limits) == len(cut) else None


_DATA_SERVERS = """
    with data as (select connection, server from connections where role = 'data server')
    select (select list(distinct server) from data),
           (select count(*) from data),
           (select count(*) from calls where connection in (select connection from data))
"""


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """The distinct names in order of appearance."""
    return tuple(dict.fromkeys(names))
