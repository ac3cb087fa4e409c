"""A verdict on mount options: which would explain what was seen, how surely, and why.

The judges (`mount_options`, `mount_timeouts`, `mount_sizes`) give these, each from what was counted
of a client and a server (`mount_evidence`).
"""

from __future__ import annotations

from typing import Literal

from pcapnfs.record import Record

Confidence = Literal["likely", "possible"]
"""`likely`: the traffic has no other common cause. `possible`: a program may do the same, or there
is little of it."""

ENOUGH = 20
"""Moves, visits, transfers or listings below which nothing is concluded."""

MANY = 10
"""Pieces of evidence from which on a rarer kind of them is `likely` or enough."""

FEW = 3
"""Transfers or files that make a size or a habit."""


class MountVerdict(Record):
    """Mount options that would explain what was seen."""

    options: tuple[str, ...]
    """Each would explain it by itself (those joined by a comma: together); likeliest first."""
    title: str
    """The same in short."""
    confidence: str
    """`likely`: the traffic has no other common cause; `possible`: programs may do the same, or
    there is little of it."""
    evidence: str
    """What was counted, in a sentence."""
    frames: tuple[int, ...]
    """Examples: frames of calls, up to three."""


def concluded(
    options: tuple[str, ...], confidence: Confidence, evidence: str, frames: tuple[int, ...]
) -> MountVerdict:
    """A verdict whose title names its options."""
    return MountVerdict(options, " or ".join(options), confidence, evidence, frames)
