"""What the server delegates to its clients on one side, and not on the other.

Takes two sides; gives what differs, with what says so. Under a delegation a client need not ask
whether what it knows of a file still holds, nor tell the server of each OPEN and CLOSE (RFC 8881
section 10.4): the same work takes fewer calls, and others come side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.cause import Cause
from pcapnfs.diagnosis.wording import listed

if TYPE_CHECKING:
    from pcapnfs.comparison.habits import Delegated
    from pcapnfs.comparison.side import Side

LEAST = 10
"""Calls on each side that a delegation could have come with, below which there is no habit."""

SELDOM, OFTEN = 0.05, 0.25
"""Share of them up to which a server grants none, and from which on it grants some. A server has
reasons of its own to grant none for a while: the way back to the client is not known to be open,
or the file is new, or was asked for by others."""

PURPOSES = {
    "reading": ("files opened to read", "OPENs to read"),
    "writing": ("files opened to write", "OPENs to write"),
    "directories": ("directories", "GET_DIR_DELEGATIONs"),
}
"""What is delegated, and the calls that it comes with."""

NONE = "none granted"
"""What is said of a side on which nothing is delegated."""


def delegations(before: Side, after: Side) -> Iterator[Cause]:
    """For what delegations are granted, where one side has some that the other has not.

    Told of files opened to read, of those opened to write, and of directories, each where both
    sides tell it.
    """
    sides = before.habits.delegated, after.habits.delegated
    granted: tuple[list[str], list[str]] = [], []
    evidence = []
    for purpose, (what, calls) in PURPOSES.items():
        first, second = (_grants(side.get(purpose)) for side in sides)
        if first is None or second is None:
            continue
        for side, grants in zip(granted, (first, second), strict=True):
            if grants:
                side.append(what)
        if first != second:
            numbers = [
                f"{units.count(side[purpose].granted)} of {units.count(side[purpose].asked)}"
                for side in sides
            ]
            evidence.append(f"{numbers[0]} {calls} got one before, {numbers[1]} after")
    if evidence:
        words = [f"for {listed(side, len(side))}" if side else NONE for side in granted]
        yield Cause(
            "delegations",
            words[0],
            words[1],
            "certain",
            "; ".join(evidence),
        )


def _grants(delegated: Delegated | None) -> bool | None:
    """Whether they are granted; None where it is not told, or now and then."""
    if delegated is None or delegated.asked < LEAST:
        return None
    if delegated.granted <= SELDOM * delegated.asked:
        return False
    return True if delegated.granted >= OFTEN * delegated.asked else None
