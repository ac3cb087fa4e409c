"""Sums over calls that are under way at the same time, of arrays with an element for each.

Takes the calls' intervals (`Intervals`, in order of their numbers), and their order by the first
byte; gives sums by client and by what calls belong to. Captures hold millions of calls: arrays are
gone over in pieces, and changed in place where nobody needs them as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pcapnfs import walks
from pcapnfs.analyses.asking.arrays import pieces
from pcapnfs.analyses.asking.equal_shares import Intervals, turns
from pcapnfs.analyses.asking.objects import NO_FILE
from pcapnfs.analyses.times.outstanding import TRANSFER
from pcapnfs.record import replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


def lengths(intervals: Intervals, which: Flags) -> tuple[NDArray[np.int64], Floats]:
    """The places of some calls, and how long each was outstanding without its parts, seconds."""
    places = np.flatnonzero(which)
    length = (intervals.end - intervals.begin)[places].astype(np.float64)
    of = np.flatnonzero(which[intervals.part_of])
    inner = (intervals.part_end - intervals.part_begin)[of]
    np.subtract.at(length, np.searchsorted(places, intervals.part_of[of]), inner)
    return places, length / NANOSECONDS


def in_line(
    places: NDArray[np.int64], values: Floats, order: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Floats]:
    """The places of some calls in their order, and their values in it."""
    chosen = np.zeros(int(order.max(initial=-1)) + 1, np.bool_)
    chosen[places] = True
    found = np.flatnonzero(chosen[order])
    return found, values[np.searchsorted(places, order[found])]


def as_one_group(intervals: Intervals, chosen: Flags) -> Intervals:
    """The chosen intervals as one group."""
    # What is of no group shares nothing.
    return replace(intervals, group=np.where(chosen, np.int32(0), np.int32(-1)), groups=1)


def by_begin(intervals: Intervals, number: int) -> tuple[NDArray[np.int32], Floats, Flags, Flags]:
    """The order of so many calls; in it, the time before each without any, s, and who is alone.

    And which came while another was under way. Not one that came as all others had ended: by a
    clock that ticks, many come within the tick of the reply before.
    """
    order, before = np.zeros(number, np.int32), np.zeros(number, np.int64)
    walks.put_in_order((intervals.begin, intervals.end, intervals.group), order, before)
    alone = np.ones(number, np.bool_)
    np.greater(before[1:], 0, out=alone[1:])
    # Behind a gap, what was reached is the call's own end.
    alone[:-1] &= before[1:] >= 0
    behind = before < 0
    # In the place of what it is worked out from.
    idle_s = before.view(np.float64)
    for piece in pieces(number):
        idle_s[piece] = np.maximum(before[piece], 0) / NANOSECONDS
    return order, idle_s, alone, behind


def in_seconds(times_ns: NDArray[np.int64], order: NDArray[np.int32]) -> Floats:
    """The times of calls in order, seconds."""
    found = np.empty(len(order))
    for piece in pieces(len(order)):
        np.divide(times_ns[order[piece]], NANOSECONDS, out=found[piece])
    return found


def added(
    times_ns: NDArray[Any], order: NDArray[np.int32], unit: NDArray[np.int32], units: int
) -> tuple[float, Floats]:
    """The times of calls in order added up, of all and by unit, seconds."""
    found, whole = np.zeros(units), 0.0
    for piece in pieces(len(order)):
        times_s = times_ns[order[piece]] / NANOSECONDS
        np.add.at(found, unit[piece], times_s)
        whole += float(times_s.sum())
    return whole, found


def make_turns(share_ns: Floats, intervals: Intervals) -> None:
    """Divide each call's share by the time for which it was outstanding; 1 where that is none."""
    for piece in pieces(len(share_ns)):
        share_ns[piece] = turns(share_ns[piece], intervals.end[piece] - intervals.begin[piece])


def summed(
    values: NDArray[Any],
    which: Flags,
    order: NDArray[np.int32],
    unit: NDArray[np.int32],
    units: int,
) -> Floats:
    """Values of those of the calls in order that count, added up by unit."""
    found = np.zeros(units)
    for piece in pieces(len(order)):
        calls = order[piece]
        np.add.at(found, unit[piece], values[calls] * which[calls])
    return found


def as_they_come(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different ones of numbers from `NO_FILE` on as they first come.

    In the array, the place of each among them takes the number's place.
    """
    numbers -= NO_FILE
    first = np.full(int(numbers.max(initial=0)) + 1, -1, np.int32)
    # Of what is written to one place, the last stays.
    for piece in reversed(list(pieces(len(numbers)))):
        first[numbers[piece][::-1]] = np.arange(piece.start, piece.stop, dtype=np.int32)[::-1]
    met = np.flatnonzero(first >= 0).astype(np.int32)
    met = met[np.argsort(first[met])]
    place = first
    place[met] = np.arange(len(met), dtype=np.int32)
    for piece in pieces(len(numbers)):
        numbers[piece] = place[numbers[piece]]
    return met + np.int32(NO_FILE)


def parts_of(
    intervals: Intervals, part_kind: NDArray[np.uint8], refused: Flags, chosen: Flags
) -> tuple[float, float]:
    """What the chosen calls spent on transfer, and until the server was ready, ns."""
    theirs = chosen[intervals.part_of]
    durations = (intervals.part_end - intervals.part_begin)[theirs]
    transfer = part_kind[theirs] == TRANSFER
    waited = refused & chosen
    whole = (intervals.end[waited] - intervals.begin[waited]).sum()
    return float(durations[transfer].sum()), float(durations[~transfer].sum() + whole)


def any_last(intervals: Intervals, which: Flags, chosen: Flags) -> Flags:
    """By group, whether one of some of its chosen calls is outstanding when no other still is."""

    def last(calls: Flags) -> NDArray[np.int64]:
        ends = np.full(intervals.groups, -1, np.int64)
        np.maximum.at(ends, intervals.group[calls], intervals.end[calls])
        return ends

    found: Flags = last(which & chosen) > last(~which & chosen)
    return found


def whole(intervals: Intervals, which: Flags) -> float:
    """For how long some calls were outstanding without their parts, added up, ns."""
    of = which[intervals.part_of]
    inner = (intervals.part_end - intervals.part_begin)[of].sum()
    return float((intervals.end - intervals.begin)[which].sum() - inner)


def whole_by_client(intervals: Intervals, which: Flags) -> Floats:
    """The same of each client's, ns."""
    found = np.zeros(intervals.groups)
    for piece in pieces(len(which)):
        lasted = (intervals.end[piece] - intervals.begin[piece]) * which[piece]
        found += np.bincount(intervals.group[piece], lasted, intervals.groups)
    for piece in pieces(len(intervals.part_of)):
        of = intervals.part_of[piece]
        inner = (intervals.part_end[piece] - intervals.part_begin[piece]) * which[of]
        found -= np.bincount(intervals.group[of], inner, intervals.groups)
    return found
