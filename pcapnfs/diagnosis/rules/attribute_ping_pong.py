"""Files that clients change in turn, each invalidating what the others have cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.passed_on import one_of
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

TURNS = Threshold(
    "attribute_ping_pong.turns", 3, "turns",
    "of one file: changed by a client and next used by another", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server."""
    for shared in material.shared_files:
        if shared.most_turns < values[TURNS.name]:
            continue
        if all(one_of(material.passed_on, file.clients) for file in shared.shown):
            continue
        claims = by_row(shared.time_s)
        # Of several servers it is not told which data was whose.
        reread = material.cache.bytes_reread if len(material.shared_files) == 1 else None
        again = (
            f" Clients read {units.size(reread)} again after somebody else's change."
            if reread
            else ""
        )
        files = "; ".join(
            f"{file.path} ({units.counted(file.turns, 'time')}: {', '.join(file.clients[:4])})"
            for file in shared.shown
        )
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title="Clients use the same files in turn",
            seen=f"{units.counted(shared.turns, 'time')} one client changed a file and another was "
            f"the next to use it: {files}.{again}",
            why="What one client writes invalidates what the others have cached: they ask for "
            "attributes and read the data again. NFS promises them the new data only when they "
            "open the file after the writer has closed it. Without locks or opens they see old "
            "data for as long as attributes are cached.",
            advice=(
                Advice(
                    "Give each client a file of its own (log, queue, counter per host), and merge "
                    "them afterwards."
                ),
                Advice(
                    "Where it has to be one file: lock it (a lock makes the client ask for "
                    "attributes and write before it unlocks), or open and close it each time.",
                    "each costs round trips.",
                ),
                Advice(
                    "Do not mount with noac for it: that slows all other files down, and still "
                    "does not make appends atomic."
                ),
            ),
            confidence="certain",
            data=f"{units.counted(shared.files, 'file')} used by several clients",
            frames=shared.frames,
            claims=claims,
            about=(shared.server,),
        )


RULE = Rule(
    id="attribute_ping_pong",
    title="Files that several clients change in turn",
    origin="RFC 8881 section 10.3.1 (close-to-open); practice",
    judge=judge,
    thresholds=(TURNS,),
)
