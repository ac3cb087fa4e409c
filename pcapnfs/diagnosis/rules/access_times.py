"""Files that are read are asked about again, for their access times alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.access_times import MANY
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.access_times import AccessTimes
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
    "access_times.least", MANY, "calls",
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
            seen=_seen(pair),
            why=_WHY,
            advice=_ADVICE,
            calls=asked.calls,
            confidence="possible" if pair.whole > asked.calls / 2 else "likely",
            data=units.counted(pair.calls, "call"),
            frames=asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: AccessTimes) -> str:
    """Of the two kinds those that there are."""
    alone = pair.asked.calls - pair.whole
    kinds = [
        f"{units.count(number)} {text}"
        for number, text in (
            (alone, "ask for times, and neither for change, size, mode nor owner"),
            (
                pair.whole,
                "for what had come less than three seconds before, and had not changed",
            ),
        )
        if number
    ]
    return (
        f"{units.count(pair.asked.calls)} of {units.counted(pair.calls, 'call')} are GETATTRs "
        f"about {units.counted(pair.files, 'file')} that the client had just read: "
        f"{'; '.join(kinds)}."
    )


_WHY = (
    "A client that has a file's attributes need not ask for them again, for some seconds or under "
    "a delegation; but each READ gives the file a new access time at the server. A program that "
    "calls stat() or fstat() after it has read (git, Python's and Perl's modules, tar, rsync) then "
    "waits for a round trip, though hardly any looks at that time."
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
    origin="practice: git, Python and tar on NFSv4; Linux fs/nfs/inode.c, "
    "nfs_getattr, which leaves access times out with noatime",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
