"""What tshark says about a capture, message by message and call by call.

Takes the files of one capture; gives a `Dissection`: every RPC message that tshark found, paired
into calls. Results are cached on disk under the hash of the files. Promises that nothing is
merged: a frame with several RPC messages is read from PDML, where each message is an element of
its own, all others from tab-separated fields, which is faster.
"""

from __future__ import annotations

import bz2
import csv
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .corpus import corpus_is_required

NFS_PROGRAM = 100003
"""ONC RPC program number of NFS (RFC 1813, RFC 7530)."""

NFSACL_PROGRAM = 100227
"""ONC RPC program number of the NFSACL side protocol, version 3."""

MOST_PACKETS = 50_000
"""Packets of a public capture that are held against tshark, call by call. One has four times as
many: `tests/test_public.py` shows that what follows is of kinds that came before."""

_CACHE_FORMAT = 10
"""Part of the cache key: raised whenever `Message` or the way it is filled changes."""

_FRAME_FIELDS = ("frame.number", "frame.time_epoch", "tcp.stream", "udp.stream")
_ADDRESS_FIELDS = ("ip.src", "ipv6.src", "ip.dst", "ipv6.dst")
_MESSAGE_FIELDS = (
    "rpc.xid",
    "rpc.msgtyp",
    "rpc.program",
    "rpc.programversion",
    "rpc.procedure",
    "rpc.repframe",
    "rpc.time",
    "rpc.dup",
    "rpc.authgss.procedure",
    "nfs.opcode",
    "nfs.main_opcode",
    "nfs.cb.operation",
    "nfs.nfsstat4",
    "nfs.status3",
    "rpc.state_accept",
)
_OPERATIONS_FIELD = "nfs.ops.count"
"""How many operations a compound says that it has."""

_BESIDES = ("nfs.status2", "rpcordma.xid", "nfs.open.why_no_delegation")
"""What `pcapnfs verify` asks for besides."""

_OF_TESTS = (
    "tcp.srcport",
    "tcp.dstport",
    "tcp.analysis.initial_rtt",
    "rpc.auth.flavor",
    "rpc.authgss.service",
)
"""What tests ask for besides (`columns`): most of a run's time goes into starting tshark."""

_FIELDS = (
    *_FRAME_FIELDS,
    *_ADDRESS_FIELDS,
    *_MESSAGE_FIELDS,
    _OPERATIONS_FIELD,
    *_BESIDES,
    *_OF_TESTS,
)

_FRAMES = "rpc.msgtyp or rpc.continuation_data or tcp.segment_data"
"""Frames with messages, and those that `pcapnfs verify` asks for besides."""

_SEPARATOR = ","
"""Between the values of one field; none of the fields above is text, so it cannot occur inside a
value.
"""


_EXCHANGE_ID = "42"
"""Its state protection lists operations (RFC 8881 section 18.35), which tshark shows as
`nfs.opcode` as well.
"""


@dataclass(frozen=True, slots=True)
class Message:
    """One RPC message (RFC 5531 section 9) as tshark dissected it."""

    frame: int
    """Frame that completes the message, counted from 1 over all files of the capture."""
    time_ns: int
    """Time of that frame, nanoseconds since 1970."""
    stream: str
    """tshark's conversation, such as "tcp 3"."""
    source: str
    destination: str
    xid: int
    is_reply: bool
    program: int | None
    """`None` in a reply whose call tshark has not seen."""
    version: int | None
    procedure: int | None
    call_frame: int | None
    """In a reply: the frame of the call that tshark pairs it with."""
    srt_ns: int | None
    """In a reply: `rpc.time`, nanoseconds from the call's frame to this one."""
    duplicate: bool
    """tshark takes it for a repetition of an earlier call or reply on the same connection."""
    gss_control: bool
    """A call that creates or destroys a security context (RFC 2203 section 5.2.2): on the wire,
    procedure NULL.
    """
    operations: tuple[int, ...]
    """NFSv4 operation numbers in order; in a reply those that it holds results of."""
    main_operations: tuple[int, ...]
    """`nfs.main_opcode`: every operation of the most significant tier that is present."""
    callback_operations: tuple[int, ...]
    status: int | None
    """nfsstat3, or the status of the compound; `None` in calls and where it was not decoded."""
    accepted: int | None
    """accept_stat of a reply (RFC 5531 section 9); 0 is SUCCESS."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call with the reply that tshark pairs it with."""

    call: Message
    reply: Message | None
    earlier: tuple[Message, ...] = ()
    """Unanswered transmissions of the same call on connections that broke; tshark takes them for
    other calls.
    """


