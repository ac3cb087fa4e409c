"""The calls of one client in order, and what of them falls between two instants.

Takes when calls were outstanding; gives the same of one client and one stretch of time, without a
look at the calls of others or of other times: a capture may have thousands of clients, each with
thousands of phases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import by_group
from pcapnfs.analyses.asking.equal_shares import Intervals
from pcapnfs.analyses.times.outstanding import Outstanding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int32]
    Times = NDArray[np.int64]


class Clients:
    """The calls of all clients, by client."""

    def __init__(self, calls: Outstanding) -> None:
        """Divide the calls."""
        intervals = calls.intervals
        self.calls = calls
        """When they were outstanding."""
        # Parts by their calls: those of some calls are then side by side.
        self.parts: Places = np.argsort(intervals.part_of, kind="stable").astype(np.int32)
        """The places of parts, in order of the calls that they are of."""
        self.owners: Places = intervals.part_of[self.parts]
        """The calls of these, as places."""
        self._places = by_group(intervals.group, intervals.groups)

    def client(self, number: int) -> Client:
        """The calls of one client, by its place in `Outstanding.clients`."""
        return Client(self, number, self._places[number])


class Client:
    """The calls of one client, in order of their begin."""

    def __init__(self, clients: Clients, number: int, places: Places) -> None:
        """Put calls in order.

        Args:
            clients: Those of all clients.
            number: The client's place in `Outstanding.clients`.
            places: Where its calls are.
        """
        intervals = clients.calls.intervals
        self._clients = clients
        self._number = number
        self.address = clients.calls.clients[number]
        """The client's address."""
        self.places = places[np.argsort(intervals.begin[places], kind="stable")]
        """Where its calls are, those first that began first."""
        self.begin = intervals.begin[self.places]
        """When each of these began, ns since the capture's start."""
        self.reached: Times = np.maximum.accumulate(intervals.end[self.places])
        """When all up to each had ended, likewise."""

    def within(self, begin_ns: int, end_ns: int) -> Outstanding:
        """What was outstanding from one instant to another, which becomes the span.

        A call that began earlier, or ended later, is in it with what falls in between: at each
        instant as many are outstanding as before.
        """
        calls = self._clients.calls
        intervals = calls.intervals
        # All before the first had ended; all from the last on begin later.
        first = int(np.searchsorted(self.reached, begin_ns))
        last = int(np.searchsorted(self.begin, end_ns))
        some = np.sort(self.places[first:last])
        some = some[intervals.end[some] >= begin_ns]
        part, owner = self._parts(some)
        part_begin = np.maximum(intervals.part_begin[part], begin_ns)
        part_end = np.minimum(intervals.part_end[part], end_ns)
        kept = part_begin < part_end
        return Outstanding(
            span_ns=end_ns - begin_ns,
            clients=(self.address,),
            call=calls.call[some],
            kind=calls.kind[some],
            intervals=Intervals(
                begin=np.maximum(intervals.begin[some], begin_ns) - begin_ns,
                end=np.minimum(intervals.end[some], end_ns) - begin_ns,
                group=np.zeros(len(some), np.int32),
                groups=1,
                part_of=owner[kept],
                part_begin=part_begin[kept] - begin_ns,
                part_end=part_end[kept] - begin_ns,
            ),
            part_kind=calls.part_kind[part][kept],
            added_ns=calls.added_ns[self._number : self._number + 1],
            placed_share=calls.placed_share[self._number : self._number + 1],
            sealed=calls.sealed[self._number : self._number + 1],
            untold=calls.untold,
        )

    def _parts(self, some: Places) -> tuple[Places, Places]:
        """The places of the parts of some calls, in order; of each, its call among these."""
        owners = self._clients.owners
        first = np.searchsorted(owners, some)
        number = np.searchsorted(owners, some, side="right") - first
        ends = np.cumsum(number)
        which = np.repeat(first - (ends - number), number) + np.arange(ends[-1] if len(ends) else 0)
        part = self._clients.parts[which]
        order = np.argsort(part)
        return part[order], np.repeat(np.arange(len(some), dtype=np.int32), number)[order]
