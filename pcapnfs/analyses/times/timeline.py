"""The calls of all clients on one line of time: what each waited for, and when nobody waited.

Takes a trace and what the client waited beyond it; gives NumPy arrays with one element for each
call, in order of its first byte. Every instant at which calls are under way is shared equally among
them, whichever client they are of; an instant without any belongs to the clients, and is booked to
the call that ends it. Both together are the time from the first call to the last reply, exactly,
but for the gaps in which nobody used a mount (first_use.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import objects as _objects
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.arrays import added as added_up
from pcapnfs.analyses.asking.arrays import counted, find, pieces
from pcapnfs.analyses.asking.equal_shares import equal_shares
from pcapnfs.analyses.asking.objects import NO_FILE, objects
from pcapnfs.analyses.asking.stretches import common, of_any
from pcapnfs.analyses.asking.texts import among, position
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.analyses.locks import lock_gaps as _lock_gaps
from pcapnfs.analyses.mounts.first_use import ALWAYS, MountIdle, Use
from pcapnfs.analyses.servers.same_calls import PUT_OFF, TOLD_LATER, referrals
from pcapnfs.analyses.times import outstanding as _outstanding
from pcapnfs.analyses.times import sums, taken_out
from pcapnfs.analyses.times.call_times import FROM_DISK
from pcapnfs.analyses.times.clocked import Clocked, clocked
from pcapnfs.analyses.times.long_pauses import PAUSE_S
from pcapnfs.analyses.times.outstanding import KINDS, UNKNOWN, WAITING, outstanding
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS, of_pairs, undisturbed
from pcapnfs.analyses.times.spent import Spent, spent
from pcapnfs.analyses.times.taken_out import Longer, Lost
from pcapnfs.analyses.wire import tcp_stalls as _tcp_stalls
from pcapnfs.analyses.wire.slower_path import slowed
from pcapnfs.analyses.wire.tcp_stalls import stalled
from pcapnfs.programs import NFS_PROGRAMS, NLM
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Intervals
    from pcapnfs.analyses.asking.objects import Objects
    from pcapnfs.analyses.asking.stretches import Stretches
    from pcapnfs.analyses.servers.stalled_calls import StoodStill
    from pcapnfs.analyses.times.outstanding import Added, Outstanding
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Place = tuple[NDArray[np.int32], NDArray[np.int32], int]
    """Calls in order of their first byte, the unit of each of these, and how many units there
    are."""

READS = columns.together(
    _lock_gaps.READS,
    _objects.READS,
    _outstanding.READS,
    _tcp_stalls.STALLED_READS,
    taken_out.READS,
    columns.of(
        calls="call callback connection program op reply_time srt first_arrived status_name "
        "stability file",
        notes="reason time",
    ),
)
"""The columns that this reads."""

PROGRAMS = (*NFS_PROGRAMS, NLM)
"""NFS and NFSACL, the calls that a file costs, and the lock manager, whose calls are waited for but
not counted. What mounts and unmounts (MOUNT, portmapper) is before and after the run."""


class Units(Record):
    """Files, directories and what belongs to neither, in order of their first call."""

    number: NDArray[np.int32]
    """The number of each (table files), or `NO_FILE`."""
    regular: Flags
    """It is a regular file."""
    directory: Flags
    """It is a directory."""
    waited_s: Floats
    """How long its calls were outstanding, added up, seconds."""
    share_s: Floats
    """Their shares of the time in which calls were outstanding, added up, seconds."""
    turns: Floats
    """Its calls, each by its share of the time for which it was outstanding: 1 where it was alone,
    a half beside another."""
    stable_turns: Floats
    """The same of stable ones."""
    stable_waited_s: Floats
    """For how long stable ones were outstanding, seconds."""
    stable_share_s: Floats
    """Shares of these of the time in which calls were outstanding, added up, seconds."""
    unsure: Floats
    """Calls without a known outcome."""
    unsure_s: Floats
    """How long these were outstanding, without transfer and waiting, added up, seconds."""
    unseen: Floats
    """Replies without their call that came in the gaps before its calls."""
    unseen_s: Floats
    """What of these gaps was before such a reply, added up, seconds."""


class BetweenCalls(Record):
    """What of the time between calls a client waited for something, seconds."""

    gaps_s: float = 0.0
    """In gaps that are no pauses."""
    pauses_s: float = 0.0
    """In pauses."""

    @property
    def whole_s(self) -> float:
        """All of it."""
        return self.gaps_s + self.pauses_s

    def plus(self, other: BetweenCalls) -> BetweenCalls:
        """Both, which have nothing in common."""
        return BetweenCalls(self.gaps_s + other.gaps_s, self.pauses_s + other.pauses_s)


class Served(Record):
    """Answered calls of one row of the time budget."""

    calls: int
    """How many."""
    service_s: float
    """Their service time as the client saw it, added up, seconds."""

    def beyond_s(self, rtt_s: float) -> float:
        """What of it is beyond a round trip of each, seconds."""
        return max(0.0, self.service_s - self.calls * rtt_s)


class Timeline(Record):
    """Arrays with an element for each call of a client, in order of its first byte."""

    clients: tuple[str, ...]
    """Addresses of the clients; `client` counts them from 0."""
    client: NDArray[np.unsignedinteger[Any]]
    """Whose call it is."""
    unit: NDArray[np.int32]
    """What the call belongs to: the place in `units`."""
    units: Units
    """What calls belong to."""
    counted: Flags
    """It is a call of NFS or NFSACL."""
    small: Flags
    """It shows the round trip: small, unstable, answered, not postponed, and none of a few that
    stood still; sent once if any is; of a client and server with 30 such calls, if there are
    any."""
    small_enough: bool
    """There are any."""
    stable: Flags
    """It was stable, and answered."""
    known: Flags
    """It is counted and was answered, and it is known whether it was stable."""
    from_disk: Flags
    """It is one of these, not stable, and may have waited for a disk all the same (`FROM_DISK`)."""
    timed: Flags
    """It shows what persistence takes: stable, answered, not postponed, and none of a few that
    stood still; sent once if 30 are."""
    once: Flags
    """It was sent once."""
    own_small: Flags
    """Like `small`, but sent once if any of its client's is, and of its client and a server with
    30, if there is any."""
    own_enough: Flags
    """By client, whether there is any."""
    own_timed: Flags
    """Like `timed`, likewise."""
    operation: NDArray[np.int16]
    """Which of `operations` a stable call is; -1 for others."""
    operations: tuple[str, ...]
    """The stable operations."""
    service_s: Floats
    """From the complete call to the complete reply, as the client saw it, seconds; 0 without
    reply. Without what the call stood still until TCP sent again what was lost, and what it took
    longer because the path was longer for a while."""
    idle_s: Floats
    """The time right before it in which none was, seconds; without `mount_idle`."""
    alone: Flags
    """No other call was outstanding while it was, nor right before."""
    behind: Flags
    """Another call was under way when it came."""
    waited_s: float
    """How long calls were outstanding, added up, seconds: with their transfer, and the time until
    they were tried again."""
    busy_s: float
    """How long any was, seconds."""
    transfer_s: float
    """The part of all calls' time in which their bytes were moving, or those that their replies had
    to wait for, seconds."""
    postponed_s: float
    """The part of it in which the client waited until the server was ready or reachable, seconds;
    with the whole of calls that the server asked to send again later, or never answered."""
    put_off_s: float
    """The part of that for which it put off calls on an object (DELAY, JUKEBOX), seconds."""
    unknown_s: float
    """How long calls without a known outcome were outstanding, without these parts, seconds."""
    unknown_calls: int
    """Such calls that are counted."""
    clocked: Clocked
    """What of the clock all this took."""
    lost: Lost
    """What TCP's retransmission timer took of all this."""
    longer: Longer
    """What a path that was longer for a while took of it."""
    stood_still: StoodStill
    """What of it a few calls stood still (stalled_calls.py)."""
    served: Mapping[str, Served]
    """By row of the budget, the answered calls that wait for no stable storage, and how long the
    server took for them."""
    spent: Mapping[str, Spent]
    """By row of the budget, the calls, and what of the clock they held up."""
    locked: BetweenCalls
    """What of the time between calls clients waited for locks."""
    lock_gaps: tuple[_lock_gaps.LockGaps, ...]
    """What each client waited for them while it had no call outstanding itself."""
    unanswered_last: Flags
    """By client, whether a call without a reply is the last that was outstanding."""
    apart_s: Floats
    """By client, how long the other calls, which mount and unmount, were outstanding, added up,
    seconds."""
    unmoved_s: Floats
    """By client, how long its calls were outstanding without transfer and postponement, added up,
    seconds."""
    mount_idle: MountIdle = MountIdle()
    """What of the time between calls nobody used a mount."""

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.unit)


