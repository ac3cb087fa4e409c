"""What the rules about calls that a server refused have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Observed

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
    from pcapnfs.analyses.servers.restarts import Restart
    from pcapnfs.confidence import Confidence
    from pcapnfs.diagnosis.finding import Advice, Severity


def observed(
    pair: Failures,
    title: str,
    why: str,
    advice: tuple[Advice, ...],
    *,
    severity: Severity = "problem",
    confidence: Confidence = "certain",
    restarts: tuple[Restart, ...] = (),
) -> Observed:
    """A finding on calls of one kind, of one client at one server.

    `restarts` tells what the server's write verifier did after these calls.
    """
    return Observed(
        severity=severity,
        title=title,
        seen=wording.refused(pair) + _when(pair) + _verifier(pair, restarts),
        why=why,
        advice=advice,
        calls=pair.calls,
        confidence=confidence,
        data=units.counted(pair.calls, "refusal"),
        frames=pair.frames,
        about=(pair.client, pair.server),
    )


LOGGED = ("space", "quota", "fault")
"""Kinds of which a server's logs and statistics of that time tell more."""


def _when(pair: Failures) -> str:
    """From when to when, for who looks there."""
    if pair.kind not in LOGGED or pair.from_ns is None or pair.until_ns is None:
        return ""
    first, last = units.clock(pair.from_ns), units.clock(pair.until_ns)
    if first == last:
        return f" That was at {first} UTC."
    return f" That was from {first} to {last} UTC."


def _verifier(pair: Failures, restarts: tuple[Restart, ...]) -> str:
    for server in restarts:
        if server.server == pair.server and not set(pair.statuses).isdisjoint(server.errors):
            again = f" {wording.written_again(server)}" if server.rewritten else ""
            return (
                " The server changed its write verifier after that, so that clients write again "
                "what was not committed (RFC 1813 section 3.3.21, RFC 8881 section 18.32)."
                f"{again}"
            )
    return ""
