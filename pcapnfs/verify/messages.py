"""Every RPC message that tshark finds, in order of frames, without holding more than one frame.

Takes a file and what tshark must be told about it; gives `Message`s. Tab-separated fields are the
fastest that tshark writes (measured on 14,034 frames with RPC: 1.4 s, where pyshark took 7 s from
its EK output and 68 s from PDML), but they run all messages of a frame together. Frames with
several are therefore read as trees (`trees.py`) by a second tshark beside the first, which starts
with the first such frame.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from pcapnfs import temporary
from pcapnfs.errors import CaptureError
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS
from pcapnfs.verify.tool import find
from pcapnfs.verify.trees import Packet, complaint, packets

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FRAME_FIELDS = ("frame.number", "frame.time_epoch", "tcp.stream", "udp.stream")
_MESSAGE_FIELDS = (
    "rpc.xid",
    "rpc.msgtyp",
    "rpc.program",
    "rpc.programversion",
    "rpc.procedure",
    "rpc.repframe",
    "rpc.time",
    "rpc.dup",
    "rpcordma.xid",
    "nfs.ops.count",
    "nfs.opcode",
    "nfs.cb.operation",
    "nfs.open.why_no_delegation",
    "nfs.nfsstat4",
    "nfs.status3",
    "nfs.status2",
)
_FIELDS = (*_FRAME_FIELDS, *_MESSAGE_FIELDS)

_SEPARATOR = ","
"""Between the values of one field; none of the fields is text, so it cannot be inside a value."""

_WANTED = "rpc.msgtyp or rpc.continuation_data or tcp.segment_data"
"""Frames with a message, and those in whose data tshark sees none: it takes them for a part of
something that it did not see begin, or that is to end later."""

_SEVERAL = "count(rpc.msgtyp) > 1"
"""Frames with more than one message."""

_RDMA = "rpcordma"
"""The layer in which RDMA carries one message; tshark shows a reply twice whose data do not follow
it."""

_EXCHANGE_ID = 42
"""Its state protection lists operations (RFC 8881 section 18.35), which tshark shows in the same
field as the operations of the compound."""


class Message(Record):
    """One RPC message (RFC 5531 section 9) as tshark dissected it."""

    frame: int
    """Frame that completes the message."""
    time_ns: int
    """Time of that frame, nanoseconds since 1970; 0 where it has none."""
    stream: str
    """tshark's conversation, such as `tcp 3`."""
    xid: int
    """Transaction identifier."""
    is_reply: bool
    """A reply; else a call."""
    program: int | None
    """RPC program; None in a reply whose call tshark has not seen, and in a call cut before it."""
    version: int | None
    """Its version, likewise None."""
    procedure: int | None
    """Procedure, likewise None."""
    call_frame: int | None
    """In a reply: the frame of the call that tshark pairs it with; None in calls, and in replies
    without one."""
    srt_ns: int | None
    """In a reply: `rpc.time`, nanoseconds; None likewise."""
    duplicate: bool
    """tshark takes it for a repetition of an earlier one on the same connection."""
    operations: tuple[int, ...]
    """Operations of a compound, also one of a callback; in a reply those with results."""
    status: int | None
    """nfsstat3, nfsstat of version 2, or the status of the compound; None in calls and where
    there is none."""
    carried: bool = False
    """RDMA carried it."""
    no_delegation: int | None = None
    """In a reply: why its last OPEN brought no delegation (`why_no_delegation4`); None where the
    server does not say."""


class Silence(Record):
    """A frame with data in which tshark sees no message, nor the end of one."""

    frame: int
    """Its number."""


