"""All calls share one connection although several would help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules.full_window import told
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

CALLS = Threshold(
    "single_connection.calls", 8, "calls", "under way at once, on average while any is",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "single_connection.least", 100, "calls", "calls on it, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    moves = bound.naming(material, "transfer")
    # Calls that gather at a disk, or in bursts with pauses between, wait for no connection.
    stores = bound.naming(material, "persistence")
    pauses = bound.naming(material, "client")
    full = bound.full(material)
    # The finding on a full window tells of several connections itself, and what it costs.
    full |= {(each.client, each.server) for each in told(material, values)}
    for pair in material.caps.pairs:
        moving = moves(pair.client)
        if not pair.tcp or pair.connections != 1 or pair.calls < values[LEAST.name]:
            continue
        # A link that one connection fills moves no more for several.
        if (pair.client, pair.server) in full:
            continue
        elsewhere = stores(pair.client) or pauses(pair.client)
        crowded = pair.mean >= values[CALLS.name] and not elsewhere
        if not moving and not crowded:
            continue
        reasons = [f"{units.number(pair.mean)} calls were under way at once on average"] * crowded
        reasons += ["moving data took a large part of the time"] * moving
        yield Observed(
            severity="note",
            title="One TCP connection carries it all",
            seen=f"All {units.counted(pair.calls, 'call')} went over one connection, and "
            f"{' and '.join(reasons)}.",
            why="A connection is one flow: one processor core at either end, one link of a bond, "
            "one congestion window, and a lost segment stops all calls behind it.",
            advice=(
                Advice(
                    "Mount with nconnect=4 (Linux 5.3 and later); try up to 16. Mounts of one "
                    "server share its connections, and the first says how many: unmount all of "
                    "them before.",
                    "some servers are tuned for few connections; compare before and after.",
                ),
                Advice(
                    "Or mount the server's further addresses, so that load is spread over links "
                    "(with NFSv4.1: trunking, max_connect)."
                ),
            ),
            confidence="possible",
            data=units.counted(pair.calls, "call"),
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="single_connection",
    title="One connection where several would help",
    origin="practice: nfs(5), nconnect",
    judge=judge,
    thresholds=(CALLS, LEAST),
    of_times=True,
)
