"""Whether the server works on one call at a time on one side, and on several on the other.

Takes two sides; gives what differs, with what says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.servers.in_turn import OVERTOOK
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.changed_times import MANY, one_sided
from pcapnfs.comparison.matching import same_server
from pcapnfs.diagnosis.rules.server_overload import QUEUE_AT
from pcapnfs.diagnosis.rules.slow_service import ONE_BY_ONE
from pcapnfs.record import Record
from pcapnfs.text import sentences

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.servers.in_turn import InTurn
    from pcapnfs.comparison.side import Side
    from pcapnfs.diagnosis.finding import Finding

IN_TURN, AT_SAME_TIME = "works on one call at a time", "works on several at the same time"
"""How the server takes calls."""

AT_ONCE = 1.2
"""Calls under way on average, below which they hardly ever meet at the server."""

SLOW_S = 0.005
"""Median of the stable calls from which on others would have to wait for them in one queue."""

APART = 5
"""Times as long as small calls that median must be: then these did not wait for stable ones."""

NONE_OVERTOOK = 0.005
"""Share of the calls that came behind others up to which none overtakes them: with one thread, none
of 106 to 818 did in six captures, but two packets may change places on the way. Behind disks that
take requests as they come, a few that need no disk do (2 of 173)."""

ONE_THREAD = (
    "the threads of its NFS service (one works on one call at a time), or one disk that takes "
    "requests as they come"
)
"""What a server that works on one call at a time lacks."""

QUEUES = "server_overload"
"""The finding on a server at which small calls wait for others."""

WAIT, SPARE = (
    "small calls wait until it is done with others",
    "small calls need not wait for others",
)
"""What it says of a server, and what its absence does."""

SLOW = "slow_service"
"""The finding on a server that takes long where no stable storage is needed; there is none on READs
that wait for a link."""


class AnsweredInTurn(Record):
    """A server that answers calls in the order in which they come on one side alone."""

    slow: Side
    """The side on which it does."""
    one: InTurn
    """Its calls there."""
    several: InTurn
    """Those on the other side."""

    @property
    def overtaking(self) -> float:
        """Calls that would have overtaken others, if as many did as on the other side."""
        return self.one.behind * self.several.overtook / self.several.behind


def turns(before: Side, after: Side) -> AnsweredInTurn | None:
    """Whether calls overtake one another on one side, and on the other, which is slower, do not.

    Replies tell it, whatever the calls are about: those that come while others are under way, on
    other objects, are answered before these where the server works on several; where it has one
    thread, none is. Calls that come one after the other show neither. Those that wait for a full
    link or for lost segments are answered in turn for that, and so are those behind a long path,
    which is the greater part of what they take.
    """
    if any(cause.subject in ("path", "loss") for cause in one_sided(before, after)):
        return None
    for slow, fast in ((before, after), (after, before)):
        measured, network_s = slow.measured, _network_s(slow.measured)
        if network_s is None or measured.mostly_moving:
            continue
        for one, several in _same_servers(slow.in_turn, fast.in_turn):
            found = AnsweredInTurn(slow, one, several)
            if (
                one.median_s - network_s >= SLOW_S
                and one.median_s >= several.median_s
                and found.overtaking >= LEAST_CALLS
                and one.overtook <= NONE_OVERTOOK * one.behind
            ):
                return found
    return None


def _network_s(measured: Measurement) -> float | None:
    """What the network takes of each call at most, seconds; None where nothing tells."""
    told = measured.network_rtt_s, measured.network_most_s, measured.rtt_s
    return next((each for each in told if each is not None), None)


def _same_servers(
    first: tuple[InTurn, ...], second: tuple[InTurn, ...]
) -> Iterator[tuple[InTurn, InTurn]]:
    """The servers of both sides."""
    others = {each.server: each for each in second}
    for each in first:
        found = same_server(each.server, (one.server for one in first), others)
        if found is not None:
            yield each, others[found]


def in_turn(before: Side, after: Side) -> Iterator[Cause]:
    """Whether the server worked on one call at a time on one side, and side by side on the other.

    Calls that overtake one another on one side alone tell it, or the finding on one side and times
    on the other: a server that is fast keeps none waiting, however few threads it has; so stable
    calls must tell, which take long there while others do not.
    """
    if (found := turns(before, after)) is not None:
        first = found.slow is before
        overtook = units.count(found.one.overtook) if found.one.overtook else "none"
        yield Cause(
            "server_in_turn",
            IN_TURN if first else AT_SAME_TIME,
            AT_SAME_TIME if first else IN_TURN,
            "likely" if found.overtaking >= MANY else "possible",
            f"{'before' if first else 'after'}, {overtook} of "
            f"{units.counted(found.one.behind, 'call')} that came while one about something else "
            "was under way were answered before one that had come earlier; "
            f"{'after' if first else 'before'}, {units.count(found.several.overtook)} of "
            f"{units.count(found.several.behind)}: {ONE_THREAD}",
        )
        return
    for mine, other, first in ((before, after, True), (after, before, False)):
        told = next((found for found in mine.findings if one_by_one(found)), None)
        if told is None or any(one_by_one(found) for found in other.findings):
            continue
        measured = other.measured
        small_s, stable_s = measured.small_median_s, measured.stable_median_s
        if (
            small_s is None
            or stable_s is None
            or measured.stable_calls < LEAST_CALLS
            or measured.concurrency < AT_ONCE
            or stable_s < max(SLOW_S, APART * small_s)
        ):
            continue
        seen = sentences(told.evidence)[-1]
        yield Cause(
            "server_in_turn",
            IN_TURN if first else AT_SAME_TIME,
            AT_SAME_TIME if first else IN_TURN,
            "possible",
            f"{'before' if first else 'after'}, {seen[:1].lower()}{seen[1:]}; "
            f"{'after' if first else 'before'}, with {measured.concurrency:.2g} calls under way on "
            f"average, half of the small ones took {units.duration(small_s)} at most beside stable "
            f"ones of {units.duration(stable_s)}",
        )


def queues(before: Side, after: Side) -> Iterator[Cause]:
    """Whether small calls wait at the server for others on one side alone.

    With more threads than one some calls overtake others, and small ones wait all the same while
    all threads are taken. The other side must show that calls came while others were under way.
    """
    for mine, other, first in ((before, after, True), (after, before, False)):
        told = next((found for found in mine.findings if _queue(found)), None)
        if told is None or any(found.id == QUEUES for found in other.findings):
            continue
        (queued_at,) = told.about
        server = same_server(queued_at, mine.servers, other.servers)
        if server is None:
            continue
        passed = [
            each
            for each in other.in_turn
            if each.server == server
            and each.behind >= LEAST_CALLS
            and each.overtook > OVERTOOK * each.apart
        ]
        if not passed and (
            other.in_turn
            or other.measured.small_calls < LEAST_CALLS
            or other.measured.concurrency < AT_ONCE
        ):
            continue
        seen = sentences(told.evidence)[0]
        meanwhile = (
            f"{units.count(passed[0].overtook)} of {units.counted(passed[0].behind, 'call')} that "
            "came while one about something else was under way were answered before one that had "
            "come earlier"
            if passed
            else f"none were seen to, with {units.number(other.measured.concurrency)} calls under "
            "way on average"
        )
        yield Cause(
            "server_in_turn",
            WAIT if first else SPARE,
            SPARE if first else WAIT,
            "possible",
            f"{'before' if first else 'after'}, {seen[:1].lower()}{seen[1:]}; "
            f"{'after' if first else 'before'}, {meanwhile}: the threads of its NFS service, its "
            "processor, or other work that keeps them",
        )


def _queue(found: Finding) -> bool:
    """Whether a finding says that small calls wait at a server for others, and it matters."""
    return (
        found.id == QUEUES
        and found.title.startswith(QUEUE_AT)
        and bool(found.cost_s)
        and found.severity != "note"
    )


def one_by_one(found: Finding) -> bool:
    """Whether a finding says that the server works on one call at a time."""
    return found.id == SLOW and found.title.endswith(ONE_BY_ONE)
