"""A capture that kept only the beginning of its packets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.diagnosis.material import Material

GRAVE = Threshold(
    "capture_cut.grave", 0.01, "share", "messages that could not be read to their end, or payload "
    "of connections of which no call can be seen: a warning",
    "default of this tool",
)  # fmt: skip

REASON = "truncated"
"""The reason of a message that was cut at the snaplen."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the capture, if any RPC was in what was cut off."""
    trust, capture = material.trust, material.capture
    if not trust.truncated_packets or not trust.truncated_bytes:
        return
    cut = trust.undecoded_reasons.get(REASON, 0)
    messages = trust.rpc_calls + trust.rpc_replies
    hidden = (trust.sealed.cut_share or 0.0) >= values[GRAVE.name]
    grave = hidden or (cut >= values[GRAVE.name] * max(messages, 1) and cut > 0)
    verb = "was" if trust.truncated_packets == 1 else "were"
    limit = f" at {units.count(capture.cut_to)} bytes" if capture.cut_to else ""
    if not limit and trust.kept_bytes is not None:
        # Where they were cut does not stand in the file.
        limit = f", which left {units.size(trust.kept_bytes)} of payload in each on average"
    yield Observed(
        severity="warning" if grave else "note",
        title="The capture kept only the beginning of its packets",
        seen=f"{units.count(trust.truncated_packets)} of "
        f"{units.counted(capture.packets, 'packet')} {verb} cut{limit}; "
        f"{units.size(trust.truncated_bytes)} of payload are missing. "
        f"{_unread(trust, cut, messages)}",
        why="What lies beyond is unknown: names, attributes and results late in a compound, and "
        "all messages that begin further on in the same packet (with segmentation offload, one "
        "packet holds up to 64 KiB). Times and sizes of what can be seen are right.",
        advice=(
            Advice(
                capture_again("Keep whole packets", material),
                "the capture holds the users' data; pcapnfs can take names and data out of it.",
            ),
            Advice(
                "If only headers may be kept, switch the offloads off for the time of the capture "
                "(ethtool -K eth0 gro off lro off tso off gso off) and keep 512 bytes (-s 512).",
                "more CPU for each packet.",
            ),
        ),
        confidence="certain",
        data=units.counted(messages, "message"),
    )


def _unread(trust: Trust, cut: int, messages: int) -> str:
    """What could not be read for it: whole connections, messages, or nothing."""
    told = []
    if trust.sealed.cut_connections:
        connections = units.counted(trust.sealed.cut_connections, "connection")
        told.append(
            f"Of {connections}, with {units.share(trust.sealed.cut_share)} of all payload, no call "
            "can be seen: packets were cut before a call tells what it is."
        )
    if cut:
        told.append(
            f"{units.count(cut)} of {units.counted(messages, 'message')} could not be read to "
            f"{'its' if cut == 1 else 'their'} end."
        )
    return " ".join(told) or "All messages could be read to their end all the same."


RULE = Rule(
    id="capture_cut",
    title="Packets cut at the snaplen",
    origin="the capture file itself",
    judge=judge,
    thresholds=(GRAVE,),
)
