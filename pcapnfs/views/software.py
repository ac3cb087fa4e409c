"""Which software clients and servers are, in a line.

Takes a `Software`; gives a sentence without its full stop, escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.software import apart, in_short
from pcapnfs.text import escape, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.mounts.software import Changed, Kind, Software

NAMED = 4
"""Kinds of software that are named of each side; the rest is counted."""

CHANGES = 2
"""Changes that are told."""


def line(found: Software, *, whole: bool = False) -> str | None:
    """What clients and servers say they are; None where nobody says anything.

    Args:
        found: What they say.
        whole: All of it; else what readers look for.
    """
    told = [
        *_side("client", found.clients, whole=whole),
        *_libraries(found.clients),
        *_side("server", found.servers, whole=whole),
        *map(_changed, found.changed[:CHANGES]),
    ]
    if not told:
        return None
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}"


def remark(found: Software) -> str | None:
    """What advice on mount options means to these clients, a sentence; None where nothing else."""
    told = "; ".join(_libraries(found.clients))
    return f"{told[0].upper()}{told[1:]}." if told else None


def _side(title: str, kinds: Sequence[Kind], *, whole: bool) -> list[str]:
    """Nothing of a side that does not tell."""
    hosts: dict[str, int] = {}
    for kind in kinds:
        name = escape(kind.software if whole else in_short(kind.software))
        hosts[name] = hosts.get(name, 0) + kind.hosts
    if not hosts:
        return []
    names = [
        name if len(hosts) == 1 else f"{name} ({units.count(count)})"
        for name, count in hosts.items()
    ]
    plural = "s" if sum(hosts.values()) > 1 else ""
    return [f"{title}{plural}: {some(names, NAMED, visible=str)}"]


def _libraries(clients: Sequence[Kind]) -> list[str]:
    """What advice on mount options means to clients that have none."""
    named = {kind.software for kind in clients if kind.is_library}
    return [
        f"the client is the {escape(name)} library, not a mount: set the values of mount options "
        "in the program"
        for name in sorted(named)
    ]


def _changed(change: Changed) -> str:
    before, _ = apart(change.before, change.after)
    return f"{escape(change.address)} was {escape(before)} before frame {change.frame}"
