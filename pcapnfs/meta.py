"""What is known about a trace besides its tables: the files read and what was met in them.

Takes the JSON text that the decoder ends with; gives frozen values. Imports nothing heavy, so that
views may name them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pcapnfs.record import Record

STANDARD_INPUT = "-"
"""The path that stands for standard input, which cannot be read a second time."""


class CaptureFile(Record):
    """One capture file."""

    path: str
    """As it was named; `-` is standard input."""
    format: str
    """pcap, pcapng …, and how it was compressed; empty of a file that ends before it tells."""
    link_types: tuple[str, ...]
    """Link types of its interfaces."""
    packets: int
    """Packets read."""
    bytes: int
    """Bytes of its packets on the wire, whether captured or cut off."""
    start_ns: int | None
    """Time of the earliest packet, nanoseconds since 1970; None without packets that have
    one."""
    end_ns: int | None
    """Time of the latest packet, likewise."""
    snaplen: int | None
    """Bytes kept of each packet; None when the file sets no limit."""
    truncated_packets: int
    """Packets that were longer on the wire than in the file."""
    first_frame: int | None
    """Number of its first frame, counted over all files of the trace; None without packets.

    Frames are counted in the order of time, as `mergecap` would number them. Where `last_frame` is
    `first_frame + packets - 1`, no other file has frames in between, and frame `f` of the trace is
    frame `f - first_frame + 1` of this file.
    """
    last_frame: int | None
    """Number of its last frame, counted in the same way; None without packets."""
    dropped_packets: int | None
    """Packets that the capturing host says it lost; None when the file does not tell."""
    damage: str | None
    """Where and why the file breaks off or contradicts itself, and what was read all the same; None
    when it does not."""
    untimed_packets: int = 0
    """Packets that have no time (pcapng simple packet blocks), or one before 1970 or after 2116:
    that of the packet before stands for it; 0 also in traces that were written before they were
    counted."""
    mistimed_packets: int = 0
    """Packets that state a time that cannot be: that of the packet before stands for it; 0
    likewise."""
    late_packets: int = 0
    """Packets that stood behind others that came later, and were taken in order of time; 0
    likewise."""
    set_back: int = 0
    """How often the clock of the capturing host was set back; times are counted on; 0 likewise."""
    set_back_ns: int = 0
    """By how much, in all, nanoseconds; 0 likewise."""
    set_back_frame: int | None = None
    """The frame before which it was for the first time; None for never, and where frames of other
    files are among those of this one."""
    set_forward: int = 0
    """How often it was set forward, as the TCP timestamps of both ends tell; times are counted on;
    0 likewise."""
    set_forward_ns: int = 0
    """By how much, in all, nanoseconds; 0 likewise."""
    set_forward_frame: int | None = None
    """The frame before which it was for the first time; None as of `set_back_frame`."""
    untold_pause_ns: int = 0
    """The longest pause of which nothing tells whether the clock was set forward, nanoseconds; 0
    likewise."""
    untold_pause_frame: int | None = None
    """The frame behind it; None as of `set_back_frame`."""
    followers: int = 0
    """Captures that follow the first one in the same file, as `cat` puts them there; 0 likewise."""
    passed_bytes: int = 0
    """Bytes of the file, or of what it unpacks to, that were passed over as damage; 0 likewise."""
    trailing_bytes: int = 0
    """Bytes behind the compressed data that begin no more of it, unless they are zeros; 0
    likewise."""

    @property
    def compressed(self) -> bool:
        """Whether the file is compressed."""
        return ", " in self.format


class Stream(Record):
    """Captures whose packets are one stream, in order of time: one, or several named together."""

    files: tuple[str, ...]
    """Their paths as they were named; `-` is standard input."""
    frames_before: int
    """Frames of the streams before it, which are counted first: frame `f` of the trace is frame
    `f - frames_before` of this stream. So Wireshark numbers it in its only capture, or in the one
    that `pcapnfs annotate` or `mergecap` makes of several."""


class Vain(Record):
    """What one client asked of one port of a server in vain: a connection."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    port: int
    """The port that it asked for."""
    attempts: int
    """Attempts: SYNs that only repeat others belong to one."""
    syns: int
    """SYNs in all."""
    refusals: int
    """Resets by which they were answered."""
    first_ns: int
    """When the first SYN was sent, nanoseconds since 1970."""
    last_ns: int
    """When the last one was, likewise."""
    frame: int
    """The first frame of the last attempt."""


