"""A capture that lacks packets, or one of both directions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.text import numbers

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

GRAVE = Threshold(
    "capture_lossy.grave", 0.01, "share",
    "packets dropped, bytes missing or replies without their call: a warning; a file of a rotation "
    "that was not given always is",
    "default of this tool",
)  # fmt: skip

FEW = 5
"""Replies without their call below which their share says nothing: one may have been overtaken."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the packets that were lost, and one for a direction that was not captured."""
    yield from _one_way(material)
    yield from _lossy(material, values)


def _one_way(material: Material) -> Iterator[Observed]:
    """A direction that was not captured, on all connections or on some."""
    trust = material.trust
    parts = []
    if trust.calls_alone:
        parts.append(
            f"Of connections with {units.count(trust.calls_alone)} of "
            f"{units.counted(trust.rpc_calls, 'call')} it holds nothing that the server sent, not "
            "even an acknowledgement."
        )
    if trust.replies_alone:
        parts.append(
            f"Of connections with {units.count(trust.replies_alone)} of "
            f"{units.counted(trust.rpc_replies, 'reply', 'replies')} it holds no call."
        )
    if not parts:
        return
    titles = {
        "replies": "Only what clients sent was captured",
        "calls": "Only what servers sent was captured",
    }
    yield Observed(
        severity="warning",
        title=titles.get(trust.one_way or "", "Of some connections one direction was captured"),
        seen=" ".join(parts),
        why=_lacking(trust.calls_alone, trust.replies_alone),
        advice=(
            Advice(
                capture_again(
                    "Capture both directions, with a filter by host and not by src or dst", material
                )
            ),
            Advice(
                "If a mirror port feeds the capture, have it mirror what is received and what is "
                "sent. If each direction takes a link of its own (bonding, two paths), capture on "
                "all of them and give pcapnfs all files together."
            ),
        ),
        confidence="likely",
        data=f"{units.counted(trust.rpc_calls, 'call')}, "
        f"{units.counted(trust.rpc_replies, 'reply', 'replies')}",
    )


def _lacking(calls: int, replies: int) -> str:
    """What cannot be told for lack of a direction."""
    told = []
    if calls:
        told.append(
            "Without replies there are no service times, no results and no outcome of a call"
        )
    if replies:
        told.append("A reply does not say what it answers: without its call it cannot be read")
    return f"{'. '.join(told)}. It is no sign of lost packets, nor of a slow server."


def _lossy(material: Material, values: Values) -> Iterator[Observed]:
    """Packets that the capture lost.

    A reply whose call is missing counts only where nothing was cut: a cut packet hides the calls
    behind it. Nor does it where no call of its connection was captured, or it answers a callback
    of a server of which nothing was.
    """
    trust, capture = material.trust, material.capture
    orphans = 0 if trust.truncated_bytes else trust.orphans_within
    # Those at the start may be on connections of one direction, too.
    alone = trust.replies_alone + trust.answers_alone
    orphans = max(0, min(orphans, trust.orphan_replies - alone) - trust.earlier_replies)
    if trust.out_of_step:
        # Of a reply that is too early for its call both are there, and alone.
        orphans = max(0, orphans - trust.unanswered)
    dropped = trust.dropped_packets or 0
    parts = []
    if dropped:
        parts.append(f"The capturing host dropped {units.counted(dropped, 'packet')}.")
    if trust.lost_bytes:
        parts.append(
            f"{units.size(trust.lost_bytes)} that were sent, and acknowledged or followed by "
            "more, are not in it."
        )
    if orphans > 0:
        parts.append(
            f"Replies without their call: {units.count(orphans)} of "
            f"{units.count(trust.rpc_replies)}."
        )
    unseen = trust.files_not_given
    if unseen:
        told, were = numbers(unseen)
        parts.append(
            f"By their names the files are of a rotation, of which {told} {were} not given."
        )
    if capture.damage:
        parts.append(f"Its file is damaged: {'. '.join(capture.damage[:3])}.")
    if not parts:
        return
    shares = (
        dropped / max(capture.packets + dropped, 1),
        trust.lost_bytes / max(capture.bytes + trust.lost_bytes, 1),
        orphans / max(trust.rpc_replies, 1) if orphans >= FEW else 0.0,
    )
    yield Observed(
        severity="warning" if unseen or max(shares) >= values[GRAVE.name] else "note",
        title="Packets are missing in the capture"
        if len(parts) > bool(capture.damage)
        else "The capture file is damaged, or breaks off",
        seen=" ".join(parts),
        why="This is the capture's loss, not the network's: NFS got these packets. Calls without "
        "reply, gaps in time and retransmissions that are not in it may all be due to it; counts "
        "are lower bounds.",
        advice=(
            *((_GIVE,) if unseen else ()),
            *((_END,) if capture.damage else ()),
            *(_faster(material) if len(parts) > bool(capture.damage) else ()),
        ),
        confidence="certain" if dropped or unseen or capture.damage else "likely",
        data=units.counted(capture.packets, "packet"),
    )


_GIVE = Advice("Give pcapnfs the files that are missing as well, where they still are.")

_END = Advice(
    "End tcpdump with Ctrl-C or SIGTERM and wait for its summary; copy the file only then."
)


def _faster(material: Material) -> tuple[Advice, ...]:
    """What helps a host that cannot keep up."""
    return (
        Advice(
            capture_again(
                "Capture with a large buffer into a ring of files on a fast local disk, and only "
                "what is needed",
                material,
            )
        ),
        Advice(
            "If a mirror port feeds the capture, check that it is not oversubscribed (both "
            "directions of a link do not fit into one of the same speed)."
        ),
        Advice(
            "If it still drops, keep less of each packet (-s 512).",
            "names and attributes late in a message are lost.",
        ),
    )


RULE = Rule(
    id="capture_lossy",
    title="Packets missing in the capture, or one direction",
    origin="counters of the capture file, names of a rotation's files, TCP's sequence numbers, "
    "replies without calls, calls without replies",
    judge=judge,
    thresholds=(GRAVE,),
)
