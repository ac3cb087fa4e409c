"""A few calls that stood still while all others like them were answered at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.stalled_calls import StalledCalls
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "stalled_calls.share", 0.01, "share", "of the time budget that they took together; below, "
    "nothing is said unless one of them took long", "default of this tool",
)  # fmt: skip
LONG = Threshold(
    "stalled_calls.long", 5.0, "s", "what one of them took that is told however small its share is",
    "default of this tool: users take it for a hang",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    whole_s = sum(material.budget_rows().values())
    for pair in material.stalled_calls:
        claims = by_row(pair.time_s)
        cost_s = sum(pair.time_s.values())
        if cost_s < values[SHARE.name] * whole_s and pair.longest_s < values[LONG.name]:
            continue
        yield Observed(
            severity=by_cost(material, claims),
            title=f"One call stood still for {units.duration(pair.longest_s)}"
            if pair.calls == 1
            else f"{units.count(pair.calls)} calls stood still, the longest for "
            f"{units.duration(pair.longest_s)}",
            seen=_seen(pair),
            why=_why(pair),
            advice=ADVICE,
            confidence="likely",
            data=units.counted(pair.asked, "call"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
            calls=pair.calls,
        )


def _seen(pair: StalledCalls) -> str:
    """Which they were, when, and what the others took."""
    text = (
        f"{pair.longest_op}{f' of {wording.places(pair.paths[:1])}' if pair.paths else ''}, sent "
        f"at {units.clock(pair.from_ns)} UTC, was answered after {units.duration(pair.longest_s)}; "
        f"in the median {pair.longest_op} took {units.duration(pair.usual_s)}."
    )
    if pair.calls > 1:
        text = (
            f"{units.counted(pair.calls, 'call')} ({wording.several(pair.operations)}) took "
            f"{units.duration(sum(pair.time_s.values()))} of the clock, at "
            f"{units.counted(pair.moments, 'moment')}. The longest: {text}"
        )
    if pair.others_s is not None:
        text += (
            f" None of the client's other calls took longer than {units.duration(pair.others_s)}."
        )
    return text


def _why(pair: StalledCalls) -> str:
    """What stood still: the server as a whole, or what these calls needed."""
    if pair.answered_meanwhile:
        return (
            f"The server answered {units.counted(pair.answered_meanwhile, 'other call')} "
            "meanwhile, so that neither it nor the path was cut off. What this call needed stood "
            "still: its file system or storage (a snapshot that froze it, a disk or path that "
            "failed and was tried again, a full journal), or a service that the server asks (DNS, "
            "LDAP, mountd)."
        )
    return (
        "No other call was answered meanwhile. The server stood still as a whole (its storage, its "
        "threads, a virtual machine that was paused or moved), or a service that it asks did "
        "(DNS, LDAP, mountd); or the path was cut beyond the capture point, though TCP sent "
        "nothing again here."
    )


ADVICE = (
    Advice(
        "Read the logs of the server and its storage of that moment (journalctl --since, dmesg -T; "
        "clocks may differ): disk errors and resets, failing paths (multipath), tasks blocked for "
        "more than 120 seconds; and what ran then: snapshots, backups, fsfreeze, the migration of "
        "a virtual machine."
    ),
    Advice(
        "If it comes again, record what the server's threads wait for while it lasts: "
        "cat /proc/PID/stack of the nfsd threads, iostat -x 1, and /proc/pressure/io."
    ),
)


RULE = Rule(
    id="stalled_calls",
    title="A few calls stood still while all others were answered at once",
    origin="practice: hangs that come and go",
    judge=judge,
    thresholds=(SHARE, LONG),
)
