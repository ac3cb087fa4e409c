"""One half of a round trip, between the capture point and an end: what TCP shows, what that tells.

Takes a connection's handshake and what its ACKs took, of all connections of a client and server;
gives the half, with what it rests on.

A half is the lower quartile of the handshakes, or of the ACKs that came alone and were not delayed,
whichever is less, unless ACKs and turns show that a single handshake was a lucky one. Where any of
the connections that were timed carried NFS, the handshakes of others, which were opened to ask the
portmapper, say nothing. ACKs that came with data took longer by what the end did meanwhile:
their 5th percentile is an upper bound. One or two handshakes may have been slow: of the server's
half they tell no more than the lower quartile of many answers. Where there is nothing else, the
median gap between a reply and the client's next call is one, too (docs/definitions.md), and what
the quickest calls took, unless small calls vary: then nothing tells the server's part from the
network's. Where the capture's clock was set, or times are damaged, what lay across that took no
time, so that the quickest tells nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.record import Record

Source = Literal["handshake", "acks", "gaps", "none"]
"""What a half of the round trip rests on. Gaps are an upper bound: an ACK, or a next message, that
came after the end had done something else."""

CLEARLY = 0.8
"""An upper bound replaces what handshakes and ACKs tell when it is less than this part of it: they
were then few, and late."""

SCATTERED, SCATTER_NS = 1.25, 1_000_000
"""Where the 5th percentile of the turns is so many times the quickest, and so much longer, the path
scatters: what few turns took is no bound of what it usually takes, but their lower quartile. Where
the turns replace anything on paths that do not, it is a quarter of a millisecond longer at most."""

FEW_HANDSHAKES, SEVERAL_ACKS = 2, 3
"""Handshakes up to which they may have met a short moment of a path that varies, and ACKs without
data from which on they are held against them …"""

TIMES_AS_LONG, LONGER_NS = 3, 1_000_000
"""… where these, without delayed ones, took so many times as long (lower quartile), and so much
longer. ACKs are late for an end that is busy as well, …"""

TURNS_AS_LONG = 2
"""… of which some turns are as quick as the handshake. That was a lucky one only where the 5th
percentile of the turns is so many times as long, too, …"""

VARIES = 2.5
"""… and where it was so many times the quickest answer itself: that an end is busy shows in what
its programs do, and hardly in how its kernel answers a handshake."""

MANY_ACKS = 10
"""A server's ACKs may be late for all that other clients ask, and its turns for what it works on;
but hardly as late as one another. So many ACKs without data tell that a handshake with it was a
lucky one, where they took `1 / CLEARLY` times as long, and `LONGER_NS` longer (lower quartile), and
the turns (5th percentile) as long as they, to a factor of `SCATTERED`. What took `DELAY_NS` longer
may have been delayed."""

MANY_ANSWERS = 30
"""Answers of the server from which on no more than their lower quartile is believed of one or two
handshakes, or of as few ACKs: each took a round trip and more. Not where the 5th percentile of them
shows a path that scatters: there their quartile is no usual round trip."""

FEW_ACKS = 2
"""So many ACKs without data tell no path that varies from one that does not: where there is no
handshake either, small calls are asked whether it may."""

DELAY_NS = 30_000_000
"""An ACK that came this much later than the quickest turn was delayed, as one that came so much
later than the quickest ACK (`DELAY_NS` in core/src/stream/timing.rs)."""


class Half(Record):
    """The round trip between the capture point and one end."""

    rtt_s: float | None
    """A usual round trip, seconds; None when nothing tells, as where the clocks of the two
    directions are apart."""
    source: Source
    """What it rests on; `gaps` is an upper bound."""
    least_s: float | None
    """The shortest time that TCP shows, seconds, by which the vantage point is told; of the
    server's half not more than `gap_s`. Where the capture's clock was set, or times are damaged,
    the usual one. None when TCP shows none."""
    handshakes: int
    """TCP handshakes that were timed."""
    handshake_s: float | None
    """Lower quartile of their times, of connections that carried NFS where any did, seconds; None
    without any."""
    acks: int
    """ACKs without data that were timed."""
    ack_s: float | None
    """Lower quartile of the times from data to ACK, without delayed ones, seconds; None without
    any. Of several connections, the median of theirs by number of ACKs."""
    turns: int
    """ACKs with data that were timed: the client's next call, or the server's reply."""
    turn_s: float | None
    """5th percentile of their times, seconds; None without any. Of several connections, the median
    of theirs by number of turns."""
    gaps: int
    """Client's half: calls that were sent when no other was under way, at most half a second after
    the last reply; looked for where there is neither handshake nor ACK. Server's half: calls with a
    reply."""
    gap_s: float | None
    """Client's half: median time from the reply to such a call, seconds. Server's half: 5th
    percentile of the service time. None without any."""
    scatters: bool = False
    """Of the server's half: small calls take now more, now less, and TCP does not tell whether that
    is the server or the network. `rtt_s` is then the lower quartile of the operation that takes
    least, an upper bound; nothing tells which part of it is the network."""

    @property
    def lucky(self) -> bool:
        """Whether the handshake met a short moment of a path that varies, so that ACKs tell it."""
        told = self.source == "acks" and self.handshake_s is not None and self.rtt_s is not None
        return told and (self.handshake_s or 0.0) < (self.rtt_s or 0.0)


class _Handshake(NamedTuple):
    """What one connection's handshake says."""

    took: int
    """Nanoseconds."""
    of_nfs: bool
    """The connection carried NFS."""
    lucky: bool
    """It seems to have met a short moment of a path that varies."""


