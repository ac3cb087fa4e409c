"""How many connections a mount may be told to have."""

from __future__ import annotations

CONNECTIONS = (4, 8, 16)
"""How many may be asked for; more than the last nconnect does not take (nfs(5))."""


def more_than(connections: float) -> int | None:
    """The next number beyond so many; None where there is none.

    Args:
        connections: Those that there are.
    """
    return next((number for number in CONNECTIONS if number > connections), None)
