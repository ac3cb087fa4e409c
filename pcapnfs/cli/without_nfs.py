"""Captures without NFS: they are refused with what is in them, and what to do about it.

Takes an open `Trace`; gives nothing where it holds NFS or a mount, else raises the sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns, units
from pcapnfs.cli import output
from pcapnfs.errors import CaptureError
from pcapnfs.programs import MOUNT, NFS, NFS_PROGRAMS, PORTMAPPER
from pcapnfs.text import escape, sentence, some
from pcapnfs.views.trust import REASONS

if TYPE_CHECKING:
    from pcapnfs.meta import Meta
    from pcapnfs.trace import Trace

CALL_BYTES = 128
"""Bytes that must be captured of a packet for a call to be recognised in it: 28 of the RPC header,
behind 54 to 86 of the headers of link, IP and TCP, and tags."""

MAY_CARRY_CALLS = frozenset(("tcp", "udp", "truncated_header"))
"""Kinds of packets in which there may be calls that were cut off."""

KINDS = {
    "rpc": "RPC",
    "tcp": "TCP",
    "udp": "UDP",
    "duplicate": "seen twice",
    "rdma": "RDMA",
    "other_protocol": "of other protocols than TCP and UDP",
    "not_ip": "not IP",
    "fragment": "pieces of datagrams",
    "truncated_header": "cut within their headers",
    "malformed_header": "with damaged headers",
    "unsupported_link": "of a link type that is not read",
}
"""How a kind of packets reads after a number."""

UNDECODED = REASONS | {
    "reply_without_call": "whose call is not in the capture",
    "duplicate_reply": "sent again by the server",
    "retransmitted_call": "sent again by the client after the reply",
}
"""The same of messages that were not decoded, or noted for another reason."""

MOSTLY_CUT = 0.5
"""Share of packets that are cut from which on calls are likely to be among them: so many are where
hardly more than headers was captured, which cuts small calls as well."""

NAMED = 4
"""Captures, or pairs of hosts, that are named; the rest is counted."""

READS = columns.of(calls="call callback program protocol", operations="call text", notes="reason")
"""The columns that show whether a capture holds NFS, or a mount."""


def demand_nfs(trace: Trace, *, of_files: bool = False) -> None:
    """Refuse a capture without NFS, saying what is in it instead.

    A mount that is refused or hangs has calls of MOUNT or of the portmapper alone; what is asked
    `of_files` has no answer there.

    Raises:
        CaptureError: No call of NFS, nor of a callback, is in it, nor one that belongs to a mount.
    """
    if trace.meta.nfs_calls or trace.rows(_ANY_NFS, {"programs": NFS_PROGRAMS}):
        return
    mounting = [str(protocol) for (protocol,) in trace.rows(_MOUNTING)]
    if mounting and not of_files:
        if told := _unconnected(trace.meta):
            output.tell(sentence(told))
        return
    calls = dict(trace.rows(_CALLS))
    reasons = dict(trace.rows(_REASONS))
    facts = [
        f"{title}: {', '.join(f'{n} {words.get(kind, kind)}' for kind, n in counts.items() if n)}"
        for title, counts, words in (
            ("packets", trace.meta.packets, KINDS),
            ("calls", calls, {}),
            ("not decoded", reasons, UNDECODED),
        )
        if counts
    ]
    facts += [f"damage: {file.damage}" for file in trace.meta.files if file.damage is not None]
    names = some([file.path for file in trace.meta.files], NAMED)
    if not facts:
        raise CaptureError(
            f"{names}: no NFS call in it, as no packet was captured; see which interface and "
            "filter tcpdump was given (-i any host SERVER), and whether the mount was used "
            "meanwhile"
        )
    advice = _advice(trace.meta, mounting, calls, reasons)
    raise CaptureError(f"{names}: no NFS call in it ({'; '.join(facts)}); {advice}")


def _advice(meta: Meta, mounting: list[str], calls: dict[str, int], reasons: dict[str, int]) -> str:
    """What to do about a capture that has packets, but no call of NFS."""
    from pcapnfs.analyses.captured.directions import FEW, ORPHAN_REPLY

    if mounting:
        return (
            f"only a mount, in calls of {' and '.join(mounting)}: pcapnfs findings says what came "
            "of it"
        )
    cut = _cut(meta)
    if not calls and list(reasons) == [ORPHAN_REPLY] and reasons[ORPHAN_REPLY] >= FEW:
        return cut or (
            "only what servers sent was captured, and no call of a client; capture both "
            "directions: filter by host, not by src or dst"
        )
    advice = (
        _unconnected(meta)
        or cut
        or _garbled(meta)
        or _unread_links(meta)
        or "see whose packets these are (tcpdump -nr FILE), and correct the filter if they are of "
        "other hosts than the mount's; a server on an unusual port is named with --port"
    )
    return f"what TLS seals cannot be read; {advice}" if "encrypted" in reasons else advice


def _garbled(meta: Meta) -> str:
    """What to do about a damaged file in which nothing is to be seen; empty for others."""
    damaged = any(file.damage is not None for file in meta.files)
    if not damaged or any(meta.packets.get(kind) for kind in ("rpc", "tcp", "udp")):
        return ""
    return (
        "fetch the file again, in binary where a transfer may turn ends of lines (FTP, mail); if "
        "Wireshark opens it as it is: editcap -F pcap IN OUT"
    )


def _unread_links(meta: Meta) -> str:
    """What to do where no packet is known for lack of a link type; empty for others."""
    seen = any(meta.packets.get(kind) for kind in ("rpc", "tcp", "udp"))
    if seen or not meta.packets.get("unsupported_link"):
        return ""
    # A type without a name here is its number.
    links = sorted({link for file in meta.files for link in file.link_types})
    plural = len(links) > 1
    return (
        f"link type{'s' if plural else ''} {some(links, NAMED)} (tcpdump.org/linktypes) "
        f"{'are' if plural else 'is'} not read: capture on an Ethernet interface, or on all with "
        "-i any"
    )


def _unconnected(meta: Meta) -> str:
    """What became of the attempts to connect to NFS and its portmapper; empty if none failed."""
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
    """The clients and servers of these attempts, in brackets; empty where they are not known."""
    pairs = [
        escape(f"{vain.client} → {vain.server} port {vain.port}")
        for vain in meta.vain
        if bool(vain.refusals) is refused
    ]
    return f" ({some(pairs, NAMED)})" if pairs else ""


def _cut(meta: Meta) -> str:
    """That packets were cut so short that calls may be hidden by it; empty where none can be."""
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


_ANY_NFS = "select 1 from calls where callback or list_contains($programs, program) limit 1"

_CALLS = "select protocol, count(*) from calls group by protocol order by protocol"

_REASONS = "select reason, count(*) from notes group by reason order by reason"

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
