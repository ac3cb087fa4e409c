"""A capture that has its packets twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import command
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import times

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "captured_twice.share", 0.05, "share", "packets that are copies of others",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "captured_twice.least", 10, "packets", "that are copies, below which nothing is said",
    "default of this tool",
)  # fmt: skip

COPY = "duplicate"
"""The kind of packet that is a copy of another."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the capture."""
    capture = material.capture
    copies = capture.packet_kinds.get(COPY, 0)
    if (
        not material.trust.rpc_calls
        or copies < values[LEAST.name]
        or copies < values[SHARE.name] * capture.packets
    ):
        return
    yield Observed(
        severity="note",
        title="Packets are in the capture twice",
        seen=f"{units.count(copies)} of {times(capture.packets, 'packet')} "
        f"{'is a copy' if copies == 1 else 'are copies'} of others. pcapnfs left them out.",
        why="The capture listened on several interfaces of one path (-i any, a bridge and its "
        "port, a VLAN and the link below it), or on a mirror port that sends each packet in both "
        "directions. Tools that do not notice count calls and retransmissions twice, and the "
        "capture is twice as large.",
        advice=(
            Advice(
                "Listen on one interface, that of the route to the server (ip route get "
                f"SERVER): {command(material)}"
            ),
        ),
        confidence="certain",
        data=f"{times(capture.packets, 'packet')}",
    )


RULE = Rule(
    id="captured_twice",
    title="Packets captured twice",
    origin="same bytes again within moments, on another interface",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
