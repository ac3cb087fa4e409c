"""What of the clock calls took that was neither a round trip nor persistence, all clients as one.

Takes each call's share of the clock, and what it stood still or waited for; gives sums. The mean
overlap of all calls does not tell it: while a server is not ready, one or two calls wait for it at
once, and the others come one by one; the bytes of many replies move at once. So what calls took of
the clock is added up by their shares, as the time budget does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pcapnfs.analyses.asking.arrays import find
from pcapnfs.analyses.asking.equal_shares import turns
from pcapnfs.analyses.times.outstanding import TRANSFER
from pcapnfs.analyses.wire.tcp_timeouts import CUT_S
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Shares
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.analyses.wire.slower_path import Slowed
    from pcapnfs.analyses.wire.tcp_stalls import Stalled

    Flags = NDArray[np.bool_]


class Clocked(Record):
    """Time in shares of the clock, seconds. Several clients are one here, as in the model."""

    transfer_s: float = 0.0
    """In which bytes were moving, or those that replies had to wait for: of a single client the
    row `transfer` of its time budget."""
    waiting_s: float = 0.0
    """Until the server was ready or reachable: of a single client its row `waiting`."""
    put_off_s: float = 0.0
    """The part of that for which the server put off calls on an object (DELAY, JUKEBOX)."""
    lost_s: float = 0.0
    """In which calls stood still until TCP sent again what was lost."""
    lost_transfer_s: float = 0.0
    """The part of it in which their own bytes were moving."""
    cut_s: float = 0.0
    """The part of it of calls that stood still for so long (`tcp_timeouts.CUT_S`) that the path was
    cut."""
    longer_s: float = 0.0
    """What calls took longer because the path was longer for a while."""
    full_s: float = 0.0
    """The part of `transfer_s` in which calls waited for replies on a link that these filled."""

    @property
    def moved_s(self) -> float:
        """In which bytes moved, without what lost segments held up."""
        return max(0.0, self.transfer_s - self.lost_transfer_s)

    @property
    def held_s(self) -> float:
        """In which the whole server was not ready or not reached."""
        return self.waiting_s - self.put_off_s


def clocked(
    calls: Outstanding,
    shares: Shares,
    *,
    chosen: Flags,
    refused: Flags,
    put_off: Flags,
    still: Stalled | None,
    slow: Slowed | None,
) -> Clocked:
    """Add up what the chosen calls took.

    Args:
        calls: What calls were outstanding for.
        shares: Shares of the chosen ones and of their parts, as one group; the others have none.
        chosen: Which these are.
        refused: Those that were nothing but waiting.
        put_off: Those of them that the server put off.
        still: Calls that stood still for what was lost; None where there are none.
        slow: Calls that were under way while the path was longer; None likewise.
    """
    moving = calls.part_kind == TRANSFER
    found = Clocked(
        transfer_s=_seconds(shares.parts[moving]),
        waiting_s=_seconds(shares.parts[~moving]) + _seconds(shares.whole[refused & chosen]),
        put_off_s=_seconds(shares.whole[put_off & chosen]),
    )
    if still is not None:
        places = find(calls.call, still.call)
        # It shared the clock with others that went on: no call stood for more than its share.
        lost = np.minimum(still.longer_ns, shares.whole[places])
        found = replace(
            found,
            lost_s=_seconds(lost),
            lost_transfer_s=_seconds(lost[still.transfer]),
            cut_s=_seconds(lost[still.longer_ns >= CUT_S * NANOSECONDS]),
        )
    if slow is not None:
        places = find(calls.call, slow.call)
        lasted = (calls.intervals.end - calls.intervals.begin)[places]
        longer = slow.inside_ns * turns(shares.whole[places], lasted) * chosen[places]
        found = replace(
            found, longer_s=_seconds(longer[~slow.moving]), full_s=_seconds(longer[slow.moving])
        )
    return found


def _seconds(times_ns: NDArray[Any]) -> float:
    return float(times_ns.sum()) / NANOSECONDS
