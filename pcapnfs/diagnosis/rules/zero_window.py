"""A receiver that could take no more data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.tcp_stalls import TcpStalls
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "zero_window.least", 0.01, "s", "a window of 0, all connections added up",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server, and side."""
    for pair in material.tcp_stalls:
        if pair.server_zero_window_s > values[LEAST.name]:
            yield _of_server(material, pair)
        if pair.client_zero_window_s > values[LEAST.name]:
            yield _of_client(material, pair)


def _of_server(material: Material, pair: TcpStalls) -> Observed:
    return _of_side(
        material,
        pair,
        ("server", "client"),
        pair.server_zero_window_s,
        pair.server_shut,
        why="The server's NFS threads did not read from the socket: they were all busy, mostly "
        "waiting for storage to take WRITEs, or the receive buffer is small. The network is not "
        "the bottleneck.",
        advice=(
            Advice(
                "Look at the server's storage first: WRITE and COMMIT service times, and the load "
                "of its disks (Linux: iostat)."
            ),
            Advice(
                "Give the server more NFS threads (Linux: nfs.conf, [nfsd] threads=64 or more), if "
                "they are all busy and the disks are not."
            ),
            Advice(
                "Raise the server's receive buffers (Linux: net.ipv4.tcp_rmem, net.core.rmem_max).",
                "more memory for each connection.",
            ),
        ),
    )


def _of_client(material: Material, pair: TcpStalls) -> Observed:
    return _of_side(
        material,
        pair,
        ("client", "server"),
        pair.client_zero_window_s,
        pair.client_shut,
        why="The client's kernel did not empty the socket: its CPU is busy (checksums, krb5p, a "
        "virtual machine short of CPU), or it is short of memory for the page cache. Neither "
        "network nor server is the bottleneck.",
        advice=(
            Advice(
                "Look at the client: CPU of kworker and softirq, memory pressure (vmstat), steal "
                "time of a virtual machine."
            ),
            Advice(
                "Raise the client's receive buffers (net.ipv4.tcp_rmem).",
                "more memory for each connection.",
            ),
        ),
    )


def _of_side(
    material: Material,
    pair: TcpStalls,
    sides: tuple[str, str],
    closed_s: float,
    connections: int,
    *,
    why: str,
    advice: tuple[Advice, ...],
) -> Observed:
    """What is said of the side whose window was 0, the first of the two."""
    side, sender = sides
    claims = (Claim("transfer", closed_s),)
    return Observed(
        severity=by_cost(material, claims),
        at_most="problem",
        title=f"The {side} could not take data as fast as the {sender} sent it",
        seen=f"The {side}'s TCP window was 0 for {units.duration(closed_s)}, on "
        f"{units.counted(connections, 'connection')}.",
        why=why,
        advice=advice,
        confidence="certain",
        data=units.counted(pair.segments, "segment"),
        claims=claims,
        about=(pair.client, pair.server),
        display_filter="tcp.analysis.zero_window",
    )


RULE = Rule(
    id="zero_window",
    title="TCP window closed by the receiver",
    origin="RFC 9293 section 3.8.6",
    judge=judge,
    thresholds=(LEAST,),
)
