"""The screen of `decode`: what was written.

Takes a `Decoded`; gives a renderable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pcapnfs import units
from pcapnfs.text import argument, escape
from pcapnfs.views import trust
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from pcapnfs.decoding import Decoded


def screen(result: Decoded) -> Text:
    """What was written, and which files were forgotten."""
    parts = f" in {units.count(result.parts)} independent parts" if result.parts > 1 else ""
    forgotten = trust.forgotten(result.forgotten_files)
    return Prose(
        f"{escape(argument(result.trace))}: {units.counted(result.calls, 'call')} of "
        f"{units.counted(result.packets, 'packet')}{parts}, {units.size(result.bytes)}"
        + (f". {forgotten}" if forgotten else "")
    )
