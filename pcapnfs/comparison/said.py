"""What is said of the mount options of one side of a comparison.

Takes a side; gives the verdicts on its options, once for each title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.comparison.side import Side
    from pcapnfs.confidence import Confidence


class Said(Record):
    """What is said of a mount option."""

    title: str
    confidence: Confidence
    evidence: str
    options: tuple[str, ...]


def verdicts(side: Side, *prefixes: str) -> list[Said]:
    """What is said of the options that begin so, once for each title."""
    found: dict[str, Said] = {}
    for mount in side.mounts:
        for verdict in mount.verdicts:
            if verdict.options[0].startswith(prefixes):
                sure: Confidence = "likely" if verdict.confidence == "likely" else "possible"
                found.setdefault(
                    verdict.title, Said(verdict.title, sure, verdict.evidence, verdict.options)
                )
    return list(found.values())
