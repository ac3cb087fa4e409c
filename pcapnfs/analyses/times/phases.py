"""What a client did one after the other: its calls cut where the mixture of operations changes.

A script creates, lists, reads and removes in turn; a time budget of all of it tells of none. The
cuts are found from the sequence of operations alone (mixture.py), and at pauses that take a good
part of a phase. Promises that each call of a client is in exactly one of its phases, and that
phases, and the pauses between them, follow one another without overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns, units
from pcapnfs.analyses.asking import mixture, parts
from pcapnfs.analyses.asking import objects as _objects
from pcapnfs.analyses.asking.arrays import distinct, find
from pcapnfs.analyses.asking.equal_shares import equal_shares
from pcapnfs.analyses.asking.objects import NO_FILE, objects
from pcapnfs.analyses.asking.texts import position
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import UNPLACED, known, untold
from pcapnfs.analyses.servers import slow_storage as _slow_storage
from pcapnfs.analyses.servers.slow_storage import SlowStorage, slow_storage
from pcapnfs.analyses.times import outstanding as _outstanding
from pcapnfs.analyses.times.budget import Budget, book, budgets
from pcapnfs.analyses.times.client_calls import Clients
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pcapnfs.analyses.times.client_calls import Client
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

    Places = NDArray[np.int64]

READS = columns.together(
    _outstanding.READS,
    _objects.READS,
    _slow_storage.READS,
    _untold.READS,
    columns.of(calls="call callback op file"),
)
"""The columns that this reads."""

PAUSE_SHARE = 0.25
"""A pause that takes this share of a phase divides it: what came before and what came after have
little to do with each other."""

PAUSE_CALLS = 16
"""Phases with fewer calls are not divided by pauses: there is little to tell of their parts."""

NAMED_SHARE = 0.8
"""A phase is named after the operations that make up this share of its time."""

NAMED = 3
"""Operations in the name of a phase, at most."""

OPERATIONS = 5
"""Operations of a phase that are told."""


class PhaseOperation(Record):
    """Calls of a phase with one main operation."""

    op: str
    """Procedure; for NFSv4 the compound's main operation."""
    calls: int
    """Calls that began in the phase."""
    time_s: float | None
    """Their share of the phase's clock, seconds; None where the budget is `untold`."""


class Phase(Record):
    """Calls of one client, one after the other, with a mixture of operations of their own."""

    client: str
    """Address of the client."""
    name: str
    """The operations that its time went to, longest first; where the budget is `untold` the most
    frequent."""
    start: str | None
    """When its first call began, ISO 8601 in UTC; None in a capture without times."""
    start_s: float
    """The same from the capture's start, seconds."""
    pause_s: float
    """No call was outstanding between the phase before, or the capture's start, and this one,
    seconds."""
    calls: int
    """Calls that began in it."""
    files: int | None
    """Regular files that these addressed by handle or name; None when none is known, but there are
    calls that do not tell."""
    operations: tuple[PhaseOperation, ...]
    """The main operations that took longest, at most five; likewise."""
    budget: Budget
    """Where its time went, from the begin of its first call to the end of its last, or the begin of
    the next phase."""


def phases(
    trace: Trace, calls: Outstanding | None = None, clients: Sequence[str] | None = None
) -> tuple[Phase, ...]:
    """Divide what each client did into phases.

    Args:
        trace: The trace.
        calls: Its calls, where they are known already.
        clients: Addresses of the clients, in the order in which they are told; None for all.
    """
    return tuple(phase for phase, _ in begun(trace, calls, clients))


def begun(
    trace: Trace, calls: Outstanding | None = None, clients: Sequence[str] | None = None
) -> tuple[tuple[Phase, int], ...]:
    """The phases, as of `phases`, each with the number of its first call (table calls)."""
    found = calls or outstanding(trace)
    what = _What.of(trace)
    divided = Clients(found)
    number = {client: place for place, client in enumerate(found.clients)}
    slow = slow_storage(trace)
    return tuple(
        phase
        for client in (found.clients if clients is None else clients)
        for phase in _of_client(
            found, what, divided.client(number[client]), slow.get(client, NOT_SLOW).while_ns
        )
    )


NOT_SLOW = SlowStorage(calls=0, time_s=0.0)
"""Storage that was slow for no call."""


class _What(Record):
    """What each call was, as columns beside the outstanding ones."""

    start_ns: int | None
    """The capture's start, ns since 1970; None without packets that have a time."""
    names: tuple[str, ...]
    """Main operations, sorted."""
    op: NDArray[np.int32]
    """Of each call, the place in `names`."""
    file: NDArray[np.int32]
    """Of each call, the regular file that it addressed; `NO_FILE` without."""
    unplaced: NDArray[np.bool_]
    """Of each call, whether it does not tell what it is about."""
    sealed: bool
    """There may be other calls, under TLS."""

    @classmethod
    def of(cls, trace: Trace) -> _What:
        """Ask the trace."""
        told = trace.rows("select distinct op from calls where not callback order by op")
        names = tuple(name for (name,) in told)
        rows = parts.by_call(
            trace,
            f"""
            select call, {position("op", names)} as op, coalesce(file::integer, {NO_FILE}) as file,
                   {UNPLACED} as unplaced
            from calls where {traffic.asked(trace)}
            """,
        )
        known = objects(trace, rows["file"])
        regular = np.where(known.regular, known.identity, np.int32(NO_FILE))
        return cls(
            trace.meta.start_ns,
            names,
            rows["op"],
            regular[rows["file"]],
            rows["unplaced"],
            untold(trace).sealed,
        )


