"""What happened in a simulation, from its own books and not from its packets.

Takes the calls with their times; gives frozen results whose fields are the keys of ``OUT.json``.
Times are seconds for people and integer nanoseconds where they must be exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pcapnfs.record import Record
from pcapnfs.synth.simulation.exchange import STABLE
from pcapnfs.synth.simulation.options import Options


class Call(Record):
    """A call and its reply as the vantage point saw them."""

    xid: int
    """Transaction identifier."""
    operation: str
    """Procedure, or main operation of the compound."""
    path: str | None
    """The file that it belongs to, below the export; None for none."""
    stability: str
    """`stable`, `unstable`, `unstable_write`, `read` or `state`."""
    call_ns: int
    """When the call was complete, nanoseconds since 1970."""
    reply_ns: int
    """When the reply was complete, nanoseconds since 1970."""


class File(Record):
    """What was done to a file or directory."""

    path: str
    """Below the export; `.` is the export itself."""
    calls: int
    """Calls that belong to it."""
    stable_calls: int
    """Those of them that were stable."""
    srt_ns: int
    """Sum of their service times, nanoseconds."""
    stable_ns: int
    """The stable calls' part of it, nanoseconds."""


class Operation(Record):
    """What was asked of one kind."""

    operation: str
    """Procedure, or main operation of compounds."""
    calls: int
    """Calls."""
    stable_calls: int
    """Those of them that were stable."""
    srt_ns: int
    """Sum of their service times, nanoseconds."""


class Truth(Record):
    """Everything that is known of a simulated capture."""

    configured: Options
    """What was asked for, defaults included."""
    operations: tuple[Operation, ...]
    """By kind, in order of their names."""
    files: tuple[File, ...]
    """By path."""
    calls: tuple[Call, ...]
    """In the order in which they were sent."""


def tell(options: Options, calls: Sequence[Call]) -> Truth:
    """Add up what happened."""
    return Truth(options, _operations(calls), _files(calls), tuple(calls))


def _operations(calls: Sequence[Call]) -> tuple[Operation, ...]:
    number: Counter[str] = Counter()
    stable: Counter[str] = Counter()
    time: Counter[str] = Counter()
    for call in calls:
        number[call.operation] += 1
        stable[call.operation] += call.stability == STABLE
        time[call.operation] += call.reply_ns - call.call_ns
    return tuple(Operation(name, number[name], stable[name], time[name]) for name in sorted(number))


def _files(calls: Sequence[Call]) -> tuple[File, ...]:
    sums: dict[str, list[int]] = {}
    for call in calls:
        if call.path is None:
            continue
        found = sums.setdefault(call.path, [0, 0, 0, 0])
        time, stable = call.reply_ns - call.call_ns, call.stability == STABLE
        found[0] += 1
        found[1] += stable
        found[2] += time
        found[3] += time * stable
    return tuple(File(path, *found) for path, found in sorted(sums.items()))
