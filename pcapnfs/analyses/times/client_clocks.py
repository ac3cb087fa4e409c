"""Each client's own clock, and what tells its causes apart: for captures of several clients.

Takes when calls were outstanding, and the line of time of all calls; gives for each client its time
budget, and what its own calls show of round trip and persistence. Promises that the causes of a
client add up to its clock, and that each lies within the rows of its budget that it is taken from:
so a verdict on a client says of its time what the budget says of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import by_group, pieces
from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.analyses.mounts.first_use import MountIdle, closed_up
from pcapnfs.analyses.mounts.logins import Logins
from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.budget import ROWS, Booked, Budget, budgets
from pcapnfs.analyses.times.call_times import (
    BOUND,
    MEANS,
    KindOfStable,
    beyond_round_trips,
    beyond_usual,
    mostly_resent,
    persistence,
)
from pcapnfs.analyses.times.idle_time import IdleTime, added_up, divided
from pcapnfs.analyses.times.long_pauses import (
    LONG_PAUSE_S,
    PAUSE_S,
    long_enough,
    pauses,
)
from pcapnfs.analyses.times.outstanding import KINDS
from pcapnfs.analyses.times.shown import round_trip_of, shown
from pcapnfs.analyses.times.stable_calls import StableCalls, crowded, stable_calls
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.held_segments import AckWaits
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.network_path import NOTHING, Way
from pcapnfs.analyses.wire.tcp_stalls import Resent
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.mounts.first_use import Uses
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.analyses.times.timeline import Timeline

    Floats = NDArray[np.float64]

CLIENTS = 1000
"""Clients that have a clock of their own, those that waited longest. A capture may name as many
addresses as it has packets; each takes a tenth of a millisecond."""


class ClientClock(Record):
    """Where one client's clock went, and what its calls show."""

    client: str
    """Its address."""
    budget: Budget
    """Its time budget, over the capture's span."""
    waited_s: float
    """Time in which any of its calls was outstanding, seconds."""
    active_s: float
    """From the begin of its first call to the end of its last without `mount_idle`, seconds; what
    lies outside is time in which nobody knows whether the mount was in use."""
    means_s: tuple[float, ...]
    """For each of `KINDS`, what a call was outstanding on average, without transfer and waiting,
    seconds; 0 without calls."""
    calls: int
    """Its calls of NFS and NFSACL, answered or not."""
    lock_calls: int
    """Its calls of the lock manager (NLM), which are none of these."""
    stable_calls: int
    """Its stable calls."""
    timed_calls: int
    """Those of them that show what storage takes."""
    timed_once: int
    """Those of these that were sent once."""
    small_calls: int
    """Calls that show the round trip."""
    rtt_s: float | None
    """Round trip that it saw of a call that needs no storage, seconds; where nothing tells its own,
    that of all clients. None when nothing tells that either."""
    network_rtt_s: float | None
    """The network's part of it, seconds; None when TCP does not tell."""
    bounded: bool
    """The round trip is an upper bound, and so is that part."""
    undivided: bool
    """And what of it is the network's, and what the server's storage, nothing tells
    (`Way.undivided`)."""
    small_median_s: float | None
    """Median service time of the calls that show it, as the client saw it, seconds; None without
    any."""
    usual_s: float | None
    """The same, where the round trip is their mean; None where it is not."""
    stable_mean_s: float | None
    """Mean service time of the stable calls as the client saw it, seconds; None without any."""
    stable_median_s: float | None
    """Median of the same; None without any."""
    data_median_s: float | None
    """The same of those that store data (`STORE_DATA`); None with fewer than 30."""
    kinds: tuple[KindOfStable, ...]
    """Persistence by kind of stable call, longest sum first."""
    lost_s: Mapping[str, float]
    """By row of the budget, for how long calls stood still until TCP sent again what was lost,
    seconds."""
    longer_s: Mapping[str, float]
    """By row of the budget, what calls took longer because the path was longer for a while,
    seconds."""
    locked_s: float
    """The part of its own time in which it waited for locks, seconds."""
    path_idle_s: float
    """The part of its own time that the way to it was longer for a while, seconds."""
    unreached_s: float
    """The part of its own time in which it waited for a connection, seconds."""
    vain_s: float
    """The same after its last call, where it had none to the end, seconds."""
    stood_still: StoodStill
    """What a few of its calls stood still."""
    apart_s: float
    """For how long calls that mount and unmount were outstanding, added up, seconds; they are in
    its clock."""
    lacking: bool
    """The capture lacks so much that calls may have been under way where none is (trust)."""
    login_s: float
    """What calls that log in took longer than a round trip each, seconds: no work on files."""
    queue_s: float
    """What of the round trip a call waited until its server was done with others, mean, seconds."""
    long_pauses_s: float = 0.0
    """Its pauses of 30 s or more between calls, together, if what lies between them is work
    (`long_pauses`), seconds."""
    few_pauses_s: float = 0.0
    """Its pauses of a second or more that are shorter, together, if they are few, likewise."""
    network_most_s: float | None = None
    """The network's part of the round trip at most, seconds, where TCP tells none; None where it
    does, or nothing tells, or the round trip is such a bound itself."""
    unseen_s: float = 0.0
    """What its calls may have waited for the network besides, at most, since nothing tells where
    the capture was taken, seconds."""
    unanswered_last: bool = False
    """A call without a reply is the last of its calls that was outstanding."""
    mount_idle: MountIdle = MountIdle()
    """What lies between mount and first use, and last use and unmount: in its clock alone."""
    untold_pauses_s: float = 0.0
    """Its pauses of 1 to 30 s, where the capture does not tell the status of most of its calls,
    together, seconds."""
    small_resent: bool = False
    """The round trip is the time until calls were sent again (`call_times.small_resent`)."""
    again_s: Mapping[str, float] = {}
    """By row of the budget, what its calls took longer since they were sent again, where it is in
    no mean, seconds (`call_times.beyond_usual`)."""
    turns: float = 0.0
    """Its calls, each by its share of the time for which it was outstanding: 1 where it was alone,
    a half beside another."""
    stable_turns: float = 0.0
    """The same of stable ones."""
    loss_rates: tuple[LossRate, ...] = ()
    """Its transfers that lost segments hold down, that with most of the clock first."""
    full_windows: tuple[FullWindow, ...] = ()
    """Its transfers that a receiver's window holds down, that with most of the clock first."""
    ack_waits: AckWaits = AckWaits()
    """Its calls that were answered late since the server waited for ACKs."""
    arrival: Resent = "lost"
    """Whether what was sent again had arrived before (`tcp_stalls.arrival`)."""
    stable: StableCalls = StableCalls()
    """What its stable calls hold, and whether they waited for others."""

    @property
    def present_s(self) -> float:
        """The time in which it was active, seconds.

        From its first call to its last reply without long pauses, and what it asked for a
        connection in vain after that.
        """
        return self.active_s - self.away_s + self.idle.vain_s

    @property
    def away_s(self) -> float:
        """The long pauses in which it is not known to have waited for anything, seconds.

        0 where calls may have been under way that nobody saw.
        """
        return self._not_known(self.long_pauses_s, LONG_PAUSE_S)

    @property
    def rest_s(self) -> float:
        """The same of its shorter pauses, if they are few, seconds."""
        return self._not_known(self.few_pauses_s, PAUSE_S)

    def _not_known(self, pauses_s: float, least_s: float) -> float:
        """What of pauses of so many seconds or more it is not known to have waited in, seconds."""
        if self.lacking or self.budget.untold:
            return 0.0
        return long_enough(pauses_s - self.known_s, least_s)

    @property
    def known_s(self) -> float:
        """What of its own time it is known to have waited in for something, seconds."""
        idle = self.idle
        return idle.late_s + idle.path_s + idle.locks_s + idle.connecting_s

    @property
    def put_off_most_s(self) -> float:
        """What of its own time may be the server's, which put off calls that nobody can tell, s."""
        return max(0.0, self.untold_pauses_s - self.known_s)

    @property
    def round_trip_calls(self) -> int:
        """Calls that each take a round trip: those of NFS, NFSACL and the lock manager."""
        return self.calls + self.lock_calls

    @property
    def persist_s(self) -> float:
        """What a stable call took longer than a round trip, mean, seconds; 0 without any."""
        return max(0.0, (self.stable_mean_s or 0.0) - (self.rtt_s or 0.0))

    @property
    def resent(self) -> bool:
        """Whether most stable calls were sent again, so that their time is not the storage's."""
        return mostly_resent(self.timed_once, self.timed_calls)

    @property
    def told_network_s(self) -> float | None:
        """The network's part of its round trip, seconds; None also where that is a bound."""
        return None if self.bounded else self.network_rtt_s

    @property
    def few(self) -> int | None:
        """Its stable calls where they are too few for a mean; None where they are not."""
        told = persistence(self.stable_mean_s, self.timed_calls, self.rtt_s)
        return self.stable_calls if told is None and self.stable_calls else None

    def part(self, row: str, time_s: float) -> float:
        """What so much of each call's time comes to in a row of the budget, seconds.

        The row is divided as its calls' mean time is.

        Args:
            row: One of `KINDS`.
            time_s: What each call spends on it, seconds.
        """
        booked, mean = float(getattr(self.budget, f"{row}_s")), self.means_s[KINDS.index(row)]
        return booked * min(1.0, time_s / mean) if mean > 0 else 0.0

    def causes(self) -> dict[str, float]:
        """The clock by causes of a verdict, seconds.

        Transfer, waiting and client are rows of the budget, without what of them is loss. What of
        the last it waited for locks stands apart, what it waited for a connection is in waiting.
        The others are divided: a round trip of each call; of stable calls, what they take beyond
        it, is persistence; what calls took longer for a longer path is the path's; what they stood
        still is loss; what they took longer since they were sent again is waiting; of calls without
        a known outcome, nobody knows; the rest is the server's, with what a round trip waited
        there.
        """
        rtt = self.rtt_s or 0.0
        round_trips = sum(self.part(row, rtt - self.queue_s) for row in KINDS)
        persisted = self.part("stable", rtt + self.persist_s) - self.part("stable", rtt)
        unknown = self.budget.unknown_s - self.part("unknown", rtt)
        path = min(unknown, self.longer_s.get("unknown", 0.0))
        unknown -= path
        unsure = min(unknown, self.lost_of("unknown"))
        unknown -= unsure
        called = sum(float(getattr(self.budget, f"{row}_s")) for row in KINDS)
        left = max(0.0, called - round_trips - persisted - unknown - unsure - path)
        known = min(left, sum(self.longer_s.get(row, 0.0) for row in KINDS if row != "unknown"))
        left -= known
        lost = min(left, sum(self.lost_of(row) for row in KINDS if row != "unknown"))
        left -= lost
        again = beyond_round_trips(
            sum(self.again_s.values()), round_trips, resent=self.small_resent
        )
        again = min(left, again)
        moving, idle = self.lost_of("transfer"), self.idle
        return {
            "persistence": persisted,
            "round_trips": round_trips,
            "transfer": self.budget.transfer_s - moving,
            "waiting": self.budget.waiting_s + again + idle.unreached_s,
            "path": path + known + idle.path_s,
            "loss": lost + unsure + moving + idle.late_s,
            "server": left - again,
            "unknown": unknown,
            "locks": idle.locks_s,
            "client": idle.client_s,
        }

    @property
    def remote_s(self) -> float:
        """What its calls take beyond a round trip each that none of a local disk does, seconds.

        That is the transfer of their bytes, what was lost, what a longer path took, and for how
        long the server was not ready, not reached or did not answer.
        """
        causes = self.causes()
        moving_s = (
            causes["transfer"]
            + causes["loss"]
            - self.idle.late_s
            + causes["path"]
            - self.idle.path_s
        )
        return moving_s + causes["waiting"] - self.idle.unreached_s

    def served_s(self) -> dict[str, float]:
        """What calls that wait for no stable storage took beyond a round trip, by row, seconds."""
        rows = [row for row in KINDS if row not in ("stable", "unknown")]
        rtt = self.rtt_s or 0.0
        return {row: float(getattr(self.budget, f"{row}_s")) - self.part(row, rtt) for row in rows}

    @property
    def beside_s(self) -> float:
        """The part of its own time in which it waited for locks and connections, seconds."""
        return self.idle.locks_s + self.idle.unreached_s

    @property
    def idle(self) -> IdleTime:
        """The time in which it had no call under way."""
        return divided(
            self.budget.client_s,
            late_s=self.lost_of("client"),
            path_s=self.path_idle_s,
            locks_s=self.locked_s,
            connecting_s=self.unreached_s,
            vain_s=self.vain_s,
        )

    def lost_of(self, row: str) -> float:
        """For how long calls stood still for what was lost, of a row of the budget, seconds.

        Args:
            row: One of `budget.ROWS`.
        """
        return min(self.lost_s.get(row, 0.0), float(getattr(self.budget, f"{row}_s")))


