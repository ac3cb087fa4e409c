"""What the server delegates to its clients on one side, and not on the other.

Takes two sides; gives what differs, with what says so. Under a delegation a client need not ask
whether what it knows of a file still holds, nor tell the server of each OPEN and CLOSE (RFC 8881
section 10.4): the same work takes fewer calls, and others come side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.cause import Cause
from pcapnfs.diagnosis.wording import listed
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.comparison.delegated import Delegated
    from pcapnfs.comparison.side import Side

LEAST = 10
"""Calls on each side that a delegation could have come with, below which there is no habit."""

SELDOM, OFTEN = 0.05, 0.25
"""Share of them up to which a server grants none, and from which on it grants some. A server has
reasons of its own to grant none for a while: the way back to the client is not known to be open,
or the file is new, or was asked for by others."""

PURPOSES = {
    "reading": ("files opened to read", "OPENs to read"),
    "writing": ("files opened to write", "OPENs to write"),
    "directories": ("directories", "GET_DIR_DELEGATIONs"),
}
"""What is delegated, and the calls that it comes with."""

NONE = "none granted"
"""What is said of a side on which nothing is delegated …"""

LATER, NONE_SO_EARLY = ", later in the run", "none granted so early"
"""… and of both, where one is granted some only when it has run for longer than the other did."""

BY_LENGTH = (
    "a server that has just started grants none for a while, so that this may come from the length "
    "of the runs alone"
)
"""What is said of that. Linux grants none in the grace period after a start, its lock manager's
included."""


class _Changed(Record):
    """What one side alone is granted delegations for."""

    purpose: str
    """One of `PURPOSES`."""
    granting: Delegated
    """Its calls on the side that is granted some."""
    without: Delegated
    """Those on the other."""

    @property
    def at_equal_age(self) -> bool:
        """Whether the other side asked for long enough to be granted some as well.

        Calls are held against those of the same age, which is the time since the client's first
        call: up to the age of the last one without, the granting side must have got them as often
        as is asked of the whole; and enough without must be as old as the first that got one.
        """
        as_young = self.granting.between(0.0, self.without.last_s)
        as_old = self.without.between(self.granting.first_s or 0.0, self.without.last_s)
        return as_old.asked >= LEAST and as_young.granted >= OFTEN * max(1, as_young.asked)


def delegations(before: Side, after: Side) -> Iterator[Cause]:
    """For what delegations are granted, where one side has some that the other has not.

    Told of files opened to read, of those opened to write, and of directories, each where both
    sides tell it. Where one side was granted none while it was as young as the other, it is
    possible only: of two runs right after a restart the longer one alone may be granted some.
    """
    sides = before.habits.delegated, after.habits.delegated
    in_both: list[str] = []
    changed: dict[bool, list[_Changed]] = {True: [], False: []}
    for purpose in PURPOSES:
        first, second = (side.get(purpose) for side in sides)
        grants = _grants(first), _grants(second)
        if first is None or second is None or None in grants:
            continue
        if grants[0] != grants[1]:
            each = _Changed(purpose, *((first, second) if grants[0] else (second, first)))
            changed[each.at_equal_age].append(each)
        elif grants[0]:
            in_both.append(purpose)
    for certain, found in changed.items():
        if found:
            was, became = (_words(side, found, in_both, certain=certain) for side in sides)
            numbers = "; ".join(_numbers(each.purpose, *sides) for each in found)
            yield Cause(
                "delegations",
                was,
                became,
                "certain" if certain else "possible",
                numbers if certain else f"{numbers}; {_ages(found, sides[0])}",
            )


def _words(
    side: Mapping[str, Delegated], changed: list[_Changed], in_both: list[str], *, certain: bool
) -> str:
    """What a side is granted delegations for."""
    granted = {each.purpose for each in changed if side[each.purpose] is each.granting}
    if certain:
        granted.update(in_both)
    what = [words for purpose, (words, _) in PURPOSES.items() if purpose in granted]
    if not what:
        return NONE if certain else NONE_SO_EARLY
    return f"for {listed(what, len(what))}{'' if certain else LATER}"


def _numbers(purpose: str, before: Mapping[str, Delegated], after: Mapping[str, Delegated]) -> str:
    """How many calls got one on either side."""
    first, second = before[purpose], after[purpose]
    return (
        f"{units.count(first.granted)} of {units.count(first.asked)} {PURPOSES[purpose][1]} got "
        f"one before, {units.count(second.granted)} of {units.count(second.asked)} after"
    )


def _ages(changed: list[_Changed], before: Mapping[str, Delegated]) -> str:
    """Since when one side is granted some, and until when the other asked.

    Of a run that was over before the other one was granted any, that is why. Files opened to read
    and those opened to write are granted them from one time on, so that they are told together.
    """
    told = []
    for first in (True, False):
        here = [each for each in changed if (before[each.purpose] is each.granting) is first]
        if not here:
            continue
        mine, other = ("before", "after") if first else ("after", "before")
        first_s = min(each.granting.first_s or 0.0 for each in here)
        last_s = max(each.without.last_s for each in here)
        told.append(
            f"{mine}, the first came {units.duration(first_s)} after the client's first call; "
            f"{other}, the last was asked for {units.duration(last_s)} after it"
        )
    return f"{'; '.join(told)}: {BY_LENGTH}"


def _grants(delegated: Delegated | None) -> bool | None:
    """Whether they are granted; None where it is not told, or now and then."""
    if delegated is None or delegated.asked < LEAST:
        return None
    if delegated.granted <= SELDOM * delegated.asked:
        return False
    return True if delegated.granted >= OFTEN * delegated.asked else None