@dataclass(frozen=True, slots=True)
class Dissection:
    """Everything that tshark found in one capture."""

    calls: tuple[Call, ...]
    """In order of frames; repetitions are in `repeated`."""
    repeated: tuple[Message, ...]
    """Calls and replies that tshark marks as duplicates."""
    orphans: tuple[Message, ...]
    """Replies without a call."""


def require_tshark() -> str:
    """Path of tshark; skips the calling test where it is not installed, or fails it where the
    corpus is required.
    """
    path = shutil.which("tshark")
    if path is not None:
        return path
    message = "tshark is not installed"
    if corpus_is_required():
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def tshark_cache(config: pytest.Config) -> Path:
    """Where results are kept: pytest's own cache, else a folder among the temporary files."""
    if config.pluginmanager.hasplugin("cacheprovider"):
        return config.cache.mkdir("tshark")
    return Path(tempfile.gettempdir()) / "tshark-oracle"


def dissect(
    files: Sequence[Path],
    ports: Iterable[int],
    cache: Path,
    *,
    whole_packets: bool = True,
    named: Iterable[str] = (),
    packets: int | None = None,
) -> Dissection:
    """Runs tshark over the files of one capture, or takes the cached result of an earlier run.

    `ports` are the server ports whose payload is RPC whatever the other port suggests. With
    `whole_packets` tshark waits for segments that are out of order; it must not where a snaplen
    cut packets off, as it would wait for the missing bytes for ever. `named` is what else tshark
    is told of ports, so that what it says can serve whoever tells it that (`recorded`). With
    `packets` it reads the first ones only, so many. Raises
    `subprocess.CalledProcessError` when tshark fails for another reason than a file that is cut
    short.
    """
    options = _options(ports, whole_packets, named)
    key = _key(files, options, packets)
    cached = cache / f"{key}.json"
    if cached.is_file():
        messages = [_from_json(row) for row in json.loads(cached.read_text(encoding="utf-8"))]
    else:
        cache.mkdir(parents=True, exist_ok=True)
        record = cache / f"{key}.rows" if named else None
        messages = list(_run(files, options, packets, record))
        partial = cached.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps([_values(message) for message in messages]), encoding="utf-8")
        partial.replace(cached)
    return pair(messages)


def columns(
    files: Sequence[Path],
    ports: Sequence[int],
    cache: Path,
    *wanted: str,
    whole_packets: bool,
    named: Sequence[str],
) -> list[list[str]]:
    """What tshark says of such fields in each frame with an RPC message, as `dissect` asks it."""
    how: dict[str, Any] = {"whole_packets": whole_packets, "named": named}
    said = recorded(files, ports, cache, **how)
    if said is None:
        dissect(files, ports, cache, **how)
        said = recorded(files, ports, cache, **how)
    assert said is not None
    found = said.columns("rpc.msgtyp", *wanted)
    return [[value.decode() for value in values] for kind, *values in found if kind]