class HalfTimes:
    """What the connections of one client and server show of one half."""

    def __init__(self, *, steady: bool, to_client: bool) -> None:
        self.steady = steady
        """No time is made shorter by a clock that was set."""
        self.to_client = to_client
        """It is the client's half."""
        self.handshakes: list[_Handshake] = []
        self.acks: list[tuple[int, int]] = []
        # Those of them that were not delayed.
        self.prompt: list[tuple[int, int]] = []
        self.turns: list[tuple[int, int]] = []
        self.least_turns: list[int] = []
        self.least: list[int] = []

    def add(self, handshake: int | None, values: Sequence[int | None], *, of_nfs: bool) -> None:
        """Take one connection.

        Args:
            handshake: What its handshake took, nanoseconds.
            values: Its columns from `…_acks` to `…_turn_rtt`.
            of_nfs: It carried NFS.
        """
        acks, ack_min, ack, turns, turn_min, turn = values
        if not self.steady:
            ack_min, turn_min = ack, turn
        if handshake is not None and handshake >= 0:
            is_lucky = _lucky if self.to_client else _overtook
            lucky = self.steady and is_lucky(handshake, values)
            self.handshakes.append(_Handshake(handshake, of_nfs, lucky))
            self.least.append(handshake)
        if ack is not None and ack_min is not None:
            self.acks.append((ack, integer(acks)))
            if not _delayed(ack_min, turn_min):
                self.prompt.append(self.acks[-1])
            self.least.append(ack_min)
        if turn is not None and turn_min is not None:
            self.turns.append((turn, integer(turns)))
            self.least_turns.append(turn_min)
            self.least.append(turn_min)

    @property
    def told(self) -> bool:
        """Whether there is a handshake or an ACK without data."""
        return bool(self.handshakes or self.acks)

    @property
    def shown(self) -> bool:
        """Whether there is a handshake, or more than a few ACKs without data."""
        return bool(self.handshakes) or sum(number for _, number in self.acks) > FEW_ACKS

    @property
    def _scattered(self) -> bool:
        """Whether the quickest turns are far from one another: then they are lucky ones."""
        turn = weighted_median(self.turns)
        return turn is not None and not _near(min(self.least_turns), turn)

    def half(
        self,
        gaps: int,
        gap: int | None,
        quickest: int | None = None,
        answer: int | None = None,
        varying: int | None = None,
    ) -> Half:
        """Decide what the half is.

        Args:
            gaps: Gaps, or answers.
            gap: What they usually took, nanoseconds.
            quickest: A time that a round trip can hardly exceed, likewise.
            answer: The lower quartile of the times to the other end's answer, likewise.
            varying: That of small calls where these vary and little else is known, likewise.
        """
        handshakes = [each for each in self.handshakes if each.of_nfs] or self.handshakes
        handshake = _lower_quartile([each.took for each in handshakes])
        acks = sum(number for _, number in self.acks)
        ack = weighted_median(self.acks)
        prompt = weighted_median(self.prompt)
        turn = weighted_median(self.turns)
        found: list[tuple[float, Source]] = []
        few = len(handshakes) <= FEW_HANDSHAKES
        measure = _lower_quartile([each.took for each in handshakes if not (few and each.lucky)])
        if measure is not None:
            found.append((measure, "handshake"))
        if prompt is not None:
            found.append((prompt, "acks"))
        rtt: float | None
        source: Source
        rtt, source = min(found, default=(None, "none"))
        bound = turn if self.told or gap is None else gap
        if rtt is not None and self._scattered:
            bound = answer
        if bound is not None and (rtt is None or bound < CLEARLY * rtt):
            rtt, source = bound, "gaps"
        weak = few if source == "handshake" else source == "acks" and acks <= FEW_ACKS
        if weak and self.steady and gaps >= MANY_ANSWERS and _near(quickest, answer):
            rtt = min(rtt or 0, answer or 0)
        if varying is not None:
            rtt, source = max(varying, rtt or 0), "gaps"
        least = min(self.least, default=None)
        if least is not None and quickest is not None:
            least = min(least, quickest)
        return Half(
            rtt_s=seconds(rtt),
            source=source,
            least_s=seconds(least),
            handshakes=len(self.handshakes),
            handshake_s=seconds(handshake),
            acks=acks,
            ack_s=seconds(ack),
            turns=sum(number for _, number in self.turns),
            turn_s=seconds(turn),
            gaps=gaps,
            gap_s=seconds(gap),
            scatters=varying is not None,
        )


