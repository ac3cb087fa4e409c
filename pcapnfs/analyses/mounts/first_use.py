"""When a mount was there and nobody used it: from mounting to first use, from last use to unmount.

Takes when a client's calls were outstanding; gives the gaps between the calls that mount and the
first that is for anything else, and those behind the last such call. Whoever mounts by hand types
the next command then, and whoever captures stops the capture: no program waits, and how long that
takes is no matter of the run. A program that thinks does so amid its calls, and its pauses stay.

- *Mounting* begins with a call that only a mount makes: MNT, FSINFO, a question for the root of a
  server (PUTROOTFH), a login. A capture that begins amid work has none, and so no such gap. It is
  over as soon as the root's attributes are known; a pause before that is the mount's own.
- *First use* is the first call behind a gap that does not mount, nor renews a lease; or before any
  gap the first that is neither that nor a question about directories, by which clients of NFSv4
  walk down to what they mount.
- *Last use* is the last call that does not unmount, renew a lease, or return what a client was
  given (DELEGRETURN).
- What the client is known to have waited for before a call (a connection, a lost segment, a longer
  path) is no part of the gap before it: a client that mounts with several connections (`nconnect`)
  opens one after the other, and asks for the root over each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns, units
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.arrays import by_group, find
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.stretches import common, of_any
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import times_untold as _times_untold
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.mounts.preliminaries import CONTEXT, FINDING, LOGIN
from pcapnfs.analyses.wire import handshakes as _handshakes
from pcapnfs.analyses.wire import slower_gaps as _slower_gaps
from pcapnfs.analyses.wire import tcp_stalls as _tcp_stalls
from pcapnfs.analyses.wire import unreached as _unreached
from pcapnfs.analyses.wire.handshakes import handshakes
from pcapnfs.analyses.wire.slower_gaps import Gaps
from pcapnfs.analyses.wire.slower_gaps import gaps as longer_gaps
from pcapnfs.analyses.wire.tcp_stalls import stalled
from pcapnfs.programs import MOUNT, NFS_PROGRAMS, PORTMAPPER
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Intervals
    from pcapnfs.analyses.asking.stretches import Stretches
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

    Times = NDArray[np.int64]
    Places = NDArray[np.int64]

LEAST_NS = 20_000_000
"""A gap that is shorter is the time that a client takes from one call to the next; to begin a
program takes longer."""

UNSEEN_TRIPS = 2
"""Before a connection of NFSv3 clients ask for the server's port, over another: round trips of
which a capture of the port of NFS knows nothing."""

NOTICED = 0.01
"""Of a run so much must be left out of it for that to be told."""

BEGINNING = ("MNT", "EXCHANGE_ID", "SETCLIENTID", "CREATE_SESSION")
"""Calls by which a mount begins: of it nothing is known yet …"""

ROOT = ("FSINFO",)
"""… and those by which it is done, as is a GETATTR with PUTROOTFH: clients send FSINFO once for
each mount (RFC 1813 section 3.3.19)."""

BESIDE = (
    "NULL", "PATHCONF", "SECINFO", "SECINFO_NO_NAME", "RPCSEC_GSS_DESTROY", "SEQUENCE", "RENEW",
    "DESTROY_SESSION", "DESTROY_CLIENTID", "BACKCHANNEL_CTL", *LOGIN, *CONTEXT, *FINDING, "UMNT",
    "UMNTALL", "EXPORT", "DUMP",
)  # fmt: skip
"""Calls for no file: they look for a service, mount, unmount, or renew a lease."""

ASKING = ("GETATTR", "FSSTAT", "STATFS")
"""Questions by which clients learn what they mount; as use they come behind a gap."""

WALKING = ("ACCESS", "LOOKUP")
"""The same of NFSv4, which has no MNT to find a directory by its path."""

RETURNING = ("DELEGRETURN", "RELEASE_LOCKOWNER")
"""Calls that unmounting makes of what it finds."""

ASKED_BESIDE = population.Calls(ops=(*BEGINNING, *ROOT, *BESIDE, *RETURNING))
"""Without a call of these …"""

ROOT_ASKED = population.Operations(ops=("PUTROOTFH",))
"""… or such an operation everything is use."""

MOST = 10_000
"""Calls of a client before its first use, or behind its last: who makes as many, a monitor, uses
the mount by them."""

_BEGINNING, _ROOT, _BESIDE, _ASKING, _RETURNING, _USING = range(6)
"""What a call is for."""

READS = columns.together(
    population.CALLS_READS,
    population.OPERATIONS_READS,
    traffic.READS,
    _handshakes.READS,
    _slower_gaps.READS,
    _tcp_stalls.STALLED_READS,
    _times_untold.READS,
    _trust.READS,
    _unreached.READS,
    columns.of(
        calls="call mount callback client program version op signature file call_first_time",
        files="file role",
    ),
)
"""The columns that this reads."""


class MountIdle(Record):
    """For how long nobody used what a client had mounted, seconds: in no run."""

    before_s: float = 0.0
    """Between mount and first use."""
    after_s: float = 0.0
    """Between last use and unmount, or the last call that renewed a lease."""

    @property
    def whole_s(self) -> float:
        """Both."""
        return self.before_s + self.after_s

    @property
    def told(self) -> tuple[str, ...]:
        """Each that there is, in words."""
        return tuple(f"{units.duration(time_s)} {when}" for time_s, when in self.parts if time_s)

    def noticed(self, run_s: float | None) -> tuple[str, ...]:
        """The same, if together they are much beside a run of so many seconds."""
        return self.told if self.whole_s > NOTICED * (run_s or 0.0) else ()

    @property
    def parts(self) -> tuple[tuple[float, str], ...]:
        """Each, and what it is called."""
        return (self.before_s, BEFORE), (self.after_s, AFTER)


BEFORE = "between mount and first use"
"""What the one is called …"""

AFTER = "between last use and unmount"
"""… and the other."""


class Gap(Record):
    """A gap in which nobody used a mount."""

    next_ns: int
    """When the call behind it began, ns since the capture's start."""
    time_ns: int
    """How long it was, without what the client is known to have waited for."""
    before: bool
    """It is before the first use."""