@dataclass(frozen=True, slots=True)
class Recording:
    """What tshark has said of a capture."""

    read: str
    """Digest of the file that it read: the capture, unpacked or put together where it had to be."""
    packets: int | None
    """It read so many of its packets at most; None: all."""
    rows: bytes
    ports: frozenset[str]
    """Ports that it was told of, as in `tcp.port==2049,rpc`."""

    def answer(self, command: Sequence[str], named: Sequence[str]) -> bytes | None:
        """What it says to such a command, as of `pcapnfs verify` with its options `named`; None
        where it was asked something else, or of another file.
        """
        path = Path(command[command.index("-r") + 1])
        wanted = [field for flag, field in pairwise(command) if flag == "-e"]
        output = ["-T", "fields", "-E", "occurrence=a", "-E", f"aggregator={_SEPARATOR}"]
        asked = ["-r", str(path), "-n", *named, *_limit(self.packets), "-Y", _FRAMES, *output]
        asked += [word for field in wanted for word in ("-e", field)]
        if [*command[1:]] != asked or not set(wanted) <= set(_FIELDS):
            return None
        if _digest(path) != self.read:
            return None
        return b"".join(b"\t".join(line) + b"\n" for line in self.columns(*wanted))

    def columns(self, *wanted: str) -> Iterator[list[bytes]]:
        """The values of these fields in each frame, several of one joined by `,`."""
        places = [_FIELDS.index(field) for field in wanted]
        for line in self.rows.splitlines():
            values = line.split(b"\t")
            yield [values[at] for at in places]


def waits(named: Iterable[str]) -> bool:
    """Whether options of `pcapnfs verify` have tshark wait for segments that are out of order."""
    return "tcp.reassemble_out_of_order:TRUE" in named


def recorded(
    files: Sequence[Path],
    ports: Iterable[int],
    cache: Path,
    *,
    whole_packets: bool,
    named: Sequence[str],
    packets: int | None = None,
) -> Recording | None:
    """What tshark said when `dissect` was asked the same; None where it was not."""
    options = _options(ports, whole_packets, named)
    kept = cache / f"{_key(files, options, packets)}.rows"
    if not kept.is_file():
        return None
    read, _, rows = kept.read_bytes().partition(b"\n")
    return Recording(read.decode(), packets, rows, frozenset(options[4::2]))


def pair(messages: Iterable[Message]) -> Dissection:
    """Pairs calls and replies by the frame that tshark names in the reply, the conversation and
    the xid.
    """
    calls: dict[tuple[int, str, int], Message] = {}
    replies: dict[tuple[int, str, int], Message] = {}
    repeated: list[Message] = []
    orphans: list[Message] = []
    for message in messages:
        if message.duplicate:
            repeated.append(message)
        elif not message.is_reply:
            calls[message.frame, message.stream, message.xid] = message
        elif message.call_frame is None:
            orphans.append(message)
        else:
            replies[message.call_frame, message.stream, message.xid] = message
    orphans.extend(reply for key, reply in replies.items() if key not in calls)
    paired = (Call(call, replies.get(key)) for key, call in calls.items())
    return Dissection(tuple(_join_resent(paired)), tuple(repeated), tuple(orphans))


def _join_resent(calls: Iterable[Call]) -> Iterator[Call]:
    """Joins a call that was sent again, with its xid, on another connection to its unanswered
    first transmission.
    """
    joined: list[Call | None] = []
    open_calls: dict[tuple[object, ...], int] = {}
    for found in calls:
        key = _identity(found.call)
        position = open_calls.pop(key, None)
        before = None if position is None else joined[position]
        if position is None or before is None or before.call.stream == found.call.stream:
            current = found
        else:
            joined[position] = None
            current = Call(found.call, found.reply, (*before.earlier, before.call))
        if current.reply is None:
            open_calls[key] = len(joined)
        joined.append(current)
    return (call for call in joined if call is not None)


def _identity(call: Message) -> tuple[object, ...]:
    """What a repetition on another connection shares with the first transmission."""
    return (
        call.xid,
        call.source,
        call.destination,
        call.program,
        call.version,
        call.procedure,
        call.operations,
    )


def _key(files: Sequence[Path], options: Sequence[str], packets: int | None) -> str:
    digest = hashlib.sha256(f"{_CACHE_FORMAT} {_version()} {options} {packets}".encode())
    for path in files:
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@functools.cache
def _version() -> str:
    finished = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True)
    return finished.stdout.splitlines()[0]


