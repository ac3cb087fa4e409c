"""OPENs of NFSv4.0 go one after the other, whatever else runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import AS_IF_TWO, TWO, of_waiting
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.locks.open_order import OpenOrder
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "open_owner_serialised.least", 30, "calls", "OPENs of a user, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
OTHERS = Threshold(
    "open_owner_serialised.others", 1.5, "calls",
    "of this user under way at once, OPENs aside: without that, nothing is held up",
    "default of this tool",
)  # fmt: skip


WAITED = Threshold(
    "open_owner_serialised.waited", 0.125, "share",
    "of a user's CLOSEs that were sent as soon as an OPEN of another file was answered, 30 of them "
    "at least; from here on they waited for one another: half of all come after a CLOSE",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each user of a client whose OPENs never overlap though other calls do."""
    for owner in material.open_order:
        waits = _waits(owner, values)
        if not _in_order(owner, values) or not (
            waits or owner.others_at_once >= values[OTHERS.name]
        ):
            continue
        claims = _claims(owner) if waits else ()
        yield Observed(
            severity=by_cost(material, claims) if waits else "note",
            at_most="problem" if waits else None,
            title="OPENs and CLOSEs of NFSv4.0 wait for one another"
            if waits
            else "OPENs of NFSv4.0 wait for one another",
            seen=_seen(owner, waits=waits),
            why="NFSv4.0 numbers the opens and closes of an owner, one for each user of a client: "
            "the next waits for the answer to the one before, however many processes there are.",
            advice=(
                Advice(
                    "Mount with vers=4.1 or 4.2, which have no such order.",
                    "the server must speak them; state and locks are other ones.",
                ),
            ),
            confidence="likely",
            data=units.counted(owner.opens, "OPEN"),
            frames=owner.frames,
            claims=claims,
            about=(owner.client, owner.server),
        )


def waiting(material: Material, values: Values) -> Iterator[tuple[tuple[str, str], float]]:
    """The clients and servers at which programs wait so, and what goes in order, seconds.

    More of them do not help.
    """
    for owner in material.open_order:
        if _in_order(owner, values) and _waits(owner, values):
            yield (owner.client, owner.server), sum(seconds for _, seconds in owner.ordered_s)


def _in_order(owner: OpenOrder, values: Values) -> bool:
    """Whether there are enough OPENs, none of which overlaps another."""
    return not owner.overlapping and owner.opens >= values[LEAST.name]


def _waits(owner: OpenOrder, values: Values) -> bool:
    """Whether CLOSEs show that they had to wait for the OPENs of others."""
    return owner.handed_over >= max(values[LEAST.name], values[WAITED.name] * owner.closes)


def _seen(owner: OpenOrder, *, waits: bool) -> str:
    user = "" if owner.uid is None else f" of user {owner.uid}"
    none = f"None of {units.counted(owner.opens, 'OPEN')}{user} overlaps another"
    took = f" They took {units.duration(owner.time_s)}"
    if not waits:
        return (
            f"{none}, while {units.number(owner.others_at_once)} other calls are under way at "
            f"once.{took}."
        )
    return (
        f"{none}, and {units.count(owner.handed_over)} of {units.counted(owner.closes, 'CLOSE')} "
        "were sent at the moment at which an OPEN of another file was answered: each had waited "
        f"for that.{took}, all that go one after the other "
        f"{units.duration(sum(seconds for _, seconds in owner.ordered_s))}.{_as_if(owner)}"
    )


def _as_if(owner: OpenOrder) -> str:
    if _programs(owner) == TWO:
        return AS_IF_TWO
    return (
        f" Between the OPEN of a file and its CLOSE, {units.count(owner.between)} others were "
        "opened in the median: what it costs is told as if "
        f"{units.counted(_programs(owner), 'program')} waited."
    )


def _programs(owner: OpenOrder) -> int:
    """How many wait, as far as it shows: one that keeps files open makes one call at a time."""
    return max(TWO, min(1 + owner.between, 1 + owner.most_at_once))


def _claims(owner: OpenOrder) -> tuple[Claim, ...]:
    """What of the time of those that waited programs that need not would save.

    As many CLOSEs as came after OPENs came after CLOSEs of other programs, which shows of none.
    """
    part = min(1.0, 2 * owner.handed_over / owner.closes)
    return of_waiting(dict(owner.ordered_s), part, _programs(owner))


RULE = Rule(
    id="open_owner_serialised",
    title="OPENs serialised by their open-owner",
    origin="RFC 7530 section 9.1.7",
    judge=judge,
    thresholds=(LEAST, OTHERS, WAITED),
)