class ByClient(Record):
    """What is known of clients besides their calls, by address; who is not there has none of it."""

    ways: Mapping[str, Way]
    """What TCP tells of its network."""
    unreached_s: Mapping[str, float]
    """What of its own time it waited for a connection, seconds."""
    vain_s: Mapping[str, float]
    """The same after its last call, where it had none to the end."""
    logins: Mapping[str, Logins]
    """Its calls that log in."""
    unseen_s: Mapping[str, float]
    """What its calls may have waited for the network besides, at most, seconds."""
    statuses_untold: frozenset[str]
    """Clients of most of whose answered calls the capture does not tell the status."""
    queued_s: Mapping[str, float]
    """What its small calls waited until a server was done with others, together, seconds."""
    ack_waits: Mapping[str, AckWaits]
    """Its calls that were answered late since the server waited for ACKs."""
    arrivals: Mapping[str, Resent]
    """Whether what was sent again was late, and not lost; of those with any."""
    more_operations: Mapping[str, int]
    """Stable operations of its stable calls beyond one each."""
    lost_s: Mapping[str, Mapping[str, float]] = {}
    """By row of the budget, for how long calls stood still for what was lost, seconds."""
    longer_s: Mapping[str, Mapping[str, float]] = {}
    """The same of what calls took longer because the path was longer for a while."""
    path_idle_s: Mapping[str, float] = {}
    """What the way to it was longer for a while, between its calls, seconds."""
    locked_s: Mapping[str, float] = {}
    """What of its own time it waited for locks, seconds."""
    stood_still: Mapping[str, StoodStill] = {}
    """What a few of its calls stood still."""
    loss_rates: Mapping[str, tuple[LossRate, ...]] = {}
    """Its transfers that lost segments hold down."""
    full_windows: Mapping[str, tuple[FullWindow, ...]] = {}
    """Its transfers that a receiver's window holds down."""
    again_s: Mapping[str, Mapping[str, float]] = {}
    """By row of the budget, what its calls took longer since they were sent again, seconds."""
    slow_storage: Mapping[str, SlowStorage] = {}
    """Its stable calls for which storage was slow."""

    def beside_s(self) -> Mapping[str, float]:
        """What of its own time each waited for locks and connections, seconds."""
        return added_up(self.locked_s, self.unreached_s, self.vain_s)


