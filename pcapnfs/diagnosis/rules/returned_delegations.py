"""New files come with delegations that are given back at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import NO_DELEGATIONS

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "returned_delegations.least", 30, "calls", "such DELEGRETURNs, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

SHARE = Threshold(
    "returned_delegations.share", 0.8, "share",
    "of all delegations granted; below it, the others may save more than these cost",
    "default of this tool",
)  # fmt: skip


_ADVICE = (
    Advice(
        "If this is what the server is mostly used for, switch delegations off "
        f"({NO_DELEGATIONS}).",
        "it holds for all clients and programs: those that open the same files again and again "
        "then ask the server each time.",
    ),
    Advice(
        "Let the program open new files for writing only: a Linux server has no read delegation to "
        "give then (rsync: --inplace).",
        "rsync --inplace shows files half-written, and leaves them so when it is interrupted.",
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server where nearly all are such."""
    for pair in material.returned_at_once:
        returned = pair.returned
        if (
            returned.calls < values[LEAST.name]
            or returned.calls < values[SHARE.name] * pair.granted
        ):
            continue
        claims = left_out(returned)
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Delegations of new files are given back at once",
            seen=f"Of {units.counted(pair.granted, 'delegation')} granted, "
            f"{units.count(returned.calls)} came with a new file and "
            f"{'was' if returned.calls == 1 else 'were'} given back at once, before a SETATTR: a "
            f"DELEGRETURN of {units.duration(returned.time_s / returned.calls)} each.",
            why="A program that opens a new file for reading too (mkstemp, as rsync does) gets a "
            "read delegation with it. Before the client sets the file's times, as it must after an "
            "exclusive create, or its mode, it gives the delegation back, and waits for the reply. "
            "Nothing was opened or read under it.",
            advice=_ADVICE,
            calls=returned.calls,
            confidence="certain",
            data=units.counted(pair.granted, "delegation"),
            frames=returned.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


RULE = Rule(
    id="returned_delegations",
    title="Delegations of new files, given back at once",
    origin="RFC 8881 sections 10.4 and 18.6; practice of Linux clients and servers",
    judge=judge,
    thresholds=(LEAST, SHARE),
)
