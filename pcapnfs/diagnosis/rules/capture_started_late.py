"""A capture that began when the mount was in use already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.beginnings import Beginning
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for the capture, if any connection ran when it began; else if any lacks its beginning."""
    late = [pair for pair in material.beginnings if pair.running]
    if not late:
        yield from _headless(material)
        return
    running = sum(pair.running for pair in late)
    connections = sum(pair.connections for pair in material.beginnings)
    yield Observed(
        severity="note",
        title="The capture began when the mount was in use already",
        seen=f"Connections {_without(late)} in the capture: "
        f"{units.count(running)} of {units.count(connections)}, with "
        f"{units.counted(sum(pair.calls for pair in late), 'call')}.",
        why="Usual, and no harm to times and counts. But what only the beginning shows is not "
        f"there: {_hidden(late)}.",
        advice=(
            Advice(
                capture_again(
                    "If that matters, start the capture first and mount then, or mount the export "
                    "once more elsewhere with -o nosharecache",
                    material,
                ),
                "unmounting empties the client's cache: the first run afterwards is a cold one.",
            ),
        ),
        confidence="certain",
        data=units.counted(connections, "connection"),
        frames=tuple(frame for pair in late for frame in pair.frames),
    )


def _headless(material: Material) -> Iterator[Observed]:
    """Of connections that began within the capture."""
    cut = [pair for pair in material.beginnings if pair.headless]
    if not cut:
        return
    headless = sum(pair.headless for pair in cut)
    connections = sum(pair.connections for pair in material.beginnings)
    by_tcp = any(pair.headless > pair.rdma_headless for pair in cut)
    lost = f" But {_HANDSHAKE} are not there, nor what bare ACKs tell of the network."
    yield Observed(
        severity="note",
        title="The capture lacks the "
        f"{'handshakes' if by_tcp else 'beginnings'} of connections that began in it",
        seen=f"Connections {_without(cut, headless=True)} in the capture: "
        f"{units.count(headless)} of {units.count(connections)}. The first call on "
        f"{'it' if headless == 1 else 'each'} is one with which clients begin (NULL, EXCHANGE_ID "
        "or SETCLIENTID).",
        why="Packets without calls were filtered out, or got lost: no harm to counts and service "
        f"times.{lost if by_tcp else ''}",
        advice=(Advice(capture_again("If that matters, filter by hosts alone", material)),),
        confidence="certain",
        data=units.counted(connections, "connection"),
    )


def _without(pairs: list[Beginning], *, headless: bool = False) -> str:
    """What their connections lack, in words that follow "Connections"."""
    counts = [
        (pair.headless, pair.rdma_headless) if headless else (pair.running, pair.rdma_running)
        for pair in pairs
    ]
    rdma = sum(each for _, each in counts)
    if not rdma:
        return "without a handshake"
    if rdma == sum(each for each, _ in counts):
        return f"without {_EXCHANGE}"
    return f"without a handshake, or {_EXCHANGE},"


_HANDSHAKE = "how TCP's windows are scaled and the round trip of its handshake"
"""What only a handshake shows."""

_EXCHANGE = "an exchange of RDMA's connection manager"
"""With what a connection of RDMA begins."""


def _hidden(late: list[Beginning]) -> str:
    """What the beginning would have shown."""
    versions = {version for pair in late for version in pair.versions}
    hidden = []
    if any(pair.running > pair.rdma_running for pair in late):
        hidden.append(_HANDSHAKE)
    if any(pair.rdma_running for pair in late):
        hidden.append("the port of RDMA's service")
    if any(not pair.mounted for pair in late):
        if 4 in versions:
            hidden.append("the session's slots and the lease")
        hidden.append("the largest READ and WRITE that the server offers")
    # A server's files are counted with each of its clients.
    unrooted = {pair.server: (pair.unrooted, pair.files) for pair in late}
    without = sum(number for number, _ in unrooted.values())
    if without:
        known = units.counted(
            sum(files for _, files in unrooted.values()),
            "file or directory",
            "files and directories",
        )
        hidden.append(f"the paths of {units.count(without)} of {known} down from the export's root")
    return "; ".join(hidden)


RULE = Rule(
    id="capture_started_late",
    title="Capture begun in the middle",
    origin="connections of TCP without a handshake, of RDMA without the exchange of its connection "
    "manager",
    judge=judge,
)