class ClientClocks(Record):
    """The clocks of several clients."""

    total: Budget
    """All of them added up."""
    each: tuple[ClientClock, ...]
    """The clock of each, who waited longest (for calls, locks and connections) first; the first
    thousand, without those that are told as one (`traffic.OTHERS`)."""
    waited_s: float
    """Time in which calls were outstanding, of all clients added up, seconds."""


def client_clocks(
    calls: Outstanding,
    line: Timeline,
    booked: Booked,
    known: ByClient,
    used: Uses,
    *,
    rtt_s: float | None,
    queue_s: float,
    lacking: bool,
    untimed: bool,
) -> ClientClocks:
    """The clock of each client.

    Args:
        calls: When calls were outstanding.
        line: The calls of all clients on one line of time.
        booked: The calls added up.
        known: What else is known of each client.
        used: When each used what it had mounted.
        rtt_s: The round trip that the calls of all clients show, seconds; None when nothing tells.
        queue_s: What of it a call waited until its server was done with others, seconds.
        lacking: The capture lacks so much that calls may have been under way where none is.
        untimed: It does not tell what calls took, and so no round trip.
    """
    total, own = budgets(calls, booked, top=CLIENTS, beside_s=known.beside_s())
    # Under TLS, time without any call that is seen is not the client's own.
    waited = booked.waited_ns.sum(axis=1) / NANOSECONDS
    number = {client: place for place, client in enumerate(calls.clients)}
    means, active = _means(calls), _active(calls)
    own_calls = by_group(calls.intervals.group, calls.intervals.groups)
    members = by_group(line.client, len(calls.clients))
    behind = line.behind
    # Of clients that call at the same time, one may always be first.
    waited_for_others = crowded(line.service_s[line.timed], behind[line.timed])
    found = []
    for budget in own:
        client = budget.client or ""
        if client == OTHERS:
            continue
        place = number[client]
        mine = members[place]
        use = used.of_client(place, own_calls[place])
        idle, paused = use.idle, pauses(*closed_up(calls.intervals, use, own_calls[place]))
        small, timed = mine[line.own_small[mine]], mine[line.own_timed[mine]]
        way = known.ways.get(client, NOTHING)
        stable, counted = int(line.stable[mine].sum()), int(line.counted[mine].sum())
        if untimed:
            rtt, source = None, "none"
        else:
            unmoved_s, enough = float(line.unmoved_s[place]), bool(line.own_enough[place])
            rtt, source, way = round_trip_of(line, mine, small, unmoved_s, way, enough=enough)
        queue = 0.0
        if rtt is None:
            rtt, queue = rtt_s, queue_s
        elif source in MEANS:
            queue = min(rtt, known.queued_s.get(client, 0.0) / len(small))
        told = shown(line, small, timed, rtt, source)
        found.append(
            ClientClock(
                client=client,
                budget=budget,
                waited_s=float(waited[place]),
                active_s=max(0.0, float(active[place]) / NANOSECONDS - idle.whole_s),
                mount_idle=idle,
                means_s=tuple((means[place] / NANOSECONDS).tolist()),
                calls=counted,
                lock_calls=len(mine) - counted,
                stable_calls=stable,
                timed_calls=len(timed),
                timed_once=told.timed_once,
                untold_pauses_s=paused.short_s if client in known.statuses_untold else 0.0,
                small_resent=told.small_resent,
                again_s=beyond_usual(known.again_s.get(client, {}), told.timed_once, len(timed)),
                small_calls=len(small),
                rtt_s=rtt,
                network_rtt_s=way.rtt_s,
                network_most_s=None if source == BOUND else way.most_s,
                bounded=source == BOUND,
                undivided=way.undivided,
                small_median_s=told.small_median_s,
                usual_s=told.small_median_s if source in MEANS else None,
                stable_mean_s=told.stable_mean_s,
                stable_median_s=told.stable_median_s,
                data_median_s=told.data_median_s,
                kinds=told.kinds,
                lost_s=known.lost_s.get(client, {}),
                longer_s=known.longer_s.get(client, {}),
                path_idle_s=known.path_idle_s.get(client, 0.0),
                locked_s=known.locked_s.get(client, 0.0),
                unreached_s=known.unreached_s.get(client, 0.0),
                vain_s=known.vain_s.get(client, 0.0),
                unseen_s=known.unseen_s.get(client, 0.0),
                unanswered_last=bool(line.unanswered_last[place]),
                stood_still=known.stood_still.get(client, StoodStill()),
                apart_s=float(line.apart_s[place]),
                lacking=lacking,
                login_s=known.logins.get(client, Logins()).beyond_s(rtt or 0.0),
                queue_s=queue,
                long_pauses_s=paused.long_s,
                few_pauses_s=paused.few_s,
                turns=float(booked.turns[place].sum()),
                stable_turns=float(booked.turns[place, ROWS.index("stable")]),
                loss_rates=known.loss_rates.get(client, ()),
                full_windows=known.full_windows.get(client, ()),
                ack_waits=known.ack_waits.get(client, AckWaits()),
                arrival=known.arrivals.get(client, "lost"),
                stable=stable_calls(
                    line.service_s[timed],
                    behind[timed],
                    line.operation[timed],
                    stable,
                    known.more_operations.get(client, 0),
                    told.storage,
                    operations=line.operations,
                    rtt_s=rtt,
                    small_s=told.small_median_s,
                    slow=known.slow_storage.get(client),
                    untold=waited_for_others,
                ),
            )
        )
    return ClientClocks(total, tuple(found), float(waited.sum()))


