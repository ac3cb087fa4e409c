"""The time in which a client has no call under way, divided by what it waits for meanwhile.

Takes that time, and what is known of the waits; gives the parts in the order in which they are told
apart. Promises that they add up to the time: each takes at most what those before it leave.
"""

from __future__ import annotations

from collections.abc import Mapping

from pcapnfs.record import Record


class IdleTime(Record):
    """Its parts, seconds."""

    late_s: float
    """Until TCP sent again what was lost of a call."""
    path_s: float
    """Of the rest, what the way to the client was longer for a while."""
    locks_s: float
    """Of what is left then, until the client tried for a lock again."""
    connecting_s: float
    """Of the rest, until it had a connection."""
    vain_s: float
    """Of what is left then, the time in which it asked for one to the end, in vain."""
    client_s: float
    """What is left: the client's own."""

    @property
    def unreached_s(self) -> float:
        """For how long it had no connection, whether it got one or not, seconds."""
        return self.connecting_s + self.vain_s


def added_up(*waits_s: Mapping[str, float]) -> Mapping[str, float]:
    """What was waited for several things by client, or by several clients by row, seconds."""
    found: dict[str, float] = {}
    for of_one in waits_s:
        for name, time_s in of_one.items():
            found[name] = found.get(name, 0.0) + time_s
    return found


def divided(
    time_s: float,
    *,
    late_s: float,
    locks_s: float,
    connecting_s: float,
    vain_s: float = 0.0,
    path_s: float = 0.0,
) -> IdleTime:
    """Divide time without a call.

    Args:
        time_s: All of it, seconds.
        late_s: How long TCP took to send again what was lost, seconds.
        locks_s: How long locks were waited for, seconds; so the next two for connections.
        connecting_s: For those that came about.
        vain_s: For those that did not.
        path_s: What the way to the client was longer for a while, seconds.
    """
    left, parts = time_s, []
    for known_s in (late_s, path_s, locks_s, connecting_s, vain_s):
        parts.append(min(known_s, left))
        left -= parts[-1]
    late, path, locks, connecting, vain = parts
    return IdleTime(late, path, locks, connecting, vain, left)
