"""A capture at the server, whose service times have no network in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for the capture, if nearly all calls were captured there."""
    trips = material.round_trips
    if trips.vantage != "server" or not trips.pairs:
        return
    busiest = trips.pairs[0]
    yield Observed(
        severity="note",
        title="The capture was taken at the server",
        seen=f"From here to client {busiest.client} and back it {_takes(busiest.client_side)}, to "
        f"server {busiest.server} {units.duration(busiest.server_side.least_s)}.",
        why="Service times are the server's alone: a client waits for the round trip as well. "
        f"pcapnfs adds the usual round trip to its client ({units.duration(busiest.addition_s)} "
        f"for {busiest.client}) to each call wherever it shows what the client waited for; budgets "
        "say how much was added on average. Service times stay as Wireshark shows them. What was "
        "lost between server and client shows only as a pause.",
        advice=(
            Advice(
                capture_again(
                    "To see what users wait for, capture at the client, or best at both ends at "
                    "once with synchronised clocks",
                    material,
                )
            ),
        ),
        confidence="certain" if (busiest.ratio or 0.0) >= 10 else "likely",
        data=f"{units.counted(busiest.calls, 'call')} on "
        f"{units.counted(busiest.connections, 'connection')}",
    )


def _takes(half: Half) -> str:
    """How long a round trip is: of a path that varies, the shortest says nothing."""
    if half.lucky:
        return f"usually takes {units.duration(half.rtt_s)}"
    return f"takes {units.duration(half.least_s)} at least"


RULE = Rule(
    id="captured_at_server",
    title="Captured at the server",
    origin="round trips to both ends, as handshakes and ACKs show them",
    judge=judge,
)
