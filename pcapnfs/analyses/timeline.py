"""The calls of all clients on one line of time: what each waited for, and when nobody waited.

Takes a trace and what the client waited beyond it; gives NumPy arrays with one element for each
call, in order of its first byte. Every instant at which calls are under way is shared equally among
them, whichever client they are of; an instant without any belongs to the clients, and is booked to
the call that ends it. Both together are the time from the first call to the last reply, exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses import objects as _objects
from pcapnfs.analyses import outstanding as _outstanding
from pcapnfs.analyses import traffic
from pcapnfs.analyses.equal_shares import Intervals, equal_shares
from pcapnfs.analyses.objects import NO_FILE, objects
from pcapnfs.analyses.outstanding import TRANSFER, outstanding
from pcapnfs.analyses.same_calls import NOT_READY
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.programs import NFS_PROGRAMS, NLM
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.analyses.outstanding import Added, Outstanding
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

READS = columns.together(
    _objects.READS,
    _outstanding.READS,
    columns.of(
        calls="call callback connection program op reply_time srt transmissions status_name "
        "stability file",
    ),
)
"""The columns that this reads."""

SMALL_OPERATIONS = (
    "GETATTR", "LOOKUP", "ACCESS", "READLINK", "STATFS", "FSSTAT", "FSINFO", "PATHCONF",
    "CLOSE", "LOOKUPP", "NVERIFY", "VERIFY", "GETACL",
)  # fmt: skip
"""Operations that a server answers from memory in a few bytes, and that so show the round trip:
those that docs/operations.md calls small."""

PROGRAMS = (*NFS_PROGRAMS, NLM)
"""NFS and NFSACL, the calls that a file costs, and the lock manager, whose calls are waited for but
not counted. What mounts and unmounts (MOUNT, portmapper) is before and after the run."""

LEAST_CALLS = 30
"""Calls that a mean must rest on: below, the mean of times with so long a tail says little."""


class Timeline(Record):
    """Arrays with an element for each call of a client, in order of its first byte."""

    clients: tuple[str, ...]
    """Addresses of the clients; `client` counts them from 0."""
    client: NDArray[np.int32]
    """Whose call it is."""
    unit: NDArray[np.int32]
    """The file that the call belongs to, or `NO_FILE`."""
    regular: Flags
    """That is a regular file."""
    directory: Flags
    """That is a directory."""
    counted: Flags
    """It is a call of NFS or NFSACL."""
    small: Flags
    """It shows the round trip: small, unstable, answered, not postponed; sent once if 30 are."""
    stable: Flags
    """It was stable, and answered."""
    timed: Flags
    """It shows what persistence takes: stable, answered, not postponed; sent once if 30 are."""
    own_small: Flags
    """Like `small`, but sent once if 30 of its client's are."""
    own_timed: Flags
    """Like `timed`, likewise."""
    operation: NDArray[np.int16]
    """Which of `operations` a stable call is; -1 for others."""
    operations: tuple[str, ...]
    """The stable operations."""
    service_s: Floats
    """From the complete call to the complete reply, as the client saw it, seconds; 0 without
    reply."""
    waited_s: Floats
    """How long it was outstanding, seconds: with its transfer, and the time until it was tried
    again."""
    share_s: Floats
    """Its share of the time in which calls were outstanding, seconds."""
    idle_s: Floats
    """The time right before it in which none was, seconds."""
    alone: Flags
    """No other call was outstanding while it was, nor right before."""
    transfer_s: float
    """The part of all calls' time in which their own bytes were moving, seconds."""
    postponed_s: float
    """The part of it in which the client waited until the server was ready or reachable, seconds;
    with the whole of calls that the server asked to send again later."""

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.unit)


