"""The screen of `annotate`: what was written, and how Wireshark shows it.

Takes an `Annotation`; gives renderables.
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

    from pcapnfs.annotation import Annotation

_SHOWN = 'In Wireshark: the display filter frame.comment contains "pcapnfs", or the expert view.'
_NOTHING = "There was nothing to say of any frame."


def screen(result: Annotation, name: str) -> RenderableType:
    """How many comments there are, and of what."""
    lines: list[RenderableType] = [
        Prose(
            f"{escape(argument(name))}: {units.counted(result.packets, 'packet')}, "
            f"{units.counted(result.comments, 'comment')} at "
            f"{units.counted(result.frames, 'frame')}"
        )
    ]
    shown = [
        units.counted(number, one)
        for number, one in (
            (result.findings, "finding"),
            (result.slowest, "slow call"),
            (result.phases, "phase"),
        )
        if number
    ]
    lines.append(parts.note(f"They show {', '.join(shown)}. {_SHOWN}" if shown else _NOTHING))
    lines += [parts.note(f"{escape(each)}, and was written.") for each in result.damage]
    return Group(*lines)