def timeline(
    trace: Trace, added_ns: Added, calls: Outstanding | None = None, use: Use = ALWAYS
) -> Timeline:
    """Put the calls in order, and share the time among them.

    Args:
        trace: The trace.
        added_ns: By client and server, how much longer than the capture shows the client waited,
            ns.
        calls: When calls were outstanding, with what was added, where it is known already.
        use: When any client used what it had mounted.
    """
    calls = calls or outstanding(trace, added_ns=added_ns)
    operations, known, facts = _facts(trace)
    # Captures hold millions of calls: each column goes as soon as nothing needs it any more.
    refused, chosen = facts.pop("refused") | (calls.kind == WAITING), facts.pop("program")
    putting_off = facts.pop("put_off")
    whole = _whole(calls, facts["counted"], refused, putting_off, chosen)
    intervals, client = calls.intervals, calls.intervals.group
    service, answered, pair = _service(trace, added_ns, facts)
    still, slow = stalled(trace), slowed(trace)
    lost = Lost() if still is None else taken_out.losses(still, calls, service, chosen)
    longer_path = taken_out.longer_path(trace, slow, calls, service, chosen)
    shows = answered & ~refused
    stood_still = taken_out.stood_still(trace, calls, shows)
    served = _served(calls.kind, service, shows & chosen)
    unanswered_last = sums.any_last(intervals, ~answered, chosen)
    del answered
    intervals = sums.as_one_group(intervals, chosen)
    given = equal_shares(intervals)
    of_the_clock = clocked(
        calls, given, chosen=chosen, refused=refused, put_off=putting_off, still=still, slow=slow
    )
    rows = spent(calls.kind, intervals, given, chosen)
    share_ns = given.whole
    del refused, putting_off, given
    order, idle_s, alone, behind = sums.by_begin(intervals, int(chosen.sum()))
    unit = facts.pop("unit")[order]
    number = sums.as_they_come(unit)
    stored, place = facts["operation"] >= 0, (order, unit, len(number))
    busy_s, shared = _shared(share_ns, intervals, chosen, stored, place)
    del share_ns, chosen
    waited_s, waits = _waits(intervals, stored, place)
    del stored
    unseen = _unseen(trace, intervals.begin, order, idle_s)
    waited_for = _lock_gaps.stretches(trace, calls)
    locked = _locked(waited_for, intervals.begin, order, idle_s)
    if still is not None:
        lost = taken_out.late(lost, still, calls, order, idle_s)
    between_s = taken_out.between_s(trace, calls, order, idle_s)
    longer_path = replace(longer_path, idle_s=between_s)
    mount_idle = _left_out(use, intervals.begin, order, idle_s)
    del intervals
    service_s = sums.in_seconds(service, order)
    del service
    whose = client.astype(np.min_scalar_type(len(calls.clients)))[order]
    showing = _showing(facts, shows[order], pair[order], order, whose, len(calls.clients))
    del pair, shows
    operation = facts.pop("operation")[order]
    return Timeline(
        clients=calls.clients,
        client=whose,
        unit=unit,
        units=_units(
            known, number, shared, waits, sums.in_line(*whole.unsure, order), unseen, unit
        ),
        counted=facts.pop("counted")[order],
        small=showing.small,
        small_enough=showing.small_enough,
        stable=operation >= 0,
        known=facts.pop("known")[order],
        from_disk=facts.pop("from_disk")[order],
        timed=showing.timed,
        once=showing.once,
        own_small=showing.own_small,
        own_enough=showing.own_enough,
        own_timed=showing.own_timed,
        operation=operation,
        operations=operations,
        service_s=service_s,
        idle_s=idle_s,
        alone=alone,
        behind=behind,
        waited_s=waited_s,
        busy_s=busy_s,
        transfer_s=whole.transfer_s,
        postponed_s=whole.postponed_s,
        put_off_s=whole.put_off_s,
        unknown_s=whole.unknown_s,
        unknown_calls=whole.unknown_calls,
        clocked=of_the_clock,
        lost=lost,
        longer=longer_path,
        stood_still=stood_still,
        served=served,
        spent=rows,
        locked=locked,
        lock_gaps=_lock_gaps.added_up(waited_for),
        unanswered_last=unanswered_last,
        apart_s=whole.apart_s,
        unmoved_s=whole.unmoved_s,
        mount_idle=mount_idle,
    )