_values = attrgetter(*(field.name for field in fields(Message)))
"""A message's values in the order of its fields; `asdict` takes longer than tshark."""


def _from_json(row: Iterable[Any]) -> Message:
    values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
    return Message(*values)


def _run(
    files: Sequence[Path], options: list[str], packets: int | None, record: Path | None
) -> Iterator[Message]:
    with tempfile.TemporaryDirectory(prefix="tshark-") as scratch:
        path = _one_file(files, Path(scratch))
        environment = {**os.environ, "WIRESHARK_CONFIG_DIR": scratch, "TZ": "UTC"}
        yield from _messages(path, options, packets, environment, record)


def _one_file(files: Sequence[Path], scratch: Path) -> Path:
    """tshark reads one file, and not bzip2: a rotation is put together, bzip2 is unpacked first."""
    if len(files) == 1 and files[0].suffix == ".bz2":
        unpacked = scratch / files[0].stem
        with bz2.open(files[0]) as packed, unpacked.open("wb") as stream:
            shutil.copyfileobj(packed, stream)
        return unpacked
    if len(files) == 1:
        return files[0]
    joined = scratch / "joined.pcap"
    subprocess.run(["mergecap", "-a", "-F", "nsecpcap", "-w", joined, *files], check=True)
    return joined


def _options(ports: Iterable[int], whole_packets: bool, named: Iterable[str]) -> list[str]:
    options = ["-n", "-o", f"tcp.reassemble_out_of_order:{str(whole_packets).upper()}"]
    told = {f"{transport}.port=={port},rpc" for port in ports for transport in ("tcp", "udp")}
    told.update(word for word in named if ".port==" in word)
    for word in sorted(told):
        options += ["-d", word]
    return options


def _limit(packets: int | None) -> list[str]:
    """What has tshark read so many packets."""
    return [] if packets is None else ["-c", str(packets)]


def _messages(
    path: Path,
    options: list[str],
    packets: int | None,
    environment: dict[str, str],
    record: Path | None,
) -> Iterator[Message]:
    wanted = [argument for field in _FIELDS for argument in ("-e", field)]
    output = ["-T", "fields", "-E", "occurrence=a", "-E", f"aggregator={_SEPARATOR}", *wanted]
    table = _tshark(path, [*options, *_limit(packets), "-Y", _FRAMES, *output], environment)
    if record is not None:
        partial = record.with_suffix(f".{os.getpid()}")
        partial.write_text(f"{_digest(path)}\n{table}", encoding="utf-8")
        partial.replace(record)
    crowded: dict[int, dict[str, str]] = {}
    single: list[Message] = []
    for values in csv.reader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        row = dict(zip(_FIELDS, values, strict=True))
        if not row["rpc.msgtyp"]:
            continue
        if _SEPARATOR in row["rpc.msgtyp"] or _lists_operations(row):
            crowded[int(row["frame.number"])] = row
        else:
            single.append(_message(row, {field: _split(row[field]) for field in _MESSAGE_FIELDS}))
    if crowded:
        single.extend(_crowded(path, options, environment, crowded))
    yield from sorted(single, key=lambda message: message.frame)


def _lists_operations(row: Mapping[str, str]) -> bool:
    """Whether EXCHANGE_ID names operations besides those of its compound; it rarely does, and
    another run of tshark takes as long as the first.
    """
    operations = _split(row["nfs.opcode"])
    return _EXCHANGE_ID in operations and row[_OPERATIONS_FIELD] != str(len(operations))