class Use(Record):
    """When a client used what it mounted: all the time but for some gaps."""

    gaps: tuple[Gap, ...] = ()
    """The gaps in which it did not, in order of time."""

    @property
    def idle(self) -> MountIdle:
        """The gaps, added up."""
        before, after = (
            sum(gap.time_ns for gap in self.gaps if gap.before == side) / NANOSECONDS
            for side in (True, False)
        )
        return MountIdle(before, after)


ALWAYS = Use()
"""Of a client that used it all the time."""


class Uses(Record):
    """The calls of each client before its first use and behind its last, in order of time."""

    calls: Outstanding
    """When calls were outstanding."""
    leading: Places = np.zeros(0, np.int64)
    """Where those up to the first use are, the first use included."""
    kind: NDArray[np.uint8] = np.zeros(0, np.uint8)
    """What each of these is for."""
    trailing: Places = np.zeros(0, np.int64)
    """Where those behind the last use are."""
    leading_of: Sequence[NDArray[np.int32]] = ()
    """Of each client, which of `leading` are its own; empty where nobody has any."""
    trailing_of: Sequence[NDArray[np.int32]] = ()
    """The same of `trailing`."""
    waited_ns: Mapping[int, int] = {}
    """By number of a call, what its client waited for before it, ns: a lost segment, or a path that
    was longer for a while."""
    unreached: Mapping[str, Stretches] = {}
    """By client, when it waited for connections, ns since the capture's start."""
    opening: Mapping[str, Stretches] = {}
    """By client, when it opened others, which came about at once."""

    def of_client(self, number: int, own: NDArray[np.signedinteger[Any]]) -> Use:
        """When a client used what it mounted.

        Args:
            number: Its place in `calls.clients`.
            own: Where its calls are.
        """
        if not self.leading_of:
            return ALWAYS
        leads = self.leading_of[number]
        return self._use(
            self.leading[leads],
            self.kind[leads],
            self.trailing[self.trailing_of[number]],
            own,
            *(of.get(self.calls.clients[number]) for of in (self.unreached, self.opening)),
        )

    def of_all(self) -> Use:
        """When any of the clients did, taken as one."""
        every = (of_any(of.values()) if of else None for of in (self.unreached, self.opening))
        return self._use(self.leading, self.kind, self.trailing, None, *every)

    def _use(
        self,
        leading: Places,
        kind: NDArray[np.uint8],
        trailing: Places,
        own: NDArray[np.signedinteger[Any]] | None,
        unreached: Stretches | None,
        opening: Stretches | None,
    ) -> Use:
        """When those did whose calls these are."""
        begin, end = self.calls.intervals.begin, self.calls.intervals.end

        def idle_ns(place: int, gap_ns: int) -> int:
            next_ns = int(begin[place])
            waited_ns = self.waited_ns.get(int(self.calls.call[place]), 0)
            opening_ns = _shared_ns(opening, next_ns - gap_ns, next_ns)
            waited_ns += opening_ns + _shared_ns(unreached, next_ns - gap_ns, next_ns)
            least_ns = LEAST_NS + UNSEEN_TRIPS * opening_ns
            return gap_ns - waited_ns if gap_ns - waited_ns >= least_ns else 0

        before = _before(leading, begin[leading], end[leading], kind, idle_ns)
        behind: list[tuple[int, int]] = []
        if len(trailing):
            last, reached = (_latest(times, trailing, own) for times in (begin, end))
            trailing = trailing[begin[trailing] > last]
            behind = _behind(trailing, begin[trailing], end[trailing], reached, idle_ns)
        gaps = [
            Gap(int(begin[place]), gap_ns, side)
            for side, found in ((True, before), (False, behind))
            for place, gap_ns in found
        ]
        return Use(tuple(gaps))