def _of_client(
    calls: Outstanding, what: _What, client: Client, slow_ns: tuple[int, int] | None
) -> list[tuple[Phase, int]]:
    """The phases of one client in order, each with its first call.

    Args:
        calls: When calls were outstanding.
        what: What each call was.
        client: The calls of the client.
        slow_ns: From when until when its storage was slow, ns since 1970; None where it was not.
    """
    mine, begin, reached = client.places, client.begin, client.reached
    pauses = begin - np.concatenate(([0], reached))[:-1]
    starts = mixture.changes(what.op[mine], pauses)
    if slow_ns is not None and what.start_ns is not None:
        first, last = (time - what.start_ns for time in slow_ns)
        starts = _with_while(starts, begin, first, last)
    starts = _divided(begin, reached, starts)
    told: list[tuple[Phase, int]] = []
    until = 0
    for start, following in zip(starts, [*starts[1:], len(mine)], strict=True):
        first = int(begin[start])
        last = int(reached[following - 1])
        if following < len(mine):
            last = min(last, int(begin[following]))
        members = mine[start:following]
        part = client.within(first, last)
        ops = what.op[find(calls.call, part.call)]
        phase = _phase(what, part, ops, members, first, first - until)
        told.append((phase, int(calls.call[members[0]])))
        until = last
    return told


def _with_while(starts: list[int], begin: Places, first: int, last: int) -> list[int]:
    """The places where phases start, and where storage began to be slow, and no longer was.

    Not where one starts nearly there: a few calls are no phase.

    Args:
        starts: The places.
        begin: When each call began, ns since the capture's start.
        first: When the first slow call was sent, likewise.
        last: When the last one was.
    """
    found = list(starts)
    # The first may have been under way before its last byte was sent.
    came = max(0, int(np.searchsorted(begin, first, "right")) - 1)
    for edge in (came, int(np.searchsorted(begin, last, "right"))):
        if min(abs(edge - start) for start in (*found, len(begin))) >= PAUSE_CALLS:
            found.append(edge)
    return sorted(found)


def _divided(begin: Places, reached: Places, starts: list[int]) -> list[int]:
    """Divide phases at their long pauses, four of each at most: the pauses lie apart in its span.

    Args:
        begin: When each call began, ascending.
        reached: When all calls up to each had ended.
        starts: Where phases begin.
    """
    divided = []
    for start, following in zip(starts, [*starts[1:], len(begin)], strict=True):
        divided.append(start)
        if following - start < PAUSE_CALLS:
            continue
        pauses = begin[start + 1 : following] - reached[start : following - 1]
        span = reached[following - 1] - begin[start]
        # By a clock that stood still, no pause at all would be a good part of no time.
        long = (pauses > 0) & (pauses >= PAUSE_SHARE * span)
        divided += (start + 1 + np.flatnonzero(long)).tolist()
    return divided


def _phase(
    what: _What,
    part: Outstanding,
    ops: NDArray[np.int32],
    members: NDArray[np.int32],
    start_ns: int,
    pause_ns: int,
) -> Phase:
    """One phase.

    Args:
        what: What each call was.
        part: What was outstanding in it.
        ops: The operation of each of these, by its place in `what.names`.
        members: The calls that began in it, as places.
        start_ns: When it began, from the capture's start.
        pause_ns: The pause before it.
    """
    given = equal_shares(part.intervals)
    times = np.bincount(ops, given.whole, len(what.names)) / NANOSECONDS
    if part.untold:
        times[:] = 0.0
    counts = np.bincount(what.op[members], minlength=len(what.names))
    # Those that took longest; among equals the most frequent, then by name.
    order = np.lexsort((-counts, -times))
    operations = tuple(
        PhaseOperation(what.names[op], int(counts[op]), None if part.untold else float(times[op]))
        for op in order.tolist()
        if counts[op] or times[op]
    )
    files = what.file[members]
    _, (budget,) = budgets(part, book(part, given))
    return Phase(
        client=part.clients[0],
        name=_name(operations),
        start=None if what.start_ns is None else units.timestamp(what.start_ns + start_ns),
        start_s=start_ns / NANOSECONDS,
        pause_s=pause_ns / NANOSECONDS,
        calls=len(members),
        files=known(
            len(distinct(files[files >= 0])),
            unless=what.sealed or bool(what.unplaced[members].any()),
        ),
        operations=operations[:OPERATIONS],
        budget=budget,
    )


def _name(operations: tuple[PhaseOperation, ...]) -> str:
    """The first operations, as many as make up most of the time, or of the calls."""
    sizes = [each.calls if each.time_s is None else each.time_s for each in operations]
    wanted = NAMED_SHARE * sum(sizes)
    names: list[str] = []
    told = 0.0
    for operation, size in zip(operations[:NAMED], sizes, strict=False):
        if names and told >= wanted:
            break
        names.append(operation.op)
        told += size
    return ", ".join(names)
