"""A database makes and removes a journal for each change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "journal_files.least", 10, "files",
    "journals of the same name, on average of the databases, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless they cost next to nothing."""
    for pair in material.journals:
        if pair.made < values[LEAST.name] * pair.databases:
            continue
        spared = 1 - pair.databases / pair.made
        claims = (Claim("stable", pair.time_s * spared), Claim("client", pair.pause_s * spared))
        severity = by_cost(material, claims, clients=(pair.client,))
        if severity == "note":
            continue
        yield Observed(
            severity=severity,
            at_most="problem",
            title="A database makes and removes a journal for each change",
            seen=f"{units.counted(pair.made, 'journal')} of "
            f"{units.counted(pair.databases, 'database')} were made and removed "
            f"({wording.places((pair.most,))}): {pair.calls / pair.made:.1f} stable calls for "
            f"each, {units.duration(pair.time_s / pair.made)} each.",
            why="SQLite makes a journal for each transaction, stores in it what it is about to "
            "change, and removes it when the database is changed. Each of these steps waits for "
            "the one before, and over NFS for stable storage. A statement without BEGIN is a "
            "transaction of its own.",
            advice=_ADVICE,
            calls=pair.calls,
            confidence="likely",
            data=units.counted(pair.made, "journal"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


KEEP_JOURNAL = Advice(
    "PRAGMA locking_mode=EXCLUSIVE keeps the journal from one transaction to the next.",
    "no other process can open the database meanwhile.",
)

_ADVICE = (
    Advice(
        "Put many changes into one transaction (BEGIN … COMMIT): it needs one journal for all.",
        "what was not committed is lost when the program fails.",
    ),
    KEEP_JOURNAL,
    Advice(
        "Keep databases of one machine on its own disk; one that several clients write belongs to "
        "a database server."
    ),
)

RULE = Rule(
    id="journal_files",
    title="Journals of a database, made and removed for each change",
    origin="practice: SQLite over NFS; SQLite, Temporary Files Used By SQLite",
    judge=judge,
    thresholds=(LEAST,),
)
