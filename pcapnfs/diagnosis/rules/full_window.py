"""A TCP window that is too small for the path: the sender stood until it was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.wire.full_windows import UNSCALED_BYTES
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.nconnect import more_than
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_client, is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.full_windows import FullWindow
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "full_window.least", 0.1, "s", "of the clock that a sender stood since the window was full",
    "default of this tool",
)  # fmt: skip

LINK_BYTES_PER_S = 125_000_000
"""A link of 1 Gbit/s, for an example of what a path takes: most are as fast or faster."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and direction."""
    for found in told(material, values):
        claims = by_row(found.time_s)
        severity = by_cost(material, claims, clients=(found.client,))
        yield Observed(
            severity=severity,
            at_most="problem",
            title=f"The {found.receiver}'s TCP window holds the data down",
            seen=_seen(found),
            why=f"A sender has no more under way than the receiver's window, and waits a round "
            f"trip for room: {units.size(found.window_bytes)} in each {units.duration(found.rtt_s)}"
            f" is {units.rate(found.window_bytes / found.rtt_s)}, however fast the link is. "
            "Disks are not what it waits for, and more calls at once do not help: neither further "
            "read-ahead nor more slots or threads.",
            advice=_advice(material, found),
            confidence="likely",
            data=units.counted(found.connections, "connection"),
            claims=claims,
            about=(found.client, found.server),
            display_filter="tcp.analysis.window_full",
        )


def told(material: Material, values: Values) -> Iterator[FullWindow]:
    """Those that cost enough to be told."""
    for found in material.full_windows:
        severity = by_cost(material, by_row(found.time_s), clients=(found.client,))
        if found.cost_s >= values[LEAST.name] and severity != "note":
            yield found


def _sender(found: FullWindow) -> str:
    return "server" if found.receiver == "client" else "client"


def _seen(found: FullWindow) -> str:
    several = found.busy_connections > 1
    text = (
        f"For {units.duration(found.stood_s)} the {_sender(found)} had sent all that the "
        f"{found.receiver}'s window allowed, and stood until it was told of more"
    )
    if several:
        text += (
            f" (mean of {units.count(found.busy_connections)} connections that shared the "
            f"transfer; {units.count(found.connections)} had a full window)"
        )
    text += (
        f": a window of {units.size(found.window_bytes)} (median), which went round in "
        f"{units.duration(found.turn_s)}; the path's round trip is {units.duration(found.rtt_s)}."
    )
    if not found.scaled:
        text += " Windows are not scaled: at least one of the two SYNs lacks the option."
    return text


def _advice(material: Material, found: FullWindow) -> tuple[Advice, ...]:
    needed = units.size(LINK_BYTES_PER_S * found.rtt_s)
    other = (
        is_other_client(material, found.client)
        if found.receiver == "client"
        else is_other_server(material, found.server)
    )
    told = []
    # No buffer makes a window larger than that.
    if not found.scaled and found.window_bytes > UNSCALED_BYTES / 2:
        told.append(_SCALE)
    where = (
        f"Give the {found.receiver} a larger TCP receive buffer: a path of "
        f"{units.duration(found.rtt_s)} takes {needed} under way for 1 Gbit/s, and Linux announces "
        "about half of the buffer or less."
    )
    if not other:
        where += (
            " On Linux raise the second and the third number of net.ipv4.tcp_rmem, since a "
            "connection begins with the second and grows up to the third, and connect anew: "
            + (
                "unmount all mounts of the server, and mount."
                if found.receiver == "client"
                else "unmount at the client, and mount."
            )
        )
    told.append(Advice(where, "more memory for each connection."))
    told.append(
        Advice(
            f"If such a window is less than the {found.receiver} is set up for, it does not take "
            "out what comes soon enough, or is short of memory: look at its processor (softirq, "
            "kworker, encryption), at memory pressure and net.ipv4.tcp_mem."
        )
    )
    more = more_than(found.busy_connections)
    if more is not None and not is_other_client(material, found.client):
        told.append(
            Advice(
                f"Or let more connections carry it, each with a window of its own: with Linux 5.3 "
                f"and later, mount with nconnect={more}; it was "
                f"{units.count(found.busy_connections)}, and may be 16. Mounts of one server share "
                "its connections, and the first says how many: unmount all of them before.",
                "some servers are tuned for few connections; compare before and after.",
            )
        )
    return tuple(told)


_SCALE = Advice(
    "Have windows scaled: look which of the two SYNs lacks the option (Wireshark: "
    "tcp.flags.syn == 1). A host has it off (Linux: net.ipv4.tcp_window_scaling=1 is the default), "
    "or a firewall or WAN optimizer on the way takes it out."
)

RULE = Rule(
    id="full_window",
    title="TCP window too small for the path",
    origin="RFC 9293 section 3.8.6, RFC 7323 section 2; practice (Wireshark: "
    "tcp.analysis.window_full)",
    judge=judge,
    thresholds=(LEAST,),
)
