"""The screen of `decode`: what was written.

Takes a `Decoded`; gives a renderable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape
from pcapnfs.views.prose import Prose
from pcapnfs.views.words import plural

if TYPE_CHECKING:
    from pcapnfs.decoding import Decoded


def screen(result: Decoded) -> Text:
    """One sentence."""
    parts = f" in {units.count(result.parts)} independent parts" if result.parts > 1 else ""
    return Prose(
        f"{escape(result.trace)}: {plural(result.calls, 'call', 'calls')} of "
        f"{plural(result.packets, 'packet', 'packets')}{parts}, {units.size(result.bytes)}"
    )
