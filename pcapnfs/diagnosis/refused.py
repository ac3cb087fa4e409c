"""What the rules about calls that a server refused have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Observed
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
    from pcapnfs.analyses.servers.restarts import Restart
    from pcapnfs.confidence import Confidence
    from pcapnfs.diagnosis.finding import Advice, Severity


class Refused(Record):
    """What one server refused one client."""

    about: tuple[str, str]
    """Addresses of the client and the server."""
    calls: int
    """Calls that were refused."""
    frames: tuple[int, ...]
    """Frames of the first of them."""
    seen: str
    """What was refused, how, for whom and on what; not escaped."""

    def observed(
        self,
        title: str,
        why: str,
        advice: tuple[Advice, ...],
        *,
        severity: Severity = "problem",
        confidence: Confidence = "certain",
    ) -> Observed:
        """A finding on it."""
        return Observed(
            severity=severity,
            title=title,
            seen=self.seen,
            why=why,
            advice=advice,
            calls=self.calls,
            confidence=confidence,
            data=units.counted(self.calls, "refusal"),
            frames=self.frames,
            about=self.about,
        )


def of(pair: Failures, restarts: tuple[Restart, ...] = ()) -> Refused:
    """Calls of one kind.

    Args:
        pair: The calls.
        restarts: What tells how their server's write verifier changed after them.
    """
    return Refused(
        about=(pair.client, pair.server),
        calls=pair.calls,
        frames=pair.frames,
        seen=wording.refused(pair) + _when(pair) + _verifier(pair, restarts),
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