class _Whole(Record):
    """What all calls together, or those of each client, waited: as of `Timeline`."""

    transfer_s: float
    """Transfer of all, seconds."""
    postponed_s: float
    """Until the server was ready or reachable, seconds."""
    put_off_s: float
    """The part of that for which it put off calls on an object, seconds."""
    unknown_s: float
    """Of calls without a known outcome, without these parts, seconds."""
    unknown_calls: int
    """Such calls that are counted."""
    unsure: tuple[NDArray[np.int64], Floats]
    """The calls without a known outcome, and how long each was outstanding without its parts."""
    apart_s: Floats
    """By client, of calls that mount and unmount, seconds."""
    unmoved_s: Floats
    """By client, of the others without transfer and postponement, seconds."""


def _whole(
    calls: Outstanding, counted_calls: Flags, refused: Flags, putting_off: Flags, chosen: Flags
) -> _Whole:
    """Add up what calls waited.

    Args:
        calls: When they were outstanding.
        counted_calls: Those of NFS and NFSACL.
        refused: Those that the server asked to send again, or did not answer.
        putting_off: Those that it put off.
        chosen: Those of `PROGRAMS`.
    """
    intervals = calls.intervals
    transfer, postponed = sums.parts_of(intervals, calls.part_kind, refused, chosen)
    outcome = chosen & (calls.kind == UNKNOWN)
    return _Whole(
        transfer_s=transfer / NANOSECONDS,
        postponed_s=postponed / NANOSECONDS,
        put_off_s=sums.whole(intervals, putting_off & chosen) / NANOSECONDS,
        unknown_s=sums.whole(intervals, outcome) / NANOSECONDS,
        unknown_calls=int((outcome & counted_calls).sum()),
        unsure=sums.lengths(intervals, outcome),
        apart_s=sums.whole_by_client(intervals, ~chosen) / NANOSECONDS,
        unmoved_s=sums.whole_by_client(intervals, chosen & ~refused) / NANOSECONDS,
    )