def _crowded(
    path: Path, options: list[str], environment: dict[str, str], rows: Mapping[int, dict[str, str]]
) -> Iterator[Message]:
    """The messages of frames that hold several, or whose fields need the tree to be told apart."""
    frames = ",".join(str(frame) for frame in rows)
    # What is behind the last of them says nothing of them.
    read = ["-c", str(max(rows))]
    arguments = [*options, *read, "-Y", f"frame.number in {{{frames}}}", "-T", "pdml"]
    document = ElementTree.fromstring(_tshark(path, arguments, environment))
    for packet in document.iter("packet"):
        number = packet.find("./proto[@name='geninfo']/field[@name='num']")
        if number is None:
            raise ValueError("PDML without a frame number")
        row = rows[int(number.attrib["show"])]
        for found in _rpc_messages(packet):
            yield _message(row, found)


def _rpc_messages(packet: ElementTree.Element) -> Iterator[dict[str, list[str]]]:
    """A `rpc` element begins a message; what follows until the next one (`nfs`, `mount` …)
    belongs to it.
    """
    fields: dict[str, list[str]] | None = None
    for element in packet:
        if element.attrib.get("name") == "rpc":
            if fields and fields["rpc.msgtyp"]:
                yield fields
            fields = {field: [] for field in _MESSAGE_FIELDS}
        if fields is None:
            continue
        _collect(element, fields)
    if fields and fields["rpc.msgtyp"]:
        yield fields


def _collect(element: ElementTree.Element, fields: dict[str, list[str]]) -> None:
    """Adds the wanted fields below `element`; none is looked for inside an operation, where only
    lists of them are.
    """
    for item in element:
        name = item.attrib.get("name", "")
        if name in fields:
            fields[name].append(item.attrib["show"])
        if name != "nfs.opcode":
            _collect(item, fields)


def _tshark(path: Path, arguments: list[str], environment: dict[str, str]) -> str:
    command = ["tshark", "-r", str(path), *arguments]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0 and "cut short" not in finished.stderr:
        raise subprocess.CalledProcessError(
            finished.returncode, command, finished.stdout, finished.stderr
        )
    return finished.stdout


def _split(text: str) -> list[str]:
    return text.split(_SEPARATOR) if text else []


def _message(row: Mapping[str, str], fields: Mapping[str, list[str]]) -> Message:
    stream = f"tcp {row['tcp.stream']}" if row["tcp.stream"] else f"udp {row['udp.stream']}"
    is_reply = _first(fields["rpc.msgtyp"]) == 1
    times = fields["rpc.time"]
    statuses = fields["nfs.nfsstat4"] or fields["nfs.status3"]
    return Message(
        frame=int(row["frame.number"]),
        time_ns=_nanoseconds(row["frame.time_epoch"]),
        stream=stream,
        source=_address(row["ip.src"], row["ipv6.src"]),
        destination=_address(row["ip.dst"], row["ipv6.dst"]),
        xid=int(fields["rpc.xid"][0], 0),
        is_reply=is_reply,
        program=_first(fields["rpc.program"]),
        version=_first(fields["rpc.programversion"]),
        procedure=_first(fields["rpc.procedure"]),
        call_frame=_first(fields["rpc.repframe"]) if is_reply else None,
        srt_ns=_nanoseconds(times[0]) if times else None,
        duplicate=bool(fields["rpc.dup"]),
        gss_control=not is_reply and (_first(fields["rpc.authgss.procedure"]) or 0) != 0,
        operations=tuple(int(value) for value in fields["nfs.opcode"]),
        main_operations=tuple(int(value) for value in fields["nfs.main_opcode"]),
        callback_operations=tuple(int(value) for value in fields["nfs.cb.operation"]),
        status=int(statuses[0]) if is_reply and statuses else None,
        accepted=_first(fields["rpc.state_accept"]),
    )


def _first(values: list[str]) -> int | None:
    return int(values[0], 0) if values else None


def _address(version4: str, version6: str) -> str:
    """The outermost address; an inner one belongs to a tunnel."""
    return (version4 or version6).partition(_SEPARATOR)[0]


def _nanoseconds(seconds: str) -> int:
    """tshark prints seconds with nine decimals: exact as text, not as float."""
    whole, _, fraction = seconds.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * 1_000_000_000 + sign * int(fraction.ljust(9, "0")[:9])
