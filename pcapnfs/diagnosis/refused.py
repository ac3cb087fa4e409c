"""What the rules about calls that a server refused have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Observed

if TYPE_CHECKING:
    from pcapnfs.analyses.failures import Failures
    from pcapnfs.diagnosis.finding import Advice, Confidence, Severity


def observed(
    pair: Failures,
    title: str,
    why: str,
    advice: tuple[Advice, ...],
    *,
    severity: Severity = "problem",
    confidence: Confidence = "certain",
) -> Observed:
    """A finding on calls of one kind, of one client at one server."""
    return Observed(
        severity=severity,
        title=title,
        seen=wording.refused(pair),
        why=why,
        advice=advice,
        calls=pair.calls,
        confidence=confidence,
        data=units.counted(pair.calls, "refusal"),
        frames=pair.frames,
        about=(pair.client, pair.server),
    )
