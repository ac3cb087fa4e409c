"""Options that commands share, and how they become a trace.

Takes what the user typed; gives an open `Trace` that holds NFS or a mount, or raises the sentence
that says why not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcapnfs import columns, units
from pcapnfs.cli import last, output
from pcapnfs.cli.progress import progress
from pcapnfs.errors import CaptureError, UsageError
from pcapnfs.programs import MOUNT, NFS, NFS_PROGRAMS, PORTMAPPER
from pcapnfs.text import escape, sentence, some
from pcapnfs.views.words import DAMAGES_TOLD, also_damaged

if TYPE_CHECKING:
    from pcapnfs.columns import Columns
    from pcapnfs.meta import Meta
    from pcapnfs.redacted import Pseudonyms
    from pcapnfs.trace import Trace

CALL_BYTES = 128
"""Bytes of a packet in which a call is known for what it is: those are 28, behind 54 to 86 of the
headers of link, IP and TCP, and tags."""

MAY_CARRY_CALLS = frozenset(("tcp", "udp", "truncated_header"))
"""Kinds of packets in which there may be calls that were cut off."""

MOSTLY_CUT = 0.5
"""Of packets so many are cut where hardly more than headers was kept: small calls as well."""

NAMED = 4
"""Captures that are named; the rest is counted."""

Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...",
        help="Captures of one stream, pcap or pcapng, also compressed; - is standard input.",
        show_default=False,
        readable=False,
    ),
]
CapturesOrLast = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CAPTURE...",
        help="Captures of one stream, or traces; without any, those of the command before.",
        show_default=False,
        readable=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON (docs/json.md).")]
Ports = Annotated[
    list[int] | None,
    typer.Option(
        "--port",
        min=1,
        max=65535,
        metavar="PORT",
        help="A port that carries NFS besides those recognised by themselves; may be repeated.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to take, as in 512M or 4G (at least 128M), else half of what is free; beyond "
        "that, the disk.",
        show_default=False,
    ),
]

Key = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A key, made if it is not there: what is redacted with the same key can be "
        "compared. Keep it to yourself.",
        show_default=False,
        readable=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Also replace endings such as .txt.")]

READS = columns.of(calls="call callback program protocol", operations="call text", notes="reason")
"""The columns that show whether a capture holds NFS, or a mount."""


def limit_of(memory: str | None) -> int | None:
    """The limit of memory in bytes; None: none was given.

    Raises:
        UsageError: It is no size, or less than any command keeps to.
    """
    if memory is None:
        return None
    from pcapnfs.memory import LEAST_BYTES

    limit = units.parse_memory(memory)
    if limit < LEAST_BYTES:
        raise UsageError(
            f"--memory {memory} is less than a command needs whatever is asked: "
            f"{LEAST_BYTES >> 20}M is the least"
        )
    return limit


def demand_one_form(form: str | None, *, json: bool, of_json: str = "json") -> None:
    """Refuse two ways to write a result.

    Args:
        form: What --format was given.
        json: Whether --json was.
        of_json: The form that --json stands for.

    Raises:
        UsageError: They contradict each other.
    """
    if json and form not in (None, of_json):
        raise UsageError(f"--json is --format {of_json}, and --format {form} was given as well")


def open_trace(
    captures: Sequence[Path] | None,
    ports: Sequence[int] | None,
    memory: str | None,
    reads: Columns | None = None,
    *,
    of_files: bool = False,
    stored: bool = False,
    pseudonyms: Pseudonyms | None = None,
) -> Trace:
    """Open the captures or traces named, or those of the command before, and remember them.

    `reads` are the columns that the command will ask for; None: any. `of_files` says that it has
    nothing to say of a mount alone. `stored` is that of `pcapnfs.open`. With `pseudonyms` the
    captures are redacted first.

    Raises:
        CaptureError: A capture cannot be read, or there is no NFS in it, nor a mount.
        UsageError: No capture is named or remembered, or the memory limit is no size.
    """
    limit = limit_of(memory)
    chosen = named(captures, ports)
    from pcapnfs import opening, redacted

    wanted = None if reads is None else columns.together(READS, reads)
    with progress() as report:
        if pseudonyms is not None:
            trace = redacted.open(
                chosen.paths,
                pseudonyms,
                memory=limit,
                ports=chosen.ports,
                columns=wanted,
                progress=report,
            )
        else:
            trace = opening.open(
                chosen.paths,
                memory=limit,
                ports=chosen.ports,
                columns=wanted,
                stored=stored,
                progress=report,
            )
    try:
        demand_nfs(trace, of_files=of_files)
    except BaseException:
        trace.close()
        raise
    opened(chosen, trace.meta)
    return trace


def named(captures: Sequence[Path] | None, ports: Sequence[int] | None) -> last.Captures:
    """The captures or traces named, or those of the command before.

    Raises:
        UsageError: None is named or remembered.
    """
    chosen = last.Captures(tuple(str(path) for path in captures or ()), tuple(ports or ()))
    if chosen.paths:
        return chosen
    remembered = last.recall()
    if remembered is None:
        raise UsageError("name a capture; there is none from a command before")
    output.tell(f"using {some(remembered.paths, NAMED)} of the command before")
    return last.Captures(remembered.paths, chosen.ports or remembered.ports)


def opened(chosen: last.Captures, meta: Meta) -> None:
    """Remember what was read for the next command, and tell where it is damaged."""
    last.remember(chosen)
    tell_damage([f"{file.path}: {file.damage}" for file in meta.files if file.damage is not None])


def tell_damage(damage: Sequence[str]) -> None:
    """Tell where captures are damaged; of a rotation, hundreds may be."""
    for each in damage[:DAMAGES_TOLD]:
        output.tell(escape(each))
    if rest := also_damaged(damage):
        output.tell(rest)


def _unconnected(meta: Meta) -> str:
    """What became of connections to NFS and its portmapper that never came about; empty without."""
    told = []
    if refused := meta.refused_connections:
        told.append(
            f"{units.counted(refused, 'connection')} to NFS or its portmapper "
            f"{'was' if refused == 1 else 'were'} refused{_asked(meta, refused=True)}: nothing "
            "listens there, or a firewall answers so"
        )
    if silent := meta.silent_connections:
        told.append(
            f"{units.counted(silent, 'connection')} to NFS or its portmapper got no answer"
            f"{_asked(meta, refused=False)}: see whether the server is up, and whether a firewall "
            "lies on the way"
        )
    return "; ".join(told)


def _asked(meta: Meta, *, refused: bool) -> str:
    """Who asked whom for these connections, in brackets; nothing where that is not known."""
    pairs = [
        escape(f"{vain.client} → {vain.server} port {vain.port}")
        for vain in meta.vain
        if bool(vain.refusals) is refused
    ]
    return f" ({some(pairs, NAMED)})" if pairs else ""


def _cut(meta: Meta) -> str:
    """How much of packets was captured, where that may hide calls; empty where it hides none."""
    if MAY_CARRY_CALLS.isdisjoint(meta.packets):
        return ""
    whole = "capture whole packets: -s 0"
    kept = [file.snaplen for file in meta.files if file.truncated_packets and file.snaplen]
    if kept and min(kept) < CALL_BYTES:
        return (
            f"of each packet only {min(kept)} bytes were captured, too few to know a call; {whole}"
        )
    # Tunnels take more of a packet, and whoever cuts a capture later may leave its snaplen.
    cut = sum(file.truncated_packets for file in meta.files)
    packets = sum(file.packets for file in meta.files)
    if cut >= MOSTLY_CUT * packets > 0:
        return (
            f"{units.count(cut)} of {units.count(packets)} packets were cut, so that calls may "
            f"not be known for what they are; {whole}"
        )
    return ""


def demand_nfs(trace: Trace, *, of_files: bool = False) -> None:
    """Refuse a capture without NFS, saying what is in it instead.

    A mount that is refused or hangs has calls of MOUNT or of the portmapper alone; what is asked
    `of_files` has no answer there.

    Raises:
        CaptureError: No call of NFS, nor of a callback, is in it, nor one that belongs to a mount.
    """
    if trace.meta.nfs_calls:
        return
    from pcapnfs.analyses.captured.directions import FEW, ORPHAN_REPLY

    found = trace.sql(
        "select 1 from calls where callback or list_contains($programs, program) limit 1",
        {"programs": NFS_PROGRAMS},
    )
    if found.fetchall():
        return
    mounting = [str(protocol) for (protocol,) in trace.rows(_MOUNTING)]
    if mounting and not of_files:
        if told := _unconnected(trace.meta):
            output.tell(sentence(told))
        return
    calls = "select protocol, count(*) from calls group by protocol order by protocol"
    notes = "select reason, count(*) from notes group by reason order by reason"
    contents = {
        "packets": trace.meta.packets.items(),
        "calls": trace.rows(calls),
        "not decoded": trace.rows(notes),
    }
    facts = [
        f"{title}: {', '.join(f'{number} {kind}' for kind, number in counts if number)}"
        for title, counts in contents.items()
        if counts
    ]
    facts += [f"damage: {file.damage}" for file in trace.meta.files if file.damage is not None]
    names = some([file.path for file in trace.meta.files], NAMED)
    advice = "a server on an unusual port is named with --port"
    reasons = dict(contents["not decoded"])
    cut = _cut(trace.meta)
    advice = _unconnected(trace.meta) or cut or advice
    if "encrypted" in reasons:
        advice = f"what TLS seals cannot be read; {advice}"
    if not contents["calls"] and list(reasons) == [ORPHAN_REPLY] and reasons[ORPHAN_REPLY] >= FEW:
        advice = cut or (
            "only what servers sent was captured, and no call of a client; capture both "
            "directions: filter by host, not by src or dst"
        )
    if mounting:
        advice = (
            f"only a mount, in calls of {' and '.join(mounting)}: pcapnfs findings says what came "
            "of it"
        )
    if not facts:
        advice = (
            "no packet was captured: see which interface and filter tcpdump was given (-i any host "
            "SERVER), and whether the mount was used meanwhile"
        )
    raise CaptureError(
        f"{names}: no NFS call in it ({'; '.join(facts) or 'it is empty'}); {advice}"
    )


# Which program the portmapper was asked for stands first in its text: 100005 v3 tcp.
_MOUNTING = f"""
    select distinct protocol
    from calls left join (select operations.call, text from operations) as asked using (call)
    where not callback
          and (program = {MOUNT}
               or program = {PORTMAPPER}
                  and coalesce(split_part(text, ' ', 1) in ('{NFS}', '{MOUNT}'), false))
    order by protocol
"""
