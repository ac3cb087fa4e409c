"""The screen of `verify`: what was compared with tshark, and where the two differ.

Takes a `Verification`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units, wireshark
from pcapnfs.text import escape, some
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.verify.verification import Difference, Overruled, Verification

PORTS_SHOWN = 8
"""Ports that are named; the rest is counted."""

_ASPECTS = {
    "call": "program, version, procedure",
    "call frame": "frame that completes the call",
    "operations": "operations of compounds",
    "reply": "frame that completes the reply",
    "results": "operations with results",
    "status": "status",
    "service time": "service time, to the nanosecond",
}
"""How aspects read in the table."""

_KINDS = {
    "only pcapnfs": "call found by pcapnfs only",
    "only tshark": "call found by tshark only",
    "reply without call": "reply without a call for tshark only",
}
"""How kinds of differences read that are no aspects."""


def screen(result: Verification) -> RenderableType:
    """The verdict, what was compared, the differences, what tshark had to be told."""
    parts: list[RenderableType] = [Prose(_verdict(result), style="bold")]
    parts.append(Prose(_calls(result)))
    if result.stopped is not None:
        parts.append(Text(f"tshark did not read it to its end: {escape(result.stopped)}"))
    parts.append(heading("Compared"))
    rows = [
        [
            _ASPECTS[aspect.aspect],
            units.count(aspect.compared),
            units.count(aspect.agreed),
            units.share(aspect.agreed / aspect.compared),
        ]
        for aspect in result.aspects
    ]
    columns = (Column("", align="left"), Column("calls"), Column("agree"), Column("share"))
    parts.append(FittedTable(columns, rows))
    if result.differences:
        parts.append(heading("Differences"))
        for difference in result.differences:
            parts += _difference(difference)
    if result.overruled:
        parts += [heading("What tshark had to be told"), note(_overruled(result.overruled))]
    return Group(*parts)


def _verdict(result: Verification) -> str:
    who = f"tshark {escape(result.tshark)}"
    if not result.pairs:
        return f"There is no call that both pcapnfs and {who} show."
    if not result.differences:
        return f"pcapnfs and {who} agree on everything."
    if not result.unexplained:
        return f"pcapnfs and {who} agree, but for what is explained below."
    number = units.counted(result.unexplained, "difference")
    return f"pcapnfs and {who} differ: {number} without a known reason."


def _calls(result: Verification) -> str:
    text = units.counted(result.calls, "call")
    if result.tshark_calls != result.calls:
        text += f", {units.count(result.tshark_calls)} by tshark"
    if result.repeated:
        text += f"; {units.counted(result.repeated, 'message')} sent again"
    if result.resent:
        text += f"; {units.count(result.resent)} sent again on another connection"
    if result.packets is not None:
        text += f"; of the first {units.counted(result.packets, 'packet')}"
    return text


def _difference(difference: Difference) -> list[RenderableType]:
    kind = _KINDS.get(difference.kind) or _ASPECTS[difference.kind]
    title = f"{units.count(difference.count)} × {kind}"
    why = difference.meaning or "no known reason: one of the two is wrong"
    return [
        note(title, style="" if difference.reason else "bold red"),
        note(why, indent=4),
        note(wireshark.frames(difference.frames), indent=4, style="dim"),
    ]


def _overruled(ports: tuple[Overruled, ...]) -> str:
    named = some([f"{each.port} ({each.protocol})" for each in ports], PORTS_SHOWN)
    many = "client ports belong" if len(ports) > 1 else "client port belongs"
    return (
        f"{units.count(len(ports))} {many} to another protocol in its table: {named}. Left alone "
        "it shows none of the RPC of those connections, so the server's port was decoded as RPC."
    )
