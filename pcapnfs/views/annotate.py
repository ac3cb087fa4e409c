"""The screen of `annotate`: what was written, and how Wireshark shows it.

Takes an `Annotation`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group

from pcapnfs.text import escape
from pcapnfs.views import parts
from pcapnfs.views.prose import Prose
from pcapnfs.views.words import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.annotation import Annotation

_SHOWN = 'In Wireshark: the display filter frame.comment contains "pcapnfs", or the expert view.'
_NOTHING = "There was nothing to say of any frame."


def screen(result: Annotation, name: str) -> RenderableType:
    """How many comments there are, and of what."""
    lines: list[RenderableType] = [
        Prose(
            f"{escape(name)}: {plural(result.packets, 'packet', 'packets')}, "
            f"{plural(result.comments, 'comment', 'comments')} at "
            f"{plural(result.frames, 'frame', 'frames')}"
        )
    ]
    shown = [
        plural(number, one, many)
        for number, one, many in (
            (result.findings, "finding", "findings"),
            (result.slowest, "slow call", "slow calls"),
            (result.phases, "phase", "phases"),
        )
        if number
    ]
    lines.append(parts.note(f"They show {', '.join(shown)}. {_SHOWN}" if shown else _NOTHING))
    lines += [parts.note(f"{escape(each)}, and was written.") for each in result.damage]
    return Group(*lines)