def _service(
    trace: Trace, added_ns: Added, facts: dict[str, NDArray[Any]]
) -> tuple[NDArray[np.int64], Flags, NDArray[Any]]:
    """By call, the service time as the client saw it, ns; whether it has one; its pair."""
    pairs, longer = _pairs(trace, added_ns)
    pair, service = pairs[facts.pop("connection")], facts.pop("srt")
    answered: Flags = service >= 0
    for piece in pieces(len(service)):
        service[piece] += longer[pair[piece]]
    service[~answered] = 0
    return service, answered, pair


class _Shared(Record):
    """By unit, its calls' parts of the clock: as of `Units`."""

    share_s: Floats
    """Shares of the time in which calls were outstanding, seconds."""
    stable_share_s: Floats
    """Those of stable calls, seconds."""
    turns: Floats
    """Calls, each by its share of the time for which it was outstanding."""
    stable_turns: Floats
    """Stable calls, likewise."""


def _shared(
    share_ns: Floats, intervals: Intervals, chosen: Flags, stored: Flags, place: Place
) -> tuple[float, _Shared]:
    """How long any call was outstanding, seconds, and whose time that was.

    Args:
        share_ns: Each call's share of the clock, ns; turns take its place.
        intervals: When calls were outstanding.
        chosen: Those of `PROGRAMS`.
        stored: Stable ones.
        place: Where they are.
    """
    busy_s, shares = sums.added(share_ns, *place)
    stored_shares = sums.summed(share_ns, stored, *place) / NANOSECONDS
    sums.make_turns(share_ns, intervals)
    turns = sums.summed(share_ns, chosen, *place)
    return busy_s, _Shared(shares, stored_shares, turns, sums.summed(share_ns, stored, *place))


def _waits(
    intervals: Intervals, stored: Flags, place: Place
) -> tuple[float, tuple[Floats, Floats]]:
    """How long calls were outstanding, added up, seconds; by unit, all and stable ones."""
    lasted_ns = intervals.end - intervals.begin
    waited_s, waits = sums.added(lasted_ns, *place)
    return waited_s, (waits, sums.summed(lasted_ns, stored, *place) / NANOSECONDS)


