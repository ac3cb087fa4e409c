"""The server answers small calls more slowly the more calls it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

RATIO = Threshold(
    "server_overload.ratio", 3, "times",
    "the least service time of small calls under load by that without", "default of this tool",
)  # fmt: skip
RISE = Threshold(
    "server_overload.rise", 0.0005, "s", "what it is longer under load", "default of this tool"
)
LEAST = Threshold(
    "server_overload.least", 30, "calls", "small calls at either load, below which nothing is said",
    "default of this tool",
)  # fmt: skip

APART = 4
"""Times as many calls under way, for load and without."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server."""
    for server in material.load:
        bands = [band for band in server.bands if band.calls >= values[LEAST.name]]
        if not bands:
            continue
        low, high = bands[0], bands[-1]
        rise = high.floor_s - low.floor_s
        if (
            high.least < APART * low.least
            or high.floor_s < values[RATIO.name] * low.floor_s
            or rise < values[RISE.name]
        ):
            continue
        loaded = [band for band in bands if band.median_s > low.median_s]
        claims = (
            Claim(
                "unstable",
                sum(band.time_s * (1 - low.median_s / band.median_s) for band in loaded),
            ),
        )
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            title=f"The server {server.server} slows down under load",
            seen=f"With {_few(low.least)} under "
            f"way a small call takes {units.duration(low.floor_s)} at least, with "
            f"{units.count(high.least)} and more {units.duration(high.floor_s)} (tenth "
            f"percentiles of {units.count(low.calls)} and {units.counted(high.calls, 'call')}).",
            why="Small calls need neither data nor disk. If even the fastest of them take longer, "
            "they stand in a queue: for nfsd threads, for the processor, for a lock, or behind "
            "bulk data on the link.",
            advice=(
                Advice(
                    "Give nfsd more threads (threads in /etc/nfs.conf; 8 to 16 are few for many "
                    "clients), and see whether they are all busy."
                ),
                Advice("See whether the server's processor or its link is full at that time."),
                Advice("Spread the load: over time, or over servers."),
            ),
            confidence="likely",
            data=units.counted(server.calls, "call"),
            frames=high.frames,
            claims=claims,
        )


def _few(least: int) -> str:
    if least == 1:
        return "one call"
    return f"{units.count(least)} to {units.count(2 * least - 1)} calls"


RULE = Rule(
    id="server_overload",
    title="Small calls take longer the more calls are under way",
    origin="practice: thread starvation of NFS servers",
    judge=judge,
    thresholds=(RATIO, RISE, LEAST),
)
