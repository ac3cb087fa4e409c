"""Files that are read are asked about again, for their access times alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "access_times.share",
    0.1,
    "share",
    "calls that are such a GETATTR; fewer are told where they cost "
    "a second and a hundredth of the time",
    "default of this tool",
)
LEAST = Threshold(
    "access_times.least", 50, "calls",
    "GETATTRs for the access time of a file just read, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.access_times:
        asked = pair.asked
        claims = left_out(asked)
        few = asked.calls < values[SHARE.name] * pair.calls
        if asked.calls < values[LEAST.name] or (
            few and not takes_much(material, pair.client, claims)
        ):
            continue
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Files just read are asked about again, for their access times alone",
            seen=f"{units.count(asked.calls)} of {units.counted(pair.calls, 'call')} are GETATTRs "
            f"for the times of {units.counted(pair.files, 'file')} that the client had just read, "
            "and neither for change, size, mode nor owner.",
            why=_WHY,
            advice=_ADVICE,
            calls=asked.calls,
            confidence="likely",
            data=units.counted(pair.calls, "call"),
            frames=asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_WHY = (
    "Under a delegation nobody else can change a file, so that the client need not ask for "
    "its attributes; but each READ gives it a new access time at the server. A program that calls "
    "stat() or fstat() after it has read (git, Python's and Perl's modules, tar, rsync) then waits "
    "for a round trip, though hardly any looks at that time."
)

_ADVICE = (
    Advice(
        "Mount with noatime on the client (mount -o remount,noatime, or in fstab): it then gives "
        "programs the access time that it knows, and sends none of these calls.",
        "programs that go by access times (of mailboxes, cleaners of old files) see older ones.",
    ),
)

RULE = Rule(
    id="access_times",
    title="GETATTRs for the access times of files just read",
    origin="practice: git and Python on NFSv4 with read delegations; Linux fs/nfs/inode.c, "
    "nfs_getattr, which leaves access times out with noatime",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
