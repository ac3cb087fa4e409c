"""The screen of `sequence`: a file's calls as a time line, each with a bar of its service time.

Takes a `Sequence`; gives renderables. A full bar is a stable call, a light one any other; the
longest call of the file fills the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Several
from itertools import chain
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units, wireshark
from pcapnfs.errors import UsageError
from pcapnfs.text import escape, rooted
from pcapnfs.views import numbered
from pcapnfs.views.columns import Below, Column, FittedTable
from pcapnfs.views.parts import frames
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.call_operations import Operation
    from pcapnfs.analyses.by_file.known_names import KnownName
    from pcapnfs.analyses.by_file.sequence import (
        FileSequence,
        Sequence,
        Step,
    )
    from pcapnfs.meta import Stream

    Streams = Several[Stream]

BAR_CELLS = 12
"""Width of the longest bar."""

STABLE_CELL, OTHER_CELL = "█", "░"
"""What bars are made of."""

LONG_GAP_S, LONG_GAP = 1.0, "▸ "
"""Gaps from that length on, seconds, and their mark: of calls without think time between them a
thousand fit into it."""

NAMES_SHOWN = 8
"""Names of a file that are told; the rest is counted."""

_COLUMNS = (
    Column("frames", align="left"),
    Column("at", 3),
    Column("gap"),
    Column("time"),
    Column("", 2, align="left"),
    Column("call", align="left"),
    Column("offset", 5),
    Column("length", 2),
    Column("asked for", 4, align="left"),
    Column("status", 1, align="left"),
    Column("sent", 6),
    Column("client", 1, align="left"),
    Column("uid", 8),
    Column("name", 9, align="left", least=12),
)


def screen(result: Sequence) -> RenderableType:
    """The files, one below the other."""
    rest = result.matches - len(result.files)
    return Group(*screens(result.files, rest, result.matches, result.others))


def screens(
    files: Iterable[FileSequence],
    rest: int,
    matches: int,
    others: tuple[str, ...],
    streams: Streams = (),
) -> Iterator[RenderableType]:
    """The same piece by piece: a file, and what is not shown at the end.

    Args:
        files: The files that are shown.
        rest: How many are not.
        matches: How many files were meant.
        others: Paths of the first of those that are not shown.
        streams: The streams of packets, where it is to be told how their frames are numbered.
    """
    for place, file in enumerate(files):
        yield Group(*([Text("")] if place else []), *_file(file))
    if rest > 0:
        named = ", ".join(escape(rooted(path)) for path in others)
        more = " …" if rest > len(others) else ""
        yield Text(
            f"\n{units.counted(rest, 'more file')} of "
            f"{units.count(matches)} (--top 0 shows all): {named}{more}",
            style="dim",
        )
    if counted := numbered.unless_plain(streams):
        yield Group(Text(""), Prose(counted, style="dim"))


def _file(file: FileSequence) -> list[RenderableType]:
    askers = {(step.client, step.uid) for step in file.steps}
    parts: list[RenderableType] = [
        Text(escape(rooted(file.path)), style="bold", overflow="fold"),
        Prose(_facts(file, askers)),
    ]
    if len(file.names) > 1 or any(name.until_frame is not None for name in file.names):
        parts += [Text(_name(name), overflow="fold") for name in file.names[:NAMES_SHOWN]]
        if len(file.names) > NAMES_SHOWN:
            parts.append(Text(f"and {units.counted(len(file.names) - NAMES_SHOWN, 'more name')}"))
    if not file.steps:
        parts.append(Text("No call is about it; it was only listed, or named in other calls."))
        return parts
    longest = max((step.srt_s or 0.0 for step in file.steps), default=0.0)
    own = file.path.rpartition("/")[2]
    clients, users = (len(set(each)) > 1 for each in zip(*askers, strict=True))
    rows = (_row(step, longest, own, clients=clients, users=users) for step in file.steps)
    parts.append(FittedTable(_COLUMNS, rows, below=Below(file.steps, _compound), naming=True))
    if hidden := max(0, file.calls - len(file.steps)):
        more = units.counted(hidden, "more call")
        parts.append(Text(f"{more} (--calls 0 shows all)", style="dim"))
    return parts


def _facts(file: FileSequence, askers: set[tuple[str, int | None]]) -> str:
    facts = [units.counted(file.calls, "call")]
    if file.stable_calls:
        facts.append(f"{units.count(file.stable_calls)} stable (█)")
    facts.append(f"{units.taken(file.time_s)} of service in {units.duration(file.lifetime_s)}")
    if file.size_bytes is not None:
        facts.append(units.size(file.size_bytes))
    if file.removed:
        facts.append("removed")
    if file.fileid is not None:
        facts.append(f"fileid {file.fileid}")
    if len(file.handles) > 1:
        facts.append(f"{len(file.handles)} handles")
    who = {client for client, _ in askers}
    users = {user for _, user in askers if user is not None}
    if len(who) == 1:
        facts.append(f"by {escape(*who)}")
    if len(users) == 1:
        facts.append("uid {}".format(*users))
    return ", ".join(facts)


def _name(name: KnownName) -> str:
    text = f"  named {escape(rooted(name.path))} from frame {name.from_frame}"
    text += f" ({units.duration(name.from_s)})"
    if name.until_frame is not None:
        text += f" to {name.until_frame} ({units.duration(name.until_s)})"
    return text


def _row(step: Step, longest: float, own: str, *, clients: bool, users: bool) -> list[str]:
    """The cells of a step.

    The file's own name is told above them all, and so is who it was where it was always the same.
    """
    first = step.call_first_frame
    last = step.reply_frame if step.reply_frame is not None else step.call_frame
    data = _main(step)
    length = asked = ""
    offset = name = ""
    if data is not None:
        offset = "" if data.offset_bytes is None else units.count(data.offset_bytes)
        length = _length(data)
        if data.requested_level not in (None, data.committed_level):
            asked = escape(str(data.requested_level))
        name = "" if data.name in (None, own) else escape(data.name)
        if data.new_name is not None:
            name += f" → {escape(data.new_name)}"
    return [
        frames(first, last),
        units.duration(step.start_s),
        _gap(step),
        "no reply" if step.srt_s is None else units.duration(step.srt_s),
        bar(step.srt_s or 0.0, longest, stable=step.stability == "stable"),
        escape(step.step),
        offset,
        length,
        asked,
        escape(step.status or ""),
        f"{step.transmissions}×" if step.transmissions > 1 else "",
        escape(step.client) if clients else "",
        str(step.uid) if users and step.uid is not None else "",
        name,
    ]


def _gap(step: Step) -> str:
    """The gap before a step, marked where it is long."""
    if step.gap_s is None:
        return ""
    return f"{LONG_GAP if step.gap_s >= LONG_GAP_S else ''}{units.duration(step.gap_s)}"


def bar(value: float, longest: float, *, stable: bool) -> str:
    """As many cells as the value is of the longest; at least one for anything above zero."""
    if value <= 0 or longest <= 0:
        return ""
    cells = max(1, round(value / longest * BAR_CELLS))
    return (STABLE_CELL if stable else OTHER_CELL) * cells


def _main(step: Step) -> Operation | None:
    """The operation that the step is named after."""
    op = step.step.split("(")[0].split("[")[0].rstrip("!?")
    return next((each for each in step.operations if each.op == op), None)


def _length(data: Operation) -> str:
    if data.set_size_bytes is not None:
        return f"to {units.size(data.set_size_bytes)}"
    if data.done_bytes is not None and data.requested_bytes not in (None, data.done_bytes):
        return f"{units.size(data.done_bytes)} of {units.size(data.requested_bytes)}"
    if data.op in LOCKS and data.requested_bytes in TO_END:
        return "to end"
    length = data.done_bytes if data.done_bytes is not None else data.requested_bytes
    return "" if length is None else units.size(length)


ASKED_OR_TOLD = ("LOCK", "TEST", "UNLOCK", "CANCEL", "GRANTED")
LOCKS = frozenset(
    ("LOCKT", "LOCKU", "NM_LOCK", *ASKED_OR_TOLD, *(f"{op}_MSG" for op in ASKED_OR_TOLD))
)
"""Operations on ranges of a file, of NFSv4 and of the lock manager, in both its forms."""

TO_END = (0, 2**64 - 1)
"""Lengths of a range that reaches to the end of the file, however long that gets: of the lock
manager (NLM), and of NFSv4 (RFC 8881, 18.10), which knows no empty range."""


def _compound(step: Step) -> list[Text]:
    """The operations of a compound, each as it ended; nothing for a call of one operation."""
    if len(step.operations) < 2:
        return []
    return [Text(" ".join(_operation(each) for each in step.operations), style="dim")]


def _operation(each: Operation) -> str:
    text = escape(each.op)
    if each.name is not None:
        text += f"({escape(each.name)})"
    if not each.executed:
        return f"[{text}]"
    failed = each.status is not None and not each.status.endswith("_OK")
    return f"{text}!" if failed else text


def display_filters(
    files: Iterable[FileSequence], streams: Streams
) -> Iterator[tuple[Stream, Iterator[str]]]:
    """Wireshark's filters for the first and last frames of the calls and replies of files.

    One for each stream of packets that has such frames, by its own numbers; piece by piece, as
    there may be millions.

    Raises:
        UsageError: No call is shown.
    """
    numbers = (
        frame
        for file in files
        for step in file.steps
        for frame in (
            step.call_first_frame,
            step.call_frame,
            step.reply_first_frame,
            step.reply_frame,
        )
        if frame is not None
    )
    first = next(numbers, None)
    if first is None:
        raise UsageError("there is no call to filter for: the file was only listed")
    return wireshark.by_stream(chain([first], numbers), streams)
