"""Programs lock by files that they make and remove again."""

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
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "dot_locks.least", 20, "times",
    "that such names were made and removed, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless they cost next to nothing."""
    for pair in material.dot_locks:
        if pair.taken < values[LEAST.name]:
            continue
        claims = by_row(dict(pair.time_s) | {"client": pair.pause_s})
        severity = by_cost(material, claims, clients=(pair.client,))
        if severity == "note":
            continue
        took_s = sum(time_s for _, time_s in pair.time_s)
        yield Observed(
            severity=severity,
            at_most="problem",
            title="Programs lock by files that they make and remove again",
            seen=f"{units.counted(pair.taken, 'lock')} of {units.counted(pair.names, 'name')} were "
            f"made and removed ({wording.places((pair.most,))}): {pair.calls / pair.taken:.1f} "
            f"calls for each, {units.duration(took_s / pair.taken)} each.",
            why="Who makes a link, a directory or a file that must not be there yet has the lock, "
            "and removes it to give it back (dot locks of mail programs, lock directories of "
            "scripts). The server stores each of these steps before it answers, and the next "
            "waits for it. A lock of the file system is two calls, and nothing of it is stored.",
            advice=_ADVICE,
            calls=pair.calls,
            confidence="likely",
            data=units.counted(pair.taken, "lock"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_ADVICE = (
    Advice(
        "Have the programs use locks of the file system instead (fcntl; flock on Linux): Dovecot "
        "mbox_write_locks = fcntl, Postfix mailbox_delivery_lock = fcntl, procmail without the "
        "second colon of a recipe (:0).",
        "all programs must lock in the same way.",
    ),
    Advice(
        "If only programs of one client use these files, have them lock in a directory on its own "
        "disk (/run/lock).",
        "programs of other clients are not kept out.",
    ),
    Advice("In the program: take one lock for a whole piece of work, not one for each message."),
)

RULE = Rule(
    id="dot_locks",
    title="Lock files, made and removed for each lock",
    origin="practice: mail programs over NFS; open(2), O_EXCL and link(2)",
    judge=judge,
    thresholds=(LEAST,),
)
