"""Programs lock and unlock files all the time, and each of it is a round trip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules.lock_contention import LOCAL
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.locks.lock_calls import LockCalls
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "lock_calls.share",
    0.1,
    "share",
    "calls that lock, unlock, test or free; fewer are told where they cost a second and a "
    "hundredth of the time",
    "default of this tool",
)
LEAST = Threshold(
    "lock_calls.least", 50, "calls",
    "that lock, unlock, test or free, below which nothing is reported", "default of this tool",
)  # fmt: skip

MOSTLY = 0.9
"""Share of the locks that are of SQLite's bytes from which on the program is named."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them."""
    for pair in material.lock_calls:
        locking = pair.locking
        claims = left_out(locking, pair.asking)
        few = locking.calls < values[SHARE.name] * pair.calls
        if locking.calls < values[LEAST.name] or (
            few and not takes_much(material, pair.client, claims)
        ):
            continue
        sqlite = pair.sqlite >= MOSTLY * pair.locks
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Programs lock and unlock files again and again",
            seen=_seen(pair, sqlite=sqlite),
            why="A lock that other clients are to see is the server's: to lock and to unlock is a "
            "round trip each, also where nobody else wants the file. Besides, a client that has "
            "got a lock asks whether the file changed meanwhile, and before it unlocks it waits "
            "until all that was written is stored.",
            advice=_advice(pair, sqlite=sqlite),
            calls=locking.calls + pair.asking.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=locking.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: LockCalls, *, sqlite: bool) -> str:
    told = (
        f"{units.count(pair.locking.calls)} of {units.counted(pair.calls, 'call')} lock, unlock or "
        f"test a range of a file, or free the state of a lock, and wait for nobody: "
        f"{units.counted(pair.locks, 'lock')} of {units.counted(pair.files, 'file')}"
    )
    if pair.places:
        told += ", most often " if pair.files > len(pair.places) else ": "
        told += wording.places(pair.places)
    told += ". The bytes are those that SQLite locks." if sqlite else "."
    if pair.asking.calls:
        told += f" Besides, {units.counted(pair.asking.calls, 'GETATTR')} asked about a file that "
        told += "the client had just locked."
    return told


def _advice(pair: LockCalls, *, sqlite: bool) -> tuple[Advice, ...]:
    """What helps by program, and by version: local locks are for NFSv3 alone."""
    local = (LOCAL,) if pair.nlm == pair.locking.calls else ()
    return (_SQLITE, _ELSEWHERE, *local) if sqlite else (_PROGRAM, *local)


_SQLITE = Advice(
    "Put several statements into one transaction: one that reads takes four of these calls, one "
    "that writes nine, and makes, stores and removes a journal besides. Have the program keep its "
    "lock: PRAGMA locking_mode=EXCLUSIVE (Subversion: exclusive-locking = true in the "
    "[working-copy] of its config).",
    "no other process can open the database meanwhile.",
)

_ELSEWHERE = Advice(
    "Keep databases of one machine on its own disk (the profile of a browser or mail program, a "
    "working copy); one that several clients write belongs to a database server."
)

_PROGRAM = Advice(
    "In the program: take one lock for a whole piece of work, not one for each record or file."
)

RULE = Rule(
    id="lock_calls",
    title="Locks are taken and given back again and again",
    origin="practice: SQLite and mail programs over NFS; RFC 8881 section 10.3.2",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
