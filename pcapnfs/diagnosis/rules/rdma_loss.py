"""RDMA packets that were lost and sent again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.rdma_losses import RdmaLosses
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "rdma_loss.least", 5, "packets", "packets of RDMA that were sent again, below which nothing is "
    "reported unless a call took longer", "default of this tool",
)  # fmt: skip

_ADVICE = (
    Advice(
        "Find where packets are dropped: rdma statistic show, or ethtool -S, on both hosts "
        "(packet_seq_err, out_of_sequence, local_ack_timeout_err, rnr_nak_retry_err), and the "
        "drops and pause frames of each switch port on the way.",
    ),
    Advice(
        "RoCE needs a network that does not drop: have the adapters mark its packets (DSCP, or a "
        "VLAN's priority), and every port on the way answer these marks with flow control (PFC), "
        "ECN (DCQCN), or both, in the same class. One port without them is enough to lose packets.",
        "PFC that is set up wrongly can stop other traffic of its class.",
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.rdma_losses:
        resent = pair.client_resent + pair.server_resent
        if resent < values[LEAST.name] and not pair.held and not pair.late:
            continue
        claims = by_row(pair.time_s)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="RDMA packets were lost and sent again",
            seen=_seen(pair),
            why="An adapter takes nothing behind a packet that is missing: the sender goes back, "
            "and sends it and all that followed once more. Where nothing follows, only a timer "
            "tells, and everything on the connection waits for it, longer than for a disk.",
            advice=_ADVICE,
            calls=pair.held + pair.late,
            confidence="certain",
            data=f"{units.counted(resent, 'packet')} sent again; "
            f"{units.counted(pair.messages, 'message')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: RdmaLosses) -> str:
    told = (
        f"The client sent {units.counted(pair.client_resent, 'packet')} again, the server "
        f"{units.count(pair.server_resent)}, beside {units.counted(pair.messages, 'message')} of "
        "both."
    )
    if not pair.held and not pair.late:
        return f"{told} No call took much longer for that."
    if pair.held:
        told += (
            f" Meanwhile {units.counted(pair.held, 'call')} took {units.duration(pair.longer_s)} "
            "longer than others of their kind, "
            f"{units.duration(pair.longest_s)} at most."
        )
    if pair.late:
        told += (
            f" {units.counted(pair.late, 'call')} came as soon as a packet was sent again, after "
            f"{units.duration(pair.late_s)} without a call: a reply had not got through."
        )
    return told


RULE = Rule(
    id="rdma_loss",
    title="RDMA packets lost and sent again",
    origin="InfiniBand Architecture Specification, volume 1, section 9.7.5; practice: RoCE without "
    "flow control",
    judge=judge,
    thresholds=(LEAST,),
)
