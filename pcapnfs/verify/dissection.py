"""Wireshark's dissection of the call and the reply that a frame belongs to: `pcapnfs show`.

Takes a trace, the captures that it was made of and a frame number as reports mention it, counted
over all files in order of time; gives the calls of that frame, as pcapnfs reads them and line by
line as Wireshark does. A frame without a call is dissected as it is, with what pcapnfs noted of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import paths as of_files
from pcapnfs.analyses.asking.values import seconds
from pcapnfs.errors import UsageError
from pcapnfs.record import Record
from pcapnfs.verify import tool, verification
from pcapnfs.verify.source import one_file
from pcapnfs.verify.trees import Packet, packets

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call connection xid client server callback program protocol op signature "
    "call_first_frame call_frame call_time reply_first_frame reply_frame srt transmissions "
    "rpc_status status_name stability file directory uid undecoded",
    operations="call position name new_name",
    files="file path",
    notes="reason frame call",
    connections="transport client_port server_port client_lost server_lost missing_bytes",
)
"""The columns that the queries here read."""

LINE_LIMIT = 300
"""Characters of a line; file data would make lines of megabytes."""

CALLS_LIMIT = 64
"""Calls of one frame that are dissected; a frame of 64 KB may hold a thousand."""


class Line(Record):
    """One line of Wireshark's dissection."""

    depth: int
    """How far it is indented: 0 for a protocol."""
    field: str
    """Wireshark's name of protocol or field, as display filters take it; empty for a line that is
    only text."""
    text: str
    """The line as Wireshark shows it, at most 300 characters."""


class Message(Record):
    """A call or a reply as Wireshark dissects it."""

    frame: int
    """The frame that completes it, or that holds what there is of it."""
    side: str
    """`call`, `reply`, or `packet` for a frame without either."""
    lines: tuple[Line, ...]
    """Its dissection; none when tshark shows no such message in this frame."""


class Reading(Record):
    """A call as pcapnfs reads it."""

    call: int
    """Its number in the table calls."""
    version: str
    """`3`, `4.1`, `mount3` …"""
    signature: str
    """Its operations in order, with what sets them apart."""
    path: str | None
    """Path of the file that it is about; None when it is about none."""
    name: str | None
    """The name that its operation gives; None when none does."""
    new_name: str | None
    """RENAME: the new name; None for others."""
    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    callback: bool
    """The server called the client."""
    uid: int | None
    """AUTH_SYS user who asked; None under another flavor."""
    stability: str
    """`stable`, `unstable`, `unstable_write`, `read`, `state` or `unknown`."""
    status: str | None
    """The RFC's name of its status; None without reply, and where the reply has none (NULL, UMNT)
    or none that could be read."""
    srt_s: float | None
    """Service time, seconds; None without reply."""
    transmissions: int
    """How often it was sent."""
    undecoded: str | None
    """Why it was not decoded to its end; None when it was."""
    messages: tuple[Message, ...]
    """The call and, when it is there, the reply."""


class Shown(Record):
    """What is in a frame."""

    frame: int
    """The frame that was asked for."""
    tshark: str
    """Version of tshark."""
    calls: int
    """Calls that it belongs to."""
    readings: tuple[Reading, ...]
    """The first of them."""
    packet: Message | None
    """The frame itself when it belongs to no call; None when it does."""
    notes: tuple[str, ...]
    """Codes of what pcapnfs noted of the frame."""


def show(trace: Trace, paths: Sequence[str], frame: int, *, every_layer: bool = False) -> Shown:
    """Dissect what a frame belongs to.

    Args:
        trace: The trace.
        paths: The captures that it was made of.
        frame: Number of the frame, counted over all files in order of time.
        every_layer: Also the fields of the layers below RPC, of which else only the line is given.

    Raises:
        CaptureError: tshark cannot read a capture.
        NoTsharkError: tshark is not installed.
        UsageError: There is no such frame, or a capture is standard input.
    """
    last = max((file.last_frame or 0 for file in trace.meta.files), default=0)
    if not 1 <= frame <= last:
        raise UsageError(f"there is no frame {frame}: they are numbered from 1 to {last}")
    version = tool.version()
    rows = _calls(trace, frame)
    wanted = {frame} if not rows else {each for row in rows[:CALLS_LIMIT] for each in _frames(row)}
    with one_file(paths, trace.meta.files) as path:
        found = _dissect(path, verification.settings(trace), wanted)
    with closing(trace.cursor()) as cursor:
        known = of_files.of(cursor, (row["shown"] for row in rows[:CALLS_LIMIT]))
    notes = trace.sql("select distinct reason from notes where frame = $frame", {"frame": frame})
    return Shown(
        frame=frame,
        tshark=version,
        calls=len(rows),
        readings=tuple(
            _reading(row, known.get(row["shown"]), found, every_layer) for row in rows[:CALLS_LIMIT]
        ),
        packet=None if rows else _message(found, frame, "packet", None, every_layer),
        notes=tuple(sorted(reason for (reason,) in notes.fetchall())),
    )