def _lucky(handshake: int, values: Sequence[int | None]) -> bool:
    """Whether a handshake was quicker than ACKs and turns of its connection show the path to be.

    Args:
        handshake: What it took, nanoseconds.
        values: The connection's columns from `…_acks` to `…_turn_rtt`.
    """
    acks, ack_min, ack, _, turn_min, turn = values
    if ack is None or ack_min is None or turn is None or turn_min is None:
        return False
    return (
        integer(acks) >= SEVERAL_ACKS
        and not _delayed(ack_min, turn_min)
        and ack >= max(TIMES_AS_LONG * handshake, handshake + LONGER_NS)
        and turn >= TURNS_AS_LONG * handshake
        and handshake >= VARIES * min(ack_min, turn_min)
    )


def _overtook(handshake: int, values: Sequence[int | None]) -> bool:
    """The same of a server's, which answers handshakes and data alike."""
    acks, _, ack, _, _, turn = values
    if ack is None or turn is None or integer(acks) < MANY_ACKS:
        return False
    near, far = sorted((ack, turn))
    return (
        max(handshake / CLEARLY, handshake + LONGER_NS) <= ack < handshake + DELAY_NS
        and far <= SCATTERED * near
    )


def _delayed(ack_min: int, turn_min: int | None) -> bool:
    """Whether even the quickest ACK was delayed, as the quickest turn shows."""
    return turn_min is not None and ack_min >= turn_min + DELAY_NS


def _near(quickest: float | None, answer: float | None) -> bool:
    """Whether answers mostly take as long as the quickest: the path does not scatter."""
    if quickest is None or answer is None:
        return False
    return answer < SCATTERED * quickest or answer - quickest < SCATTER_NS


def _lower_quartile(values: Sequence[int]) -> int | None:
    return sorted(values)[(len(values) - 1) // 4] if values else None


def weighted_median(weighted: Iterable[tuple[float | None, int]]) -> float | None:
    """The value up to which half of the weight lies; None without any."""
    known = sorted((value, weight) for value, weight in weighted if value is not None)
    left = sum(weight for _, weight in known) / 2
    for value, weight in known:
        left -= weight
        if left <= 0:
            return value
    return None