def messages(
    path: Path,
    options: Sequence[str],
    *,
    last_frame: int | None = None,
    complaints: list[str] | None = None,
) -> Iterator[Message | Silence]:
    """Every message, and every frame with data and no message, in order of frames.

    Where tshark stops within a damaged file, what it says of that is added to `complaints`.

    Raises:
        CaptureError: tshark cannot read the file.
        NoTsharkError: It is not installed.
    """
    limit = [] if last_frame is None else ["-c", str(last_frame)]
    wanted = [argument for field in _FIELDS for argument in ("-e", field)]
    command = [find(), "-r", str(path), "-n", *options, *limit, "-Y", _WANTED]
    command += ["-T", "fields", "-E", "occurrence=a", "-E", f"aggregator={_SEPARATOR}", *wanted]
    with ExitStack() as stack:
        told = stack.enter_context(tempfile.TemporaryFile())
        # Without the user's own settings of Wireshark, which may change how packets are read.
        settings = stack.enter_context(temporary.scratch())
        process = stack.enter_context(
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=told,
                env={**os.environ, "WIRESHARK_CONFIG_DIR": str(settings)},
            )
        )
        stack.callback(process.kill)
        trees: Generator[Packet] | None = None
        assert process.stdout is not None
        anything = False
        for line in process.stdout:
            anything = True
            texts = line.decode("ascii", "replace").rstrip("\r\n").split("\t")
            row = dict(zip(_FIELDS, texts, strict=True))
            if not row["rpc.msgtyp"]:
                yield Silence(int(row["frame.number"]))
                continue
            if _SEPARATOR not in row["rpc.msgtyp"]:
                fields = {field: _split(row[field]) for field in _MESSAGE_FIELDS}
                if fields["rpc.xid"]:
                    yield _message(row, fields)
                continue
            if trees is None:
                started = packets(path, _SEVERAL, options, last_frame=last_frame)
                trees = stack.enter_context(closing(started))
            yield from _several(row, trees)
        why = complaint(process, told)
        if why is not None:
            if not anything or complaints is None:
                raise CaptureError(f"{path}: tshark gave up: {why}")
            complaints.append(why)


def _several(row: Mapping[str, str], trees: Iterator[Packet]) -> Iterator[Message]:
    """The messages of a frame that holds more than one."""
    frame = int(row["frame.number"])
    for packet in trees:
        if packet.frame == frame:
            found = [_message(row, fields) for fields in _rpc_messages(packet.protocols)]
            if any(element.get("name") == _RDMA for element in packet.protocols):
                found = found[:1]
            yield from found
            return
        if packet.frame > frame:
            break
    raise CaptureError(f"tshark reads frame {frame} in two ways")


def _rpc_messages(protocols: Sequence[Element]) -> Iterator[dict[str, list[str]]]:
    """The fields of each message of a packet.

    An `rpc` element begins one; what follows up to the next (`nfs`, `mount` …) belongs to it.
    """
    fields: dict[str, list[str]] = {}
    for element in protocols:
        if element.get("name") == "rpc":
            if fields.get("rpc.msgtyp"):
                yield fields
            fields = {field: [] for field in _MESSAGE_FIELDS}
        if fields:
            for item in element.iter("field"):
                name = item.get("name")
                if name in fields:
                    fields[name].append(item.get("show") or "")
    if fields.get("rpc.msgtyp"):
        yield fields


def _message(row: Mapping[str, str], fields: Mapping[str, list[str]]) -> Message:
    is_reply = _first(fields["rpc.msgtyp"]) == 1
    times = fields["rpc.time"]
    statuses = fields["nfs.nfsstat4"] or fields["nfs.status3"] or fields["nfs.status2"]
    codes = tuple(int(value) for value in fields["nfs.opcode"])
    return Message(
        frame=int(row["frame.number"]),
        time_ns=_nanoseconds(row["frame.time_epoch"] or "0"),
        stream=f"tcp {row['tcp.stream']}" if row["tcp.stream"] else f"udp {row['udp.stream']}",
        xid=int(fields["rpc.xid"][0], 0),
        is_reply=is_reply,
        program=_first(fields["rpc.program"]),
        version=_first(fields["rpc.programversion"]),
        procedure=_first(fields["rpc.procedure"]),
        call_frame=_first(fields["rpc.repframe"]) if is_reply else None,
        srt_ns=_nanoseconds(times[0]) if times else None,
        duplicate=bool(fields["rpc.dup"]),
        operations=_own(codes, _first(fields["nfs.ops.count"]))
        or tuple(int(value) for value in fields["nfs.cb.operation"]),
        status=int(statuses[0]) if is_reply and statuses else None,
        carried=bool(fields["rpcordma.xid"]),
        no_delegation=_first(fields["nfs.open.why_no_delegation"][-1:]),
    )


def _own(codes: tuple[int, ...], count: int | None) -> tuple[int, ...]:
    """The operations of the compound itself, which tells their number.

    Those that EXCHANGE_ID lists stand between them.
    """
    if _EXCHANGE_ID not in codes or count is None or len(codes) <= count:
        return codes
    before = codes.index(_EXCHANGE_ID) + 1
    behind = count - before
    return codes[:before] + (codes[-behind:] if behind > 0 else ())


def _split(text: str) -> list[str]:
    return text.split(_SEPARATOR) if text else []


def _first(values: list[str]) -> int | None:
    return int(values[0], 0) if values else None


def _nanoseconds(seconds: str) -> int:
    """Seconds as tshark prints them, with nine decimals: exact as text, not as float."""
    whole, _, fraction = seconds.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * NANOSECONDS + sign * int(fraction.ljust(9, "0")[:9])