def timeline(trace: Trace, added_ns: Added, calls: Outstanding | None = None) -> Timeline:
    """Put the calls in order, and share the time among them.

    Args:
        trace: The trace.
        added_ns: By client and server, how much longer than the capture shows the client waited,
            ns.
        calls: When calls were outstanding, with what was added, where it is known already.
    """
    calls = calls or outstanding(trace, added_ns=added_ns)
    operations, facts = _facts(trace)
    chosen = facts.pop("program")
    clients, client = calls.clients, calls.intervals.group[chosen]
    intervals, part_kind = _only(calls.intervals, calls.part_kind, chosen)
    del calls
    facts = {name: facts.pop(name)[chosen] for name in list(facts)}
    share_s = equal_shares(intervals).whole
    share_s /= NANOSECONDS
    refused = facts.pop("refused")
    transfer, postponed = _parts(intervals, part_kind, refused)
    order = np.argsort(intervals.begin, kind="stable")
    begin, end = intervals.begin[order], intervals.end[order]
    del intervals
    idle = np.zeros(len(order), np.int64)
    np.subtract(begin[1:], np.maximum.accumulate(end)[:-1], out=idle[1:])
    np.maximum(idle, 0, out=idle)
    alone = idle > 0
    alone[:1] = True
    alone[:-1] &= begin[1:] >= end[:-1]
    added = _by_connection(trace, added_ns)[facts.pop("connection")]
    srt = facts.pop("srt")
    once, shows = facts.pop("once"), (srt >= 0) & ~refused
    small, timed = facts["small"] & shows, (facts["operation"] >= 0) & shows
    everybody = np.zeros_like(client)
    service = np.where(srt >= 0, srt + added, 0)
    return Timeline(
        clients=clients,
        client=client[order],
        unit=facts["unit"][order],
        regular=facts["regular"][order],
        directory=facts["directory"][order],
        counted=facts["counted"][order],
        small=_undisturbed(small, once, everybody)[order],
        stable=(facts["operation"] >= 0)[order],
        timed=_undisturbed(timed, once, everybody)[order],
        own_small=_undisturbed(small, once, client)[order],
        own_timed=_undisturbed(timed, once, client)[order],
        operation=facts["operation"][order],
        operations=operations,
        service_s=service[order] / NANOSECONDS,
        waited_s=(end - begin) / NANOSECONDS,
        share_s=share_s[order],
        idle_s=idle / NANOSECONDS,
        alone=alone,
        transfer_s=transfer / NANOSECONDS,
        postponed_s=postponed / NANOSECONDS,
    )


def _undisturbed(calls: Flags, once: Flags, group: NDArray[np.int32]) -> Flags:
    """Without calls sent again, whose time holds the wait for that, if a group has enough left."""
    left = calls & once
    enough = np.bincount(group[left], minlength=int(group.max(initial=0)) + 1) >= LEAST_CALLS
    found: Flags = np.where(enough[group], left, calls)
    return found


def _parts(
    intervals: Intervals, part_kind: NDArray[np.uint8], refused: Flags
) -> tuple[float, float]:
    """What all calls spent on transfer, and on waiting until the server was ready, ns."""
    durations = intervals.part_end - intervals.part_begin
    transfer = part_kind == TRANSFER
    whole = (intervals.end - intervals.begin)[refused].sum()
    return float(durations[transfer].sum()), float(durations[~transfer].sum() + whole)


def _by_connection(trace: Trace, added_ns: Added) -> NDArray[np.int64]:
    """What is added to the calls of each connection, ns."""
    known = traffic.of_clients(trace)
    added = np.zeros(max((each.connection for each in known), default=0) + 1, np.int64)
    for each in known:
        added[each.connection] = added_ns.get((each.client, each.server), 0)
    return added


def _only(
    intervals: Intervals, part_kind: NDArray[np.uint8], chosen: Flags
) -> tuple[Intervals, NDArray[np.uint8]]:
    """The chosen intervals with their parts, as one group."""
    number = np.cumsum(chosen, dtype=np.int32) - 1
    parts = chosen[intervals.part_of]
    return Intervals(
        begin=intervals.begin[chosen],
        end=intervals.end[chosen],
        group=np.zeros(int(chosen.sum()), np.int32),
        groups=1,
        part_of=number[intervals.part_of[parts]],
        part_begin=intervals.part_begin[parts],
        part_end=intervals.part_end[parts],
    ), part_kind[parts]


def _facts(trace: Trace) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
    """What the table calls says of each call, in order of number."""
    stable = "stability = 'stable' and not callback"
    named = trace.rows(f"select distinct op from calls where {stable} order by op")
    operations = tuple(str(op) for (op,) in named)
    # Written out: DuckDB takes far longer to hand over the rows of a query with parameters.
    places = " ".join(f"when {_text(op)} then {place}" for place, op in enumerate(operations))
    place = f"case op {places} else -1 end" if places else "-1"
    rows = trace.arrays(
        f"""
        select call, coalesce(file::bigint, {NO_FILE}) as unit,
               program in {PROGRAMS} as program, program in {NFS_PROGRAMS} as counted,
               stability = 'unstable' and program in {NFS_PROGRAMS}
                   and op in {SMALL_OPERATIONS} as small,
               (case when stability = 'stable' and reply_time is not null then {place} else -1 end)
                   ::smallint as operation,
               connection, case when srt is null then -1 else greatest(srt, 0) end as srt,
               transmissions = 1 as once,
               coalesce(status_name in {NOT_READY}, false) as refused
        from calls where not callback
        """
    )
    known = objects(trace, np.asarray(rows["unit"]))
    unit = rows["unit"] = known.identity[rows["unit"]]
    rows |= {"regular": known.regular[unit], "directory": known.directory[unit]}
    call = rows.pop("call")
    if np.any(call[1:] < call[:-1]):
        order = np.argsort(call, kind="stable")
        rows = {name: rows.pop(name)[order] for name in list(rows)}
    return operations, {name: np.asarray(column) for name, column in rows.items()}


def _text(word: str) -> str:
    """A word as SQL writes it."""
    return "'" + word.replace("'", "''") + "'"
