"""The screen of `redact`: what was replaced, and what is gone.

Takes a `Redaction`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group

from pcapnfs import units
from pcapnfs.text import argument, escape
from pcapnfs.views import parts
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.redaction import Redaction

_WHAT = {"addresses": ("address", "addresses"), "users": ("user or group", "users and groups")}
"""What one and several are called, where that is more than an s."""

_KEPT_KEY = (
    "Captures redacted with the same key have the same pseudonyms; keep the key to yourself."
)
_LOST_KEY = "The key was thrown away: no other capture gets the same pseudonyms."


def screen(result: Redaction, name: str, *, with_key: bool) -> RenderableType:
    """What was written, replaced and removed."""
    lines: list[RenderableType] = [
        Prose(
            f"{escape(argument(name))}: {units.counted(result.packets, 'packet')}, "
            f"{units.counted(result.messages, 'message')}"
        )
    ]
    replaced = ", ".join(
        units.counted(count, *_WHAT.get(what, (what.removesuffix("s"), what)))
        for what, count in result.replaced.items()
    )
    if replaced:
        lines.append(parts.note(f"Replaced by pseudonyms: {replaced}."))
    removed = units.size(result.removed_bytes)
    lines.append(parts.note(f"Removed: {removed} of data and of everything that is not known."))
    if not result.messages:
        lines.append(parts.note("No RPC was found, so nothing but headers is left."))
    if result.damage:
        lines.append(parts.note(f"The original is damaged: {escape(result.damage)}."))
    lines.append(parts.note(_KEPT_KEY if with_key else _LOST_KEY))
    return Group(*lines)
