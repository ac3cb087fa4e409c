"""What calls have in common: version, transport, connections, layouts, streams, software.

Takes two sides; gives what differs, each with what says so. It is named only where both sides tell
it: what one of them leaves open is not known to have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts import software
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison.cause import Cause

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.software import Kind
    from pcapnfs.comparison.each import Sides
    from pcapnfs.comparison.side import Side

MAINLY = 0.9
"""Share of the calls that tell it which makes a version, a transport or a flavor that of the
capture."""


def left_open(before: Side, after: Side, clients: Sequence[Sides] = ()) -> tuple[str, ...]:
    """Say which of version, transport and security flavor a side does not tell, of any client."""
    pairs = [(first, second) for _, first, second in clients] or [(before, after)]
    found = {
        subject
        for first, second in pairs
        for subject, *sides in _protocols(first, second)
        if any(mainly(calls) is None for calls in sides)
    }
    return tuple(subject for subject, *_ in _protocols(before, after) if subject in found)


def _protocols(
    before: Side, after: Side
) -> tuple[tuple[str, Mapping[str, int], Mapping[str, int]], ...]:
    """What calls have in common: its subject, and the calls of each side by it."""
    return (
        ("version", before.habits.versions, after.habits.versions),
        ("transport", before.habits.transports, after.habits.transports),
        ("security", before.habits.flavors, after.habits.flavors),
    )


def protocol(before: Side, after: Side) -> Iterator[Cause]:
    """The version, the transport and the security flavor of nearly all calls."""
    for subject, first, second in _protocols(before, after):
        yield from _mainly(subject, first, second)


def _mainly(subject: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Cause]:
    """What nearly all calls that tell it have in common, on each side."""
    first, second = mainly(before), mainly(after)
    if first is None or second is None:
        return
    # A capture that was cut may leave the minor version open: 4 is then any of 4.0, 4.1 …
    shorter, longer = sorted((first, second), key=len)
    if longer == shorter or longer.startswith(f"{shorter}."):
        return
    yield Cause(
        subject,
        first,
        second,
        "certain",
        f"{units.count(before[first])} of {units.counted(sum(before.values()), 'call')} before, "
        f"{units.count(after[second])} of {units.count(sum(after.values()))} after",
    )


def mainly(calls: Mapping[str, int]) -> str | None:
    """What nearly all calls have in common; None where they do not, or there is none."""
    name = max(calls, key=calls.__getitem__, default=None)
    return None if name is None or calls[name] < MAINLY * sum(calls.values()) else name


def connections(before: Side, after: Side) -> Iterator[Cause]:
    """How many connections a client has with a server at once."""
    first, second = before.habits.connections, after.habits.connections
    if not first or not second or first == second:
        return
    yield Cause(
        "connections",
        units.count(first),
        units.count(second),
        "certain",
        "in use at once, at most; that is nconnect, or the number of mounts that share none",
    )


THROUGH, BY_LAYOUT = "through the server of the mount", "by layouts, to data servers"
"""How data moves."""

FEW = 3
"""READs and WRITEs below which there is no habit."""


def layouts(before: Side, after: Side) -> Iterator[Cause]:
    """Whether data moves by layouts (pNFS) on one side, and past the mount's server."""
    first, second = before.habits, after.habits
    more, other = (first, second) if first.data_apart > second.data_apart else (second, first)
    if (
        more.data_apart < FEW
        or other.layouts
        or other.data_apart
        or (other.largest_read_bytes is None and other.largest_write_bytes is None)
    ):
        return
    yield Cause(
        "pnfs",
        BY_LAYOUT if more is first else THROUGH,
        THROUGH if more is first else BY_LAYOUT,
        "certain",
        f"{'before' if more is first else 'after'}, {units.counted(more.layouts, 'layout')} "
        f"{'was' if more.layouts == 1 else 'were'} granted, and "
        f"{units.counted(more.data_apart, 'READ or WRITE', 'READs and WRITEs')} went to data "
        "servers; on the other side no layout was granted",
    )


ALONE, TOGETHER = "one thing after the other", "several side by side"
"""How programs work."""

SELDOM, OFTEN, SEVERAL = 0.01, 0.05, 3
"""Of the time in which calls that programs wait for were under way, the share in which two or more
were, up to which they come one after the other, and from which on, with so many at once, they come
side by side. Two at once are a program and its child. Where several were under way at any moment,
programs did not work one after the other: they seldom meet where a server answers soon."""


def streams(before: Side, after: Side) -> Iterator[Cause]:
    """Whether programs did one thing after the other on one side, and several on the other.

    How many there are is not known: those that hardly wait are seldom seen side by side.
    """
    by = times_at_once(before, after)
    if by == 1:
        return
    first, second = before.habits, after.habits
    yield Cause(
        "streams",
        *((ALONE, TOGETHER) if by > 1 else (TOGETHER, ALONE)),
        "likely",
        f"of the calls that programs wait for, data apart, {units.count(first.work_at_once)} "
        f"at most were under way at once before, {units.count(second.work_at_once)} after; two "
        f"or more for {units.share(first.work_overlaps)} of the time in which any was, and "
        f"for {units.share(second.work_overlaps)}",
    )


def times_at_once(before: Side, after: Side) -> float:
    """How many times as many things programs do at once after; 1 where that is not told."""
    first, second = before.habits, after.habits
    for one, many, sign in ((first, second, 1), (second, first, -1)):
        if (
            min(one.work, many.work) >= LEAST_CALLS
            and one.work_overlaps <= SELDOM
            and one.work_at_once < SEVERAL
            and many.work_overlaps >= OFTEN
            and many.work_at_once >= SEVERAL
        ):
            return float((many.work_at_once / max(1, one.work_at_once)) ** sign)
    return 1.0


def software_of_hosts(
    subject: str, before: Sequence[Kind], after: Sequence[Kind]
) -> Iterator[Cause]:
    """What hosts say they are: one kind went, and another came.

    Where only one of that happened, hosts may have joined or left.
    """
    if max(len(before), len(after)) >= software.KINDS:  # The rest is not known.
        return
    first, second = (
        {kind.software: kind for kind in side if kind.source == "implementation"}
        for side in (before, after)
    )
    gone = [kind for name, kind in first.items() if name not in second]
    come = [kind for name, kind in second.items() if name not in first]
    if not gone or not come:
        return
    names = software.apart(gone[0].software, come[0].software)
    told = [
        f"{_and_more(kind.addresses[0], kind.hosts)} in frame {kind.frame} {when}"
        for kind, when in ((gone[0], "before"), (come[0], "after"))
    ]
    yield Cause(
        subject,
        _and_more(names[0], len(gone)),
        _and_more(names[1], len(come)),
        "certain",
        f"EXCHANGE_ID of {told[0]}, of {told[1]}",
    )


def _and_more(name: str, all_of_them: int) -> str:
    return f"{name} and {units.count(all_of_them - 1)} more" if all_of_them > 1 else name