def _units(
    known: Objects,
    number: NDArray[np.int32],
    shared: _Shared,
    waits: tuple[Floats, Floats],
    unsure: tuple[NDArray[Any], Floats],
    unseen: tuple[NDArray[np.int64], Floats, Floats],
    unit: NDArray[np.int32],
) -> Units:
    """What calls belong to.

    Args:
        known: All objects.
        number: Those that calls belong to.
        shared: Their calls' parts of the clock.
        waits: That of `_waits`.
        unsure: Places of calls without a known outcome, and how long each was outstanding, seconds.
        unseen: That of `_unseen`.
        unit: Which of them each call belongs to.
    """
    many = len(number)
    (places, lasted_s), (gaps, replies, before_s) = unsure, unseen
    return Units(
        number=number,
        regular=known.regular[number],
        directory=known.directory[number],
        waited_s=waits[0],
        share_s=shared.share_s,
        turns=shared.turns,
        stable_turns=shared.stable_turns,
        stable_waited_s=waits[1],
        stable_share_s=shared.stable_share_s,
        unsure=counted(unit[places], many).astype(np.float64),
        unsure_s=added_up(unit[places], lasted_s, many),
        unseen=added_up(unit[gaps], replies, many),
        unseen_s=added_up(unit[gaps], before_s, many),
    )


class _Showing(Record):
    """Calls that show the round trip, and persistence: as of `Timeline`."""

    small: Flags
    """It shows the round trip."""
    small_enough: bool
    """There are any."""
    timed: Flags
    """It shows what persistence takes."""
    once: Flags
    """It was sent once."""
    own_small: Flags
    """It shows the round trip of its own client."""
    own_enough: Flags
    """By client, whether there is any."""
    own_timed: Flags
    """It shows what persistence takes for its own client."""


def _showing(
    facts: dict[str, NDArray[Any]],
    shows: Flags,
    pair: NDArray[Any],
    order: NDArray[np.int32],
    whose: NDArray[np.unsignedinteger[Any]],
    clients: int,
) -> _Showing:
    """Which calls in order show what they take.

    Args:
        facts: What the table calls says of each call.
        shows: Those that were answered, not postponed, and none of a few that stood still.
        pair: Their client and server, likewise.
        order: Their order.
        whose: Their client, in order.
        clients: How many there are.
    """
    once, small = facts.pop("once")[order], facts.pop("small")[order] & shows
    timed = (facts["operation"] >= 0)[order] & shows
    showing, (enough,) = of_pairs(undisturbed(small, once, least=1), pair)
    own_showing, own_enough = of_pairs(
        undisturbed(small, once, whose, least=1), pair, whose, clients
    )
    return _Showing(
        small=showing,
        small_enough=bool(enough),
        timed=undisturbed(timed, once),
        once=once,
        own_small=own_showing,
        own_enough=own_enough,
        own_timed=undisturbed(timed, once, whose),
    )


def _served(
    kind: NDArray[np.uint8], service: NDArray[np.int64], answered: Flags
) -> dict[str, Served]:
    """Add up the calls of each row but the stable ones."""
    counts, times = np.zeros(WAITING + 1, np.int64), np.zeros(WAITING + 1)
    for piece in pieces(len(service)):
        kinds = kind[piece][answered[piece]]
        counts += np.bincount(kinds, minlength=len(counts))
        times += np.bincount(kinds, service[piece][answered[piece]], minlength=len(counts))
    return {
        row: Served(int(counts[place]), float(times[place]) / NANOSECONDS)
        for place, row in enumerate(KINDS)
        if row not in ("stable", "unknown") and counts[place]
    }


def _locked(
    waited: Mapping[str, Stretches], begin: NDArray[np.int64], order: NDArray[np.int32],
    idle_s: Floats,
) -> BetweenCalls:  # fmt: skip
    """What of the gaps before calls in order, seconds, their clients waited for locks."""
    if not waited:
        return BetweenCalls()
    idle = np.flatnonzero(idle_s > 0)
    end = begin[order[idle]]
    gaps = end - np.rint(idle_s[idle] * NANOSECONDS).astype(np.int64), end
    first, last = common(gaps, of_any(waited.values()))
    pause = idle_s[idle[np.searchsorted(gaps[1], last)]] >= PAUSE_S
    length = (last - first) / NANOSECONDS
    return BetweenCalls(gaps_s=float(length[~pause].sum()), pauses_s=float(length[pause].sum()))


