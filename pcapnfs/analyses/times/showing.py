"""Which calls show what a round trip takes, and which what persistence does.

Takes flags of calls, and whose they are; gives flags: what was disturbed is left out where enough
remains to rest a mean on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import counted

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

SMALL_OPERATIONS = (
    "GETATTR", "LOOKUP", "ACCESS", "READLINK", "STATFS", "FSSTAT", "FSINFO", "PATHCONF",
    "CLOSE", "LOOKUPP", "NVERIFY", "VERIFY", "GETACL",
)  # fmt: skip
"""Operations that a server answers from memory in a few bytes, and that so show the round trip:
those that docs/operations.md calls small."""

LEAST_CALLS = 30
"""Calls that a mean must rest on: below, the mean of times with so long a tail says little. Few of
each of several clients and servers are as few together: what made one of the first clients slow, as
mounting does, makes one of each."""


def undisturbed(
    calls: Flags,
    once: Flags,
    group: NDArray[np.integer[Any]] | None = None,
    least: int = LEAST_CALLS,
) -> Flags:
    """Without calls sent again, whose time holds the wait for that, if a group has enough left.

    Args:
        calls: The calls.
        once: What was sent once.
        group: The group of each; None: all are of one.
        least: So many are enough.
    """
    left = calls & once
    if group is None:
        return left if left.sum() >= least else calls
    enough = counted(group, int(group.max(initial=0)) + 1, left) >= least
    found: Flags = np.where(enough[group], left, calls)
    return found


def of_pairs(
    calls: Flags, pair: NDArray[np.integer[Any]], group: NDArray[np.integer[Any]] | None = None,
    groups: int = 1,
) -> tuple[Flags, Flags]:  # fmt: skip
    """Those of pairs with enough of them; of a group without, all; by group, whether it has any.

    Args:
        calls: The calls.
        pair: The client and server of each.
        group: The group of each; None: all are of one.
        groups: How many there are.
    """
    enough = counted(pair, int(pair.max(initial=0)) + 1, calls) >= LEAST_CALLS
    theirs: Flags = calls & enough[pair]
    if group is None:
        found = bool(enough.any())
        return (theirs if found else calls), np.array([found])
    have: Flags = counted(group, groups, theirs) > 0
    return theirs | (calls & ~have[group]), have
