"""The screen of `show`: one line as pcapnfs reads a call, and below it as Wireshark does.

Takes a `Shown`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, rooted
from pcapnfs.views.parts import note
from pcapnfs.views.prose import Prose
from pcapnfs.views.trust import REASONS
from pcapnfs.views.words import protocol_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.verify.dissection import Message, Reading, Shown

INDENT = 2
"""Columns by which a field stands below the one that it belongs to."""


def screen(result: Shown) -> RenderableType:
    """The calls of the frame one below the other, or the frame itself."""
    parts: list[RenderableType] = []
    for reading in result.readings:
        if parts:
            parts.append(Text(""))
        parts += _reading(reading)
    if result.packet is not None:
        parts.append(Text(f"frame {result.frame}: no call or reply in it", style="bold"))
        parts += [note(_noted(reason)) for reason in result.notes]
        parts += _message(result.packet, result.tshark)
    rest = result.calls - len(result.readings)
    if rest:
        more = units.counted(rest, "more call")
        parts.append(Text(f"\n{more} in frame {result.frame}", style="dim"))
    return Group(*parts)


def _reading(reading: Reading) -> list[RenderableType]:
    parts: list[RenderableType] = [Prose(line(reading), style="bold", overflow="fold")]
    for message in reading.messages:
        parts += _message(message, None)
    if len(reading.messages) == 1:
        parts.append(Text("\nno reply in the capture"))
    return parts


def line(reading: Reading) -> str:
    """A call in one line: what, on which file, by whom, how it ended, how long it took."""
    what = f"{protocol_name(reading.version)} {escape(reading.signature)}"
    if reading.path is not None:
        what += f" on {escape(rooted(reading.path))}"
    if reading.name is not None and not (reading.path or "").endswith(reading.name):
        what += f" ({escape(reading.name)})"
    if reading.new_name is not None:
        what += f" → {escape(reading.new_name)}"
    ends = (reading.client, reading.server)
    source, target = reversed(ends) if reading.callback else ends
    facts = [what, f"{escape(source)} → {escape(target)}"]
    if reading.uid is not None:
        facts.append(f"uid {reading.uid}")
    unnamed = "no reply" if len(reading.messages) == 1 else "answered"
    facts.append(escape(reading.status) if reading.status else unnamed)
    if reading.srt_s is not None:
        facts.append(units.duration(reading.srt_s))
    facts.append(escape(reading.stability).replace("_", " "))
    if reading.transmissions > 1:
        facts.append(f"sent {reading.transmissions}×")
    if reading.undecoded is not None:
        facts.append(f"not decoded to its end: {_noted(reading.undecoded)}")
    return ", ".join(facts)


def _noted(reason: str) -> str:
    return escape(REASONS.get(reason, reason.replace("_", " ")))


def _message(message: Message, tshark: str | None) -> list[RenderableType]:
    by = "" if tshark is None else f", tshark {escape(tshark)}"
    title = "" if message.side == "packet" else f"{message.side} in "
    parts: list[RenderableType] = [
        Text(f"\n{title}frame {message.frame}{by}", style="bold"),
    ]
    if not message.lines:
        parts.append(note("tshark shows no such message in this frame"))
    parts += [
        Padding(Text(escape(each.text), overflow="fold"), (0, 0, 0, INDENT * (each.depth + 1)))
        for each in message.lines
    ]
    return parts
