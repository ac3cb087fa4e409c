"""Owner, mode and times of new files are set with a call each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.attribute_calls import AttributeCalls
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "attributes_apart.least", 30, "calls", "such SETATTRs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

_ADVICE = (
    Advice(
        "If owners, modes and times need not be kept, have the program leave them: tar -x with "
        "--no-same-owner, --no-same-permissions and -m (for root the first two are not the "
        "default), cp without -p and -a, rsync with --no-o --no-g --no-p --no-t in place of what "
        "-a brings.",
        "files then belong to who makes them, with modes by umask and the time of this run: what "
        "goes by times (make, backup, the next rsync) takes them for changed.",
    ),
    Advice(
        "If they must be kept, unpack or copy where the disks are (tar or rsync over ssh, on the "
        "server), or keep many small files as one archive or image."
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless they cost next to nothing."""
    for pair in material.attribute_calls:
        if pair.calls.calls < values[LEAST.name]:
            continue
        claims = left_out(pair.calls, row="stable")
        severity = by_cost(material, claims, sure=False)
        if severity == "note":
            continue
        yield Observed(
            severity=severity,
            at_most="warning",
            title="Attributes of new files are set one by one",
            seen=_seen(pair),
            why="A program that unpacks or copies sets the times, the owner and the mode of each "
            "file with a system call of its own. Each of these is a SETATTR, which waits for "
            "stable storage as the create did.",
            advice=_ADVICE,
            calls=pair.calls.calls,
            confidence="certain",
            data=units.counted(pair.calls.calls, "SETATTR"),
            frames=pair.calls.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: AttributeCalls) -> str:
    kinds = {"times": pair.times, "owner or group": pair.owners, "mode": pair.modes}
    told = [f"{what} in {units.count(calls)}" for what, calls in kinds.items() if calls]
    return (
        f"{units.counted(pair.calls.calls, 'SETATTR')} on {units.count(pair.files)} of "
        f"{units.counted(pair.made, 'new file')}, beside what their creates need: "
        f"{pair.calls.calls / pair.files:.1f} for each, "
        f"{units.duration(pair.calls.time_s / pair.calls.calls)} each"
        f"{f' (they set {wording.listed(told, len(told))})' if told else ''}."
    )


RULE = Rule(
    id="attributes_apart",
    title="Owner, mode and times of new files, set with a call each",
    origin="practice: tar -x and cp -a over NFS; RFC 1813 section 3.3.2, RFC 8881 section 18.30",
    judge=judge,
    thresholds=(LEAST,),
)