def _left_out(
    use: Use, begin: NDArray[np.int64], order: NDArray[np.int32], idle_s: Floats
) -> MountIdle:
    """Take from the gaps before calls in order, seconds, what of them nobody used a mount.

    How much that is. What lies before the first call of all, or behind the last, is in no gap.
    """
    before_s, after_s = 0.0, 0.0
    if not use.gaps:
        return MountIdle()
    found = np.searchsorted(begin[order], np.array([gap.next_ns for gap in use.gaps]))
    for gap, place in zip(use.gaps, found.tolist(), strict=True):
        if not 0 < place < len(order):
            continue
        whole_ns = round(float(idle_s[place]) * NANOSECONDS)
        taken_ns = min(gap.time_ns, whole_ns)
        idle_s[place] = (whole_ns - taken_ns) / NANOSECONDS
        if gap.before:
            before_s += taken_ns / NANOSECONDS
        else:
            after_s += taken_ns / NANOSECONDS
    return MountIdle(before_s, after_s)


def _unseen(
    trace: Trace, begin: NDArray[np.int64], order: NDArray[np.int32], idle_s: Floats
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Gaps before calls in order in which replies without their call came.

    The places of the calls, how many replies came before each, and what of the gap was before the
    last of them, seconds: the client may have waited for it.
    """
    asked = f"select time from notes where reason = '{ORPHAN_REPLY}' and time is not null"
    came = np.sort(trace.arrays(asked)["time"].astype(np.int64)) - (trace.meta.start_ns or 0)
    idle = np.flatnonzero(idle_s > 0) if len(came) else np.zeros(0, np.int64)
    end = begin[order[idle]]
    length = np.rint(idle_s[idle] * NANOSECONDS).astype(np.int64)
    first, last = np.searchsorted(came, end - length, "right"), np.searchsorted(came, end, "right")
    some = np.flatnonzero(last > first)
    before = came[last[some] - 1] - (end - length)[some]
    return idle[some], (last - first)[some].astype(np.float64), before / NANOSECONDS


def _pairs(trace: Trace, added_ns: Added) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Clients and servers: which each connection is between, and what is added to its calls, ns."""
    numbers, mounts = traffic.of_clients(trace).numbers, traffic.mounts(trace)
    # A client and a server may have several mounts: of several parts of a trace.
    different = sorted(set(mounts.values()))
    place = {pair: number for number, pair in enumerate(different)}
    known = np.array(sorted(mounts), np.int64)
    of_mount = np.array([place[mounts[mount]] for mount in known.tolist()], np.int64)
    pairs = np.zeros(
        int(numbers["connection"].max(initial=0)) + 1, np.min_scalar_type(len(different))
    )
    pairs[numbers["connection"]] = of_mount[np.searchsorted(known, numbers["mount"])]
    added = np.array([added_ns.get(pair, 0) for pair in different], np.int64)
    return pairs, added


_KNOWN = (
    f"(program in {NFS_PROGRAMS} and reply_time is not null "
    "and coalesce(stability, 'unknown') <> 'unknown')"
)
"""Whether an answered call tells if it was stable, in SQL."""


def _facts(trace: Trace) -> tuple[tuple[str, ...], Objects, dict[str, NDArray[Any]]]:
    """The stable operations, objects, and what the table calls says of each call, by number."""
    stable = "stability = 'stable' and not callback"
    named = trace.rows(f"select distinct op from calls where {stable} order by op")
    operations = tuple(str(op) for (op,) in named)
    # Written out: DuckDB takes far longer to hand over the rows of a query with parameters.
    rows = parts.by_call(
        trace,
        f"""
        select call, coalesce(file::integer, {NO_FILE}) as unit,
               program in {PROGRAMS} as program, program in {NFS_PROGRAMS} as counted,
               stability = 'unstable' and program in {NFS_PROGRAMS}
                   and {among("op", SMALL_OPERATIONS)} as small,
               (case when stability = 'stable' and reply_time is not null
                     then {position("op", operations)} else -1 end)::smallint as operation,
               {_KNOWN} as known,
               {_KNOWN} and stability <> 'stable' and {among("op", FROM_DISK)} as from_disk,
               connection, case when srt is null then -1 else greatest(srt, 0) end as srt,
               first_arrived as once,
               {TOLD_LATER} as refused,
               coalesce({among("status_name", PUT_OFF)}, false) as put_off
        from calls where {traffic.asked(trace)}
        """,
    )
    led = find(rows.pop("call"), referrals(trace))
    rows["refused"][led] = rows["put_off"][led] = False
    known = objects(trace, rows["unit"])
    rows["unit"] = known.identity[rows["unit"]]
    return operations, known, rows