def _means(calls: Outstanding) -> Floats:
    """By client and kind, what a call was outstanding on average without its parts, ns."""
    intervals, width = calls.intervals, len(KINDS) + 2
    cells = intervals.groups * width
    count, length, inner = np.zeros(cells, np.int64), np.zeros(cells), np.zeros(cells)
    for piece in pieces(len(calls.kind)):
        cell = intervals.group[piece].astype(np.int64) * width + calls.kind[piece]
        count += np.bincount(cell, minlength=cells)
        np.add.at(length, cell, intervals.end[piece] - intervals.begin[piece])
    for piece in pieces(len(intervals.part_of)):
        of = intervals.part_of[piece]
        cell = intervals.group[of].astype(np.int64) * width + calls.kind[of]
        np.add.at(inner, cell, intervals.part_end[piece] - intervals.part_begin[piece])
    length -= inner
    means: Floats = np.maximum(length, 0.0) / np.maximum(count, 1)
    return means.reshape(-1, width)[:, : len(KINDS)]


def _active(calls: Outstanding) -> NDArray[np.int64]:
    """By client, from the begin of its first call to the end of its last, ns."""
    intervals = calls.intervals
    first = np.full(intervals.groups, calls.span_ns, np.int64)
    last = np.zeros(intervals.groups, np.int64)
    np.minimum.at(first, intervals.group, intervals.begin)
    np.maximum.at(last, intervals.group, intervals.end)
    active: NDArray[np.int64] = np.maximum(last - first, 0)
    return active
