"""What is to be done first, of all that was found; and whether programs failed.

Takes findings, gravest first; gives their places. What the screens call *To do first* is decided
here, so that scripts are told the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.severity import PROBLEM_SHARE
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.diagnosis.finding import Finding

WORTH_DOING = 0.05
"""Part of the time in which anything was done that must be saved for something to be done first:
changing a mount or a program, often with a risk, for less is not worth the while. A problem is
always worth it, and a warning that costs no time tells of something else than time. A note must
cost that of all the time."""

SEVERAL = 2.0
"""What costs so many times as much as what to do first is told beside it."""

AS_GRAVE = 0.5
"""Part of what is left to a finding on time in general that another problem must cost for its
advice to come first."""

OUTAGES = ("no_connection", "unanswered_calls")
"""Rules that tell of a client that nobody answers: its programs stand still."""

CLIENT = "client_bound"
"""The rule that tells of a client that mostly waits for nothing of NFS."""

SERIALISED = ("open_owner_serialised", "directory_serialised", "moves_serialised")
"""Rules of calls that wait for one another, however many programs there are."""

ROUND_TRIPS = "round_trip_bound"
"""The rule whose advice is to do more at once: in vain before those are mended."""

FAILING = ("no_space", "io_errors")
"""Rules of what a server refused for a fault or lack of its own, where that is a problem: a program
may have ended before its time, so that how long it took says little."""


class ToDo(Record):
    """What is to be done first, as places among the findings, from 0."""

    first: int | None = None
    """The finding whose first advice that is; None where none is worth it, or where it has no
    advice."""
    dearer: int | None = None
    """One that costs several times as much, and whose advice does not come first all the same: it
    takes something away, or is less sure. None where there is none."""
    little_to_gain: bool = False
    """There are warnings, but none that costs as much as a twentieth of the time."""


def to_do(findings: Sequence[Finding], whole_s: float) -> ToDo:
    """What to do first, and what costs far more.

    The second is a warning: to mend it takes something away, or there is another explanation. So it
    does not come first, but who looks for where the time goes must not miss it.

    Of a finding that costs hardly anything nothing is told: what is worth knowing need not be worth
    doing. Where none costs more, or what does is a note that speaks of time in general, and the
    client itself takes much of the time, that is where to look; nothing where all are such notes.

    Args:
        findings: The findings, gravest first.
        whole_s: The time of which savings are parts, seconds.
    """
    if not findings:
        return ToDo()
    first = _worthwhile(findings, whole_s)
    if first is None:
        return _little_to_gain(findings)
    if findings[first].severity == "note" and findings[first].general:
        client = _client(findings)
        first = first if client is None else client
    if not findings[first].advice:
        return ToDo()
    others = [place for place in range(len(findings)) if place != first]
    dearest = max(others, key=lambda place: findings[place].cost_s or 0.0, default=None)
    if dearest is not None and not _is_far_dearer(findings[dearest], findings[first]):
        dearest = None
    return ToDo(first=first, dearer=dearest)


def without_s(
    findings: Sequence[Finding], told: ToDo, clients: int, run_s: float | None
) -> float | None:
    """What the run would take without what the first finding costs, seconds.

    None of several clients, whose clocks costs are parts of; of what speaks of time in general,
    since forecasts do; and where nothing is to do first.

    Args:
        findings: The findings, gravest first.
        told: What is to do first.
        clients: The clients whose time costs are parts of.
        run_s: How long the run took, seconds; None where that is not known.
    """
    if told.first is None or told.little_to_gain or clients > 1 or run_s is None:
        return None
    first = findings[told.first]
    if first.general or first.saving_s is None or first.saving_s > run_s:
        return None  # What is more than the run took time before it, or after it.
    return run_s - first.saving_s


def tells_of_failure(rule: str, severity: str) -> bool:
    """Whether a finding of this rule says that programs may have ended before their time."""
    return rule in FAILING and severity == "problem"


def _worthwhile(findings: Sequence[Finding], whole_s: float) -> int | None:
    """What is to do first, if that saves enough; else the gravest that does, if it is no note."""
    graver = (
        place for place, found in enumerate(findings) if found.severity != "note" and found.advice
    )
    among = (_first(findings), *graver)
    return next((place for place in among if _is_worth(findings[place], whole_s)), None)


def _is_worth(found: Finding, whole_s: float) -> bool:
    """Whether mending it is worth the while.

    Of a note it is what it costs of the whole time: nobody need act on it.
    """
    if found.severity == "problem":
        return True
    if found.severity == "note":
        return (found.cost_share or 0.0) >= WORTH_DOING
    if found.saving_s is None:
        return True
    share = found.saving_s / whole_s if whole_s else 0.0
    return max(share, found.client_share or 0.0) >= WORTH_DOING


def _little_to_gain(findings: Sequence[Finding]) -> ToDo:
    """What to look at where no finding costs enough."""
    warned = any(found.severity != "note" for found in findings)
    return ToDo(first=_client(findings), little_to_gain=warned)


def _client(findings: Sequence[Finding]) -> int | None:
    """The finding on a client that mostly waits for nothing of NFS."""
    places = (place for place, found in enumerate(findings) if found.id == CLIENT and found.advice)
    return next(places, None)


def _first(findings: Sequence[Finding]) -> int:
    """The gravest, unless another finding says what it only sums up, or programs fail.

    They fail by problems that cost no time: who has no room to write is not helped by faster
    storage. So it is with one of several clients that is cut off, whatever slows down the others.
    The gravest only sums up where it speaks of time in general, others that are about the same
    client have claimed a part of what it costs, and one of them more than is left to it, or, if
    that is a problem as well, half as much: what is advised in general spares a part of the time,
    and what mends one cause spares all that it costs. A problem that keeps programs from doing more
    at once comes before the advice to do that, whatever it costs.
    """
    gravest, *_ = findings
    for place, found in enumerate(findings):
        if found.severity == "problem" and found.cost_s is None and found.advice:
            return place
    for place, found in enumerate(findings):
        outage = found.id in OUTAGES and found.client_share is not None
        if outage and found.severity == "problem" and found.advice:
            return place
    if not gravest.general or not gravest.partly_shared:
        return 0
    others = [
        (place, found)
        for place, found in enumerate(findings)
        if place and found.severity != "note" and found.advice and _share_a_client(found, gravest)
    ]
    causes = [each for each in others if each[1].severity == "problem" and not each[1].general]
    serialised = [place for place, found in causes if found.id in SERIALISED]
    if gravest.id == ROUND_TRIPS and serialised:
        return serialised[0]
    for among, share in ((causes, AS_GRAVE), (others, 1.0)):
        dearest = max(among, key=lambda each: each[1].cost_s or 0.0, default=None)
        if dearest and (dearest[1].cost_s or 0.0) > share * (gravest.cost_s or 0.0):
            return dearest[0]
    return 0


def _share_a_client(one: Finding, other: Finding) -> bool:
    """Whether both are about a client, as far as they say about which."""
    first, second = _clients(one), _clients(other)
    return not first or not second or bool(first & second)


def _clients(found: Finding) -> set[str]:
    """The clients that it is about; empty where it is about a server, or the whole capture."""
    abouts = [subject.about for subject in found.alike] or [found.about]
    return {about[0] for about in abouts if len(about) > 1}


def _is_far_dearer(found: Finding, first: Finding) -> bool:
    """Whether it is worth doing, and costs several times as much as what is to do first."""
    return (
        found.severity != "note"
        and bool(found.advice)
        and (found.cost_share or 0.0) >= PROBLEM_SHARE
        and (found.cost_s or 0.0) >= SEVERAL * (first.saving_s or 0.0)
    )