def _calls(trace: Trace, frame: int) -> list[dict[str, Any]]:
    """The calls that begin or end in the frame, or of which something was noted there.

    Without such, those in whose middle it lies.
    """
    exact = """
        $frame in (call_first_frame, call_frame, reply_first_frame, reply_frame)
        or call in (select call from notes where frame = $frame)
    """
    within = """
        $frame between call_first_frame and call_frame
        or $frame between reply_first_frame and reply_frame
    """
    for condition in (exact, within):
        relation = trace.sql(
            f"""
            select call, xid, protocol, signature, client, server, callback, uid, stability,
                   coalesce(nullif(rpc_status, 'SUCCESS'), status_name) as status, srt,
                   transmissions, undecoded, call_frame, reply_frame,
                   coalesce(file, directory) as shown,
                   (select first(name order by position) from operations o
                    where o.call = calls.call and name is not null) as name,
                   (select first(new_name order by position) from operations o
                    where o.call = calls.call and new_name is not null) as new_name
            from calls
            where {condition}
            order by call_time, call
            """,
            {"frame": frame},
        )
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        if rows:
            return rows
    return []


def _frames(row: dict[str, Any]) -> Iterator[int]:
    yield row["call_frame"]
    if row["reply_frame"] is not None:
        yield row["reply_frame"]


def _dissect(path: Path, options: Iterable[str], frames: set[int]) -> dict[int, Packet]:
    listed = ", ".join(str(frame) for frame in sorted(frames))
    trees = packets(path, f"frame.number in {{{listed}}}", tuple(options), last_frame=max(frames))
    return {packet.frame: packet for packet in trees}


def _reading(
    row: dict[str, Any], path: str | None, found: dict[int, Packet], every_layer: bool
) -> Reading:
    messages = [_message(found, row["call_frame"], "call", row["xid"], every_layer)]
    if row["reply_frame"] is not None:
        messages.append(_message(found, row["reply_frame"], "reply", row["xid"], every_layer))
    return Reading(
        call=row["call"],
        version=row["protocol"],
        signature=row["signature"],
        path=path,
        name=row["name"],
        new_name=row["new_name"],
        client=row["client"],
        server=row["server"],
        callback=row["callback"],
        uid=row["uid"],
        stability=row["stability"],
        status=row["status"],
        srt_s=seconds(row["srt"]),
        transmissions=row["transmissions"],
        undecoded=row["undecoded"],
        messages=tuple(messages),
    )


def _message(
    found: dict[int, Packet], frame: int, side: str, xid: int | None, every_layer: bool
) -> Message:
    """The message with this xid in a frame, below the layers that carried it."""
    packet = found.get(frame)
    lines: list[Line] = []
    for protocol in () if packet is None else _of(packet, xid):
        carried = _above_transport(protocol) or xid is None
        lines += _lines(protocol, 0, deep=every_layer or carried)
    return Message(frame, side, tuple(lines))


def _of(packet: Packet, xid: int | None) -> Iterator[Element]:
    """The protocols of a packet without the other messages that it carries."""
    ours = True
    for protocol in packet.protocols:
        if protocol.get("name") == "rpc":
            told = protocol.find(".//field[@name='rpc.xid']")
            ours = xid is None or told is None or int(told.get("show") or "0", 0) == xid
        if ours:
            yield protocol


def _above_transport(protocol: Element) -> bool:
    """Whether a protocol is RPC or what it carries: none of those that Wireshark has below."""
    return protocol.get("name") not in _BELOW


_BELOW = frozenset(
    ("frame", "eth", "sll", "null", "vlan", "ip", "ipv6", "tcp", "udp", "gre", "mpls", "infiniband")
)
"""Protocols of which one line is given unless all is asked for."""


WRAPPER = "fake-field-wrapper"
"""What tshark puts around lines that belong to no protocol."""


def _lines(element: Element, depth: int, *, deep: bool) -> Iterator[Line]:
    """A field and what is below it, as Wireshark's window would unfold it."""
    if element.get("hide") == "yes":
        return
    name = element.get("name") or ""
    if name == WRAPPER:
        # It says nothing, and may hold what a message was put together of.
        if deep:
            for child in element:
                yield from _lines(child, depth, deep=True)
        return
    text = element.get("showname") or element.get("show") or name
    if len(text) > LINE_LIMIT:
        text = text[: LINE_LIMIT - 1] + "…"
    yield Line(depth, name, text)
    if deep:
        for child in element:
            yield from _lines(child, depth + 1, deep=True)
