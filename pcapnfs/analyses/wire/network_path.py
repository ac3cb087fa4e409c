"""The network's part of what a client waits for, as the model needs it.

Takes what TCP shows (round_trip.py); gives one round trip for the whole trace, that of the client
and server with most calls, one for each client, and by client and server what the client waited
beyond the capture. Where connections of a client and server have ways of their own (own_ways.py),
it is the mean over its calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pcapnfs.analyses.wire import own_ways
from pcapnfs.analyses.wire.own_ways import longer_ns
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.round_trip import RoundTrip
    from pcapnfs.trace import Trace

READS = own_ways.READS
"""The columns that this reads."""


class Way(Record):
    """What lies between a client and a server."""

    rtt_s: float | None
    """The network's part of a call's time as the client sees it, seconds; None when TCP tells
    nothing. At the client, its own half is not in it: that is over when the call is sent. Where
    connections have ways of their own, the mean."""
    floor_s: float | None
    """The same with the least that TCP shows of the way from the capture to the server, seconds;
    None likewise."""
    source: str
    """What it rests on: `handshake`, `acks`, `gaps` (an upper bound), or `none`."""
    most_s: float | None = None
    """What the network takes at most where TCP tells no part of it, seconds: what the quickest
    calls took, and the client's quickest next one. None where it does, and where nothing tells."""
    by_answers: bool = False
    """The part of it between the capture and the server is what answers took at least: an upper
    bound that the server has a part in."""
    undivided: bool = False
    """These answers may all have waited for the server's storage, and no other calls tell anything:
    which part of the bound is the network's and which the server's, nothing does. Known once the
    calls are (`forecasts.measuring`)."""


NOTHING = Way(rtt_s=None, floor_s=None, source="none")
"""What is known where TCP tells nothing."""


class NetworkPath(Record):
    """What lies between clients and servers, and where the capture was taken."""

    way: Way
    """That of the client and server with most calls of which anything is known."""
    ways: Mapping[str, Way]
    """By client, that to its server with most calls of which anything is known."""
    vantage: str
    """Where the capture was taken: `client`, `server`, `between` or `unknown`."""
    added_ns: Mapping[tuple[str, str], int]
    """By client and server, what the client waited longer than the capture shows, ns, where it is
    known where that was taken."""
    unseen_s: Mapping[str, float] = {}
    """By client, what its calls may have waited for the network besides, at most, where nothing
    tells where the capture was taken, together, seconds: a round trip to the client for each.
    Infinite where nothing bounds that; nobody is there who waited for none."""

    @property
    def rtt_s(self) -> float | None:
        """The network's part of a call's time, seconds; None when TCP tells nothing."""
        return self.way.rtt_s

    @property
    def floor_s(self) -> float | None:
        """The same with the least that TCP shows, seconds; None likewise."""
        return self.way.floor_s

    @property
    def source(self) -> str:
        """What it rests on."""
        return self.way.source


def network_path(trace: Trace) -> NetworkPath:
    """Say how long the network takes, and what the capture does not show of it."""
    trips, longer = round_trips(trace), longer_ns(trace)
    return NetworkPath(
        way=_way(trips.pairs, longer),
        ways={client: _way(pairs, longer) for client, pairs in _by_client(trips.pairs).items()},
        vantage=trips.vantage,
        added_ns={
            (pair.client, pair.server): round(pair.addition_s * NANOSECONDS)
            for pair in trips.pairs
            if _placed(pair) and pair.addition_s is not None
        },
        unseen_s=_unseen(trips.pairs),
    )


def _unseen(pairs: Iterable[RoundTrip]) -> dict[str, float]:
    """By client, what its calls may have waited for besides, seconds."""
    found: dict[str, float] = {}
    for pair in pairs:
        if pair.calls and not _placed(pair):
            each_s = pair.client_side.rtt_s
            most_s = math.inf if each_s is None else pair.calls * each_s
            found[pair.client] = found.get(pair.client, 0.0) + most_s
    return found


def _by_client(pairs: Iterable[RoundTrip]) -> dict[str, list[RoundTrip]]:
    """The pairs of each client, in their order."""
    found: dict[str, list[RoundTrip]] = {}
    for pair in pairs:
        found.setdefault(pair.client, []).append(pair)
    return found


def _way(pairs: Iterable[RoundTrip], longer: Mapping[tuple[str, str], int]) -> Way:
    """What is known of the first of them of which anything is; they come with most calls first."""
    pairs = tuple(pairs)
    known = ((pair, rtt_s) for pair in pairs if (rtt_s := _rtt(pair)) is not None)
    pair, rtt_s = next(known, (None, 0.0))
    if pair is None:
        bounds = (pair.path_s for pair in pairs if pair.path_s is not None)
        return replace(NOTHING, most_s=next(bounds, None))
    rtt_s += longer.get((pair.client, pair.server), 0) / NANOSECONDS
    return Way(
        rtt_s=rtt_s,
        floor_s=_floor(pair),
        source=_source(pair),
        by_answers=pair.server_side.source == "gaps",
    )


def _placed(pair: RoundTrip) -> bool:
    """It is known where the capture was taken.

    Else what looks like a round trip may be the time that the client took to send its next call.
    """
    return pair.vantage != "unknown"


def _addition_s(pair: RoundTrip) -> float:
    """What the client waited longer than the capture shows."""
    return (pair.addition_s or 0.0) if _placed(pair) else 0.0


def _rtt(pair: RoundTrip) -> float | None:
    """What the client waits for the network."""
    server = pair.server_side
    # Where TCP tells nothing, there is only what servers took to answer: no round trip. Nor is that
    # one where it varies, be it for the network or for the server.
    bare = server.source == "gaps" and not server.turns
    if server.rtt_s is None or bare or server.scatters:
        return _addition_s(pair) or None
    return _addition_s(pair) + server.rtt_s


def _floor(pair: RoundTrip) -> float | None:
    """The same with the least of what the capture itself shows; the rest is in calls in full."""
    least = pair.server_side.least_s
    return None if least is None else _addition_s(pair) + least


def _source(pair: RoundTrip) -> str:
    """What the half that counts most rests on."""
    if 0 < _addition_s(pair) >= (pair.server_side.rtt_s or 0.0):
        return pair.client_side.source
    return pair.server_side.source