def uses(trace: Trace, calls: Outstanding) -> Uses:
    """Find the calls beside the use of mounts.

    None of them where the capture does not tell whether anything was under way between the calls
    that it has: clients then used what they mounted all the time.

    Args:
        trace: The trace.
        calls: When its calls were outstanding.
    """
    if calls.untold or trust(trace).lacks_much:
        return Uses(calls)
    rows = _beside_use(trace)
    place = find(calls.call, rows["call"])
    order = np.argsort(calls.intervals.begin[place], kind="stable")
    place, kind, leads = place[order], rows["kind"][order], rows["leads"][order]
    if not len(place):
        return Uses(calls)
    whose, groups = calls.intervals.group[place], calls.intervals.groups
    return Uses(
        calls=calls,
        leading=place[leads],
        kind=kind[leads],
        trailing=place[~leads],
        leading_of=by_group(whose[leads], groups),
        trailing_of=by_group(whose[~leads], groups),
        waited_ns=_waited_ns(trace, rows["call"]),
        unreached=_unreached.stretches(trace),
        opening=handshakes(trace, int(calls.intervals.begin[place].max())),
    )


@once
def _beside_use(trace: Trace) -> dict[str, NDArray[Any]]:
    """Each client's calls up to its first use, and behind its last: which, what for, which side."""
    if not ASKED_BESIDE.met(trace) and not ROOT_ASKED.met(trace):
        return {name: np.zeros(0, what) for name, what in _COLUMNS.items()}
    return trace.arrays(_BESIDE_USE.format(asked=traffic.asked(trace)))


def closed_up(
    intervals: Intervals, use: Use, own: NDArray[np.signedinteger[Any]] | None = None
) -> tuple[Times, Times]:
    """When calls began and ended, ns, as if there had been none of the gaps.

    Args:
        intervals: When calls were outstanding.
        use: The gaps.
        own: Where these calls are; None: all are meant.
    """
    begin, end = intervals.begin, intervals.end
    if own is not None:
        begin, end = begin[own], end[own]
    if not use.gaps:
        return begin, end
    # Once for all gaps: a client that only renews its lease makes one a minute.
    nexts = np.array([gap.next_ns for gap in use.gaps])
    taken = np.cumsum([0, *(gap.time_ns for gap in use.gaps)])
    left_out = taken[np.searchsorted(nexts, begin, "right")]
    return begin - left_out, end - left_out


def _before(
    leading: Places,
    begin: Times,
    end: Times,
    kind: NDArray[np.uint8],
    idle_ns: Callable[[int, int], int],
) -> list[tuple[int, int]]:
    """The gaps before the first use: the place of the call behind each, and how long it is, ns.

    Args:
        leading: Where the calls up to the first use of each client are, in order of time.
        begin: When they began.
        end: When they ended.
        kind: What they are for.
        idle_ns: What there is of a gap before such a place without what its client waited for; 0 of
            one that is too short.
    """
    found: list[tuple[int, int]] = []
    begun = mounted = False
    reached = 0
    for place, at, until, what in zip(
        leading.tolist(), begin.tolist(), end.tolist(), kind.tolist(), strict=True
    ):
        gap_ns = at - reached if mounted else 0
        if gap_ns >= LEAST_NS and (gap_ns := idle_ns(place, gap_ns)):
            found.append((place, gap_ns))
        if what in (_RETURNING, _USING) or (what == _ASKING and gap_ns >= LEAST_NS):
            return found
        if what in (_BEGINNING, _ROOT):
            begun, mounted = True, False
        mounted = mounted or what == _ROOT or (begun and what == _ASKING)
        reached = max(reached, until)
    return []  # Nobody ever used it.


