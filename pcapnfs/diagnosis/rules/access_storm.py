"""The client asks again and again what a user may do, and the answer is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.repeated_access import SOON_S
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "access_storm.share", 0.2, "share", "calls that are such an ACCESS", "default of this tool"
)
LEAST = Threshold(
    "access_storm.least", 50, "calls",
    "ACCESSes that the one before had answered, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.repeated_access:
        repeated = pair.repeated
        if repeated.calls < values[LEAST.name] or repeated.calls < values[SHARE.name] * pair.calls:
            continue
        claims = left_out(repeated)
        soon = pair.soon > repeated.calls / 2
        doubted = pair.untrusted > repeated.calls / 2
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="The client asks for the same access rights again and again",
            seen=f"{units.count(pair.accesses)} of {units.counted(pair.calls, 'call')} are "
            f"ACCESS, and {units.count(repeated.calls)} gave the same user the same rights to the "
            f"same object as the one before: {units.counted(pair.objects, 'object')}, most often "
            f"{wording.places(pair.places)}."
            + (
                f" {units.count(pair.soon)} of these came less than {SOON_S} s after that one: "
                "no timeout was over."
                if soon
                else ""
            )
            + (
                f" Before {units.count(pair.untrusted)} of these the client had changed the "
                "directory itself, and could not trust what the server told of that change "
                "(change_info4: not atomic, or no value that comes with the attributes)."
                if doubted
                else ""
            ),
            why=_DOUBTED
            if doubted
            else "A client remembers what a user may do until the object's attributes change or "
            "are no longer kept. A directory in which files come and go changes all the time, so "
            "that each walk through it asks again.",
            advice=(_VENDOR, _PROGRAM)
            if doubted
            else (_PROGRAM, _UNLESS_SHORT)
            if soon
            else (_KEEP, _PROGRAM),
            calls=repeated.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=repeated.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_DOUBTED = (
    "A client remembers what a user may do until the object's attributes change. Where it changes "
    "a directory itself, the server tells from which state to which it went (change_info4, RFC "
    "8881 section 3.3.8): if the client knew the first, nobody else was there, and what it knows "
    "stays true. This server does not tell that so that a client may believe it: each file that "
    "the client makes, renames or removes costs it what it knew of the directory."
)

_VENDOR = Advice(
    "Show the server's vendor the example frames, and the changes before them: change_info4 should "
    "be atomic, and hold the values that the change attribute has before and after. Timeouts "
    "(actimeo) are not why."
)

_KEEP = Advice(
    "Keep attributes for longer, if they expire in between: no noac, no small actimeo.",
    "what other clients change is seen up to 60 s later.",
)

_UNLESS_SHORT = Advice(
    "Longer timeouts (actimeo) help only where nfsstat -m on the client shows noac, or an actimeo "
    "below the default: mount without it there.",
    "what other clients change is seen up to 60 s later.",
)

_PROGRAM = Advice(
    "In the program: make and remove files in a directory of their own (best a local one), not in "
    "one that all paths go through; keep files open, or open them relative to an open directory."
)

RULE = Rule(
    id="access_storm",
    title="The same access rights are asked for again and again",
    origin="practice: ACCESS storms (nfsstat); RFC 1813 section 3.3.4",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