FILES_FORGOTTEN = "files_forgotten"
"""Of `Meta.limits_hit`, the limit that more memory lifts."""


class Meta(Record):
    """What the decoder says at its end."""

    files: tuple[CaptureFile, ...]
    """The files, in the order of their first packets."""
    packets: Mapping[str, int]
    """Packets by what they turned out to be: tcp, udp, duplicate, fragment, rdma, not_ip …"""
    limits_hit: Mapping[str, int]
    """How often each of the decoder's limits was reached, by its code; empty as a rule."""
    calls: int
    """Rows of the table calls."""
    undecoded: int
    """Messages that were not decoded to their end."""
    nfs_calls: int = 0
    """Calls of NFS and its access control lists, and callbacks; 0 also in traces that were written
    before they were counted."""
    vlan_tags: int = 0
    """The most VLAN tags (IEEE 802.1Q) that a packet of NFS's own ports had; 0 likewise."""
    hidden: bool = False
    """Packets of these ports lay in tunnels, in fragments or behind other labels; False
    likewise."""
    silent_connections: int = 0
    """TCP connections to ports of RPC that a client asked for, and nobody answered; 0 likewise."""
    refused_connections: int = 0
    """The same where a reset was the answer; 0 likewise."""
    vain: tuple[Vain, ...] = ()
    """Who asked whom for these, the longest first; of many pairs of a client and a server's port
    those that went on longest; empty likewise."""
    copies_apart: int = 0
    """Packets that another file holds as well, by a clock that is apart; they are left out. 0
    likewise."""
    apart_ns: int | None = None
    """How much later they came on average, nanoseconds; None without any."""
    parts: tuple[int, ...] = ()
    """How many of the files each part of a trace has that was put together from several decodes, in
    order; empty where all files are one stream of packets."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of packets, in the order in which their frames are counted."""
        found: list[Stream] = []
        rest, before = self.files, 0
        for number in self.parts or (len(self.files),):
            files, rest = rest[:number], rest[number:]
            found.append(Stream(tuple(file.path for file in files), before))
            before += sum(file.packets for file in files)
        return tuple(found)

    @property
    def forgotten_files(self) -> int:
        """Files and names that were forgotten to keep within memory."""
        return self.limits_hit.get(FILES_FORGOTTEN, 0)

    @property
    def start_ns(self) -> int | None:
        """Time of the earliest packet, ns since 1970; None without packets that have one."""
        return min(
            (file.start_ns for file in self.files if file.start_ns is not None), default=None
        )

    @property
    def end_ns(self) -> int | None:
        """Time of the latest packet, likewise."""
        return max((file.end_ns for file in self.files if file.end_ns is not None), default=None)


def parse(document: str) -> Meta:
    """Read the text of `Decoder.finish()`."""
    told = json.loads(document)
    files = tuple(file(each) for each in _listed(told["files"]))
    return Meta(
        files,
        told["packets"],
        told["limits_hit"],
        told["calls"],
        told["undecoded"],
        told.get("nfs_calls", 0),
        told.get("vlan_tags", 0),
        told.get("hidden", False),
        told.get("silent_connections", 0),
        told.get("refused_connections", 0),
        tuple(Vain(**each) for each in _listed(told.get("vain", []))),
        told.get("copies_apart", 0),
        told.get("apart_ns"),
    )


def file(told: Mapping[str, Any]) -> CaptureFile:
    """Read what the decoder says of one file."""
    return CaptureFile(**{**told, "link_types": tuple(_listed(told["link_types"]))})


def _listed(value: object) -> list[Any]:
    """A value that is a list; others could be gone through as well, and say something else."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value