def _behind(
    trailing: Places, begin: Times, end: Times, reached: int, idle_ns: Callable[[int, int], int]
) -> list[tuple[int, int]]:
    """The gaps behind the last use, likewise.

    Args:
        trailing: Where the calls behind it are, in order of time.
        begin: When they began.
        end: When they ended.
        reached: When the last of all others ended.
        idle_ns: As there.
    """
    found: list[tuple[int, int]] = []
    for place, at, until in zip(trailing.tolist(), begin.tolist(), end.tolist(), strict=True):
        gap_ns = at - reached
        if gap_ns >= LEAST_NS and (gap_ns := idle_ns(place, gap_ns)):
            found.append((place, gap_ns))
        reached = max(reached, until)
    return found


def _shared_ns(stretches: Stretches | None, begin: int, end: int) -> int:
    """How much of the time from begin to end is in some stretches, in order, ns."""
    if stretches is None:
        return 0
    begins, ends = common((np.array([begin]), np.array([end])), stretches)
    return int((ends - begins).sum())


def _latest(times: Times, beside: Places, own: NDArray[np.signedinteger[Any]] | None) -> int:
    """The latest of some times, or of all, but for those at these places; 0 without any."""
    if own is not None:
        return int(times[own[~np.isin(own, beside)]].max(initial=0))
    # Of all calls there may be millions.
    counted = np.ones(len(times), np.bool_)
    counted[beside] = False
    return int(times.max(initial=0, where=counted))


def _waited_ns(trace: Trace, calls: NDArray[Any]) -> dict[int, int]:
    """What clients waited for before some calls, by number, ns."""
    found: Counter[int] = Counter()
    for late in (stalled(trace), longer_gaps(trace)):
        if late is not None:
            waited_ns = late.path_ns if isinstance(late, Gaps) else late.late_ns
            theirs = np.isin(late.call, calls) & (waited_ns > 0)
            found.update(
                dict(zip(late.call[theirs].tolist(), waited_ns[theirs].tolist(), strict=True))
            )
    return found


_COLUMNS = {"call": "u8", "leads": "?", "kind": "u1"}
"""What `_BESIDE_USE` gives."""

PROGRAMS = (*NFS_PROGRAMS, MOUNT, PORTMAPPER)
"""Those that have such calls; who locks something uses it."""

_KIND = f"""
    case when program not in {PROGRAMS} or op is null then {_USING}
         when {among("op", BEGINNING)} then {_BEGINNING}
         when {among("op", ROOT)}
              or op = 'GETATTR' and contains(signature, 'PUTROOTFH') then {_ROOT}
         when {among("op", BESIDE)} then {_BESIDE}
         when {among("op", ASKING)} or version = 4 and {among("op", WALKING)} then {_ASKING}
         when {among("op", RETURNING)} then {_RETURNING}
         else {_USING} end
"""

_BESIDE_USE = f"""
    with asked as materialized (
        select call, client, file, call_first_time as begun, ({_KIND})::utinyint as kind
        from calls where call_first_time is not null and {{asked}}
    ),
    ends as (
        select client, min(begun) filter (kind in ({_RETURNING}, {_USING})) as first_use,
               max(begun) filter (kind not in ({_BESIDE}, {_RETURNING})) as last_use
        from asked group by client
    ),
    beside as (
        select call, client, file, kind, coalesce(begun <= first_use, true) as leads,
               row_number() over (partition by client, leads order by begun, call) as number
        from asked join ends using (client)
        where coalesce(begun <= first_use, true) or begun > last_use
        qualify number <= {MOST}
    )
    select call, leads,
           (case when kind = {_ASKING} and role = 'file' or leads and number = {MOST}
                 then {_USING} else kind end)::utinyint as kind
    from beside left join (select file, role from files) as files using (file)
"""
